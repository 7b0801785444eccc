"""The heuristics for elastic: the jobs that they start, and which job gets the next worker."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

import dlsched
from dlsched.problems.elastic import Instance
from dlsched.problems.elastic.instances.generate import lossy_times


def epoch(capacity: int, *jobs: tuple[str, int, int, int, int, bool]) -> Instance:
    """Return an instance; a job is (id, GPUs per worker, least, most, seconds, running)."""
    names = ("id", "gpus_per_worker", "min_workers", "max_workers", "min_running_time", "running")
    rows: list[dict[str, Any]] = [dict(zip(names, job, strict=True)) for job in jobs]
    return Instance(name="hand", capacity=capacity, jobs=rows)


def test_afs_gives_every_base_demand_first() -> None:
    """Lyra, section 7.1: no running job grows before the waiting ones have their base."""
    made = epoch(3, ("r", 1, 1, 4, 10, True), ("w", 1, 2, 2, 1000, False))
    answer = dlsched.solve(made, "afs")
    assert answer.solution.workers == {"r": 2, "w": 2}
    assert answer.objective.launched == 1


def test_afs_adds_single_workers_by_gain_per_gpu() -> None:
    """Throughput 1 / time: a gains 1/40 per GPU, b 1/60, c, of 2 GPUs a worker, 1/32."""
    made = epoch(6, ("a", 1, 1, 4, 10, True), ("b", 1, 1, 4, 15, True), ("c", 2, 1, 2, 8, True))
    assert dlsched.solve(made, "afs").solution.workers == {"a": 4, "b": 2, "c": 2}
    less = Instance(name="less", capacity=3, jobs=made.jobs)
    assert dlsched.solve(less, "afs").solution.workers == {"a": 2, "b": 1, "c": 2}


def test_afs_takes_the_queue_in_its_order() -> None:
    """Jobs start in the file's order; those that do not fit are skipped."""
    jobs = [("x", 1, 3, 3, 5, False), ("y", 1, 2, 2, 1, False), ("z", 1, 1, 1, 9, False)]
    assert dlsched.solve(epoch(4, *jobs), "afs").solution.workers == {"x": 3, "z": 1}
    assert dlsched.solve(epoch(4, *jobs[::-1]), "afs").solution.workers == {"z": 1, "y": 2}


def test_lyra_starts_the_shortest_and_skips_what_does_not_fit() -> None:
    """Section 5.2: shortest running time first; the knapsack divides the remaining GPUs."""
    made = epoch(
        6,
        ("long", 1, 2, 2, 50, False),
        ("short", 1, 1, 1, 5, False),
        ("wide", 1, 6, 6, 10, False),
        ("grows", 1, 1, 3, 40, True),
    )
    assert dlsched.solve(made, "lyra").solution.workers == {"long": 2, "short": 1, "grows": 3}


def test_the_shortest_by_either_time() -> None:
    """With base workers b is shorter, 30 s against 40; with the most a is, 10 s against 30."""
    made = epoch(1, ("a", 1, 1, 4, 10, False), ("b", 1, 1, 1, 30, False))
    assert dlsched.solve(made, "lyra").solution.workers == {"b": 1}
    assert dlsched.solve(made, "lyra", shortest="minimum").solution.workers == {"a": 1}
    with pytest.raises(dlsched.OptionError, match="shortest='size'"):
        dlsched.solve(made, "lyra", shortest="size")


@pytest.mark.parametrize(
    ("power", "speeds"),
    [(False, ("2", "2.8", "3.6", "4.4")), (True, ("2", "2.8", "3.44", "3.952"))],
)
def test_the_loss_of_an_added_worker(power: bool, speeds: tuple[str, ...]) -> None:
    """Section 7.2: each added worker brings 0.8; as a variant, the n-th brings 0.8**n."""
    times = lossy_times(10**6, 2, 5, power=power)
    fastest = Fraction(speeds[-1])
    assert times == [round(10**6 * fastest / Fraction(s)) for s in speeds]


@pytest.mark.parametrize("scaling", ["loss", "power_loss"])
def test_the_generator_draws_either_loss(scaling: str) -> None:
    """The parameter selects the loss; the two differ from the second added worker on."""
    made = dlsched.generate("elastic", seed=2, jobs=30, scaling=scaling)
    elastic = [job for job in made.jobs if job.running_times and len(job.running_times) > 2]
    assert elastic
    for job in elastic:
        times = job.running_times
        assert times is not None
        expected = lossy_times(
            int(times[-1]), job.min_workers, job.max_workers, power=scaling == "power_loss"
        )
        assert list(times) == expected
    with pytest.raises(dlsched.OptionError, match="scaling='halved'"):
        dlsched.generate("elastic", scaling="halved")
