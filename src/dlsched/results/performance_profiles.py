"""Rows of runs as profiles and growth: how runs ended, gaps, times to proof, time by size."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dlsched.results.result import Status, Termination

Row: TypeAlias = Mapping[str, Any]
"""A row with the columns of `dlsched.display.table.COLUMNS`; missing ones count as ``None``."""
_ENOUGH_SIZES = 3


class Steps(NamedTuple):
    """A profile: values in ascending order, and the share of the runs up to each value."""

    values: NDArray[Any]
    shares: NDArray[Any]


def label_of(row: Row) -> str:
    """Return a row's method with its options, and the variant that it solves, as tables name it."""
    options = row.get("options") or "{}"
    label = str(row["method"]) if options == "{}" else f"{row['method']} {options}"
    return f"{label} on {row['variant']}" if row.get("variant") else label


def by_label(rows: Iterable[Row]) -> dict[str, list[Row]]:
    """Return the rows by method, in their order."""
    groups: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        groups[label_of(row)].append(row)
    return dict(groups)


def ending(row: Row) -> str:
    """Return how a run ended: proven, limit, feasible, bound only, no solution, failed.

    What another package's method only claims to be optimal or infeasible is not proven.
    """
    status = row["status"]
    ended = row.get("termination")
    refuted = row.get("refuted") and status in (Status.OPTIMAL, Status.INFEASIBLE)
    if status not in list(Status) or refuted or ended == Termination.REFUTED:
        return "failed"
    if status == Status.OPTIMAL:
        return "feasible" if ended == Termination.CLAIMED else "proven"
    if ended == Termination.TIME_LIMIT:
        return "limit"
    if status == Status.FEASIBLE:
        return "feasible"
    if status == Status.NO_SOLUTION and row.get("kind") in ("bound", "reference"):
        return "bound only"
    return "no solution"


def _place(row: Row) -> tuple[Any, ...]:
    instance = row.get("instance_sha256") or row.get("source") or row.get("instance")
    return instance, row.get("seed") or 0, row.get("repetition") or 0


def time_profile(rows: Iterable[Row]) -> dict[str, Steps]:
    """Return per exact method its performance profile over the time to proof.

    The profile is the share of runs proven within a factor of the fastest proof for the same
    instance and seed; it never counts unproven runs (Dolan and Moré, Math. Programming 2002).

    Returns
    -------
    dict
        ``{method: (factors, shares)}``, both of the same length, the first factor 1.
    """
    seconds: dict[str, dict[Any, float]] = defaultdict(dict)
    for row in rows:
        proven = ending(row) == "proven"
        if row.get("kind") == "exact" or proven:
            seconds[label_of(row)].setdefault(_place(row), np.inf)
        if proven:
            seconds[label_of(row)][_place(row)] = row["seconds"]
    places = sorted({place for by_place in seconds.values() for place in by_place})
    profile = {}
    fastest = {
        place: min(by_place.get(place, np.inf) for by_place in seconds.values()) for place in places
    }
    solved = [place for place in places if fastest[place] < np.inf]
    for label, by_place in seconds.items():
        ratios = np.sort([by_place.get(place, np.inf) / fastest[place] for place in solved])
        finite = ratios[ratios < np.inf]
        counts = np.arange(len(finite) + 1)
        counts[0] = np.sum(finite <= 1)
        factors = np.concatenate([[1.0], finite])
        profile[label] = Steps(factors, counts / max(1, len(places)))
    return profile


def gaps_of(rows: Iterable[Row], level: str) -> list[float]:
    """Return the gaps to the best bound known at a level, of the runs that have one."""
    gaps = [row.get(f"{level}_gap_to_best") for row in rows]
    return [float(gap) for gap in gaps if gap is not None]


def gap_profile(rows: Iterable[Row], level: str) -> dict[str, Steps]:
    """Return per method the share of its runs within each gap; runs without a gap are in no share.

    Returns
    -------
    dict
        ``{method: (gaps, shares)}``, gaps in ascending order.
    """
    profile = {}
    for label, group in by_label(rows).items():
        gaps = np.sort(gaps_of(group, level))
        counts = np.arange(1, len(gaps) + 1)
        profile[label] = Steps(gaps, counts / len(group))
    return profile


@dataclass(frozen=True)
class Fit:
    """A linear regression y = intercept + slope * x; ``error`` is the slope's standard error."""

    intercept: float
    slope: float
    error: float
    runs: int


def growth(rows: Iterable[Row]) -> Fit | None:
    """Fit the logarithm of the seconds against that of the size: seconds grow as size ** slope.

    Only runs that ended by themselves count; ``None`` if they have fewer than 3 sizes.
    """
    ended = [row for row in rows if ending(row) not in ("failed", "limit")]
    sizes, seconds = sizes_and(ended, "seconds")
    return fit(np.log(sizes), np.log(np.maximum(seconds, 1e-6)))


def fit(x: NDArray[Any], y: NDArray[Any]) -> Fit | None:
    """Return the regression of y on x; ``None`` if x has fewer than 3 values."""
    if len(set(x)) < _ENOUGH_SIZES:
        return None
    from scipy.stats import linregress

    line = linregress(x, y)
    return Fit(line.intercept, line.slope, line.stderr, len(x))


def sizes_and(rows: Sequence[Row], column: str) -> tuple[list[float], list[float]]:
    """Return the sizes of the rows that have a size and a value in a column, and these values."""
    complete = [row for row in rows if row.get("size") and row.get(column) is not None]
    sizes = [float(row["size"]) for row in complete]
    return sizes, [float(row[column]) for row in complete]
