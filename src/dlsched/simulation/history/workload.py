"""The jobs of a period as a workload, with what policies know of their durations."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from dlsched.errors import UnknownName
from dlsched.simulation.workload.cluster import Cluster
from dlsched.simulation.workload.workload import Workload

if TYPE_CHECKING:
    import pandas as pd

Knows: TypeAlias = Literal["limit", "truth", "user_mean"]
LEAD: Final = 1.0
"""Seconds of the clock before the window, if jobs ran at its start: these are started first."""
Floats = NDArray[np.float64]
_LEAST: Final = 1e-6
AMOUNTS: Final = ("cpus", "memory")
TEXTS: Final = ("user", "account", "partition", "gpu_type", "state", "qos")


class Clock(NamedTuple):
    """The times of a period.

    Attributes
    ----------
    origin
        The moment at which the simulation's clock is 0.
    since
        The start of the window.
    horizon
        The end of the jobs that have none.
    delay
        Seconds for which every job holds its nodes before it begins to run.
    """

    origin: float
    since: float
    horizon: float
    delay: float = 0.0


def make_workload(
    jobs: pd.DataFrame, everyone: pd.DataFrame, clock: Clock, knows: str, cluster: Cluster
) -> Workload:
    """Return the jobs of a period as a workload; see `dlsched.simulation.Period.workload`.

    Parameters
    ----------
    jobs
        The simulated jobs, with their ``role``.
    everyone
        All jobs of the history, of which users' means are taken.
    cluster
        The nodes. A job accepts those on which it ran, whatever type, features, CPUs and memory it
        asked for. A partition that no node is known to be in restricts nothing.

    Raises
    ------
    UnknownName
        If `knows` is none of the three.
    """
    origin = clock.origin
    carried = (jobs["role"] == "carried").to_numpy()
    start = jobs["start"].to_numpy(float)
    end = jobs["end"].fillna(clock.horizon).to_numpy(float)
    work = np.where(carried, end - origin, end - start)
    submit = np.where(carried, origin, np.maximum(jobs["eligible"], clock.since))
    begin = np.where(carried, origin, start)
    estimate = known_durations(jobs, everyone, end - start, knows)
    # Of a job that runs already, what has passed is known.
    passed = np.where(carried, origin - start, 0.0)
    estimate = np.maximum(estimate - passed, _LEAST) + clock.delay
    numbers = {
        "submit": submit - origin,
        "work": work,
        "start": begin - origin,
        **({} if knows == "truth" else {"estimate": estimate}),
        **{name: jobs[name].to_numpy(float) for name in ("limit", *AMOUNTS)},
        "priority": jobs["priority"].to_numpy(float) - min(0.0, jobs["priority"].min()),
    }
    rounded = [[(name, value) for value in _rounded(column)] for name, column in numbers.items()]
    rows = []
    anywhere = any(not server.partitions for server in cluster.servers)
    listed = None if anywhere else {p for s in cluster.servers for p in s.partitions}
    fixed = jobs[["id", "gpus", "nodes", "features", *TEXTS]].itertuples(index=False, name=None)
    for (name, gpus, nodes, features, *texts), *known in zip(fixed, *rounded, strict=True):
        row: dict[str, Any] = {"id": name, "gpus": int(gpus), "nodes": nodes}
        row |= {field: value for field, value in known if value is not None}
        if clock.delay:
            row["restart"] = clock.delay
        fields = zip(("tenant", *TEXTS[1:]), texts, strict=True)
        row |= {field: text for field, text in fields if isinstance(text, str)}
        _accept(row, features, cluster, listed)
        rows.append(row)
    return Workload.parse({"name": "history", "jobs": rows}, "the history")


def _accept(
    row: dict[str, Any], features: str | None, cluster: Cluster, listed: set[str] | None
) -> None:
    """Set what a job accepts, so that it may run where it ran."""
    servers = [cluster.by_id[node] for node, _ in row["nodes"] if node in cluster.by_id]
    if isinstance(features, str) and servers:
        common = set.intersection(*(set(server.features) for server in servers))
        row["features"] = [name for name in features.split("&") if name in common]
    # Of each of its nodes it needs what the smallest part of it needs there.
    part = min((gpus for _, gpus in row["nodes"]), default=1) / row["gpus"]
    for name in AMOUNTS:
        stated = [amount for s in servers if (amount := getattr(s, name)) is not None]
        if name in row and stated:
            row[f"server_{name}"] = min(int(row[name] * part), *stated)
    if listed is not None and listed.isdisjoint(row.get("partition", "").split(",")):
        row.pop("partition", None)
    if "gpu_type" in row:
        types = re.split(r"[|+]", row["gpu_type"])
        more = {s.gpu_type for s in servers if s.gpu_type is not None and s.gpu_type not in types}
        if more or len(types) > 1:
            row["gpu_types"] = [*types, *sorted(more)]


def known_durations(
    jobs: pd.DataFrame, everyone: pd.DataFrame, truth: Floats, knows: str
) -> Floats:
    """Return what policies take for the durations of jobs, from their starts on."""
    if knows not in get_args(Knows):
        raise UnknownName("knowledge of durations", str(knows), get_args(Knows))
    if knows == "truth":
        return truth
    limit = jobs["limit"].to_numpy(float)
    has_limit = np.isfinite(limit) & (limit > 0)
    usual = np.where(has_limit, limit, truth)
    if knows == "limit":
        return usual
    mean = user_means(jobs, everyone)
    return np.where(np.isnan(mean), usual, np.where(has_limit, np.minimum(mean, limit), mean))


def user_means(jobs: pd.DataFrame, everyone: pd.DataFrame) -> Floats:
    """Return the mean duration of each job's user's jobs that had ended when it was submitted.

    NaN for a user without such jobs.
    """
    import pandas as pd

    ended = everyone[everyone["user"].notna() & (everyone["end"] > everyone["start"])]
    ended = ended.sort_values("end", kind="stable")
    lengths = (ended["end"] - ended["start"]).groupby(ended["user"])
    ended = ended[["user", "end"]].assign(
        mean=lengths.transform(lambda own: np.cumsum(own.to_numpy()) / np.arange(1, len(own) + 1))
    )
    order = np.argsort(jobs["submit"].to_numpy(), kind="stable")
    asked = jobs[["user", "submit"]].iloc[order]
    found = pd.merge_asof(asked, ended, left_on="submit", right_on="end", by="user")
    means = np.empty(len(jobs))
    means[order] = found["mean"]
    return means


def _rounded(values: Floats) -> list[int | float | None]:
    """Return seconds rounded to the clock's microseconds; None for what is not finite."""
    rounded = np.round(values, 6)
    return [
        None if not np.isfinite(value) else int(value) if value == int(value) else value
        for value in rounded.tolist()
    ]
