"""Which rows of a record are jobs of a trace, and what is left out, counted."""

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Final, NoReturn

import numpy as np
from pydantic import ValidationError

from dlsched.errors import InstanceError, OptionError, UnknownName, spelled
from dlsched.records import plausibility
from dlsched.records.cleaning import (
    name_by_cluster,
    refuse_repeated,
    rounded_note,
    settle_starts,
)
from dlsched.records.job import TraceJob
from dlsched.records.readers.filler import EMPTY
from dlsched.records.readers.format import Source, TraceFormat
from dlsched.records.readers.rows import Rows, is_known, join
from dlsched.records.readers.values import Floats, Ints, Texts, counted, to_micro
from dlsched.schema.flaws import brief, flaw_of
from dlsched.schema.quantities import Number

FRACTIONS: Final = {
    "up": "each worker's share is rounded up to whole GPUs (fractional='up')",
    "total": "the sum of a job's shares is rounded up (fractional='total')",
    "drop": "",
}
"""What becomes of a worker that asks for a part of a GPU, and the note on it."""
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


@dataclass(frozen=True)
class Choice:
    """The jobs that `dlsched.records.read_trace` is asked for, by the names of its options."""

    states: Collection[str] | None = None
    clusters: Collection[str] | None = None
    min_gpus: int = 0
    fractional: str = "up"
    missing: str = "error"
    plausibility: bool = True
    seconds: Mapping[str, float] = field(default_factory=dict)
    limit: int | None = None

    def __post_init__(self) -> None:
        """Refuse options with values that they cannot take."""
        for name in ("states", "clusters"):
            object.__setattr__(self, name, names_of(name, getattr(self, name)))
        if self.fractional not in FRACTIONS:
            raise UnknownName("rule for fractional GPUs", self.fractional, FRACTIONS)
        if self.missing not in MISSING:
            raise UnknownName("rule for what is missing", self.missing, MISSING)
        for name, number, least in (("min_gpus", self.min_gpus, 0), ("limit", self.limit, 1)):
            if number is not None and number < least:
                raise OptionError(f"{name}={number} must be at least {least}")


def names_of(option: str, given: str | Collection[str] | None) -> frozenset[str] | None:
    """Return one name or several as a set; None for all."""
    if given is None:
        return None
    names = frozenset([given] if isinstance(given, str) else given)
    if not names or not all(isinstance(name, str) and name for name in names):
        raise OptionError(f"{option}={spelled(given)} must be a name or several; or leave it out")
    return names


def select(source: Source, choice: Choice) -> tuple[tuple[TraceJob, ...], tuple[str, ...]]:
    """Return the jobs of a source that are chosen, and the notes."""
    layout = source.layout
    named = {column.field for column in source.columns}
    for option in ("states", "clusters"):
        column = option.removesuffix("s")
        if getattr(choice, option) is not None and source.format == "csv" and column not in named:
            raise OptionError(f"{option} needs columns[{column!r}]; name the column that holds it")
    if choice.clusters is not None and layout.cluster is None:
        raise OptionError(f"{layout.title}, records no clusters; leave clusters out")
    if choice.seconds:
        source.needs_durations = False
    parts: list[Rows] = []
    ids: set[str] = set()
    for rows in layout.read(source):
        parts.append(rows)
        _judge(rows, source, choice)
        if choice.limit is not None:
            ids.update(rows.columns["id"][rows.columns["taken"]].tolist())
            if len(ids) >= choice.limit:
                break
    joined = join(parts)
    if not parts:
        _judge(joined, source, choice)
    return Projection(joined, source, choice).run()


