"""Lyra's two phases on two pools, the generator, and the other rules."""

from __future__ import annotations

from typing import Any

import pytest

import dlsched
from dlsched.problems.elastic import Instance, jct


def epoch(training: int, loan: int, *jobs: dict[str, Any], speed: float = 0.5) -> Instance:
    """Return an instance with two pools; jobs have one GPU per worker unless they say otherwise."""
    kinds = [
        {"id": "training", "capacity": training, "speed": 1},
        {"id": "loan", "capacity": loan, "speed": speed},
    ]
    return Instance(name="hand", pools=kinds, jobs=[{"gpus_per_worker": 1} | job for job in jobs])


def job(name: str, least: int, most: int, seconds: int, **flags: Any) -> dict[str, Any]:
    """Return a job's fields."""
    return {"id": name, "min_workers": least, "max_workers": most} | {
        "min_running_time": seconds
    } | flags  # fmt: skip


def given(instance: Instance, method: str = "lyra", **options: Any) -> Any:
    """Return the workers that a rule gives."""
    return dlsched.solve(instance, method, **options).solution.workers


def test_elastic_fungible_jobs_prefer_loan() -> None:
    """Section 5.3: an elastic job starts on loan, an inelastic one in training."""
    made = epoch(4, 4, job("e", 1, 2, 9, fungible=True), job("i", 1, 1, 9, fungible=True))
    assert given(made) == {"e": {"loan": 2}, "i": {"training": 1}}


def test_fungible_jobs_take_the_other_pool_if_they_must() -> None:
    """What does not fit in the preferred pool starts in the other one; others wait."""
    made = epoch(3, 2, job("e", 3, 4, 9, fungible=True), job("i", 2, 2, 99, fungible=True))
    assert given(made) == {"e": {"training": 3}, "i": {"loan": 2}}
    made = epoch(1, 5, job("t", 2, 2, 9), job("u", 1, 1, 99))
    assert given(made) == {"u": {"training": 1}}


def test_heterogeneous_jobs_come_last() -> None:
    """Section 6: the shorter heterogeneous job gets what the others leave, in both phases."""
    made = epoch(3, 0, job("h", 2, 2, 1, heterogeneous=True), job("n", 1, 3, 50))
    assert given(made) == {"n": {"training": 3}}
    made = epoch(3, 1, job("h", 1, 2, 1, heterogeneous=True), job("n", 2, 2, 50))
    assert given(made, shortest="minimum") == {
        "n": {"training": 2},
        "h": {"training": 1, "loan": 1},
    }


def test_heterogeneous_jobs_overflow_and_grow_on_loan() -> None:
    """Base in training, what does not fit on loan; flexible workers on loan if that is faster."""
    flags = {"heterogeneous": True}
    assert given(epoch(1, 5, job("h", 3, 3, 9, **flags))) == {"h": {"training": 1, "loan": 2}}
    # Two workers in training have speed 2. With up to four on loan the speed is at most
    # 0.7 x (2 + 0.5 x 4) = 2.8; with one it is 1.75, slower than alone.
    made = epoch(2, 5, job("h", 2, 6, 90, **flags))
    assert given(made) == {"h": {"training": 2, "loan": 4}}
    assert given(epoch(2, 1, job("h", 2, 6, 90, **flags))) == {"h": {"training": 2}}


def test_running_jobs_grow_where_they_are() -> None:
    """A fungible job with its base on loan gets no GPUs of training."""
    flags = {"running": True, "fungible": True, "base_pool": "loan"}
    assert given(epoch(9, 2, job("r", 1, 9, 9, **flags))) == {"r": {"loan": 3}}


def test_fifo_by_hand() -> None:
    """Base workers in the file's order until one does not fit, then growth where the base is.

    The elastic job e starts on loan and grows there; h, which fits in training alone, does not use
    the loan GPU; w does not fit, so the smaller s waits, too.
    """
    made = epoch(5, 4, job("e", 1, 3, 9, fungible=True), job("h", 2, 9, 9, heterogeneous=True),
                 job("w", 4, 4, 1), job("s", 1, 1, 1))  # fmt: skip
    assert given(made, "fifo") == {"e": {"loan": 3}, "h": {"training": 5}}
    # On both kinds of GPU already, h grows on loan first.
    made = epoch(1, 3, job("h", 2, 4, 9, heterogeneous=True))
    assert given(made, "fifo") == {"h": {"training": 1, "loan": 3}}


