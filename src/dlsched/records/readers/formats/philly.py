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
from typing import Any, Final

import numpy as np

from dlsched.errors import InstanceError
from dlsched.records.readers.files import open_text
from dlsched.records.readers.filler import objects as vector
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
TEXTS: Final = {"id": "jobid", "state": "status", "partition": "vc", "user": "user"}


class Flaw(Exception):
    """What is wrong with a job: the key, the problem, the remedy."""


def read(source: Source) -> Iterator[Rows]:
    """Yield a row per job, in the order of the file."""
    source.fields |= FIELDS
    differing = partial = 0
    with open_text(source.path, source.where, FILES) as text:
        listed = enumerate(objects(text, source.where, REMEDY), start=1)
        size = source.first
        while chunk := list(islice(listed, size)):
            size = CHUNK
            jobs = []
            for number, data in chunk:
                try:
                    jobs.append(_job(data) | {"row": number})
                except Flaw as flaw:
                    path, problem, remedy = flaw.args
                    path = f"job {number}, {path}"
                    raise InstanceError(source.where, path, problem, remedy) from None
            differing += sum(len(set(job["sizes"])) > 1 for job in jobs)
            partial += sum(job["uncounted"] for job in jobs)
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


def _rows(jobs: list[dict[str, Any]]) -> Rows:
    rows = empty(len(jobs))
    columns = rows.columns
    for name in ("row", "submit", "start", "elapsed"):
        columns[name] = np.array([job[name] for job in jobs])
    columns |= {name: vector([job[name] for job in jobs])["all"] for name in (*TEXTS, "unknown")}
    columns["cluster"] = columns["partition"].copy()
    columns["end"] = columns["start"] + columns["elapsed"]
    columns["gpus"] = np.array([job["sizes"][0] if job["sizes"] else 0 for job in jobs], float)
    columns["nodes"] = tuples([tuple(job["nodes"]) for job in jobs])
    columns["amounts"] = tuples([tuple(job["nodes"].values()) for job in jobs])
    return rows


def _job(data: JsonObject) -> dict[str, Any]:
    """Return what is known of a job; times are seconds, NaN if unknown.

    ``start`` and ``nodes`` are those of its first run, ``elapsed`` is for how long it held its
    GPUs, or ``unknown`` says why that is not known; ``sizes`` are the GPUs of each attempt that has
    any, ``uncounted`` is whether some attempts do not count.
    """
    known = {name: data.get(key) for name, key in TEXTS.items()}
    job = {n: None if v is None else str(v).strip() or None for n, v in known.items()}
    if job["id"] is None:
        raise Flaw("jobid", "is missing", "give every job its id")
    sizes: list[int] = []
    spans: list[tuple[float, float, Counter[str]]] = []
    ended = True
    attempts = _listed(data, "attempts")
    for i, attempt in enumerate(attempts):
        path = f"attempts[{i}]."
        held: Counter[str] = Counter()
        for k, server in enumerate(_listed(attempt, "detail", path)):
            gpus = _listed(server, "gpus", f"{path}detail[{k}].", object)
            held[str(server.get("ip") or "")] += len(gpus)
        sizes += [held.total()] if held.total() else []
        start, end = (_date(attempt, key, path) for key in ("start_time", "end_time"))
        ended = not np.isnan(end)
        if not np.isnan(end - start):
            spans.append((start, end, held))
    unknown = None
    for lacks, reason in (
        (not sizes, "without recorded GPUs"),
        (not spans, "without a start"),
        (not ended, "still running"),
        (not attempts, "never started"),
    ):
        unknown = reason if lacks else unknown
    lengths = [end - start for start, end, _ in spans]
    elapsed = np.nan
    if unknown is None:
        elapsed = sum(lengths) if min(lengths) >= 0 else min(lengths)
    first, _, held = spans[0] if spans else (np.nan, np.nan, Counter())
    return job | {
        "submit": _date(data, "submitted_time"),
        "start": first,
        "elapsed": elapsed,
        "unknown": unknown,
        "nodes": {name: gpus for name, gpus in held.items() if name and gpus},
        "sizes": sizes,
        "uncounted": unknown is None and len(spans) < len(attempts),
    }


def _listed(owner: JsonObject, key: str, path: str = "", kind: type = dict) -> list[Any]:
    """Return a list; a missing one is empty."""
    entries = owner.get(key)
    if entries is not None and not isinstance(entries, list):
        raise Flaw(path + key, "is not a list", REMEDY)
    if not all(isinstance(entry, kind) for entry in entries or ()):
        raise Flaw(path + key, "is not a list of objects", REMEDY)
    return entries or []


def _date(owner: JsonObject, key: str, path: str = "") -> float:
    """Return a moment in seconds since 1970; NaN if it was not recorded."""
    value = owner.get(key)
    text = str(value).strip()
    if text.lower() in MISSING:  # null is None, and NaN is nan
        return np.nan
    seconds, _ = date_of(text) if isinstance(value, str) else (np.nan, False)
    if np.isnan(seconds):
        problem = f"{brief(text)} is not a date"
        raise Flaw(path + key, problem, "write it as 2017-10-07 01:12:09")
    return seconds


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
