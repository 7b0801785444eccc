"""The rows of a record become a history: rules applied in order, each with its note."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple
from zoneinfo import ZoneInfo

import numpy as np

from dlsched.errors import InstanceError, OptionError, UnknownName
from dlsched.records import cleaning, daylight
from dlsched.records.capacity import Capacity, peaks, read_nodes, spread, together
from dlsched.records.division import Run, divide, overfull
from dlsched.records.fields import COLUMNS, OTHERS
from dlsched.records.readers.format import Source, TraceFormat
from dlsched.records.readers.rows import MOMENTS, POOL, Rows, tuples
from dlsched.records.readers.settle import settle_starts
from dlsched.records.readers.values import counted

if TYPE_CHECKING:
    import pandas as pd

NAMES: Final = {"gpu": "GPUs", "cpu": "CPUs", "node": "nodes"}
"""What the resource is called in sentences."""
MOST_DROPPED: Final = 0.05
"""Share of the GPU-hours from which what was dropped is said at the head of a report."""
SHOWN: Final = 3
"""Contradictions that are named."""


class Assembled(NamedTuple):
    """What a record says, in the order of `dlsched.records.record.JobRecord`."""

    jobs: pd.DataFrame
    dropped: pd.DataFrame
    others: pd.DataFrame
    notes: list[str]
    warnings: list[str]
    capacity: Capacity


class Assembly:
    """Makes a history of the rows of a record."""

    def __init__(
        self,
        rows: Rows,
        source: Source,
        layout: TraceFormat,
        zone: ZoneInfo,
        zone_given: bool,
        nodes: str | Path | pd.DataFrame | None,
        clusters: frozenset[str] | None,
    ) -> None:
        self.rows = rows
        self.source = source
        self.layout = layout
        self.where = source.where
        self.resource = source.resource
        self.zone = zone
        self.zone_given = zone_given
        self.nodes = None if nodes is None else read_nodes(nodes)
        self.clusters = clusters
        self.notes: list[str] = []
        self.warnings: list[str] = []
        self.fields = {"start": "wait", "end": "duration", "eligible": "eligible", **source.fields}

    def run(self) -> Assembled:
        """Return the jobs and what was left out."""
        rows, source = self.rows, self.source
        if self.layout.record and not self.layout.slurm:
            self._settle_states()
        self._choose_clusters()
        self._require_resource()
        apart = self._set_apart()
        self.notes += source.notes
        if rows.rounded:
            self.notes.append(cleaning.rounded_note(rows.rounded))
        if source.is_model:
            self.notes.append(
                "the file has no recorded waits, as a model of a workload: there is nothing to "
                "compare with, and every job counts as if it had started when it was submitted"
            )
        self.notes += daylight.resolve_repeated(rows)
        self.notes += daylight.apply_elapsed(rows, self.zone, self.zone_given, source.local)
        self.notes += settle_starts(rows, self.layout.slurm)
        cleaning.refuse_faults(rows, self.fields)
        cleaning.require_some(rows, self.where)
        if not source.is_model:
            cleaning.require_whole(rows, self.where, self.fields)
        self.notes += cleaning.settle_order(rows)
        again, more = cleaning.refuse_repeated(rows, rows.usable)
        rows.refuse(again, "id", "is there twice", fault=False)
        if more:
            self.notes.append(f"{counted(more, 'further run')} of an id: id#2, id#3, and so on")
        others = self._others(apart)
        jobs = self._jobs()
        self._divide(jobs)
        capacity = self._capacity(jobs)
        jobs = self._within_capacity(jobs, capacity)
        self._note_contradictions(jobs, capacity)
        self._note(jobs)
        return Assembled(jobs, self._dropped(), others, self.notes, self.warnings, capacity)

    def _settle_states(self) -> None:
        """Spell states of tables as schedulers do: their first word in capitals."""
        states = self.rows.get("state")
        known = {state: str(state).partition(" ")[0].upper() for state in {*states} - {None}}
        states[:] = [known.get(state) for state in states]

    def _choose_clusters(self) -> None:
        """Take the jobs of some clusters; give each of several ids and nodes of its own."""
        rows = self.rows
        clusters = rows.get("cluster")
        there = sorted({str(name) for name in clusters[rows.usable] if name is not None})
        for name in self.clusters or ():
            if name not in there:
                raise UnknownName("cluster", name, there)
        if self.clusters is not None:
            other = np.array([name not in self.clusters for name in clusters], np.bool_)
            rows.refuse(other, "cluster", "of another cluster", fault=False)
            there = sorted(self.clusters)
        if len(there) < 2 or not self.layout.record:
            self._take_nodes(there)
            return
        for place in np.flatnonzero(rows.usable).tolist():
            name = clusters[place]
            if name is None:
                continue
            for column in ("id", "partition"):
                text = rows.get(column)[place]
                if text is not None:
                    rows.columns[column][place] = f"{name}/{text}"
            nodes = rows.columns["nodes"][place]
            rows.columns["nodes"][place] = tuple(f"{name}/{node}" for node in nodes)
        self.notes.append(
            f"{len(there)} clusters ({', '.join(there):.80}): ids, nodes and partitions are of "
            "their cluster, as east/n1; choose with clusters= (--cluster)"
        )
        self._take_nodes(there)

    def _take_nodes(self, clusters: list[str]) -> None:
        """Take the nodes of these clusters from the file of nodes."""
        if self.nodes is None:
            return
        nodes = self.nodes
        several = self.layout.record and len(clusters) > 1
        if "cluster" not in nodes:
            if several:
                raise OptionError(
                    f"no cluster is stated for the nodes: {' or '.join(clusters)}; "
                    "add a column cluster to them, or choose clusters= (--cluster)"
                )
            return
        if clusters:
            nodes = nodes[nodes["cluster"].isin(clusters)].reset_index(drop=True)
        if several:
            nodes["name"] = nodes["cluster"] + "/" + nodes["name"]
            nodes["partitions"] = [
                tuple(f"{cluster}/{name}" for name in names)
                for cluster, names in zip(nodes["cluster"], nodes["partitions"], strict=True)
            ]
        self.nodes = nodes.drop(columns="cluster")

    def _require_resource(self) -> None:
        """Refuse a file in which no job holds any of the resource."""
        rows = self.rows
        if np.nan_to_num(rows.columns["gpus"]).any() or not rows.usable.any():
            return
        column = self.fields["gpus"]
        unread = rows.fault & rows.columns["column"].astype(bool)
        if unread.any():
            place = int(np.argmax(unread))
            reason, column, remedy = rows.flaw(place)
            path = f"row {rows.columns['row'][place]}, {column}"
            remedy = remedy or "write it as gres/gpu=2 or gpu:a100:2"
            raise InstanceError(self.where, path, reason, remedy)
        name = NAMES[self.resource]
        remedy = f"name another resource: resource='cpu' (--resource cpu) counts {NAMES['cpu']}"
        if self.resource == "gpu":
            remedy += "; Slurm stores GPUs if AccountingStorageTRES has gres/gpu"
        else:
            remedy = f"export the column that has the {name}, or name another resource"
        path = f"row {rows.columns['row'][rows.usable][0]}, {column}"
        raise InstanceError(self.where, path, f"no job has {name}", remedy)

    def _set_apart(self) -> np.ndarray:
        """Leave out the jobs that hold nothing of the resource; return where they are."""
        rows = self.rows
        gpus = rows.columns["gpus"]
        column = self.fields["gpus"]
        for place, name in enumerate(rows.columns.pop("slices", ())):
            if name is not None:
                problem = "which are no whole ones: a history counts whole GPUs"
                rows.refuse_row(place, column, f"has slices of GPUs ({name}), {problem}")
        without = ~(np.nan_to_num(gpus) > 0) & rows.usable
        rows.refuse(without, column, f"without {NAMES[self.resource]}", fault=False)
        return np.flatnonzero(without)

    def _others(self, places: np.ndarray) -> pd.DataFrame:
        """Return what jobs without the resource held of the nodes' CPUs."""
        import pandas as pd

        columns = self.rows.columns
        there = np.array([bool(nodes) for nodes in columns["nodes"][places]], bool)
        cpus = self.rows.get("cpus")[places]
        kept = places[~np.isnan(columns["start"][places]) & (cpus > 0) & there]
        return pd.DataFrame({name: columns[name][kept] for name in OTHERS})

    def _jobs(self) -> pd.DataFrame:
        """Return the usable rows as jobs, in the order of submission."""
        import pandas as pd

        rows = self.rows
        kept = np.flatnonzero(rows.usable)
        order = np.lexsort((rows.columns["row"][kept], rows.columns["submit"][kept]))
        kept = kept[order]
        recorded = rows.columns["amounts"][kept]
        columns = {}
        for name in COLUMNS:
            # A million rows are not there twice: later only times and amounts are asked for.
            values = rows.get(name)[kept]
            if name not in ("row", "id", "gpus", *MOMENTS):
                del rows.columns[name]
            columns[name] = pd.Series(values, dtype=object if values.dtype == object else None)
        jobs = pd.DataFrame(columns)
        jobs["gpus"] = jobs["gpus"].astype(np.int64)
        known: dict[tuple[object, ...], tuple[tuple[str, int], ...]] = {}
        held = []
        sizes = self._sizes()
        if sizes is not None:  # then a pool is no node
            pooled = [any(name.startswith(f"{POOL} ") for name in n) for n in jobs["nodes"]]
            jobs.loc[pooled, "nodes"] = pd.Series(tuples([()] * sum(pooled)), dtype=object).array
            recorded[pooled] = tuples([()] * sum(pooled))
        for names, amounts, gpus in zip(jobs["nodes"], recorded, jobs["gpus"], strict=True):
            key = (names, amounts, gpus)
            if key not in known:
                pairs = tuple(zip(names, amounts, strict=False))
                known[key] = together(pairs or spread(names, int(gpus), sizes))
            held.append(known[key])
        again = sum(len(set(names)) < len(names) for names in jobs["nodes"])
        if again:
            self.notes.append(
                f"{counted(again, 'job')} with a node named more than once: it holds there what "
                "its entries hold together"
            )
        jobs["nodes"] = pd.Series(tuples(held), dtype=object)
        return jobs

    def _sizes(self) -> dict[str, int] | None:
        if self.nodes is None:
            return None
        return dict(zip(self.nodes["name"], self.nodes["gpus"].tolist(), strict=True))

    def _divide(self, jobs: pd.DataFrame) -> None:
        """Divide the amounts of jobs on several nodes, where an even division cannot be."""
        import pandas as pd

        held = jobs["nodes"].map(len)
        ran = jobs["start"].notna() & (held > 0)
        several = ran & (held > 1)
        uneven = several & (jobs["gpus"] % held.clip(lower=1) > 0)
        last = horizon_of(self.rows)
        sizes = self._sizes()
        full = sizes is not None and bool(overfull(jobs, sizes, last))
        if any(self.rows.columns["amounts"]):
            return
        if not several.any() or not (uneven.any() if sizes is None else full):
            return
        rows = jobs.loc[ran, ["start", "end", "gpus", "nodes"]]
        runs = [
            Run(start, end, gpus, tuple(name for name, _ in nodes))
            for start, end, gpus, nodes in zip(
                rows["start"].tolist(),
                rows["end"].fillna(last).tolist(),
                rows["gpus"].tolist(),
                rows["nodes"],
                strict=True,
            )
        ]
        parts = divide(runs, sizes)
        count = counted(int(several.sum()), "job")
        name = NAMES[self.resource]
        if parts is None:
            self.notes.append(
                f"{count} on several nodes, whose {name} are not recorded by node: divided evenly, "
                "what is over on the first ones"
            )
            return
        jobs.loc[ran, "nodes"] = pd.Series(tuples(parts), index=rows.index, dtype=object)
        self.notes.append(
            f"{count} on several nodes, whose {name} are not recorded by node: divided so that the "
            "nodes need to have least"
        )

    def _stated(self, nodes: pd.DataFrame, jobs: pd.DataFrame) -> Capacity:
        """Return the nodes of a file; if none has a partition, with those whose jobs ran there."""
        source = "the file of the nodes that was given"
        if not any(nodes["partitions"]):
            ran = peaks(jobs, horizon_of(self.rows))
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

    def _capacity(self, jobs: pd.DataFrame) -> Capacity:
        """Return the nodes, and give jobs without recorded nodes a place on a node of their own."""
        import pandas as pd

        if self.nodes is not None:
            return self._stated(self.nodes, jobs)
        placeless = jobs["start"].notna() & (jobs["nodes"].map(len) == 0)
        if placeless.any():
            held = jobs[placeless]
            places = [((POOL, int(gpus)),) for gpus in held["gpus"]]
            jobs.loc[placeless, "nodes"] = pd.Series(tuples(places), index=held.index, dtype=object)
        nodes = peaks(jobs, horizon_of(self.rows))
        source = "the peak of each node's recorded occupancy: there may have been more"
        if not placeless.any():
            return Capacity(nodes, source, True)
        if len(nodes) > 1:
            self.notes.append(
                f"{counted(int(placeless.sum()), 'job')} without recorded nodes: they have a node "
                f"{POOL!r} of their own"
            )
            return Capacity(nodes, source, True)
        stated, peak = self.source.capacity, int(nodes["gpus"].max()) if len(nodes) else 0
        if stated is not None and stated < peak:
            self.warnings.append(
                f"the record holds {peak:,} at once, the file's header has {stated:,}: the record "
                "counts"
            )
        whole = stated is not None and stated >= peak
        pool = {"name": [POOL], "gpus": [stated if whole else max(peak, int(held["gpus"].max()))]}
        frame = pd.DataFrame(pool | {"gpu_type": [None], "partitions": [()]})
        source = "the file's header" if whole else "the peak of the recorded occupancy: there may "
        return Capacity(frame, source + ("" if whole else "have been more"), not whole)

    def _within_capacity(self, jobs: pd.DataFrame, capacity: Capacity) -> pd.DataFrame:
        """Leave out the jobs that are larger than the cluster, or ran on nodes that it has not."""
        size = dict(zip(capacity.nodes["name"], capacity.nodes["gpus"], strict=True))
        name = NAMES[self.resource]
        total = capacity.total
        places = np.searchsorted(self.rows.columns["row"], jobs["row"].to_numpy()).tolist()
        fits = np.ones(len(jobs), np.bool_)
        checked: dict[object, str | None] = {}
        for i, (gpus, held) in enumerate(zip(jobs["gpus"].tolist(), jobs["nodes"], strict=True)):
            if held not in checked:
                checked[held] = _misfit(held, size, name)
            reason = checked[held]
            if gpus > total:
                reason = f"asks for {gpus:,} {name}, the cluster has {total:,}"
            if reason is not None:
                fits[i] = False
                self.rows.refuse_row(places[i], self.fields["gpus"], reason)
        if len(jobs) and not fits.any():
            cleaning.require_some(self.rows, self.where)
        return jobs[fits].reset_index(drop=True)

    def _note_contradictions(self, jobs: pd.DataFrame, capacity: Capacity) -> None:
        """Warn of jobs that cannot have held their nodes at the same time."""
        if capacity.measured:
            return
        size = dict(zip(capacity.nodes["name"], capacity.nodes["gpus"].tolist(), strict=True))
        found = overfull(jobs, size, horizon_of(self.rows))
        for node, most, ids in found[:SHOWN]:
            self.warnings.append(
                f"the record contradicts itself: jobs {' and '.join(ids[:4])} held {most:,} "
                f"{NAMES[self.resource]} on {node} at the same time, which has {size[node]:,}"
            )
        if len(found) > SHOWN:
            more = counted(len(found) - SHOWN, "more node")
            self.warnings.append(f"the record contradicts itself on {more}")

    def _note(self, jobs: pd.DataFrame) -> None:
        """Add the notes on the record as a whole."""
        rows = self.rows
        if not len(jobs):
            reasons = [reason for reason in rows.columns["reason"] if reason]
            why = f" ({reasons[0]})" if reasons else ""
            raise InstanceError(self.where, "", f"no job is left{why}", "export other jobs")
        if self.layout.slurm:
            self.notes += cleaning.strange_states(jobs["state"])
        if rows.skipped:
            self.warnings.append(
                f"{counted(rows.skipped, 'time')} that the clock of {self.zone.key} never showed: "
                "is the zone right?"
            )
        if self.layout.record and self.source.local and not self.zone_given:
            self.notes.append("no time zone given: times without one are taken as UTC")
        never = int(jobs["start"].isna().sum())
        if never:
            self.notes.append(f"{counted(never, 'job')} never started")
        instant = int((jobs["end"] == jobs["start"]).sum())
        if instant:
            self.notes.append(f"{counted(instant, 'job')} of 0 seconds: they hold nothing")
        self._note_dropped(jobs)

    def _note_dropped(self, jobs: pd.DataFrame) -> None:
        rows = self.rows
        kept = np.isin(rows.columns["row"], jobs["row"].to_numpy())
        faults = int(rows.fault.sum())
        others = int((~rows.usable & ~rows.fault).sum())
        if others:
            self.notes.append(f"{counted(others, 'row')} left out that are no jobs of this kind")
        if faults:
            share = cleaning.dropped_share(rows, kept)
            sentence = f"{counted(faults, 'row')} dropped with a fault, of {share:.1%} of the "
            sentence += f"{NAMES[self.resource][:-1]}-hours"
            target = self.warnings if share > MOST_DROPPED else self.notes
            target.append(sentence)

    def _dropped(self) -> pd.DataFrame:
        """Return the rows that are no jobs here."""
        import pandas as pd

        rows = self.rows
        places = np.flatnonzero(~rows.usable)
        flaws = [rows.flaw(place) for place in places.tolist()]
        faults = rows.fault[places].tolist()
        reasons = [
            f"{column}: {reason}" if column and fault else reason
            for (reason, column, _), fault in zip(flaws, faults, strict=True)
        ]
        return pd.DataFrame(
            {
                "row": rows.columns["row"][places],
                "id": pd.Series(rows.columns["id"][places], dtype=object),
                "reason": pd.Series(reasons, dtype=object),
            }
        )


def horizon_of(rows: Rows) -> float:
    """Return the latest moment of a record."""
    usable = rows.usable
    columns = rows.columns
    moments = [columns[name][usable] for name in MOMENTS]
    moments.append((columns["start"] + rows.get("elapsed"))[usable])
    return float(max(np.max(m[~np.isnan(m)], initial=-np.inf) for m in moments))


def _misfit(held: tuple[tuple[str, int], ...], size: dict[str, int], name: str) -> str | None:
    """Return why a job cannot have held something on some nodes."""
    for node, amount in held:
        if node not in size:
            return f"ran on {node}, which is not among the nodes"
        if amount > size[node]:
            return f"held {amount:,} {name} on {node}, which has {size[node]:,}"
    return None
