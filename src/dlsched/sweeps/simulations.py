"""Simulations, and bounds over all policies, as runs of a sweep: their execution, and their rows.

A bound is a run of its own. In tables a simulation is compared with those of the same jobs and
servers that hold for its policy, and is ``rejected`` if it beats one.
"""

import gzip
import hashlib
import importlib
import json
import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from fractions import Fraction
from typing import Any

from dlsched.display.table import Row
from dlsched.errors import InstanceError, describe, plain
from dlsched.results.objective import relative_gap
from dlsched.results.status import Status, Termination
from dlsched.schema.quantities import to_json
from dlsched.simulation import Cluster, Simulation, Workload, simulate
from dlsched.simulation.bounds import METRICS, bound
from dlsched.simulation.log import Log
from dlsched.sweeps.specs import BOUND, WorkloadSpec
from dlsched.sweeps.task import Task

OVER = ("alone", "sharing")
"""What the option ``over`` of a bound's run says: policies whose jobs have their GPUs alone, or may
share them in groups, which has all policies of the first."""
_TOLERANCE = 1e-9
"""Relative; metrics are floats, bounds are exact."""


def run_simulation(
    task: Task, spec: WorkloadSpec, columns: Row, begin: Callable[[], None]
) -> bytes | None:
    """Simulate and audit; add the columns to the row and return the log, gzipped.

    A simulation whose log the auditor does not confirm is ``rejected``.
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
    run = simulate(workload, cluster, policy, seed=task.seed, **arguments)
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
    given = dict(task.options)
    sharing = given["over"] == "sharing"
    bounds = {metric: bound(*made, metric, sharing=sharing) for metric in METRICS}
    record = {"bounds": {metric: limit.source for metric, limit in bounds.items()}}
    record |= {"over": given} | _about(spec)
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


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def simulation_rows(rows: Iterable[Row]) -> list[Row]:
    """Return one flat row per simulation and per bound, without the record.

    Columns are those of `dlsched.display.table.COLUMNS`, where ``method`` is the policy and
    ``resolved_method`` what solves its problem, then all metrics by name, and
    ``<metric>_bound``, ``<metric>_gap`` of those that have a bound; ``family`` and
    ``workload_seed`` are the workload's name without its seed, and the seed; columns
    ``varied_<parameter>`` have what a grid varies.

    Raises
    ------
    InstanceError
        If a record is damaged; it names the run.
    """
    rows = list(rows)
    known = _known_bounds(rows)
    return [_flat(row, known) for row in rows]


def _known_bounds(rows: Iterable[Row]) -> dict[tuple[str, str], dict[str, tuple[Fraction, str]]]:
    """Return the bounds that runs have found, by jobs and servers, and policies they hold for."""
    known: dict[tuple[str, str], dict[str, tuple[Fraction, str]]] = {}
    for row in rows:
        if row["method"] == BOUND and row["record"]:
            record, values = _record(row), json.loads(row["bound"])
            known[row["instance_sha256"], record["over"]["over"]] = {
                metric: (Fraction(value), record["bounds"][metric])
                for metric, value in values.items()
            }
    return known


def _record(row: Row) -> dict[str, Any]:
    """Return the record of a run.

    Raises
    ------
    InstanceError
        If it is damaged.
    """
    with reading_record(row):
        record: dict[str, Any] = json.loads(row["record"])
        for needed in ("bounds", "over") if row["method"] == BOUND else ("summary", "among"):
            record[needed]
        for value in json.loads(row["bound"] or "{}").values():
            Fraction(value)
    return record


@contextmanager
def reading_record(row: Row) -> Iterator[None]:
    """Turn any error of a damaged record into one that names its run."""
    try:
        yield
    except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError) as error:
        where = f"the run of {row['method']} on {row['instance']}"
        what = f"has a damaged record ({describe(error)})"
        raise InstanceError("the sweep's results", where, what, "run it again") from None


def _flat(row: Row, known: Mapping[tuple[str, str], dict[str, tuple[Fraction, str]]]) -> Row:
    flat = {name: value for name, value in row.items() if name != "record"}
    flat["resolved_method"] = json.loads(row["options"]).get("method")
    if not row["record"]:
        return flat
    record = _record(row)
    flat |= {name: record.get(name) for name in ("family", "workload_seed")}
    flat |= {f"varied_{name}": value for name, value in record.get("varied", {}).items()}
    if row["method"] == BOUND:
        values = json.loads(row["bound"]).items()
        return flat | {f"{metric}_bound": float(Fraction(value)) for metric, value in values}
    flat |= record["summary"]
    sha256 = row["instance_sha256"]
    # Over the least set of policies that has this one.
    limits = known.get((sha256, record["among"]["over"])) or known.get((sha256, OVER[-1]), {})
    for metric, (limit, source) in limits.items():
        value = flat[metric]
        if value < float(limit) * (1 - _TOLERANCE):
            what = f"{metric} {value:g} is below its bound {float(limit):g} ({source})"
            return flat | {"status": "rejected", "reason": what}
        flat[f"{metric}_bound"] = float(limit)
        flat[f"{metric}_gap"] = relative_gap(value, float(limit))
    if limits:
        first = METRICS[0]
        flat |= {"gap": flat[f"{first}_gap"], "gap_level": first, "bound_kind": "certified"}
        flat["bound"] = json.dumps({metric: float(limit) for metric, (limit, _) in limits.items()})
    return flat


def load_simulation(content: bytes) -> Simulation:
    """Return the simulation of a log that `run_simulation` returned."""
    return Simulation(Log.from_bytes(gzip.decompress(content)))
