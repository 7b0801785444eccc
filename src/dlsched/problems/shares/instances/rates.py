"""Rates of models: files of Gavel's public code, flat ones made of them, and instances of these."""

from __future__ import annotations

import ast
import gzip
import json
import re
import zlib
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from dlsched.errors import InstanceError
from dlsched.problems.shares.definition.schema import Instance
from dlsched.schema import Flaw, Number, exact, shown, simplify, whole
from dlsched.schema.files import read_json, read_text

Like: TypeAlias = tuple[str, int]
"""A model, and the GPUs of its jobs."""

ALONE = ("job_type", "scale_factor", "iterations_per_second")
PAIRS = (
    "gpu",
    "scale_factor",
    "job_type",
    "beside",
    "iterations_per_second",
    "iterations_per_second_of_the_other",
)
_ISOLATED = "null"
_SCALED = re.compile(r"(.*) \(scale factor (\d+)\)", re.DOTALL)
_PAGE = "see docs/problems/shares.md"
_ROUNDING = 1e-6


class Rates(NamedTuple):
    """Iterations per second as exact numbers.

    Attributes
    ----------
    alone
        By model and GPUs of a job, then by type of GPU.
    beside
        By model, the model beside it, GPUs and type: the rates of both. Both orders are there.
    """

    alone: Mapping[Like, Mapping[str, Number]]
    beside: Mapping[tuple[str, str, int, str], tuple[Number, Number]]


def from_rates(
    rates: Rates,
    gpus: Mapping[str, int],
    jobs: Mapping[str, Mapping[str, Any]],
    *,
    sharing: bool = True,
    **fields: Any,
) -> Instance:
    """Return an instance of jobs that run models with known rates.

    Parameters
    ----------
    gpus
        GPUs of each type.
    jobs
        By id, the fields of each job: its ``model``, ``gpus`` (1 by default), and others of `Job`.
    sharing
        Whether two jobs may share GPUs.
    **fields
        Of the instance, as ``objective``; ``name`` is "unnamed" by default.
    """
    likes = {name: (job["model"], job.get("gpus", 1)) for name, job in jobs.items()}
    for name, like in likes.items():
        if like not in rates.alone:
            problem = f"there are no rates of {like[0]!r} on {like[1]} GPUs"
            raise InstanceError("jobs", f"[{name!r}]", problem, "add them, or leave the job out")
    ids = {like: f"{like[0]} x{like[1]}" for like in dict.fromkeys(likes.values())}
    models = [
        {"id": label, "gpus": like[1], "rates": _on(rates.alone[like], gpus)}
        for like, label in ids.items()
    ]
    pairs = [
        {"models": (ids[a, scale], ids[b, scale]), "type": kind, "rates": both}
        for (a, b, scale, kind), both in (rates.beside.items() if sharing else ())
        if kind in gpus and (a, scale) in ids and (b, scale) in ids and a <= b
    ]
    rows = [
        {"id": name}
        | {key: entry for key, entry in job.items() if key != "gpus"}
        | {"model": ids[likes[name]]}
        for name, job in jobs.items()
    ]
    plain = {"name": "unnamed", "gpus": dict(gpus), "models": models, "pairs": pairs, "jobs": rows}
    return Instance(**plain | fields)


def _on(rates: Mapping[str, Number], gpus: Mapping[str, int]) -> dict[str, Number]:
    return {kind: rate for kind, rate in rates.items() if kind in gpus}


