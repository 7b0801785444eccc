"""Workloads and clusters that the papers state: shares, percentiles, seeds, traces, errors."""

import json
import math
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dlsched import InstanceError, OptionError, UnknownName, simulation
from dlsched.records import Trace
from dlsched.simulation import Cluster, Workload, simulate
from dlsched.simulation.workload import generators
from dlsched.simulation.workload.generators import (
    hadar_cluster,
    hadar_workload,
    lyra_cluster,
    lyra_workload,
    mast_cluster,
    mast_workload,
    muri_workload,
    synergy_workload,
)
from refused_calls import assert_refused, reports

DATA = Path(__file__).parents[3] / "shared" / "data"
GAVEL = DATA / "gavel" / "isolated_throughputs.json"
SYNERGY = DATA / "synergy" / "profiles.json"


# What changes; which jobs are heterogeneous, and at which efficiency; whether some are fungible.
CHANGED: list[tuple[dict[str, Any], float, set[float], bool]] = [
    ({"scenario": "advanced"}, 0.1, {0.7}, True),
    ({"scenario": "heterogeneous"}, 0.1, {0.7}, False),
    ({"scenario": "ideal"}, 1, {1.0}, True),
    *(({"elastic_share": share}, 0, set(), True) for share in (0.0, 0.02, 0.2, 1.0)),
]


@pytest.mark.parametrize(("changes", "mixed", "efficiency", "fungible"), CHANGED)
def test_lyras_scenarios_have_the_same_jobs(
    changes: dict[str, Any], mixed: float, efficiency: set[float], fungible: bool
) -> None:
    """Submissions, GPUs and running times never change; elastic are the large jobs first."""
    basic, other = lyra_workload(6, days=1), lyra_workload(6, days=1, **changes)
    for job, same in zip(basic.jobs, other.jobs, strict=True):
        assert (job.submit, job.gpus, job.work) == (same.submit, same.gpus, same.work)
        assert same.max_gpus in (same.gpus, 2 * same.gpus)
    assert sum(job.heterogeneous for job in other.jobs) == round(mixed * len(other.jobs))
    assert {float(j.mixed_efficiency) for j in other.jobs if j.heterogeneous} == efficiency
    assert any(job.fungible for job in other.jobs) == fungible
    large, elastic = ({j.id for j in w.jobs if j.max_gpus > j.gpus} for w in (basic, other))
    assert elastic <= large or large <= elastic
    assert len(elastic) == round(
        changes.get("elastic_share", 1 if mixed == 1 else 0.05) * len(other.jobs)
    )


def test_masts_workloads_have_the_load_asked_for() -> None:
    """With several types and regions, too; a preset is a load."""
    cluster = mast_cluster(2, 1, 70, types=1)
    workload = mast_workload(cluster, 300, load=1)
    drawn = [row for row in workload.jobs if row.submit]
    offered = sum(row.gpus * row.work for row in drawn) / (300 * 3600 * cluster.gpus)
    assert float(offered) == pytest.approx(1, abs=0.15)
    mixed = mast_workload(mast_cluster(2, 2, 4, cpu_machines=4), 1, load=1.5)
    assert {row.gpu_type for row in mixed.jobs} == {"A100", "V100", "cpu"}
    few, many = (
        len(mast_workload(cluster, 8, preset=name).jobs) for name in ("paper-low", "paper")
    )
    assert few < many == len(mast_workload(cluster, 8).jobs)


def test_muris_workload_goes_through_its_policy() -> None:
    """Stages suit Muri's policy, jobs of a trace can be submitted at once, bad loads are named."""
    workload = muri_workload(40, together=True, seed=1)
    assert {job.submit for job in workload.jobs} == {0}
    assert {len(job.stages) for job in workload.jobs} == {4}
    spread = muri_workload(40, preset="paper-low", seed=1)
    assert [job.work for job in spread.jobs] == [job.work for job in workload.jobs]
    assert simulate(spread, Cluster.uniform(8), "muri_s").summary["completed"] == 40
    for options in ({"jobs": 1}, {"load": 0}, {"load": math.nan}, {"load": math.inf}, {"seed": -1}):
        with pytest.raises(OptionError):
            muri_workload(**{"jobs": 40, **options})
    with pytest.raises(UnknownName, match="paper-high"):
        muri_workload(preset="papers")


