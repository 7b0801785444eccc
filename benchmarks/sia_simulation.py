"""Sia, Pollux and Gavel on the public workloads of Sia's authors, in ../shared/data/sia."""

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from dlsched.simulation import Cluster, Workload, simulate

FOLDER = Path(__file__).resolve().parents[2] / "shared" / "data" / "sia" / "workloads"
NAMES = [f"{source}-{i}" for source in ("philly", "saturn") for i in (1, 2, 3)]
CLUSTER = Cluster.of(
    [
        {"count": 6, "gpus": 4, "gpu_type": "t4"},
        {"count": 3, "gpus": 8, "gpu_type": "rtx"},
        {"count": 2, "gpus": 8, "gpu_type": "a100"},
    ]
)
ONE_TYPE, FIRST = Cluster.uniform(4, 8, gpu_type="t4"), 40
SETTINGS: tuple[dict[str, Any], ...] = ({"power": -1}, {"penalty": 2})
Figures = dict[str, float]


@cache
def measured(name: str, policy: str, **options: Any) -> Figures:
    """Return the figures of a simulation; Gavel's jobs keep what they were submitted with."""
    jobs = Workload.from_trace(FOLDER / f"{name}.csv", "sia", rigid=policy == "gavel")
    run = simulate(jobs, CLUSTER, policy, **options)
    assert run.audit()
    return {
        "mean h": run.summary["mean_jct"] / 3600,
        "99th percentile h": run.summary["p99_jct"] / 3600,
        "makespan h": run.summary["makespan"] / 3600,
        "GPU hours": run.jobs["service"].sum() / 3600,
        "rounds": len(run.rounds),
    }


def workloads() -> Iterator[dict[str, Any]]:
    """Yield each workload under each policy, and by how much less Sia has than the others."""
    for name in NAMES:
        of = {policy: measured(name, policy) for policy in ("sia", "pollux", "gavel")}
        for policy, found in of.items():
            yield {"table": 0, "workload": name, "policy": policy, **_rounded(found)}
        less = {
            f"{figure.removesuffix(' h')}, {policy}": round(100 - 100 * of["sia"][figure] / value)
            for policy in ("pollux", "gavel")
            for figure, value in of[policy].items()
            if figure != "rounds"
        }
        yield {"table": 1, "workload": name, **less}


def parameters() -> Iterator[dict[str, Any]]:
    """Yield Sia's mean completion with other parameters over that with its own, by workload."""
    for name in NAMES:
        own = measured(name, "sia", interval=300)["mean h"]
        row: dict[str, Any] = {"table": 0, "workload": name, "mean h": round(own, 3)}
        row["rounds of 60 s"] = round(measured(name, "sia")["mean h"] / own, 3)
        for setting in SETTINGS:
            ((key, value),) = setting.items()
            other = measured(name, "sia", interval=300, **setting)["mean h"]
            row[f"{key} {value}"] = round(other / own, 3)
        yield row


def tuned() -> Iterator[dict[str, Any]]:
    """Yield how much longer jobs with tuned batches take under Lyra than under Pollux."""
    for name in NAMES:
        workload = Workload.from_trace(FOLDER / f"{name}.csv", "sia", limit=FIRST)
        only = {"gpu_types": ("t4",)}
        jobs = [job.model_copy(update=only) for job in workload.jobs]
        workload = workload.model_copy(update={"jobs": tuple(jobs)})
        row: dict[str, Any] = {"table": 0, "workload": name}
        for policy in ("lyra", "pollux"):
            run = simulate(workload, ONE_TYPE, policy)
            assert run.audit()
            row[f"{policy}, completion h"] = round(run.summary["mean_jct"] / 3600, 3)
            row[f"{policy}, queueing s"] = round(run.summary["mean_queueing"], 1)
        for figure in ("completion h", "queueing s"):
            ratio = row[f"pollux, {figure}"] / row[f"lyra, {figure}"]
            row[f"pollux over lyra, {figure[:-2]}"] = round(ratio, 3)
        yield row


def _rounded(found: Figures) -> Figures:
    return {k: round(v) if k in ("GPU hours", "rounds") else round(v, 3) for k, v in found.items()}