def read_rates(isolated: str | Path, colocated: str | Path | None = None) -> Rates:
    """Read iterations per second of jobs alone, and of pairs of jobs on the same GPUs.

    Files are plain or gzip.

    Parameters
    ----------
    isolated
        A file of Gavel's public code (stanford-futuredata/gavel, ``scheduler/*throughputs*.json``),
        which has both: ``{gpu: {job: {"null": rate, other: [rate, rate_of_other]}}}``. A job is
        ``"('job type', scale factor)"``, ``"job type (scale factor 2)"``, or a job type alone, of
        scale 1. Or a list of ``{"job_type", "scale_factor", "iterations_per_second"}``, the last
        of which is ``{gpu: rate}``.
    colocated
        Of such a list, the pairs: a JSON object with ``columns`` and ``rows``; its columns are
        ``gpu, scale_factor, job_type, beside, iterations_per_second,
        iterations_per_second_of_the_other``, in any order. Without it no GPUs are shared.

    Returns
    -------
    Rates
        By (model, GPUs), where the model is the job type. Types of GPU are called as in the file.
        A rate beside another job that differs from that alone by less than 0.000001 is taken to be
        equal to it **(D)**: flat files have rates alone with six decimals, and pairs with more.
        Pairs of different scales are left out **(D)**: only jobs of one scale share GPUs.

    Raises
    ------
    InstanceError
        If a file cannot be read, a field or column is missing or unknown, a rate is no number
        from 0, or the two orders of a pair disagree; if pairs are given twice.
    """
    path = Path(isolated)
    if _is_nested(path):
        if colocated is not None:
            problem = f"has pairs, and so has {colocated}"
            raise InstanceError(str(isolated), "", problem, "give one file")
        return _rates(*_nested(path), str(isolated), str(isolated))
    alone = _alone(path)
    pairs = {} if colocated is None else dict(_pairs(Path(colocated)))
    return _rates(alone, pairs, str(isolated), str(colocated))


def _alone(path: Path) -> dict[tuple[Any, Any], Any]:
    alone: dict[tuple[Any, Any], Any] = {}
    for i, row in enumerate(_rows(path)):
        if not isinstance(row, dict) or set(row) != set(ALONE):
            problem = "does not have exactly the fields " + ", ".join(ALONE)
            raise InstanceError(str(path), f"[{i}]", problem, _PAGE)
        key = row["job_type"], row["scale_factor"]
        if key in alone:
            raise InstanceError(str(path), f"[{i}]", f"{key!r} stands twice", "keep one of the two")
        alone[key] = row["iterations_per_second"]
    return alone


def _rates(
    alone: Mapping[Any, Any], pairs: Mapping[Any, Any], where: str, where_pairs: str
) -> Rates:
    """Return rates as exact numbers; errors name the file."""
    known: dict[Like, dict[str, Number]] = {}
    for (model, scale), rates in alone.items():
        place = f"[{model!r}, {scale!r}]"
        like = str(model), _number(whole, scale, where, place)
        known[like] = {k: _number(exact, r, where, place) for k, r in rates.items()}
    beside: dict[tuple[str, str, int, str], tuple[Number, Number]] = {}
    for (model, other, scale, gpu), rates in pairs.items():
        place = f"[{model!r}, {other!r}, {scale!r}, {gpu!r}]"
        if (model, scale) not in known or (other, scale) not in known:
            raise InstanceError(where_pairs, place, "has no rates alone", "add them")
        read = [_number(exact, rate, where_pairs, place) for rate in rates]
        own = [known[name, scale].get(gpu, 0) for name in (model, other)]
        ours, theirs = (
            a if abs(float(a) - float(b)) < _ROUNDING else b for a, b in zip(own, read, strict=True)
        )
        if model == other:
            ours = theirs = simplify(Fraction(ours + theirs) / 2)
        if beside.setdefault((other, model, scale, gpu), (theirs, ours)) != (theirs, ours):
            raise InstanceError(where_pairs, place, "differs in the other order", "keep one")
        if ours and theirs:
            beside[model, other, scale, gpu] = ours, theirs
    return Rates(known, {key: both for key, both in beside.items() if all(both)})


def _number(read: Callable[[object], Any], value: object, where: str, place: str) -> Any:
    try:
        number = read(value)
    except Flaw as flaw:
        raise InstanceError(where, place, flaw.problem, flaw.remedy) from None
    if number < 0:
        raise InstanceError(where, place, f"{shown(value)} is negative", "use a number from 0")
    return number


