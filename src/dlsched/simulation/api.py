"""`simulate`: a workload, a cluster and a policy make a simulation; `compare_policies`, a table."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dlsched.errors import OptionError
from dlsched.registry.option_types import validate_types
from dlsched.simulation.bounds import METRICS
from dlsched.simulation.engine.engine import Engine, Listener
from dlsched.simulation.engine.guard import STUCK_AFTER, require_possible
from dlsched.simulation.engine.policy import Policy, policy_name
from dlsched.simulation.log import VERSION, Log, LogError
from dlsched.simulation.policies import make_policy
from dlsched.simulation.policies.divided import held_to
from dlsched.simulation.run import Simulation
from dlsched.simulation.workload.cluster import Cluster
from dlsched.simulation.workload.workload import Workload

if TYPE_CHECKING:
    import pandas as pd

Entry = str | Policy | tuple[str, Any] | tuple[str, Any, Mapping[str, Any]]
_THERE = "{} is there already; name another file, or resume it"


def simulate(
    workload: Workload,
    cluster: Cluster,
    policy: str | Policy,
    *,
    method: Any = None,
    seed: int = 0,
    log: str | Path | None = None,
    resume: bool = False,
    on_progress: Listener | None = None,
    stuck_after: int = STUCK_AFTER,
    **options: Any,
) -> Simulation:
    """Replay a workload onto a cluster; a policy decides which jobs run, and where.

    Parameters
    ----------
    policy
        A name, or any object with a method ``decide(state) -> Decision``.
    method
        What solves the policy's problem: a name or a function, as in `dlsched.solve`; None for
        the paper's own.
    seed
        For policies that draw random numbers; 0 by default.
    log
        SQLite file of the log, written as the simulation goes; None keeps it in memory.
    resume
        Whether to go on with the log, if it is there, from where it was last written.
    on_progress
        Called with the simulated time in microseconds, the jobs completed and their total.
    stuck_after
        Decisions in a row that preempt or move jobs, or start none, without any progress, after
        which a policy is stuck (see `dlsched.simulation.engine.guard.Watch`).
    **options
        Options of the policy.

    Raises
    ------
    UnknownName
        If no policy has this name.
    OptionError
        If the policy has no such option, or solves no problem and a method is given.
    PolicyError
        If a decision is impossible, or jobs would wait for ever.
    LogError
        If the log is there already and `resume` is false, or is of another simulation.
    """
    if "variant" in options:
        raise OptionError(
            "variant= has gone: leave it out; the authors' simulators are in benchmarks/published "
            "of the repository"
        )
    validate_types(simulate, {"resume": resume, "stuck_after": stuck_after})
    if stuck_after < 1:
        raise OptionError(f"stuck_after={stuck_after} is no number of decisions; give 1 or more")
    policy_object = make_policy(policy, method, **options)
    if not isinstance(policy, str):
        method, options = getattr(policy, "method", None), _settings(policy)
    name = policy if isinstance(policy, str) else policy_name(policy)
    meta = header(name, method, options, policy_object, seed, workload, cluster)
    policy_object = held_to(policy_object, workload, cluster)
    where = require_possible(workload, cluster, policy_object)
    with _open(log, resume, meta) as record:
        if "end" not in record.meta("end"):
            engine = Engine(workload, cluster, policy_object, record, where, seed, stuck_after)
            _run(engine, on_progress)
    return Simulation(record)


def header(
    policy: str,
    method: Any,
    options: Mapping[str, Any],
    decides: Policy,
    seed: int,
    workload: Workload,
    cluster: Cluster,
) -> dict[str, str]:
    """Return the header of a log, as JSON."""
    stated = {
        "version": VERSION,
        "clock": "microseconds",
        "policy": policy,
        "method": _plain(method),
        "options": {key: _plain(value) for key, value in options.items()},
        "variant": "paper",
        "preemptive": bool(getattr(decides, "preemptive", True)),
        "seed": seed,
    }
    documents = {"workload": workload, "cluster": cluster}
    return {
        **{key: json.dumps(value) for key, value in stated.items()},
        **{key: part.model_dump_json(exclude_defaults=True) for key, part in documents.items()},
    }


def _run(engine: Engine, on_progress: Listener | None) -> None:
    """Simulate from the beginning, or from where the log ends; the policy's memory is put back."""
    policy: Any = engine.policy
    memory = copy.deepcopy(getattr(policy, "memory", None))
    state = engine.log.meta("state").get("state")
    if state is not None:
        engine.restore(state)
    try:
        engine.run(on_progress)
    finally:
        if memory is not None:
            policy.memory = memory