def _judge(rows: Rows, source: Source, choice: Choice) -> None:
    """Add columns: ``chosen``, ``why`` a chosen row is left out, ``taken``, ``duration``.

    ``parted`` is whether a job has a fraction of a GPU.
    """
    columns, layout = rows.columns, source.layout
    chosen = rows.usable.copy()
    for wanted, name in ((choice.states, "state"), (choice.clusters, "cluster")):
        if wanted is not None:
            chosen &= np.array([value in wanted for value in rows.get(name)], np.bool_)
    if layout.record:
        source.notes += settle_starts(rows, layout.slurm)
    duration = columns["duration"] = _durations(rows, layout, choice.seconds)
    share = rows.get("share")
    parted = (share % 1 > 0) | (~np.isnan(share) & is_known(rows.get("slices")))
    if choice.fractional == "total":
        columns["gpus"] = np.where(parted, np.ceil(np.round(share, 9)), columns["gpus"])
    few = "without GPUs" if choice.min_gpus == 1 else f"with fewer than {choice.min_gpus} GPUs"
    stated, unknown = rows.get("unknown"), np.isnan(duration)
    spans = {"start", "end"} & source.fields.keys()
    why: Texts = np.full(rows.size, None, object)
    for where, reason in (  # the last one counts
        (columns["gpus"] < choice.min_gpus, few),
        (parted & (choice.fractional == "drop"), "asking for a fraction of a GPU"),
        (duration < 0, _BACKWARDS),
        (np.isnan(columns["submit"]), "without a submission"),
        (unknown, "without an end" if spans else "without a duration"),
        (unknown & np.isnan(columns["start"]) & bool(spans), "without a start"),
        (layout.strict & np.isnan(columns["gpus"]), "without a number of GPUs"),
        (layout.strict & ~is_known(columns["id"]), "without an id"),
    ):
        why[where] = reason
    why = np.where(unknown & is_known(stated), stated, why)
    if layout.record and not layout.strict:
        chosen |= rows.fault
        why[rows.fault] = "that cannot be read"
    columns |= {"chosen": chosen, "why": why, "parted": parted, "taken": chosen & ~is_known(why)}


def _durations(rows: Rows, layout: TraceFormat, seconds: Mapping[str, float]) -> Floats:
    """Return for how long each job ran: as recorded, or from its start to its end."""
    span, _ = to_micro(rows.columns["end"] - rows.columns["start"])
    if layout.slurm:
        return span
    duration = np.where(np.isnan(rows.get("elapsed")), span, rows.get("elapsed"))
    each = np.array([float(seconds.get(str(m), np.nan)) for m in rows.get("model")])
    steps = rows.get("iterations")
    known, _ = to_micro(each * np.where(np.isnan(steps), 1, steps))
    return np.where(np.isnan(duration), known, duration)


