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

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TextIO

from dlsched.errors import InstanceError
from dlsched.records.traces.lines import MAX_LINE, open_text
from dlsched.records.traces.record import Cells, Record, TraceFormat, between, counted
from dlsched.records.traces.table import Table
from dlsched.schema.quantities import Number, simplify

TASKS, JOBS = "pai_task_table", "pai_job_table"
COLUMNS = {
    TASKS: (
        "job_name",
        "task_name",
        "inst_num",
        "status",
        "start_time",
        "end_time",
        "plan_cpu",
        "plan_mem",
        "plan_gpu",
        "gpu_type",
    ),
    JOBS: ("job_name", "inst_id", "user", "status", "start_time", "end_time"),
}
"""The published order, for archives without their header files."""
WORST = ("Failed", "Running", "Waiting", "Terminated")
"""The states of a task, that of a job being the first that one of its tasks has."""
SUFFIXES = (".csv", ".csv.gz", ".tar.gz")
REMEDY = "read pai_task_table.csv of cluster-trace-gpu-v2020, with its .header file beside it"


@dataclass(slots=True)
class _Job:
    """What is known of a job after some of its tasks."""

    row: int
    workers: tuple[tuple[int, Number], ...] = ()
    has_gpus: bool = False
    start: Number | None = None
    end: Number | None = None
    unknown: str | None = None
    state: str | None = None
    gpu_type: str | None = None


def read(path: Path, where: str, notes: list[str]) -> Iterator[Record]:
    """Yield a record per job, in the order of their first tasks."""
    beside = _beside(path)
    submitted = _submissions(beside, notes) if beside else {}
    if not beside:
        notes.append(
            f"{JOBS}.csv is not beside it: jobs are submitted when their first task starts"
        )
    jobs: dict[str, _Job] = {}
    uncounted = 0
    with open_text(path, where, (TASKS,)) as text:
        table, cells = _table(text, path, where, TASKS, notes)
        for row, values in table.rows():
            if row == 1 and values[0].strip() == "job_name":  # a header row added by hand
                continue
            cells.at(row, values)
            count = cells.amount("inst_num")
            uncounted += count is None
            instances = 1 if count is None else count
            if instances != int(instances) or instances < 0:
                raise cells.error("inst_num", f"{instances} is no number of instances", REMEDY)
            name = cells.required("job_name")
            job = jobs.get(name)
            if job is None:
                job = jobs[name] = _Job(row)
            _add(job, cells, int(instances))
    if uncounted:
        notes.append(f"{counted(uncounted, 'task')} without a number of instances: taken as 1")
    for name in list(jobs):
        job = jobs.pop(name)
        submit, state, user = submitted.pop(name, (None, None, None))
        duration, unknown = between(job.start, job.end)
        yield Record(
            job.row,
            name,
            job.workers,
            job.start if submit is None else submit,
            None if job.unknown else duration,
            job.unknown or unknown,
            state or job.state,
            job.gpu_type,
            start=job.start,
            user=user,
            gpu_type=job.gpu_type,
        )


def _add(job: _Job, cells: Cells, instances: int) -> None:
    """Add a task to its job."""
    percent = cells.amount("plan_gpu") or 0
    if percent < 0:
        raise cells.error("plan_gpu", f"{float(percent):g} is too small", "write at least 0")
    states = [state for state in (job.state, cells.text("status")) if state is not None]
    job.state = min(states, key=lambda s: WORST.index(s) if s in WORST else 0, default=None)
    if percent and not job.has_gpus:  # tasks without GPUs do not count any more
        job.start = job.end = job.unknown = None
        job.has_gpus = True
        job.gpu_type = cells.text("gpu_type")
    if percent:
        job.workers += ((instances, simplify(Fraction(percent) / 100)),)
    elif job.has_gpus:
        return
    start = cells.amount("start_time") or None
    end = cells.amount("end_time") or None
    _, unknown = between(start, end)
    job.unknown = job.unknown or unknown
    if start is not None:
        job.start = start if job.start is None else min(job.start, start)
    if end is not None:
        job.end = end if job.end is None else max(job.end, end)


Submission = tuple[Number | None, str | None, str | None]
"""Moment, status and user."""


def _submissions(path: Path, notes: list[str]) -> dict[str, Submission]:
    """Return submission, status and user of the jobs in the table of jobs."""
    where = str(path)
    submissions = {}
    with open_text(path, where, (JOBS,)) as text:
        table, cells = _table(text, path, where, JOBS, notes)
        for row, values in table.rows():
            if row == 1 and values[0].strip() == "job_name":
                continue
            cells.at(row, values)
            submit = cells.amount("start_time") or None
            status = sys.intern(cells.text("status") or "")  # of a million jobs
            user = sys.intern(cells.optional("user") or "")
            submissions[cells.required("job_name")] = (submit, status or None, user or None)
    return submissions


def _table(
    text: TextIO, path: Path, where: str, name: str, notes: list[str]
) -> tuple[Table, Cells]:
    """Return one of the tables and its cells by column."""
    needed = [c for c in COLUMNS[name] if c in ("job_name", "status", "start_time")]
    needed += ["inst_num", "end_time", "plan_gpu", "gpu_type"] if name == TASKS else []
    header = _header(path, name, needed)
    if header is None:
        header = COLUMNS[name]
        notes.append(f"{name}.header is not beside it: the published order of columns is taken")
    table = Table(text, where, header, f"pass {name}.csv itself, with {name}.header beside it")
    return table, Cells(table, needed, REMEDY, ["user"])


def _header(path: Path, name: str, needed: Sequence[str]) -> Sequence[str] | None:
    """Return the names of the columns in the header file beside a table; None without one."""
    place = path.with_name(f"{_stem(path)}.header")
    place = place if place.is_file() else path.with_name(f"{name}.header")
    if not place.is_file():
        return None
    with open_text(place, str(place)) as text:
        names = [cell.strip() for cell in text.readline(MAX_LINE).split(",")]
    for column in needed:
        if column not in names:
            problem = "there is no such column" if any(names) else "has no column names"
            remedy = f"take the {name}.header of cluster-trace-gpu-v2020"
            raise InstanceError(str(place), f"row 1, {column}", problem, remedy)
    return names


def _stem(path: Path) -> str:
    for suffix in reversed(SUFFIXES):
        if path.name.endswith(suffix):
            return path.name.removesuffix(suffix)
    return path.stem


def _beside(path: Path) -> Path | None:
    """Return the table of jobs beside that of tasks, if it is there."""
    stem = _stem(path).replace(TASKS, JOBS)
    places = [path.with_name(stem + suffix) for suffix in SUFFIXES]
    return next((p for p in places if p != path and p.is_file()), None)


def _recognises(head: str) -> bool:
    cells = head.removeprefix("\ufeff").partition("\n")[0].split(",")
    width = len(COLUMNS[TASKS])
    return len(cells) == width and (cells[3].strip() in WORST or cells[0].strip() == "job_name")


FORMAT = TraceFormat(
    title="Alibaba PAI 2020 (NSDI'22), pai_task_table.csv",
    files=(TASKS,),
    names={"id": "job_name", "gpus": "plan_gpu", "submit": "start_time", "duration": "end_time"},
    states=WORST,
    cluster="the type of GPU of the first task that has any, gpu_type",
    recognises=_recognises,
    read=read,
)
