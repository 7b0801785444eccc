"""Rates of models: files of Gavel's public code, and instances of these."""

import ast
import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypeAlias

from pydantic import PlainValidator

from dlsched.errors import InstanceError
from dlsched.problems.shares.definition.schema import Instance
from dlsched.schema import (
    Amount,
    Document,
    Flaw,
    FrozenDict,
    Id,
    Number,
    PositiveCount,
    exact,
    shown,
    simplify,
)
from dlsched.schema.files import read_text

Like: TypeAlias = tuple[str, int]
"""A model, and the GPUs of its jobs."""
PairAt: TypeAlias = tuple[str, str, int, str]
"""A model, the model beside it, the GPUs of their jobs, and the type of these."""

_ISOLATED = "null"
_SCALED = re.compile(r"(.*) \(scale factor (\d+)\)", re.DOTALL)


class Rates(NamedTuple):
    """Iterations per second as exact numbers."""

    alone: Mapping[Like, Mapping[str, Number]]
    """By model and GPUs of a job, then by type of GPU."""
    beside: Mapping[PairAt, tuple[Number, Number]]
    """By model, the model beside it, GPUs and type: the rates of both. Both orders are there."""


def from_rates(
    rates: Rates,
    gpus: Mapping[str, int],
    jobs: Mapping[str, Mapping[str, Any]],
    **fields: Any,
) -> Instance:
    """Return an instance of jobs that run models with known rates.

    Parameters
    ----------
    gpus
        GPUs of each type.
    jobs
        By id, the fields of each job: its ``model``, ``gpus`` (1 by default), and others of `Job`.
    **fields
        Of the instance, as ``objective``; ``name`` is "unnamed" by default.
    """
    likes = {name: (job["model"], job.get("gpus", 1)) for name, job in jobs.items()}
    for name, like in likes.items():
        if like not in rates.alone:
            problem = f"there are no rates of {like[0]!r} on {like[1]} GPUs"
            raise InstanceError("jobs", f"[{name!r}]", problem, "add them, or leave the job out")
    ids = {like: f"{like[0]} x{like[1]}" for like in dict.fromkeys(likes.values())}
    on = {like: {k: r for k, r in rates.alone[like].items() if k in gpus} for like in ids}
    models = [{"id": label, "gpus": like[1], "rates": on[like]} for like, label in ids.items()]
    pairs = [
        {"models": (ids[a, scale], ids[b, scale]), "type": kind, "rates": both}
        for (a, b, scale, kind), both in rates.beside.items()
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


def read_rates(path: str | Path) -> Rates:
    """Read iterations per second of jobs alone, and of pairs of jobs on the same GPUs.

    Parameters
    ----------
    path
        A file of Gavel's public code (stanford-futuredata/gavel, ``scheduler/*throughputs*.json``),
        plain or gzip: ``{gpu: {job: {"null": rate, other: [rate, rate_of_other]}}}``. A job is
        ``"('job type', scale factor)"``, ``"job type (scale factor 2)"``, or a job type alone, of
        scale 1. Or a list of ``{"job_type", "scale_factor", "iterations_per_second"}``, the last
        of which is ``{gpu: rate}``; then there are no pairs.

    Returns
    -------
    Rates
        By job type and GPUs. A rate beside another job that differs from that alone by less than
        0.000001 is taken to be equal to it **(D)**: flat files have rates alone with six decimals,
        and pairs with more. Pairs of different scales are left out **(D)**: only jobs of one scale
        share GPUs.

    Raises
    ------
    InstanceError
        If the file cannot be read, a field is missing or unknown, a rate is no number from 0, or
        the two orders of a pair disagree.
    """
    where = str(path)
    try:
        data = json.loads(read_text(Path(path), opening=""))
    except json.JSONDecodeError as error:
        raise InstanceError(where, "", f"is not JSON ({error})", "correct it there") from None
    file = _File.parse({"rows" if isinstance(data, list) else "types": data}, where)
    alone = defaultdict[Like, dict[str, Number]](dict)
    for like, kind, rate in _alone(file):
        if kind in alone[like]:
            problem = f"{like[0]!r} of scale {like[1]} stands twice"
            raise InstanceError(where, repr(kind), problem, "keep one of the two")
        alone[like][kind] = rate
    return Rates(dict(alone), _in_both_orders(alone, dict(_pairs(file)), where))


class _Row(Document):
    """Rates alone, of a list."""

    job_type: Id
    scale_factor: PositiveCount
    iterations_per_second: dict[Id, Amount]


def _of_a_job(value: object) -> dict[str, Any]:
    """Read the rate of a job alone, and pairs of rates by the job beside it."""
    if not isinstance(value, dict):
        raise Flaw((), "is no object of rates", "write {...}")
    read: dict[str, Any] = {}
    for other, entry in value.items():
        pair = other != _ISOLATED
        if pair and not (isinstance(entry, list) and len(entry) == 2):
            raise Flaw((other,), "is not [rate, rate of the other]", "write both")
        rates = tuple(map(exact, entry if pair else [entry]))
        if min(rates) < 0:
            raise Flaw((other,), f"{shown(entry)} is negative", "use numbers from 0")
        read[other] = rates if pair else rates[0]
    return read


class _File(Document):
    """A file of either kind: a list, or by type of GPU and job."""

    rows: tuple[_Row, ...] = ()
    types: Mapping[Id, dict[Id, Annotated[dict[str, Any], PlainValidator(_of_a_job)]]] = (
        FrozenDict()
    )


def _alone(file: _File) -> Iterator[tuple[Like, str, Number]]:
    """Yield rates alone, by model and type; 0 where a file by type has none."""
    for row in file.rows:
        for kind, rate in row.iterations_per_second.items():
            yield (row.job_type, row.scale_factor), kind, rate
    for kind, jobs in file.types.items():
        for job, rates in jobs.items():
            yield _job_of(job), kind, rates.get(_ISOLATED, 0)


def _pairs(file: _File) -> Iterator[tuple[PairAt, tuple[Number, Number]]]:
    """Yield the rates of pairs of one scale, as they are in the file."""
    for kind, jobs in file.types.items():
        for (job, rates), other in ((row, other) for row in jobs.items() for other in row[1]):
            model, scale = _job_of(job)
            beside, its_scale = _job_of(other)
            if other != _ISOLATED and its_scale == scale:
                yield (model, beside, scale, kind), rates[other]


def _in_both_orders(
    alone: Mapping[Like, Mapping[str, Number]],
    pairs: Mapping[PairAt, tuple[Number, Number]],
    where: str,
) -> dict[PairAt, tuple[Number, Number]]:
    """Return the rates of pairs that can run, in both orders."""
    beside: dict[PairAt, tuple[Number, Number]] = {}
    for key, read in pairs.items():
        model, other, scale, kind = key
        if (model, scale) not in alone or (other, scale) not in alone:
            raise InstanceError(where, repr(key), "has no rates alone", "add them")
        own = [alone[name, scale].get(kind, 0) for name in (model, other)]
        ours, theirs = (
            a if abs(float(a) - float(b)) < 1e-6 else b for a, b in zip(own, read, strict=True)
        )
        if model == other:
            ours = theirs = simplify(Fraction(ours + theirs) / 2)
        if beside.setdefault((other, model, scale, kind), (theirs, ours)) != (theirs, ours):
            raise InstanceError(where, repr(key), "differs in the other order", "keep one")
        beside[key] = ours, theirs
    return {key: both for key, both in beside.items() if all(both)}


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
