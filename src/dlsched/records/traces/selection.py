"""From the records of a published trace to the jobs that are chosen, with what was left out."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from pydantic import ValidationError

from dlsched.errors import InstanceError
from dlsched.records.traces import plausibility
from dlsched.records.traces.choice import Choice
from dlsched.records.traces.job import TraceJob
from dlsched.records.traces.record import Record, TraceFormat, counted
from dlsched.schema.flaws import flaw_of

BACKWARDS_SHARE = 0.01
"""Largest share of jobs that may end before they start: clocks are set back, and are wrong."""
UNKNOWN_SHARE = 0.5
"""Largest share of jobs whose state may be none that the format documents."""
RECORDED = ("start", "user", "partition", "gpu_type", "nodes", "state")
"""The fields of a job that a record has under the same name."""
_BACKWARDS = "ending before they start"
_NO_SUBMISSION = "without a submission"


class Selection:
    """Turns records into jobs and counts what it leaves out.

    Attributes
    ----------
    omitted
        How many jobs were left out, by reason.
    """

    def __init__(self, layout: TraceFormat, where: str, choice: Choice) -> None:
        self.layout = layout
        self.where = where
        self.choice = choice
        self.omitted: Counter[str] = Counter()
        self.taken = self.not_chosen = self.fractional = self.repeated = self.renamed = 0
        self._backwards: Record | None = None
        self._jobs: list[TraceJob] = []
        self._places: dict[str, int] = {}

    def jobs(self, records: Iterable[Record]) -> list[TraceJob]:
        """Return the jobs of all records that are chosen and complete.

        Raises
        ------
        InstanceError
            Naming the row, the column, the flaw and the remedy.
        UnknownName
            If a state or a cluster was chosen that there is none of.
        """
        for record in records:
            if not self.choice.takes(record.state, record.cluster):
                self.not_chosen += 1
                continue
            self.taken += 1
            self._take(record)
        self.choice.validate(self.layout.states)
        self._validate_shares()
        if self._jobs and self.choice.plausibility:
            plausibility.refuse(plausibility.in_jobs(self._jobs), self.where, self.layout.names)
        return self._jobs

    def _take(self, record: Record) -> None:
        reason = self._reason(record)
        if reason is None:
            gpus = self._gpus(record)
            if gpus is None:
                reason = "asking for a fraction of a GPU"
            elif gpus < self.choice.min_gpus:
                least = self.choice.min_gpus
                reason = "without GPUs" if least == 1 else f"with fewer than {least} GPUs"
            else:
                self._add(record, gpus)
        if reason is not None:
            self.omitted[reason] += 1

    def _reason(self, record: Record) -> str | None:
        """Return why a job cannot be taken whatever its GPUs are."""
        if record.duration is None:
            return record.unknown or "without a duration"
        if record.submit is None:
            return _NO_SUBMISSION
        if record.duration < 0:
            self._backwards = self._backwards or record
            return _BACKWARDS
        return None

    def _gpus(self, record: Record) -> int | None:
        """Return the GPUs of a job by the rule for fractions; None if it is to be dropped."""
        if all(gpus.denominator == 1 for _, gpus in record.workers):
            return int(sum(workers * gpus for workers, gpus in record.workers))
        self.fractional += 1
        if self.choice.fractional == "drop":
            return None
        if self.choice.fractional == "total":
            return math.ceil(sum(workers * gpus for workers, gpus in record.workers))
        return sum(workers * math.ceil(gpus) for workers, gpus in record.workers)

    def _add(self, record: Record, gpus: int) -> None:
        assert record.submit is not None and record.duration is not None
        row = f"{self.layout.unit} {record.row}"
        if self.choice.plausibility:
            finding = plausibility.in_job(gpus, record.submit, record.duration)
            plausibility.refuse(finding, self.where, self.layout.names, row)
        name = self._new_name(record, gpus)
        if name is None:
            self.repeated += 1
            return
        self.renamed += name != record.id
        data: dict[str, Any] = {
            "id": name,
            "gpus": gpus,
            "submit": record.submit,
            "duration": record.duration,
        }
        data |= {name: getattr(record, name) for name in RECORDED}
        try:
            job = TraceJob.model_validate(data)
        except ValidationError as error:
            raise self._flaw(error, row) from None
        self._places[name] = len(self._jobs)
        self._jobs.append(job)

    def _new_name(self, record: Record, gpus: int) -> str | None:
        """Return an id that is not used yet; None if the very same job is there already."""
        name = record.id
        numbers = itertools.count(2)
        while name in self._places:
            known = self._jobs[self._places[name]]
            same = (known.gpus, known.submit, known.duration)
            if same == (gpus, record.submit, record.duration):
                return None
            name = f"{record.id}#{next(numbers)}"
        return name

    def _flaw(self, error: ValidationError, row: str) -> InstanceError:
        (field, *_), cause = flaw_of(error)
        path = f"{row}, {self.layout.names[str(field)]}"
        if cause is None:
            return InstanceError(self.where, path, "cannot be used", "correct it, or leave it out")
        return InstanceError(self.where, path, cause.problem, cause.remedy)

    def _validate_shares(self) -> None:
        """Raise if a column is wrong as a whole."""
        backwards = self.omitted[_BACKWARDS]
        if self._backwards is not None and backwards > BACKWARDS_SHARE * self.taken:
            row = f"{self.layout.unit} {self._backwards.row}"
            everything = counted(self.taken, "job")
            problem = f"the job ends before it starts, one of {backwards:,} in {everything}"
            column = self.layout.names["duration"]
            if self.choice.plausibility:
                finding = "duration", problem, "see whether the columns of the times are right"
                plausibility.refuse(finding, self.where, {"duration": column}, row)
        strange = self._strange()
        met = self.choice.met_states.total()
        odd = sum(strange.values())
        if self.choice.plausibility and odd > UNKNOWN_SHARE * met:
            names = ", ".join(sorted(strange)[:4])
            problem = f"{odd:,} of {counted(met, 'job')} have unknown states, as {names:.60}"
            known = ", ".join(self.layout.states)
            plausibility.refuse(("state", problem, f"there are: {known}"), self.where, {})

    def notes(self) -> Iterator[str]:
        """Yield what was left out, renamed or rounded, with counts."""
        if self.not_chosen:
            everything = counted(self.taken + self.not_chosen, "job")
            yield f"{self.taken:,} of {everything} chosen by state or cluster"
        if self.omitted:
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
        strange = self._strange()
        if strange:
            some = ", ".join(f"{state[:30]} ({count:,})" for state, count in strange.items())
            yield f"states that the trace's documentation does not list: {some:.200}"

    def _strange(self) -> dict[str, int]:
        """Return how many jobs have a state that the format does not document."""
        known = self.layout.states
        return {s: n for s, n in self.choice.met_states.items() if s and s not in known}
