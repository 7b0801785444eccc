"""Rates of models: files of Gavel's public code, flat ones made of them, and instances of these."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from dlsched.errors import InstanceError
from dlsched.problems.shares.definition.schema import Instance
from dlsched.schema import Flaw, Number, exact, shown, simplify, whole
from dlsched.schema.files import read_text

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
    where, data = str(isolated), _parsed(isolated)
    if not isinstance(data, dict):
        pairs = {} if colocated is None else _pairs(_parsed(colocated), str(colocated))
        return _rates(_alone(data, where), pairs, where, str(colocated))
    if colocated is not None:
        raise InstanceError(where, "", f"has pairs, and so has {colocated}", "give one file")
    return _rates(*_nested(data, where), where, where)


def _parsed(path: str | Path) -> Any:
    text = read_text(Path(path), opening="")
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise InstanceError(str(path), "", f"is not JSON ({error})", "correct it there") from None


def _alone(rows: Any, where: str) -> dict[Any, Any]:
    if not isinstance(rows, list):
        raise InstanceError(where, "", "is no list of rates", _PAGE)
    for i, row in enumerate(rows):
        if not isinstance(row, dict) or set(row) != set(ALONE):
            problem = "does not have exactly the fields " + ", ".join(ALONE)
            raise InstanceError(where, f"[{i}]", problem, _PAGE)
    return _unlike([([row[name] for name in ALONE[:2]], row[ALONE[2]]) for row in rows], where)


def _pairs(data: Any, where: str) -> dict[Any, Any]:
    try:
        place = [data["columns"].index(name) for name in PAIRS]
        rows = [[row[k] for k in place] for row in data["rows"]]
    except (AttributeError, IndexError, KeyError, TypeError, ValueError):
        problem = f"has no columns {', '.join(PAIRS)}, or no rows of them"
        raise InstanceError(where, "", problem, _PAGE) from None
    order = ((model, other, scale, gpu) for gpu, scale, model, other, *_ in rows)
    return _unlike(list(zip(order, (row[4:] for row in rows), strict=True)), where)


def _unlike(entries: list[tuple[Any, Any]], where: str) -> dict[Any, Any]:
    """Return entries by their keys; raise `InstanceError` if one stands twice."""
    found: dict[Any, Any] = {}
    for key, entry in entries:
        if tuple(key) in found:
            raise InstanceError(where, str(list(key)), "stands twice", "keep one of the two")
        found[tuple(key)] = entry
    return found


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


def _nested(data: Any, where: str) -> tuple[dict[Like, Any], dict[tuple[Any, ...], Any]]:
    """Return rates alone by (job type, scale), and of pairs of one scale."""
    alone: dict[tuple[str, int], dict[str, Any]] = {}
    pairs: dict[tuple[Any, ...], tuple[Any, Any]] = {}
    for gpu, jobs in data.items():
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
