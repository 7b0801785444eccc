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
from fractions import Fraction
from pathlib import Path
from typing import Any, NoReturn

from dlsched.errors import InstanceError
from dlsched.records.traces import cells
from dlsched.records.traces.json_list import objects
from dlsched.records.traces.lines import open_text
from dlsched.records.traces.record import Record, TraceFormat, counted
from dlsched.schema.files import JsonObject
from dlsched.schema.flaws import brief
from dlsched.schema.quantities import Number

FILES = ("cluster_job_log",)
REMEDY = "read the cluster_job_log of philly-traces"


def read(path: Path, where: str, notes: list[str]) -> Iterator[Record]:
    """Yield a record per job, in the order of the file."""
    differing = partial = 0
    with open_text(path, where, FILES) as text:
        for row, data in enumerate(objects(text, where, REMEDY), start=1):
            job = _Job(data, where, row)
            record, sizes, uncounted = job.record()
            differing += len(set(sizes)) > 1
            partial += uncounted > 0
            yield record
    if differing:
        notes.append(
            f"{counted(differing, 'job')} had attempts with different numbers of GPUs: those of "
            "the first attempt count"
        )
    if partial:
        notes.append(
            f"{counted(partial, 'job')} had attempts without a start or an end: they do not count"
        )


class _Job:
    """One job of the list, with errors that name the job and the key."""

    def __init__(self, data: JsonObject, where: str, row: int) -> None:
        self.data = data
        self.where = where
        self.row = row

    def record(self) -> tuple[Record, list[int], int]:
        """Return the record, the GPUs of each attempt, and how many attempts do not count."""
        attempts = self.items(self.data, "attempts")
        sizes = []
        spans = []
        first: Number | None = None
        nodes: tuple[tuple[str, int], ...] = ()
        missing = 0
        ended = True
        for i, attempt in enumerate(attempts):
            path = f"attempts[{i}]"
            sizes.append(self.gpus(attempt, path))
            start, end = (self.date(attempt, key, path) for key in ("start_time", "end_time"))
            ended = end is not None
            if start is None or end is None:
                missing += 1
            else:
                spans.append(end - start)
                if first is None:
                    first = start
                    nodes = self.nodes(attempt, path)
        sizes = [size for size in sizes if size]
        duration: Number | None = min(spans, default=0)
        duration = sum(spans) if duration is None or duration >= 0 else duration
        unknown = None
        if not attempts:
            unknown = "never started"
        elif not ended:
            unknown = "still running"
        elif not spans:
            unknown = "without a start"
        elif not sizes:
            unknown = "without recorded GPUs"
        record = Record(
            self.row,
            self.text("jobid") or self.fail("jobid", "is missing", "give every job its id"),
            ((1, sizes[0] if sizes else 0),),
            self.date(self.data, "submitted_time"),
            None if unknown else duration,
            unknown,
            self.text("status"),
            self.text("vc"),
            start=first,
            user=self.text("user"),
            partition=self.text("vc"),
            nodes=nodes,
        )
        return record, sizes, missing if not unknown else 0

    def gpus(self, attempt: JsonObject, path: str) -> int:
        """Return the number of GPUs that an attempt held on all its servers."""
        servers = self.items(attempt, "detail", path)
        return sum(
            len(self.items(server, "gpus", f"{path}.detail[{i}]", of_objects=False))
            for i, server in enumerate(servers)
        )

    def nodes(self, attempt: JsonObject, path: str) -> tuple[tuple[str, int], ...]:
        """Return the servers of an attempt with the number of GPUs held there."""
        held: Counter[str] = Counter()
        for server in self.items(attempt, "detail", path):
            name = str(server.get("ip") or "")
            held[name] += len(self.items(server, "gpus", path, of_objects=False))
        return tuple((name, gpus) for name, gpus in held.items() if name and gpus)

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

    def date(self, owner: JsonObject, key: str, path: str = "") -> Number | None:
        """Return a moment in seconds since 1970; None if it was not recorded."""
        value_read = owner.get(key)
        if cells.is_missing(str(value_read).strip()):  # null is None, and NaN is nan
            return None
        value = cells.date(value_read.strip()) if isinstance(value_read, str) else None
        if isinstance(value, int | Fraction):
            return value
        problem = f"{brief(str(value_read))} is not a date"
        self.fail(f"{path}.{key}".lstrip("."), problem, "write it as 2017-10-07 01:12:09")

    def text(self, key: str) -> str | None:
        """Return a text; None if it is missing."""
        value = self.data.get(key)
        return str(value).strip() or None if value is not None else None

    def fail(self, path: str, problem: str, remedy: str) -> NoReturn:
        """Raise the error of this job."""
        raise InstanceError(self.where, f"job {self.row}, {path}", problem, remedy)


def _recognises(head: str) -> bool:
    start = head.removeprefix("\ufeff").lstrip()[:1]
    return start in ("[", "{") and '"attempts"' in head and '"jobid"' in head


FORMAT = TraceFormat(
    title="Microsoft Philly (ATC'19), cluster_job_log",
    files=FILES,
    names={
        "id": "jobid",
        "gpus": "attempts.detail.gpus",
        "submit": "submitted_time",
        "duration": "attempts.end_time",
    },
    states=("Pass", "Killed", "Failed"),
    cluster="the virtual cluster, vc",
    recognises=_recognises,
    read=read,
    unit="job",
)
