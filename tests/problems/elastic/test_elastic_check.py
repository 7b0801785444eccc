"""The definition, with one capacity and two pools: times by hand, violations, bad fields."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from elastic_instances import LOAN, TRAINING, epoch, job
from refusals import changed, refused_path

import dlsched
from dlsched.problems.elastic import Instance
from dlsched.problems.elastic.definition.job_choices import reduction, running_time

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


def answer(instance: Instance, workers: Any) -> dict[str, Any]:
    """Return a solution file of an instance."""
    return HEAD | {"instance": instance.name, "workers": workers}


def violations(instance: Instance, workers: Any) -> list[tuple[str, str, Any]]:
    """Return the violations of an allocation."""
    found = dlsched.verify(instance, answer(instance, workers)).violations
    return [(v.kind, v.where, v.amount) for v in found]


def test_worth_by_hand() -> None:
    """Job r gains 120 - 80 s with a third worker for 2 GPUs, p 19.5 s with 3 GPUs in all."""
    report = dlsched.verify(THREE, answer(THREE, {"r": 3, "p": 3}))
    assert report.feasible
    assert tuple(report.objective) == (1, 40 + Fraction("19.5"))
    assert report.details == {"gpus": 5}


@pytest.mark.parametrize(
    ("workers", "expected"),
    [
        ({"r": 3, "p": 3, "z": 1}, [("unknown_job", "workers.z", 1)]),
        ({"r": 3, "p": 1}, [("below_min", "workers.p", 1)]),
        ({"r": 1, "p": 2}, [("below_min", "workers.r", 1)]),
        ({"r": 5, "p": 0}, [("above_max", "workers.r", 1)]),
        ({"r": 2, "p": 5}, [("above_max", "workers.p", 2)]),
        ({"r": 2, "q": 2}, [("above_max", "workers.q", 1), ("over_capacity", "workers", 1)]),
        ({"p": 3}, [("running_stopped", "workers.r", 2)]),
        ({"r": 0, "p": 3}, [("running_stopped", "workers.r", 2)]),
        ({"r": 4, "p": 2, "q": 1}, [("over_capacity", "workers", 3)]),
        ({"r": 1, "q": 1, "z": 0}, [("unknown_job", "workers.z", 1),
                                    ("below_min", "workers.r", 1)]),
        # A running job below its least number of workers adds no GPUs to the capacity.
        ({"r": 1, "p": 3, "q": 1}, [("below_min", "workers.r", 1)]),
        ({"r": 1, "p": 2, "q": 2}, [("below_min", "workers.r", 1), ("above_max", "workers.q", 1),
                                    ("over_capacity", "workers", 3)]),
    ],
)  # fmt: skip
def test_violations(workers: dict[str, int], expected: list[tuple[str, str, int]]) -> None:
    """Every violation has its kind, place and amount, and there is no other."""
    assert violations(THREE, workers) == expected


@pytest.mark.parametrize(
    ("position", "workers", "seconds"),
    [
        (0, (4, 0), 60),
        (0, (2, 0), 120),
        (1, (2, 0), 180),
        (1, (0, 2), 720),
        (1, (0, 4), 360),
        (2, (2, 0), 80),
        (2, (0, 2), 320),
        # Three workers take 50 s at speed 1. Two and one have the speed 2.25, half of it is left.
        (2, (2, 1), Fraction(50 * 3) / (Fraction("2.25") / 2)),
        (2, (1, 1), Fraction(80 * 2) / (Fraction("1.25") / 2)),
        (3, (0, 1), 240),
        (3, (0, 3), 80),
    ],
)
def test_running_times_by_hand(position: int, workers: tuple[int, int], seconds: Fraction) -> None:
    """Speeds add up, workers in both pools have a share of it, tables are scaled by it."""
    assert running_time(TWO, TWO.jobs[position], workers) == seconds


def test_savings_count_from_the_fastest_base() -> None:
    """A pending job counts from training, a running one from where its base workers are."""
    _, fungible, mixed, on_loan = TWO.jobs
    assert reduction(TWO, fungible, (0, 4)) == 180 - 360
    assert reduction(TWO, mixed, (3, 0)) == 80 - 50
    assert reduction(TWO, on_loan, (0, 3)) == 240 - 80
    fast = Instance.parse(changed(TWO.to_data(), "pools[1].speed", 4), "the test")
    assert reduction(fast, fungible, (0, 2)) == 0
    assert reduction(fast, fungible, (2, 0)) == 45 - 180


def test_worth_on_two_pools_by_hand() -> None:
    """t saves 40 s, f starts on loan 540 s slower, l saves 120 s; each pool is counted."""
    workers = {"t": {"training": 3}, "f": {"loan": 2}, "l": {"loan": 2}}
    report = dlsched.verify(TWO, answer(TWO, workers))
    assert report.feasible
    assert tuple(report.objective) == (1, 40 - 540 + 120)
    assert report.details == {"gpus": 7, "gpus_training": 2, "gpus_loan": 5}


def test_three_servers_on_loan_equal_one() -> None:
    """Lyra, section 7.5: 24 workers on loan at speed 0.3333 take as long as 8, within 0.02 %."""
    made = epoch(6, job("a", 8, 24, 100, fungible=True), loan=9, speed=0.3333)
    eight, more = (running_time(made, made.jobs[0], pair) for pair in ((8, 0), (0, 24)))
    assert eight < more < eight * Fraction("1.0002")


@pytest.mark.parametrize(
    ("workers", "expected"),
    [
        (BASE | {"z": {"loan": 1}}, [("unknown_job", "workers.z", 1)]),
        (BASE | {"f": {"spare": 2}}, [("unknown_pool", "workers.f.spare", 1)]),
        (BASE | {"f": 2}, [("no_pool", "workers.f", 1)]),
        (BASE | {"f": {"loan": 1}}, [("below_min", "workers.f", 1)]),
        (BASE | {"h": {"training": 1}}, [("below_min", "workers.h", 1)]),
        (BASE | {"f": {"loan": 5}}, [("above_max", "workers.f", 1)]),
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
def test_violations_on_two_pools(workers: Any, expected: list[tuple[str, str, int]]) -> None:
    """Every violation has its kind, place and amount, and there is no other."""
    assert violations(TWO, workers) == expected


def test_workers_by_pool_need_pools() -> None:
    """An instance with one capacity refuses workers by pool."""
    made = dlsched.load("lyra-table4")
    ((kind, where, _),) = violations(made, {"A": {"training": 2}, "B": 2})
    assert (kind, where) == ("unknown_pool", "workers.A")


@pytest.mark.parametrize(
    ("instance", "workers", "path"),
    [
        (THREE, {"r": -1}, "workers.r"),
        (THREE, {"r": 2.0}, "workers.r"),
        (THREE, {"r": True}, "workers.r"),
        (THREE, {"r": "3"}, "workers.r"),
        (THREE, ["r"], "workers"),
        (THREE, None, "workers"),
        (TWO, {"f": {"loan": -1}}, "workers.f.loan"),
        (TWO, {"f": {"loan": 2.0}}, "workers.f.loan"),
        (TWO, {"f": {"loan": {"s": 1}}}, "workers.f.loan"),
        (TWO, {"f": ["loan"]}, "workers.f"),
        (TWO, {"f": {"": 1}}, 'workers.f.""'),
    ],
)
def test_unusable_solutions_are_refused(instance: Instance, workers: Any, path: str) -> None:
    """What is no allocation is refused with the field's path."""
    assert refused_path(instance, answer(instance, workers)) == path


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"max_workers": 1}, "jobs[0].max_workers"),
        ({"min_running_time": None}, "jobs[0]"),
        ({"running_times": [3, 2, 1]}, "jobs[0]"),
        ({"min_running_time": None, "running_times": [3]}, "jobs[0].running_times"),
        ({"min_running_time": 0}, "jobs[0].min_running_time"),
        ({"gpus_per_worker": 0}, "jobs[0].gpus_per_worker"),
        ({"running": "yes"}, "jobs[0].running"),
        ({"max_workers": 10**9}, "jobs[0].max_workers"),
        ({"id": "p"}, "jobs[1].id"),
    ],
)
def test_unusable_jobs_are_refused(changes: dict[str, Any], path: str) -> None:
    """A job that contradicts itself, or has more choices than a model can hold, is named."""
    bad = HEAD | {"name": "bad", "capacity": 7, "jobs": [JOBS[0] | changes, *JOBS[1:]]}
    assert refused_path(bad) == path


