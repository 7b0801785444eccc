"""Several policies on the same jobs and servers, in one table with bounds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from dlsched.simulation.api import simulate
from dlsched.simulation.bounds import METRICS
from dlsched.simulation.engine.policy import Policy
from dlsched.simulation.workload.cluster import Cluster
from dlsched.simulation.workload.workload import Workload

if TYPE_CHECKING:
    import pandas as pd

Entry = str | Policy | tuple[str, Any] | tuple[str, Any, Mapping[str, Any]]


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
