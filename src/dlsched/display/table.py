"""Rows of results side by side: the columns that compare, bench, report and demo share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from dlsched import library
from dlsched.errors import plain
from dlsched.results import objective
from dlsched.results.claims import standing
from dlsched.results.objective import Bounds, ByLevel, closed, gap
from dlsched.results.result import Result
from dlsched.schema.quantities import to_json
from dlsched.text.figures import display, percent, seconds

if TYPE_CHECKING:
    import pandas

Row: TypeAlias = dict[str, Any]
"""A run as tables have it: its cells by column."""
COLUMNS = {
    "key": "digest of everything that the run depends on (bench, report)",
    "instance": "the instance's name",
    "instance_sha256": "its digest",
    "problem": "the problem's name",
    "variant": "the name of the change of the problem that was solved, if there is one",
    "variant_sha256": "the variant's digest",
    "size": "size of the instance, as the number of jobs or servers",
    "source": "a library name, a file, or the call that generates the instance (bench, report)",
    "method": "the method as it was asked for",
    "resolved_method": 'the method that ran; "exact" stands for another one',
    "kind": "exact, heuristic, baseline, bound or reference",
    "options": "the method's options, as JSON (bench, report)",
    "seed": "the random seed (bench, report)",
    "repetition": "number of the repetition, from 0 (bench, report)",
    "status": "optimal, feasible, infeasible, unbounded, no solution; or how the run failed",
    "termination": "why the run ended, as proved, time_limit or interrupted; none if it failed",
    "reason": "why the run ended, as a sentence; the error if it failed",
    "objective": "all levels' values, as JSON (bench, report)",
    "bound": "all levels' bounds that the run proved, as JSON (bench, report)",
    "gap": "gap to the bound that the run itself proved, at the level of `gap_level`",
    "gap_level": "the first level that is not at its bound, else the last that has a bound",
    "bound_kind": "how sure that bound is: certified, certified to nine digits, or claimed",
    "gap_to_best": "gap to the best bound known: of all runs in the table, and of the library",
    "gap_to_best_level": "the level of `gap_to_best`, chosen as for `gap_level`",
    "best_bound_kind": "the same of the best bound of that level",
    "at_optimum": "whether the solution is at the best bounds known in all levels: proved optimal",
    "optimum_known": "whether any solution known for the instance is at these bounds",
    "new_best": "whether the solution is better than the best one known of the library's instance",
    "<level>": "a level's value; <level>_value if a column of this table has its name",
    "<level>_bound": "a level's bound that the run itself proved",
    "<level>_gap": "the gap to that bound",
    "<level>_best_bound": "a level's best bound known",
    "<level>_gap_to_best": "the gap to the best bound known",
    "refuted": "which checked solution refutes the run's claim; its bounds are then not used",
    "seconds": "wall-clock seconds of the run: build, solve, check and what is between them",
    "build_seconds": "seconds for building the model",
    "solve_seconds": "seconds for solving",
    "check_seconds": "seconds for checking the solution",
    "run_seconds": "seconds with the making of the instance (bench, report)",
    "peak_memory_bytes": "peak resident memory (bench, report)",
    "versions": "versions of Python and of the packages, as JSON (bench, report)",
    "machine": "processor, cores, operating system (bench, report)",
    "engine": "what made the run, as the name of an executor (bench, report)",
    "node": "the machine that made it (bench, report)",
    "started": "when the run started, UTC (bench, report)",
    "solution_sha256": "digest of the solution's file (bench, report)",
}
"""The columns in their order, and what they mean. Gaps are |value - bound| / max(|value|, |bound|);
a level's gap is stated only if all earlier levels are at their bounds."""


@dataclass(frozen=True)
class Failure:
    """A run that raised an exception instead of returning a result.

    Attributes
    ----------
    method
        As it was asked for.
    status
        ``"rejected"`` if the checker did not confirm what the method claimed, ``"memory"`` for a
        MemoryError, else ``"error"``.
    resolved_method
        The method that ran; ``None`` if there is none of that name.
    """

    problem: str
    instance: str
    method: str
    reason: str
    status: str = "error"
    instance_sha256: str | None = None
    resolved_method: str | None = None


def comparison_rows(answers: Sequence[Result | Failure], asked: Sequence[str]) -> list[Row]:
    """Return one row per answer, with the columns in `COLUMNS`.

    `answers`: what the methods returned for one instance. `asked`: the methods' names as they were
    asked for, which may be ``"exact"``.
    """
    known = [(a, name) for a, name in zip(answers, asked, strict=True) if isinstance(a, Result)]
    compared = iter(compared_columns([result for result, _ in known], [name for _, name in known]))
    rows = []
    for answer, name in zip(answers, asked, strict=True):
        row: Row = {
            "instance": answer.instance,
            "instance_sha256": answer.instance_sha256,
            "problem": answer.problem,
            "method": name,
        }
        if isinstance(answer, Result):
            if answer.variant is not None:
                row |= {"variant": answer.variant.name, "variant_sha256": answer.variant.sha256}
            row |= run_columns(answer) | next(compared)
        else:
            row |= {
                "resolved_method": answer.resolved_method,
                "status": answer.status,
                "reason": answer.reason,
                "at_optimum": False,
                "refuted": "",
            }
        rows.append(row)
    return rows


def data_frame(rows: Sequence[Mapping[str, Any]]) -> pandas.DataFrame:
    """Return rows as a table whose columns are in the order of `COLUMNS`."""
    import pandas as pd

    order = list(COLUMNS)
    names = dict.fromkeys(name for row in rows for name in row)
    return pd.DataFrame(
        rows, columns=sorted(names, key=lambda n: order.index(n if n in COLUMNS else "<level>"))
    )