@pytest.mark.parametrize("value", [0, -1, math.nan, math.inf])
@pytest.mark.parametrize(
    ("draw", "name"),
    [
        *((synergy_workload, name) for name in ("load", "scale")),
        *((lyra_workload, name) for name in ("days", "load")),
        *((partial(mast_workload, mast_cluster(2, 1, 4)), n) for n in ("hours", "load", "scale")),
        (hadar_workload, "scale"),
    ],
)
def test_what_scales_a_workload_is_a_number_above_0(
    draw: Callable[..., Workload], name: str, value: float
) -> None:
    """No other number is drawn with, or ends in another error."""
    with pytest.raises(OptionError):
        draw(**{name: value})


def test_hadars_workload_is_that_of_its_section_iv() -> None:
    """GPU-hours are within the groups, models those of Table III, the cluster has 20 of each."""
    workload = hadar_workload(200, scale=1, seed=1)
    groups = {"resnet18": (0, 1), "cyclegan": (1, 10), "lstm": (10, 50), "transformer": (10, 50),
              "resnet50": (60, 100)}  # fmt: skip
    for job in workload.jobs:
        low, high = groups[job.model or ""]
        hours = float(job.work) * job.gpus / 3600
        assert low - 1e-6 <= hours <= high + 1e-6
        assert job.gpu_type == "K80"
    assert {job.model for job in workload.jobs} == set(groups)
    assert len(hadar_cluster().servers) == 15


@pytest.mark.skipif(not GAVEL.exists(), reason="needs ../shared/data/gavel")
def test_hadars_measured_rates() -> None:
    """Rates are those of the file at any batch size; CycleGAN, measured with one GPU, has one."""
    workload = hadar_workload(measured=GAVEL)
    kinds = ("V100", "P100", "K80")
    found: dict[Any, set[Any]] = {}
    for job in workload.jobs:
        rates = tuple(float(job.rates[kind]) for kind in kinds)
        found.setdefault((job.model, job.gpus), set()).add(rates)
    assert found["cyclegan", 1] == {(4.426088, 2.402668, 0.504771)}
    assert {gpus for model, gpus in found if model == "cyclegan"} == {1}
    known = {
        tuple(row["iterations_per_second"][kind.lower()] for kind in kinds)
        for row in json.loads(GAVEL.read_bytes())
        if row["job_type"].startswith("ResNet-18") and row["scale_factor"] == 1
    }
    assert found["resnet18", 1] == known and any(p100 > v100 for v100, p100, _ in known)


@pytest.mark.skipif(not SYNERGY.exists(), reason="needs ../shared/data/synergy")
def test_synergys_static_trace_has_the_models_of_its_split() -> None:
    """Split 60/30/10 with one speech model yields the recorded models in the recorded order."""
    path = SYNERGY.parent / "static_100job_6_3_1100.csv"
    static = Workload.from_trace(path, "synergy", measured=SYNERGY, together=True)
    drawn = synergy_workload(300, load=None, split="60/30/10", measured=SYNERGY)

    def classes(workload: Workload) -> list[str | None]:
        return [job.model for job in workload.jobs if job.model not in ("m5", "deepspeech")]

    assert classes(drawn)[:80] == classes(static)[:80]


def test_profiles_of_a_trace() -> None:
    """Muri's have stages, of as many resources as asked for; a wrong option is named."""
    plain = Workload.from_trace("sample-philly", limit=5)
    assert not any(job.stages for job in plain.jobs)
    for resources in (3, 4):
        jobs = Workload.from_trace("synthetic-1", "muri", limit=5, resources=resources).jobs
        assert {len(job.stages) for job in jobs} == {resources}
    together = Workload.from_trace("sample-philly", limit=5, together=True)
    assert {job.submit for job in together.jobs} == {0}
    kept, larger = plain.up_to(1)
    assert len(kept.jobs) + larger == 5 and {job.gpus for job in kept.jobs} <= {1}


