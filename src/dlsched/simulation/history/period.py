"""A part of a history: the jobs of a window, as a workload and a cluster that can be simulated."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

from dlsched.errors import OptionError, UnknownName
from dlsched.records.capacity import COLUMNS, MORE, Capacity
from dlsched.records.readers.rows import POOL
from dlsched.records.readers.values import counted
from dlsched.results.result import Report
from dlsched.simulation.api import simulate
from dlsched.simulation.engine.policy import Policy
from dlsched.simulation.history.explanation import Explanation, explain
from dlsched.simulation.history.replay import Carrying, check_replay
from dlsched.simulation.history.workload import LEAD, Clock, Knows, make_workload
from dlsched.simulation.policies import make_policy
from dlsched.simulation.run import Simulation
from dlsched.simulation.workload.cluster import Cluster
from dlsched.simulation.workload.eligibility import eligibility
from dlsched.simulation.workload.workload import Workload
from dlsched.solvers.overhead import no_collection

if TYPE_CHECKING:
    import pandas as pd

Moment: TypeAlias = str | float | datetime
ROLES: Final = ("counted", "carried", "censored", "never", "instant")
"""What a job of a period is; see `Period.jobs`."""
SIMULATED: Final = ("counted", "carried", "censored")
SIMULATE: Final = ("method", "seed", "log", "resume", "on_progress", "stuck_after")
"""Options of `dlsched.simulation.simulate` that are none of a policy."""
SENTENCES: Final = {
    "carried": "ran at the start of the window: they hold their nodes, and are not counted",
    "censored": "ran on at the end of the window, or started after it: simulated, but not counted",
    "never": "never started: left out",
    "instant": "of 0 seconds: they hold nothing, and are left out",
}
"""What a period's notes say of the jobs that are not counted."""


