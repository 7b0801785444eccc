"""The simulations of a study: policies on the jobs of a period, on its nodes or on others."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final, NamedTuple

from dlsched.errors import DlschedError, OptionError, UnknownName
from dlsched.records import read_trace
from dlsched.records.readers.hosts import expand_hosts
from dlsched.registry.cluster_state import uniform
from dlsched.schema import exact
from dlsched.simulation import Cluster, Policy, Simulation, Workload
from dlsched.simulation.engine.policy import policy_name
from dlsched.simulation.history import Knows, Period
from dlsched.simulation.policies import make_policy
from dlsched.simulation.policies.keeping import without_preemption
from dlsched.simulation.workload.cluster import Server
from dlsched.simulation.workload.profiles import PROFILES
from dlsched.studies.outcome import Outcome, outcome_of

Entry = str | Policy | tuple[str, Any] | tuple[str, Any, Mapping[str, Any]]
NEED_STAGES: Final = ("muri_l", "muri_s")
"""The policies that need stages."""
SOURCE: Final = "synthetic-1"
"""The trace that they are drawn from."""


class Chosen(NamedTuple):
    """A policy's name in the table, the policy, its method and its options."""

    name: str
    policy: str | Policy
    method: Any
    options: Mapping[str, Any]


def chosen(entry: Entry) -> Chosen:
    """Return a policy as it was asked for."""
    policy, method, options = (*entry, {})[:3] if isinstance(entry, tuple) else (entry, None, {})
    name = policy if isinstance(policy, str) else policy_name(policy)
    if method is not None:
        name += f" ({method if isinstance(method, str) else policy_name(method)})"
    stated = [f"{key}={value}" for key, value in options.items()]
    return Chosen(" ".join([name, *stated]), policy, method, options)


@dataclass(frozen=True)
class Runs:
    """How policies are simulated; see `dlsched.studies.comparison.study`."""

    period: Period
    knows: Knows
    delay: float
    restart: float | None
    preemption: bool
    seed: int
    folder: Path | None
    tell: Callable[[str, int, int], None]

    @cached_property
    def workload(self) -> Workload:
        """The simulated jobs; they need some seconds at each start after a preemption."""
        return self._with_restart(self.period.workload(self.knows, delay=self.delay))

    @cached_property
    def staged(self) -> Workload:
        """The same with stages, models and the restart overheads of these.

        No scheduler records stages: those of a job are a shipped trace's, drawn by its id and the
        seed, so that policies gain what they would if the cluster's jobs were like that trace's.
        """
        known = [job for job in read_trace(SOURCE).jobs if job.stages]
        rows: list[dict[str, Any]] = []
        for job in self.workload.jobs:
            drawn = known[int(uniform(job.id, self.seed) * len(known))]
            rows.append({"gpus": job.gpus, "model": drawn.model, "stages": drawn.stages})
        rows, _ = PROFILES["muri"](rows)
        names = ("model", "stages", "restart")
        jobs = tuple(
            job.model_copy(update={name: row[name] for name in names})
            for job, row in zip(self.workload.jobs, rows, strict=True)
        )
        return self._with_restart(self.workload.model_copy(update={"jobs": jobs}))

    def _with_restart(self, workload: Workload) -> Workload:
        if self.restart is None:
            return workload
        update = {"startup": exact(self.delay), "restart": exact(self.delay + self.restart)}
        jobs = tuple(job.model_copy(update=update) for job in workload.jobs)
        return workload.model_copy(update={"jobs": jobs})

    @property
    def source_of_stages(self) -> str:
        """The trace from which stages were drawn; empty if none were."""
        return SOURCE if "staged" in self.__dict__ else ""

    def bounded(self, sharing: bool) -> Workload:
        """Return the jobs of which a bound holds for all schedules."""
        plain = self.period.workload(self.knows) if self.delay else self.workload
        return self.staged if sharing and self.source_of_stages else plain

    def outcome(self, entry: Chosen, label: str = "") -> Outcome:
        """Return what a policy came to, audited; `label` stands before its name."""
        name, total = label + entry.name, len(self.period.simulated)
        run, conditions = self._simulate(entry, name)
        self.tell(f"{name} is audited", total, total)
        return outcome_of(name, conditions, self.period, run)

    def against(self, change: str, cluster: Cluster, entry: Chosen, label: str) -> dict[str, Any]:
        """Return the waits under a policy on other nodes: a row of `Figures.nodes`."""
        name = label + entry.name
        row = {"change": change, "nodes": len(cluster.servers), "gpus": cluster.gpus}
        row |= {"policy": name, "terms": "", "mean_wait": None, "p95_wait": None, "problem": ""}
        try:
            run, conditions = self._simulate(entry, f"{name}, {change}", cluster)
        except DlschedError as error:
            return row | {"problem": str(error)}
        found = outcome_of(name, conditions, self.period, run).row
        return row | {key: found[key] for key in ("terms", "mean_wait", "p95_wait")}

    def _simulate(
        self, entry: Chosen, name: str, cluster: Cluster | None = None
    ) -> tuple[Simulation, tuple[str, ...]]:
        """Return a simulation, and what its figures rest on."""
        staged = entry.policy in NEED_STAGES
        jobs = self.staged if staged else self.workload
        made = make_policy(entry.policy, entry.method, **entry.options)
        interval = getattr(made, "interval", None)
        kept = getattr(made, "preemptive", True) and not self.preemption
        rounds = f"rounds of {float(interval):g} s" if interval else ""
        conditions = (rounds, "drawn stages" * staged, "without preemption" * kept)
        file = "".join(c if c.isalnum() or c in "-_.=" else "-" for c in name)[:100]
        run = self.period.simulate(
            without_preemption(made) if kept else made,
            workload=jobs,
            cluster=cluster,
            seed=self.seed,
            log=None if self.folder is None else self.folder / f"{file}.log",
            resume=self.folder is not None,
            on_progress=lambda _now, done, total: self.tell(f"{name} is simulated", done, total),
        )
        return run, tuple(filter(None, conditions))