def test_what_a_trace_asks_of_servers(tmp_path: Path) -> None:
    """CPUs and GB of its smallest part, or of a GPU; rows after the limit are not read."""
    head = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,"
    head += "creation_time,deletion_time,scheduled_time"
    gpus = [1, 0, 3] + 2000 * [1] + ["x"]
    rows = [f"{i},4500,3072,{n},1000,,LS,Succeeded,{i},9000,{i}" for i, n in enumerate(gpus)]
    path = tmp_path / "jobs.csv"
    path.write_text("\n".join([head, *rows]))
    for profiles, least in ((None, [(4.5, 3), (1.5, 1)]), ("synergy", [(0, 0), (0, 0)])):
        # With a matrix a job runs with less than it asked for, too.
        jobs = Workload.from_trace(path, profiles, limit=3).jobs
        assert [(job.server_cpus, job.server_memory) for job in jobs] == least
        assert {(job.cpus, job.memory) for job in jobs} == {(4.5, 3)}
    with pytest.raises(InstanceError, match="row 2005"):
        Workload.from_trace(path)
    job = {
        "id": "a",
        "gpus": 4,
        "submit": 0,
        "duration": 1,
        "cpus": 9,
        "nodes": [["m", 3], ["n", 1]],
    }
    (placed,) = Workload.from_trace(Trace.parse({"name": "t", "jobs": [job]}, "t")).jobs
    assert (placed.server_cpus, placed.server_memory) == (2.25, 0)


REFUSED = reports(Path(__file__).with_name("refused_workloads.txt"))


@pytest.mark.parametrize("call", REFUSED)
def test_what_cannot_be_used_is_refused(call: str) -> None:
    """Unknown names and options out of range are one error each."""
    assert_refused(call, REFUSED[call], simulation, generators)


def test_synergy_traces(tmp_path: Path) -> None:
    """The authors' files have no header; running times are iterations times seconds each.

    Models without profile and bad rows are named, with a remedy.
    """
    path = tmp_path / "jobs.0"
    path.write_text("0,gnmt,8,100,1\n1,alexnet,126.5,20,2\n")
    first, second = Workload.from_trace(path, "synergy").jobs
    assert (first.submit, first.work, first.profile) == (0, 100, "gnmt")
    assert (float(second.submit), second.gpus, second.iterations) == (118.5, 2, 20)
    for row, message in (
        ("1,vgg,0,100,1", r"row 3: model: 'vgg' has no profile; use one of"),
        ("0,gnmt,0,many,1", "row 3: is no job; write id,model"),
    ):
        path.write_text(f"id,model,arrival,iterations,gpus\n0,gnmt,0,100,1\n{row}\n")
        with pytest.raises(InstanceError, match=message):
            Workload.from_trace(path, "synergy")


def test_lyras_workload_has_what_is_asked_for() -> None:
    """Load, checkpoints and losses are as asked for, estimates within 25 %."""
    workload = lyra_workload(28, days=7, load=0.8, seed=3, wrong=0.6, checkpoints=0.8)
    jobs = workload.jobs
    area = np.array([job.gpus * float(job.work) for job in jobs])
    assert area.sum() == pytest.approx(0.8 * 28 * 8 * 7 * 86_400, rel=1e-4)
    assert not any(job.heterogeneous for job in jobs)
    wrong = [(job.work, job.estimate) for job in jobs if job.estimate is not None]
    assert len(wrong) / len(jobs) == pytest.approx(0.6, abs=0.05)
    assert all(abs(float(estimate - work)) <= float(work) / 4 + 1 for work, estimate in wrong)
    assert sum(job.checkpoints for job in jobs) / len(jobs) == pytest.approx(0.8, abs=0.05)
    lossy = lyra_workload(6, days=1, scaling_loss=0.2).jobs
    assert {float(job.scaling_loss) for job in lossy if job.max_gpus > job.gpus} == {0.2}


def test_lyras_loan_is_what_inference_leaves() -> None:
    """Of that 2 % are kept free."""
    cluster = lyra_cluster(4, 10, days=1)
    assert [server.pool for server in cluster.servers] == ["training"] * 4 + ["loan"] * 10
    # Of ten servers 98 % - 42 % are five whole ones.
    assert {0, 5} <= {loan.servers for loan in cluster.loans} <= set(range(6))
    assert lyra_cluster(4, 10, loaning=False).loans == ()
