"""Reading throughput files: those of Gavel's public code, and flat ones made from them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

from dlsched.errors import InstanceError
from dlsched.problems.shares.nested import is_nested, read_nested
from dlsched.problems.shares.rates import Rates
from dlsched.schema.files import read_json, read_text

ALONE = ("job_type", "scale_factor", "iterations_per_second")
PAIRS = (
    "gpu",
    "scale_factor",
    "job_type",
    "beside",
    "iterations_per_second",
    "iterations_per_second_of_the_other",
)
_PAGE = "see docs/gavel.md"
_ROUNDING = 1e-6


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
        By (model, scale), where the model is the job type. Types of GPU are called as in the file.
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
    if is_nested(path):
        if colocated is not None:
            problem = f"has pairs, and so has {colocated}"
            raise InstanceError(str(isolated), "", problem, "give one file")
        return _rates(*read_nested(path), str(isolated), str(isolated))
    alone = _alone(path)
    pairs = None if colocated is None else dict(_pairs(Path(colocated)))
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
    alone: Mapping[Any, Any], pairs: Mapping[Any, Any] | None, where: str, where_pairs: str
) -> Rates:
    """Return rates; errors name the file."""
    try:
        rates = Rates.of(alone)
    except InstanceError as error:
        raise InstanceError(where, error.path, error.problem, error.remedy) from None
    if not pairs:
        return rates
    try:
        return Rates.of(rates, {key: _equal(rates, key, both) for key, both in pairs.items()})
    except InstanceError as error:
        raise InstanceError(where_pairs, error.path, error.problem, error.remedy) from None


def _equal(rates: Rates, key: tuple[Any, ...], both: tuple[Any, Any]) -> tuple[Any, Any]:
    """Return a pair's rates, those equal to the rate alone up to rounding replaced by it."""
    model, other, scale, gpu = key
    equal = list(both)
    for i, name in enumerate((model, other)):
        alone = rates.rate(name, scale, gpu)
        if (
            isinstance(equal[i], (float, Fraction))
            and abs(float(equal[i]) - float(alone)) < _ROUNDING
        ):
            equal[i] = alone
    return equal[0], equal[1]


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
