"""The order by prices: its linear program against the primal, and cases worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import linprog

from dlsched.simulation import Cluster, simulate
from dlsched.simulation.policies.synergy_prices import Demands, costs, undominated
from dlsched.simulation.workload.generators import synergy_workload


def least_time(shares: list[NDArray[np.float64]], work: NDArray[np.float64]) -> float:
    """Return the least time of the primal: jobs divided at will on pooled resources."""
    rows = np.concatenate(shares)
    owner = np.repeat(np.arange(len(shares)), [len(part) for part in shares])
    done = -(owner[None, :] == np.arange(len(shares))[:, None]).astype(float)
    left = np.concatenate([done, rows.T])
    last = np.concatenate([np.zeros(len(shares)), -np.ones(rows.shape[1])])
    result = linprog(
        [*np.zeros(len(rows)), 1.0],
        A_ub=np.column_stack([left, last]),
        b_ub=[*-work, *np.zeros(rows.shape[1])],
    )
    return float(result.fun)


@pytest.mark.parametrize("seed", range(20))
def test_the_costs_add_up_to_the_least_time(seed: int) -> None:
    """By duality all jobs together cost what the pooled machine needs for them."""
    rng = np.random.default_rng(seed)
    shares = [rng.uniform(0.01, 1, (rng.integers(1, 6), 3)) for _ in range(rng.integers(1, 5))]
    kind = rng.integers(0, len(shares), 12)
    work = rng.uniform(1, 1000, 12) * 10.0 ** rng.integers(0, 9)
    total = np.bincount(kind, weights=work, minlength=len(shares))
    demands = Demands(kind, shares)
    least = least_time(shares, total / total.sum()) * total.sum()
    assert costs(demands, np.arange(12), work).sum() == pytest.approx(least, rel=1e-7)


def test_what_is_scarce_decides() -> None:
    """Of two jobs with equal work the one that takes less of the one scarce resource is cheaper."""
    few_cpus = np.array([[0.1, 0.1, 0.0]])
    many_cpus = np.array([[0.1, 0.4, 0.0]])
    demands = Demands(np.array([0, 1]), [few_cpus, many_cpus])
    cheap, dear = costs(demands, np.arange(2), np.array([100.0, 100.0])).tolist()
    assert (cheap, dear) == pytest.approx((10, 40))


def test_gpus_alone_give_the_order_by_gpu_time() -> None:
    """Where nothing but GPUs is used a job costs its remaining GPU time."""
    demands = Demands(np.array([0, 1]), [np.array([[0.25, 0, 0]]), np.array([[0.5, 0, 0]])])
    assert costs(demands, np.arange(2), np.array([30.0, 20.0])).tolist() == pytest.approx([7.5, 10])


def test_a_dominated_choice_cannot_be_the_cheapest() -> None:
    """A choice that takes no less of anything than another one is left out, equal ones once."""
    rows = np.array([[1.0, 2, 3], [1, 2, 3], [1, 2, 4], [2, 1, 3]])
    assert undominated(rows).tolist() == [[1, 2, 3], [2, 1, 3]]


def test_jobs_without_work_have_no_cost() -> None:
    """Where nothing is left there are no prices, and the order is that of submission."""
    demands = Demands(np.array([0, 0]), [np.ones((1, 3))])
    assert costs(demands, np.arange(2), np.zeros(2)).tolist() == [0, 0]


def test_the_policy_completes_and_its_audit_is_clean() -> None:
    """All jobs of a small workload complete in the order by prices."""
    jobs = synergy_workload(12, load=None, split="60/30/10", scale=0.01)
    run = simulate(jobs, Cluster.uniform(1, 8, cpus=24, memory=500), "synergy", order="prices")
    assert run.complete
    assert run.audit().feasible
