"""The definition, with one capacity and two pools: times by hand, violations, bad fields."""

from fractions import Fraction
from typing import Any

import pytest
from elastic_instances import LOAN, TRAINING, epoch, job

import dlsched
from dlsched.problems.elastic import Instance

HEAD = {"dlsched": 1, "problem": "elastic"}
JOBS = [
    job("r", 2, 4, 60, 2, running=True), job("p", 2, 3, [90, 70.5]), job("q", 1, 1, 10, 4)
]  # fmt: skip
THREE = Instance(name="three", capacity=7, jobs=JOBS)
POOLS = [TRAINING, LOAN]
TWO = Instance(
    name="two", pools=POOLS, mixed_efficiency=Fraction("0.5"),
    jobs=[
        job("t", 2, 4, 60, 2, running=True),
        job("f", 2, 4, 90, fungible=True),
        job("h", 2, 3, [80, 50], heterogeneous=True),
        job("l", 1, 3, 20, 3, running=True, fungible=True, base_pool="loan"),
    ],
)  # fmt: skip
BASE = {"t": {"training": 2}, "l": {"loan": 1}}


def report_on(instance: Instance, workers: Any) -> dlsched.Report:
    """Check an allocation."""
    return dlsched.verify(instance, HEAD | {"instance": instance.name, "workers": workers})


FAST = Instance(**TWO.to_data() | {"pools": [TRAINING, LOAN | {"speed": 4}]})
FIG6 = dlsched.load("lyra-fig6")
MIXED = Fraction("2.25") / 2, Fraction("1.25") / 2
"""Two and one workers, and one and one, in training and on loan have half of their speed left."""


@pytest.mark.parametrize(
    ("instance", "workers", "saved", "gpus"),
    [
        # r gains 120 - 80 s with a third worker for 2 GPUs, p 19.5 s with 3 GPUs in all.
        (THREE, {"r": 3, "p": 3}, 40 + Fraction("19.5"), (5,)),
        # Figure 6: A's one item saves 50 s, B's four 20, 30, 36 and 40 s.
        (FIG6, {"A": 3, "B": 2}, 50, (2,)),
        *((FIG6, {"A": 2, "B": 2 + n}, s, (n,)) for n, s in enumerate((0, 20, 30, 36, 40))),
        # Speeds add up; a job that can run in both pools counts from training if that is faster.
        (TWO, {"t": {"training": 4}}, 120 - 60, (4, 0)),
        (TWO, {"f": {"training": 2}}, 0, (2, 0)),
        (TWO, {"f": {"loan": 2}}, 180 - 720, (0, 2)),
        (TWO, {"f": {"loan": 4}}, 180 - 360, (0, 4)),
        (TWO, {"h": {"training": 3}}, 80 - 50, (3, 0)),
        (TWO, {"h": {"loan": 2}}, 80 - 320, (0, 2)),
        (TWO, {"h": {"training": 2, "loan": 1}}, 80 - Fraction(50 * 3) / MIXED[0], (2, 1)),
        (TWO, {"h": {"training": 1, "loan": 1}}, 80 - Fraction(80 * 2) / MIXED[1], (1, 1)),
        (FAST, {"f": {"loan": 2}}, 0, (0, 2)),
        (FAST, {"f": {"training": 2}}, 45 - 180, (2, 0)),
        # A running job counts from where its base workers are.
        (TWO, {"l": {"loan": 3}}, 240 - 80, (0, 6)),
        (TWO, {"t": {"training": 3}, "f": {"loan": 2}, "l": {"loan": 2}}, 40 - 540 + 120, (2, 5)),
    ],
)
def test_worth_by_hand(instance: Instance, workers: Any, saved: Any, gpus: tuple[int, ...]) -> None:
    """Jobs that wait are launched; seconds saved, and the GPUs taken from each capacity."""
    given = (BASE | workers) if instance.pools else workers
    report = report_on(instance, given)
    assert report.feasible
    launched = sum(not row.running and row.id in given for row in instance.jobs)
    assert tuple(report.objective) == (launched, saved)
    by_pool = dict(zip(("gpus_training", "gpus_loan"), gpus, strict=False))
    assert report.details == {"gpus": sum(gpus)} | (by_pool if instance.pools else {})


def test_three_servers_on_loan_equal_one() -> None:
    """Lyra, section 7.5: 24 workers on loan at speed 0.3333 take as long as 8, within 0.02 %."""
    made = epoch(6, job("a", 8, 24, 100, fungible=True), loan=30, speed=0.3333)
    report = report_on(made, {"a": {"loan": 24}})
    assert report.feasible
    assert 0 < -report.objective.reduction < 300 * Fraction("0.0002")
