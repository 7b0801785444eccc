"""Statistics of runs, the same for `compare` and for sweeps: summaries, intervals, paired tests.

Runs that failed or met a limit are counted, not averaged: gaps are over the runs with a solution,
times over the runs that ended by themselves. Every row has the columns of
`dlsched.display.table.COLUMNS`.
"""

import itertools
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dlsched.errors import OptionError
from dlsched.results import performance_profiles as profiles
from dlsched.results.objective import SLACK
from dlsched.results.performance_profiles import CONFIDENCE, Fit, Row

SHIFT_SECONDS = 1.0
"""The shift of geometric means of times; it limits the weight of very short times."""
RESAMPLES = 2000
_BATCH = 2_000_000
"""Values that are resampled at a time, so that many runs need little memory."""
Line = dict[str, Any]
"""A row of a table of statistics."""


class Interval(NamedTuple):
    """A statistic, and the interval that has it with a probability of `CONFIDENCE`."""

    value: float
    low: float
    high: float


def interval(values: ArrayLike, statistic: Callable[..., Any] = np.mean) -> Interval | None:
    """Return a statistic with its bootstrap interval (percentiles); ``None`` of no values."""
    known = np.asarray(values, dtype=float)
    if not len(known):
        return None
    value = float(statistic(known))
    if known.min() == known.max():
        return Interval(value, value, value)
    from scipy.stats import bootstrap

    found = bootstrap(
        (known,),
        statistic,
        n_resamples=RESAMPLES,
        batch=max(1, _BATCH // len(known)),
        confidence_level=CONFIDENCE,
        method="percentile",
        random_state=np.random.default_rng(0),  # the same table again has the same intervals
    ).confidence_interval
    return Interval(value, float(found.low), float(found.high))


def shares_interval(counts: NDArray[Any], runs: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the ends of the intervals of shares (Clopper and Pearson): `counts` of `runs`."""
    from scipy.stats import beta

    tail = (1 - CONFIDENCE) / 2
    low = np.where(counts > 0, beta.ppf(tail, np.maximum(counts, 1), runs - counts + 1), 0.0)
    high = beta.ppf(1 - tail, counts + 1, np.maximum(runs - counts, 1))
    return low, np.where(counts < runs, high, 1.0)


def holm(probabilities: Sequence[float]) -> list[float]:
    """Return the probabilities of several tests as adjusted by Holm (Scand. J. Stat. 1979)."""
    order = np.argsort(probabilities, kind="stable")
    scaled = np.asarray(probabilities)[order] * np.arange(len(order), 0, -1)
    adjusted = np.empty(len(order))
    adjusted[order] = np.minimum(1, np.maximum.accumulate(scaled))
    return adjusted.tolist()


def paired(
    rows: Iterable[Row], method: str | None = None, other: str | None = None, of: str = "gap"
) -> list[Line]:
    """Compare methods on the same instances and seeds, two at a time.

    Parameters
    ----------
    rows
        The runs.
    method, other
        Labels of methods. With one of them, it is compared with each other method; without both,
        each pair is compared.
    of
        ``"gap"``: the gap to the best bound known, at the first level where the two gaps differ.
        ``"seconds"``: the times of the runs that ended by themselves.

    Returns
    -------
    list
        A line per problem and pair: ``pairs`` of runs that both have a value, in how many the
        method is ``better``, ``equal`` and ``worse``; the mean ``difference``, method less other,
        with the ends of its bootstrap interval; the probability ``p`` of Wilcoxon's signed-rank
        test, and ``p_holm``, adjusted for all lines.

    Raises
    ------
    OptionError
        If there is no such method, or no pair of runs.
    """
    if of not in _DIFFERENCES:
        raise OptionError(f"of={of!r}: write one of {', '.join(_DIFFERENCES)}")
    runs: dict[str, dict[str, dict[Any, Row]]] = defaultdict(dict)
    for (problem, label), group in grouped(rows).items():
        runs[problem][label] = {profiles.place_of(row): row for row in group}
    known = dict.fromkeys(label for labels in runs.values() for label in labels)
    for name in (method, other):
        if name is not None and name not in known:
            raise OptionError(f"no run is of {name!r}: the table has {', '.join(known)}")
    lines: list[Line] = []
    for problem, by_label in runs.items():
        for a, b in _pairs([*by_label], method, other):
            places = by_label[a].keys() & by_label[b].keys()
            both = [(by_label[a][place], by_label[b][place]) for place in sorted(places, key=repr)]
            found = [_DIFFERENCES[of](*pair) for pair in both]
            values = np.array([value for value in found if value is not None], dtype=float)
            if len(values):
                lines.append({"problem": problem, "method": a, "other": b} | _tested(values))
    if not lines:
        raise OptionError(
            "no two runs can be compared: the methods need the same instances, and for gaps a bound"
        )
    adjusted = holm([line["p"] for line in lines])
    return [line | {"p_holm": p} for line, p in zip(lines, adjusted, strict=True)]


def _pairs(
    labels: Sequence[str], method: str | None, other: str | None
) -> Iterator[tuple[str, str]]:
    """Yield the pairs that are asked for, of those that a problem has."""
    for a, b in itertools.permutations(labels, 2):
        in_order = (method, other) != (None, None) or labels.index(a) < labels.index(b)
        if in_order and method in (None, a) and other in (None, b):
            yield a, b


def _tested(values: NDArray[Any]) -> Line:
    """Return what a paired test says of differences."""
    mean = interval(values)
    assert mean is not None
    signs = [int((values < 0).sum()), int((values == 0).sum()), int((values > 0).sum())]
    return {
        "pairs": len(values),
        **dict(zip(("better", "equal", "worse"), signs, strict=True)),
        "difference": mean.value,
        "difference_low": mean.low,
        "difference_high": mean.high,
        "p": signed_rank(values),
    }


def signed_rank(differences: NDArray[Any]) -> float:
    """Return the probability of Wilcoxon's signed-rank test; 1 if all are 0."""
    from scipy.stats import wilcoxon

    return float(wilcoxon(differences).pvalue) if np.any(differences) else 1.0


def _gap_difference(a: Row, b: Row) -> float | None:
    """Return the difference of gaps at the first level where they differ.

    After such a level the gaps of two runs are not of the same thing.
    """
    if profiles.gap_of(a) is None or profiles.gap_of(b) is None:
        return None
    for level in levels_of(a):
        one, two = profiles.gap_of(a, level), profiles.gap_of(b, level)
        if one is not None and two is not None and one != two:
            return one - two
    return 0.0


def _time_difference(a: Row, b: Row) -> float | None:
    if "failed" in (ends := {profiles.ending(a), profiles.ending(b)}) or "limit" in ends:
        return None
    one, two = profiles.seconds_of(a), profiles.seconds_of(b)
    return None if one is None or two is None else one - two


_DIFFERENCES = {"gap": _gap_difference, "seconds": _time_difference}


def levels_of(row: Row) -> list[str]:
    """Return the names of the levels that a row has columns for, in order."""
    end = "_gap_to_best"
    return [name.removesuffix(end) for name in row if name.endswith(end)]


def grouped(rows: Iterable[Row]) -> dict[tuple[str, str], list[Row]]:
    """Return the rows by problem and method, in their order."""
    groups: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in rows:
        groups[row["problem"], profiles.label_of(row)].append(row)
    return dict(groups)


def summary(rows: Iterable[Row], by_size: bool = False) -> list[Line]:
    """Return a line per problem and method: how runs ended, how many are optimal, gaps, times.

    ``at optimum`` counts the runs at the best bounds known in all levels, ``optimum unknown`` those
    of instances of which no solution is known to be there. ``mean``, ``median``, both with the ends
    of their bootstrap intervals, ``p90``, ``p99`` and ``worst`` are of ``gap_to_best``, of a run's
    first level that is not at its bound, over the ``gaps`` runs that have one. ``bounds`` counts
    the kinds of these bounds. ``seconds`` is the shifted geometric mean over the runs that ended by
    themselves.

    Parameters
    ----------
    by_size
        Whether each size has a line of its own; runs of unknown size are then left out.
    """
    lines = []
    for (problem, label), group in grouped(rows).items():
        name = {"problem": problem, "method": label}
        if not by_size:
            lines.append(name | _summary_columns(group))
            continue
        sizes: dict[Any, list[Row]] = defaultdict(list)
        for row in group:
            if row.get("size") is not None:
                sizes[row["size"]].append(row)
        lines += [name | {"size": n} | _summary_columns(sizes[n]) for n in sorted(sizes)]
    return lines


def _summary_columns(group: Sequence[Row]) -> Line:
    """Return what a summary says of some runs."""
    endings = [profiles.ending(row) for row in group]
    solved = [solution_of(row) for row in group]
    stopped = [s for s, ending in zip(solved, endings, strict=True) if ending == "limit"]
    ended = zip(group, endings, strict=True)
    known = [row.get("seconds") for row, ending in ended if ending not in ("failed", "limit")]
    times = [seconds for seconds in known if seconds is not None]
    gaps = [(profiles.gap_of(row), row.get("best_bound_kind")) for row in group]
    unknown = [not row.get("optimum_known") for row in group]
    resolved = [row["resolved_method"] for row in group if row.get("resolved_method")]
    return {
        "resolved_method": ", ".join(dict.fromkeys(resolved)),
        "runs": len(group),
        "proven": endings.count("proven"),
        "feasible": endings.count("feasible") + sum(stopped),
        "bound only": endings.count("bound only"),
        "no solution": endings.count("no solution") + len(stopped) - sum(stopped),
        "failed": endings.count("failed"),
        "at a limit": len(stopped),
        "at optimum": sum(bool(row.get("at_optimum")) for row in group),
        "optimum unknown": sum(s and u for s, u in zip(solved, unknown, strict=True)),
        **_gap_columns([gap for gap, _ in gaps if gap is not None]),
        "bounds": _kinds([kind for gap, kind in gaps if gap is not None]),
        "seconds": shifted_mean(times),
    }


def solution_of(row: Row) -> bool:
    """Whether a run has a checked solution."""
    return row["status"] in ("optimal", "feasible")


def _kinds(kinds: Sequence[str | None]) -> str:
    return ", ".join(f"{kinds.count(kind)} {kind}" for kind in SLACK if kind in kinds)


def gaps_by_level(rows: Iterable[Row]) -> list[Line]:
    """Return a line per problem, method and level with statistics of ``<level>_gap_to_best``."""
    lines = []
    for (problem, label), group in grouped(rows).items():
        for level in max(map(levels_of, group), key=len):
            if any(row.get(f"{level}_best_bound") is not None for row in group):
                name = {"problem": problem, "method": label, "level": level, "runs": len(group)}
                lines.append(name | _gap_columns(profiles.gaps_of(group, level)))
    return lines


def _gap_columns(gaps: Sequence[float]) -> Line:
    columns: Line = {"gaps": len(gaps)}
    for name, statistic in (("mean", np.mean), ("median", np.median)):
        found = interval(gaps, statistic) or (None, None, None)
        columns |= dict(zip((name, f"{name}_low", f"{name}_high"), found, strict=True))
    for name, q in (("p90", 0.9), ("p99", 0.99), ("worst", 1.0)):
        columns[name] = float(np.quantile(gaps, q)) if len(gaps) else None
    return columns


def without_bounds(rows: Iterable[Row]) -> list[str]:
    """Return the problems with solutions of which none has a gap, as no bound is known."""
    gaps: dict[str, set[bool]] = defaultdict(set)
    for row in rows:
        if solution_of(row):
            gaps[row["problem"]].add(profiles.gap_of(row) is None)
    return [problem for problem, missing in gaps.items() if missing == {True}]


def shifted_mean(seconds: Sequence[float]) -> float | None:
    """Return the geometric mean of times, shifted by `SHIFT_SECONDS`; ``None`` of none."""
    if not len(seconds):
        return None
    return float(np.exp(np.mean(np.log(np.array(seconds) + SHIFT_SECONDS))) - SHIFT_SECONDS)


def gap_growth(rows: Sequence[Row]) -> Fit | None:
    """Fit the mean ``gap_to_best`` of each size against the binary logarithm of the size.

    The slope is what the gap grows by with each doubling. ``None`` if there are fewer than
    `profiles.MIN_SIZES` sizes, or all gaps are 0.
    """
    sizes, gaps = profiles.by_size(*profiles.sizes_and(rows, profiles.gap_of), np.mean)
    return profiles.fit(np.log2(sizes), gaps) if gaps.any() else None


def unsteady(rows: Iterable[Row]) -> list[str]:
    """Return a sentence per method, instance and seed whose repetitions gave different answers."""
    answers = defaultdict(list)
    for row in rows:
        if profiles.ending(row) not in ("failed", "limit"):
            place = profiles.label_of(row), row["instance"], row["seed"], row["source"]
            answers[place].append(row["solution_sha256"])
    return [
        f"{label} is not deterministic: {len(set(solutions))} different solutions of {instance} "
        f"in {len(solutions)} runs with seed {seed}"
        for (label, instance, seed, _), solutions in answers.items()
        if len(set(solutions)) > 1
    ]
