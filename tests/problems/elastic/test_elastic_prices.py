"""`prices`: the relaxation and its parts by hand, and how near the rule is to the optimum."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

import dlsched
from dlsched.problems.elastic import Instance
from dlsched.problems.elastic.definition.job_choices import choices
from dlsched.problems.elastic.instances.strategy import VARIATIONS, instances
from dlsched.problems.elastic.programs.gpu_prices import Relaxation, centre, cut, launch
from dlsched.problems.elastic.programs.lagrangian import launches_of, relax
from dlsched.problems.elastic.structures.choice_arrays import choices_of
from dlsched.problems.elastic.structures.knapsack import items_of
from dlsched.run import Run
from dlsched.testing import check_heuristic

EPOCH: dict[str, Any] = {"items": 354, "capacity": 245}


def test_prices_has_the_properties_of_heuristics() -> None:
    """Feasible, deterministic, no better than brute force; names and order apart."""
    found = check_heuristic("elastic", "prices", examples=40, invariant=("names",))
    assert found, str(found)


@given(instances(**VARIATIONS[1]))
@settings(max_examples=60, deadline=None, derandomize=True)
def test_arrays_have_the_choices_that_fit(instance: Instance) -> None:
    """Those of every job as the definition has them, and for a pending one to wait."""
    found = choices_of(instance)
    training, loan = (pool.capacity for pool in instance.by_pool)
    at = 0
    for j, (job, own) in enumerate(zip(instance.jobs, choices(instance), strict=True)):
        fitting = [c for c in own if c.gpus[0] <= training and c.gpus[1] <= loan]
        assert found.starts[j] == at
        if not job.running:
            assert found.workers[at].tolist() == [0, 0]
            at += 1
        mine = slice(at, at + len(fitting))
        pairs = [tuple(pair) for pair in found.workers[mine].tolist()]
        order = sorted(range(len(pairs)), key=pairs.__getitem__)
        expected = sorted(fitting, key=lambda c: c.workers)
        assert [pairs[k] for k in order] == [c.workers for c in expected]
        assert [tuple(found.gpus[mine][k]) for k in order] == [c.gpus for c in expected]
        at += len(fitting)
    assert at == len(found.row)


def test_savings_are_those_of_the_definition_in_one_unit() -> None:
    """The unit is the largest work of a job, and cancels."""
    instance = dlsched.generate("elastic", 3, items=60, capacity=40, loan=20, heterogeneous=0.5)
    found = choices_of(instance)
    exact = {(c.job, c.workers): float(c.reduction) for own in choices(instance) for c in own}
    wanted, got = [], []
    for j, pair, value in zip(found.row, found.workers.tolist(), found.value, strict=True):
        if any(pair):
            wanted.append(exact[instance.jobs[j].id, tuple(pair)])
            got.append(value)
    scale = max(wanted) / max(got)
    assert np.allclose(np.array(got) * scale, wanted, rtol=1e-9, atol=1e-9 * max(wanted))


def test_half_of_a_square_is_cut_through_its_centre() -> None:
    """The centre of gravity of a square, and of the triangle that a diagonal cut leaves."""
    square = [(0.0, 0.0), (2.0, 0.0), (2.0, 2.0), (0.0, 2.0)]
    assert centre(square) == (1.0, 1.0)
    left = cut(square, np.array([1.0, 1.0]), np.array([1.0, 1.0]))
    assert {(round(x, 9), round(y, 9)) for x, y in left} == {(0, 0), (2, 0), (0, 2)}
    assert centre(left) == pytest.approx((2 / 3, 2 / 3))
    assert centre([(0.0, 0.0), (1.0, 1.0), (2.0, 2.0)]) == (1.0, 1.0)  # no area is left


@pytest.mark.parametrize("running", [0.0, 0.5, 1.0])
def test_the_relaxation_is_that_of_dp(running: float) -> None:
    """With one capacity the bound is that of the exact relaxation, to six digits."""
    instance = dlsched.generate("elastic", 1, running=running, **EPOCH)
    items = items_of(instance)
    found = choices_of(instance)
    _, most = launch(found)
    assert most == launches_of(items).most
    exact = relax(items, most, most, Run())
    top = max(job.min_running_time * job.max_workers for job in instance.jobs)
    bound = float(items.seconds(exact.bound >> exact.shift))
    assert Relaxation(found, most).bound * float(top) == pytest.approx(bound, rel=1e-6)


@pytest.mark.parametrize("loan", [None, 80])
def test_prices_is_within_a_thousandth_on_the_papers_epochs(loan: int | None) -> None:
    """As many jobs as can start, and 0.1 % less time saved at most."""
    for seed, running in itertools.product((1, 2), (0.0, 0.5, 1.0)):
        options = {} if loan is None else {"loan": loan, "heterogeneous": 0.1}
        instance = dlsched.generate("elastic", seed, running=running, **EPOCH, **options)
        best = dlsched.solve(instance).objective
        found = dlsched.solve(instance, "prices").objective
        assert found.launched == best.launched
        assert best.reduction - found.reduction <= abs(best.reduction) / 1000


def test_without_tables_what_is_left_is_still_used() -> None:
    """With no additions allowed the rule keeps the best choices seen and fills the rest."""
    instance = dlsched.generate("elastic", 2, running=1.0, **EPOCH)
    best = dlsched.solve(instance).objective
    found = dlsched.solve(instance, "prices", steps=0).objective
    assert 0.98 * best.reduction < found.reduction <= best.reduction


def test_nothing_to_give() -> None:
    """No job, no GPU, and as many GPUs as a document may have."""
    assert dlsched.solve({"dlsched": 1, "problem": "elastic", "name": "none", "capacity": 3,
                          "jobs": []}, "prices").objective == (0, 0)  # fmt: skip
    job = {"id": "a", "gpus_per_worker": 10**15 // 2, "min_workers": 1, "max_workers": 3,
           "min_running_time": 10**15}  # fmt: skip
    data = {"dlsched": 1, "problem": "elastic", "name": "large", "capacity": 10**15,
            "jobs": [job]}  # fmt: skip
    best = dlsched.solve(data)
    assert dlsched.solve(data, "prices").objective == best.objective
    assert dlsched.solve(data | {"capacity": 0}, "prices").objective == (0, 0)


@pytest.mark.parametrize("training", [1e-100, 1e-12, 1])
@pytest.mark.parametrize("loan", [1e-100, 1e-12, 1e14])
@pytest.mark.parametrize("efficiency", [1, 1e-100])
def test_speeds_as_far_apart_as_a_document_may_have(
    training: float, loan: float, efficiency: float
) -> None:
    """No product of times overflows, and as many jobs start as can."""
    job = {"gpus_per_worker": 2, "min_workers": 2, "max_workers": 3, "min_running_time": 10**15}
    data = {
        "dlsched": 1,
        "problem": "elastic",
        "name": "speeds",
        "pools": [
            {"id": "training", "capacity": 8, "speed": training},
            {"id": "loan", "capacity": 5, "speed": loan},
        ],
        "mixed_efficiency": efficiency,
        "jobs": [
            job | {"id": "a", "heterogeneous": True},
            job | {"id": "b", "heterogeneous": True, "min_running_time": 1e-100},
            job | {"id": "c", "fungible": True},
            job | {"id": "d", "running": True, "base_pool": "loan", "fungible": True},
        ],
    }
    best = dlsched.solve(data)
    found = dlsched.solve(data, "prices")
    assert found.objective.launched == best.objective.launched == 3
    assert not found.objective.better_than(best.objective)


@pytest.mark.parametrize("field", ["speed", "mixed_efficiency"])
def test_slower_pools_are_refused(field: str) -> None:
    """Savings that have no double would end every method and every table."""
    pools = [{"id": name, "capacity": 1, "speed": 1} for name in ("training", "loan")]
    data = {"dlsched": 1, "problem": "elastic", "name": "slow", "pools": pools, "jobs": []}
    (pools[1] if field == "speed" else data)[field] = 1e-101
    with pytest.raises(dlsched.InstanceError, match=f"{field}: is too small"):
        dlsched.solve(data, "prices")
