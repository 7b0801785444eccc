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
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from dlsched.errors import InstanceError
from dlsched.records.readers.files import MAX_LINE, open_text
from dlsched.records.readers.format import Source, TraceFormat, first_line
from dlsched.records.readers.rows import Rows, empty, join
from dlsched.records.readers.table import Table
from dlsched.records.readers.values import Known, counted, name_of

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
NEEDED: Final = {
    TASKS: ("job_name", "status", "start_time", "inst_num", "end_time", "plan_gpu", "gpu_type"),
    JOBS: ("job_name", "status", "start_time"),
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
    lacking = tasks.usable & np.isnan(count)
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
    )[tasks.usable]
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
    submit, state, user = rows.columns["submit"], rows.get("state"), rows.get("user")
    for i, name in enumerate(rows.columns["id"].tolist()):
        if (place := place_of.get(name)) is not None:
            begin = known.columns["start"][place]
            submit[i] = submit[i] if np.isnan(begin) else begin
            state[i] = known.get("state")[place] or state[i]
            user[i] = known.get("user")[place]


def _table(source: Source, path: Path, name: str) -> Rows:
    """Return the rows of one of the tables; ``instances``, ``percent`` are those of tasks."""
    where = source.where if name == TASKS else str(path)
    header = _header(path, name, source)
    wanted = [*NEEDED[name], *(["user"] if "user" in header else [])]
    names = Known(name_of)
    parts = []
    with open_text(path, where, (name,)) as text:
        table = Table(text, where, names=header, delimiter=",")
        for part in table.parts(wanted):
            rows = empty(len(part.rows))
            rows.columns["row"] = part.rows
            for place, problem in part.broken.items():
                remedy = f"pass {name}.csv itself, with {name}.header beside it"
                rows.refuse_row(place, "", problem, remedy)
            if part.rows[0] == 1 and str(part.cells["job_name"][0]).strip() == "job_name":
                rows.refuse_row(0, "", "a header row added by hand", fault=False)
            _fill(rows, part.cells, names)
            parts.append(rows)
            for place in np.flatnonzero(rows.fault)[:1].tolist():
                spot = ", ".join(filter(None, (f"row {part.rows[place]}", rows.column[place])))
                remedy = rows.remedies.get(place, REMEDY)
                raise InstanceError(where, spot, str(rows.reason[place]), remedy)
    return join(parts) if parts else empty(0)


def _fill(rows: Rows, cells: dict[str, Any], names: Known) -> None:
    texts = {"id": "job_name", "state": "status", "gpu_type": "gpu_type", "user": "user"}
    for field, name in texts.items():
        if name in cells:
            rows.columns[field] = names.column(cells[name].where(rows.usable, ""))
    nameless = np.array([name is None for name in rows.columns["id"]], bool)
    rows.refuse(nameless & rows.usable, "job_name", "the cell is empty", "fill it in")
    for field, name in (("start", "start_time"), ("end", "end_time")):
        if name in cells:
            rows.read_number("moment", cells[name], name)
            moments = rows.columns.pop("moment")
            rows.columns[field] = np.where(moments == 0, np.nan, moments)
    for field, name in (("instances", "inst_num"), ("percent", "plan_gpu")):
        if name in cells:
            rows.read_number(field, cells[name], name)
    if "inst_num" in cells:
        count = rows.columns["instances"]
        broken = count % 1 > 0
        shown = [f"{text.strip()} is no number of instances" for text in cells["inst_num"][broken]]
        rows.refuse(broken, "inst_num", shown, REMEDY)


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
    for column in NEEDED[name]:
        if column not in names:
            problem = "there is no such column" if any(names) else "has no column names"
            remedy = f"take the {name}.header of cluster-trace-gpu-v2020"
            raise InstanceError(str(place), f"row 1, {column}", problem, remedy)
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
