"""Sia, Pollux and Gavel on the public workloads of Sia's authors.

    python benchmarks/sia_simulation.py [workloads parameters]

Prints markdown and writes it to benchmarks/figures/sia_simulation.md. Needs ../shared/data/sia.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

from figures import ROOT, arguments, write

from dlsched.simulation import Cluster, Workload, simulate

FOLDER = ROOT.parent / "shared" / "data" / "sia" / "workloads"
NAMES = [f"{source}-{i}" for source in ("philly", "saturn") for i in (1, 2, 3)]
CLUSTER = Cluster.of(
    [
        {"count": 6, "gpus": 4, "gpu_type": "t4"},
        {"count": 3, "gpus": 8, "gpu_type": "rtx"},
        {"count": 2, "gpus": 8, "gpu_type": "a100"},
    ]
)
SETTINGS: tuple[dict[str, Any], ...] = ({}, {"power": -0.25}, {"power": -1}, {"penalty": 2})
METRICS = ("mean", "99th percentile", "makespan", "GPU hours")
HEAD = f"| workload | policy | {' h | '.join(METRICS[:3])} h | GPU hours | rounds |"


@cache
def measured(name: str, policy: str, **options: Any) -> tuple[list[float], int]:
    """Return hours by metric, and the number of decisions; Gavel's jobs are rigid."""
    jobs = Workload.from_trace(FOLDER / f"{name}.csv", "sia", rigid=policy == "gavel")
    run = simulate(jobs, CLUSTER, policy, **options)
    assert run.audit()
    hours = [float(run.summary[key]) / 3600 for key in ("mean_jct", "p99_jct", "makespan")]
    hours.append(float(run.jobs["service"].sum()) / 3600)
    return hours, len(run.rounds)


def row(*first: str, name: str, policy: str, **options: Any) -> str:
    """Return a line of a table."""
    hours, rounds = measured(name, policy, **options)
    cells = (*first, *(f"{h:.2f}" for h in hours[:3]), f"{hours[3]:.0f}", str(rounds))
    return f"| {' | '.join(cells)} |"


def workloads() -> Iterator[str]:
    """Each workload under each policy; how much less Sia has than the others."""
    yield "## Three workloads each of Philly and Helios, 160 jobs on 64 GPUs of three types\n"
    yield f"{HEAD}\n|{'---|' * 7}"
    for name in NAMES:
        for policy in ("sia", "pollux", "gavel"):
            yield row(name, policy, name=name, policy=policy)
    yield "\nHow much less `sia` has, in per cent:\n"
    yield f"| workload | {' | '.join(f'{m}, {p}' for p in ('pollux', 'gavel') for m in METRICS)} |"
    yield f"|{'---|' * 9}"
    for name in NAMES:
        own = measured(name, "sia")[0]
        others = [measured(name, policy)[0] for policy in ("pollux", "gavel")]
        less = [100 - 100 * o / h for hours in others for o, h in zip(own, hours, strict=True)]
        yield f"| {name} | {' | '.join(f'{value:.0f}' for value in less)} |"
    yield "\n`gavel` has max-min fairness, rounds of 360 s, and the GPUs and batches submitted."


def parameters() -> Iterator[str]:
    """Sia in rounds of 300 s with other parameters."""
    yield "## `sia` with other parameters, rounds of 300 s\n"
    yield f"{HEAD.replace('policy', 'parameters')}\n|{'---|' * 7}"
    for setting in SETTINGS:
        said = ", ".join(f"{key} {value}" for key, value in setting.items()) or "power -0.5"
        for name in NAMES:
            yield row(name, said, name=name, policy="sia", interval=300, **setting)
    base = {name: measured(name, "sia", interval=300)[0][0] for name in NAMES}
    yield "\nMean completion over that with a power of -0.5, least and most:\n"
    yield "| parameters | least | most |\n|---|---|---|"
    for setting in SETTINGS[1:]:
        ratios = [measured(n, "sia", interval=300, **setting)[0][0] / base[n] for n in NAMES]
        said = ", ".join(f"{key} {value}" for key, value in setting.items())
        yield f"| {said} | {min(ratios):.2f} | {max(ratios):.2f} |"


if __name__ == "__main__":
    write("sia_simulation", {"workloads": workloads, "parameters": parameters}, arguments())
