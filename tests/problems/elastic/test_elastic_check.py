"""The definition, with one capacity and two pools: times by hand, violations, bad fields."""

from fractions import Fraction
from typing import Any

import pytest
from elastic_instances import LOAN, TRAINING, epoch, job
from refusals import changed, refused, refused_path

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


FAST = Instance.parse(changed(TWO.to_data(), "pools[1].speed", 4), "the test")
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


@pytest.mark.parametrize(
    ("workers", "expected"),
    [
        ({"r": 3, "p": 3, "z": 1}, [("unknown_job", "workers.z", 1)]),
        ({"r": 3, "p": 1}, [("below_min", "workers.p", 1)]),
        ({"r": 5, "p": 0}, [("above_max", "workers.r", 1)]),
        ({"r": 2, "p": 5}, [("above_max", "workers.p", 2)]),
        ({"r": 2, "q": 2}, [("above_max", "workers.q", 1), ("over_capacity", "workers", 1)]),
        ({"p": 3}, [("running_stopped", "workers.r", 2)]),
        ({"r": 4, "p": 2, "q": 1}, [("over_capacity", "workers", 3)]),
        # A running job below its least number of workers adds no GPUs to the capacity.
        ({"r": 1, "p": 3, "q": 1}, [("below_min", "workers.r", 1)]),
        ({"r": 1, "p": 2, "q": 2}, [("below_min", "workers.r", 1), ("above_max", "workers.q", 1),
                                    ("over_capacity", "workers", 3)]),
        # On two pools.
        (BASE | {"f": {"spare": 2}}, [("unknown_pool", "workers.f.spare", 1)]),
        (BASE | {"f": 2}, [("no_pool", "workers.f", 1)]),
        (BASE | {"f": {"loan": 1}}, [("below_min", "workers.f", 1)]),
        (BASE | {"h": {"training": 2, "loan": 2}}, [("above_max", "workers.h", 1)]),
        (BASE | {"t": {}}, [("running_stopped", "workers.t", 2)]),
        ({"t": {"training": 2}}, [("running_stopped", "workers.l", 1)]),
        (BASE | {"t": {"training": 2, "loan": 1}}, [("wrong_pool", "workers.t.loan", 1)]),
        (BASE | {"f": {"training": 1, "loan": 2}}, [("mixed_pools", "workers.f", 1)]),
        (BASE | {"l": {"training": 2}}, [("base_moved", "workers.l.loan", 1)]),
        (BASE | {"t": {"training": 1, "loan": 1}}, [("wrong_pool", "workers.t.loan", 1),
                                                    ("base_moved", "workers.t.training", 1)]),
        (BASE | {"t": {"training": 4}, "f": {"training": 4}},
         [("over_capacity", "pools.training", 2)]),
        (BASE | {"l": {"loan": 3}, "f": {"loan": 4}}, [("over_capacity", "pools.loan", 1)]),
    ],
)  # fmt: skip
def test_violations(workers: dict[str, Any], expected: list[tuple[str, str, int]]) -> None:
    """Every violation has its kind, place and amount, and there is no other."""
    instance = TWO if {"t", "f", "h", "l"} & set(workers) else THREE
    found = report_on(instance, workers).violations
    assert [(v.kind, v.where, v.amount) for v in found] == expected


ONE_CAPACITY = {"capacity": 5}
TWO_POOLS = {"pools": POOLS}


@pytest.mark.parametrize(
    ("fields", "changes", "path"),
    [
        (ONE_CAPACITY, {"max_workers": 0}, "jobs[0].max_workers"),
        (ONE_CAPACITY, {"min_running_time": None}, "jobs[0]"),
        (ONE_CAPACITY, {"running_times": [3, 2, 1]}, "jobs[0]"),
        (ONE_CAPACITY, {"min_running_time": None, "running_times": [3, 2]},
         "jobs[0].running_times"),
        (ONE_CAPACITY, {"min_running_time": None, "running_times": [3, 2, 2, 2, 2, 2]},
         "jobs[0].running_times"),
        (ONE_CAPACITY, {"max_workers": 3, "min_running_time": None, "running_times": [3, 2]},
         "jobs[0].running_times"),
        (ONE_CAPACITY, {"max_workers": 10**6 + 1}, "jobs[0].max_workers"),
        ({}, {}, "capacity"),
        (ONE_CAPACITY | TWO_POOLS, {}, "capacity"),
        (ONE_CAPACITY, {"fungible": True}, "jobs[0].fungible"),
        (ONE_CAPACITY, {"running": True, "base_pool": "training"}, "jobs[0].base_pool"),
        (ONE_CAPACITY | {"mixed_efficiency": 0.5}, {}, "mixed_efficiency"),
        (TWO_POOLS | {"mixed_efficiency": 1.5}, {}, "mixed_efficiency"),
        # Savings that have no double would end every method and every table.
        (TWO_POOLS | {"mixed_efficiency": 1e-101}, {}, "mixed_efficiency"),
        ({"pools": [TRAINING, LOAN | {"speed": 1e-101}]}, {}, "pools[1].speed"),
        ({"pools": [*POOLS, TRAINING]}, {}, "pools"),
        ({"pools": [TRAINING, LOAN | {"id": "spare"}]}, {}, "pools[1].id"),
        ({"pools": [TRAINING, LOAN | {"speed": 0}]}, {}, "pools[1].speed"),
        (TWO_POOLS, {"base_pool": "loan", "fungible": True}, "jobs[0].base_pool"),
        (TWO_POOLS, {"base_pool": "loan", "running": True}, "jobs[0].base_pool"),
        (TWO_POOLS, {"max_workers": 500_001, "fungible": True}, "jobs[0].max_workers"),
        (TWO_POOLS, {"max_workers": 1413, "heterogeneous": True}, "jobs[0].max_workers"),
    ],
)  # fmt: skip
def test_unusable_fields_are_refused(
    fields: dict[str, Any], changes: dict[str, Any], path: str
) -> None:
    """What contradicts itself, or has more choices than a model can hold, is refused by path."""
    bad = HEAD | {"name": "bad", "jobs": [job("p", 1, 1, 1) | changes]} | fields
    assert refused_path(bad) == path


@pytest.mark.parametrize(
    ("fields", "changes"),
    [
        (ONE_CAPACITY, {"max_workers": 10**6}),
        (TWO_POOLS, {"max_workers": 10**6}),
        (TWO_POOLS, {"max_workers": 500_000, "fungible": True}),
        (TWO_POOLS, {"max_workers": 1412, "heterogeneous": True}),
    ],
)
def test_a_million_choices_are_taken(fields: dict[str, Any], changes: dict[str, Any]) -> None:
    """A fungible job has each number twice, a heterogeneous one each pair of numbers."""
    most = HEAD | {"name": "most", "jobs": [job("p", 1, 1, 1) | changes]} | fields
    assert dlsched.load(most).jobs[0].max_workers == changes["max_workers"]


@pytest.mark.parametrize(
    ("pools", "path", "words"),
    [({"": 2}, 'workers.f.""', "is not the id of a pool"), ({"loan": -1}, "workers.f.loan", "-1"),
     (-1, "workers.f", "-1"), ({"loan": 1.5}, "workers.f.loan", "1.5")],
)  # fmt: skip
def test_workers_are_counts_by_pool(pools: Any, path: str, words: str) -> None:
    """What is no count, or of no pool, is refused at its place."""
    answer = HEAD | {"instance": TWO.name, "workers": BASE | {"f": pools}}
    error = refused(TWO, answer)
    assert (error.path, words in error.problem) == (path, True)
