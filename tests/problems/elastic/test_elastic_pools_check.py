"""Elastic on two pools: running times by hand, violations, and unusable fields."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

import dlsched
from dlsched.problems.elastic import Instance
from dlsched.problems.elastic.definition.job_choices import reduction, running_time

POOLS: list[dict[str, Any]] = [
    {"id": "training", "capacity": 6, "speed": 1},
    {"id": "loan", "capacity": 9, "speed": 0.25},
]
JOBS: list[dict[str, Any]] = [
    {"id": "t", "gpus_per_worker": 2, "min_workers": 2, "max_workers": 4, "min_running_time": 60,
     "running": True},
    {"id": "f", "gpus_per_worker": 1, "min_workers": 2, "max_workers": 4, "min_running_time": 90,
     "fungible": True},
    {"id": "h", "gpus_per_worker": 1, "min_workers": 2, "max_workers": 3,
     "running_times": [80, 50], "heterogeneous": True},
    {"id": "l", "gpus_per_worker": 3, "min_workers": 1, "max_workers": 3, "min_running_time": 20,
     "running": True, "fungible": True, "base_pool": "loan"},
]  # fmt: skip
INSTANCE = Instance(name="two", pools=POOLS, jobs=JOBS, mixed_efficiency=Fraction("0.5"))
BASE = {"t": {"training": 2}, "l": {"loan": 1}}


def verify(workers: Any) -> Any:
    """Return the checker's report on an allocation."""
    envelope = {"dlsched": 1, "problem": "elastic", "instance": "two"}
    return dlsched.verify(INSTANCE, envelope | {"workers": workers})


