"""Instances, solutions, results, reports and bounds in a notebook: small tables and a picture.

Text and background are the page's own, so that they are legible on light and dark pages. All texts
are escaped; there are no scripts.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape as escape_html
from typing import Any

from dlsched.display.figures import percent, shorten
from dlsched.display.picture import picture
from dlsched.display.rendering import html
from dlsched.display.text import (
    LABELS,
    kinds_text,
    levels_of,
    objective_text,
    verdict,
)
from dlsched.errors import plain
from dlsched.results.objective import Bound, ByLevel
from dlsched.results.result import Report, Result, Violation
from dlsched.results.summary import ending, meaning, next_step, setting, status_text, times
from dlsched.schema.content import is_number, number_text, parts, values
from dlsched.schema.envelope import Instance
from dlsched.schema.solution import Solution

_LONGEST = 200
"""Characters of a cell."""
_ROWS = 10
"""The most rows of violations, and of lists."""
_VIOLATION = ("kind", "where", "message", "amount")
_TABLE = "border-collapse:collapse;margin:.4em 0;font-size:90%;color:inherit;background:none"
_CELL = "padding:.15em .7em .15em 0;border:0;text-align:{};color:inherit;background:none"
_HEAD = "border-bottom:1px solid rgba(128,128,128,.6);font-weight:600"
_LINE = "margin:.2em 0;max-width:60em"


@html.register
def instance_html(instance: Instance) -> str:
    """Return the values, the lists with sizes and ranges, the objective, and a picture."""
    levels = levels_of(instance.problem)
    rows = [*_content(instance)]
    if levels:
        rows.append(("objective", "", objective_text(levels)))
    notes = [text for text in (instance.source, instance.notes) if text]
    return _block(
        _heading(f"{instance.problem} instance", instance.name),
        *(_line(text) for text in notes),
        _table(("", "", ""), rows, numbers=(1,)),
        picture(instance),
    )


@html.register
def solution_html(solution: Solution) -> str:
    """Return the fields with sizes and ranges, and a picture if the instance is known."""
    by = f" by {solution.method}" if solution.method else ""
    name = f"of {solution.instance}{by}" if solution.instance else by.strip()
    return _block(
        _heading(f"{solution.problem} solution", name),
        _table(("", "", ""), [*_content(solution)], numbers=(1,)),
        picture(solution),
    )


@html.register
def result_html(result: Result) -> str:
    """Return what `Result.summary` says, as a table and lines, and a picture."""
    rows = []
    for i, (level, bound) in enumerate(result.bound.pairs()):
        value = number_text(result.objective[i]) if result.objective is not None else "none"
        limit = number_text(bound.value) if bound else "none"
        source = f"{bound.kind}: {bound.method}" if bound else ""
        name = f"{level.name} ({level.sense})"
        rows.append((name, value, limit, percent(result.gap[i]), level.unit, source))
    step = next_step(result)
    return _block(
        _heading(status_text(result), f"{result.instance} by {result.method} ({result.kind})"),
        _line(meaning(result)),
        _table(("level", "objective", "bound", "gap", "unit", "bound's source"), rows, (1, 2, 3)),
        _line(f"ended: {ending(result)}"),
        _line(f"next: {step}") if step else "",
        _line(f"seconds: {times(result)}; {setting(result)}"),
        picture(result),
    )


@html.register
def report_html(report: Report) -> str:
    """Return the verdict, the first violations, the objective, and the details."""
    more = len(report.violations) - _ROWS
    violations = [_violation_cells(v) for v in report.violations[:_ROWS]]
    levels = [
        (level.name, number_text(value), percent(gap), level.unit)
        for level, value, gap in report.levels()
    ]
    details = [(name.replace("_", " "), number_text(v)) for name, v in report.details.items()]
    return _block(
        _heading("report", verdict(report)),
        _line(kinds_text(report.violations)) if violations else "",
        _table(_VIOLATION, violations, (3,)) if violations else "",
        _line(f"and {more:,} more violations") if more > 0 else "",
        _table(("level", "objective", "gap", "unit"), levels, (1, 2)) if levels else "",
        _table(("detail", "value"), details[:_ROWS], (1,)) if details else "",
    )


@html.register
def violation_html(violation: Violation) -> str:
    """Return kind, place, message and amount."""
    return _block(_table(_VIOLATION, [_violation_cells(violation)], (3,)))


def _violation_cells(violation: Violation) -> tuple[str, ...]:
    return violation.kind, violation.where, violation.message, number_text(violation.amount)


@html.register
def bound_html(bound: Bound) -> str:
    """Return value, kind and source."""
    return _block(_table(("bound", "kind", "source"), [_bound_cells(bound)], (0,)))


@html.register
def levels_html(entries: ByLevel) -> str:  # type: ignore[type-arg]
    """Return a row per level: of bounds with kind and source, of other entries the value."""
    if any(isinstance(entry, Bound) for entry in entries):
        rows = [(level.name, *_bound_cells(bound)) for level, bound in entries.pairs()]
        return _block(_table(("level", "bound", "kind", "source"), rows, (1,)))
    cells = [
        (level.name, "none" if entry is None else number_text(entry))
        for level, entry in entries.pairs()
    ]
    return _block(_table(("level", "value"), cells, (1,)))


def _bound_cells(bound: Bound | None) -> tuple[str, str, str]:
    return (number_text(bound.value), bound.kind, bound.method) if bound else ("none", "", "")


def _content(document: Instance | Solution) -> Iterable[tuple[str, str, str]]:
    """Yield the single values of a document, then its lists with sizes and facts."""
    for name, text in values(document, LABELS):
        number = is_number(getattr(document, name))
        yield (name, text, "") if number else (name, "", text)
    for part in parts(document, LABELS)[:_ROWS]:
        yield part.name, f"{part.size:,}", "; ".join(part.facts)


def facts_html(what: str, name: str, rows: Sequence[tuple[str, int, str]]) -> str:
    """Return counts by name, with a remark each, as a small table under a heading."""
    cells = [(label, f"{count:,}", remark) for label, count, remark in rows]
    return _block(_heading(what, name), _table(("", "", ""), cells, numbers=(1,)))


def escape(text: str) -> str:
    """Return a text of limited length that HTML shows as it is."""
    return escape_html(plain(shorten(text, _LONGEST)))


def _heading(what: str, name: str) -> str:
    return f'<p style="{_LINE}"><b>{escape(what)}</b> <code>{escape(name)}</code></p>'


def _line(text: str) -> str:
    return f'<p style="{_LINE}">{escape(text)}</p>'


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]], numbers: Sequence[int] = ()) -> str:
    """Return a table; the columns with numbers are aligned to the right."""
    sides = ["right" if i in numbers else "left" for i in range(len(heads))]
    lines = [_row("th", heads, sides, _HEAD)] if any(heads) else []
    lines += [_row("td", row, sides, "") for row in rows]
    return f'<table style="{_TABLE}">{"".join(lines)}</table>'


def _row(tag: str, cells: Sequence[Any], sides: Sequence[str], style: str) -> str:
    row = ""
    for cell, side in zip(cells, sides, strict=True):
        look = f"{_CELL.format(side)};{style}"
        row += f'<{tag} style="{look}">{escape(cell)}</{tag}>'
    return f'<tr style="background:none">{row}</tr>'


def _block(*parts: str) -> str:
    return f'<div style="overflow-x:auto;color:inherit">{"".join(parts)}</div>'