def _rows(path: Path) -> list[Any]:
    text = read_text(path, opening="")
    try:
        rows = json.loads(text)
    except json.JSONDecodeError as error:
        raise InstanceError(str(path), "", f"is not JSON ({error})", "correct it there") from None
    if not isinstance(rows, list):
        raise InstanceError(str(path), "", "is no list of rates", _PAGE)
    return rows


def _pairs(path: Path) -> Iterator[tuple[tuple[Any, ...], tuple[Any, Any]]]:
    data, where = read_json(path), str(path)
    columns, rows = data.get("columns"), data.get("rows")
    if not isinstance(columns, list) or not isinstance(rows, list):
        raise InstanceError(where, "", "has no columns and rows", _PAGE)
    if sorted(map(str, columns)) != sorted(PAIRS):
        problem = f"are {', '.join(map(str, columns))}, not {', '.join(PAIRS)}"
        raise InstanceError(where, "columns", problem, _PAGE)
    place = {name: columns.index(name) for name in PAIRS}
    seen = set()
    for i, row in enumerate(rows):
        if not isinstance(row, list) or len(row) != len(PAIRS):
            raise InstanceError(where, f"rows[{i}]", f"has not {len(PAIRS)} entries", _PAGE)
        gpu, scale, model, other, rate, rate_of_other = (row[place[name]] for name in PAIRS)
        key = (model, other, scale, gpu)
        if not all(isinstance(name, str) for name in (gpu, model, other)) or key in seen:
            raise InstanceError(where, f"rows[{i}]", "names no pair, or one twice", _PAGE)
        seen.add(key)
        yield key, (rate, rate_of_other)


def _is_nested(path: Path) -> bool:
    """Whether a file, plain or gzip, holds an object; of one that cannot be read, false."""
    try:
        with path.open("rb") as raw:
            packed = raw.read(2) == b"\x1f\x8b"
        with gzip.open(path) if packed else path.open("rb") as stream:
            head: bytes = stream.read(4096)
    except (OSError, EOFError, ValueError, zlib.error):
        return False
    return head.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"{")


def _nested(path: Path) -> tuple[dict[tuple[str, int], Any], dict[tuple[Any, ...], Any]]:
    """Return rates alone by (job type, scale), and of pairs of one scale."""
    alone: dict[tuple[str, int], dict[str, Any]] = {}
    pairs: dict[tuple[Any, ...], tuple[Any, Any]] = {}
    where = str(path)
    for gpu, jobs in read_json(path).items():
        for job, rates in _object(jobs, where, f"[{gpu!r}]").items():
            place = f"[{gpu!r}][{job!r}]"
            model, scale = _job_of(job)
            known = alone.setdefault((model, scale), {})
            if gpu in known:
                problem = f"{model!r} of scale {scale} stands twice"
                raise InstanceError(where, place, problem, "keep one of the two")
            known[gpu] = 0
            for other, rate in _object(rates, where, place).items():
                if other == _ISOLATED:
                    known[gpu] = rate
                    continue
                if not isinstance(rate, list) or len(rate) != 2:
                    problem = "is not [rate, rate of the other]"
                    raise InstanceError(where, f"{place}[{other!r}]", problem, _PAGE)
                beside, its_scale = _job_of(other)
                if its_scale == scale:
                    pairs[model, beside, scale, gpu] = rate[0], rate[1]
    return alone, pairs


def _job_of(name: str) -> tuple[str, int]:
    """Return job type and scale factor of a job's name in these files."""
    if name.startswith("("):
        try:
            parts = ast.literal_eval(name)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            parts = None
        if isinstance(parts, tuple) and list(map(type, parts)) == [str, int]:
            return parts[0], parts[1]
    scaled = _SCALED.fullmatch(name)
    return (scaled[1], int(scaled[2])) if scaled else (name, 1)


def _object(value: Any, where: str, place: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InstanceError(where, place, "is no object of rates", _PAGE)
    return value