@pytest.mark.parametrize(
    ("job", "workers", "seconds"),
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
def test_running_times_by_hand(job: int, workers: tuple[int, int], seconds: Fraction) -> None:
    """Speeds add up, workers in both pools have a share of it, tables are scaled by it."""
    assert running_time(INSTANCE, INSTANCE.jobs[job], workers) == seconds


def test_savings_count_from_the_fastest_base() -> None:
    """A pending job counts from training, a running one from where its base workers are."""
    _, fungible, mixed, on_loan = INSTANCE.jobs
    assert reduction(INSTANCE, fungible, (0, 4)) == 180 - 360
    assert reduction(INSTANCE, mixed, (3, 0)) == 80 - 50
    assert reduction(INSTANCE, on_loan, (0, 3)) == 240 - 80
    fast = INSTANCE.model_copy(
        update={
            "pools": Instance(name="x", pools=[POOLS[0], POOLS[1] | {"speed": 4}], jobs=[]).pools
        }
    )
    assert reduction(fast, fungible, (0, 2)) == 0
    assert reduction(fast, fungible, (2, 0)) == 45 - 180


def test_worth_by_hand() -> None:
    """t saves 40 s, f starts on loan 540 s slower, l saves 120 s; each pool is counted."""
    report = verify({"t": {"training": 3}, "f": {"loan": 2}, "l": {"loan": 2}})
    assert report.feasible
    assert tuple(report.objective) == (1, 40 - 540 + 120)
    assert report.details == {"gpus": 7, "gpus_training": 2, "gpus_loan": 5}


def test_three_servers_on_loan_equal_one() -> None:
    """Lyra, section 7.5: 24 workers on loan at speed 0.3333 take as long as 8, within 0.02 %."""
    job = {"id": "a", "gpus_per_worker": 1, "min_workers": 8, "max_workers": 24,
           "min_running_time": 100, "fungible": True}  # fmt: skip
    pools = [POOLS[0], POOLS[1] | {"speed": 0.3333}]
    made = Instance(name="x", pools=pools, jobs=[job])
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
def test_violations(workers: Any, expected: list[tuple[str, str, int]]) -> None:
    """Every violation has its kind, place and amount, and there is no other."""
    found = [(v.kind, v.where, v.amount) for v in verify(workers).violations]
    assert found == expected


def test_workers_by_pool_need_pools() -> None:
    """An instance with one capacity refuses workers by pool."""
    made = dlsched.load("lyra-table4")
    answer = {"dlsched": 1, "problem": "elastic", "instance": made.name}
    report = dlsched.verify(made, answer | {"workers": {"A": {"training": 2}, "B": 2}})
    assert [(v.kind, v.where) for v in report.violations] == [("unknown_pool", "workers.A")]


@pytest.mark.parametrize(
    ("workers", "path"),
    [
        ({"f": {"loan": -1}}, "workers.f.loan"),
        ({"f": {"loan": 2.0}}, "workers.f.loan"),
        ({"f": {"loan": {"s": 1}}}, "workers.f.loan"),
        ({"f": ["loan"]}, "workers.f"),
        ({"f": {"": 1}}, 'workers.f.""'),
    ],
)
def test_unusable_solutions_are_refused(workers: Any, path: str) -> None:
    """What is no allocation is refused with the field's path."""
    with pytest.raises(dlsched.InstanceError) as caught:
        verify(workers)
    assert caught.value.path == path


ONE = {"capacity": 5}
TWO = {"pools": POOLS}
PLAIN: dict[str, Any] = {"id": "p", "gpus_per_worker": 1, "min_workers": 1, "max_workers": 1,
                         "min_running_time": 1}  # fmt: skip


@pytest.mark.parametrize(
    ("fields", "changes", "path"),
    [
        ({}, {}, "capacity"),
        (ONE | TWO, {}, "capacity"),
        (ONE, {"fungible": True}, "jobs[0].fungible"),
        (ONE, {"heterogeneous": True}, "jobs[0].heterogeneous"),
        (ONE, {"running": True, "base_pool": "training"}, "jobs[0].base_pool"),
        (ONE | {"mixed_efficiency": 0.5}, {}, "mixed_efficiency"),
        (TWO | {"mixed_efficiency": 1.5}, {}, "mixed_efficiency"),
        (TWO | {"mixed_efficiency": 0}, {}, "mixed_efficiency"),
        ({"pools": POOLS[:1]}, {}, "pools"),
        ({"pools": [*POOLS, POOLS[0]]}, {}, "pools"),
        ({"pools": [POOLS[0], POOLS[1] | {"id": "spare"}]}, {}, "pools[1].id"),
        ({"pools": [POOLS[0], POOLS[1] | {"speed": 0}]}, {}, "pools[1].speed"),
        (TWO, {"base_pool": "loan", "fungible": True}, "jobs[0].base_pool"),
        (TWO, {"base_pool": "loan", "running": True}, "jobs[0].base_pool"),
        (TWO, {"max_workers": 2000, "heterogeneous": True}, "jobs[0].max_workers"),
    ],
)
def test_unusable_instances_are_refused(
    fields: dict[str, Any], changes: dict[str, Any], path: str
) -> None:
    """Pools that contradict the capacity or a job are refused with the field's path."""
    envelope = {"dlsched": 1, "problem": "elastic", "name": "bad"}
    with pytest.raises(dlsched.InstanceError) as caught:
        dlsched.load(envelope | fields | {"jobs": [PLAIN | changes]})
    assert caught.value.path == path


def test_frames_of_pools() -> None:
    """An instance with pools has a frame of them, and its solution a row per job and pool."""
    frames = INSTANCE.to_frames()
    assert list(frames["pools"].columns) == ["id", "capacity", "speed"]
    assert dlsched.from_frames("elastic", **frames, name="two") == INSTANCE
    workers = {"t": {"training": 2}, "h": {"training": 2, "loan": 1}, "l": {"loan": 1}}
    solution = dlsched.load_solution(
        {"dlsched": 1, "problem": "elastic", "instance": "two", "workers": workers}
    )
    rows = solution.to_frames()["workers"].itertuples(index=False, name=None)
    assert list(rows) == [
        ("t", "training", 2),
        ("h", "training", 2),
        ("h", "loan", 1),
        ("l", "loan", 1),
    ]


def test_pools_do_not_change_the_digest_of_one_capacity() -> None:
    """An instance without pools has the digest that it had before there were any."""
    pair = dlsched.load("lyra-table4")
    assert pair.sha256.startswith("3dc64d0d6f28cf07")
    again = INSTANCE.model_copy(update={"pools": INSTANCE.pools[::-1]})
    assert again.sha256 != INSTANCE.sha256
