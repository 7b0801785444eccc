"""Hadar and its repairs, theorems 2 and 3, HadarE, insertion, and the baselines."""

from fractions import Fraction
from math import log
from typing import Any

import pytest

import dlsched
from dlsched.problems.utility import Instance
from dlsched.testing import strategies
from drawing import drawn
from utility_instances import instance, job


def slots_of(made: Instance, method: str, **options: Any) -> list[list[int]]:
    """Return the slots that each job holds by a method."""
    schedule = dlsched.solve(made, method, **options).solution.schedule
    return [[held.slot for held in schedule.get(row.id, ())] for row in made.jobs]


def nodes_of(made: Instance, method: str, job: str, **options: Any) -> set[str]:
    """Return the machines that a job holds in slot 1."""
    schedule = dlsched.solve(made, method, **options).solution.schedule
    return {name for held in schedule.get(job, ()) if held.slot == 1 for name in held.gpus}


def forking(jobs: list[dict[str, Any]], slots: int) -> Instance:
    """Return forking jobs on nodes called as the types that they have rates for."""
    nodes = {kind: {kind: 1} for kind in jobs[0]["rates"]}
    return instance(jobs, nodes, slots, forking=True)


SHORT_AND_LONG = instance([job(3), job(1)], {"A": 1})
THREE_GANGS = instance([job(2, workers=2), job(workers=3), job()], {"A": 3})
TWO_GANGS = instance([job(1, workers=2), job(2, workers=2), job(3)], {"A": 3})
TWO_QUEUES = instance([job(4), job(2)], {"A": 1}, slots=6)
UNPLACEABLE = instance([job(1, 9, 2), job(1, 9, 2), job(1, 9)], {"A": 3}, slots=1)
FORKED = forking([job(6, {"a": 2, "b": 1}), job(24, {"a": 4, "b": 2})], 20)
GANG_OF_TWO_TYPES = instance([job(1, {"A": 1, "B": 1}, 2)], {"A": 1, "B": 1})


@pytest.mark.parametrize(
    ("made", "method", "options", "slots"),
    [
        (SHORT_AND_LONG, "srtf", {}, [[2, 3, 4], [1]]),
        # The gang of three waits for the first job, and in `yarn_cs` blocks the third one.
        (THREE_GANGS, "yarn_cs", {}, [[1, 2], [3], [4]]),
        # The second gang of two does not fit beside the first, and the third job does.
        (TWO_GANGS, "srtf", {}, [[1], [2, 3], [1, 2, 3]]),
        # The first queue ends at two GPU seconds: after two slots j0 is in the second, j1 runs.
        (TWO_QUEUES, "tiresias", {"threshold": 2}, [[1, 2, 5, 6], [3, 4]]),
        # With a threshold beyond all work the job that started first keeps its GPU.
        (TWO_QUEUES, "tiresias", {"threshold": 100}, [[1, 2, 3, 4], [5, 6]]),
        # Two GPUs of two types are no gang to `tiresias`, and are one to `srtf`.
        (GANG_OF_TWO_TYPES, "tiresias", {}, [[]]),
        (GANG_OF_TWO_TYPES, "srtf", {}, [[1]]),
        # Repair: a gang that does not fit does not end the scan; closer to the text it does.
        (UNPLACEABLE, "hadar", {}, [[1], [], [1]]),
        (UNPLACEABLE, "hadar_literal", {}, [[1], [], []]),
        # Repair: payoffs are maximised. The least cost would be 0, of no GPU at all.
        (instance([job(2)], {"A": 1}), "hadar", {}, [[1, 2]]),
        # Repair: a job pays the price before its own update, after which it would be worth 0.
        (instance([job(workers=4)], {"A": 4}, slots=1), "hadar", {}, [[1]]),
        # HadarE runs all copies of the job with the largest payoffs, then those of the other.
        (FORKED, "hadare", {}, [[5, 6], [1, 2, 3, 4]]),
        (FORKED, "hadare", {"divided": True}, [[5, 6], [1, 2, 3, 4]]),
    ],
)
def test_slots_by_hand(made: Instance, method: str, options: Any, slots: list[list[int]]) -> None:
    """The slots that each job holds are those that follow from the rule."""
    assert slots_of(made, method, **options) == slots


OWN_NODES = forking([job(12, {"a": 9, "b": 1}), job(8, {"a": 1, "b": 2})], 20)
GANG_AND_FASTER_JOB = instance([job(1, {"A": 2, "B": 1}, 2), job(2, 2)], {"A": 1, "B": 2}, slots=1)
EVERY_COPY = forking([job(24, {"a": 4, "b": 2}), job(6, {"a": 2, "b": 1})], 20)


@pytest.mark.parametrize(
    ("made", "method", "options", "nodes"),
    [
        # On b alone j0 takes 12 slots and j1 4, so b runs j1; shares of the work take as long.
        (OWN_NODES, "hadare", {}, {"a"}),
        (OWN_NODES, "hadare", {"divided": True}, {"a", "b"}),
        (EVERY_COPY, "hadare", {}, {"a", "b"}),
    ],
)
def test_copies_run_on_nodes(made: Instance, method: str, options: Any, nodes: set[str]) -> None:
    """Where the copies of job j0 run in the first slot."""
    assert nodes_of(made, method, "j0", **options) == nodes


def test_prices_are_per_machine() -> None:
    """Eq. 5: a price grows with the use of its machine alone, so two jobs are on two machines."""
    made = instance([job(), job()], {"m": {"A": 1}, "n": {"A": 3}})
    assert nodes_of(made, "hadar", "j0") | nodes_of(made, "hadar", "j1") == {"m", "n"}


