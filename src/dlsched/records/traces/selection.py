"""Which rows of a record are jobs of a trace, and what is left out, counted."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final, NoReturn

import numpy as np
from pydantic import ValidationError

from dlsched.errors import InstanceError, OptionError, UnknownName, spelled
from dlsched.records.readers.columns import ColumnsLike
from dlsched.records.readers.format import Source, TraceFormat
from dlsched.records.readers.formats.tables import EMPTY
from dlsched.records.readers.opening import Opened, open_source
from dlsched.records.readers.rows import Rows
from dlsched.records.readers.settle import settle_starts
from dlsched.records.readers.values import Flags, Floats, Texts, counted, to_micro
from dlsched.records.traces import plausibility
from dlsched.records.traces.job import TraceJob
from dlsched.schema.flaws import brief, flaw_of
from dlsched.schema.quantities import Number

if TYPE_CHECKING:
    import pandas as pd

FRACTIONS: Final = ("up", "total", "drop")
"""What becomes of a worker that asks for a part of a GPU; see `dlsched.records.read_trace`."""
MISSING: Final = ("error", "drop")
"""What becomes of a row of a table that lacks what is needed."""
BACKWARDS_SHARE: Final = 0.01
"""Largest share of jobs that may end before they start: clocks are set back, and are wrong."""
UNKNOWN_SHARE: Final = 0.5
"""Largest share of jobs whose state may be none that the format documents."""
_BACKWARDS: Final = "ending before they start"
LACKING: Final = {
    "without an id": "id",
    "without a number of GPUs": "gpus",
    "without a submission": "submit",
    "without a start": "start",
    "without an end": "end",
    "without a duration": "duration",
}
"""Why a row is no complete job, and the field that it lacks."""


@dataclass(slots=True)
class Choice:
    """The jobs that `read_trace` is asked for, and the states and clusters it has met so far.

    Attributes
    ----------
    states, clusters, min_gpus, fractional, missing, plausibility, limit
        As in `dlsched.records.read_trace`.
    seconds
        By model, seconds of an iteration, or of a job of which no iterations are recorded.
    """

    states: Collection[str] | None = None
    clusters: Collection[str] | None = None
    min_gpus: int = 0
    fractional: str = "up"
    missing: str = "error"
    plausibility: bool = True
    seconds: Mapping[str, float] = field(default_factory=dict)
    limit: int | None = None
    met_states: Counter[str | None] = field(default_factory=Counter)
    met_clusters: Counter[str | None] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        """Refuse options with values that they cannot take."""
        self.states = names_of("states", self.states)
        self.clusters = names_of("clusters", self.clusters)
        if self.fractional not in FRACTIONS:
            raise UnknownName("rule for fractional GPUs", self.fractional, FRACTIONS)
        if self.missing not in MISSING:
            raise UnknownName("rule for what is missing", self.missing, MISSING)
        for name, number, least in (("min_gpus", self.min_gpus, 0), ("limit", self.limit, 1)):
            if number is not None and number < least:
                raise OptionError(f"{name}={number} must be at least {least}")

    def takes(self, states: Texts, clusters: Texts) -> Flags:
        """Return which jobs of some states and clusters are taken."""
        self.met_states.update(states.tolist())
        self.met_clusters.update(clusters.tolist())
        taken = np.ones(len(states), np.bool_)
        for wanted, values in ((self.states, states), (self.clusters, clusters)):
            if wanted is not None:
                taken &= np.array([value in wanted for value in values], np.bool_)
        return taken

    def validate(self, states: Sequence[str]) -> None:
        """Raise if a state or a cluster was asked for that no job had, nor the format knows."""
        known = {*states, *filter(None, self.met_states)}
        for name in self.states or ():
            if name not in known:
                raise UnknownName("state of a job", name, known)
        there = set(filter(None, self.met_clusters))
        for name in self.clusters or ():
            if name not in there:
                raise UnknownName("cluster", name, there)


def names_of(option: str, given: str | Collection[str] | None) -> frozenset[str] | None:
    """Return one name or several as a set; None for all."""
    if given is None:
        return None
    names = frozenset([given] if isinstance(given, str) else given)
    if not names or not all(isinstance(name, str) and name for name in names):
        raise OptionError(f"{option}={spelled(given)} must be a name or several; or leave it out")
    return names


class Selection:
    """Turns rows into jobs and counts what it leaves out.

    Attributes
    ----------
    omitted
        How many jobs were left out, by reason.
    jobs
        The jobs so far.
    """

    def __init__(self, layout: TraceFormat, source: Source, choice: Choice) -> None:
        self.layout = layout
        self.source = source
        self.choice = choice
        self.omitted: Counter[str] = Counter()
        self.taken = self.not_chosen = self.fractional = self.repeated = self.renamed = 0
        self.rounded = 0
        self.jobs: list[TraceJob] = []
        self._backwards: str | None = None
        self._places: dict[str, tuple[int, str]] = {}

    @property
    def is_full(self) -> bool:
        """Whether as many jobs are there as are wanted."""
        return self.choice.limit is not None and len(self.jobs) >= self.choice.limit

    @property
    def names(self) -> dict[str, str]:
        """What the file calls the fields, for errors."""
        names = {name: name for name in TraceJob.model_fields} | self.source.fields
        if "duration" not in self.source.fields:
            names["duration"] = names.get("end", "duration")
        return names

    def add(self, rows: Rows) -> None:
        """Take the jobs of some rows that are chosen and complete."""
        self._settle_faults(rows)
        kept = rows.usable & self.choice.takes(rows.get("state"), rows.get("cluster"))
        self.not_chosen += int((rows.usable & ~kept).sum())
        if self.layout.record:
            self.source.notes += settle_starts(rows, self.layout.slurm)
        self.rounded += rows.rounded
        duration = self._durations(rows)
        gpus, shares = self._gpus(rows)
        reasons = self._reasons(rows, duration)
        if self.layout.strict:
            self._require(rows, duration, kept, reasons)
        for place in np.flatnonzero(kept).tolist():
            self.taken += 1
            reason = reasons[place]
            if reason is None and shares[place]:
                self.fractional += 1
                if self.choice.fractional == "drop":
                    reason = "asking for a fraction of a GPU"
            if reason is None and gpus[place] < self.choice.min_gpus:
                least = self.choice.min_gpus
                reason = "without GPUs" if least == 1 else f"with fewer than {least} GPUs"
            if reason is None:
                self._add(rows, place, int(gpus[place]), duration[place])
            else:
                self.omitted[reason] += 1
                if reason == _BACKWARDS and self._backwards is None:
                    self._backwards = self.row(rows, place)
            if self.is_full:
                return

    def row(self, rows: Rows, place: int) -> str:
        """Return what a row is called in errors."""
        number = int(rows.columns["row"][place])
        if self.source.frame is not None:
            return f"row {brief(str(self.source.frame.index[number - 1]))}"
        return f"{self.layout.unit} {number}"

    def _raise(self, rows: Rows, place: int, column: str, problem: str, remedy: str) -> NoReturn:
        path = ", ".join(filter(None, (self.row(rows, place), column)))
        raise InstanceError(self.source.where, path, problem, remedy)

    def _settle_faults(self, rows: Rows) -> None:
        """Raise the first fault; of a scheduler's record, count the faults."""
        places = np.flatnonzero(rows.fault).tolist()
        if places and self.layout.record and not self.layout.strict:
            self.omitted["that cannot be read"] += len(places)
            self.taken += len(places)
        elif places:
            place = places[0]
            remedy = rows.remedies.get(place, "correct it, or leave the row out")
            self._raise(rows, place, rows.column[place], rows.reason[place], remedy)

    def _durations(self, rows: Rows) -> Floats:
        """Return for how long each job ran: as recorded, or from its start to its end."""
        span, _ = to_micro(rows.columns["end"] - rows.columns["start"])
        if self.layout.slurm:
            return span
        duration = np.where(np.isnan(rows.get("elapsed")), span, rows.get("elapsed"))
        seconds = self.choice.seconds
        if not seconds:
            return duration
        each = np.array([float(seconds.get(str(m), np.nan)) for m in rows.get("model")])
        steps = rows.get("iterations")
        known, _ = to_micro(each * np.where(np.isnan(steps), 1, steps))
        return np.where(np.isnan(duration), known, duration)

    def _gpus(self, rows: Rows) -> tuple[Floats, Flags]:
        """Return the GPUs of each job by the rule for shares, and which jobs have shares."""
        gpus: Floats = rows.columns["gpus"]
        share: Floats = rows.get("share")
        sliced = np.array([name is not None for name in rows.get("slices")], bool)
        shares = (share % 1 > 0) | (~np.isnan(share) & sliced)
        if self.choice.fractional == "total":
            gpus = np.where(shares, np.ceil(np.round(share, 9)), gpus)
        return gpus, shares

    def _reasons(self, rows: Rows, duration: Floats) -> Texts:
        """Return why a job cannot be taken, whatever its GPUs are; None if it can be."""
        columns = rows.columns
        reasons: Texts = np.full(rows.size, None, object)
        reasons[duration < 0] = _BACKWARDS
        reasons[np.isnan(columns["submit"])] = "without a submission"
        unknown = np.isnan(duration)
        reasons[unknown] = "without an end"
        reasons[unknown & np.isnan(columns["start"])] = "without a start"
        if not {"start", "end"} & self.source.fields.keys():
            reasons[unknown] = "without a duration"
        stated = rows.get("unknown")
        given = unknown & np.array([text is not None for text in stated], bool)
        reasons[given] = stated[given]
        if self.layout.strict:
            reasons[np.isnan(columns["gpus"])] = "without a number of GPUs"
            reasons[np.array([name is None for name in columns["id"]], bool)] = "without an id"
        return reasons

    def _require(self, rows: Rows, duration: Floats, kept: Flags, reasons: Texts) -> None:
        """Refuse the first row of a table that is no complete job, unless such rows are counted."""
        names = self.names
        for place in np.flatnonzero(kept).tolist():
            reason = reasons[place]
            if reason is None:
                continue
            if reason == _BACKWARDS:
                start, end = (names.get(name, name) for name in ("start", "end"))
                problem = f"the job ends {-duration[place]:g} s before it starts"
                remedy = f"see whether {start} and {end} are the right columns"
                self._raise(rows, place, end, problem, remedy)
            recorded = {"duration", "end"} & self.source.fields.keys() or reason not in LACKING
            if self.choice.missing == "error" and recorded:
                field = LACKING[reason]
                self._raise(rows, place, self.source.fields.get(field, names["duration"]), *EMPTY)

    def _add(self, rows: Rows, place: int, gpus: int, length: float) -> None:
        columns = rows.columns
        submit, duration = exact(columns["submit"][place]), exact(length)
        if self.choice.plausibility:
            finding = plausibility.in_job(gpus, submit, duration)
            if finding is not None:
                row = self.row(rows, place)
                plausibility.refuse(finding, self.source.where, self.names, row)
        known = columns["id"][place]
        if self.layout.strict and known in self._places:
            problem = f'the id "{known}" is already used in {self._places[known][1]}'
            self._raise(rows, place, self.names["id"], problem, "give every job its own id")
        name = self._new_name(known, (gpus, submit, duration))
        if name is None:
            self.repeated += 1
            return
        self.renamed += name != known
        data = {"id": name, "gpus": gpus, "submit": submit, "duration": duration}
        for target, make in FIELDS.items():
            if target in columns and (value := make(columns[target][place])) is not None:
                data[target] = value
        data["nodes"] = _nodes(columns["nodes"][place], columns["amounts"][place], gpus)
        try:
            job = TraceJob.model_validate(data)
        except ValidationError as error:
            (key, *_), cause = flaw_of(error)
            flaw = ("cannot be used", "correct it, or leave it out")
            flaw = flaw if cause is None else (cause.problem, cause.remedy)
            self._raise(rows, place, self.names.get(str(key), str(key)), *flaw)
        self._places[name] = len(self.jobs), self.row(rows, place) if self.layout.strict else ""
        self.jobs.append(job)

    def _new_name(self, known: str, essence: tuple[Number, ...]) -> str | None:
        """Return an id that is not used yet; None if the very same job is there already."""
        name = known
        numbers = itertools.count(2)
        while name in self._places:
            job = self.jobs[self._places[name][0]]
            if (job.gpus, job.submit, job.duration) == essence:
                return None
            name = f"{known}#{next(numbers)}"
        return name

    def finish(self) -> list[TraceJob]:
        """Return the jobs of all rows; raise if a column is wrong as a whole, or an option is."""
        self.choice.validate(self.layout.states)
        if self.choice.plausibility:
            where = self.source.where
            names = self.names | {"state": "state"}
            plausibility.refuse(self._wrong_shares(), where, names, self._backwards)
            if self.jobs:
                plausibility.refuse(plausibility.in_jobs(self.jobs), where, self.names)
        return self.jobs

    def _wrong_shares(self) -> plausibility.Finding | None:
        """Return what is wrong if too many jobs end before they start, or have unknown states."""
        backwards, taken = self.omitted[_BACKWARDS], counted(self.taken, "job")
        if backwards > BACKWARDS_SHARE * self.taken:
            problem = f"the job ends before it starts, one of {backwards:,} in {taken}"
            return "duration", problem, "see whether the columns of the times are right"
        strange = self._strange()
        met, odd = self.choice.met_states.total(), sum(strange.values())
        if odd <= UNKNOWN_SHARE * met:
            return None
        names = ", ".join(sorted(strange)[:4])
        problem = f"{odd:,} of {counted(met, 'job')} have unknown states, as {names:.60}"
        return "state", problem, f"there are: {', '.join(self.layout.states)}"

    def notes(self) -> Iterator[str]:
        """Yield what was left out, renamed or rounded, with counts."""
        if self.not_chosen:
            everything = counted(self.taken + self.not_chosen, "job")
            yield f"{self.taken:,} of {everything} chosen by state or cluster"
        if self.omitted.total():
            reasons = ", ".join(f"{count:,} {why}" for why, count in self.omitted.most_common())
            yield f"{self.omitted.total():,} of {counted(self.taken, 'job')} left out: {reasons}"
        if self.repeated:
            yield f"{counted(self.repeated, 'repeated row')} left out"
        if self.renamed:
            more = counted(self.renamed, "more run")
            yield f"{more} of an id already used: id#2, id#3, and so on"
        if self.fractional and self.choice.fractional != "drop":
            rule = {
                "up": "each worker's share is rounded up to whole GPUs (fractional='up')",
                "total": "the sum of a job's shares is rounded up (fractional='total')",
            }[self.choice.fractional]
            yield f"{counted(self.fractional, 'job')} with a fraction of a GPU: {rule}"
        if self.rounded:
            yield rounded_note(self.rounded)
        strange = self._strange()
        if strange:
            some = ", ".join(f"{state[:30]} ({count:,})" for state, count in strange.items())
            yield f"states that the trace's documentation does not list: {some:.200}"

    def _strange(self) -> dict[str, int]:
        """Return how many jobs have a state that the format does not document."""
        known = self.layout.states
        met = self.choice.met_states.items() if known else ()
        return {state: number for state, number in met if state and state not in known}


