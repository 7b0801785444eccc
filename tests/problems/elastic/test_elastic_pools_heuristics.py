"""Lyra's two phases on two pools, the generator, and what is for one capacity only."""

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


def given(instance: Instance, **options: Any) -> Any:
    """Return the workers that `lyra` gives."""
    return dlsched.solve(instance, "lyra", **options).solution.workers


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


@pytest.mark.parametrize("name", ["greedy", "afs", "fifo"])
def test_methods_for_one_capacity_say_so(name: str) -> None:
    """The error names the method, the instance, and what to use."""
    with pytest.raises(dlsched.OptionError, match=f"{name} is for one capacity; hand .* use lyra"):
        dlsched.solve(epoch(1, 1, job("a", 1, 1, 1)), name)


def test_completion_times_are_for_one_capacity() -> None:
    """`jct` does not know pools."""
    with pytest.raises(dlsched.OptionError, match="jct is for one capacity"):
        jct(epoch(1, 1, job("a", 1, 1, 1)))


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
