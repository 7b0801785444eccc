"""The bound by eigenvalues: never above the optimum, and from any numbers that the search gives."""

from fractions import Fraction

import numpy as np
import pytest

import dlsched
from dlsched.problems.reclaiming.definition.oracle import brute_force
from dlsched.problems.reclaiming.definition.schema import Instance
from dlsched.problems.reclaiming.programs.spectral import KeptWeight, certified, preempted_weight
from dlsched.run import Run

WEIGHTS = (1, 3, Fraction(1, 10**9), 10**15, 0.1, "0.12345678901234567", 0)


def drawn(seed: int, weights: tuple[object, ...] = WEIGHTS) -> Instance:
    """Return up to nine servers and jobs on up to five of them."""
    rng = np.random.default_rng(seed)
    servers = int(rng.integers(3, 10))
    jobs = []
    for j in range(int(rng.integers(2, 25))):
        hosts = rng.choice(servers, min(servers, int(rng.integers(0, 6))), replace=False)
        workers = [{"server": f"s{s}", "gpus": 1, "flexible": False} for s in hosts.tolist()]
        weight = weights[int(rng.integers(len(weights)))]
        jobs.append({"id": f"j{j}", "workers": workers, "weight": _written(weight)})
    data = {
        "dlsched": 1,
        "problem": "reclaiming",
        "name": "drawn",
        "demand": int(rng.integers(1, servers)),
        "servers": [{"id": f"s{s}", "gpus": 99} for s in range(servers)],
        "jobs": jobs,
    }
    return Instance.parse(data, "the test")


def _written(weight: object) -> object:
    return float(weight) if isinstance(weight, Fraction | str) else weight


@pytest.mark.parametrize("weights", [(1,), WEIGHTS, (1e-9, 3e-9), (10**15, 10**15 - 1)])
@pytest.mark.parametrize("seed", range(30))
def test_no_choice_of_servers_preempts_less(seed: int, weights: tuple[object, ...]) -> None:
    """Weights from 1e-9 to 1e15, ties, decimals of 17 digits; jobs on no server to five."""
    instance = drawn(seed, weights)
    optimum = brute_force(instance)
    least = preempted_weight(instance, Run())
    assert optimum is not None
    assert least is not None
    assert least <= optimum[0]


@pytest.mark.parametrize("seed", range(40))
def test_any_shift_gives_a_valid_bound(seed: int) -> None:
    """The certificate rests on nothing that the search computes; a bad shift gives no bound."""
    instance = drawn(seed, (1, 2, 0.3))
    optimum = brute_force(instance)
    assert optimum is not None
    rng = np.random.default_rng(seed)
    servers, bits = len(instance.servers), 24
    kept = servers - instance.demand
    form = KeptWeight.of(instance, bits)
    most = certified(form, rng.uniform(-1, 40, servers), kept, bits)
    total = sum(w for w, b in zip(instance.weights, instance.base_servers, strict=True) if b)
    assert most is None or total - most * Fraction(max(instance.weights)) <= optimum[0]


def test_scattered_jobs_have_a_better_bound_than_the_linear_relaxation() -> None:
    """Where every job is on four servers; a run without time for it says so."""
    instance = dlsched.generate(
        "reclaiming", 1, servers=30, demand=9, gpus=64, jobs=120, scattered=4
    )
    linear = dlsched.bound(instance, "lp")[0].value
    both = dlsched.bound(instance)[0]
    assert (both.kind, both.method) == ("certified", "eigenvalues")
    assert both.value > 1.4 * linear
    assert dlsched.solve(instance, time_limit=3).bound[0].value >= both.value
    assert preempted_weight(instance, Run(time_limit=1e-9)) is None


def test_a_factor_that_is_not_there_gives_no_bound() -> None:
    """Pairs that add up are not concave where the sum of x is 0."""
    form = KeptWeight(0, np.zeros(2, dtype=np.int64), np.array([[0, -5], [-5, 0]]))
    assert certified(form, np.zeros(2), 1, 2) is None