def select(opened: Opened, choice: Choice) -> tuple[tuple[TraceJob, ...], tuple[str, ...]]:
    """Return the jobs of a source that are chosen, and the notes."""
    source, layout = opened.source, opened.layout
    named = {column.field for column in source.columns}
    for option in ("states", "clusters"):
        field = option.removesuffix("s")
        if getattr(choice, option) is not None and opened.format == "csv" and field not in named:
            raise OptionError(f"{option} needs columns[{field!r}]; name the column that holds it")
    if choice.clusters is not None and layout.cluster is None:
        raise OptionError(f"{layout.title}, records no clusters; leave clusters out")
    if choice.seconds:
        source.needs_durations = False
    selection = Selection(layout, source, choice)
    for rows in layout.read(source):
        selection.add(rows)
        if selection.is_full:
            break
    jobs = tuple(selection.finish())
    notes = (*selection.notes(), *source.notes)
    if not jobs:
        raise _empty(opened, notes, choice)
    return jobs, notes


def frame_jobs(
    frame: pd.DataFrame, columns: ColumnsLike | None, where: str, plausibility: bool
) -> tuple[tuple[TraceJob, ...], tuple[str, ...]]:
    """Return the jobs of a data frame, one per row, and the notes; see `Trace.from_frame`."""
    if not hasattr(frame, "columns") or not hasattr(frame, "itertuples"):
        raise OptionError(f"{type(frame).__name__} is no data frame; pass a pandas DataFrame")
    opened = open_source(frame, "csv", columns, None)
    opened.source.where = where
    return select(opened, Choice(plausibility=plausibility))


