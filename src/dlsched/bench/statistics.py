"""Statistics of a sweep: counts, gaps, times, growth with size, and findings.

Runs that failed or met a limit are counted, not averaged: gaps are over the runs with a solution,
times over the runs that ended by themselves. Tables state the number of runs for both.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dlsched import registry
from dlsched.api.records import result_from_data
from dlsched.display.figures import percent
from dlsched.display.table import Row, best_columns, best_known, gaps_to
from dlsched.errors import InstanceError, describe
from dlsched.problems import library
from dlsched.results import performance_profiles as profiles
from dlsched.results.objective import SLACK, Level, Objective, closed
from dlsched.results.performance_profiles import Fit
from dlsched.results.result import Result

if TYPE_CHECKING:
    import pandas

SHIFT_SECONDS = 1.0
"""The shift of geometric means of times; it limits the weight of very short times."""
PERCENTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99}


class LevelMean(NamedTuple):
    """A method's mean gap at a level, over the runs whose earlier levels are at their bounds."""

    mean: float | None
    gaps: int
    runs: int

    def text(self) -> str:
        """Return the mean in per cent, after the number of runs in brackets if it is not of all."""
        if self.mean is None:
            return ""
        part = f"({self.gaps:,}) " if self.gaps < self.runs else ""
        return f"{part}{percent(self.mean)}"


@dataclass(frozen=True, slots=True)
class EvaluatedRun:
    """A run, compared with the best bounds known for its instance.

    Attributes
    ----------
    row
        The row of the store, with the columns of `display.table.best_columns` and ``refuted``.
    label
        The method with its options, as tables name it.
    objective
        The checked objective; ``None`` without a solution.
    gaps
        Per level the gap to the best bound known; ``None`` without a solution, or if an earlier
        level is not at its bound.
    bound_kinds
        Per level the kind of the best bound known, or ``None``.
    optimum_known
        Whether some solution of the instance, of a run or of the library, is at the best bounds
        known in all levels.
    """

    row: Row
    label: str
    objective: Objective | None
    gaps: Sequence[float | None]
    bound_kinds: Sequence[str | None]
    optimum_known: bool = False

    @property
    def ending(self) -> str:
        """How it ended: proven, limit, feasible, bound only, no solution, failed."""
        return profiles.ending(self.row)

    @property
    def at_optimum(self) -> bool:
        """Whether its solution is at the best bounds known in all levels, so proved optimal."""
        levels = [level.name for level in registry.problem(self.row["problem"]).levels]
        return self.objective is not None and profiles.at_optimum(self.row, levels)


def evaluate_rows(rows: Iterable[Row]) -> list[EvaluatedRun]:
    """Compare every run with the best bound known for its instance, in the sweep or the library.

    A bound that a checked solution beats is not used.

    Parameters
    ----------
    rows
        Rows of the store, with their records.

    Raises
    ------
    InstanceError
        If a record is damaged; it names the run.
    """
    rows = list(rows)
    groups: dict[tuple[str | None, str | None], list[tuple[Row, Result]]] = defaultdict(list)
    for row in rows:
        result = _result(row)
        if result is not None:
            groups[row["instance_sha256"], row.get("variant_sha256")].append((row, result))
    evaluated = {
        run.row["key"]: run for group in groups.values() for run in _evaluate_instance(group)
    }
    return [
        evaluated.get(row["key"])
        or EvaluatedRun(row | {"refuted": ""}, profiles.label_of(row), None, (), ())
        for row in rows
    ]


def _evaluate_instance(group: Sequence[tuple[Row, Result]]) -> Iterator[EvaluatedRun]:
    labels = [profiles.label_of(row) for row, _ in group]
    best, refuted = best_known([result for _, result in group], labels)
    kinds = [bound and bound.kind for bound in best]
    first = group[0][1]
    # What the library has is the problem's.
    recorded = None if first.variant else library.best_objective(first.instance_sha256)
    solutions = [recorded, *(result.objective for _, result in group)]
    known = any(solution is not None and closed(solution, best) for solution in solutions)
    for (row, result), label, why in zip(group, labels, refuted, strict=True):
        whole = row | best_columns(result, best) | {"refuted": why}
        yield EvaluatedRun(whole, label, result.objective, gaps_to(result, best), kinds, known)


def run_rows(evaluated: Iterable[EvaluatedRun]) -> list[Row]:
    """Return one flat row per run, without the record; `display.table.COLUMNS` has the columns."""
    return [
        {name: value for name, value in run.row.items() if name != "record"} for run in evaluated
    ]