@contextmanager
def _open(path: str | Path | None, resume: bool, meta: Mapping[str, str]) -> Iterator[Log]:
    """Yield the log, which no other process can write or read until this one is done with it.

    One that is complete is not locked, as nothing is written to it.
    """
    if path is not None and Path(path).exists() and not resume:
        raise LogError(_THERE.format(path))
    record = Log(path)
    written = record.meta()
    if "end" in written:
        _require_same(path, written, meta)
        yield record
        return
    record.lock()
    try:
        # Another process may have written it before it was locked.
        written = record.meta()
        if written and not resume:
            raise LogError(_THERE.format(path))
        if not written:
            record.begin(meta)
        else:
            _require_same(path, written, meta)
        if written and written.get("state") is None and "end" not in written:
            # Nothing to go on from: stopped before its first commit.
            record.clear()
        yield record
    finally:
        record.unlock()


def _require_same(path: object, found: Mapping[str, Any], meta: Mapping[str, str]) -> None:
    """Refuse a log of another simulation."""
    for key, text in meta.items():
        if found.get(key) != json.loads(text):
            raise LogError(f"{path} is of another simulation: {key} differs; name another file")


def _settings(policy: object) -> dict[str, Any]:
    """Return what distinguishes a policy that the caller made from others of its class."""
    attributes = {
        key: value for key, value in getattr(policy, "__dict__", {}).items() if key[0] != "_"
    }
    options = attributes.pop("options", {})
    attributes.pop("memory", None)
    # A text with an address would differ in every process.
    return {
        key: value
        for key, value in (attributes | dict(options)).items()
        if " at 0x" not in repr(value)
    }


def _plain(value: Any) -> Any:
    if isinstance(value, str | int | float | bool | None):
        return value
    return policy_name(value) if callable(value) else repr(value)


def compare_policies(
    workload: Workload,
    cluster: Cluster,
    policies: Iterable[Entry],
    *,
    bounds: bool = False,
    **options: Any,
) -> pd.DataFrame:
    """Simulate several policies; return one row each, with the metrics of `Simulation.summary`.

    The rows begin with ``policy``, ``method`` and ``saved``, the share of the first row's mean
    completion time by which this row's is shorter; it is negative where it is longer.

    Parameters
    ----------
    policies
        Names, policies, pairs of a name and a method, or triples of both and options of their own.
    bounds
        Whether to add lower bounds over all policies, and the gaps to them relative to the metric:
        ``mean_jct_bound``, ``mean_jct_gap``, ``makespan_bound``, ``makespan_gap``. Where a policy
        made jobs share GPUs, its bounds allow for sharing. See `Simulation.bound`.
    **options
        Options of `simulate`, for all of them.

    Raises
    ------
    OptionError
        As `simulate`, or if there are no bounds on these jobs.
    """
    import pandas as pd

    rows: list[dict[str, Any]] = []
    known: dict[tuple[Any, ...], float] = {}
    for entry in policies:
        policy, method, own_options = _parts(entry)
        run = simulate(workload, cluster, policy, method=method, **{**options, **own_options})
        row = {"policy": run.meta["policy"], "method": run.meta["method"], "saved": 0.0}
        row |= run.summary
        if rows:
            row["saved"] = _less(row["mean_jct"], rows[0]["mean_jct"])
        for metric in METRICS if bounds else ():
            kind = (metric, run.shares_gpus)
            if kind not in known:
                known[kind] = float(run.bound(metric).value)
            row[f"{metric}_bound"] = known[kind]
            row[f"{metric}_gap"] = _less(known[kind], row[metric])
        rows.append(row)
    return pd.DataFrame(rows)


def _parts(entry: Entry) -> tuple[str | Policy, Any, Mapping[str, Any]]:
    """Return a policy, its method and its own options."""
    if not isinstance(entry, tuple):
        return entry, None, {}
    policy, method, *rest = entry
    return policy, method, rest[0] if rest else {}


def _less(value: float, than: float) -> float:
    """Return by what share of the second number the first is less."""
    return 1 - value / than if than else 0.0
