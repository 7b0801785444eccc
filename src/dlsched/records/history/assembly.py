"""The rows of a record become a history: rules applied in order, each with its note."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple
from zoneinfo import ZoneInfo

import numpy as np

from dlsched.errors import InstanceError
from dlsched.records.history import cleaning, daylight
from dlsched.records.history.capacity import POOL, Capacity, peaks, read_nodes, spread, together
from dlsched.records.history.division import Run, divide
from dlsched.records.history.fields import COLUMNS, MOMENTS
from dlsched.records.history.raw import Raw, Record, tuples
from dlsched.records.traces.record import counted

if TYPE_CHECKING:
    import pandas as pd

NAMES: Final = {"gpu": "GPUs", "cpu": "CPUs", "node": "nodes"}
"""What the resource is called in sentences."""
MOST_DROPPED: Final = 0.05
"""Share of the GPU-hours from which what was dropped is said at the head of a report."""


class Assembled(NamedTuple):
    """What a record says, in the order of `dlsched.records.history.history.History`."""

    jobs: pd.DataFrame
    dropped: pd.DataFrame
    notes: list[str]
    warnings: list[str]
    capacity: Capacity


class Assembly:
    """Makes a history of the rows of a record.

    Parameters
    ----------
    resource
        What jobs are counted in.
    nodes
        File or data frame of the cluster's nodes; None for the peak of the recorded occupancy.
    """

    def __init__(
        self,
        record: Record,
        where: str,
        resource: str,
        zone: ZoneInfo,
        zone_given: bool,
        nodes: str | Path | pd.DataFrame | None,
    ) -> None:
        self.record = record
        self.raw: Raw = record.raw
        self.where = where
        self.resource = resource
        self.zone = zone
        self.zone_given = zone_given
        self.nodes = None if nodes is None else read_nodes(nodes)
        self.notes: list[str] = []
        self.warnings: list[str] = []

    def run(self) -> Assembled:
        """Return the jobs and what was left out.

        Raises
        ------
        InstanceError
            If the file as a whole cannot be used.
        """
        record, raw = self.record, self.raw
        self._require_resource()
        self._refuse_without()
        self.notes += record.notes
        self.notes += daylight.resolve_repeated(raw)
        self.notes += daylight.apply_elapsed(raw, self.zone, self.zone_given, record.local)
        self.notes += cleaning.settle_starts(raw)
        cleaning.refuse_faults(raw, record.names)
        cleaning.require_some(raw, self.where)
        if "model" not in raw.columns:
            cleaning.require_whole(raw, self.where, record.names)
        self.notes += cleaning.settle_order(raw)
        self.notes += cleaning.refuse_repeated(raw)
        jobs = self._jobs()
        self._divide(jobs)
        capacity = self._capacity(jobs)
        jobs = self._within_capacity(jobs, capacity)
        self._note(jobs)
        return Assembled(jobs, self._dropped(), self.notes, self.warnings, capacity)

    def _require_resource(self) -> None:
        """Refuse a file in which no job holds any of the resource."""
        gpus = self.raw.columns["gpus"]
        if np.nan_to_num(gpus).any() or not self.raw.usable.any():
            return
        row = self.raw.columns["row"][self.raw.usable][0]
        name = NAMES[self.resource]
        remedy = f"name another resource: resource='cpu' (--resource cpu) counts {NAMES['cpu']}"
        if self.resource == "gpu":
            remedy += "; Slurm stores GPUs if AccountingStorageTRES has gres/gpu"
        else:
            remedy = f"export the column that has the {name}, or name another resource"
        raise InstanceError(
            self.where, f"row {row}, {self.record.names['gpus']}", f"no job has {name}", remedy
        )

    def _refuse_without(self) -> None:
        """Leave out the jobs that hold nothing of the resource."""
        without = ~(np.nan_to_num(self.raw.columns["gpus"]) > 0)
        reason = f"without {NAMES[self.resource]}"
        self.raw.refuse(without, self.record.names["gpus"], reason, fault=False)

    def _jobs(self) -> pd.DataFrame:
        """Return the usable rows as jobs, in the order of submission."""
        import pandas as pd

        raw = self.raw
        kept = np.flatnonzero(raw.usable)
        order = np.lexsort((raw.columns["row"][kept], raw.columns["submit"][kept]))
        kept = kept[order]
        columns = {}
        for name in COLUMNS:
            values = raw.columns[name][kept]
            columns[name] = pd.Series(values, dtype=object if values.dtype == object else None)
        jobs = pd.DataFrame(columns)
        jobs["gpus"] = jobs["gpus"].astype(np.int64)
        known: dict[tuple[object, ...], tuple[tuple[str, int], ...]] = {}
        held = []
        recorded = raw.columns["amounts"][kept]
        for names, amounts, gpus in zip(jobs["nodes"], recorded, jobs["gpus"], strict=True):
            key = (names, amounts, gpus)
            if key not in known:
                pairs = tuple(zip(names, amounts, strict=False))
                known[key] = together(pairs or spread(names, int(gpus)))
            held.append(known[key])
        again = sum(len(set(names)) < len(names) for names in jobs["nodes"])
        if again:
            self.notes.append(
                f"{counted(again, 'job')} with a node named more than once: it holds there what "
                "its entries hold together"
            )
        jobs["nodes"] = pd.Series(tuples(held), dtype=object)
        return jobs

    def _divide(self, jobs: pd.DataFrame) -> None:
        """Divide the amounts of jobs on several nodes, where an even division cannot be."""
        import pandas as pd

        held = jobs["nodes"].map(len)
        ran = jobs["start"].notna() & (held > 0)
        several = ran & (held > 1)
        uneven = several & (jobs["gpus"] % held.clip(lower=1) > 0)
        last = horizon_of(self.raw)
        sizes = None
        if self.nodes is not None:
            sizes = dict(zip(self.nodes["name"], self.nodes["gpus"], strict=True))
            most = peaks(jobs[ran], last)
            known = most["name"].map(sizes).fillna(0)
            overfull = bool((most["gpus"] > known).any())
        if any(self.raw.columns["amounts"]):
            return
        if not several.any() or not (uneven.any() if sizes is None else overfull):
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
            ran = peaks(jobs, horizon_of(self.raw))
            seen = dict(zip(ran["name"], ran["partitions"], strict=True))
            nodes = nodes.assign(partitions=[seen.get(name, ()) for name in nodes["name"]])
            if any(nodes["partitions"]):
                source += "; it names no partitions: a node is in those whose jobs ran on it"
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
        nodes = peaks(jobs, horizon_of(self.raw))
        source = "the peak of each node's recorded occupancy: there may have been more"
        if not placeless.any():
            return Capacity(nodes, source, True)
        if len(nodes) > 1:
            self.notes.append(
                f"{counted(int(placeless.sum()), 'job')} without recorded nodes: they have a node "
                f"{POOL!r} of their own"
            )
            return Capacity(nodes, source, True)
        stated, peak = self.record.capacity, int(nodes["gpus"].max()) if len(nodes) else 0
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
        places = np.searchsorted(self.raw.columns["row"], jobs["row"].to_numpy()).tolist()
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
                self.raw.refuse_row(places[i], self.record.names["gpus"], reason)
        if len(jobs) and not fits.any():
            cleaning.require_some(self.raw, self.where)
        return jobs[fits].reset_index(drop=True)

    def _note(self, jobs: pd.DataFrame) -> None:
        """Add the notes on the record as a whole."""
        raw = self.raw
        if not len(jobs):
            reasons = [reason for reason in raw.reason if reason]
            why = f" ({reasons[0]})" if reasons else ""
            raise InstanceError(self.where, "", f"no job is left{why}", "export other jobs")
        if self.record.slurm:
            self.notes += cleaning.strange_states(jobs["state"])
        if raw.moved:
            self.warnings.append(
                f"{counted(raw.moved, 'time')} that the clock of {self.zone.key} never showed: is "
                "the zone right?"
            )
        if self.record.local and not self.zone_given:
            self.notes.append("no time zone given: times without one are taken as UTC")
        never = int(jobs["start"].isna().sum())
        if never:
            self.notes.append(f"{counted(never, 'job')} never started")
        instant = int((jobs["end"] == jobs["start"]).sum())
        if instant:
            self.notes.append(f"{counted(instant, 'job')} of 0 seconds: they hold nothing")
        for kind, count in raw.skipped.items():
            self.notes.append(f"{counted(count, kind)} skipped")
        self._note_dropped(jobs)

    def _note_dropped(self, jobs: pd.DataFrame) -> None:
        raw = self.raw
        kept = np.isin(raw.columns["row"], jobs["row"].to_numpy())
        faults = int(raw.fault.sum())
        others = int((~raw.usable & ~raw.fault).sum())
        if others:
            self.notes.append(f"{counted(others, 'row')} left out that are no jobs of this kind")
        if faults:
            share = cleaning.dropped_share(raw, kept)
            sentence = f"{counted(faults, 'row')} dropped with a fault, of {share:.1%} of the "
            sentence += f"{NAMES[self.resource][:-1]}-hours"
            target = self.warnings if share > MOST_DROPPED else self.notes
            target.append(sentence)

    def _dropped(self) -> pd.DataFrame:
        """Return the rows that are no jobs here."""
        import pandas as pd

        raw = self.raw
        places = np.flatnonzero(~raw.usable)
        reasons = [
            f"{raw.column[i]}: {raw.reason[i]}" if raw.column[i] and raw.fault[i] else raw.reason[i]
            for i in places
        ]
        return pd.DataFrame(
            {
                "row": raw.columns["row"][places],
                "id": pd.Series(raw.columns["id"][places], dtype=object),
                "reason": pd.Series(reasons, dtype=object),
            }
        )


def horizon_of(raw: Raw) -> float:
    """Return the latest moment of a record."""
    usable = raw.usable
    columns = raw.columns
    moments = [columns[name][usable] for name in MOMENTS]
    moments.append((columns["start"] + columns["elapsed"])[usable])
    return float(max(np.max(m[~np.isnan(m)], initial=-np.inf) for m in moments))


def _misfit(held: tuple[tuple[str, int], ...], size: dict[str, int], name: str) -> str | None:
    """Return why a job cannot have held something on some nodes."""
    for node, amount in held:
        if node not in size:
            return f"ran on {node}, which is not among the nodes"
        if amount > size[node]:
            return f"held {amount:,} {name} on {node}, which has {size[node]:,}"
    return None
