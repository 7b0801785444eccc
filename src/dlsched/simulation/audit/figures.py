"""The metrics, computed once more from the log's rows, and compared with those of the summary."""

from __future__ import annotations

import math
from collections import defaultdict
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
    unit: Any = Fraction(1, TICKS) if record.exact else 1.0
    ends: dict[int, Any] = {job: time for _, job, time in record.completions}
    if not ends:
        return {"jobs": len(record.jobs), "completed": 0}
    had: dict[int, Any] = defaultdict(int)
    for stretch in record.stretches:
        had[stretch.job] += stretch.end - stretch.start
    submit = {j: record.jobs[j].submit_ticks if record.exact else float(record.jobs[j].submit)
              for j in ends}  # fmt: skip
    jct = sorted(ends[j] - submit[j] for j in ends)
    queueing = sorted(ends[j] - submit[j] - had[j] for j in ends)
    n, last = len(ends), max(ends.values())
    gpus = sum(server.gpus for server in record.cluster.servers)
    total = {"jct": jct, "queueing": queueing}
    found: dict[str, Any] = {"jobs": len(record.jobs), "completed": n}
    for name, values in total.items():
        found[f"mean_{name}"] = sum(values) * unit / n
        found[f"median_{name}"] = median(values) * unit
        found[f"p95_{name}"] = values[min(n - 1, 95 * n // 100)] * unit
        found[f"p99_{name}"] = values[min(n - 1, 99 * n // 100)] * unit
    found["makespan"] = last * unit
    found["utilization"] = _held(record) / (gpus * last) if last else 0
    found["preemptions"] = sum(s.ending is Ending.PREEMPTED for s in record.stretches)
    found["decisions"] = len(record.decisions)
    return found


def _held(record: Record) -> Any:
    """Return the GPU time held; jobs that share GPUs hold them once, if the log says which."""
    alone: Any = 0
    groups: dict[Any, list[tuple[Any, Any, int]]] = defaultdict(list)
    for s in record.stretches:
        if s.sharing is not None:
            groups[s.sharing].append((s.start, s.end, s.gpus))
        elif not s.devices:
            alone += (s.end - s.start) * s.gpus
        for device in s.devices:
            groups[device].append((s.start, s.end, 1))
    for members in groups.values():
        until: Any = None
        for begin, end, gpus in sorted(members):
            start = begin if until is None else max(until, begin)
            alone += max(0, end - start) * gpus
            until = end if until is None else max(until, end)
    return Fraction(alone) if record.exact else alone