def _empty(opened: Opened, notes: Sequence[str], choice: Choice) -> InstanceError:
    source = opened.source
    if not choice.met_states.total():
        place, remedy = "row 2", "write one row per job"
        if source.frame is not None or opened.layout.unit != "row":
            place, remedy = (
                "",
                "give at least one row" if source.frame is not None else "list a job",
            )
        return InstanceError(source.where, place, "there is no job", remedy)
    problem = "no job is left" + (f" ({notes[0]})" if notes else "")
    remedy = "choose other states, clusters, or fewer min_gpus"
    if notes and "without a duration" in notes[0] and not choice.seconds:
        remedy = "give the seconds of each model: seconds={'resnet': 0.2} (--seconds resnet=0.2)"
    return InstanceError(source.where, "", problem, remedy)


def rounded_note(number: int) -> str:
    """Return the note on times that have more digits than are kept."""
    return f"{counted(number, 'time')} with more than six decimals: rounded to microseconds"


def exact(value: float) -> Number:
    """Return the number that a double was read from."""
    whole = int(value) if math.isfinite(value) else 0
    return whole if whole == value else Fraction(repr(float(value)))


def _number(value: float) -> Number | None:
    return exact(value) if math.isfinite(value) else None


FIELDS: Final[dict[str, Callable[[Any], Any]]] = {
    **dict.fromkeys(("eligible", "start", "limit", "interval", "iteration_time"), _number),
    **dict.fromkeys(("iterations", "batch_size", "priority", "cpus", "memory"), _number),
    **dict.fromkeys(
        ("user", "account", "partition", "gpu_type", "model", "state", "qos"), lambda text: text
    ),
    "features": lambda text: None if text is None else tuple(text.split("&")),
    "stages": lambda values: tuple(exact(value) for value in values),
}
"""The further fields of a job, and what makes them of the column of the same name."""


def _nodes(names: Sequence[str], amounts: Sequence[int], gpus: int) -> tuple[tuple[str, int], ...]:
    """Return what a job held on each node, where that is known."""
    if len(names) == 1 and not amounts and gpus:
        return ((names[0], gpus),)
    return tuple(zip(names, amounts, strict=True)) if amounts else ()
