"""Lyra's workloads and loan: the shares that the paper states, and errors."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from dlsched import OptionError, UnknownName
from dlsched.simulation import Workload
from dlsched.simulation.workload.generators import inference_load, lyra_cluster, lyra_workload
from dlsched.simulation.workload.generators.lyra import SCENARIOS, loan_schedule


def areas(workload: Workload) -> NDArray[np.float64]:
    """Return the GPU-seconds of the jobs."""
    return np.array([job.gpus * float(job.work) for job in workload.jobs])


def test_basic_has_the_shares_of_the_paper() -> None:
    """5 % of jobs with 36 % of the load are elastic, 21 % of the load is fungible (7.1)."""
    workload = lyra_workload(28, days=7, load=0.8, seed=3)
    area = areas(workload)
    elastic = np.array([job.max_gpus > job.gpus for job in workload.jobs])
    fungible = np.array([job.fungible for job in workload.jobs])
    assert elastic.mean() == pytest.approx(0.05, abs=0.001)
    assert area[elastic].sum() / area.sum() == pytest.approx(0.36, abs=0.001)
    assert area[fungible].sum() / area.sum() == pytest.approx(0.21, abs=0.005)
    assert area.sum() == pytest.approx(0.8 * 28 * 8 * 7 * 86_400, rel=1e-4)
    assert not any(job.heterogeneous for job in workload.jobs)
    assert len(workload.jobs) == round(50_390 / 3544 / 15 * 28 * 8 * 7)


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_scenarios_have_the_same_jobs(scenario: str) -> None:
    """Times of submission, GPUs and running times do not depend on the scenario."""
    basic, other = lyra_workload(6, days=1), lyra_workload(6, days=1, scenario=scenario)
    for job, same in zip(basic.jobs, other.jobs, strict=True):
        assert (job.submit, job.gpus, job.work) == (same.submit, same.gpus, same.work)
    mixed = sum(job.heterogeneous for job in other.jobs)
    expected = {"basic": 0, "ideal": len(other.jobs)}
    assert mixed == expected.get(scenario, round(0.1 * len(other.jobs)))
    assert any(job.fungible for job in other.jobs) == (scenario != "heterogeneous")
    efficiency = {float(job.mixed_efficiency) for job in other.jobs if job.heterogeneous}
    assert efficiency == {"basic": set(), "ideal": {1.0}}.get(scenario, {0.7})


def test_options_of_jobs() -> None:
    """Estimates are within 25 %, checkpoints and losses are as asked for."""
    workload = lyra_workload(28, days=2, wrong=0.6, checkpoints=0.8, scaling_loss=0.2)
    wrong = [(job.work, job.estimate) for job in workload.jobs if job.estimate is not None]
    assert len(wrong) / len(workload.jobs) == pytest.approx(0.6, abs=0.05)
    assert all(abs(float(estimate - work)) <= float(work) / 4 + 1 for work, estimate in wrong)
    kept = sum(job.checkpoints for job in workload.jobs)
    assert kept / len(workload.jobs) == pytest.approx(0.8, abs=0.05)
    losses = {float(job.scaling_loss) for job in workload.jobs if job.max_gpus > job.gpus}
    assert losses == {0.2}


@pytest.mark.parametrize("share", [0.0, 0.02, 0.2, 1.0])
def test_the_share_of_elastic_jobs(share: float) -> None:
    """Elastic are the large jobs first, then others; nothing else of the jobs changes."""
    basic, other = lyra_workload(28, days=7), lyra_workload(28, days=7, elastic_share=share)
    elastic = {job.id for job in other.jobs if job.max_gpus > job.gpus}
    large = {job.id for job in basic.jobs if job.max_gpus > job.gpus}
    assert len(elastic) == round(share * len(other.jobs))
    assert elastic <= large or large <= elastic
    for job, same in zip(basic.jobs, other.jobs, strict=True):
        assert (job.submit, job.gpus, job.work) == (same.submit, same.gpus, same.work)
        assert other.by_id[job.id].max_gpus == job.gpus * (1 + (job.id in elastic))
    with pytest.raises(OptionError, match="elastic_share"):
        lyra_workload(1, days=1, elastic_share=1.1)


def test_inference_load_is_that_of_figure_1() -> None:
    """It is between 42 % and 95 %, 65 % in the mean; the loan is what is left above 2 %."""
    load = inference_load(7)
    assert load.min() == 0.42
    assert load.max() == 0.95
    assert load.mean() == pytest.approx(0.65, abs=0.005)
    assert loan_schedule(520, [0.42, 0.42, 0.95, 0.99]) == [
        {"time": 0, "servers": 291},
        {"time": 600, "servers": 15},
        {"time": 900, "servers": 0},
    ]


def test_cluster_with_and_without_loan() -> None:
    """Inference servers are there only with a loan, which is within their number."""
    cluster = lyra_cluster(4, 10, days=1)
    assert [server.pool for server in cluster.servers] == ["training"] * 4 + ["loan"] * 10
    lent = {loan.servers for loan in cluster.loans}
    assert (min(lent), max(lent)) == (0, 5)
    assert lyra_cluster(4, 10, loaning=False).loans == ()


def test_errors() -> None:
    """An unknown scenario and options out of range are refused."""
    with pytest.raises(UnknownName, match="basic"):
        lyra_workload(4, scenario="basics")
    with pytest.raises(OptionError, match="above 0"):
        lyra_workload(4, load=0)
    with pytest.raises(OptionError, match="at most 1"):
        lyra_workload(4, wrong=1.5)
