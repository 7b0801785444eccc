"""Tables in which a row is a job: published ones, and any other by the names of its columns.

- Acme (NSDI'24), ``trace_seren.csv`` and ``trace_kalos.csv`` (README of InternLM/AcmeTrace, section
  "Job Trace"). The column ``duration`` is not read: in Kalos it counts from ``submit_time``, with
  the time in the queue, as both rows of the README's example show.
- Helios (SC'21), ``cluster_log.csv`` (README of S-Lab-System-Group/HeliosData): dates without a
  zone, taken as UTC; ``vc`` is the virtual cluster.
- Alibaba 2023 (ATC'23), ``openb_pod_list_*.csv`` (README of alibaba/clusterdata, folder
  cluster-trace-gpu-v2023): ``num_gpu`` GPUs; ``gpu_milli`` thousandths of a GPU, for pods that
  share one (``num_gpu`` 1); ``gpu_spec`` the models that it accepts, ``A|B`` either of two. A pod
  lasts from scheduling to deletion; one that outlived the trace is deleted at the trace's end.
- Muri, Tiresias, Chronus, Pollux and Sia: see `columns.MAPPINGS`.
- Gavel, Shockwave (OSDI'20, NSDI'23): tab-separated, without a header. The repositories' readers
  say the columns (stanford-futuredata/gavel, scheduler/utils.py; uw-mad-dash/shockwave,
  scheduler/utils.py). Gavel's have gained some over time: their number says which they are.
  ``SLO`` is -1 where there is none. Gavel records a job's steps and no duration:
  `dlsched.records.read_trace` needs the seconds of a step (``seconds=``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from dlsched.errors import InstanceError
from dlsched.records.readers.columns import (
    MAPPINGS,
    Column,
    make_columns,
    names_of,
    require_column,
    resolve,
)
from dlsched.records.readers.files import open_text
from dlsched.records.readers.filler import Filler
from dlsched.records.readers.format import Source, TraceFormat, first_line, has_columns
from dlsched.records.readers.rows import Rows
from dlsched.records.readers.table import Part, Table

if TYPE_CHECKING:
    import pandas as pd

_LATER: Final = "needs_data_dir total_steps scale_factor"
GAVEL: Final = {
    6: "job_type command num_steps_arg total_steps arrival_time scale_factor",
    7: "job_type command num_steps_arg needs_data_dir total_steps arrival_time scale_factor",
    9: f"job_type command num_steps_arg {_LATER} priority_weight SLO arrival_time",
    10: f"job_type command directory num_steps_arg {_LATER} priority_weight SLO arrival_time",
    12: f"job_type command directory num_steps_arg {_LATER} mode priority_weight SLO duration "
    "arrival_time",
}
"""The columns by their number; 12 are Shockwave's."""
_FILES: Final = ("trace_seren", "trace_kalos", "cluster_log", "openb_pod_list")


@dataclass(frozen=True)
class Layout:
    """The columns of a table.

    Attributes
    ----------
    columns, optional
        Those that must be there, and those that are read where they are there.
    remedy
        What to do about a column that is not there.
    published
        Whether it is a published table: id and GPUs must not be empty. Of others, columns called
        like a field are read.
    more
        A column that `adjust` needs.
    adjust
        Changes the rows of a part after they were read.
    widths
        Names of the columns, by their number, of a file without a header, and without ids.
    """

    columns: Mapping[str, Any] = field(default_factory=dict)
    optional: Mapping[str, Any] = field(default_factory=dict)
    remedy: str = "rename one, or pass columns="
    published: bool = False
    more: tuple[str, ...] = ()
    adjust: Callable[[Rows, Part], None] | None = None
    widths: Mapping[int, str] = field(default_factory=dict)

    def read(self, source: Source) -> Iterator[Rows]:
        """Yield the rows of a table."""
        filled = ("id", "gpus") if self.published else ("gpus",) if self.widths else ()
        names, delimiter = source.names, source.delimiter
        if source.frame is not None:
            columns = self._resolve(source, [str(name) for name in source.frame.columns])
            rows = Filler(source, columns).rows(_of_frame(source.frame))
            settle_spans(rows)
            yield rows
            return
        if self.widths:
            names, delimiter = tuple(self._names(source)), "\t"
        with open_text(source.path, source.where, _FILES) as text:
            table = Table(text, source.where, names=names, delimiter=delimiter)
            columns = self._resolve(source, table.header)
            for name in self.more:
                require_column(name, table.header, source.where, self.remedy)
            filler = Filler(source, columns, filled)
            wanted = [*(column.name for column in columns), *self.more]
            for part in table.parts(wanted, source.first):
                rows = filler.rows(part)
                settle_spans(rows)
                if self.adjust is not None:
                    self.adjust(rows, part)
                yield rows

    def _names(self, source: Source) -> list[str]:
        with open_text(source.path, source.where) as text:
            count = first_line(text.readline()).count("\t") + 1
        if count not in self.widths:
            remedy = f"there are traces with {', '.join(map(str, self.widths))}"
            problem = f"has {count} columns between tabs"
            raise InstanceError(source.where, "row 1", problem, remedy)
        return self.widths[count].split()

    def _resolve(self, source: Source, header: Sequence[str]) -> tuple[Column, ...]:
        """Return the columns that are read: those that are named, then the table's own."""
        there = {f: c for f, c in self.optional.items() if {*names_of({f: c})} <= {*header}}
        own = make_columns({**self.columns, **there})
        named = {column.field for column in source.columns}
        columns = (*source.columns, *(c for c in own if c.field not in named))
        needed: list[Sequence[str]] = [["id"], ["gpus"], ["submit"]]
        if self.widths:
            needed = []
        elif source.history:
            needed += [["start", "wait"], ["end", "duration"]]
        elif source.needs_durations:
            needed += [["duration", "end"]]
            if any(column.field == "end" for column in columns):
                needed += [["start", "wait", "duration"]]
        return resolve(columns, header, source.where, self.remedy, needed, own=not self.published)


