"""What a sweep's rows say together: counts, gaps, times, growth, and what looks wrong.

A run that failed or met a limit is counted as such and never averaged away: gaps are over the runs
with a solution, times over the runs that ended by themselves, and both say over how many.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dlsched import library, registry
from dlsched.bench.execution import FAILED
from dlsched.errors import InstanceError, describe
from dlsched.objective import Objective, gap
from dlsched.records import result_from_data
from dlsched.refutation import standing
from dlsched.result import Result
from dlsched.table import strongest

if TYPE_CHECKING:
    import pandas

SHIFT_SECONDS = 1.0
"""The shift of geometric means of times: what lasts far less counts as nothing."""
QUANTILES = (0.5, 0.9)
_ENOUGH_SIZES = 3
Row = dict[str, Any]


@dataclass(frozen=True)
class Judged:
    """A row, and its result's gaps to the strongest bound that anybody proved for the instance.

    Attributes
    ----------
    label
        The method with its options, as tables name it.
    gaps
        Per level, or ``None`` without a solution; a level's gap is stated only if every earlier
        level is at its bound.
    bound_kinds
        Per level ``"certified"``, ``"claimed"`` or ``None``.
    refuted
        Which checked solution shows that what this run proved is false, in a sentence.
    """

    row: Row
    label: str
    objective: Objective | None
    gaps: Sequence[float | None]
    bound_kinds: Sequence[str | None]
    refuted: str = ""

    @property
    def ending(self) -> str:
        """How it ended: proven, limit, feasible, bound only, no solution, failed."""
        status, reason = self.row["status"], self.row["reason"]
        if status in FAILED or (self.refuted and status in ("optimal", "infeasible")):
            return "failed"
        if status == "optimal":
            return "proven"
        if "time limit" in reason:
            return "limit"
        if status == "feasible":
            return "feasible"
        bound_only = status == "no solution" and self.row["kind"] in ("bound", "reference")
        return "bound only" if bound_only else "no solution"


def judge_rows(rows: Iterable[Row]) -> list[Judged]:
    """Set every run against the strongest bound from the sweep or the library.

    A bound that some checked solution beats is false, and takes no part.
    """
    rows = list(rows)
    groups: dict[str | None, list[tuple[Row, Result]]] = defaultdict(list)
    for row in rows:
        result = _result(row)
        if result is not None:
            groups[row["instance_sha256"]].append((row, result))
    judged = {}
    for digest, group in groups.items():
        for run in _judge_instance(digest, group):
            judged[run.row["key"]] = run
    return [judged.get(row["key"]) or Judged(row, _label(row), None, (), ()) for row in rows]


def _judge_instance(digest: str | None, group: Sequence[tuple[Row, Result]]) -> Iterator[Judged]:
    bounds, refuted = standing([r for _, r in group], [_label(row) for row, _ in group])
    shipped = library.best_bounds(digest) if digest else None
    if shipped is not None:
        bounds.append(shipped)
    best = strongest(bounds)
    for (row, result), why in zip(group, refuted, strict=True):
        if result.objective is None or best is None:
            yield Judged(row, _label(row), result.objective, (), (), why)
        else:
            kinds = [entry and entry.kind for entry in best]
            gaps = gap(result.objective, best)
            yield Judged(row, _label(row), result.objective, gaps, kinds, why)


def _label(row: Row) -> str:
    options = "" if row["options"] == "{}" else f" {row['options']}"
    return f"{row['method']}{options}"


def _result(row: Row) -> Result | None:
    if not row["record"]:
        return None
    try:
        return result_from_data(json.loads(row["record"]))
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        where = f"the run of {row['method']} on {row['instance']}"
        what = f"has a damaged record ({describe(error)})"
        raise InstanceError("the sweep's results", where, what, "run it again") from None


def summary(judged: Sequence[Judged]) -> pandas.DataFrame:
    """Return one row per problem and method: how runs ended, gaps of the first level, times."""
    import pandas as pd

    found = []
    for (problem, label), group in grouped(judged).items():
        level = registry.problem(problem).levels[0].name
        endings = [run.ending for run in group]
        stopped = [run.objective is not None for run in group if run.ending == "limit"]
        times = [run.row["total_seconds"] for run in group if run.ending not in ("failed", "limit")]
        found.append(
            {
                "problem": problem,
                "method": label,
                "resolved_method": ", ".join(_resolved(group)),
                "runs": len(group),
                "proven": endings.count("proven"),
                "feasible": endings.count("feasible") + sum(stopped),
                "bound only": endings.count("bound only"),
                "no solution": endings.count("no solution") + len(stopped) - sum(stopped),
                "failed": endings.count("failed"),
                "at a limit": len(stopped),
                "level": level,
            }
            | _gap_columns(group, 0)
            | {"seconds": shifted_mean(times)}
        )
    return pd.DataFrame(found)


def _resolved(group: Sequence[Judged]) -> list[str]:
    """Return the methods that ran, each once."""
    return list(dict.fromkeys(r.row["resolved_method"] for r in group if r.row["resolved_method"]))


def gaps_by_level(judged: Sequence[Judged]) -> pandas.DataFrame:
    """Return one row per problem, method and level: how many gaps are stated, and how large."""
    import pandas as pd

    found = []
    for (problem, label), group in grouped(judged).items():
        for i, level in enumerate(registry.problem(problem).levels):
            name = {"problem": problem, "method": label, "level": level.name}
            found.append(name | _gap_columns(group, i))
    return pd.DataFrame(found)


def _gap_columns(group: Sequence[Judged], level: int) -> dict[str, Any]:
    stated = [
        (run.gaps[level], run.bound_kinds[level])
        for run in group
        if run.objective is not None and run.gaps[level] is not None
    ]
    gaps = np.array([value for value, _ in stated], dtype=float)
    kinds = [kind for _, kind in stated]
    said = [f"{kinds.count(k)} {k}" for k in ("certified", "claimed") if k in kinds]
    empty = not len(gaps)
    return {
        "gaps": len(gaps),
        "mean": None if empty else float(gaps.mean()),
        "median": None if empty else float(np.quantile(gaps, QUANTILES[0])),
        "90 %": None if empty else float(np.quantile(gaps, QUANTILES[1])),
        "worst": None if empty else float(gaps.max()),
        "bounds": ", ".join(said),
    }


def grouped(judged: Iterable[Judged]) -> dict[tuple[str, str], list[Judged]]:
    """Return the runs by problem and method, in their order."""
    groups: dict[tuple[str, str], list[Judged]] = defaultdict(list)
    for run in judged:
        groups[run.row["problem"], run.label].append(run)
    return dict(groups)


def shifted_mean(seconds: Sequence[float]) -> float | None:
    """Return the geometric mean of times shifted by a second; ``None`` of none."""
    if not len(seconds):
        return None
    return float(np.exp(np.mean(np.log(np.array(seconds) + SHIFT_SECONDS))) - SHIFT_SECONDS)


def time_profile(judged: Sequence[Judged]) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return per exact method its performance profile over time to proof.

    The share of the runs solved within a factor of the fastest proof for the same instance and
    seed; an unproven run is never solved (Dolan and Moré, Math. Programming 2002).

    Returns
    -------
    dict
        ``{method: (factors, shares)}``, both of the same length, the first factor 1.
    """
    seconds: dict[str, dict[Any, float]] = defaultdict(dict)
    for run in judged:
        if run.row["kind"] == "exact" or run.ending == "proven":
            seconds[run.label].setdefault(_place(run), np.inf)
        if run.ending == "proven":
            seconds[run.label][_place(run)] = run.row["total_seconds"]
    places = sorted({place for own in seconds.values() for place in own})
    fastest = {p: min(own.get(p, np.inf) for own in seconds.values()) for p in places}
    solved = [p for p in places if fastest[p] < np.inf]
    profile = {}
    for label, own in seconds.items():
        ratios = [own.get(p, np.inf) / fastest[p] for p in solved]
        finite = np.sort([r for r in ratios if r < np.inf])
        factors, counts = np.concatenate([[1.0], finite]), np.arange(len(finite) + 1)
        counts[0] = np.sum(finite <= 1)
        profile[label] = (factors, counts / max(1, len(places)))
    return profile


