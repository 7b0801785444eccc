"""Hadar and its repairs, HadarE, insertion, and the baselines."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import Any

import pytest
from utility_instances import instance, job

import dlsched
from dlsched import Run
from dlsched.problems.utility import Instance
from dlsched.problems.utility.heuristics import insertion
from dlsched.problems.utility.heuristics.hadar import Hadar
from dlsched.problems.utility.heuristics.hadar_prices import Prices, pools_of
from dlsched.problems.utility.structures.slot_simulation import Rounds
from dlsched.results.result import Termination
from dlsched.testing import strategies
from drawing import drawn


def slots_of(made: Instance, method: str, **options: Any) -> list[list[int]]:
    """Return the slots that each job holds by a method."""
    schedule = dlsched.solve(made, method, **options).solution.schedule
    return [[held.slot for held in schedule.get(row.id, ())] for row in made.jobs]


def test_prices_by_hand() -> None:
    """Theorem 2's example: highest 8 / 4, lowest 1 / 4 of 1 / 4, so 2 alpha is 2 ln 32 = 6.93."""
    example = dlsched.load("hadar-theorem2")
    prices = Prices(example, [0, 1])
    assert prices.table[0][0] == pytest.approx(1 / 16)
    assert prices.table[0][-1] == pytest.approx(2)
    assert prices.table[0][2] == pytest.approx((1 / 16) ** 0.5 * 2**0.5)
    assert 2 * prices.alpha == pytest.approx(6.93, abs=0.005)


@pytest.mark.parametrize("arrival", [1, 4])
def test_prices_count_whole_slots_from_a_jobs_arrival(arrival: int) -> None:
    """Repair of (6) and (7): 5 iterations at 2 a slot are 3 slots, whenever the job arrives."""
    late = instance([job(5, 2, arrival=arrival)], {"A": 2}, slots=8)
    assert Prices(late, [0]).table[0][-1] == pytest.approx(5 / 3)


def test_the_lowest_price_knows_the_horizon() -> None:
    """Repair of eta: with twice the slots the same job is charged half at first."""
    made = [instance([job(utilities=[4] * n)], {"A": 2}, slots=n) for n in (4, 8)]
    lowest = [Prices(flat, [0]).table[0][0] for flat in made]
    assert lowest[0] == pytest.approx(2 * lowest[1])


def test_the_empty_allocation_would_cost_least() -> None:
    """Repair: payoffs are maximised. The least cost is 0, of no GPU; a job that runs has a cost."""
    one = instance([job(2)], {"A": 1})
    assert Prices(one, [0]).table[0][0] > 0
    assert Hadar(one).decide(Rounds(one)) == {0: {"m": {"A": 1}}}


def test_an_unplaceable_job_is_skipped() -> None:
    """Repair: a gang that does not fit does not end the scan; closer to the text it does."""
    three = instance([job(1, 9, 2), job(1, 9, 2), job(1, 9)], {"A": 3}, slots=1)
    admitted = set(Hadar(three).decide(Rounds(three)))
    assert 2 in admitted
    assert len(admitted) == 2
    assert set(Hadar(three).decide(Rounds(three), literal=True)) == {0}


def test_a_job_is_charged_before_its_own_update() -> None:
    """Repair: alone on an empty cluster a job pays the lowest price, not that after itself."""
    one = instance([job(workers=4)], {"A": 4}, slots=1)
    worth, table = 1.0, Prices(one, [0]).table[0]
    # Four GPUs at the price after the update cost exactly what the job is worth: it would not run.
    assert 4 * table[-1] == pytest.approx(worth)
    assert Hadar(one).decide(Rounds(one)) == {0: {"m": {"A": 4}}}


def test_theorem_2_does_not_hold() -> None:
    """In this order the worse job blocks the better one: ratio 8, the theorem promises 6.93."""
    example = dlsched.load("hadar-theorem2")
    best = dlsched.solve(example).objective[0]
    seen_in_order = dlsched.solve(example, "hadar_literal").objective[0]
    assert best / seen_in_order == 8 > 2 * Prices(example, [0, 1]).alpha
    assert dlsched.solve(example, "hadar").objective[0] == 8  # the program sees both


