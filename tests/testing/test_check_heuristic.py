"""check_heuristic names planted bugs and false claims, of variants too; worst_case finds gaps."""

import itertools
import os
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest
from hypothesis import strategies as st

import dlsched
from dlsched import Bound, Claim, Status, Variant
from dlsched.problems.placement import Solution as PlacementSolution
from dlsched.problems.reclaiming import Instance as Reclaiming
from dlsched.problems.reclaiming import Solution
from dlsched.schema import Instance
from dlsched.testing import check_heuristic, oracles, worst_case

CALLS = itertools.count()
CHILDREN: list[int] = []
"""Processes that `forks` made."""


def emptiest(instance: Any, count: int) -> list[str]:
    """Return the servers with fewest GPUs in use, as many as asked for; ties by the file."""
    load = {server.id: 0 for server in instance.servers}
    for job in instance.jobs:
        for worker in job.workers:
            load[worker.server] += worker.gpus
    order = {server.id: i for i, server in enumerate(instance.servers)}
    return sorted(load, key=lambda s: (load[s], order[s]))[:count]


def returned(choose: Callable[[Any], list[str]]) -> Any:
    """Return a method that returns the servers that a function chooses."""
    return lambda instance, rng: {"returned": choose(instance)}


def needs_jobs(instance: Any, rng: np.random.Generator) -> dict[str, Any]:
    """It divides by the number of workers."""
    workers = sum(len(job.workers) for job in instance.jobs)
    return {"returned": emptiest(instance, instance.demand * workers // workers)}


def forgetful(instance: Any, rng: np.random.Generator) -> dict[str, Any]:
    """It keeps a state from one call to the next."""
    found = emptiest(instance, len(instance.servers))
    turn = next(CALLS) % len(found)
    return {"returned": (found[turn:] + found[:turn])[: instance.demand]}


def first(instance: Any, rng: Any = None) -> Solution:
    """Return the first servers of the file, whatever runs on them."""
    ids = [server.id for server in instance.servers]
    return Solution(instance=instance.name, returned=ids[: instance.demand])


def claiming(**claim: Any) -> Any:
    """Return a method that claims this, about the first servers unless it says otherwise."""

    def boasts(instance: Any, run: Any) -> Claim:
        return Claim(**{"solution": first(instance)} | claim)

    return boasts


def last_left_out(instance: Any, rng: np.random.Generator) -> Any:
    """An off-by-one in a loop: the last group is dropped."""
    solution = dlsched.solve(instance, "greedy").solution
    return solution.model_copy(update={"groups": solution.groups[:-1]})


def items(instance: Instance) -> int:
    """Return how many things an instance has that a reader must understand."""
    names = ("servers", "jobs", "machines", "tables")
    found = (getattr(instance, name, ()) for name in names)
    return sum(len(part) for part in found if isinstance(part, tuple))


by_names = returned(lambda i: sorted(s.id for s in i.servers)[: i.demand])
BUGS: list[tuple[str, Any, str]] = [
    # Off by one: a server too few.
    ("reclaiming", returned(lambda i: emptiest(i, i.demand - 1)), "infeasible"),
    ("reclaiming", needs_jobs, "crash"),
    ("reclaiming", forgetful, "not_deterministic"),
    # A wrong tie: servers are sorted by their names.
    ("reclaiming", by_names, "depends_on_names"),
    ("reclaiming", claiming(objective=[0, 0]), "wrong_claim"),
    # The answer to another problem.
    ("reclaiming", lambda i, _: PlacementSolution(instance=i.name, home={}), "no_solution_object"),
    # The capacity is ignored.
    ("elastic", lambda i, rng: {"workers": {j.id: j.max_workers for j in i.jobs}}, "infeasible"),
    ("interleaving", last_left_out, "infeasible"),
    # What a region can store is ignored.
    ("placement", lambda i, rng: {"home": {t.id: i.regions[0].id for t in i.tables}}, "infeasible"),
]


@pytest.mark.parametrize(("problem", "bug", "kind"), BUGS)
def test_planted_bugs_are_caught(problem: str, bug: Any, kind: str) -> None:
    """Each bug is named by its kind, with an instance of at most four items."""
    found = check_heuristic(problem, bug, examples=20)
    assert not found
    assert kind in {finding.kind for finding in found.findings}
    finding = next(f for f in found.findings if f.kind == kind)
    assert items(finding.instance) <= 4, finding
    assert finding.kind in str(found)
    with pytest.raises(AssertionError, match=kind):
        found.raise_if_any()


HIGH = [[Bound(1, "certified", "by eye")]]
NONE = {"solution": None, "reason": "it looks hard"}


def overestimates_late(instance: Any, run: Any) -> Claim:
    """Its second level's bound is false, where the first one's is right."""
    best = oracles.reclaiming(instance)
    assert best is not None
    bounds = [[Bound(best[0], "certified", "it")], [Bound(best[1] + 1, "claimed", "it")]]
    return Claim(solution=first(instance), bounds=bounds)


def silent(instance: Any, rng: Any) -> None:
    """It returns nothing at all."""


def exits(instance: Any, rng: Any) -> None:
    """It ends the program."""
    sys.exit("enough")


def ends(instance: Any, rng: Any) -> None:
    """It ends the process, at once."""
    os._exit(3)


def forks(instance: Any, rng: Any) -> Solution:
    """It forks, and returns in both processes."""
    child = os.fork()
    CHILDREN.append(child)
    return first(instance)


def now_and_then(instance: Any, rng: Any) -> Solution:
    """It raises in every seventh call."""
    if next(CALLS) % 7 == 6:
        raise RuntimeError("the seventh call")
    return first(instance)


def changes(instance: Any, rng: Any) -> Solution:
    """It asks for less, and returns that."""
    found = first(instance)
    object.__setattr__(instance, "demand", 0)
    return found


ODD: list[tuple[Any, str, str]] = [
    (claiming(status=Status.OPTIMAL), "wrong_status", "optimal; the optimum is"),
    (claiming(status=Status.INFEASIBLE, **NONE), "wrong_status",
     "it says infeasible; the optimum is"),
    (claiming(status=Status.NO_SOLUTION), "wrong_status",
     "it says no solution, and returns a feasible solution"),
    (claiming(bounds=HIGH), "wrong_bound", "preempted is at best 1"),
    (overestimates_late, "wrong_bound", "collateral is at best"),
    (silent, "no_solution_object", "it returned no solution"),
    (claiming(objective=["few"]), "no_solution_object", "what it returned cannot be read: "),
    (claiming(status="perfect"), "no_solution_object", "perfect"),
    (exits, "exits", "it ends the process with 'enough'"),
    (ends, "exits", "it ends the process with 3"),
    (now_and_then, "crash", "RuntimeError: the seventh call (not every time)"),
    (changes, "changes_instance", "changes changed the instance"),
]  # fmt: skip
SLOW = (4, 6, 7, 9)
"""Rows whose like is tried in every run."""


@pytest.mark.parametrize(
    ("bug", "kind", "words"),
    [
        pytest.param(*row, marks=[pytest.mark.slow] * (i in SLOW), id=f"{row[1]}-{i}")
        for i, row in enumerate(ODD)
    ],
)
def test_odd_heuristic_is_a_finding(bug: Any, kind: str, words: str, unshrunk: None) -> None:
    """What a method claims falsely, or does beside solving, is named, with the instance."""
    found = check_heuristic("reclaiming", bug, examples=30, invariant=())
    named = {finding.kind: finding for finding in found.findings}
    assert words in named[kind].message
    assert '"servers"' in str(found) and kind in str(found)


def test_the_instance_printed_is_the_original() -> None:
    """A heuristic that changes its instance is shown with the instance that it was given."""
    made = dlsched.generate("reclaiming", servers=4, demand=2)
    found = check_heuristic("reclaiming", changes, examples=3, instances=st.just(made))
    assert [f.kind for f in found.findings] == ["changes_instance"]
    assert found.findings[0].instance == made and made.demand == 2
    assert '"demand":2' in str(found)


def test_forked_children_end() -> None:
    """A heuristic that forks is tested in one process; its children do not go on with the test."""
    process = os.getpid()
    CHILDREN.clear()
    found = check_heuristic("reclaiming", forks, examples=5, invariant=(), oracle=False)
    assert os.getpid() == process and found.examples >= 5
    assert len(CHILDREN) == 2 * found.examples
    for child in CHILDREN:  # this process may have others
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_a_registered_heuristic_holds_every_property() -> None:
    """A method's name is accepted, and the report has its figures; an exact one has no gap."""
    found = check_heuristic("reclaiming", "lyra", examples=40)
    assert found, str(found)
    assert found.solved > 0
    assert found.worst_gap is not None
    assert "every property holds" in str(found)
    found = worst_case("elastic", "dp", 50)
    assert found is not None
    assert found.gap == 0
    assert "optimum" in str(found)


def test_faults_on_demand(unshrunk: None) -> None:
    """That the order decides, or that nothing is found, is a fault only where that is asked."""
    found = check_heuristic("elastic", "fifo", examples=20, invariant=("order",))
    assert [finding.kind for finding in found.findings] == ["depends_on_order"]
    with pytest.raises(dlsched.OptionError):
        check_heuristic("elastic", "fifo", invariant=("colour",))

    def lazy(instance: Any, rng: np.random.Generator) -> Claim:
        return Claim(status=Status.NO_SOLUTION, reason="too hot today")

    assert check_heuristic("reclaiming", lazy, examples=20)
    found = check_heuristic("reclaiming", lazy, examples=20, complete=True)
    assert [finding.kind for finding in found.findings] == ["stuck"]
    assert worst_case("reclaiming", lazy, 10) is None


def test_without_an_oracle_nothing_is_said_of_gaps() -> None:
    """No brute force, no gap; the other properties are still tested."""
    found = check_heuristic("reclaiming", "scf", examples=20, oracle=False)
    assert found and found.worst_gap is None and "gap" not in str(found)


@st.composite
def scattered(draw: st.DrawFn) -> Reclaiming:
    """Draw 4 or 5 servers of 2 GPUs, on which up to 5 jobs have one GPU of some servers each."""
    names = [f"s{i}" for i in range(draw(st.integers(4, 5)))]
    free = dict.fromkeys(names, 2)
    jobs: list[dict[str, Any]] = []
    for mask in draw(st.lists(st.integers(1, 2 ** len(names) - 1), max_size=5)):
        chosen = [name for i, name in enumerate(names) if mask >> i & 1]
        if all(free[name] for name in chosen):
            free |= {name: free[name] - 1 for name in chosen}
            workers = [{"server": name, "gpus": 1} for name in chosen]
            jobs.append({"id": f"j{len(jobs)}", "workers": workers})
    servers = [{"id": name, "gpus": 2} for name in names]
    data = {"name": "drawn", "demand": 2, "servers": servers, "jobs": jobs}
    return Reclaiming.parse({"dlsched": 1, "problem": "reclaiming"} | data, "drawn")


def test_lyra_preempts_twice_the_optimum() -> None:
    """At level 1, with a positive optimum and no weights, twice the optimum, re-checked here."""
    found = worst_case("reclaiming", "lyra", 200, level=0, positive=True, instances=scattered())
    assert found is not None
    assert found.objective.preempted >= 2 * found.optimum.preempted > 0
    assert dlsched.solve(found.instance, "lyra").objective == found.objective
    assert dlsched.solve(found.instance).objective == found.optimum
    assert oracles.reclaiming(found.instance) == found.optimum


def test_same_seed_same_worst_case() -> None:
    """The search depends on the seed alone."""
    first, again = (
        worst_case("reclaiming", "lyra", 60, seed=3, instances=scattered()) for _ in range(2)
    )
    assert first is not None and again is not None
    assert first.instance.sha256 == again.instance.sha256


def test_a_search_says_how_far_it_is_and_ends() -> None:
    """It tells each instance's number, and the worst one before; at its limit it tries no more."""
    seen: list[Any] = []
    found = worst_case(
        "reclaiming", "lyra", 30, instances=scattered(), on_progress=lambda *now: seen.append(now)
    )
    assert found is not None and seen[0] == (1, None)
    assert [number for number, _ in seen] == list(range(1, len(seen) + 1))
    gaps = [worst.gap for _, worst in seen if worst]
    assert gaps == sorted(gaps) and found.gap >= gaps[-1]
    assert worst_case("reclaiming", "lyra", 30, instances=scattered(), time_limit=1e-9) is None


def at_most_half(m: Any, instance: Any) -> None:
    """At most half of the demand, rounded up, from the first half of the servers."""
    first = [server.id for server in instance.servers][: len(instance.servers) // 2]
    total = sum(m.x[s] for s in first)
    half = -(-instance.demand // 2)
    m.half = pyo.Constraint(expr=total <= half) if first else pyo.Constraint.Feasible
    m.halves = pyo.Set(initialize=[1, 2])


HALF = Variant("reclaiming", "half", at_most_half)


def from_both_halves(instance: Any, rng: Any) -> dict[str, Any]:
    """Return as many servers of the first half as may be, the others of the second."""
    servers = [server.id for server in instance.servers]
    first, second = servers[: len(servers) // 2], servers[len(servers) // 2 :]
    most = -(-instance.demand // 2)
    chosen = second[: instance.demand]
    chosen += first[: min(most, instance.demand - len(chosen))]
    return {"returned": chosen}


@pytest.mark.slow
def test_a_heuristic_for_the_problem_is_not_one_for_the_variant() -> None:
    """The first instance on which it violates the added constraint is shrunk."""
    found = check_heuristic("reclaiming", "lyra", variant=HALF, examples=25, oracle=False)
    infeasible = next(f for f in found.findings if f.kind == "infeasible")
    assert "half is" in infeasible.message
    assert len(infeasible.instance.servers) <= 5


@pytest.mark.slow
def test_a_heuristic_for_the_variant_is_compared_with_its_optimum() -> None:
    """What it returns is feasible there; what is far from the optimum is found by `worst_case`."""
    drawn = dlsched.testing.strategies.reclaiming(max_jobs=3)
    found = check_heuristic(
        "reclaiming", from_both_halves, variant=HALF, examples=8, instances=drawn, invariant=()
    )
    assert not [f for f in found.findings if f.kind in ("infeasible", "beats_optimum")]
    assert found.solved >= found.optimal
    assert found.worst_gap is not None
    worst = worst_case("reclaiming", from_both_halves, 8, variant=HALF, instances=drawn)
    assert worst is not None
    assert worst.optimum == dlsched.solve(worst.instance, variant=HALF).objective


def test_names_and_problems() -> None:
    """A name that is gone names the one to use; a variant of another problem is refused."""
    with pytest.raises(AttributeError, match="use worst_case"):
        getattr(dlsched.testing, "find_worst")  # noqa: B009
    with pytest.raises(dlsched.OptionError, match="not for elastic"):
        check_heuristic("elastic", "lyra", variant=HALF)