def gap_profile(
    judged: Sequence[Judged], level: int = 0
) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return per method the share of its runs within each gap; one without a gap is never within.

    Returns
    -------
    dict
        ``{method: (gaps, shares)}``, sorted by gap.
    """
    profile = {}
    for (_, label), group in grouped(judged).items():
        stated = [r.gaps[level] for r in group if r.objective is not None]
        gaps = np.sort([g for g in stated if g is not None])
        profile[label] = (gaps, np.arange(1, len(gaps) + 1) / len(group))
    return profile


def _place(run: Judged) -> tuple[Any, ...]:
    return run.row["instance_sha256"] or run.row["source"], run.row["seed"], run.row["repetition"]


@dataclass(frozen=True)
class Growth:
    """A fitted line through the logarithms of size and time: seconds = factor * size ** power."""

    factor: float
    power: float
    error: float
    runs: int

    def __str__(self) -> str:
        """Show the power, with its standard error."""
        return f"n^{self.power:.2f} ± {self.error:.2f} ({self.runs} runs)"


def growth(group: Sequence[Judged]) -> Growth | None:
    """Fit time against size over the runs that ended by themselves; ``None`` for too few sizes."""
    ended = [r for r in group if r.ending not in ("failed", "limit") and r.row["size"]]
    sizes = np.array([r.row["size"] for r in ended], dtype=float)
    if len(set(sizes)) < _ENOUGH_SIZES:
        return None
    from scipy.stats import linregress

    seconds = np.maximum([r.row["total_seconds"] for r in ended], 1e-6)
    line = linregress(np.log(sizes), np.log(seconds))
    return Growth(float(np.exp(line.intercept)), line.slope, line.stderr, len(ended))


@dataclass(frozen=True)
class GapGrowth:
    """A fitted line of gap against the logarithm of size."""

    at_one: float
    per_doubling: float
    error: float

    def __str__(self) -> str:
        """Show percentage points per doubling of the size."""
        return f"{100 * self.per_doubling:+.2f} ± {100 * self.error:.2f} points per doubling"


def gap_growth(group: Sequence[Judged]) -> GapGrowth | None:
    """Fit the first level's gap against size; ``None`` for too few sizes, or no gap at all."""
    pairs = [
        (r.row["size"], r.gaps[0])
        for r in group
        if r.objective is not None and r.gaps[0] is not None and r.row["size"]
    ]
    if len({size for size, _ in pairs}) < _ENOUGH_SIZES:
        return None
    from scipy.stats import linregress

    sizes, gaps = (np.array(each, dtype=float) for each in zip(*pairs, strict=True))
    if not gaps.any():
        return None
    line = linregress(np.log2(sizes), gaps)
    return GapGrowth(line.intercept, line.slope, line.stderr)


def improvements(judged: Iterable[Judged]) -> list[tuple[Judged, str, Objective]]:
    """Return the runs better than the library's best known, with its name and objective."""
    found = []
    for run in judged:
        name = library.name_of(run.row["instance_sha256"] or "")
        known = library.best_objective(run.row["instance_sha256"]) if name else None
        if name and known is not None and run.objective and run.objective.better_than(known):
            found.append((run, name, known))
    return found


def unsteady(judged: Iterable[Judged]) -> list[str]:
    """Return a sentence per method, instance and seed whose repetitions gave unlike answers."""
    answers = defaultdict(list)
    for run in judged:
        if run.ending not in ("failed", "limit"):
            place = run.label, run.row["instance"], run.row["seed"], run.row["source"]
            answers[place].append(run.row["solution_sha256"])
    return [
        f"{label} is not deterministic: {len(set(found))} different solutions of {instance} "
        f"in {len(found)} runs with seed {seed}"
        for (label, instance, seed, _), found in answers.items()
        if len(set(found)) > 1
    ]