def test_theorem_2_does_not_hold_below_the_capacity_either() -> None:
    """Gangs of three on four GPUs, below the capacity as the proof expects: 8 > 2 ln 42.67."""
    data = dlsched.load("hadar-theorem2").to_data()
    for row in data["jobs"]:
        row["workers"] = 3
    smaller = dlsched.load(data)
    prices = Prices(smaller, [0, 1])
    assert prices.table[0][-1] / prices.table[0][0] == pytest.approx(128 / 3)
    ratio = 8 / dlsched.solve(smaller, "hadar_literal").objective[0]
    assert ratio == 8 > 2 * prices.alpha == pytest.approx(7.507, abs=1e-3)


def stream(slots: int) -> Instance:
    """Return gangs of 3 of 4 GPUs for two slots; job i, of slot i, is worth 1 + i / 100 at once."""
    late = [Fraction(1, 10)] * (slots - 2)
    worth = {i: [1 + Fraction(i, 100)] * 2 + late for i in range(1, slots + 1)}
    jobs = [job(2, workers=3, arrival=i, utilities=row) for i, row in worth.items()]
    return instance(jobs, {"A": 4}, slots)


def test_theorem_2_does_not_hold_on_a_stream() -> None:
    """Every second job can run; `hadar`, which decides in each slot anew, takes the newest."""
    made = stream(40)
    value = float(dlsched.solve(made, "hadar").objective[0])
    reached = float(sum(1 + Fraction(i, 100) for i in range(1, 41, 2)))
    assert value == pytest.approx(1.39)
    assert reached / value > 2 * Prices(made, list(range(40))).alpha


def forking(jobs: list[dict[str, Any]], slots: int) -> Instance:
    """Return forking jobs on nodes called as the types that they have rates for."""
    nodes = {kind: {kind: 1} for kind in jobs[0]["rates"]}
    return instance(jobs, nodes, slots, forking=True)


@pytest.mark.parametrize("divided", [False, True])
def test_copies_of_one_job_take_all_nodes(divided: bool) -> None:
    """Hadar runs all copies of the job with the largest payoffs, then those of the other."""
    two = forking([job(6, {"a": 2, "b": 1}), job(24, {"a": 4, "b": 2})], 20)
    assert slots_of(two, "hadare", divided=divided) == [[5, 6], [1, 2, 3, 4]]
    schedule = dlsched.solve(two, "hadare", divided=divided).solution.schedule
    assert all(set(held.gpus) == {"a", "b"} for rows in schedule.values() for held in rows)


@pytest.mark.parametrize(("divided", "nodes"), [(False, {"a"}), (True, {"a", "b"})])
def test_copies_with_the_whole_work_look_at_their_own_node(divided: bool, nodes: set[str]) -> None:
    """On b alone j0 takes 12 slots and j1 4, so b runs j1; with shares both copies take as long."""
    two = forking([job(12, {"a": 9, "b": 1}), job(8, {"a": 1, "b": 2})], 20)
    schedule = dlsched.solve(two, "hadare", divided=divided).solution.schedule
    assert {n for held in schedule["j0"] if held.slot == 1 for n in held.gpus} == nodes


@pytest.mark.parametrize(
    "seed", [*range(6), *(pytest.param(n, marks=pytest.mark.slow) for n in range(6, 24))]
)
def test_ratio_on_random_instances(seed: int) -> None:
    """On small instances hadar is within the theorem's ratio."""
    made = dlsched.generate("utility", seed, jobs=6, slots=12, gpus=6, per_machine=2, arrivals=0.5)
    best = dlsched.solve(made).objective[0]
    found = dlsched.solve(made, "hadar").objective[0]
    alpha = Prices(made, list(range(6))).alpha
    assert best <= 2 * alpha * found


SHORT_AND_LONG = instance([job(3), job(1)], {"A": 1})
THREE_GANGS = instance([job(2, workers=2), job(workers=3), job()], {"A": 3})
TWO_GANGS = instance([job(1, workers=2), job(2, workers=2), job(3)], {"A": 3})
TWO_QUEUES = instance([job(4), job(2)], {"A": 1}, slots=6)


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
    ],
)
def test_slots_by_hand(made: Instance, method: str, options: Any, slots: list[list[int]]) -> None:
    """The slots that each job holds are those that follow from the rule."""
    assert slots_of(made, method, **options) == slots