def _result(row: Row) -> Result | None:
    if not row["record"]:
        return None
    try:
        return result_from_data(json.loads(row["record"]))
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        where = f"the run of {row['method']} on {row['instance']}"
        what = f"has a damaged record ({describe(error)})"
        raise InstanceError("the sweep's results", where, what, "run it again") from None


def summary(runs: Sequence[EvaluatedRun]) -> pandas.DataFrame:
    """Return one row per problem and method: how runs ended, how many are optimal, gaps, times.

    ``at optimum`` counts the runs at the best bounds known in all levels, ``optimum unknown`` those
    of instances of which no solution is known to be there. ``mean``, ``p50``, ``p90``, ``p99`` and
    ``worst`` are of ``<level>_gap_to_best`` at the level ``level``: the problem's first at which
    methods differ. They are over the ``gaps`` runs whose earlier levels are at their bounds;
    ``bounds`` counts the kinds of the best bounds. ``seconds`` is the shifted geometric mean over
    the runs that ended by themselves.
    """
    import pandas as pd

    levels = differing_levels(runs)
    rows = [
        {"problem": problem, "method": label} | _summary_columns(group, levels[problem])
        for (problem, label), group in grouped(runs).items()
    ]
    return pd.DataFrame(rows)


def summary_by_size(runs: Sequence[EvaluatedRun]) -> pandas.DataFrame:
    """Return what `summary` has for each size of the instances, in the column ``size``.

    The level is the problem's, so that a method's rows can be compared. Runs of unknown size are
    left out.
    """
    import pandas as pd

    levels = differing_levels(runs)
    rows = []
    for (problem, label), group in grouped(runs).items():
        sizes: dict[Any, list[EvaluatedRun]] = defaultdict(list)
        for run in group:
            if run.row["size"] is not None:
                sizes[run.row["size"]].append(run)
        rows += [
            {"problem": problem, "method": label, "size": size}
            | _summary_columns(sizes[size], levels[problem])
            for size in sorted(sizes)
        ]
    return pd.DataFrame(rows)


def _summary_columns(group: Sequence[EvaluatedRun], level: str) -> Row:
    """Return what a summary says of some runs, with the gaps of a level, or of their first one."""
    endings = [run.ending for run in group]
    stopped = [run.objective is not None for run in group if run.ending == "limit"]
    times = [run.row["seconds"] for run in group if run.ending not in ("failed", "limit")]
    names = [level.name for level in levels_of(group)]
    level = level if level in names else names[0]
    counts = {
        "resolved_method": ", ".join(_resolved(group)),
        "runs": len(group),
        "proven": endings.count("proven"),
        "feasible": endings.count("feasible") + sum(stopped),
        "bound only": endings.count("bound only"),
        "no solution": endings.count("no solution") + len(stopped) - sum(stopped),
        "failed": endings.count("failed"),
        "at a limit": len(stopped),
        "at optimum": sum(run.at_optimum for run in group),
        "optimum unknown": sum(
            run.objective is not None and not run.optimum_known for run in group
        ),
        "level": level,
    }
    return counts | _gap_columns(group, names.index(level)) | {"seconds": shifted_mean(times)}


def differing_levels(runs: Iterable[EvaluatedRun]) -> dict[str, str]:
    """Return by problem the first level at which methods differ; see `profiles`."""
    rows: dict[str, list[Row]] = defaultdict(list)
    for run in runs:
        rows[run.row["problem"]].append(run.row)
    return {
        name: profiles.differing_level(
            of_problem, [level.name for level in registry.problem(name).levels]
        )
        for name, of_problem in rows.items()
    }


def _resolved(group: Sequence[EvaluatedRun]) -> list[str]:
    """Return the methods that ran, each once."""
    return list(dict.fromkeys(r.row["resolved_method"] for r in group if r.row["resolved_method"]))


def gaps_by_level(runs: Sequence[EvaluatedRun]) -> pandas.DataFrame:
    """Return one row per problem, method and level with statistics of ``<level>_gap_to_best``."""
    import pandas as pd

    rows = []
    for (problem, label), group in grouped(runs).items():
        for i, level in enumerate(levels_of(group)):
            name = {"problem": problem, "method": label, "level": level.name, "runs": len(group)}
            rows.append(name | _gap_columns(group, i))
    return pd.DataFrame(rows)


