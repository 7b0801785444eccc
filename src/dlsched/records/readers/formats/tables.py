"""Tables in which a row is a job: published ones, and any other by the names of its columns.

- Acme (NSDI'24), ``trace_seren.csv`` and ``trace_kalos.csv`` (README of InternLM/AcmeTrace, section
  "Job Trace"). The column ``duration`` is not read: in Kalos it counts from ``submit_time``, with
  the time in the queue, as both rows of the README's example show.
- Helios (SC'21), ``cluster_log.csv`` (README of S-Lab-System-Group/HeliosData): dates without a
  zone, taken as UTC; ``vc`` is the virtual cluster. Only a file without ``start_time`` and
  ``end_time`` is read by ``duration``.
- Alibaba 2023 (ATC'23), ``openb_pod_list_*.csv`` (README of alibaba/clusterdata, folder
  cluster-trace-gpu-v2023): ``num_gpu`` GPUs; ``gpu_milli`` thousandths of a GPU, for pods that
  share one (``num_gpu`` 1); ``gpu_spec`` the models that it accepts, ``A|B`` either of two. A pod
  lasts from scheduling to deletion; one that outlived the trace is deleted at the trace's end.
- Muri, Tiresias, Chronus, Pollux and Sia: see `columns.MAPPINGS`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from dlsched.records.readers.amounts import parse_gpus
from dlsched.records.readers.columns import MAPPINGS, TIMES, Column, make_columns, resolve
from dlsched.records.readers.files import open_text
from dlsched.records.readers.format import Source, TraceFormat, has_columns, names_of
from dlsched.records.readers.hosts import parse_nodes
from dlsched.records.readers.rows import MOMENTS, NAMES, NUMBERS, Rows, empty, tuples
from dlsched.records.readers.table import Part, Table
from dlsched.records.readers.values import Floats, Known, name_of, number_flaw
from dlsched.schema import brief

if TYPE_CHECKING:
    import pandas as pd

EMPTY: Final = ("the cell is empty", "fill it in, or leave the row out")
"""What is wrong with a cell that must not be empty, and the remedy."""
_NO_GPUS: Final = frozenset({"", "none", "nan", "null", "n/a", "<na>"})
_FILES: Final = ("trace_seren", "trace_kalos", "cluster_log", "openb_pod_list")


@dataclass(frozen=True)
class Layout:
    """The columns of a table.

    Attributes
    ----------
    columns
        Those that must be there.
    optional
        Those that are read where they are there.
    instead
        What is read for a start and an end where these are not there.
    remedy
        What to do about a column that is not there.
    filled
        Fields whose cells must not be empty; of other tables, columns called like a field are read.
    more
        Columns that `adjust` needs.
    adjust
        Changes the rows of a part after they were read.
    """

    columns: Mapping[str, Any] = field(default_factory=dict)
    optional: Mapping[str, Any] = field(default_factory=dict)
    instead: dict[str, Any] = field(default_factory=dict)
    remedy: str = "rename one, or pass columns="
    filled: tuple[str, ...] = ()
    more: tuple[str, ...] = ()
    adjust: Callable[[Rows, Part], None] | None = None

    def read(self, source: Source) -> Iterator[Rows]:
        """Yield the rows of a table."""
        if source.frame is not None:
            part = _of_frame(source.frame)
            columns = self._resolve(source, [str(name) for name in source.frame.columns])
            yield Filler(source, columns).rows(part)
            return
        with open_text(source.path, source.where, _FILES) as text:
            table = Table(text, source.where, names=source.names, delimiter=source.delimiter)
            columns = self._resolve(source, table.header)
            table.require(self.more, self.remedy)
            filler = Filler(source, columns, self.filled)
            wanted = [*(column.name for column in columns), *self.more]
            for part in table.parts(wanted, source.first):
                rows = filler.rows(part)
                if self.adjust is not None:
                    self.adjust(rows, part)
                yield rows

    def _resolve(self, source: Source, header: Sequence[str]) -> tuple[Column, ...]:
        """Return the columns that are read: those that are named, then the table's own."""
        own = {**self.columns}
        if self.instead and not {*names_of({k: own[k] for k in ("start", "end")})} & {*header}:
            own = {k: v for k, v in own.items() if k not in ("start", "end")} | self.instead
            source.notes.append(
                "start_time and end_time are not there: the durations are those of duration"
            )
        own |= {f: name for f, name in self.optional.items() if {*names_of({f: name})} <= {*header}}
        named = {column.field for column in source.columns}
        columns = (*source.columns, *(c for c in make_columns(own) if c.field not in named))
        needed: list[Sequence[str]] = [["id"], ["gpus"], ["submit"]]
        if source.history:
            needed += [["start", "wait"], ["end", "duration"]]
        elif source.needs_durations:
            needed += [["duration", "end"]]
            if any(column.field == "end" for column in columns):
                needed += [["start", "wait", "duration"]]
        where, is_open = source.where, not self.filled
        return resolve(columns, header, where, self.remedy, needed, own=is_open)