def settle_spans(rows: Rows) -> None:
    """Compute the start from a wait, and the end from a duration, where they are not recorded."""
    columns = rows.columns
    for name, begin, more in (("start", "submit", "wait"), ("end", "start", "elapsed")):
        if more in columns:
            known = columns[name]
            known[:] = np.where(np.isnan(known), columns[begin] + columns[more], known)
    columns.pop("wait", None)


def _of_frame(frame: pd.DataFrame) -> Part:
    """Return the cells of a data frame as texts; a moment in ISO 8601, a duration in seconds."""
    import pandas as pd

    cells: dict[str, pd.Series[str]] = {}
    for place, name in enumerate(frame.columns):
        values = frame.iloc[:, place]
        if pd.api.types.is_timedelta64_dtype(values):
            values = values.dt.total_seconds()
        cells[str(name)] = pd.Series([spell(value) for value in values.tolist()], dtype=object)
    return Part(np.arange(1, len(frame) + 1), cells, {})


def spell(value: Any) -> str:
    """Return a value of a data frame as the cell of a file."""
    if value is None or str(value) in ("nan", "NaT", "<NA>"):
        return ""
    if hasattr(value, "isoformat"):
        return str(value.isoformat())
    if hasattr(value, "total_seconds"):
        return repr(value.total_seconds())
    if isinstance(value, float) and np.isfinite(value) and value == int(value):
        return str(int(value))
    if isinstance(value, tuple) or (
        isinstance(value, list) and all(isinstance(v, str) for v in value)
    ):
        return ",".join(str(part[0] if isinstance(part, tuple) else part) for part in value)
    return str(value)


def _virtual_cluster(rows: Rows, part: Part) -> None:
    """A virtual cluster is what a queue is elsewhere."""
    rows.columns["partition"] = rows.get("cluster").copy()


def _share(rows: Rows, part: Part) -> None:
    """Count thousandths of a GPU, and those of CPUs; say which pods were never scheduled."""
    rows.read_number("milli", part.cells["gpu_milli"], "gpu_milli")
    milli = rows.columns.pop("milli")
    shares = (rows.columns["gpus"] == 1) & (milli > 0) & (milli < 1000)
    broken = ~np.isnan(rows.get("share"))
    shown = [f"{text} is not a whole number" for text in part.cells["num_gpu"][broken]]
    rows.refuse(broken, "num_gpu", shown, LAYOUTS["openb"].remedy)
    rows.columns["share"] = np.where(shares, milli / 1000, np.nan)
    for name, unit in (("cpus", 1000), ("memory", 1024)):
        rows.columns[name] = rows.get(name) / unit
    rows.get("unknown")[np.isnan(rows.columns["start"])] = "never scheduled"


def _number(rows: Rows, part: Part) -> None:
    """A job's id is its place in the file."""
    rows.columns["id"] = np.array([f"j{row}" for row in part.rows.tolist()], object)


