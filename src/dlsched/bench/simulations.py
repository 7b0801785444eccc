"""Simulations in a sweep: the execution of one, and rows of the store as rows of tables."""

from __future__ import annotations

import gzip
import hashlib
import importlib
import json
import logging
import math
import time
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import Any

from dlsched.bench.task import Task
from dlsched.bench.workload_spec import WorkloadSpec, bound_of
from dlsched.display.table import Row
from dlsched.errors import InstanceError, describe, plain
from dlsched.results.objective import relative_gap
from dlsched.schema.quantities import to_json
from dlsched.simulation import Simulation, simulate
from dlsched.simulation.bounds import METRICS
from dlsched.simulation.log import Log

SHOWN = ("mean_jct", "p99_jct", "makespan", "mean_queueing", "utilization")
"""The metrics in tables."""
_TELL_SECONDS = 0.5
_TOLERANCE = 1e-9
"""Relative; metrics are floats, bounds are exact."""
_logger = logging.getLogger("dlsched")


def run_simulation(
    task: Task, spec: WorkloadSpec, columns: Row, begin: Callable[[], None]
) -> bytes | None:
    """Simulate and audit; add the columns to the row and return the log, gzipped.

    A simulation whose log the auditor does not confirm, or that beats a bound, is ``rejected``.
    """
    workload, cluster = spec.make()
    columns["size"] = len(workload.jobs)
    begin()
    began = time.perf_counter()
    arguments = dict(task.options)
    columns["resolved_method"] = arguments.get("method")
    policy: Any = task.method
    if ":" in policy:
        module, _, name = policy.partition(":")
        options = {key: value for key, value in arguments.items() if key != "variant"}
        policy = getattr(importlib.import_module(module), name)(**options)
        arguments = {}
    run = simulate(workload, cluster, policy, seed=task.seed, on_progress=_progress(), **arguments)
    solved = time.perf_counter()
    report = run.audit()
    columns |= {
        "solve_seconds": solved - began,
        "check_seconds": time.perf_counter() - solved,
        "seconds": time.perf_counter() - began,
    }
    if report.violations:
        columns["status"] = "rejected"
        count = f"the auditor found {len(report.violations)} violations"
        columns["reason"] = plain(f"{count}, the first: {report.violations[0]}")
        return None
    summary = {name: _finite(value) for name, value in run.summary.items()}
    published: tuple[str | None, str | None] = (None, None)
    if run.meta["variant"] == "published":
        published = run.meta["policy"], run.meta["method"]
    bounded = METRICS if spec.bounds else ()
    bounds = {metric: bound_of(spec, metric, run.shares_gpus, *published) for metric in bounded}
    for metric, limit in bounds.items():
        if summary[metric] < float(limit.value) * (1 - _TOLERANCE):
            value = f"{metric} {summary[metric]:g} is below its bound {float(limit.value):g}"
            columns |= {"status": "rejected", "reason": f"{value} ({limit.source})"}
            return None
    content = run.log.to_bytes()
    record = {
        "summary": summary,
        "bounds": {metric: limit.source for metric, limit in bounds.items()},
    }
    columns |= {
        "status": "feasible",
        "termination": None,
        "reason": "all jobs are complete; the auditor found no violation",
        "objective": json.dumps({metric: summary[metric] for metric in METRICS}),
        "bound": json.dumps({metric: to_json(limit.value) for metric, limit in bounds.items()}),
        "solution_sha256": hashlib.sha256(content).hexdigest(),
        "record": json.dumps(record, allow_nan=False),
    }
    if bounds:
        gap = relative_gap(summary["mean_jct"], float(bounds["mean_jct"].value))
        columns |= {"gap": gap, "gap_level": "mean_jct", "bound_kind": "certified"}
    return gzip.compress(content, compresslevel=6, mtime=0)


def _progress() -> Callable[[float, int, int], None]:
    """Return a listener that logs how many jobs are complete, not too often."""
    last = 0.0

    def listen(_now: float, completed: int, total: int) -> None:
        nonlocal last
        if time.monotonic() > last + _TELL_SECONDS:
            last = time.monotonic()
            text = f"{completed:,} of {total:,} jobs complete"
            _logger.info("%s", text, extra={"stage": "searching"})

    return listen


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def simulation_rows(rows: Iterable[Row]) -> list[Row]:
    """Return one flat row per simulation, without the record.

    Columns are those of `dlsched.display.table.COLUMNS`, where ``method`` is the policy and
    ``resolved_method`` what solves its problem, then all metrics by name, and
    ``<metric>_bound``, ``<metric>_gap`` of those that have a bound.

    Raises
    ------
    InstanceError
        If a record is damaged; it names the run.
    """
    return [_flat(row) for row in rows]


def _flat(row: Row) -> Row:
    flat = {name: value for name, value in row.items() if name != "record"}
    flat["resolved_method"] = _options(row).get("method")
    if not row["record"]:
        return flat
    try:
        metrics = dict(json.loads(row["record"])["summary"])
        for metric, text in json.loads(row["bound"]).items():
            limit = float(Fraction(text))
            metrics[f"{metric}_bound"] = limit
            metrics[f"{metric}_gap"] = relative_gap(metrics[metric], limit)
    except (ValueError, LookupError, TypeError) as error:
        where = f"the simulation of {row['method']} on {row['instance']}"
        what = f"has a damaged record ({describe(error)})"
        raise InstanceError("the sweep's results", where, what, "run it again") from None
    return flat | metrics


def _options(row: Row) -> dict[str, Any]:
    return dict(json.loads(row["options"]))


def table_rows(rows: Sequence[Row]) -> list[Row]:
    """Return the rows of a workload's table.

    ``policy``, ``method``, ``options`` (``variant`` among them), ``seed``, the metrics of `SHOWN`,
    ``bound`` and ``gap`` of mean_jct, ``seconds``, and ``status`` of those that failed.
    """
    lines = []
    for row in rows:
        options = {name: value for name, value in _options(row).items() if name != "method"}
        lines.append(
            {
                "policy": row["method"],
                "method": row["resolved_method"],
                "options": ", ".join(f"{name}={value}" for name, value in options.items()) or None,
                "seed": row["seed"],
                **{name: row.get(name) for name in SHOWN},
                "bound": row.get("mean_jct_bound"),
                "gap": row.get("mean_jct_gap"),
                "seconds": row.get("seconds"),
                "status": None if row["status"] == "feasible" else row["status"],
            }
        )
    return lines


def load_simulation(content: bytes) -> Simulation:
    """Return the simulation of a log that `run_simulation` returned."""
    return Simulation(Log.from_bytes(gzip.decompress(content)))
