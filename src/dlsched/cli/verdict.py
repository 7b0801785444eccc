"""Results on the terminal: many as rows of a table, and the exit status that they give."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from dlsched.cli.exits import Exit
from dlsched.cli.output import fields, put_line
from dlsched.cli.tables import fits, put_table
from dlsched.display.table import Row, summary_words
from dlsched.registry import Kind, problem
from dlsched.results import statistics
from dlsched.results.result import Result, Status, Termination, default_termination
from dlsched.results.status import FAILED
from dlsched.text.figures import display, percent, seconds


def exit_status(result: Result) -> Exit:
    """Return OK for a solution, or for bounds from a method that returns bounds only.

    BROKEN if what the method claims is refuted; INTERRUPTED if Ctrl-C has ended the search.
    """
    if result.termination is Termination.REFUTED:
        return Exit.BROKEN
    if result.termination is Termination.INTERRUPTED:
        return Exit.INTERRUPTED
    if result.solution is not None:
        return Exit.OK
    bounds_only = result.kind in (Kind.BOUND, Kind.REFERENCE)
    bounded = bounds_only and result.status is Status.NO_SOLUTION and any(result.bound)
    return Exit.OK if bounded else Exit.NEGATIVE


MOST_INSTANCES = 5
"""Up to here a comparison's runs are listed; of more instances the summary is shown."""
_SUMMARY = [
    *("method", "runs>9", "failed>1", "at optimum>", "mean gap>", "median gap>4", "worst>3"),
    *("seconds>2", "proven>10", "feasible>11", "bound only>11", "no solution>5", "at a limit>5"),
    *("optimum unknown>6", "bounds<12", "resolved_method<8"),
]
"""Columns of the summary; see `put_table`."""
SUMMARY_EXPLAINED = (
    "at optimum: runs at the best bounds known in all levels. Gaps are to the best bound known, of "
    "each run's first level that is not at it; in [] 95 % intervals, in () how many if not all."
)


def put_summary(rows: Sequence[Row]) -> None:
    """Write a row per problem and method, then what is wrong with runs."""
    lines = statistics.summary(rows)
    for name in dict.fromkeys(line["problem"] for line in lines):
        words = [summary_words(line, full=True) for line in lines if line["problem"] == name]
        put_table(_SUMMARY, words, title=name)
    if lines:
        put_line(SUMMARY_EXPLAINED)


def put_comparison(rows: Sequence[Row]) -> None:
    """Write the rows of a comparison, or of several instances their summary."""
    if len({row["instance"] for row in rows}) <= MOST_INSTANCES:
        put_rows(rows)
    else:
        put_summary(rows)
    for row in rows:
        wrong = row["reason"] if row["status"] in FAILED else row.get("refuted")
        if wrong:
            fields({f"{row['instance']} {row['method']}": wrong})


def put_rows(rows: Sequence[Row]) -> None:
    """Write the rows of `dlsched.display.table.comparison_rows`, a table per problem.

    Where that does not fit the terminal, every instance has a table of its own, and levels that are
    equal for all methods stand in a line below it.
    """
    for name in dict.fromkeys(row["problem"] for row in rows):
        of_problem = [row for row in rows if row["problem"] == name]
        levels = _level_names(of_problem)
        columns, cells = _columns(levels), [_cells(row, levels, levels) for row in of_problem]
        if fits(columns, cells):
            put_table(columns, cells, title=name)
            continue
        for instance in dict.fromkeys(row["instance"] for row in of_problem):
            _put_instance([row for row in of_problem if row["instance"] == instance], levels)


def _put_instance(rows: Sequence[Row], levels: Sequence[str]) -> None:
    """Write the rows of one instance."""
    solved = [row for row in rows if row["status"] in (Status.OPTIMAL, Status.FEASIBLE)]
    equal: dict[str, list[str]] = {}
    for level in levels:
        values = {row.get(level) for row in solved}
        if len(values) == 1:
            equal.setdefault(display(values.pop()), []).append(level)
    shown = [level for level in levels if not any(level in names for names in equal.values())]
    put_table(
        _columns(shown)[1:],
        [_cells(row, shown, levels)[1:] for row in rows],
        title=f"{rows[0]['instance']} ({rows[0]['problem']})",
    )
    if equal:
        texts = "; ".join(f"{', '.join(names)} = {value}" for value, names in equal.items())
        put_line(f"  the same for all methods: {texts}", indent=4)
        put_line("")


def _level_names(rows: Sequence[Row]) -> list[str]:
    """Return the levels of some rows of one problem; a variant has levels of its own."""
    usual = {level.name for level in problem(rows[0]["problem"]).levels}
    names = (key for row in rows for key in row if key in usual or f"{key}_best_bound" in row)
    return [*dict.fromkeys(names)]


def _columns(levels: Sequence[str]) -> list[str]:
    """Return the columns of a comparison that shows some levels."""
    return [
        "instance",
        "method",
        "resolved_method<4",
        "status",
        "termination<1",
        *(f"{level}>" for level in levels),
        "gap>5",
        "best_bound>6",
        "best_bound_kind<7",
        "gap_to_best>",
        "seconds>3",
    ]


def _cells(row: Row, shown: Sequence[str], levels: Sequence[str]) -> list[Any]:
    """Return a row's cells, with columns for some of the levels."""
    bounds = [display(row.get(f"{name}_best_bound")) or "-" for name in levels]
    resolved, ended = row.get("resolved_method"), row.get("termination")
    usual = ended is None or default_termination(Status(row["status"])) == ended
    return [
        row["instance"],
        row["method"],
        None if resolved == row["method"] else resolved,
        row["status"],
        None if usual else ended,
        *(row.get(name) for name in shown),
        _gap(row, "gap", len(levels)),
        ", ".join(bounds) if set(bounds) != {"-"} else None,
        row.get("best_bound_kind"),
        _gap(row, "gap_to_best", len(levels)),
        seconds(row.get("seconds")),
    ]


def _gap(row: Row, name: str, levels: int) -> str | None:
    """Return a gap; where there are several levels with the name of its level."""
    gap = row.get(name)
    if gap is None:
        return None
    return percent(gap) if levels == 1 else f"{percent(gap)} ({row[f'{name}_level']})"


def status_of(rows: Iterable[Mapping[str, Any]]) -> Exit:
    """Return the exit status for rows: NEGATIVE if one failed, BROKEN if an answer was wrong.

    An answer is wrong if the checker rejected it, or a checked solution refutes what it claims.
    """
    rows = list(rows)
    failed = {row["status"] for row in rows} & set(FAILED)
    if "rejected" in failed or any(row.get("refuted") for row in rows):
        return Exit.BROKEN
    return Exit.NEGATIVE if failed else Exit.OK
