"""The metrics, computed once more from the log's rows, and compared with those of the summary."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping
from fractions import Fraction
from statistics import median
from typing import Any

from dlsched.simulation.audit.record import TOLERANCE, Record
from dlsched.simulation.log import Ending
from dlsched.simulation.workload.clock import TICKS


def check_figures(record: Record, summary: Mapping[str, Any]) -> None:
    """Compare a summary with the log, within a relative tolerance of `TOLERANCE`: it is floats."""
    for name, expected in figures(record).items():
        stated = summary.get(name)
        value = float(expected)
        near = isinstance(stated, int | float) and math.isclose(
            stated, value, rel_tol=TOLERANCE, abs_tol=1e-6
        )
        if not near:
            message = f"the summary has {stated!r}, the log gives {value!r}"
            record.findings.add("metric", f"summary.{name}", message)


def figures(record: Record) -> dict[str, Any]:
    """Return metrics by the names of `simulation.measures.metrics.summary`; times in seconds."""
    unit = Fraction(1, TICKS)
    ends: dict[int, Any] = {job: time for _, job, time in record.completions}
    had: Counter[int] = Counter()
    for stretch in record.stretches:
        had[stretch.job] += stretch.end - stretch.start
    jct = {j: end - record.submit(j) for j, end in ends.items()}
    queueing = {j: time - had[j] for j, time in jct.items()}
    n = len(ends)
    result: dict[str, Any] = {"jobs": len(record.jobs), "completed": n}
    for name, times in (("jct", jct), ("queueing", queueing)):
        values = sorted(times.values())
        result[f"mean_{name}"] = sum(values) * unit / n
        result[f"median_{name}"] = median(values) * unit
        result[f"p95_{name}"] = values[95 * n // 100] * unit
        result[f"p99_{name}"] = values[99 * n // 100] * unit
    last = max(ends.values())
    gpus = sum(server.gpus for server in record.cluster.servers)
    result["makespan"] = last * unit
    result["utilization"] = _held(record) / (gpus * last) if last else 0
    result["preemptions"] = sum(s.ending is Ending.PREEMPTED for s in record.stretches)
    result["decisions"] = len(record.decisions)
    typed = {j for j, job in enumerate(record.jobs) if job.gpu_type and not job.rates}
    types = {server.id: server.gpu_type for server in record.cluster.servers if server.gpu_type}
    if typed and types:
        placed = {
            (s.job, types[share[0]])
            for s in record.stretches
            for share in s.shares
            if s.job in typed and share[0] in types
        }
        other = {j for j, kind in placed if kind not in str(record.jobs[j].gpu_type).split("|")}
        result["other_gpu_type"] = len(other)
    return result


def _held(record: Record) -> Any:
    """Return the GPU time held; jobs that share GPUs hold them once, if the log says which."""
    alone: Any = 0
    groups: dict[Any, list[tuple[Any, Any, int]]] = defaultdict(list)
    for s in record.stretches:
        if s.sharing is not None:
            groups[s.sharing].append((s.start, s.end, s.gpus))
        else:
            alone += (s.end - s.start) * s.gpus
    for members in groups.values():
        until: Any = 0
        for begin, end, gpus in sorted(members):
            alone += max(0, end - max(until, begin)) * gpus
            until = max(until, end)
    return Fraction(alone)
