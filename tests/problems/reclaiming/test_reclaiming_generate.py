"""The generator: the statistics of its documentation."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest

import dlsched
from dlsched.problems.reclaiming import Instance
from dlsched.problems.reclaiming.instances.generate import SIZES, best_fit


def sizes(instance: Instance) -> Counter[int]:
    """Count jobs by their GPUs."""
    return Counter(sum(held.values()) for held in instance.held)


def test_the_paper_s_fleet_by_default() -> None:
    """520 servers of 8 GPUs, nearly full, about 700 jobs, a tenth demanded."""
    for seed in range(2):
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
    """Replaying the workers, each is on the fullest server where it fits, the first of equals."""
    instance = dlsched.generate("reclaiming", 4, servers=40, spread=0.0)
    free = [8] * 40
    for job in instance.jobs:
        for worker in job.workers:
            s = instance.server_index[worker.server]
            fitting = [f for f in free if f >= worker.gpus]
            assert free[s] == min(fitting)
            assert s == free.index(free[s])
            free[s] -= worker.gpus


def odd_fleet(placement: str, churn: float = 0.0) -> Instance:
    """Return a fleet of 80 servers, half of whose larger jobs have odd sizes."""
    return dlsched.generate(
        "reclaiming", 6, servers=80, placement=placement, odd=0.5, churn=churn, jobs=None
    )


def hosts(instance: Instance) -> dict[int, set[int]]:
    """Return the jobs on each server."""
    found: dict[int, set[int]] = {}
    for j, held in enumerate(instance.held):
        for s in held:
            found.setdefault(s, set()).add(j)
    return found


@pytest.mark.parametrize("churn", [0.0, 2.0])
def test_jobs_kept_together_share_with_small_ones_only(churn: float) -> None:
    """A job above 8 GPUs has its servers to itself, as few as can be; others sit on one server."""
    fleet = odd_fleet("together", churn)
    on = hosts(fleet)
    for j, held in enumerate(fleet.held):
        assert len(held) == math.ceil(sum(held.values()) / 8)
        if len(held) > 1:
            assert all(on[s] == {j} for s in held)


@pytest.mark.parametrize("churn", [0.0, 2.0])
@pytest.mark.parametrize("placement", ["shared", "remnants"])
def test_the_remaining_gpus_of_a_job_share_a_server(placement: str, churn: float) -> None:
    """Full servers are a job's own; its remaining GPUs are on one server shared with others."""
    fleet = odd_fleet(placement, churn)
    on = hosts(fleet)
    remnants: set[int] = set()
    small: set[int] = set()
    for held in fleet.held:
        partial = [s for s, gpus in held.items() if gpus < 8]
        assert len(partial) == (sum(held.values()) % 8 > 0)
        (remnants if len(held) > 1 else small).update(partial)
    assert any(len(on[s]) > 1 for s in remnants)
    assert bool(remnants & small) == (placement == "shared")


def test_odd_sizes_lie_between_half_and_the_size() -> None:
    """With odd=1 a draw of 8 GPUs becomes 5, 6 or 7, each equally likely; 1 and 2 stay."""
    made = dlsched.generate("reclaiming", 1, servers=600, jobs=600, sizes={8: 1}, odd=1.0)
    counts = sizes(made)
    assert counts.keys() == {5, 6, 7}
    assert all(abs(n - 200) < 5 * math.sqrt(600 * 2 / 9) for n in counts.values())
    assert sizes(
        dlsched.generate("reclaiming", 1, servers=20, jobs=40, sizes={1: 1, 2: 1}, odd=1.0)
    ).keys() == {1, 2}


def test_departures_scatter_the_workers_of_later_jobs() -> None:
    """After departures best fit spreads jobs over more servers; the fleet stays full."""
    fresh, used = (
        dlsched.generate("reclaiming", 2, servers=150, spread=0.0, churn=churn)
        for churn in (0.0, 2.0)
    )

    def servers_per_gpu(instance: Instance) -> float:
        large = [held for held in instance.held if sum(held.values()) >= 8]
        return sum(map(len, large)) / sum(sum(held.values()) for held in large)

    assert servers_per_gpu(used) > 1.3 * servers_per_gpu(fresh)
    assert sum(sum(held.values()) for held in used.held) > 0.75 * 8 * 150


def test_a_number_of_jobs_holds_under_churn() -> None:
    """Each departure is followed by one arrival at most."""
    made = dlsched.generate("reclaiming", 2, servers=100, jobs=50, churn=3.0)
    assert len(made.jobs) == 50


def test_a_gang_that_does_not_fit_books_nothing() -> None:
    """All workers or none."""
    free = np.array([2, 1])
    assert best_fit(free, 2, 2) is None
    assert free.tolist() == [2, 1]
    assert best_fit(free, 1, 3) == [1, 0, 0]


def test_scattered_jobs_sit_on_servers_drawn_at_random() -> None:
    """Every job has a base worker on this number of distinct servers."""
    made = dlsched.generate("reclaiming", 3, servers=20, gpus=64, jobs=50, scattered=4)
    assert len(made.jobs) == 50
    for job in made.jobs:
        assert len({worker.server for worker in job.workers}) == len(job.workers) == 4
        assert not any(worker.flexible for worker in job.workers)
    assert len({worker.server for job in made.jobs for worker in job.workers}) == 20
