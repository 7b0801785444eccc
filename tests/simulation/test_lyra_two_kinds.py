"""Lyra where GPUs on loan have a speed of their own."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from simulation_cases import ends_by_id
from test_lyra_policy import random_jobs, random_loans, workload

import dlsched
from dlsched import OptionError
from dlsched.problems.elastic import Instance
from dlsched.simulation import Cluster, Workload, simulate
from dlsched.simulation.policies.lyra_scaling import loan_speed
from dlsched.simulation.workload.generators import lyra_cluster, lyra_workload

TYPED = {"gpu_type": "V100", "rates": {"V100": 1, "T4": Fraction(1, 2)}}
"""A job whose GPUs on loan are half as fast."""


def typed(loan: int, loans: dict[int, int] | None = None, training: int = 1) -> Cluster:
    """Return training servers of 8 V100, and loan servers of 4 T4."""
    own = {"gpus": 8, "gpu_type": "V100"}
    lent = {"gpus": 4, "gpu_type": "T4", "pool": "loan"}
    servers = [own | {"id": f"t{i}"} for i in range(training)]
    servers += [lent | {"id": f"i{i}"} for i in range(loan)]
    schedule = [{"time": t, "servers": n} for t, n in (loans or {0: loan}).items()]
    return Cluster.parse({"servers": servers, "loans": schedule}, "the test")


def test_a_job_on_loan_is_as_slow_as_its_gpus() -> None:
    """The busy job leaves training full; the fungible one takes twice as long on loan."""
    busy = {"id": "busy", "gpus": 8, "work": 60}
    jobs = workload(TYPED | busy, TYPED | {"id": "f", "gpus": 4, "work": 100, "fungible": True})
    run = simulate(jobs, typed(1), "lyra")
    assert run.audit()
    assert ends_by_id(run) == {"busy": 60, "f": 200}


def test_the_speeds_of_both_pools_add_up() -> None:
    """8 GPUs of speed 1 and 4 of speed 1/2 do at 70 % the work of 7 of the 12 asked for."""
    job = {"id": "m", "gpus": 12, "work": 70, "heterogeneous": True, "mixed_efficiency": 0.7}
    run = simulate(workload(TYPED | job), typed(1), "lyra")
    assert run.audit()
    assert ends_by_id(run) == {"m": 120}


def test_elastic_knows_the_speed_of_the_pools() -> None:
    """What the policy asks has training of speed 1, and the loan's speed to 15 digits."""
    speeds: list[list[Any]] = []

    def seen(instance: Instance, rng: np.random.Generator) -> Any:
        speeds.append([pool.speed for pool in instance.by_pool])
        return dlsched.solve(instance, "lyra").solution

    rates = {"rates": {"V100": 3, "T4": 1}}
    jobs = workload(TYPED | rates | {"id": "f", "gpus": 4, "work": 100, "fungible": True})
    simulate(jobs, typed(1), "lyra", elastic=seen)
    assert speeds == [[1, Fraction("0.333333333333333")]]


def test_where_rates_differ_the_least_counts() -> None:
    """Only jobs that may be on loan count; without rates GPUs on loan are as fast as others."""
    slow, fast = (TYPED | {"rates": {"V100": 2, "T4": rate}} for rate in (1, 3))
    row = {"gpus": 1, "work": 1}
    both = [slow | row | {"id": "a"}, fast | row | {"id": "b", "fungible": True}]
    assert loan_speed(workload(*both), typed(1)) == Fraction(3, 2)
    both[0]["fungible"] = True
    assert loan_speed(workload(*both), typed(1)) == Fraction(1, 2)
    assert loan_speed(workload({"id": "a", "fungible": True} | row), typed(1)) == 1


@pytest.mark.parametrize("elastic", ["lyra", "completion_rates"])
def test_random_jobs_pass_the_audit_and_respect_the_bound(elastic: str) -> None:
    """Jobs on either pool and on both, with loss: the log is consistent, the bound below."""
    rows = [job.model_dump(exclude_unset=True) | TYPED for job in random_jobs("mixed").jobs]
    jobs = Workload.parse({"name": "typed", "jobs": rows}, "the test")
    run = simulate(jobs, typed(6, random_loans(), training=2), "lyra", elastic=elastic)
    assert run.audit()
    assert run.bound("mean_jct").value <= run.summary["mean_jct"]


def test_the_generator_draws_the_same_jobs_with_a_speed_on_loan() -> None:
    """Only the rates and the type differ, by which the loan of `lyra_cluster` has that speed."""
    plain = lyra_workload(2, days=0.2, scenario="ideal")
    slow = lyra_workload(2, days=0.2, scenario="ideal", loan_speed=0.25)
    stated = {"rates": {}, "gpu_type": None}
    assert [job.model_copy(update=stated) for job in slow.jobs] == list(plain.jobs)
    assert loan_speed(slow, lyra_cluster(2, 2, days=0.2)) == Fraction(1, 4)
    with pytest.raises(OptionError, match="loan_speed is the speed of a GPU"):
        lyra_workload(2, loan_speed=0)
