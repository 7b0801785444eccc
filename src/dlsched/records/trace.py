"""A trace: jobs with their time of submission, GPUs and duration; reading and writing one."""

from __future__ import annotations

import inspect
import json
import logging
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from pydantic import field_validator, model_validator

from dlsched.display.markup import document_html
from dlsched.errors import OptionError
from dlsched.records.job import RECORD, TraceJob
from dlsched.records.projection import Choice, select
from dlsched.records.readers.columns import MAPPINGS, TIMES, Column, ColumnsLike, make_columns
from dlsched.records.readers.opening import open_source
from dlsched.records.readers.values import UNITS
from dlsched.schema.document import Document
from dlsched.schema.fields import Id
from dlsched.schema.files import write_bytes
from dlsched.schema.flaws import Flaw, require_unique
from dlsched.schema.quantities import Number, simplify, to_json

if TYPE_CHECKING:
    import pandas as pd

logger = logging.getLogger(__name__)


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
        if not hasattr(frame, "columns") or not hasattr(frame, "itertuples"):
            raise OptionError(f"{type(frame).__name__} is no data frame; pass a pandas DataFrame")
        source = open_source(frame, "csv", columns, None)
        source.where = name or "frame"
        jobs, notes = select(source, Choice(plausibility=plausibility))
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


def read_trace(
    source: str | Path,
    format: str | ColumnsLike = "auto",
    *,
    columns: ColumnsLike | None = None,
    names: str | Sequence[str] | None = None,
    delimiter: str | None = None,
    timezone: str | None = None,
    name: str | None = None,
    states: str | Sequence[str] | None = None,
    clusters: str | Sequence[str] | None = None,
    min_gpus: int = 0,
    fractional: str = "up",
    missing: str = "error",
    plausibility: bool = True,
    seconds: Mapping[str, float] | None = None,
    limit: int | None = None,
) -> Trace:
    """Read a job trace: a published one as it is, a scheduler's record, or any table.

    What is left out or rounded is counted in `Trace.notes`, and logged under "dlsched" as warnings.

    Parameters
    ----------
    source
        A path, or the name of a trace that comes with dlsched (``"synthetic-1"``,
        ``"sample-philly"``). Of a folder or a tar archive the trace's file is taken. Gzipped files
        are read as well.
    format
        A name in `dlsched.records.FORMATS`, or ``"auto"``, by the beginning of the file; or what is
        meant for `columns`.
    columns
        Which column holds which field: ``{field: column or (column, unit)}``; see
        `dlsched.records.readers.columns.make_columns`. Columns that are called like a field need
        not be named. With a named format, in place of its own columns.
    names, delimiter
        Of a table without a header, the names of its columns in order; what is between them.
    timezone
        The zone of dates without one, as ``"Europe/Berlin"``; None for UTC.
    name
        Name of the trace; by default that of the file without its suffixes.
    states
        The states of jobs that are taken, as the file spells them; by default all, failed jobs
        too, since they held their GPUs.
    clusters
        The clusters whose jobs are taken; `TraceFormat.cluster` says what that is. By default all.
    min_gpus
        Fewest GPUs of a job that is taken; 1 leaves out the jobs that have none.
    fractional
        How workers count that share a GPU: ``"up"``, the share of each worker is rounded up to
        whole GPUs; ``"total"``, the sum of a job's shares is; ``"drop"``, such jobs are left out.
    missing
        What becomes of a row of a table that lacks a time or GPUs: ``"error"``, or ``"drop"``, left
        out and counted, as in published traces.
    plausibility
        Whether values are refused that no trace has, as a job of 50 years.
    seconds
        For traces that record no durations (Gavel's, Pollux'): by model, seconds of an iteration,
        or of a whole job where no iterations are recorded.
    limit
        Most jobs that are taken, from the first of the file on; no more is read than they need.

    Raises
    ------
    InstanceError
        Naming the file, the row (the header is row 1), the column, the flaw and the remedy.
    OptionError, UnknownName
        If an option cannot be used, or no job has a state or a cluster that was asked for.
    """
    if not isinstance(source, str | PathLike):
        raise OptionError(
            f"read_trace takes the path of a file, not {type(source).__name__}; "
            "for a data frame there is Trace.from_frame"
        )
    if not str(source):
        raise OptionError("read_trace: the path is empty; name a trace's file")
    if isinstance(format, Mapping):
        columns, format = format, "csv"
    given = dict(locals())
    choice = {name: given[name] for name in Choice.__dataclass_fields__}
    chosen = Choice(**choice | {"seconds": seconds or {}})
    options: dict[str, Any] = {"delimiter": delimiter, "timezone": timezone, "limit": limit}
    opened = open_source(source, str(format), columns, names, **options)
    jobs, notes = select(opened, chosen)
    where, path, is_shipped = str(source), opened.path, opened.is_shipped
    for note in notes:
        logger.warning("%s: %s", where, note)
    shown = [repr(where if is_shipped else path.name)]
    if opened.format not in ("muri", "csv") and not is_shipped:
        shown.append(repr(opened.format))
    for option, known in inspect.signature(read_trace).parameters.items():
        if option not in ("source", "format", "name") and given[option] != known.default:
            shown.append(f"{option}={given[option]!r}")
    stem = path.name
    for suffix in (".gz", ".tar", ".csv", ".json", ".trace"):
        stem = stem.removesuffix(suffix)
    made_by = f"read_trace({', '.join(shown)})"
    name = name or (where if is_shipped else stem) or "trace"
    return Trace(name=name, jobs=jobs, source=made_by, notes=notes)


def write_trace(trace: Trace, path: str | Path) -> None:
    """Write a trace as ``.csv`` or ``.csv.gz``, in the columns of the mapping ``"muri"``.

    A field that a job does not have is an empty cell. Where jobs have a record of what a scheduler
    did, its fields are further columns (``RECORD`` of module ``job``). Reading the file gives the
    same jobs.

    Raises
    ------
    OptionError
        If a job has a number of stages other than 0 or 3.
    """
    import pandas as pd

    stages = len(MAPPINGS["muri"]["stages"])
    for job in trace.jobs:
        if len(job.stages) not in (0, stages):
            raise OptionError(
                f'job "{job.id}" has {len(job.stages)} stages; the format has {stages}, or none'
            )
    there = {name for job in trace.jobs for name in job.record}
    own = {name: (name, "s") if name in TIMES else name for name in RECORD if name in there}
    columns = make_columns(MAPPINGS["muri"] | own)
    cells = []
    for job in trace.jobs:
        stage = iter(job.stages)
        cells.append([_cell(job, column, stage) for column in columns])
    frame = pd.DataFrame(cells, columns=[column.name for column in columns])
    write_bytes(Path(path), frame.to_csv(index=False, lineterminator="\n").encode())


def _cell(job: TraceJob, column: Column, stage: Any) -> str:
    value = next(stage, None) if column.field == "stages" else getattr(job, column.field)
    if column.field == "nodes":
        return json.dumps(value) if value else ""
    if value is None or isinstance(value, str):
        return value or ""
    return repr(to_json(simplify(value / UNITS[column.unit] if column.unit else value)))
