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
from dlsched.records.readers.values import MISSING, counted, find_zone, parse_moments
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
    "duration": "attempts.end_time",
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
            jobs = [_Job(data, source.where, number) for number, data in chunk]
            for job in jobs:
                job.read()
            dates = _dates(jobs)
            yield _rows(jobs, dates)
            differing += sum(len(set(job.sizes)) > 1 for job in jobs)
            partial += sum(job.uncounted for job in jobs)
    if differing:
        source.notes.append(
            f"{counted(differing, 'job')} had attempts with different numbers of GPUs: those of "
            "the first attempt count"
        )
    if partial:
        source.notes.append(
            f"{counted(partial, 'job')} had attempts without a start or an end: they do not count"
        )


def _dates(jobs: list[_Job]) -> dict[str, float]:
    """Return the moments of all dates of some jobs; NaN of what is none."""
    import pandas as pd

    texts = list(dict.fromkeys(text for job in jobs for text, _ in job.dates if text))
    found = parse_moments(pd.Series(texts, dtype=object), find_zone(None), "date")
    return dict(zip(texts, found.values.tolist(), strict=True))


def _rows(jobs: list[_Job], dates: dict[str, float]) -> Rows:
    rows = empty(len(jobs))
    columns = rows.columns
    elapsed = rows.get("elapsed")
    unknown = rows.get("unknown")
    nodes: list[tuple[tuple[str, int], ...]] = []
    for place, job in enumerate(jobs):
        columns["row"][place] = job.number
        columns["submit"][place] = job.moment(0, dates)
        start, elapsed[place], unknown[place] = job.span(dates)
        columns["start"][place] = start
        columns["gpus"][place] = job.sizes[0] if job.sizes else 0
        nodes.append(job.nodes if job.sizes else ())
    for name, key in (("id", "jobid"), ("state", "status"), ("cluster", "vc"), ("user", "user")):
        rows.get(name)[:] = [job.text(key) for job in jobs]
    rows.columns["partition"] = rows.columns["cluster"].copy()
    columns["end"] = columns["start"] + elapsed
    columns["nodes"] = tuples([tuple(name for name, _ in held) for held in nodes])
    columns["amounts"] = tuples([tuple(gpus for _, gpus in held) for held in nodes])
    return rows


class _Job:
    """One job of the list, with errors that name the job and the key."""

    def __init__(self, data: JsonObject, where: str, number: int) -> None:
        self.data = data
        self.where = where
        self.number = number
        self.dates: list[tuple[str, str]] = []
        self.sizes: list[int] = []
        self.nodes: tuple[tuple[str, int], ...] = ()
        self.uncounted = False
        self._held: list[tuple[tuple[str, int], ...]] = []

    def read(self) -> None:
        """Read everything but the moments: their texts are kept, the submission's first."""
        if self.text("jobid") is None:
            self.fail("jobid", "is missing", "give every job its id")
        self._add_date(self.data, "submitted_time", "")
        for i, attempt in enumerate(self.items(self.data, "attempts")):
            path = f"attempts[{i}]"
            held: Counter[str] = Counter()
            size = 0
            for k, server in enumerate(self.items(attempt, "detail", path)):
                count = len(self.items(server, "gpus", f"{path}.detail[{k}]", of_objects=False))
                held[str(server.get("ip") or "")] += count
                size += count
            self.sizes += [size] if size else []
            self._held.append(tuple((name, n) for name, n in held.items() if name and n))
            for key in ("start_time", "end_time"):
                self._add_date(attempt, key, path)

    def _add_date(self, owner: JsonObject, key: str, path: str) -> None:
        value = owner.get(key)
        text = str(value).strip()
        name = f"{path}.{key}".lstrip(".")
        if text.lower() in MISSING:  # null is None, and NaN is nan
            text = ""
        elif not isinstance(value, str):
            self._no_date(text, name)
        self.dates.append((text, name))

    def _no_date(self, text: str, name: str) -> NoReturn:
        self.fail(name, f"{brief(text)} is not a date", "write it as 2017-10-07 01:12:09")

    def moment(self, place: int, dates: dict[str, float]) -> float:
        """Return one of the moments; NaN if it was not recorded."""
        text, name = self.dates[place]
        if text and np.isnan(dates[text]):
            self._no_date(text, name)
        return dates[text] if text else np.nan

    def span(self, dates: dict[str, float]) -> tuple[float, float, str | None]:
        """Return the first start, the time that the job held its GPUs, and why that is unknown."""
        moments = [self.moment(place, dates) for place in range(1, len(self.dates))]
        starts, ends = np.array(moments[::2]), np.array(moments[1::2])
        spans = ends - starts
        whole = ~np.isnan(spans)
        unknown = None
        if not len(spans):
            unknown = "never started"
        elif np.isnan(ends[-1]):
            unknown = "still running"
        elif not whole.any():
            unknown = "without a start"
        elif not self.sizes:
            unknown = "without recorded GPUs"
        if not whole.any():
            return np.nan, np.nan, unknown
        first = int(np.argmax(whole))
        self.nodes = self._held[first]
        self.uncounted = unknown is None and not whole.all()
        least = float(spans[whole].min())
        duration = float(spans[whole].sum()) if least >= 0 else least
        return float(starts[first]), np.nan if unknown else duration, unknown

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