class Projection:
    """Turns the rows of a record into the jobs of a trace, and counts what it leaves out."""

    def __init__(self, rows: Rows, source: Source, choice: Choice) -> None:
        self.rows = rows
        self.layout = source.layout
        self.source = source
        self.choice = choice
        self.where = source.where
        self.names = {name: name for name in TraceJob.model_fields} | source.fields
        if "duration" not in source.fields:
            self.names["duration"] = self.names.get("end", "duration")
        self.states = Counter(rows.get("state")[rows.usable].tolist())
        known = source.layout.states
        self.strange = {s: n for s, n in self.states.items() if known and s and s not in known}

    def run(self) -> tuple[tuple[TraceJob, ...], tuple[str, ...]]:
        """Return the jobs and the notes."""
        self._refuse_faults()
        self._validate()
        runs = self._settle_ids()
        columns, limit = self.rows.columns, self.choice.limit
        places: Ints = np.flatnonzero(columns["taken"])[:limit]
        if limit is not None and len(places) == limit:
            # What comes after the last job that is taken counts for nothing.
            self.rows = self.rows.head(int(places[-1]) + 1)
            columns = self.rows.columns
        why = columns["why"][columns["chosen"]]
        omitted = Counter(why[is_known(why)].tolist())
        self._refuse_lacking()
        if self.choice.plausibility:
            self._refuse_implausible(places, omitted[_BACKWARDS])
        jobs = self._jobs(places)
        notes = (*self._notes(omitted, *runs), *self.source.notes)
        if not jobs:
            raise self._empty(notes)
        return jobs, notes

    def row(self, place: int) -> str:
        """Return what a row is called in errors."""
        number = int(self.rows.columns["row"][place])
        if self.source.frame is not None:
            return f"row {brief(str(self.source.frame.index[number - 1]))}"
        return f"{self.layout.unit} {number}"

    def _raise(self, place: int, column: str, problem: str, remedy: str) -> NoReturn:
        path = ", ".join(filter(None, (self.row(place), column)))
        raise InstanceError(self.where, path, problem, remedy)

    def _refuse_faults(self) -> None:
        """Raise the first fault; those of a scheduler's record are counted."""
        fault = self.rows.fault
        if fault.any() and not (self.layout.record and not self.layout.strict):
            place = int(np.argmax(fault))
            reason, column, remedy = self.rows.flaw(place)
            self._raise(place, column, reason, remedy or "correct it, or leave the row out")

    def _validate(self) -> None:
        """Raise if a state or a cluster was asked for that no job had, nor the format knows."""
        there = self.rows.get("cluster")[self.rows.usable]
        for wanted, names, noun in (
            (self.choice.states, {*self.layout.states, *self.states}, "state of a job"),
            (self.choice.clusters, {*there}, "cluster"),
        ):
            for name in wanted or ():
                if name not in names:
                    raise UnknownName(noun, name, filter(None, names))

    def _settle_ids(self) -> tuple[int, int]:
        """Give each job an id of its own; return how many rows are repeated, and further runs."""
        columns = self.rows.columns
        if self.layout.record and len({*self.rows.get("cluster")[columns["taken"]]} - {None}) > 1:
            self.source.notes.append(name_by_cluster(self.rows, columns["taken"]))
        if not self.layout.strict:
            again, more = refuse_repeated(self.rows, columns["taken"], ("gpus", "duration"))
            columns["taken"] &= ~again
            return int(again.sum()), more
        first: dict[str, int] = {}
        for place in np.flatnonzero(columns["taken"]).tolist():
            name = columns["id"][place]
            if (other := first.setdefault(name, place)) != place:
                problem = f'the id "{name}" is already used in {self.row(other)}'
                self._raise(place, self.names["id"], problem, "give every job its own id")
        return 0, 0

    def _refuse_lacking(self) -> None:
        """Refuse the first row of a table that is no complete job, unless such rows are counted."""
        columns, fields = self.rows.columns, self.source.fields
        why = columns["why"]
        lacking = columns["chosen"] & is_known(why) & self.layout.strict
        for place in np.flatnonzero(lacking).tolist():
            reason = why[place]
            if reason == _BACKWARDS:
                start, end = (self.names.get(name, name) for name in ("start", "end"))
                problem = f"the job ends {-columns['duration'][place]:g} s before it starts"
                remedy = f"see whether {start} and {end} are the right columns"
                self._raise(place, end, problem, remedy)
            recorded = {"duration", "end"} & fields.keys() or "duration" not in reason
            if self.choice.missing == "error" and recorded and reason in LACKING:
                name = fields.get(LACKING[reason], self.names["duration"])
                self._raise(place, name, *EMPTY)

    def _refuse_implausible(self, places: Ints, backwards: int) -> None:
        """Raise if a value is implausible, or a column as a whole."""
        columns = self.rows.columns
        chosen, strange = int(columns["chosen"].sum()), sum(self.strange.values())
        where, found = plausibility.in_jobs(
            *(columns[name][places] for name in ("gpus", "submit", "duration"))
        )
        row = None if where is None else self.row(int(places[where]))
        if row is None and backwards > BACKWARDS_SHARE * chosen:
            problem = f"the job ends before it starts, one of {backwards:,} in "
            problem += counted(chosen, "job")
            found = "duration", problem, "see whether the columns of the times are right"
            row = self.row(int(np.argmax(columns["why"] == _BACKWARDS)))
        elif row is None and strange > UNKNOWN_SHARE * self.states.total():
            problem = f"{strange:,} of {counted(self.states.total(), 'job')} have unknown states, "
            problem += f"as {', '.join(sorted(self.strange)[:4]):.60}"
            found = "state", problem, f"there are: {', '.join(self.layout.states)}"
        if found is not None:
            name, problem, remedy = found
            column = name if name == "state" else self.names.get(name, name)
            path = f"{row}, {column}" if row else f"column {column}"
            override = "if it is right, pass plausibility=False (--no-plausibility)"
            raise InstanceError(self.where, path, problem, f"{remedy}; {override}")

    def _jobs(self, places: Ints) -> tuple[TraceJob, ...]:
        """Return the jobs of some rows."""
        columns = self.rows.columns
        made: dict[str, list[Any]] = {}
        for name in (name for name in TraceJob.model_fields if name in columns):
            values = columns[name][places].tolist()
            is_text = columns[name].dtype == object and name not in MADE
            make = MADE.get(name, exact)
            made[name] = values if is_text else [make(value) for value in values]
        held = columns["nodes"][places], columns["amounts"][places], made["gpus"]
        made["nodes"] = [_nodes(*one) for one in zip(*held, strict=True)]
        jobs = []
        for i, values in enumerate(zip(*made.values(), strict=True)):
            data = {n: v for n, v in zip(made, values, strict=True) if v is not None}
            try:
                jobs.append(TraceJob.model_validate(data))
            except ValidationError as error:
                (key, *_), cause = flaw_of(error)
                flaw = ("cannot be used", "correct it, or leave it out")
                flaw = flaw if cause is None else (cause.problem, cause.remedy)
                self._raise(int(places[i]), self.names.get(str(key), str(key)), *flaw)
        return tuple(jobs)

    def _notes(self, omitted: Counter[str], repeated: int, renamed: int) -> Iterator[str]:
        """Yield what was left out, renamed or rounded, with counts."""
        columns = self.rows.columns
        chosen = int(columns["chosen"].sum())
        everyone = int((self.rows.usable | columns["chosen"]).sum())
        if chosen < everyone:
            yield f"{chosen:,} of {counted(everyone, 'job')} chosen by state or cluster"
        if omitted.total():
            reasons = ", ".join(f"{n:,} {why}" for why, n in omitted.most_common() if n)
            yield f"{omitted.total():,} of {counted(chosen, 'job')} left out: {reasons}"
        if repeated:
            yield f"{counted(repeated, 'repeated row')} left out"
        if renamed:
            yield f"{counted(renamed, 'more run')} of an id already used: id#2, id#3, and so on"
        parted = int((columns["parted"] & columns["taken"]).sum())
        if parted:
            rule = FRACTIONS[self.choice.fractional]
            yield f"{counted(parted, 'job')} with a fraction of a GPU: {rule}"
        if self.rows.rounded:
            yield rounded_note(self.rows.rounded)
        if self.strange:
            some = ", ".join(f"{state[:30]} ({count:,})" for state, count in self.strange.items())
            yield f"states that the trace's documentation does not list: {some:.200}"

    def _empty(self, notes: Sequence[str]) -> InstanceError:
        """Return the error of a source without a job."""
        if not self.states:
            place, remedy = "row 2", "write one row per job"
            if self.source.frame is not None:
                place, remedy = "", "give at least one row"
            elif self.layout.unit != "row":
                place, remedy = "", "list a job"
            return InstanceError(self.where, place, "there is no job", remedy)
        problem = "no job is left" + (f" ({notes[0]})" if notes else "")
        remedy = "choose other states, clusters, or fewer min_gpus"
        if notes and "without a duration" in notes[0] and not self.choice.seconds:
            remedy = "give the seconds of each model: seconds={'resnet': 0.2} "
            remedy += "(--seconds resnet=0.2)"
        return InstanceError(self.where, "", problem, remedy)


def exact(value: float) -> Number | None:
    """Return the number that a double was read from; None for what is not finite."""
    if not math.isfinite(value):
        return None
    return int(value) if value == int(value) else Fraction(repr(float(value)))


MADE: Final[dict[str, Callable[[Any], Any]]] = {
    "features": lambda text: None if text is None else tuple(text.split("&")),
    "stages": lambda values: tuple(map(exact, values)),
}
"""What makes a field of a job of its column, where that is neither a number nor a text."""


def _nodes(names: Sequence[str], amounts: Sequence[int], gpus: int) -> tuple[tuple[str, int], ...]:
    """Return what a job held on each node, where that is known."""
    if len(names) == 1 and not amounts and gpus:
        return ((names[0], gpus),)
    return tuple(zip(names, amounts, strict=True)) if amounts else ()
