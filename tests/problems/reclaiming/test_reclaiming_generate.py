"""The generator: the statistics that it promises, and the same instance for the same seed."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest

import dlsched
from dlsched import OptionError
from dlsched.problems.reclaiming.generate import SIZES, best_fit
from dlsched.problems.reclaiming.schema import Instance


def sizes(instance: Instance) -> Counter[int]:
    """Count jobs by their GPUs."""
    return Counter(sum(held.values()) for held in instance.held)


def test_same_seed_same_instance() -> None:
    """Seeds and parameters fix the instance, names included."""
    first, again, other = (dlsched.generate("reclaiming", s, servers=50) for s in (7, 7, 8))
    assert first == again
    assert first.sha256 != other.sha256


def test_the_paper_s_fleet_by_default() -> None:
    """520 servers of 8 GPUs, nearly full, about 700 jobs, a tenth demanded."""
    for seed in range(5):
        instance = dlsched.generate("reclaiming", seed)
        assert [s.gpus for s in instance.servers] == [8] * 520
        assert instance.demand == 52
        assert 600 <= len(instance.jobs) <= 850
        held = sum(sum(h.values()) for h in instance.held)
        assert 0.9 <= held / (520 * 8) <= 1


def test_sizes_as_weighted() -> None:
    """Among the first 2,000 jobs on ample servers each size has its share, within 5 sigma."""
    instance = dlsched.generate("reclaiming", 1, servers=3000, jobs=2000)
    counts = sizes(instance)
    assert sum(counts.values()) == 2000
    assert counts.keys() <= SIZES.keys()
    for size, share in SIZES.items():
        sigma = math.sqrt(2000 * share * (1 - share))
        assert abs(counts[size] - 2000 * share) < 5 * sigma


def test_flexible_share() -> None:
    """With flexible=1 half of every job's workers, rounded down, are flexible; with 0 none."""
    for job in dlsched.generate("reclaiming", 2, servers=60, flexible=1.0).jobs:
        assert sum(w.flexible for w in job.workers) == len(job.workers) // 2
    for job in dlsched.generate("reclaiming", 2, servers=60).jobs:
        assert not any(w.flexible for w in job.workers)


def test_spread_jobs_sit_apart() -> None:
    """With spread=1 no two workers of a job share a server."""
    for job in dlsched.generate("reclaiming", 3, servers=100, spread=1.0).jobs:
        assert len({w.server for w in job.workers}) == len(job.workers)


def test_arrivals_fill_by_best_fit() -> None:
    """Replaying the workers, each is on the fullest server with room, the first of equals."""
    instance = dlsched.generate("reclaiming", 4, servers=40, spread=0.0)
    free = [8] * 40
    for job in instance.jobs:
        for worker in job.workers:
            s = instance.server_index[worker.server]
            room = [f for f in free if f >= worker.gpus]
            assert free[s] == min(room)
            assert s == free.index(free[s])
            free[s] -= worker.gpus


def test_a_gang_that_does_not_fit_books_nothing() -> None:
    """All workers or none."""
    free = np.array([2, 1])
    assert best_fit(free, 2, 2) is None
    assert free.tolist() == [2, 1]
    assert best_fit(free, 1, 3) == [1, 0, 0]


def test_nonsense_is_refused() -> None:
    """No servers, or a parameter that there is not."""
    with pytest.raises(OptionError, match="at least 1"):
        dlsched.generate("reclaiming", servers=0)
    with pytest.raises(OptionError, match="no parameter 'server'"):
        dlsched.generate("reclaiming", server=5)


def test_scattered_jobs_sit_on_servers_drawn_at_random() -> None:
    """Every job has one base worker on so many distinct servers; it must be said how many jobs."""
    made = dlsched.generate("reclaiming", 3, servers=20, gpus=64, jobs=50, scattered=4)
    assert len(made.jobs) == 50
    for job in made.jobs:
        assert len({worker.server for worker in job.workers}) == len(job.workers) == 4
        assert not any(worker.flexible for worker in job.workers)
    assert len({worker.server for job in made.jobs for worker in job.workers}) == 20
    for wrong in ({"scattered": 4}, {"scattered": 0, "jobs": 3}, {"scattered": 21, "jobs": 3}):
        with pytest.raises(dlsched.OptionError, match="scattered must be from 1 to 20"):
            dlsched.generate("reclaiming", 1, servers=20, **wrong)