def test_a_gang_takes_no_gpu_that_does_not_help() -> None:
    """At the speed of B the gang takes both B rather than an A; so the other job has A."""
    assert dlsched.solve(GANG_AND_FASTER_JOB, "srtf").objective[0] == 1 + 2


def test_yarn_cs_keeps_its_gpus() -> None:
    """A running job keeps its GPUs when faster ones become free; rates are not considered."""
    jobs = [job(2, {"A": 2, "B": 2}), job(4, {"A": 4, "B": 1})]
    made = instance(jobs, {"A": 1, "B": 1}, slots=6)
    rows = dlsched.solve(made, "yarn_cs").solution.schedule["j1"]
    assert [held.gpus for held in rows] == [{"m": {"B": 1}}] * 4


@pytest.mark.parametrize(("types", "gpus"), [(16, 15), (40, 2), (64, 1), (64, 15), (130, 1)])
def test_many_types_are_scanned(types: int, gpus: int) -> None:
    """Where states overflow 64 bits, or memory, jobs are scanned, and the reason states it."""
    rows = [job(5, {f"T{i}": (7 * i + j) % 5 + 1 for i in range(types)}, 2) for j in range(4)]
    made = instance(rows, {f"T{i}": gpus for i in range(types)}, slots=3)
    for method in ("hadar", "hadar_literal"):
        result = dlsched.solve(made, method)
        assert result.objective[0] == 20  # every job in one slot, on types of rate 5
        assert method == "hadar_literal" or "scanned by payoff in 1 slots" in result.reason


def test_more_speeds_than_eight_bits_are_rejected() -> None:
    """130 different rates are more than the exact methods can distinguish; they raise an error."""
    rates = {f"T{i}": i + 1 for i in range(130)}
    made = instance([job(5, rates)], dict.fromkeys(rates, 1), slots=3)
    for method in ("milp", "dantzig_wolfe", "insertion", "lagrangian"):
        with pytest.raises(dlsched.OptionError, match="too many ways"):
            dlsched.solve(made, method)


def promised(made: Instance) -> float:
    """Return 2 alpha of theorem 2, by the repaired (6) and (7): whole slots, over the horizon."""
    terms = []
    for row, speeds in zip(made.jobs, made.speeds, strict=True):
        quickest, longest = (-(-row.iterations // speeds[i].gain) for i in (0, -1))
        last = made.slots - row.arrival + 1
        most = Fraction(made.worth(row, int(quickest))) / row.workers if quickest <= last else 0
        least = Fraction(made.worth(row, last)) / (longest * row.workers)
        terms.append((most, least, longest * row.workers))
    highest, lowest, shortest = (pick(column) for pick, column in zip(
        (max, min, min), zip(*terms, strict=True), strict=True
    ))  # fmt: skip
    eta = Fraction(made.slots * sum(made.supply.values())) / shortest
    return 2 * max(1.0, log(highest * 4 * eta / lowest))


@pytest.mark.parametrize(("workers", "ratio"), [(4, 6.93), (3, 7.507)])
def test_theorem_2_does_not_hold(workers: int, ratio: float) -> None:
    """In this order the worse job blocks the better one: ratio 8, at and below the capacity."""
    data = dlsched.load("hadar-theorem2").to_data()
    for row in data["jobs"]:
        row["workers"] = workers
    made = dlsched.load(data)
    assert promised(made) == pytest.approx(ratio, abs=0.005)
    best, literal = (dlsched.solve(made, m).objective[0] for m in ("exact", "hadar_literal"))
    assert best / literal == 8 > ratio
    if workers == 4:
        assert dlsched.solve(made, "hadar").objective[0] == 8  # the program sees both


def test_theorem_2_does_not_hold_on_a_stream() -> None:
    """Every second job can run; `hadar`, which decides in each slot anew, takes the newest."""
    # Gangs of 3 of 4 GPUs for two slots; job i, of slot i, is worth 1 + i / 100 at once.
    worth = {i: [1 + Fraction(i, 100)] * 2 + [Fraction(1, 10)] * 38 for i in range(1, 41)}
    jobs = [job(2, workers=3, arrival=i, utilities=row) for i, row in worth.items()]
    made = instance(jobs, {"A": 4}, 40)
    value = float(dlsched.solve(made, "hadar").objective[0])
    reached = float(sum(worth[i][0] for i in range(1, 41, 2)))
    assert value == pytest.approx(1.39)
    assert reached / value > promised(made)


@drawn(150, strategies.utility(max_jobs=4, max_slots=6, forking=True))
def test_no_node_idles_before_the_last_slot(made: Instance) -> None:
    """Theorem 3: if all jobs run anywhere and from the start, divided copies use every node."""
    kinds = list(made.supply)
    jobs = [
        job.model_copy(update={"arrival": 1, "rates": {k: job.rates[k] or 1 for k in kinds}})
        for job in made.jobs
    ]
    full = made.model_copy(update={"jobs": tuple(jobs), "must_finish": False, "slots": 40})
    machines = {m.id for m in full.machines if any(m.gpus.values())}
    if full.utility.kind == "table":
        return
    used: dict[int, set[str]] = {}
    for rows in dlsched.solve(full, "hadare", divided=True).solution.schedule.values():
        for held in rows:
            used.setdefault(held.slot, set()).update(held.gpus)
    assert all(used[slot] == machines for slot in range(1, max(used, default=0)))
