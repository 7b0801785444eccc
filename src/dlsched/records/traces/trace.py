"""A trace: jobs with their time of submission, GPUs and duration."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from pydantic import field_validator, model_validator

from dlsched.display.markup import document_html
from dlsched.records.readers.columns import ColumnsLike
from dlsched.records.traces.job import TraceJob
from dlsched.records.traces.selection import frame_jobs
from dlsched.schema.document import Document
from dlsched.schema.fields import Id
from dlsched.schema.flaws import Flaw, require_unique
from dlsched.schema.quantities import Number

if TYPE_CHECKING:
    import pandas as pd


class Trace(Document):
    """Jobs in the order of submission; those submitted at the same time, in the order given.

    Attributes
    ----------
    source
        Python expression that returns the trace.
    notes
        What was left out or rounded when it was read, with counts; also logged under "dlsched".
    """

    name: Id
    jobs: tuple[TraceJob, ...]
    source: str | None = None
    notes: tuple[str, ...] = ()

    @classmethod
    def from_frame(
        cls,
        frame: pd.DataFrame,
        columns: ColumnsLike | None = None,
        *,
        name: str = "frame",
        plausibility: bool = True,
    ) -> Self:
        """Return the jobs of a pandas data frame, one per row, validated as those of a file are.

        Parameters
        ----------
        frame
            Columns of numbers, text, ``datetime64`` (moments) and ``timedelta64`` (durations). A
            missing value is an empty cell. A float without a fraction counts as a whole number.
        columns
            Which column holds which field, as in `read_trace`; columns that are called as a field
            is need not be named. ``start`` and ``end`` may stand for ``duration``.
        name
            Name of the trace.
        plausibility
            Whether values are refused that no trace has, as in `read_trace`.

        Raises
        ------
        InstanceError
            Naming the row by its label in the index, the column, the flaw and the remedy.
        OptionError, UnknownName
            If the columns cannot be used.
        """
        jobs, notes = frame_jobs(frame, columns, name or "frame", plausibility)
        return cls(name=name or "frame", jobs=jobs, notes=notes)

    @field_validator("jobs")
    @classmethod
    def _in_order(cls, jobs: tuple[TraceJob, ...]) -> tuple[TraceJob, ...]:
        require_unique(job.id for job in jobs)
        return tuple(sorted(jobs, key=lambda job: job.submit))

    @model_validator(mode="after")
    def _not_empty(self) -> Self:
        if not self.jobs:
            raise Flaw(("jobs",), "there is no job", "give at least one")
        return self

    def _repr_html_(self) -> str:
        """Return the jobs, with ranges of their fields, and the notes, for a notebook."""
        source = [self.source] if self.source else []
        return document_html("trace", self.name, self, *source, *self.notes)

    @property
    def first(self) -> Number:
        """Submission of the first job: the origin of a simulation's clock."""
        return self.jobs[0].submit

    @property
    def span(self) -> Number:
        """Seconds from the first submission to the last."""
        return self.jobs[-1].submit - self.first