class Filler:
    """Reads the cells of one part after another; distinct texts are read once."""

    def __init__(
        self, source: Source, columns: Sequence[Column], filled: Sequence[str] = ()
    ) -> None:
        self.source = source
        self.columns = columns
        self.filled = filled
        self._gpus = Known(parse_gpus)
        self._nodes = Known(parse_nodes)
        self._names = Known(name_of)
        self._features = Known(features_of)
        source.fields |= {column.field: column.name for column in columns}
        source.local |= any(c.field in MOMENTS and c.unit in (None, "date") for c in columns)

    def rows(self, part: Part) -> Rows:
        """Return some rows."""
        rows = empty(len(part.rows))
        rows.columns["row"] = part.rows
        for place, problem in part.broken.items():
            rows.refuse_row(place, "", problem, "write one cell per column")
        stages: list[Floats] = []
        for column in self.columns:
            texts = part.cells[column.name]
            if column.field in self.filled:
                blank = np.array([name is None for name in self._names.of(texts)], bool)
                rows.refuse(blank & rows.usable, column.name, *EMPTY)
            if column.field == "stages":
                rows.read_duration("stage", texts, column.name, column.unit)
                stages.append(rows.columns.pop("stage"))
            else:
                self._fill(rows, column, texts)
        if stages:
            self._fill_stages(rows, stages)
        settle_spans(rows)
        return rows

    def _fill(self, rows: Rows, column: Column, texts: pd.Series[str]) -> None:
        field, name, unit = column.field, column.name, column.unit
        if field in ("id", "state", *NAMES):
            rows.columns[field] = self._names.column(texts)
        elif field == "features":
            rows.columns[field] = self._features.column(texts)
        elif field in MOMENTS:
            rows.read_moment(field, texts, name, self.source.zone, unit)
        elif field in TIMES:
            rows.read_duration("elapsed" if field == "duration" else field, texts, name, unit)
        elif field in NUMBERS:
            rows.read_number(field, texts, name)
        elif field == "gpus":
            self._fill_gpus(rows, texts, name)
        else:
            fill_nodes(rows, texts.where(rows.usable, ""), self._nodes, name)

    def _fill_gpus(self, rows: Rows, texts: pd.Series[str], name: str) -> None:
        texts = texts.where(rows.usable, "")
        counts = fill_gpus(rows, self._gpus.of(texts))
        blank = np.array([text.strip().lower() in _NO_GPUS for text in texts], bool)
        bad = np.isnan(counts) & ~blank
        if bad.any():
            rows.refuse(
                bad, name, [_gpu_flaw(text) for text in texts[bad]], "write it as 8 or gpu:a100:8"
            )

    def _fill_stages(self, rows: Rows, stages: Sequence[Floats]) -> None:
        """Keep the stages of rows that have all of them; refuse those that have some."""
        names = [column.name for column in self.columns if column.field == "stages"]
        lacking = [np.isnan(stage) for stage in stages]
        none = np.logical_and.reduce(lacking)
        for name, lacks in zip(names, lacking, strict=True):
            rows.refuse(
                lacks & ~none, name, "an empty cell is no time", "write all the stages, or none"
            )
        rows.columns["stages"] = tuples(
            [() if nothing else tuple(row) for nothing, *row in zip(none, *stages, strict=True)]
        )


def _gpu_flaw(text: str) -> str:
    problem, _ = number_flaw(text)
    return problem if text.strip()[:1] in "+-" else f"{brief(text.strip())!r} is no number of GPUs"


def fill_gpus(rows: Rows, read: Sequence[Any]) -> Floats:
    """Take over the GPUs of each row, None where there are none; return their numbers."""
    counts = np.array([np.nan if gpus is None else gpus.number for gpus in read], float)
    rows.columns["gpus"] = counts
    kinds = np.array([None if gpus is None else gpus.kind for gpus in read], object)
    if any(kinds):
        known = rows.get("gpu_type")
        lacking = np.array([kind is None for kind in known], bool)
        known[lacking] = kinds[lacking]
    if any(gpus is not None and gpus.share is not None for gpus in read):
        rows.columns["share"] = np.array(
            [np.nan if gpus is None or gpus.share is None else float(gpus.share) for gpus in read]
        )
        rows.columns["slices"] = np.array(
            [None if gpus is None else gpus.slices for gpus in read], object
        )
    return counts


def fill_nodes(rows: Rows, texts: pd.Series[str], known: Known, name: str) -> None:
    """Take over the nodes of each row; refuse the rows whose nodes cannot be read."""
    nodes = known.of(texts)
    bad = np.array([entry is None for entry in nodes], bool)
    if bad.any():
        shown = [f"{brief(text)!r} is no list of hosts" for text in texts[bad]]
        rows.refuse(bad, name, shown, "write it as n[1-4]")
    rows.columns["nodes"] = tuples([entry[0] if entry else () for entry in nodes])
    rows.columns["amounts"] = tuples([entry[1] if entry else () for entry in nodes])