def test_afs_by_hand() -> None:
    """One worker at a time, to the job and pool with the largest gain in throughput per GPU.

    A worker adds 1 to a in training, 0.8 to c there, and 0.5 to b on loan. So a gets the two that
    are left in training, though c comes first, and c only what a cannot use.
    """
    lossy = {"id": "c", "min_workers": 1, "max_workers": 2, "running_times": [9, 5]}
    made = epoch(4, 3, lossy, job("a", 1, 3, 20), job("b", 1, 2, 20, fungible=True))
    assert given(made, "afs") == {"a": {"training": 3}, "b": {"loan": 2}, "c": {"training": 1}}
    made = epoch(5, 3, *made.to_data()["jobs"])
    assert given(made, "afs")["c"] == {"training": 2}


def test_afs_on_two_pools_does_not_ask_what_is_left_of_a_job() -> None:
    """The long job comes first in the queue and grows; the short one has no larger throughput."""
    flags = {"running": True}
    made = epoch(3, 1, job("long", 1, 4, 1000, **flags), job("short", 1, 4, 10, **flags))
    assert dlsched.solve(made, "afs").objective.reduction == 3000


def test_afs_does_not_look_two_workers_ahead() -> None:
    """Three on loan would help a job of two in training, but the first one slows it down."""
    flags = {"heterogeneous": True}
    assert given(epoch(2, 4, job("h", 2, 6, 90, **flags)), "afs") == {"h": {"training": 2}}
    # With a share of 1 every worker helps, those of training more.
    made = epoch(3, 4, job("h", 2, 6, 90, **flags)).model_copy(update={"mixed_efficiency": 1})
    assert given(made, "afs") == {"h": {"training": 3, "loan": 3}}


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_without_loan_the_rules_are_those_of_one_capacity(seed: int) -> None:
    """With nothing on loan `afs`, `fifo` and completion times are those of training alone."""
    one = dlsched.generate("elastic", seed=seed, jobs=12, capacity=30)
    two = dlsched.generate("elastic", seed=seed, jobs=12, capacity=30, loan=0,
                           fungible=0.0, heterogeneous=0.0)  # fmt: skip
    for name in ("afs", "fifo"):
        plain = {j: {"training": n} for j, n in given(one, name).items()}
        assert given(two, name) == plain
    for rule in ("shortest", "longest", "equal"):
        assert jct(two, rule) == jct(one, rule)


def test_completion_times_on_two_pools_by_hand() -> None:
    """b is on loan from the start, at half speed; c waits for a, then both GPUs are its own.

    a: 60 s of work on 2 GPUs of training. b: 30 s on one of loan take 60. c: 40 s of work with two
    workers follow at 30 s.
    """
    made = epoch(2, 1, job("a", 2, 2, 30), job("b", 1, 1, 30, fungible=True, running=True,
                 base_pool="loan"), job("c", 1, 2, 20))  # fmt: skip
    made = made.model_copy(update={"pools": epoch(2, 0).pools})
    assert jct(made, ["a", "b", "c"]).times == {"a": 30, "b": 60, "c": 50}


def test_started_jobs_stay_where_their_base_is() -> None:
    """The elastic e starts on loan; when training is free again, it stays there."""
    made = epoch(2, 2, job("i", 2, 2, 10), job("e", 1, 2, 10, fungible=True))
    assert jct(made, ["i", "e"]).times == {"i": 10, "e": 20}


def test_a_job_that_never_fits_is_named() -> None:
    """The error has the GPUs of both pools."""
    with pytest.raises(dlsched.OptionError, match="'a' needs more GPUs than there are: 1 and 5"):
        jct(epoch(1, 5, job("a", 2, 2, 1)))


def test_the_generator_adds_pools_to_the_same_jobs() -> None:
    """With GPUs on loan the jobs are the same but for the flags, whose shares are as asked for."""
    plain = dlsched.generate("elastic", seed=4, jobs=400, capacity=90)
    made = dlsched.generate("elastic", seed=4, jobs=400, capacity=90, loan=30)
    assert [(p.id, p.capacity) for p in made.by_pool] == [("training", 90), ("loan", 30)]
    flags = {"fungible": False, "heterogeneous": False, "base_pool": None}
    assert tuple(each.model_copy(update=flags) for each in made.jobs) == plain.jobs
    assert 0.15 < sum(each.fungible for each in made.jobs) / 400 < 0.27
    assert 0.06 < sum(each.heterogeneous for each in made.jobs) / 400 < 0.14
    assert all((each.base_pool is not None) == each.running for each in made.jobs)
    assert not any(each.base_pool == "loan" and not each.fungible for each in made.jobs)
