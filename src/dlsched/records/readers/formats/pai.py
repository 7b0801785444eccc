"""Alibaba PAI 2020 (NSDI'22): ``pai_task_table.csv`` of cluster-trace-gpu-v2020.

The CSV files have no header: the names of the columns are in ``pai_task_table.header`` beside it,
which is in the repository and not in the archives. They are those of the README of
alibaba/clusterdata, folder cluster-trace-gpu-v2020, section "pai_task_table": ``inst_num``
instances of the task; ``plan_gpu`` percent of a GPU that each instance requests (issue 129 there);
``start_time`` and ``end_time`` in seconds from an origin of its own, 0 or empty if not recorded
(``analysis/utils.py``); ``status`` one of Running, Terminated, Failed, Waiting, of which only
Terminated is a success.

A job is launched as several tasks, as parameter servers and workers:

- Its workers are the instances of all its tasks.
- It lasts from the first start to the last end of its tasks with GPUs, or of all if none has any.
- Its submission and status are those of ``pai_job_table.csv``, where ``start_time`` is the
  submission, if that file is beside the other. If not, the job is submitted at the first start of
  a task, so that the trace shows no wait, and its status is the worst of its tasks'.

``pai_instance_table.csv``, the largest file, has nothing that is needed here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from dlsched.errors import InstanceError
from dlsched.records.readers.columns import Column, require_column
from dlsched.records.readers.files import MAX_LINE, open_text
from dlsched.records.readers.filler import Filler
from dlsched.records.readers.format import Source, TraceFormat, first_line
from dlsched.records.readers.rows import Rows, empty, is_known, join
from dlsched.records.readers.table import Part, Table
from dlsched.records.readers.values import counted

if TYPE_CHECKING:
    import pandas as pd

TASKS, JOBS = "pai_task_table", "pai_job_table"
COLUMNS: Final = {
    TASKS: (
        *("job_name", "task_name", "inst_num", "status", "start_time", "end_time", "plan_cpu"),
        *("plan_mem", "plan_gpu", "gpu_type"),
    ),
    JOBS: ("job_name", "inst_id", "user", "status", "start_time", "end_time"),
}
"""The published order, for archives without their header files."""
_BOTH: Final = (
    *(Column("id", "job_name"), Column("state", "status"), Column("start", "start_time", "s")),
)
READ: Final = {
    TASKS: (
        *(*_BOTH, Column("instances", "inst_num"), Column("end", "end_time", "s")),
        *(Column("percent", "plan_gpu"), Column("gpu_type", "gpu_type")),
    ),
    JOBS: (*_BOTH, Column("user", "user")),
}
WORST: Final = ("Failed", "Running", "Waiting", "Terminated")
"""The states of a task, that of a job being the first that one of its tasks has."""
SUFFIXES: Final = (".csv", ".csv.gz", ".tar.gz")
REMEDY: Final = (
    "read pai_task_table.csv of cluster-trace-gpu-v2020, with its .header file beside it"
)


def read(source: Source) -> Iterator[Rows]:
    """Yield a row per job, in the order of their first tasks."""
    import pandas as pd

    beside = _beside(source.path)
    if beside is None:
        source.notes.append(
            f"{JOBS}.csv is not beside it: jobs are submitted when their first task starts"
        )
    tasks = _table(source, source.path, TASKS)
    count = tasks.get("instances")
    lacking = np.isnan(count)
    if lacking.any():
        source.notes.append(
            f"{counted(int(lacking.sum()), 'task')} without a number of instances: taken as 1"
        )
        count[lacking] = 1
    percent = np.nan_to_num(tasks.get("percent"))
    states = tasks.get("state")
    frame = pd.DataFrame(
        {
            "job": tasks.columns["id"],
            "row": tasks.columns["row"],
            "gpus": count * np.ceil(percent / 100),
            "share": count * percent / 100,
            "parted": percent % 100 > 0,
            "start": tasks.columns["start"],
            "end": tasks.columns["end"],
            "gpu_type": tasks.get("gpu_type"),
            # A state that is not known is the worst; one that is not recorded counts for nothing.
            "rank": [WORST.index(s) if s in WORST else 9 if s is None else -1 for s in states],
            "state": states,
            "has": percent > 0,
        }
    )
    rows = _jobs(frame)
    if beside is not None:
        _take_over(rows, _table(source, beside, JOBS))
    yield rows


def _jobs(frame: pd.DataFrame) -> Rows:
    """Return the jobs of some tasks."""
    by_job = frame.groupby("job", sort=False)
    sums = by_job.agg({"row": "first", "gpus": "sum", "share": "sum", "parted": "any"})
    sums["state"] = frame.loc[by_job["rank"].idxmin()].set_index("job")["state"]
    sums["gpu_type"] = frame[frame["has"]].drop_duplicates("job").set_index("job")["gpu_type"]
    # The tasks that count are those with GPUs, or all of a job that has none.
    counting = frame[frame["has"] | ~by_job["has"].transform("any").astype(bool)]
    counting = counting.assign(unstarted=counting["start"].isna(), open=counting["end"].isna())
    how = {"start": "min", "end": "max", "unstarted": "any", "open": "any"}
    sums = sums.join(counting.groupby("job", sort=False).agg(how))
    rows = empty(len(sums))
    for name in ("row", "gpus", "start", "end"):
        rows.columns[name] = sums[name].to_numpy(copy=True)
    rows.columns["id"] = sums.index.to_numpy(object, copy=True)
    for name in ("state", "gpu_type"):
        texts = sums[name].astype(object)
        rows.columns[name] = texts.where(texts.notna(), None).to_numpy(object, copy=True)
    rows.columns["cluster"] = rows.columns["gpu_type"].copy()
    rows.columns["share"] = sums["share"].where(sums["parted"]).to_numpy(copy=True)
    for flags, reason in (("open", "without an end"), ("unstarted", "without a start")):
        lacking = sums[flags].to_numpy(bool)
        rows.get("unknown")[lacking] = reason
        rows.columns["end"][lacking] = np.nan
    rows.columns["submit"] = rows.columns["start"].copy()
    return rows


def _take_over(rows: Rows, known: Rows) -> None:
    """Take submission, status and user of the table of jobs."""
    place_of = {name: i for i, name in enumerate(known.columns["id"].tolist())}
    places = np.array([place_of.get(name, -1) for name in rows.columns["id"]], np.int64)
    for name, begin in (("submit", "start"), ("state", "state"), ("user", "user")):
        given = known.get(begin)[places] if place_of else rows.get(name)
        there = ~np.isnan(given) if name == "submit" else is_known(given)
        rows.columns[name] = np.where(there & (places >= 0), given, rows.get(name))


def _table(source: Source, path: Path, name: str) -> Rows:
    """Return the rows of one of the tables; ``instances``, ``percent`` are those of tasks."""
    where = source.where if name == TASKS else str(path)
    header = _header(path, name, source)
    columns = [column for column in READ[name] if column.name in header]
    filler = Filler(source, columns, ("id",))
    parts = []
    with open_text(path, where, (name,)) as text:
        table = Table(text, where, names=header, delimiter=",")
        for part in map(_without_header, table.parts([column.name for column in columns])):
            rows = filler.rows(part)
            for moment in ("start", "end"):  # of which 0 stands for none
                rows.columns[moment][rows.columns[moment] == 0] = np.nan
            broken = rows.get("instances") % 1 > 0
            shown = [f"{text.strip()} is no number of instances" for text in _cells(part)[broken]]
            rows.refuse(broken, "inst_num", shown, REMEDY)
            if rows.fault.any():
                place = int(np.argmax(rows.fault))
                reason, column, remedy = rows.flaw(place)
                if place in part.broken:
                    remedy = f"pass {name}.csv itself, with {name}.header beside it"
                spot = ", ".join(filter(None, (f"row {part.rows[place]}", column)))
                raise InstanceError(where, spot, reason, remedy)
            parts.append(rows)
    return join(parts)


def _cells(part: Part) -> pd.Series[str]:
    return part.cells.get("inst_num", part.cells["job_name"])


def _without_header(part: Part) -> Part:
    """Return some rows without a header that was added by hand."""
    if part.rows[0] != 1 or str(part.cells["job_name"][0]).strip() != "job_name":
        return part
    cells = {name: texts[1:].reset_index(drop=True) for name, texts in part.cells.items()}
    return Part(part.rows[1:], cells, {place - 1: flaw for place, flaw in part.broken.items()})


def _header(path: Path, name: str, source: Source) -> Sequence[str]:
    """Return the names of the columns, by the header file beside a table."""
    place = path.with_name(f"{_stem(path)}.header")
    place = place if place.is_file() else path.with_name(f"{name}.header")
    if not place.is_file():
        source.notes.append(
            f"{name}.header is not beside it: the published order of columns is taken"
        )
        return COLUMNS[name]
    with open_text(place, str(place)) as text:
        names = [cell.strip() for cell in text.readline(MAX_LINE).split(",")]
    for column in READ[name]:
        if column.field != "user":
            remedy = f"take the {name}.header of cluster-trace-gpu-v2020"
            require_column(column.name, names, str(place), remedy)
    return names


def _stem(path: Path) -> str:
    endings = [suffix for suffix in SUFFIXES if path.name.endswith(suffix)]
    return path.name.removesuffix(endings[-1]) if endings else path.stem


def _beside(path: Path) -> Path | None:
    """Return the table of jobs beside that of tasks, if it is there."""
    stem = _stem(path).replace(TASKS, JOBS)
    places = [path.with_name(stem + suffix) for suffix in SUFFIXES]
    return next((p for p in places if p != path and p.is_file()), None)


def _recognises(head: str) -> bool:
    cells = first_line(head).split(",")
    width = len(COLUMNS[TASKS])
    return len(cells) == width and (cells[3].strip() in WORST or cells[0].strip() == "job_name")


FORMAT = TraceFormat(
    title="Alibaba PAI 2020 (NSDI'22), pai_task_table.csv",
    files=(TASKS,),
    states=WORST,
    cluster="the type of GPU of the first task that has any, gpu_type",
    recognises=_recognises,
    read=read,
)