def compared_columns(results: Sequence[Result], labels: Sequence[str]) -> list[Row]:
    """Return per result the columns that compare it with what is known for its instance.

    The bounds of the results and those recorded in the library are compared. A bound that a checked
    solution among the results beats is not used; ``refuted`` says so.

    `results`, `labels`: results for one instance, and the names of their methods.
    """
    bounds, refuted = standing(results, labels)
    recorded = None
    for result in results[:1]:
        if result.variant is None:  # the library's bounds and solutions are the problem's
            of_library = library.best_bounds(result.instance_sha256)
            bounds.append(result.bound.map(lambda _: None) if of_library is None else of_library)
            recorded = library.best_objective(result.instance_sha256)
    best = strongest(bounds)
    solved = [recorded, *(result.objective for result in results)]
    known = any(value is not None and closed(value, best) for value in solved)
    rows = []
    for result, why in zip(results, refuted, strict=True):
        value = result.objective
        better = recorded is not None and value is not None and value.better_than(recorded)
        about = {"optimum_known": known, "new_best": better, "refuted": why}
        rows.append(best_columns(result, best) | about)
    return rows


def strongest(bounds: Sequence[Bounds]) -> Bounds:
    """Return per level the strongest of several bounds, certified before claimed.

    A later level's bound holds for solutions that attain the bounds of the earlier levels. So
    after each level only those are compared whose value there is the strongest.
    """
    levels = bounds[0].levels if bounds else ()
    chosen = []
    for i, level in enumerate(levels):
        best = objective.strongest(level, [b[i] for b in bounds])
        chosen.append(best)
        bounds = [b for b in bounds if best and b[i] and b[i].value == best.value]  # type: ignore[union-attr]
    return ByLevel(levels, chosen)


def run_columns(result: Result) -> Row:
    """Return the columns that depend on nothing but a result: how it ended, its gap, its times."""
    build, solve, check, total = result.seconds
    gap, level, kind = _deciding(result.gap, result.bound)
    return {
        "resolved_method": result.method,
        "kind": str(result.kind),
        "status": str(result.status),
        "termination": str(result.termination),
        "reason": plain(result.reason),
        "gap": gap,
        "gap_level": level,
        "bound_kind": kind,
        "seconds": total,
        "build_seconds": build,
        "solve_seconds": solve,
        "check_seconds": check,
    }


def best_columns(result: Result, best: Bounds) -> Row:
    """Return the columns that compare a result with the best bounds known, and its levels."""
    gaps = gaps_to(result, best)
    gap, level, kind = _deciding(gaps, best)
    columns = {"gap_to_best": gap, "gap_to_best_level": level, "best_bound_kind": kind}
    columns["at_optimum"] = result.objective is not None and closed(result.objective, best)
    for i, (level_of_row, proved) in enumerate(result.bound.pairs()):
        name = level_of_row.name
        known = best[i]
        columns |= {
            f"{name}_value" if name in COLUMNS else name: None
            if result.objective is None
            else to_json(result.objective[i]),
            f"{name}_bound": to_json(proved.value) if proved else None,
            f"{name}_gap": result.gap[i],
            f"{name}_best_bound": to_json(known.value) if known else None,
            f"{name}_gap_to_best": gaps[i],
        }
    return columns


def gaps_to(result: Result, bounds: Bounds) -> ByLevel[float | None]:
    """Return a result's gaps to some bounds; ``None`` at every level without a solution."""
    if result.objective is None:
        return bounds.map(lambda _: None)
    return gap(result.objective, bounds)


def _deciding(
    gaps: ByLevel[float | None], bounds: Bounds
) -> tuple[float | None, str | None, str | None]:
    """Return gap, level and kind of bound at the first level that is not at its bound.

    If all are, those of the last level that has a bound. After a level that is not at its bound,
    no gap is stated, so it is the last gap that is.
    """
    stated = [i for i, g in enumerate(gaps) if g is not None]
    if not stated:
        return None, None, None
    i = stated[-1]
    bound = bounds[i]
    return gaps[i], bounds.levels[i].name, bound.kind if bound else None


def summary_words(line: Mapping[str, Any], *, full: bool = False) -> dict[str, str]:
    """Return a line of `dlsched.results.statistics.summary` as texts: what tells most.

    `full`: whether how the runs ended is in it, too, and what the bounds are; counts of 0 are
    empty.
    """
    counts = ("proven", "feasible", "bound only", "no solution", "at a limit", "optimum unknown")
    more = {name: display(line[name] or None) for name in counts} | {"bounds": line["bounds"]}
    resolved = "" if line["resolved_method"] == line["method"] else line["resolved_method"]
    reached = f"{line['at optimum']:,} of {line['runs']:,}" if line["gaps"] else ""
    return {
        "problem": line["problem"],
        "method": line["method"],
        "runs": f"{line['runs']:,}",
        "failed": f"{line['failed']:,}" if line["failed"] else "",
        "at optimum": reached,
        "mean gap": _with_interval(line, "mean"),
        "median gap": _with_interval(line, "median"),
        "worst": percent(line["worst"]),
        "seconds": seconds(line["seconds"]),
        **(more | {"resolved_method": resolved} if full else {}),
    }


def _with_interval(line: Mapping[str, Any], name: str) -> str:
    """Return a statistic in per cent with the ends of its interval."""
    value, low, high = (line[part] for part in (name, f"{name}_low", f"{name}_high"))
    if value is None:
        return ""
    counted = f"({line['gaps']:,}) " if line["gaps"] < line["runs"] else ""
    ends = f" [{percent(low)[:-2]}, {percent(high)[:-2]}]" if low < high else ""
    return f"{counted}{percent(value)}{ends}"