def changes(
    period: Period, add: Sequence[str], remove: Sequence[str], partition_of: Sequence[str]
) -> Iterator[tuple[str, Cluster]]:
    """Yield the record's nodes, and each change of them alone; nothing without a change."""
    cluster = period.cluster
    if add or remove or partition_of:
        yield "as recorded", cluster
    for text in map(str, add):
        number, like, _ = _some(text, cluster)
        new = [like.model_copy(update={"id": f"added-{k + 1}"}) for k in range(number)]
        yield (
            f"{number} more as {like.id}",
            cluster.model_copy(update={"servers": (*cluster.servers, *new)}),
        )
    for text in map(str, remove):
        gone = _named(text, cluster)
        if len(gone) == len(cluster.servers):
            raise OptionError(f"{text!r} are all nodes; remove fewer")
        left = tuple(server for server in cluster.servers if server.id not in gone)
        away = tuple(outage for outage in cluster.away if outage.server not in gone)
        yield f"{text} removed", cluster.model_copy(update={"servers": left, "away": away})
    for text in partition_of:
        names, _, partitions = text.partition("=")
        update = {"partitions": tuple(partitions.split(","))}
        for name in update["partitions"]:
            if name not in period.partitions:
                raise UnknownName("partition", name, period.partitions)
        moved = _named(names, cluster)
        servers = (s.model_copy(update=update) if s.id in moved else s for s in cluster.servers)
        yield text.replace("=", " in "), cluster.model_copy(update={"servers": tuple(servers)})


def _some(text: str, cluster: Cluster) -> tuple[int, Server, list[str]]:
    """Return a number of nodes, one that they are like, and the names of all that are."""
    number, _, name = text.partition(":")
    if not (number.isdecimal() and len(number) < 6 and int(number)):
        raise OptionError(
            f"{text!r} is no number of nodes; write one, as 4, or 4:n1 for some as n1"
        )
    kinds = {server.id: server.model_dump_json(exclude={"id"}) for server in cluster.servers}
    if name and name not in kinds:
        raise UnknownName("node", name, kinds)
    kind = kinds[name] if name else Counter(kinds.values()).most_common(1)[0][0]
    alike = [name for name, own in kinds.items() if own == kind]
    return int(number), cluster.by_id[alike[-1]], alike


def _named(text: str, cluster: Cluster) -> set[str]:
    """Return the nodes of a list of names, or of a number the last ones that are alike."""
    if text.partition(":")[0].isdecimal() and text not in cluster.by_id:
        number, _, alike = _some(text, cluster)
        if number > len(alike):
            raise OptionError(f"{text!r}: there are {len(alike)} such nodes; name those that go")
        return {*alike[-number:]}
    names = {*expand_hosts(text)}
    for name in (names or {""}) - cluster.by_id.keys():
        raise UnknownName("node", name, cluster.by_id)
    return names