def test_prices_are_per_machine_and_type() -> None:
    """Eq. 5: a price grows with the use of the type on its machine alone."""
    made = instance([job(), job()], {"m": {"A": 1}, "n": {"A": 3}})
    own = Prices(made, [0, 1])
    assert [len(row) for row in own.table] == [2, 4]
    assert [pool.machine for pool in pools_of(made)] == ["m", "n"]
    assert own.table[0][1] == own.table[1][3] == 1  # both full
    # One GPU of m in use raises the price on m, not on n.
    low = own.table[1][0]
    assert own.table[1][1] == pytest.approx(low ** (2 / 3))
    grants = Hadar(made).decide(Rounds(made))
    assert {name for gpus in grants.values() for name in gpus} == {"m", "n"}  # at the lowest price


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


def test_yarn_cs_keeps_its_gpus() -> None:
    """A running job keeps its GPUs when faster ones become free; rates are not considered."""
    jobs = [job(2, {"A": 2, "B": 2}), job(4, {"A": 4, "B": 1})]
    made = instance(jobs, {"A": 1, "B": 1}, slots=6)
    rows = dlsched.solve(made, "yarn_cs").solution.schedule["j1"]
    assert [held.gpus for held in rows] == [{"m": {"B": 1}}] * 4


GANG_OF_TWO_TYPES = instance([job(1, {"A": 1, "B": 1}, 2)], {"A": 1, "B": 1})
GANG_AND_FASTER_JOB = instance([job(1, {"A": 2, "B": 1}, 2), job(2, 2)], {"A": 1, "B": 2}, slots=1)


@pytest.mark.parametrize(
    ("made", "method", "utility"),
    [
        # Two GPUs of two types are no gang to `tiresias`, and are one to `srtf`.
        (GANG_OF_TWO_TYPES, "tiresias", 0),
        (GANG_OF_TWO_TYPES, "srtf", 1),
        # At the speed of B the gang takes both B rather than an A that would not help it.
        (GANG_AND_FASTER_JOB, "srtf", 1 + 2),
    ],
)
def test_types_of_gangs(made: Instance, method: str, utility: int) -> None:
    """Which types a gang may take and takes."""
    assert dlsched.solve(made, method).objective[0] == utility


def test_insertion_is_no_worse_than_its_order() -> None:
    """Neighbourhood search only improves, here beyond the baselines."""
    made = dlsched.generate("utility", 1, jobs=30, slots=40, gpus=12)
    few = dlsched.solve(made, "insertion", rounds=0).objective
    many = dlsched.solve(made, "insertion", rounds=500).objective
    assert not few.better_than(many)
    for rule in ("hadar", "srtf", "tiresias"):
        assert not dlsched.solve(made, rule).objective.better_than(many)


@drawn(150, strategies.utility(max_jobs=4, max_slots=6, forking=True))
def test_no_node_idles_before_the_last_slot(made: Instance) -> None:
    """Theorem 3: with rates everywhere and all jobs there at first, `forked` uses every node."""
    kinds = list(made.supply)
    jobs = [
        job.model_copy(update={"arrival": 1, "rates": {k: job.rates[k] or 1 for k in kinds}})
        for job in made.jobs
    ]
    full = made.model_copy(update={"jobs": tuple(jobs), "must_finish": False, "slots": 40})
    machines = {m.id for m in full.machines if any(m.gpus.values())}
    if full.utility.kind == "table":
        return
    schedule = dlsched.solve(full, "forked").solution.schedule
    used: dict[int, set[str]] = {}
    for rows in schedule.values():
        for held in rows:
            used.setdefault(held.slot, set()).update(held.gpus)
    assert all(used[slot] == machines for slot in range(1, max(used, default=0)))


class _Stopped(Run):
    """A run that ends after it was asked a number of times, whatever the clock says."""

    questions = 0
    most = 10**9

    def stop_reason(self) -> Termination | None:
        self.questions += 1
        return Termination.TIME_LIMIT if self.questions > self.most else None


def test_insertion_that_is_stopped_is_the_beginning_of_the_longer_search() -> None:
    """What the search finds up to a limit does not depend on when the limit strikes."""
    made = dlsched.generate("utility", 3, jobs=30, slots=40)
    found = []
    most = 10**9
    for _ in range(4):
        run = _Stopped(time_limit=float(most))
        run.most = most
        insertion(made, run, 60)
        found.append([point.objective for point in run.trajectory])
        most = run.questions // 2
    for longer, shorter in pairwise(found):
        assert longer[: len(shorter)] == shorter
    assert len(found[0]) > len(found[-1]) > 0