def levels_of(group: Sequence[EvaluatedRun]) -> Sequence[Level]:
    """Return the levels of some runs of one problem, or of one variant."""
    known = next((run.objective for run in group if run.objective is not None), None)
    return known.levels if known is not None else registry.problem(group[0].row["problem"]).levels


def level_means(
    by_level: pandas.DataFrame, problem: str, first: str
) -> dict[str, dict[str, LevelMean]]:
    """Return a problem's mean gaps by level and method: of `first`, then of other levels with one.

    Parameters
    ----------
    by_level
        What `gaps_by_level` returned.
    first
        The level that comes first, as `summary` has it.
    """
    means: dict[str, dict[str, LevelMean]] = defaultdict(dict)
    for row in by_level[by_level["problem"] == problem].astype(object).to_dict("records"):
        mean = float(row["mean"]) if row["gaps"] else None
        means[row["level"]][row["method"]] = LevelMean(mean, row["gaps"], row["runs"])
    others = [
        level
        for level, by_method in means.items()
        if level != first and any(entry.mean for entry in by_method.values())
    ]
    return {level: means[level] for level in (first, *others)}


def _gap_columns(group: Sequence[EvaluatedRun], level: int) -> Row:
    stated = [
        (run.gaps[level], run.bound_kinds[level])
        for run in group
        if run.objective is not None and run.gaps[level] is not None
    ]
    gaps = np.array([value for value, _ in stated], dtype=float)
    kinds = [kind for _, kind in stated]
    counts = [f"{kinds.count(k)} {k}" for k in SLACK if k in kinds]
    functions: dict[str, Callable[[Any], Any]] = {
        "mean": np.mean,
        **{name: partial(np.quantile, q=q) for name, q in PERCENTILES.items()},
        "worst": np.max,
    }
    return {
        "gaps": len(gaps),
        **{name: float(f(gaps)) if len(gaps) else None for name, f in functions.items()},
        "bounds": ", ".join(counts),
    }


def grouped(runs: Iterable[EvaluatedRun]) -> dict[tuple[str, str], list[EvaluatedRun]]:
    """Return the runs by problem and method, in their order."""
    groups: dict[tuple[str, str], list[EvaluatedRun]] = defaultdict(list)
    for run in runs:
        groups[run.row["problem"], run.label].append(run)
    return dict(groups)


def shifted_mean(seconds: Sequence[float]) -> float | None:
    """Return the geometric mean of times, shifted by `SHIFT_SECONDS`; ``None`` of none."""
    if not len(seconds):
        return None
    return float(np.exp(np.mean(np.log(np.array(seconds) + SHIFT_SECONDS))) - SHIFT_SECONDS)


def growth(group: Sequence[EvaluatedRun]) -> Fit | None:
    """Return `profiles.growth` of some runs."""
    return profiles.growth([run.row for run in group])


def gap_growth(group: Sequence[EvaluatedRun], level: str) -> Fit | None:
    """Fit a level's mean gap of each size against the binary logarithm of the size.

    The slope is what the gap grows by with each doubling. ``None`` if there are fewer than
    `profiles.MIN_SIZES` sizes, or all gaps are 0.
    """
    sizes, gaps = profiles.by_size(
        *profiles.sizes_and([run.row for run in group], f"{level}_gap_to_best"), np.mean
    )
    return profiles.fit(np.log2(sizes), gaps) if gaps.any() else None


def improvements(runs: Iterable[EvaluatedRun]) -> list[tuple[EvaluatedRun, str, Objective]]:
    """Return runs better than the best known solution, with its instance and objective."""
    better = []
    for run in runs:
        if run.row.get("variant"):  # what is known is the problem's
            continue
        name = library.name_of(run.row["instance_sha256"] or "")
        known = library.best_objective(run.row["instance_sha256"]) if name else None
        if name and known is not None and run.objective and run.objective.better_than(known):
            better.append((run, name, known))
    return better


def unsteady(runs: Iterable[EvaluatedRun]) -> list[str]:
    """Return a sentence per method, instance and seed whose repetitions gave different answers."""
    answers = defaultdict(list)
    for run in runs:
        if run.ending not in ("failed", "limit"):
            place = run.label, run.row["instance"], run.row["seed"], run.row["source"]
            answers[place].append(run.row["solution_sha256"])
    return [
        f"{label} is not deterministic: {len(set(solutions))} different solutions of {instance} "
        f"in {len(solutions)} runs with seed {seed}"
        for (label, instance, seed, _), solutions in answers.items()
        if len(set(solutions)) > 1
    ]
