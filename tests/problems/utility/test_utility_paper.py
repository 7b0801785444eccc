"""Hadar's example of section II-A, what its Figure 1 claims, and theorems 2 and 3."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from math import log
from typing import Any

import pytest

import dlsched
from dlsched.problems.utility import Instance
from dlsched.testing import strategies
from drawing import drawn
from utility_instances import instance, job


def example(**changes: Any) -> Instance:
    """Return the instance of section II-A, with some fields changed."""
    return dlsched.load(dlsched.load("hadar-section2").to_data() | changes)  # type: ignore[return-value]


def test_figure_1_is_more_than_gangs_allow() -> None:
    """No set of the three gangs (3, 2 and 2 GPUs) fills the six GPUs; five are the most, 83 %."""
    total = sum(example().supply.values())
    gangs = [job.workers for job in example().jobs]
    sums = {sum(c) for n in range(4) for c in combinations(gangs, n)}
    assert total == 6 not in sums
    assert max(s for s in sums if s <= total) == 5  # 100 % of a round, 87 % of all: not possible


@pytest.mark.parametrize(
    ("kind", "optimum"),
    [("effective_throughput", 80 / 3 + 30 / 2 + 50 / 7), ("linear", 10 + 11 + 6)],
)
def test_optimum_of_section_2(kind: str, optimum: float) -> None:
    """J1 takes two slots on V100 and K80 and one on the P100; J2 two, and J3 five after J1."""
    # 48.8095 epochs a slot, with the rates X as section II-A prints them.
    for method in ("milp", "dantzig_wolfe"):
        result = dlsched.solve(example(utility={"kind": kind}), method)
        assert result.status == "optimal"
        assert float(result.objective[0]) == pytest.approx(optimum)


def test_the_rates_are_those_printed() -> None:
    """The matrix X of section II-A; after Gavel's first round 60, 25, 50 epochs are left."""
    kinds = ("V100", "P100", "K80")
    rates = [[job.rates[kind] for kind in kinds] for job in example().jobs]
    assert rates == [[40, 20, 30], [5, 15, 5], [10, 2, 20]]
    epochs = [int(job.iterations) // 360 for job in example().jobs]
    assert epochs == [80, 30, 50]
    # Gavel's first round: J1 on three P100, J2 on two V100.
    assert (epochs[0] - rates[0][1], epochs[1] - rates[1][0], epochs[2]) == (60, 25, 50)


def test_gavels_six_rounds() -> None:
    """A schedule of six rounds in which every gang keeps to one type exists."""
    six = example(slots=6, must_finish=True)
    assert dlsched.verify(six, dlsched.solve(six).solution).details["last_slot"] == 6


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
    assert promised(made) == pytest.approx(ratio, abs=0.005)  # type: ignore[arg-type]
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


@pytest.mark.parametrize(
    "seed", [*range(6), *(pytest.param(n, marks=pytest.mark.slow) for n in range(6, 24))]
)
def test_ratio_on_random_instances(seed: int) -> None:
    """On small instances hadar is within the theorem's ratio."""
    made = dlsched.generate("utility", seed, jobs=6, slots=12, gpus=6, per_machine=2, arrivals=0.5)
    best, found = (dlsched.solve(made, m).objective[0] for m in ("exact", "hadar"))
    assert best <= promised(made) * float(found)  # type: ignore[arg-type]


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
    used: dict[int, set[str]] = {}
    for rows in dlsched.solve(full, "forked").solution.schedule.values():
        for held in rows:
            used.setdefault(held.slot, set()).update(held.gpus)
    assert all(used[slot] == machines for slot in range(1, max(used, default=0)))
