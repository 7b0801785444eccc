"""Internal: patterns of a server, what prices prove, the knapsack; the jobs of a moment."""

import math
from itertools import product

import numpy as np

import dlsched
from dlsched import Run
from dlsched.problems.sensitivity.instances.job_models import Assignment, Model
from dlsched.problems.sensitivity.instances.state import Rounds, Wish, instance
from dlsched.problems.sensitivity.programs.initial_patterns import packing as proportional_patterns
from dlsched.problems.sensitivity.programs.pattern_program import Lagrangian, Program, conversions
from dlsched.problems.sensitivity.programs.pattern_relaxation import relax
from dlsched.problems.sensitivity.programs.pooled import ideal_allocation
from dlsched.problems.sensitivity.structures.server_patterns import Floor, Item, Server, maximal
from dlsched.registry.cluster_state import ClusterState, JobState
from dlsched.registry.cluster_state import Server as Host


def test_the_table_of_a_server_is_the_best_of_all_patterns() -> None:
    """The dynamic program = the best of all maximal patterns, at random prices."""
    servers = dlsched.generate("sensitivity", 1, servers=1).servers
    sizes = [(1, 1, 62.5), (1, 3, 125), (2, 4, 62.5), (1, 6, 187.5), (4, 5, 125)]
    items = [Item(*size) for size in sizes]
    table = Server(servers, items)
    patterns = maximal(table, 20_000)
    rng = np.random.default_rng(1)
    for _ in range(20):
        values = rng.integers(0, 100, len(items)).tolist()
        best = table.table(values)
        assert best[-1, -1, -1] == max(sum(np.multiply(p, values)) for p in patterns)
        found = table.pattern(best, values)
        assert sum(np.multiply(found, values)) == best[-1, -1, -1]
        near = maximal(table, 20_000, [Floor(values, best, int(best[-1, -1, -1]) - 5)])
        assert set(near) == {p for p in patterns if best[-1, -1, -1] - np.dot(p, values) <= 5}
        others = rng.integers(0, 100, len(items)).tolist()
        floors = [Floor(v, table.table(v), 200) for v in (values, others)]
        both = maximal(table, 20_000, floors)
        least = {p: min(np.dot(p, values), np.dot(p, others)) for p in patterns}
        assert set(both) == {p for p in patterns if least[p] >= 200}


def test_any_prices_give_a_bound() -> None:
    """Random prices of items give bounds that are no less than the optimum."""
    instance = dlsched.generate("sensitivity", 2, servers=4, multi=True)
    best = dlsched.solve(instance).objective[0]
    rng = np.random.default_rng(2)
    for _ in range(20):
        program = Program(instance, whole=False, units=True)
        duals = rng.uniform(0, 800, len(program.counts) + len(program.items) + 1)
        bound = Lagrangian(program, program.prices(duals)).throughput()
        assert bound * program.granularity >= best


def test_any_prices_bound_the_split_jobs() -> None:
    """With the throughput held, random prices give bounds that are no more than the optimum."""
    instance = dlsched.generate("sensitivity", 10, servers=3, multi=True, split="40/40/20")
    best = dlsched.solve(instance)
    assert best.status == "optimal"
    program = Program(instance, whole=True, units=True)
    floor = int(best.objective[0] / program.granularity)
    program.add(proportional_patterns(program))
    assert relax(program, Run()) is not None
    relaxed = relax(program, Run(), floor)
    assert relaxed is not None
    least = Lagrangian(program, relaxed.prices, floor).splits()
    assert least == math.ceil(relaxed.master.objective - 1e-6) <= best.objective[1]
    rng = np.random.default_rng(3)
    for _ in range(20):
        duals = rng.uniform(0, 0.5, len(program.counts) + len(program.items) + 2)
        duals[-1] = -rng.uniform(0, 0.01)  # of the floor
        prices = program.prices(duals)
        assert Lagrangian(program, prices, floor).splits() <= best.objective[1]


