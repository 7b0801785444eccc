"""Rates of models: files of Gavel's public code, and instances of these."""

from __future__ import annotations

import ast
import json
import re
from collections import defaultdict
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

ALONE = {"job_type", "scale_factor", "iterations_per_second"}
"""Fields of a row of a list of rates."""
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
    on = {like: {k: r for k, r in rates.alone[like].items() if k in gpus} for like in ids}
    models = [{"id": label, "gpus": like[1], "rates": on[like]} for like, label in ids.items()]
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
        By (model, GPUs), where the model is the job type. Types of GPU are called as in the file.
        A rate beside another job that differs from that alone by less than 0.000001 is taken to be
        equal to it **(D)**: flat files have rates alone with six decimals, and pairs with more.
        Pairs of different scales are left out **(D)**: only jobs of one scale share GPUs.

    Raises
    ------
    InstanceError
        If the file cannot be read, a field is missing or unknown, a rate is no number from 0, or
        the two orders of a pair disagree.
    """
    reading = _Reading(str(path))
    text = read_text(Path(path), opening="")
    try:
        data = json.loads(text)
    except json.JSONDecodeError as error:
        raise reading.error("", f"is not JSON ({error})", "correct it there") from None
    if isinstance(data, list):
        reading.add_rows(data)
    else:
        reading.add_types(reading.object(data, ""))
    return reading.rates()


class _Reading:
    """The rates of a file as they are read."""

    def __init__(self, where: str) -> None:
        self.where = where
        self.alone = defaultdict[Like, dict[str, Number]](dict)
        self.pairs: dict[tuple[str, str, int, str], list[Number]] = {}

    def error(self, place: str, problem: str, remedy: str = _PAGE) -> InstanceError:
        """Return what is wrong at a place of the file."""
        return InstanceError(self.where, place, problem, remedy)

    def add_rows(self, rows: list[Any]) -> None:
        """Add the rates of a list, all alone."""
        for i, row in enumerate(rows):
            place = f"[{i}]"
            if not isinstance(row, dict) or set(row) != ALONE:
                problem = "does not have exactly the fields " + ", ".join(sorted(ALONE))
                raise self.error(place, problem)
            scale: int = self.number(row["scale_factor"], place, whole)
            for kind, rate in self.object(row["iterations_per_second"], place).items():
                self._add((str(row["job_type"]), scale), kind, rate, place)

    def add_types(self, types: dict[str, Any]) -> None:
        """Add the rates by type of GPU and job."""
        for kind, jobs in types.items():
            for job, rates in self.object(jobs, f"[{kind!r}]").items():
                place = f"[{kind!r}][{job!r}]"
                others = dict(self.object(rates, place))
                like = _job_of(job)
                self._add(like, kind, others.pop(_ISOLATED, 0), place)
                for other, both in others.items():
                    self._add_pair(like, _job_of(other), kind, both, f"{place}[{other!r}]")

    def _add(self, like: Like, kind: str, rate: Any, place: str) -> None:
        if kind in self.alone[like]:
            problem = f"{like[0]!r} of scale {like[1]} stands twice"
            raise self.error(place, problem, "keep one of the two")
        self.alone[like][kind] = self.number(rate, place)

    def _add_pair(self, like: Like, other: Like, kind: str, both: Any, place: str) -> None:
        if not isinstance(both, list) or len(both) != 2:
            raise self.error(place, "is not [rate, rate of the other]")
        (model, scale), (beside, its_scale) = like, other
        if its_scale == scale:
            self.pairs[model, beside, scale, kind] = [self.number(rate, place) for rate in both]

    def number(self, value: object, place: str, read: Callable[[object], Any] = exact) -> Any:
        """Return an exact number from 0."""
        try:
            number = read(value)
        except Flaw as flaw:
            raise self.error(place, flaw.problem, flaw.remedy) from None
        if number < 0:
            raise self.error(place, f"{shown(value)} is negative", "use a number from 0")
        return number

    def object(self, value: Any, place: str) -> dict[str, Any]:
        """Return a JSON object."""
        if not isinstance(value, dict):
            raise self.error(place, "is no object of rates")
        return value

    def rates(self) -> Rates:
        """Return all rates, of pairs in both orders."""
        beside: dict[tuple[str, str, int, str], tuple[Number, Number]] = {}
        for (model, other, scale, kind), read in self.pairs.items():
            place = f"[{model!r}, {other!r}, {scale!r}, {kind!r}]"
            if (model, scale) not in self.alone or (other, scale) not in self.alone:
                raise self.error(place, "has no rates alone", "add them")
            own = [self.alone[name, scale].get(kind, 0) for name in (model, other)]
            ours, theirs = (
                a if abs(float(a) - float(b)) < _ROUNDING else b
                for a, b in zip(own, read, strict=True)
            )
            if model == other:
                ours = theirs = simplify(Fraction(ours + theirs) / 2)
            if beside.setdefault((other, model, scale, kind), (theirs, ours)) != (theirs, ours):
                raise self.error(place, "differs in the other order", "keep one")
            beside[model, other, scale, kind] = ours, theirs
        return Rates(dict(self.alone), {key: both for key, both in beside.items() if all(both)})


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