@dataclass(frozen=True)
class Period:
    """The jobs of a window, ready to be replayed.

    Jobs that ran at its start hold their recorded nodes from time 0 with what is left of them, and
    are not counted; those queued at its start keep their submission; those that run at its end are
    censored, and counted apart.

    Attributes
    ----------
    jobs
        Data frame: the columns of `History.jobs`, and ``role``: ``"counted"``; ``"carried"`` (ran
        at the start); ``"censored"`` (ran at the window's end, or started after it); ``"never"``
        (never started); ``"instant"`` (ran for 0 seconds, which holds nothing). The simulated jobs
        are the counted, carried and censored ones.
    since, until
        The window, in seconds since 1970.
    partition
        The partition whose jobs these are; None for all.
    capacity
        The nodes that they may use.
    notes
        Sentences on what was left out, with counts.
    everyone
        All jobs of the history: those of other partitions hold nodes, too.
    cpu_jobs
        Jobs that hold CPUs of the nodes, but nothing of the resource: `History.others`.
    horizon
        The latest moment of the record.
    """

    jobs: pd.DataFrame
    since: float
    until: float
    partition: str | None
    capacity: Capacity
    notes: tuple[str, ...]
    everyone: pd.DataFrame = field(repr=False)
    cpu_jobs: pd.DataFrame = field(repr=False)
    horizon: float

    def __repr__(self) -> str:
        """Return the counts of jobs by their roles, and the nodes."""
        counts = self.jobs["role"].value_counts()
        roles = ", ".join(f"{counts[role]:,} {role}" for role in ROLES if counts.get(role, 0))
        whose = "" if self.partition is None else f" of partition {self.partition!r}"
        where = f"{self.capacity.total:,} on {len(self.capacity.nodes):,} nodes"
        return f"<period{whose}: {roles}; {where}>"

    @property
    def origin(self) -> float:
        """The moment at which the simulations' clock is 0, in seconds since 1970.

        It is the window's start, or a second before if jobs ran then: these alone are submitted at
        time 0.
        """
        return self.since - (LEAD if (self.jobs["role"] == "carried").any() else 0)

    @cached_property
    def cluster(self) -> Cluster:
        """The nodes as servers; a node is in the partitions of the jobs that ran on it, too."""
        whole = self.partition is None
        ran: dict[str, dict[str, None]] = {}
        jobs = self.simulated
        for held, text in zip(jobs["nodes"], jobs["partition"], strict=True):
            for node, _ in held if isinstance(text, str) else ():
                ran.setdefault(node, {}).update(dict.fromkeys(text.split(",")))
        rows = []
        more = [name for name in MORE[:3] if name in self.capacity.nodes]
        columns = self.capacity.nodes[[*COLUMNS, *more]]
        for name, gpus, kind, names, *stated in columns.itertuples(index=False, name=None):
            row: dict[str, Any] = {"id": name, "gpus": int(gpus)}
            # Of a node with GPUs of several types it is not known how many it has of each.
            row["gpu_type"] = None if "+" in (kind or "") else kind
            if whole and names:
                row["partitions"] = list(dict.fromkeys((*names, *ran.get(name, ()))))
            known = zip(more, stated, strict=True)
            row |= {key: value for key, value in known if isinstance(value, tuple) or value >= 0}
            rows.append(row)
        return Cluster.parse({"servers": rows, "away": self._outages()}, "the nodes")

    def _outages(self) -> list[dict[str, Any]]:
        """Return when nodes were away: from a job's end by NODE_FAIL until the next start there.

        Where another job ran on, or none started later, the failure is not taken for an outage.
        """
        ran = self.everyone.loc[self.everyone["start"].notna(), ["state", "start", "end", "nodes"]]
        fails = ran["state"].astype(str).str.startswith("NODE_FAIL") & (ran["end"] >= self.origin)
        names = ran["nodes"].map(lambda held: [name for name, _ in held])
        parts = ran.assign(fails=fails, end=ran["end"].fillna(self.horizon), node=names)
        parts = parts.explode("node")
        failed = parts[parts["fails"] & parts["node"].isin(self.capacity.nodes["name"])]
        parts = parts[parts["node"].isin(failed["node"])]
        rows: dict[tuple[str, float], dict[str, Any]] = {}
        for name, end in zip(failed["node"], failed["end"], strict=True):
            own = parts[parts["node"] == name]
            later = own["start"][own["start"] >= end].min()
            if later > end and not ((own["start"] < end) & (own["end"] > end)).any():
                start, back = (round(float(t) - self.origin, 6) for t in (end, later))
                rows[name, start] = {"server": name, "start": start, "end": back}
        return [rows[key] for key in sorted(rows)]

    @cached_property
    def partitions(self) -> dict[str, frozenset[str]]:
        """The nodes of each partition that jobs of the period name."""
        nodes = self.capacity.nodes["name"]
        texts = self.jobs["partition"].dropna()
        named = {name for text in texts for name in str(text).split(",")}
        served = {name: nodes[self.capacity.serves(name)] for name in named}
        return {name: frozenset(nodes) - {POOL} for name, nodes in served.items()}

    @cached_property
    def others(self) -> float:
        """Share of what is held on a partition's nodes in the window that is held by others' jobs.

        It is 0 for all partitions together.
        """
        if self.partition is None:
            return 0.0
        names = set(self.capacity.nodes["name"])
        ran = self.everyone[self.everyone["start"].notna()]
        end = ran["end"].fillna(self.horizon).clip(upper=self.until)
        length = (end - ran["start"].clip(lower=self.since)).clip(lower=0).to_numpy(float)
        held = length * [sum(n for name, n in parts if name in names) for parts in ran["nodes"]]
        own = (ran["partition"] == self.partition).to_numpy()
        return float(held[~own].sum() / max(held.sum(), 1.0))

    @cached_property
    def simulated(self) -> pd.DataFrame:
        """The jobs that are simulated, a part of `jobs`."""
        return self.jobs[self.jobs["role"].isin(SIMULATED)].reset_index(drop=True)

    def workload(self, knows: Knows = "limit", *, delay: float = 0.0) -> Workload:
        """Return the simulated jobs.

        A job's `Job.submit` is when it became eligible: no policy could have started it before.

        Parameters
        ----------
        knows
            What policies take for a job's duration: ``"limit"``, its time limit (the truth where it
            has none: `without_limit`); ``"truth"``; or ``"user_mean"``, the mean of its user's jobs
            that had ended when it was submitted, at most its limit.
        delay
            Seconds for which every job holds its nodes before it begins to run: those in which a
            scheduler ends one job and starts the next. By default 0.
        """
        window = Clock(self.origin, self.since, self.horizon, delay)
        return make_workload(self.simulated, self.everyone, window, knows, self.cluster)

    @property
    def without_limit(self) -> int:
        """Simulated jobs without a finite limit, of which policies know the truth."""
        return int((~np.isfinite(self.simulated["limit"])).sum())

    def simulate(
        self,
        policy: str | Policy,
        *,
        knows: Knows = "limit",
        delay: float = 0.0,
        workload: Workload | None = None,
        cluster: Cluster | None = None,
        **options: Any,
    ) -> Simulation:
        """Return the simulation of a policy; options are those of `dlsched.simulation.simulate`.

        `knows` and `delay` are those of `workload`. ``"recorded"`` starts every job at its recorded
        start on its recorded nodes, ``"backfill"`` is EASY backfilling by what it knows of the
        durations.

        Parameters
        ----------
        workload
            The simulated jobs, with more than the record says of them, in place of `workload`.
        cluster
            Other nodes; jobs that ran at the start on what is not there, or changed, wait first.
        """
        if workload is None:
            workload = self.workload(knows, delay=delay)
        cluster = cluster or self.cluster
        same = {s.id for s in cluster.servers if self.cluster.by_id.get(s.id) == s}
        jobs = self.simulated[self.simulated["role"] == "carried"]
        places = zip(jobs["id"], jobs["nodes"], strict=True)
        carried = [job for job, nodes in places if all(name in same for name, _ in nodes)]
        if policy == "recorded" or not carried:
            return simulate(workload, cluster, policy, **options)
        own = {name: options.pop(name) for name in SIMULATE if name in options}
        made = make_policy(policy, own.pop("method", None), **options)
        return simulate(workload, cluster, Carrying(made, carried), **own)

    def outcome(self, run: Simulation | None = None) -> pd.DataFrame:
        """Return when each counted job ran, on the record's clock.

        Parameters
        ----------
        run
            A simulation of this period; None for the record.

        Returns
        -------
        pandas.DataFrame
            One row per counted job in the order of `jobs`: ``id``, ``user``, ``account``, ``qos``,
            ``partition``, ``gpus``, ``submit``, ``start``, ``end`` (seconds since 1970), ``wait``
            (time without GPUs, from the submission on), ``jct`` (from submission to the end),
            ``runtime``, ``preemptions``.
        """
        columns = ["id", "user", "account", "qos", "partition", "gpus", "submit", "start", "end"]
        rows = self.jobs.loc[self.jobs["role"] == "counted", columns].reset_index(drop=True)
        runtime = rows["end"] - rows["start"]
        rows["preemptions"] = 0
        if run is not None:
            ran = run.jobs.set_index("id").loc[rows["id"]].reset_index()
            rows["start"] = ran["start"] + self.origin
            rows["end"] = ran["end"] + self.origin
            rows["preemptions"] = ran["preemptions"]
            held = ran["attained"]
        else:
            held = runtime
        rows["jct"] = rows["end"] - rows["submit"]
        # Sums of floats of 1e9: rounded to the microseconds that the simulator counts.
        rows["wait"] = (rows["jct"] - held).round(6).clip(lower=0)
        rows["runtime"] = runtime
        return rows

    def check(self, run: Simulation | None = None) -> Report:
        """Replay the recorded starts; `run` is the replay, if it was made before.

        Returns
        -------
        Report
            True if the recorded nodes are never overfull, every simulated wait is the recorded one,
            and the simulation's audit finds nothing; else its violations say what. ``details`` has
            ``largest_difference`` in seconds, ``jobs``, ``overfull`` (nodes).
        """
        if run is None:
            with no_collection():
                run = self.simulate("recorded", knows="truth")
        window = Clock(self.origin, self.since, self.horizon, 0.0)
        return check_replay(self.simulated, run, window, self.capacity)

    @cached_property
    def explained(self) -> Explanation:
        """The recorded waiting of the counted jobs, divided by its causes."""
        held = self.everyone[self.everyone["start"].notna()].copy()
        held["end"] = held["end"].fillna(self.horizon)
        others = self.cpu_jobs.assign(end=self.cpu_jobs["end"].fillna(self.horizon))
        workload = self.workload("truth")
        where = eligibility(workload, self.cluster)
        of = dict(zip((job.id for job in workload.jobs), where.of_job.tolist(), strict=True))
        waiting = self.jobs[self.jobs["role"] == "counted"]
        waiting = waiting.assign(**{"class": [of[name] for name in waiting["id"]]})
        found = explain(waiting, held, self.capacity, others, where.servers)
        if (waiting["cpus"] > 0).any():
            some, held = waiting.assign(cpus=np.nan), held.assign(cpus=np.nan)
            bare = explain(some, held, self.capacity, others[:0], where.servers).jobs["held_back"]
            found = replace(found, jobs=found.jobs.assign(held_back_without_cpus=bare))
        return found


