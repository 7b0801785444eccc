"""Reading Gavel's published throughput files."""

from __future__ import annotations

import json
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

from dlsched.errors import InstanceError
from dlsched.files import read_json
from dlsched.gavel.rates import Rates

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

    Parameters
    ----------
    isolated
        A JSON list of ``{"job_type", "scale_factor", "iterations_per_second": {gpu: rate}}``.
    colocated
        A JSON object, plain or gzip, with ``columns`` and ``rows``; its columns are ``gpu,
        scale_factor, job_type, beside, iterations_per_second, iterations_per_second_of_the_other``,
        in any order. Without it no GPUs are shared.

    Returns
    -------
    Rates
        By (model, scale), where the model is the job type. Types of GPU are called as in the file.
        A rate beside another job that differs from that alone by less than 0.000001 is taken to be
        equal to it **(D)**: the files have rates alone with six decimals, and pairs with more.

    Raises
    ------
    InstanceError
        If a file cannot be read, a field or column is missing or unknown, or a rate is no number
        from 0.
    """
    alone: dict[tuple[str, int], dict[str, float]] = {}
    where = str(isolated)
    for i, row in enumerate(_rows(Path(isolated))):
        if not isinstance(row, dict) or set(row) != set(ALONE):
            problem = "does not have exactly the fields " + ", ".join(ALONE)
            raise InstanceError(where, f"[{i}]", problem, _PAGE)
        key = row["job_type"], row["scale_factor"]
        if key in alone:
            raise InstanceError(where, f"[{i}]", f"{key!r} stands twice", "keep one of the two")
        alone[key] = row["iterations_per_second"]
    pairs = None if colocated is None else dict(_pairs(Path(colocated)))
    try:
        found = Rates.of(alone)
    except InstanceError as error:
        raise InstanceError(where, error.path, error.problem, error.remedy) from None
    if pairs is None:
        return found
    try:
        return Rates.of(found, {key: _equal(found, key, both) for key, both in pairs.items()})
    except InstanceError as error:
        raise InstanceError(str(colocated), error.path, error.problem, error.remedy) from None


def _equal(rates: Rates, key: tuple[Any, ...], both: tuple[Any, Any]) -> tuple[Any, Any]:
    """Return a pair's rates, those equal to the rate alone up to rounding replaced by it."""
    model, other, scale, gpu = key
    found = list(both)
    for i, name in enumerate((model, other)):
        alone = rates.rate(name, scale, gpu)
        if (
            isinstance(found[i], (float, Fraction))
            and abs(float(found[i]) - float(alone)) < _ROUNDING
        ):
            found[i] = alone
    return found[0], found[1]


def _rows(path: Path) -> list[Any]:
    try:
        rows = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        said = (error.strerror or str(error)).lower()
        raise InstanceError(str(path), "", f"cannot be read: {said}", "check the path") from None
    except ValueError as error:
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
    at = {name: columns.index(name) for name in PAIRS}
    seen = set()
    for i, row in enumerate(rows):
        if not isinstance(row, list) or len(row) != len(PAIRS):
            raise InstanceError(where, f"rows[{i}]", f"has not {len(PAIRS)} entries", _PAGE)
        gpu, scale, model, other, rate, rate_of_other = (row[at[name]] for name in PAIRS)
        key = (model, other, scale, gpu)
        if not all(isinstance(name, str) for name in (gpu, model, other)) or key in seen:
            raise InstanceError(where, f"rows[{i}]", "names no pair, or one twice", _PAGE)
        seen.add(key)
        yield key, (rate, rate_of_other)