ONE_CAPACITY = {"capacity": 5}
TWO_POOLS = {"pools": POOLS}


@pytest.mark.parametrize(
    ("fields", "changes", "path"),
    [
        ({}, {}, "capacity"),
        (ONE_CAPACITY | TWO_POOLS, {}, "capacity"),
        (ONE_CAPACITY, {"fungible": True}, "jobs[0].fungible"),
        (ONE_CAPACITY, {"heterogeneous": True}, "jobs[0].heterogeneous"),
        (ONE_CAPACITY, {"running": True, "base_pool": "training"}, "jobs[0].base_pool"),
        (ONE_CAPACITY | {"mixed_efficiency": 0.5}, {}, "mixed_efficiency"),
        (TWO_POOLS | {"mixed_efficiency": 1.5}, {}, "mixed_efficiency"),
        (TWO_POOLS | {"mixed_efficiency": 0}, {}, "mixed_efficiency"),
        # Savings that have no double would end every method and every table.
        (TWO_POOLS | {"mixed_efficiency": 1e-101}, {}, "mixed_efficiency"),
        ({"pools": [TRAINING, LOAN | {"speed": 1e-101}]}, {}, "pools[1].speed"),
        ({"pools": POOLS[:1]}, {}, "pools"),
        ({"pools": [*POOLS, TRAINING]}, {}, "pools"),
        ({"pools": [TRAINING, LOAN | {"id": "spare"}]}, {}, "pools[1].id"),
        ({"pools": [TRAINING, LOAN | {"speed": 0}]}, {}, "pools[1].speed"),
        (TWO_POOLS, {"base_pool": "loan", "fungible": True}, "jobs[0].base_pool"),
        (TWO_POOLS, {"base_pool": "loan", "running": True}, "jobs[0].base_pool"),
        (TWO_POOLS, {"max_workers": 2000, "heterogeneous": True}, "jobs[0].max_workers"),
    ],
)
def test_unusable_pools_are_refused(
    fields: dict[str, Any], changes: dict[str, Any], path: str
) -> None:
    """Pools that contradict the capacity or a job are refused with the field's path."""
    bad = HEAD | {"name": "bad", "jobs": [job("p", 1, 1, 1) | changes]} | fields
    assert refused_path(bad) == path


def test_frames_of_pools() -> None:
    """An instance with pools has a frame of them, and its solution a row per job and pool."""
    frames = TWO.to_frames()
    assert list(frames["pools"].columns) == ["id", "capacity", "speed"]
    assert dlsched.from_frames("elastic", **frames, name="two") == TWO
    workers = {"t": {"training": 2}, "h": {"training": 2, "loan": 1}, "l": {"loan": 1}}
    rows = dlsched.load_solution(answer(TWO, workers)).to_frames()["workers"]
    assert list(rows.itertuples(index=False, name=None)) == [
        (name, pool, count) for name, pools in workers.items() for pool, count in pools.items()
    ]


def test_the_order_of_pools_is_part_of_the_digest() -> None:
    """Instances with the same pools in another order are not the same."""
    again = TWO.model_copy(update={"pools": TWO.pools[::-1]})
    assert again.sha256 != TWO.sha256