def test_conversions_compose_to_all_that_fit() -> None:
    """An item leads to another if that has no more CPUs and memory and divides its GPUs."""
    rng = np.random.default_rng(1)
    for _ in range(20):
        rows = {Item(int(rng.choice([1, 2, 4])), *rng.integers(1, 5, 2).tolist()) for _ in range(9)}
        items = sorted(rows)
        reached = {i: {i} for i in range(len(items))}
        for source, target, amount in reversed(conversions(items)):
            assert items[source].gpus == amount * items[target].gpus
            reached[source] |= reached[target]
        for (i, a), (j, b) in product(enumerate(items), repeat=2):
            fits = b.cpus <= a.cpus and b.memory <= a.memory and a.gpus % b.gpus == 0
            assert (j in reached[i]) == fits


SERVERS = {"count": 2, "gpus": 2, "cpus": 4, "memory": 4}
PROFILES = {
    "hungry": {"cpus": [1, 2, 3], "memory": [2], "throughput": [[0.5], [1], [1.5]]},
    "modest": {"cpus": [1, 2, 3], "memory": [2], "throughput": [[1], [1], [1]]},
}


def test_rounds_make_the_instances_that_a_file_would() -> None:
    """What is kept from one round to the next is what a new instance derives."""
    rounds = Rounds(SERVERS, PROFILES)
    rounds.instance([Wish("x", "hungry", 1), Wish("y", "modest", 2)])
    made = rounds.instance([Wish("a", "modest", 2), Wish("b", "hungry", 1), Wish("c", "hungry", 1)])
    fresh = dlsched.load(made.to_data())
    assert made == fresh
    for name in ("choices", "undominated", "best_cases", "shares"):
        assert getattr(made, name) == getattr(fresh, name)
    assert [job.profile for job in made.jobs] == ["modest_2", "hungry_1", "hungry_1"]
    assert rounds.instance([Wish("a", "modest", 1)], may_wait=True).may_wait


def state(*jobs: JobState, gpus: tuple[int, ...] = (8, 8)) -> ClusterState:
    """Return a moment at which these jobs wait."""
    servers = tuple(Host(f"s{i}", count) for i, count in enumerate(gpus))
    return ClusterState(time=0, servers=servers, running=(), waiting=jobs)


def job(name: str, gpus: int, submit: int, model: str | None = None) -> JobState:
    """Return a job that needs 100 s."""
    return JobState(name, gpus, gpus, gpus, submit, 100, model=model)


def test_jobs_are_taken_in_the_order_of_submission_and_skipped_if_they_do_not_fit() -> None:
    """Of 16 GPUs, jobs of 8, 4 and 4 are taken, one of 16 between them is skipped."""
    jobs = (job("late", 4, 5), job("a", 8, 1), job("large", 16, 2), job("b", 4, 3, "gnmt"))
    made = instance(state(*jobs), split="100/0/0")
    assert [(j.id, j.profile) for j in made.jobs] == [
        ("a", "alexnet_8"), ("b", "gnmt_4"), ("late", "shufflenet_4"),
    ]  # fmt: skip
    assert (made.servers.count, made.servers.cpus, made.servers.memory) == (2, 24, 500)


def test_the_class_furthest_below_its_share_is_next() -> None:
    """With 50/25/25, i l s i; each class's models take turns."""
    kinds = {"i1": "image", "i2": "image", "l": "language", "s": "speech"}
    models = [Model(name, kind, 1, {}) for name, kind in kinds.items()]
    turns = Assignment(models, (2, 1, 1))
    assert [turns.next().name for _ in range(8)] == ["i1", "l", "s", "i2", "i1", "l", "s", "i2"]


def test_stage_one_gives_the_first_jobs_of_a_profile_the_fast_choices() -> None:
    """Of 9 CPUs the first hungry job gets 3, two get their share of 2.25, the modest one 1."""
    profiles = {name: row | {"cpus": [1, 2.25, 3]} for name, row in PROFILES.items()}
    rounds = Rounds(SERVERS | {"cpus": 4.5}, profiles)
    made = rounds.instance([*(Wish(n, "hungry", 1) for n in "abc"), Wish("d", "modest", 1)])
    found = ideal_allocation(made, Run())
    assert [float(found[name].cpus) for name in "abcd"] == [3, 2.25, 2.25, 1]
