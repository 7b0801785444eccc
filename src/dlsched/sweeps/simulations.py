"""The execution of a simulation, and of a bound over all policies, as runs of a sweep."""

from __future__ import annotations

import gzip
import hashlib
import importlib
import json
import logging
import math
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from dlsched.display.table import Row
from dlsched.errors import plain
from dlsched.results.status import Status, Termination
from dlsched.schema.quantities import to_json
from dlsched.simulation import Cluster, Workload, simulate
from dlsched.simulation.bounds import METRICS, bound
from dlsched.sweeps.specs import BOUND, WorkloadSpec
from dlsched.sweeps.task import Task

OVER: Mapping[str, Mapping[str, bool]] = {
    "alone": {},
    "sharing": {"sharing": True},
}
"""What the option ``over`` of a bound's run says: policies whose jobs have their GPUs alone, may
share them in groups; each set has all policies of the one before, with the
arguments of `dlsched.simulation.bounds.bound`."""
_TELL_SECONDS = 0.5
_logger = logging.getLogger("dlsched")


def run_simulation(
    task: Task, spec: WorkloadSpec, columns: Row, begin: Callable[[], None]
) -> bytes | None:
    """Simulate and audit; add the columns to the row and return the log, gzipped.

    A simulation whose log the auditor does not confirm is ``rejected``; so is, in tables, one that
    beats a bound (`dlsched.sweeps.simulation_rows`).
    """
    workload, cluster, digest = spec.make()
    columns |= {"size": len(workload.jobs), "instance_sha256": digest}
    begin()
    if task.method == BOUND:
        _run_bound(task, spec, columns, (workload, cluster))
        return None
    began = time.perf_counter()
    arguments = dict(task.options)
    columns["resolved_method"] = arguments.get("method")
    policy: Any = task.method
    if ":" in policy:
        module, _, name = policy.partition(":")
        policy = getattr(importlib.import_module(module), name)(**arguments)
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
    over = {"over": "sharing" if run.shares_gpus else "alone"}
    content = run.log.to_bytes()
    columns |= {
        "status": "feasible",
        "termination": None,
        "reason": "all jobs are complete; the auditor found no violation",
        "objective": json.dumps({metric: summary[metric] for metric in METRICS}),
        "bound": json.dumps({}),
        "solution_sha256": hashlib.sha256(content).hexdigest(),
        "record": json.dumps({"summary": summary, "among": over} | _about(spec), allow_nan=False),
    }
    return gzip.compress(content, compresslevel=6, mtime=0)


def _run_bound(
    task: Task, spec: WorkloadSpec, columns: Row, made: tuple[Workload, Cluster]
) -> None:
    """Compute lower bounds on all metrics that have one."""
    began = time.perf_counter()
    given: Mapping[str, Any] = task.options
    sharing = OVER[given["over"]].get("sharing", False)
    bounds = {metric: bound(*made, metric, sharing=sharing) for metric in METRICS}
    record = {"bounds": {metric: limit.source for metric, limit in bounds.items()}}
    record |= {"over": dict(given)} | _about(spec)
    seconds = time.perf_counter() - began
    columns |= {
        "status": Status.NO_SOLUTION.value,
        "termination": Termination.BOUND_ONLY.value,
        "kind": "bound",
        "reason": "lower bounds over all policies",
        "bound": json.dumps({metric: to_json(limit.value) for metric, limit in bounds.items()}),
        "bound_kind": "certified",
        "record": json.dumps(record),
        "solve_seconds": seconds,
        "seconds": seconds,
    }


def _about(spec: WorkloadSpec) -> dict[str, Any]:
    """Return what tables say of a workload beside its name."""
    return {"family": spec.family, "workload_seed": spec.seed, "varied": dict(spec.varied)}


def bounds_for(shares: bool | None) -> Iterator[dict[str, Any]]:
    """Yield the options of the bounds that a policy is compared with.

    Parameters
    ----------
    shares
        Whether it makes jobs share GPUs; ``None`` if only the run will tell.
    """
    if not shares:
        yield {"over": "alone"}
    if shares or shares is None:
        yield {"over": "sharing"}


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
