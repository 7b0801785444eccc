"""Microsoft Philly (ATC'19): ``cluster_job_log``, a JSON list of jobs.

The keys are those of the README of msr-fiddle/philly-traces, section "Schema", and of its
notebook: ``jobid``, ``status`` (Pass, Killed or Failed), ``vc``, ``submitted_time``, and
``attempts``, each with ``start_time``, ``end_time`` and ``detail``, a list of servers (``ip``) with
the ``gpus`` held there. Times are dates without a time zone. A time may be null, empty or "None"
(README, notes; the notebook's ``parse_date``).

- GPUs are those of the first attempt that has any, as in the notebook.
- The duration is the sum over the attempts of ``end_time`` minus ``start_time``: the time for which
  the job held its GPUs. The time between attempts, in which it waited, does not count; in the
  notebook it does. An attempt without one of the two times does not count.
- A job whose last attempt has no end was still running (README, notes): its duration is unknown.
- The clock was local: an attempt over the end of summer time (5 November 2017) seems an hour
  shorter than it was, and may seem to end before it started.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import islice
from typing import Any, Final, NoReturn

import numpy as np

from dlsched.errors import InstanceError
from dlsched.records.readers.files import open_text
from dlsched.records.readers.format import Source, TraceFormat
from dlsched.records.readers.json_list import objects
from dlsched.records.readers.rows import Rows, empty, tuples
from dlsched.records.readers.table import CHUNK
from dlsched.records.readers.values import MISSING, counted, date_of
from dlsched.schema.files import JsonObject
from dlsched.schema.flaws import brief

FILES: Final = ("cluster_job_log",)
REMEDY: Final = "read the cluster_job_log of philly-traces"
FIELDS: Final = {
    "id": "jobid",
    "gpus": "attempts.detail.gpus",
    "submit": "submitted_time",
    "start": "attempts.start_time",
    "end": "attempts.end_time",
}


def read(source: Source) -> Iterator[Rows]:
    """Yield a row per job, in the order of the file."""
    source.fields |= FIELDS
    differing = partial = 0
    with open_text(source.path, source.where, FILES) as text:
        listed = enumerate(objects(text, source.where, REMEDY), start=1)
        size = source.first
        while chunk := list(islice(listed, size)):
            size = CHUNK
            jobs = [Job(data, source.where, number) for number, data in chunk]
            differing += sum(len(set(job.sizes)) > 1 for job in jobs)
            partial += sum(job.uncounted for job in jobs)
            yield _rows(jobs)
    if differing:
        source.notes.append(
            f"{counted(differing, 'job')} had attempts with different numbers of GPUs: those of "
            "the first attempt count"
        )
    if partial:
        source.notes.append(
            f"{counted(partial, 'job')} had attempts without a start or an end: they do not count"
        )


def _rows(jobs: list[Job]) -> Rows:
    rows = empty(len(jobs))
    columns = rows.columns
    columns["row"] = np.array([job.number for job in jobs])
    for name in ("submit", "start", "elapsed"):
        columns[name] = np.array([getattr(job, name) for job in jobs], float)
    columns["end"] = columns["start"] + columns["elapsed"]
    columns["gpus"] = np.array([job.sizes[0] if job.sizes else 0 for job in jobs], float)
    columns["unknown"] = np.array([job.unknown for job in jobs], object)
    keys = {"id": "jobid", "state": "status", "cluster": "vc", "partition": "vc", "user": "user"}
    for name, key in keys.items():
        columns[name] = np.array([job.text(key) for job in jobs], object)
    columns["nodes"] = tuples([tuple(name for name, _ in job.nodes) for job in jobs])
    columns["amounts"] = tuples([tuple(gpus for _, gpus in job.nodes) for job in jobs])
    return rows


class Job:
    """One job of the list, with errors that name the job and the key.

    Times are seconds, NaN if unknown: `submit`, the first `start`, and `elapsed`, for which it held
    its GPUs, or `unknown` says why not. `sizes` are the GPUs of each attempt that has any, `nodes`
    what it held at first; `uncounted` is whether some attempts do not count.
    """

    def __init__(self, data: JsonObject, where: str, number: int) -> None:
        self.data = data
        self.where = where
        self.number = number
        if self.text("jobid") is None:
            self.fail("jobid", "is missing", "give every job its id")
        self.submit = self.date(data, "submitted_time")
        self.start = self.elapsed = np.nan
        self.sizes: list[int] = []
        self.nodes: tuple[tuple[str, int], ...] = ()
        self.unknown: str | None = None
        spans: list[float] = []
        ended = True
        attempts = self.items(data, "attempts")
        for i, attempt in enumerate(attempts):
            held = self.held(attempt, f"attempts[{i}]")
            self.sizes += [held.total()] if held.total() else []
            start, end = (
                self.date(attempt, key, f"attempts[{i}]") for key in ("start_time", "end_time")
            )
            ended = not np.isnan(end)
            if not np.isnan(end - start):
                if not spans:
                    self.start = start
                    self.nodes = tuple((name, gpus) for name, gpus in held.items() if name and gpus)
                spans.append(end - start)
        if not attempts:
            self.unknown = "never started"
        elif not ended:
            self.unknown = "still running"
        elif not spans:
            self.unknown = "without a start"
        elif not self.sizes:
            self.unknown = "without recorded GPUs"
        else:
            self.elapsed = sum(spans) if min(spans) >= 0 else min(spans)
        self.uncounted = self.unknown is None and len(spans) < len(attempts)

    def held(self, attempt: JsonObject, path: str) -> Counter[str]:
        """Return the GPUs that an attempt held, by server."""
        held: Counter[str] = Counter()
        for k, server in enumerate(self.items(attempt, "detail", path)):
            listed = self.items(server, "gpus", f"{path}.detail[{k}]", of_objects=False)
            held[str(server.get("ip") or "")] += len(listed)
        return held

    def items(
        self, owner: JsonObject, key: str, path: str = "", of_objects: bool = True
    ) -> list[Any]:
        """Return a list; below a job's own keys, a missing one is empty."""
        entries = owner.get(key)
        if entries is None and (path or key in owner):
            return []
        name = f"{path}.{key}".lstrip(".")
        if not isinstance(entries, list):
            self.fail(name, "is missing" if entries is None else "is not a list", REMEDY)
        if of_objects and not all(isinstance(entry, dict) for entry in entries):
            self.fail(name, "is not a list of objects", REMEDY)
        return entries

    def date(self, owner: JsonObject, key: str, path: str = "") -> float:
        """Return a moment in seconds since 1970; NaN if it was not recorded."""
        value = owner.get(key)
        text = str(value).strip()
        if text.lower() in MISSING:  # null is None, and NaN is nan
            return np.nan
        seconds, _ = date_of(text) if isinstance(value, str) else (np.nan, False)
        if np.isnan(seconds):
            name = f"{path}.{key}".lstrip(".")
            self.fail(name, f"{brief(text)} is not a date", "write it as 2017-10-07 01:12:09")
        return seconds

    def text(self, key: str) -> str | None:
        """Return a text; None if it is missing."""
        value = self.data.get(key)
        return str(value).strip() or None if value is not None else None

    def fail(self, path: str, problem: str, remedy: str) -> NoReturn:
        """Raise the error of this job."""
        raise InstanceError(self.where, f"job {self.number}, {path}", problem, remedy)


def _recognises(head: str) -> bool:
    start = head.removeprefix("\ufeff").lstrip()[:1]
    return start in ("[", "{") and '"attempts"' in head and '"jobid"' in head


FORMAT = TraceFormat(
    title="Microsoft Philly (ATC'19), cluster_job_log",
    files=FILES,
    states=("Pass", "Killed", "Failed"),
    cluster="the virtual cluster, vc",
    recognises=_recognises,
    read=read,
    unit="job",
)
