"""Statistics of a sweep: counts, gaps, times, growth with size, and findings.

Runs that failed or met a limit are counted, not averaged: gaps are over the runs with a solution,
times over the runs that ended by themselves. Tables state the number of runs for both.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dlsched import library, registry
from dlsched.api.records import result_from_data
from dlsched.display.table import Row, best_columns, best_known, gaps_to
from dlsched.errors import InstanceError, describe
from dlsched.results import performance_profiles as profiles
from dlsched.results.objective import SLACK, Level, Objective, closed
from dlsched.results.performance_profiles import Fit
from dlsched.results.result import Result
from dlsched.text.figures import percent

if TYPE_CHECKING:
    import pandas

SHIFT_SECONDS = 1.0
"""The shift of geometric means of times; it limits the weight of very short times."""
PERCENTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99}


class LevelMean(NamedTuple):
    """A method's mean gap, over the runs that have one."""

    mean: float | None
    gaps: int
    runs: int

    @classmethod
    def of(cls, row: Mapping[Any, Any]) -> LevelMean:
        """Return what a row of a table of gaps has."""
        return cls(float(row["mean"]) if row["gaps"] else None, row["gaps"], row["runs"])

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
        return bool(self.row["at_optimum"])


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
    groups: dict[tuple[str | None, ...], list[tuple[Row, Result]]] = defaultdict(list)
    for row in rows:
        result = _result(row)
        if result is not None:
            model = result.variant and result.variant.model_sha256
            groups[row["instance_sha256"], row.get("variant_sha256"), model].append((row, result))
    evaluated = {
        run.row["key"]: run for group in groups.values() for run in _evaluate_instance(group)
    }
    return [
        evaluated.get(row["key"])
        or EvaluatedRun(
            row | {"at_optimum": False, "refuted": ""}, profiles.label_of(row), None, (), ()
        )
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
    ``worst`` are of ``gap_to_best``, of a run's first level that is not at its bound, over the
    ``gaps`` runs that have one; `gaps_by_level` has them by level. ``bounds`` counts the kinds of
    these bounds. ``seconds`` is the shifted geometric mean over the runs that ended by themselves.
    """
    import pandas as pd

    rows = [
        {"problem": problem, "method": label} | _summary_columns(group)
        for (problem, label), group in grouped(runs).items()
    ]
    return pd.DataFrame(rows)


def summary_by_size(runs: Sequence[EvaluatedRun]) -> pandas.DataFrame:
    """Return what `summary` has for each size of the instances, in the column ``size``.

    Runs of unknown size are left out.
    """
    import pandas as pd

    rows = []
    for (problem, label), group in grouped(runs).items():
        sizes: dict[Any, list[EvaluatedRun]] = defaultdict(list)
        for run in group:
            if run.row["size"] is not None:
                sizes[run.row["size"]].append(run)
        rows += [
            {"problem": problem, "method": label, "size": size} | _summary_columns(sizes[size])
            for size in sorted(sizes)
        ]
    return pd.DataFrame(rows)


def _summary_columns(group: Sequence[EvaluatedRun]) -> Row:
    """Return what a summary says of some runs."""
    endings = [run.ending for run in group]
    stopped = [run.objective is not None for run in group if run.ending == "limit"]
    times = [run.row["seconds"] for run in group if run.ending not in ("failed", "limit")]
    gaps = [(profiles.gap_of(run.row), run.row.get("best_bound_kind")) for run in group]
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
    }
    return counts | _gap_columns(gaps) | {"seconds": shifted_mean(times)}


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
            with_solution = [run for run in group if run.objective is not None]
            gaps = [(run.gaps[i], run.bound_kinds[i]) for run in with_solution]
            rows.append(name | _gap_columns(gaps))
    return pd.DataFrame(rows)


def without_bounds(runs: Iterable[EvaluatedRun]) -> list[str]:
    """Return the problems with solutions of which none has a gap, as no bound is known."""
    gaps: dict[str, list[float | None]] = defaultdict(list)
    for run in runs:
        if run.objective is not None:
            gaps[run.row["problem"]].append(profiles.gap_of(run.row))
    return [problem for problem, known in gaps.items() if set(known) == {None}]


def levels_of(group: Sequence[EvaluatedRun]) -> Sequence[Level]:
    """Return the levels of some runs of one problem, or of one variant."""
    known = next((run.objective for run in group if run.objective is not None), None)
    return known.levels if known is not None else registry.problem(group[0].row["problem"]).levels


def level_means(by_level: pandas.DataFrame, problem: str) -> dict[str, dict[str, LevelMean]]:
    """Return a problem's mean gaps by level and method, of several levels those that have one.

    Parameters
    ----------
    by_level
        What `gaps_by_level` returned.
    """
    means: dict[str, dict[str, LevelMean]] = defaultdict(dict)
    for row in by_level[by_level["problem"] == problem].astype(object).to_dict("records"):
        means[row["level"]][row["method"]] = LevelMean.of(row)
    if len(means) == 1:
        return {}
    return {
        level: by_method
        for level, by_method in means.items()
        if any(entry.mean for entry in by_method.values())
    }


def _gap_columns(gaps_and_kinds: Sequence[tuple[float | None, str | None]]) -> Row:
    stated = [(gap, kind) for gap, kind in gaps_and_kinds if gap is not None]
    gaps = np.array([gap for gap, _ in stated], dtype=float)
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


def gap_growth(group: Sequence[EvaluatedRun]) -> Fit | None:
    """Fit the mean ``gap_to_best`` of each size against the binary logarithm of the size.

    The slope is what the gap grows by with each doubling. ``None`` if there are fewer than
    `profiles.MIN_SIZES` sizes, or all gaps are 0.
    """
    sizes, gaps = profiles.by_size(
        *profiles.sizes_and([run.row for run in group], profiles.gap_of), np.mean
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
