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

import json
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from typing import Any, Final, TextIO

import numpy as np

from dlsched.errors import InstanceError
from dlsched.records.readers import files
from dlsched.records.readers.files import open_text
from dlsched.records.readers.format import Source, TraceFormat
from dlsched.records.readers.rows import Rows, empty, objects
from dlsched.records.readers.table import CHUNK
from dlsched.records.readers.values import MISSING, counted, date_of
from dlsched.schema.files import JsonObject
from dlsched.schema.flaws import brief

FILES: Final = ("cluster_job_log",)
PIECE: Final = 2**20
"""Characters that are read at a time; no object may be longer."""
_SEPARATORS: Final = " \t\r\n,"
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
        listed = enumerate(_objects(text, source.where), start=1)
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
    columns |= {name: objects([job[name] for job in jobs]) for name in (*TEXTS, "unknown")}
    columns["cluster"] = columns["partition"].copy()
    columns["end"] = columns["start"] + columns["elapsed"]
    columns["gpus"] = np.array([job["sizes"][0] if job["sizes"] else 0 for job in jobs], float)
    columns["nodes"] = objects([tuple(job["nodes"]) for job in jobs])
    columns["amounts"] = objects([tuple(job["nodes"].values()) for job in jobs])
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


def _objects(text: TextIO, where: str) -> Iterator[JsonObject]:
    """Yield the objects of a list, or of JSON lines; no more than one piece is in memory.

    Not by ijson: it would be a dependency of every installation for one format, knows no number of
    the job for an error, and takes 1.2 times as long for 200,000 jobs.
    """
    decode = json.JSONDecoder().raw_decode
    count = 1
    rest = _more(text, "")
    is_list = rest.startswith("[")
    rest = _more(text, rest[is_list:])

    def flaw(problem: str, what: str) -> InstanceError:
        return InstanceError(where, f"job {count}", problem, what)

    cut_off = "the file ends in the middle of the list", "copy or download it again"
    while rest.startswith("{"):
        try:
            value, end = decode(rest)
        except json.JSONDecodeError as error:
            chunk = text.read(PIECE) if len(rest) <= PIECE else ""
            if chunk:
                rest += chunk
                continue
            ended = error.pos >= len(rest.rstrip()) or error.msg.startswith("Unterminated")
            if ended and len(rest) <= PIECE:
                raise flaw(*cut_off) from None
            near = brief(" ".join(rest[error.pos : error.pos + 60].split()))
            problem = f"is not JSON ({error.msg.lower()} at {near!r})"
            raise flaw(problem, "correct it there") from None
        except RecursionError:
            raise flaw("is nested too deeply", "correct it") from None
        yield value
        count += 1
        if count > files.MOST_ROWS:
            raise files.too_many(where, files.MOST_ROWS, "jobs")
        rest = _more(text, rest[end:])
    if rest and not (is_list and rest[0] == "]"):
        raise flaw("is not a JSON object", REMEDY)
    if is_list and not rest:
        raise flaw(*cut_off)
    if _more(text, rest[1:]):
        raise flaw("comes after the end of the list", "write one list, or one object per line")


def _more(text: TextIO, rest: str) -> str:
    """Return what is left to read from the first character on that is no separator."""
    rest = rest.lstrip(_SEPARATORS)
    while not rest and (chunk := text.read(PIECE)):
        rest = chunk.lstrip(_SEPARATORS)
    return rest


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
