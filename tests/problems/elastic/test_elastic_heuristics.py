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
    """Work per second, in GPUs at the base demand: b gains 0.5, c 0.75, a 1 and 0.4."""
    rows = [
        {"id": "a", "gpus_per_worker": 1, "running_times": [12, 6, 5]},
        {"id": "b", "gpus_per_worker": 1, "running_times": [900, 600]},
        {"id": "c", "gpus_per_worker": 2, "running_times": [7, 4]},
    ]
    for row in rows:
        more = len(row["running_times"]) - 1  # type: ignore[arg-type]
        row |= {"min_workers": 1, "max_workers": 1 + more, "running": True}
    for capacity, workers in ((1, (2, 1, 1)), (3, (2, 1, 2)), (4, (2, 2, 2)), (5, (3, 2, 2))):
        made = Instance(name="hand", capacity=capacity, jobs=rows)
        given = dict(zip("abc", workers, strict=True))
        assert dlsched.solve(made, "afs").solution.workers == given


def test_afs_does_not_ask_what_is_left_of_a_job() -> None:
    """Two jobs that scale alike gain alike, whatever is left; the first in the queue grows."""
    made = epoch(3, ("long", 1, 1, 4, 1000, True), ("short", 1, 1, 4, 10, True))
    for rule in ("afs", "fifo", "lyra", "exact"):
        answer = dlsched.solve(made, rule)
        assert answer.solution.workers["long"] == 4
        assert answer.objective.reduction == 3000
    turned = Instance(name="turned", capacity=3, jobs=made.jobs[::-1])
    assert dlsched.solve(turned, "afs").objective.reduction == 30


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
