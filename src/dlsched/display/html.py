"""Instances, solutions, results, reports and bounds in a notebook: small tables and a picture."""

from __future__ import annotations

import base64
import logging
from html import escape
from typing import Any

from dlsched.display.drawing.files import picture_bytes
from dlsched.display.markup import block, content, heading, line, table
from dlsched.display.plotting import plot
from dlsched.display.text import (
    LABELS,
    kinds_text,
    levels_of,
    objective_text,
    verdict,
)
from dlsched.extras import require
from dlsched.results.objective import Bound, ByLevel
from dlsched.results.proof import Proof
from dlsched.results.result import Report, Result, Violation
from dlsched.results.summary import ending, meaning, next_step, setting, status_text, times
from dlsched.schema.content import entries, number_text
from dlsched.schema.envelope import Instance
from dlsched.schema.instance_link import linked_instance
from dlsched.schema.solution import Solution
from dlsched.text.figures import percent, printable
from dlsched.text.rendering import html

logger = logging.getLogger(__name__)

_ROWS = 10
"""The most rows of violations, and of lists."""
MOST_ENTRIES = 5000
"""Instances whose lists have more entries are shown without a picture. Up to here it takes about
0.3 seconds at most, and at its first time the import of matplotlib."""
_INCHES = 5.5
_VIOLATION = ("kind", "where", "message", "amount")


@html.register
def instance_html(instance: Instance) -> str:
    """Return the values, the lists with sizes and ranges, the objective, and a picture."""
    levels = levels_of(instance.problem)
    rows = [*content(instance, LABELS)]
    if levels:
        rows.append(("objective", "", objective_text(levels)))
    notes = [text for text in (instance.source, instance.notes) if text]
    return block(
        heading(f"{instance.problem} instance", instance.name),
        *(line(text) for text in notes),
        table(("", "", ""), rows, numbers=(1,)),
        _picture(instance),
    )


@html.register
def solution_html(solution: Solution) -> str:
    """Return the fields with sizes and ranges, and a picture if the instance is known."""
    by = f" by {solution.method}" if solution.method else ""
    name = f"of {solution.instance}{by}" if solution.instance else by.strip()
    return block(
        heading(f"{solution.problem} solution", name),
        table(("", "", ""), [*content(solution, LABELS)], numbers=(1,)),
        _picture(solution),
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
    return block(
        heading(status_text(result), f"{result.instance} by {result.method} ({result.kind})"),
        line(meaning(result)),
        table(("level", "objective", "bound", "gap", "unit", "bound's source"), rows, (1, 2, 3)),
        line(f"ended: {ending(result)}"),
        line(f"next: {step}") if step else "",
        line(f"seconds: {times(result)}; {setting(result)}"),
        _picture(result),
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
    return block(
        heading("report", verdict(report)),
        line(kinds_text(report.violations)) if violations else "",
        table(_VIOLATION, violations, (3,)) if violations else "",
        line(f"and {more:,} more violations") if more > 0 else "",
        table(("level", "objective", "gap", "unit"), levels, (1, 2)) if levels else "",
        table(("detail", "value"), details[:_ROWS], (1,)) if details else "",
    )


@html.register
def proof_html(proof: Proof) -> str:
    """Return per level what is proved, and the size of its proof."""
    rows = [
        (
            entry.level,
            entry.shown if entry.target is None else number_text(entry.target),
            entry.kind,
            entry.form,
            f"{entry.leaves:,}",
            f"{len(entry.sums):,}",
        )
        for entry in proof.levels
    ]
    heads = ("level", "optimum", "kind", "form", "leaves", "sums")
    claim = "There is no solution" if proof.solution is None else "The solution in it is optimal"
    return block(
        heading(f"{proof.problem} proof", proof.instance),
        line(f"{claim} if dlsched.check_proof accepts it."),
        table(heads, rows, (1, 4, 5)),
    )


@html.register
def violation_html(violation: Violation) -> str:
    """Return kind, place, message and amount."""
    return block(table(_VIOLATION, [_violation_cells(violation)], (3,)))


def _violation_cells(violation: Violation) -> tuple[str, ...]:
    return violation.kind, violation.where, violation.message, number_text(violation.amount)


@html.register
def bound_html(bound: Bound) -> str:
    """Return value, kind and source."""
    return block(table(("bound", "kind", "source"), [_bound_cells(bound)], (0,)))


@html.register
def levels_html(entries: ByLevel) -> str:  # type: ignore[type-arg]
    """Return a row per level: of bounds with kind and source, of other entries the value."""
    if any(isinstance(entry, Bound) for entry in entries):
        rows = [(level.name, *_bound_cells(bound)) for level, bound in entries.pairs()]
        return block(table(("level", "bound", "kind", "source"), rows, (1,)))
    cells = [
        (level.name, "none" if entry is None else number_text(entry))
        for level, entry in entries.pairs()
    ]
    return block(table(("level", "value"), cells, (1,)))


def _bound_cells(bound: Bound | None) -> tuple[str, str, str]:
    return (number_text(bound.value), bound.kind, bound.method) if bound else ("none", "", "")


def _picture(shown: Instance | Solution | Result) -> str:
    """Return a picture as an ``img`` element.

    Empty if matplotlib is missing, a solution's instance is not known, or it is too large.
    """
    instance = shown if isinstance(shown, Instance) else linked_instance(shown)
    if instance is None or entries(instance) > MOST_ENTRIES:
        return ""
    try:
        content = _svg(shown, instance)
    except Exception:  # a picture is an extra: whatever fails in it must not hide the tables
        logger.debug("no picture of %s", instance.name, exc_info=True)
        return ""
    data = base64.b64encode(content).decode("ascii")
    style = "max-width:100%;height:auto;background:none"
    name = escape(f"picture of {printable(instance.name)}"[:200])
    return f'<img alt="{name}" style="{style}" src="data:image/svg+xml;base64,{data}">'


def _svg(shown: Instance | Solution | Result, instance: Instance) -> bytes:
    """Return the picture on a white plate, as legible on a dark page as on a light one."""
    mpl, plt = require("matplotlib", "drawing"), require("matplotlib.pyplot", "drawing")
    open_before = plt.get_fignums()
    if not open_before:  # a notebook's backend sets itself up once, which rc_context would undo
        plt.switch_backend(mpl.get_backend())
    with mpl.rc_context({"figure.figsize": (_INCHES, 3.0)}), plt.ioff():
        try:
            axes = plot(shown, instance=None if shown is instance else instance)
            figure: Any = axes.figure
            return picture_bytes(figure, "svg", "plate")
        finally:
            for number in set(plt.get_fignums()) - set(open_before):
                plt.close(number)  # else the notebook shows the figure once more