_DATES: Final = {name: (f"{name}_time", "date") for name in ("submit", "start", "end")}
_SACCT_LIKE: Final = ("COMPLETED", "CANCELLED", "FAILED", "TIMEOUT", "NODE_FAIL")
LAYOUTS: Final = {
    "helios": Layout(
        {"id": "job_id", "gpus": "gpu_num", **_DATES},
        {"state": "state", "cluster": "vc", "user": "user", "cpus": "cpu_num"},
        remedy="read the cluster_log.csv of HeliosData, or pass columns=",
        published=True,
        adjust=_virtual_cluster,
    ),
    "acme": Layout(
        {"id": "job_id", "gpus": "gpu_num", "state": "state", **_DATES},
        {"user": "user", "cpus": "cpu_num"},
        remedy="read trace_seren.csv or trace_kalos.csv of AcmeTrace, or pass columns=",
        published=True,
    ),
    "openb": Layout(
        {
            **{"id": "name", "gpus": "num_gpu", "state": "pod_phase"},
            **{"submit": ("creation_time", "s"), "start": ("scheduled_time", "s")},
            "end": ("deletion_time", "s"),
        },
        {"gpu_type": "gpu_spec", "cpus": "cpu_milli", "memory": "memory_mib"},
        remedy="read an openb_pod_list_*.csv of cluster-trace-gpu-v2023, or pass columns=",
        published=True,
        more=("gpu_milli",),
        adjust=_share,
    ),
    **{
        name: Layout(mapping, remedy=f"read a table of {name}, or pass columns=")
        for name, mapping in MAPPINGS.items()
    },
    "gavel": Layout(
        {
            **{"gpus": "scale_factor", "submit": ("arrival_time", "s")},
            **{"model": "job_type", "iterations": "total_steps"},
        },
        {"priority": "priority_weight", "duration": ("duration", "s")},
        widths=GAVEL,
        adjust=_number,
    ),
    "csv": Layout(),
}


def _format(name: str, title: str, marks: Sequence[str] = (), **known: Any) -> TraceFormat:
    """Return a format, known by some columns; by default those of its mapping, and `marks`."""
    columns = marks if name not in MAPPINGS else (*names_of(MAPPINGS[name]), *marks)
    known |= {"strict": not LAYOUTS[name].published, "columns": frozenset(columns)}
    recognises = has_columns(columns) if columns else lambda head: False
    return TraceFormat(title, LAYOUTS[name].read, recognises, **known)


def _by_width(title: str, *counts: int) -> TraceFormat:
    """Return the format of files with as many columns between tabs, whose last is a time."""

    def recognises(head: str) -> bool:
        cells = first_line(head).split("\t")
        return len(cells) in counts and cells[-1].strip().replace(".", "", 1).isdecimal()

    return TraceFormat(title, LAYOUTS["gavel"].read, recognises, strict=True)


FORMATS: Final = {
    "helios": _format(
        "helios",
        "SenseTime Helios (SC'21), cluster_log.csv",
        ("job_id", "gpu_num", "submit_time", "duration"),
        files=("cluster_log",),
        states=(*_SACCT_LIKE, "SUSPENDED"),
        cluster="the virtual cluster, vc",
    ),
    "acme": _format(
        "acme",
        "Acme (NSDI'24), trace_seren.csv and trace_kalos.csv",
        (*names_of(LAYOUTS["acme"].columns), "type", "gpu_time", "duration"),
        files=("trace_seren", "trace_kalos"),
        states=(*_SACCT_LIKE, "RUNNING", "PENDING"),
    ),
    "openb": _format(
        "openb",
        "Alibaba 2023 (ATC'23), openb_pod_list_*.csv",
        ("name", "num_gpu", "gpu_milli", "pod_phase"),
        files=("openb_pod_list",),
        states=("Succeeded", "Running", "Pending", "Failed"),
    ),
    "muri": _format("muri", "Muri (SIGCOMM'22)"),
    "tiresias": _format("tiresias", "Tiresias (NSDI'19)", time="seconds"),
    "chronus": _format("chronus", "Chronus (SoCC'21)", ("expect_time_list",), time="minutes"),
    "pollux": _format("pollux", "Pollux (OSDI'21), Sia (SOSP'23)", has_durations=False),
    "csv": _format(
        "csv", "any table with named columns", record=True, cluster="the column cluster"
    ),
    "gavel": _by_width("Gavel (OSDI'20), .trace", 6, 7, 9, 10),
    "shockwave": _by_width("Shockwave (NSDI'23), .trace", 12),
}