def make_period(
    everyone: pd.DataFrame,
    cpu_jobs: pd.DataFrame,
    capacity: Capacity,
    window: tuple[float, float],
    partition: str | None,
    horizon: float,
) -> Period:
    """Return the jobs of a window of a history, by their roles; some jobs end at `horizon`."""
    since, until = window
    if not since < until:
        raise OptionError(
            f"the window ends at {until:.15g}, not after {since:.15g}; give a later end"
        )
    jobs = everyone
    notes: list[str] = []
    if partition is not None:
        known = everyone["partition"].dropna().unique()
        if partition not in known:
            raise UnknownName("partition", partition, known)
        jobs = everyone[everyone["partition"] == partition]
        capacity = capacity.of_partition(partition)
        notes += _note_others(everyone, jobs, capacity)
    start, end = jobs["start"], jobs["end"].fillna(horizon)
    ran_on = jobs["end"].isna() | (end > until) | (start >= until)
    role = np.select(
        [
            (jobs["submit"] >= until) & (jobs["submit"] > since),
            start.isna() & (jobs["submit"] < since),
            start.isna(),
            end <= since,
            end == start,
            start < since,
            ran_on,
        ],
        ["", "", "never", "", "instant", "carried", "censored"],
        "counted",
    )
    chosen = jobs.assign(role=role)[role != ""].reset_index(drop=True)
    counts = chosen["role"].value_counts()
    if not counts.get("counted", 0):
        raise OptionError("no job of this window and partition started and ended in it; widen it")
    for name, sentence in SENTENCES.items():
        if counts.get(name, 0):
            notes.append(f"{counted(int(counts[name]), 'job')} {sentence}")
    return Period(
        chosen, since, until, partition, capacity, tuple(notes), everyone, cpu_jobs, horizon
    )


def _note_others(everyone: pd.DataFrame, jobs: pd.DataFrame, capacity: Capacity) -> Iterator[str]:
    """Yield a note on what jobs of other partitions hold on a partition's nodes."""
    names = set(capacity.nodes["name"])
    others = everyone[everyone["start"].notna() & ~everyone.index.isin(jobs.index)]
    shared = int(sum(any(node in names for node, _ in held) for held in others["nodes"]))
    if shared:
        yield (
            f"{counted(shared, 'job')} of other partitions ran on these nodes: policies do "
            "not see them, so that they have more room than there was; choose all partitions"
        )
