"""Rows of runs as profiles and growth: how runs ended, gaps, times to proof, time by size."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dlsched.results.result import Status, Termination

Row: TypeAlias = Mapping[str, Any]
"""A row with the columns of `dlsched.display.table.COLUMNS`; missing ones count as ``None``."""
MIN_SIZES = 5
"""Sizes that a fitted growth needs: of fewer, no exponent can be told from noise."""
MAX_SIZES = 1000
"""Sizes that are fitted one by one; neighbours of more are put together, since the fit takes time
and memory that grow with the square."""
CONFIDENCE = 0.95
WIDEST = 2.0
"""Widest interval of an exponent that is stated: a wider one can hold constant, linear and
quadratic growth at the same time."""
_LEAST_SECONDS = 1e-6
_STATUSES = frozenset(Status)


class Steps(NamedTuple):
    """A profile: values in ascending order, and the number of `runs` up to each value."""

    values: NDArray[Any]
    counts: NDArray[Any]
    runs: int


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
    if status not in _STATUSES or refuted or ended == Termination.REFUTED:
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


def place_of(row: Row) -> tuple[Any, ...]:
    """Return what runs of several methods have in common: instance, seed, repetition."""
    return _instance_of(row), row.get("seed") or 0, row.get("repetition") or 0


def _instance_of(row: Row) -> Any:
    return row.get("instance_sha256") or row.get("source") or row.get("instance")


def proves(row: Row) -> bool:
    """Whether a run is of an exact method, or of another one that has proved its solution."""
    return row.get("kind") == "exact" or ending(row) == "proven"


def time_profile(rows: Iterable[Row]) -> dict[str, Steps]:
    """Return per exact method its performance profile over the time to proof.

    The profile is the share of runs proven within a factor of the fastest proof for the same
    instance and seed; it never counts unproven runs (Dolan and Moré, Math. Programming 2002).

    Returns
    -------
    dict
        By method the factors, of which the first is 1.
    """
    seconds: dict[str, dict[Any, float]] = defaultdict(dict)
    for row in rows:
        if proves(row):
            seconds[label_of(row)].setdefault(place_of(row), np.inf)
        if ending(row) == "proven":
            seconds[label_of(row)][place_of(row)] = row["seconds"]
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
        profile[label] = Steps(factors, counts, len(places))
    return profile


def gap_of(row: Row, level: str | None = None) -> float | None:
    """Return a run's gap to the best bound known; ``None`` without a solution or a bound.

    `level`: whose gap; that of the first level that is not at its bound by default. It is 0 if all
    are, as the column ``at_optimum`` says, also where the last digits differ.
    """
    gap = row.get(f"{level}_gap_to_best" if level else "gap_to_best")
    if gap is None:
        return None
    return 0.0 if row.get("at_optimum") else float(gap)


def gaps_of(rows: Iterable[Row], level: str | None = None) -> list[float]:
    """Return the gaps of the runs that have one; see `gap_of`."""
    gaps = (gap_of(row, level) for row in rows)
    return [gap for gap in gaps if gap is not None]


def gap_profile(rows: Iterable[Row], level: str | None = None) -> dict[str, Steps]:
    """Return per method the share of its runs within each gap; runs without a gap are in no share.

    Parameters
    ----------
    level
        As in `gap_of`.

    Returns
    -------
    dict
        By method the gaps, in ascending order.
    """
    profile = {}
    for label, group in by_label(rows).items():
        gaps = np.sort(gaps_of(group, level))
        counts = np.arange(1, len(gaps) + 1)
        profile[label] = Steps(gaps, counts, len(group))
    return profile


@dataclass(frozen=True)
class Fit:
    """A line y = intercept + slope * x, fitted by Theil and Sen: the median of all slopes.

    One value far from the others does not move it (Sen, J. Am. Stat. Assoc. 1968).

    Attributes
    ----------
    low, high
        The interval that has the slope with a probability of `CONFIDENCE`.
    sizes
        Number of sizes that it rests on.
    """

    intercept: float
    slope: float
    low: float
    high: float
    sizes: int

    def power(self) -> str:
        """Return the slope of logarithms as a power of the size, with its interval."""
        return f"n^{self.slope:.2f} ({self.low:.2f} to {self.high:.2f})"


def growth(rows: Iterable[Row]) -> Fit | None:
    """Fit the logarithm of the seconds against that of the size: seconds grow as size ** slope.

    Fitted are the medians of the runs of each size, repetitions and seeds. Only runs that ended by
    themselves count; ``None`` if they have fewer than `MIN_SIZES` sizes, or if the interval of the
    slope is wider than `WIDEST`.
    """
    ended = [row for row in rows if ending(row) not in ("failed", "limit")]
    sizes, seconds = by_size(*sizes_and(ended, seconds_of), np.median)
    found = fit(np.log(sizes), np.log(np.maximum(seconds, _LEAST_SECONDS)))
    return None if found is None or found.high - found.low > WIDEST else found


def by_size(
    sizes: Sequence[float], values: Sequence[float], middle: Callable[[NDArray[Any]], Any]
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the different sizes, ascending, and the middle of the values of each.

    `middle`: as ``numpy.median`` or ``numpy.mean``.
    """
    order = np.argsort(sizes, kind="stable")
    ascending = np.asarray(sizes, dtype=float)[order]
    starts = np.flatnonzero(np.diff(ascending)) + 1
    parts = np.split(np.asarray(values, dtype=float)[order], starts)
    distinct = np.unique(ascending)
    middles = np.array([middle(part) for part in parts if len(part)])
    if len(distinct) <= MAX_SIZES:
        return distinct, middles
    neighbours = np.array_split(np.arange(len(distinct)), MAX_SIZES)
    return (
        np.array([np.median(distinct[group]) for group in neighbours]),
        np.array([middle(middles[group]) for group in neighbours]),
    )


def fit(x: NDArray[Any], y: NDArray[Any]) -> Fit | None:
    """Return the line through points of different x; ``None`` of fewer than `MIN_SIZES`."""
    if len(x) < MIN_SIZES:
        return None
    from scipy.stats import theilslopes

    line = theilslopes(y, x, alpha=CONFIDENCE)
    return Fit(
        float(line.intercept),
        float(line.slope),
        float(line.low_slope),
        float(line.high_slope),
        len(x),
    )


def sizes_and(
    rows: Sequence[Row], value: Callable[[Row], float | None]
) -> tuple[list[float], list[float]]:
    """Return the sizes of the rows that have a size and a value, and these values."""
    pairs = [(row.get("size"), value(row)) for row in rows]
    complete = [(float(size), float(y)) for size, y in pairs if size and y is not None]
    return [size for size, _ in complete], [y for _, y in complete]


def seconds_of(row: Row) -> float | None:
    """Return a run's seconds, if it has any."""
    return row.get("seconds")