def features_of(text: str) -> str | None:
    """Return what a job needs of a node, all of it, with ``&`` between; None if nothing."""
    name = name_of(text)
    return (
        None
        if name is None
        else "&".join(part for part in name.replace(",", "&").split("&") if part)
    )


def settle_spans(rows: Rows) -> None:
    """Compute the start from a wait, and the end from a duration, where they are not recorded."""
    columns = rows.columns
    wait = columns.pop("wait", None)
    if wait is not None:
        start = columns["start"]
        start[:] = np.where(np.isnan(start), columns["submit"] + wait, start)
    if "elapsed" in columns:
        end = columns["end"]
        end[:] = np.where(np.isnan(end), columns["start"] + columns["elapsed"], end)


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
    if isinstance(value, float) and value == int(value if np.isfinite(value) else 0):
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
    rows.refuse(broken, "num_gpu", shown, PUBLISHED["openb"].remedy)
    rows.columns["share"] = np.where(shares, milli / 1000, np.nan)
    for name, unit in (("cpus", 1000), ("memory", 1024)):
        rows.columns[name] = rows.get(name) / unit
    rows.get("unknown")[np.isnan(rows.columns["start"])] = "never scheduled"


_DATES: Final = {name: (f"{name}_time", "date") for name in ("submit", "start", "end")}
PUBLISHED: Final = {
    "helios": Layout(
        {"id": "job_id", "gpus": "gpu_num", **_DATES},
        {"state": "state", "cluster": "vc", "user": "user", "cpus": "cpu_num"},
        instead={"duration": ("duration", "s")},
        remedy="read the cluster_log.csv of HeliosData, or pass columns=",
        filled=("id", "gpus"),
        adjust=_virtual_cluster,
    ),
    "acme": Layout(
        {"id": "job_id", "gpus": "gpu_num", "state": "state", **_DATES},
        {"user": "user", "cpus": "cpu_num"},
        remedy="read trace_seren.csv or trace_kalos.csv of AcmeTrace, or pass columns=",
        filled=("id", "gpus"),
    ),
    "openb": Layout(
        {
            **{"id": "name", "gpus": "num_gpu", "state": "pod_phase"},
            **{"submit": ("creation_time", "s"), "start": ("scheduled_time", "s")},
            "end": ("deletion_time", "s"),
        },
        {"gpu_type": "gpu_spec", "cpus": "cpu_milli", "memory": "memory_mib"},
        remedy="read an openb_pod_list_*.csv of cluster-trace-gpu-v2023, or pass columns=",
        filled=("id", "gpus"),
        more=("gpu_milli",),
        adjust=_share,
    ),
}
_SACCT_LIKE: Final = ("COMPLETED", "CANCELLED", "FAILED", "TIMEOUT", "NODE_FAIL")
HEADERS: Final = {
    "helios": ("job_id", "gpu_num", "submit_time", "duration"),
    "acme": (*names_of(PUBLISHED["acme"].columns), "type", "gpu_time", "duration"),
    "openb": ("name", "num_gpu", "gpu_milli", "pod_phase"),
}
"""The columns by which tables are recognised."""
MARKS: Final = {"chronus": ("expect_time_list",)}
"""Columns that are not read, by which a header is told from a like one."""


def _format(name: str, title: str, **known: Any) -> TraceFormat:
    layout = PUBLISHED.get(name)
    if layout is None:
        layout = Layout(MAPPINGS[name], remedy=f"read a table of {name}, or pass columns=")
        known["strict"] = True
    columns = HEADERS.get(name) or (*names_of(MAPPINGS[name]), *MARKS.get(name, ()))
    return TraceFormat(
        title, layout.read, has_columns(columns), columns=frozenset(columns), **known
    )


FORMATS: Final = {
    "helios": _format(
        "helios",
        "SenseTime Helios (SC'21), cluster_log.csv",
        files=("cluster_log",),
        states=(*_SACCT_LIKE, "SUSPENDED"),
        cluster="the virtual cluster, vc",
    ),
    "acme": _format(
        "acme",
        "Acme (NSDI'24), trace_seren.csv and trace_kalos.csv",
        files=("trace_seren", "trace_kalos"),
        states=(*_SACCT_LIKE, "RUNNING", "PENDING"),
    ),
    "openb": _format(
        "openb",
        "Alibaba 2023 (ATC'23), openb_pod_list_*.csv",
        files=("openb_pod_list",),
        states=("Succeeded", "Running", "Pending", "Failed"),
    ),
    "muri": _format("muri", "Muri (SIGCOMM'22)"),
    "tiresias": _format("tiresias", "Tiresias (NSDI'19)", time="seconds"),
    "chronus": _format("chronus", "Chronus (SoCC'21)", time="minutes"),
    "pollux": _format("pollux", "Pollux (OSDI'21), Sia (SOSP'23)", has_durations=False),
    "csv": TraceFormat(
        "any table with named columns",
        Layout().read,
        lambda head: False,
        strict=True,
        record=True,
        cluster="the column cluster",
    ),
}
