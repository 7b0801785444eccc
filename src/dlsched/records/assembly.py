"""The rows of a record become its jobs: rules applied in order, each with its note."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from dlsched.errors import InstanceError, UnknownName
from dlsched.records import cleaning, daylight
from dlsched.records.capacity import Capacity, of_clusters, peaks
from dlsched.records.division import divide_jobs, overfull, spread_jobs
from dlsched.records.readers.format import Source
from dlsched.records.readers.rows import MOMENTS, POOL, Rows, is_known, objects
from dlsched.records.readers.values import Ints, counted

if TYPE_CHECKING:
    import pandas as pd

COLUMNS: Final = (
    *("id", "user", "account", "partition", "gpus", "gpu_type", *MOMENTS, "state", "limit"),
    *("nodes", "row", "cpus", "memory", "features", "qos", "priority", "cluster"),
)
"""The columns of the jobs, in this order; `dlsched.records.record.JobRecord` says what they are."""
OTHERS: Final = ("id", "cpus", "start", "end", "nodes")
"""Those of the jobs that hold CPUs alone; ``nodes`` are names there."""
NAMES: Final = {"gpu": "GPUs", "cpu": "CPUs", "node": "nodes"}
"""What the resource is called in sentences."""
MOST_DROPPED: Final = 0.05
"""Share of the GPU-hours from which what was dropped is said at the head of a report."""
SHOWN: Final = 3
"""Contradictions that are named."""
_MODEL: Final = (
    "the file has no recorded waits, as a model of a workload: there is nothing to compare with, "
    "and every job counts as if it had started when it was submitted"
)


class Assembly:
    """Makes what `dlsched.records.record.JobRecord` has, of the rows of a record."""

    jobs: pd.DataFrame
    others: pd.DataFrame
    capacity: Capacity

    def __init__(
        self,
        rows: Rows,
        source: Source,
        nodes: pd.DataFrame | None,
        clusters: frozenset[str] | None,
    ) -> None:
        self.rows = rows
        self.source = source
        self.layout = source.layout
        self.where = source.where
        self.unit = NAMES[source.resource]
        self.nodes = nodes
        self.clusters = clusters
        self.notes: list[str] = []
        self.warnings: list[str] = []
        self.fields = {"start": "wait", "end": "duration", "eligible": "eligible", **source.fields}

    def run(self) -> None:
        """Find the jobs, and what is left out."""
        rows, source = self.rows, self.source
        if self.layout.record and not self.layout.slurm:  # which spells states so itself
            states = rows.get("state")
            states[:] = [s if s is None else str(s).partition(" ")[0].upper() for s in states]
        self._choose_clusters()
        self._require_resource()
        apart = self._set_apart()
        self.notes += source.notes
        self.notes += [cleaning.rounded_note(rows.rounded)] * bool(rows.rounded)
        self.notes += [_MODEL] * source.is_model
        self.notes += daylight.resolve_repeated(rows)
        self.notes += daylight.apply_elapsed(rows, source.zone, source.zone_given, source.local)
        self.notes += cleaning.settle_starts(rows, self.layout.slurm)
        cleaning.refuse_faults(rows, self.fields)
        cleaning.require_some(rows, self.where)
        if not source.is_model:
            cleaning.require_whole(rows, self.where, self.fields)
        self.notes += cleaning.settle_order(rows)
        again, more = cleaning.refuse_repeated(rows, rows.usable)
        rows.refuse(again, "id", "is there twice", fault=False)
        if more:
            self.notes.append(f"{counted(more, 'further run')} of an id: id#2, id#3, and so on")
        self._find_jobs(apart)
        self._find_capacity()
        self._leave_out()
        self._warn_of_contradictions()
        self._note()
        self.horizon = _horizon_of(rows)

    def _choose_clusters(self) -> None:
        """Take the jobs of some clusters; give each of several ids and nodes of its own."""
        rows = self.rows
        clusters = rows.get("cluster")
        named = rows.usable & is_known(clusters)
        there = sorted({str(name) for name in clusters[named]})
        for name in self.clusters or ():
            if name not in there:
                raise UnknownName("cluster", name, there)
        if self.clusters is not None:
            other = np.array([name not in self.clusters for name in clusters], np.bool_)
            rows.refuse(other, "cluster", "of another cluster", fault=False)
            there = sorted(self.clusters)
        several = len(there) > 1 and self.layout.record
        if several:
            self.notes.append(cleaning.name_by_cluster(rows, rows.usable))
        if self.nodes is not None:
            self.nodes = of_clusters(self.nodes, there, several)

    def _require_resource(self) -> None:
        """Refuse a file in which no job holds any of the resource."""
        rows = self.rows
        if np.nan_to_num(rows.columns["gpus"]).any() or not rows.usable.any():
            return
        unread = rows.fault & rows.columns["column"].astype(np.bool_)
        if unread.any():
            place = int(np.argmax(unread))
            reason, column, remedy = rows.flaw(place)
            remedy = remedy or "write it as gres/gpu=2 or gpu:a100:2"
        else:
            place, column = int(np.argmax(rows.usable)), self.fields["gpus"]
            reason = f"no job has {self.unit}"
            remedy = f"export the column that has the {self.unit}, or name another resource"
            if self.source.resource == "gpu":
                remedy = "name another resource: resource='cpu' (--resource cpu) counts CPUs"
            if self.source.resource == "gpu" and self.layout.slurm:
                remedy += "; Slurm stores GPUs if AccountingStorageTRES has gres/gpu"
        path = f"row {rows.columns['row'][place]}, {column}"
        raise InstanceError(self.where, path, reason, remedy)

    def _set_apart(self) -> Ints:
        """Leave out the jobs that hold nothing of the resource; return where they are."""
        rows, column = self.rows, self.fields["gpus"]
        for place, name in enumerate(rows.columns.pop("slices", ())):
            if name is not None:
                problem = f"has slices of GPUs ({name}), which are no whole ones: a history counts"
                rows.refuse_row(place, column, f"{problem} whole GPUs")
        without = ~(np.nan_to_num(rows.columns["gpus"]) > 0) & rows.usable
        rows.refuse(without, column, f"without {self.unit}", fault=False)
        return np.flatnonzero(without)

    def _find_jobs(self, apart: Ints) -> None:
        """Take the usable rows as jobs in the order of submission, and what others held of CPUs."""
        import pandas as pd

        rows, columns = self.rows, self.rows.columns
        cpus = rows.get("cpus")[apart]
        there = columns["nodes"][apart].astype(np.bool_) & ~np.isnan(columns["start"][apart])
        kept = apart[(cpus > 0) & there]
        self.others = pd.DataFrame({name: columns[name][kept] for name in OTHERS})
        kept = np.flatnonzero(rows.usable)
        kept = kept[np.lexsort((columns["row"][kept], columns["submit"][kept]))]
        amounts = columns["amounts"][kept]
        held = zip(amounts, columns["gpus"][kept], strict=True)
        wrong = [bool(parts) and sum(parts) != gpus for parts, gpus in held]
        if any(wrong):
            columns["nodes"][kept[wrong]] = amounts[wrong] = objects([()] * sum(wrong))
            self.notes.append(
                f"{counted(sum(wrong), 'job')} whose nodes do not add up to what it holds: taken "
                "as one whose nodes are not recorded"
            )
        made = {}
        for name in COLUMNS:
            # A million rows are not there twice: later only times and amounts are asked for.
            values = rows.get(name)[kept]
            if name not in ("row", "id", "gpus", *MOMENTS):
                del columns[name]
            values = values.astype(np.int64) if name == "gpus" else values
            made[name] = pd.Series(values, dtype=object if values.dtype == object else None)
        jobs = self.jobs = pd.DataFrame(made, copy=False)
        sizes = None if self.nodes is None else _sizes(self.nodes)
        if sizes is not None:  # then a pool is no node
            pooled = [any(name.startswith(f"{POOL} ") for name in held) for held in jobs["nodes"]]
            jobs.loc[pooled, "nodes"] = pd.Series(objects([()] * sum(pooled)), dtype=object).array
            amounts[pooled] = objects([()] * sum(pooled))
        again = sum(len(set(names)) < len(names) for names in jobs["nodes"])
        if again:
            self.notes.append(
                f"{counted(again, 'job')} with a node named more than once: it holds there what "
                "its entries hold together"
            )
        spread_jobs(jobs, amounts, sizes)
        if not amounts.any():
            self.notes += divide_jobs(jobs, sizes, self.unit)

    def _find_capacity(self) -> None:
        """Find the nodes; jobs without recorded nodes get a place on a node of their own."""
        import pandas as pd

        jobs = self.jobs
        if self.nodes is not None:
            self.capacity = self._stated(self.nodes)
            return
        held = jobs.loc[jobs["start"].notna() & (jobs["nodes"].map(len) == 0), "gpus"]
        places = objects([((POOL, gpus),) for gpus in held.tolist()])
        jobs.loc[held.index, "nodes"] = pd.Series(places, held.index, dtype=object)
        nodes = peaks(jobs)
        if len(jobs) and not jobs["start"].notna().any():
            problem = "no job has started, so that nothing says which nodes there are"
            raise InstanceError(self.where, "", problem, "give the nodes: nodes=... (--nodes FILE)")
        source = "the peak of each node's recorded occupancy: there may have been more"
        self.capacity = Capacity(nodes, source, True)
        if len(held) and len(nodes) > 1:
            self.notes.append(
                f"{counted(len(held), 'job')} without recorded nodes: they have a node {POOL!r} of "
                "their own"
            )
        elif len(held):
            stated, peak = self.source.capacity, int(nodes["gpus"].max()) if len(nodes) else 0
            if stated is not None and stated < peak:
                self.warnings.append(
                    f"the record holds {peak:,} at once, the file's header has {stated:,}: the "
                    "record counts"
                )
            whole = stated is not None and stated >= peak
            size = stated if whole else max(peak, int(held.max()))
            pool = {"name": POOL, "gpus": size, "gpu_type": None, "partitions": ()}
            source = "the peak of the recorded occupancy: there may have been more"
            source = "the file's header" if whole else source
            self.capacity = Capacity(pd.DataFrame([pool]), source, not whole)

    def _stated(self, nodes: pd.DataFrame) -> Capacity:
        """Return the nodes of a file; if none has a partition, with those whose jobs ran there."""
        source = "the file of the nodes that was given"
        if not any(nodes["partitions"]):
            ran = peaks(self.jobs)
            seen = dict(zip(ran["name"], ran["partitions"], strict=True))
            idle = [name for name in nodes["name"] if name not in seen]
            nodes = nodes.assign(partitions=[seen.get(name, ()) for name in nodes["name"]])
            if any(nodes["partitions"]):
                source += "; it names no partitions: a node is in those whose jobs ran on it"
            if idle and any(nodes["partitions"]):
                self.notes.append(
                    f"{counted(len(idle), 'node')} that no job ran on, as {idle[0]}: assumed to be "
                    "there for the jobs of every partition; whether they were drained or reserved "
                    "is not in the record"
                )
        return Capacity(nodes, source, False)

    def _leave_out(self) -> None:
        """Leave out the jobs that are larger than the cluster, or ran on nodes that it has not."""
        jobs, size, unit = self.jobs, _sizes(self.capacity.nodes), self.unit
        total = self.capacity.total
        places = np.searchsorted(self.rows.columns["row"], jobs["row"].to_numpy()).tolist()
        flaws = {held: _misfit(held, size, unit) for held in {*jobs["nodes"]}}
        fits = np.ones(len(jobs), np.bool_)
        for i, (gpus, held) in enumerate(zip(jobs["gpus"].tolist(), jobs["nodes"], strict=True)):
            large = f"asks for {gpus:,} {unit}, the cluster has {total:,}" if gpus > total else None
            if reason := large or flaws[held]:
                fits[i] = False
                self.rows.refuse_row(places[i], self.fields["gpus"], reason)
        if len(jobs) and not fits.any():
            cleaning.require_some(self.rows, self.where)
        self.jobs = jobs[fits].reset_index(drop=True)

    def _warn_of_contradictions(self) -> None:
        """Warn of jobs that cannot have held their nodes at the same time."""
        size = _sizes(self.capacity.nodes)
        found = [] if self.capacity.measured else overfull(self.jobs, size)
        for node, most, ids in found[:SHOWN]:
            self.warnings.append(
                f"the record contradicts itself: jobs {' and '.join(ids[:4])} held {most:,} "
                f"{self.unit} on {node} at the same time, which has {size[node]:,}"
            )
        if len(found) > SHOWN:
            more = counted(len(found) - SHOWN, "more node")
            self.warnings.append(f"the record contradicts itself on {more}")

    def _note(self) -> None:
        """Add the notes on the record as a whole."""
        rows, jobs = self.rows, self.jobs
        if not len(jobs):
            reasons = [reason for reason in rows.columns["reason"] if reason]
            why = f" ({reasons[0]})" if reasons else ""
            raise InstanceError(self.where, "", f"no job is left{why}", "export other jobs")
        if self.layout.slurm:
            self.notes += cleaning.strange_states(jobs["state"])
        if rows.skipped:
            self.warnings.append(
                f"{counted(rows.skipped, 'time')} that the clock of {self.source.zone.key} never "
                "showed: is the zone right?"
            )
        if self.layout.record and self.source.local and not self.source.zone_given:
            self.notes.append("no time zone given: times without one are taken as UTC")
        for number, said in (
            (jobs["start"].isna().sum(), "never started"),
            ((jobs["end"] == jobs["start"]).sum(), "of 0 seconds: they hold nothing"),
        ):
            if number:
                self.notes.append(f"{counted(int(number), 'job')} {said}")
        faults = int(rows.fault.sum())
        others = int((~rows.usable & ~rows.fault).sum())
        if others:
            self.notes.append(f"{counted(others, 'row')} left out that are no jobs of this kind")
        if faults:
            kept = np.isin(rows.columns["row"], jobs["row"].to_numpy())
            share = cleaning.dropped_share(rows, kept)
            said = f"{counted(faults, 'row')} dropped with a fault, of {share:.1%} of the "
            target = self.warnings if share > MOST_DROPPED else self.notes
            target.append(f"{said}{self.unit[:-1]}-hours")

    def dropped(self) -> pd.DataFrame:
        """Return the rows that are no jobs here."""
        import pandas as pd

        rows = self.rows
        places = np.flatnonzero(~rows.usable)
        reasons = []
        for place in places.tolist():
            reason, column, _ = rows.flaw(place)
            reasons.append(f"{column}: {reason}" if column and rows.fault[place] else reason)
        table = {"row": rows.columns["row"][places], "id": rows.columns["id"][places]}
        return pd.DataFrame(table | {"reason": reasons}).astype({"id": object, "reason": object})


def _sizes(nodes: pd.DataFrame) -> dict[str, int]:
    return dict(zip(nodes["name"], nodes["gpus"].tolist(), strict=True))


def _horizon_of(rows: Rows) -> float:
    """Return the latest moment of a record."""
    columns = rows.columns
    moments = [columns[name] for name in MOMENTS] + [columns["start"] + rows.get("elapsed")]
    known = (moment[rows.usable & ~np.isnan(moment)] for moment in moments)
    return float(max(np.max(moment, initial=-np.inf) for moment in known))


def _misfit(held: tuple[tuple[str, int], ...], size: dict[str, int], unit: str) -> str | None:
    """Return why a job cannot have held something on some nodes."""
    for node, amount in held:
        if node not in size:
            return f"ran on {node}, which is not among the nodes"
        if amount > size[node]:
            return f"held {amount:,} {unit} on {node}, which has {size[node]:,}"
    return None
