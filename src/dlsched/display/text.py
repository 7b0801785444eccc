"""How instances, solutions, results and reports show themselves: as text and in a notebook.

The text is the ``repr``, of ten lines at most; a notebook shows a picture, too.
"""

import base64
import logging
from collections import Counter
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from dlsched.display.drawing.files import picture_bytes
from dlsched.display.markup import document_lines, lines_html
from dlsched.display.plotting import plot
from dlsched.errors import DlschedError
from dlsched.extras import require
from dlsched.registry import is_problem, problem
from dlsched.results.objective import Level
from dlsched.results.result import Report, Result, Violation
from dlsched.results.summary import status_text
from dlsched.schema.content import entries, number_text, parts
from dlsched.schema.envelope import Instance, linked_instance
from dlsched.schema.solution import Solution
from dlsched.text.figures import percent, printable, shorten
from dlsched.text.rendering import html, summary, text

LABELS = ("dlsched", "problem", "name", "source", "notes", "instance", "instance_sha256", "method")
"""The fields that every instance or solution has; a heading has what matters of them."""
_LINES = 9
"""The most lines after a heading."""
_LISTS = 6
"""The most lists that are named."""
_LEVELS = 6
"""Of more levels of a result, and of two fewer of a report, those are left out that are 0."""
_WIDTH = 110
"""Characters of a line."""
_NAME = 60
"""Characters of a name in it."""
_SENSES = {"min": "minimize", "max": "maximize"}


@text.register
def instance_text(instance: Instance) -> str:
    """Return the values, the lists with sizes and ranges, and the objective."""
    more = len(parts(instance, LABELS)) - _LISTS
    lines = document_lines(instance, LABELS, _LISTS)
    if more > 0:
        lines.append(f"and {more} more lists")
    lines.append(objective_text(levels_of(instance.problem)))
    name = _quoted(getattr(instance, "name", ""))
    return framed(f"{instance.problem} instance {name}", lines)


@text.register
def solution_text(solution: Solution) -> str:
    """Return the instance, the method, and the fields of the solution with sizes and ranges."""
    return framed(solution_heading(solution), document_lines(solution, LABELS, _LISTS))


@text.register
def result_text(result: Result) -> str:
    """Return the status, and per level objective, bound and gap.

    Of many levels those that are 0, without a bound or at one of 0, are left out and counted.
    """
    lines = []
    left_out: Counter[str] = Counter()
    for i, (level, bound) in enumerate(result.bound.pairs()):
        words = []
        value = None if result.objective is None else result.objective[i]
        if len(result.bound) > _LEVELS and value == 0 and (bound is None or bound.value == 0):
            left_out["0 at a bound of 0" if bound else "0, without a bound"] += 1
            continue
        if value is not None:
            words.append(f"{number_text(value)} {level.unit}")
        words.append(f"bound {number_text(bound.value)} ({bound.kind})" if bound else "no bound")
        if result.gap[i] is not None:
            words.append(f"gap {percent(result.gap[i])}")
        lines.append(f"{level.name}: {', '.join(words)}")
    lines[:0] = [f"levels that are {what}: {count}" for what, count in left_out.items()]
    if result.solution is None:
        lines.insert(0, f"{status_text(result)}: {result.reason}")
    return framed(f"{result_heading(result)}: {status_text(result)}", lines)


@text.register
def report_text(report: Report) -> str:
    """Return whether the solution is feasible, the first violations, and the objective."""
    lines = []
    if report.violations:
        lines.append(kinds_text(report.violations))
        lines += [f"{v.where}: {v.message}" for v in report.violations[:3]]
        more = len(report.violations) - 3
        if more > 0:
            lines.append(f"and {more:,} more")
    levels = report.levels()
    shown = [entry for entry in levels if len(levels) <= _LEVELS - 2 or entry[1] or entry[2]]
    if len(shown) < len(levels):
        lines.append(f"levels that are 0: {len(levels) - len(shown)}")
    for level, value, gap in shown:
        said = "" if gap is None else f", gap {percent(gap)}"
        lines.append(f"{level.name}: {number_text(value)} {level.unit}{said}")
    return framed(f"report: {verdict(report)}", lines)


@text.register
def violation_text(violation: Violation) -> str:
    """Return the kind, the place, and the message."""
    return framed(f"violation {violation.kind} at {violation.where}: {violation.message}", [])


def solution_heading(solution: Solution) -> str:
    """Return what a solution is of, and what made it."""
    of = f" of {_quoted(solution.instance)}" if solution.instance else ""
    by = f" by {_quoted(solution.method)}" if solution.method else ""
    return f"{solution.problem} solution{of}{by}"


def result_heading(result: Result) -> str:
    """Return what a result is of, and what made it."""
    return f"{result.problem} result of {_quoted(result.instance)} by {_quoted(result.method)}"


def verdict(report: Report) -> str:
    """Return whether a solution is feasible, and how many requirements are violated."""
    if report.feasible:
        return "feasible"
    count = len(report.violations)
    return f"{count:,} violation{'s' if count > 1 else ''}"


def kinds_text(violations: Sequence[Violation]) -> str:
    """Return the kinds of violations with their numbers, the most frequent first."""
    counts = Counter(violation.kind for violation in violations)
    return ", ".join(f"{kind} {n:,}" for kind, n in counts.most_common())


def levels_of(name: str) -> Sequence[Level]:
    """Return the levels of a problem's objective; none for a problem that is not registered."""
    try:
        return problem(name).levels if is_problem(name) else ()
    except DlschedError:  # another package's problem that cannot be loaded
        return ()


def objective_text(levels: Sequence[Level]) -> str:
    """Return the levels in words: ``minimize preempted (jobs), then collateral (GPUs)``."""
    words: list[str] = []
    for before, level in zip([None, *levels], levels, strict=False):
        sense = "" if before and before.sense == level.sense else f"{_SENSES[level.sense]} "
        words.append(f"{sense}{level.name} ({level.unit})")
    return ", then ".join(words)


def _quoted(name: str) -> str:
    return repr(shorten(str(name), _NAME))


def framed(head: str, lines: Iterable[str]) -> str:
    """Return a text in angle brackets: a heading, and indented lines of limited length."""
    shown = [line for line in lines if line]
    more = len(shown) - _LINES
    if more > 0:
        shown[_LINES - 1 :] = [f"and {more + 1} more lines"]
    indented = [f"  {_line(line)}" for line in shown]
    return "<" + "\n".join([_line(head), *indented]) + ">"


def _line(line: str) -> str:
    """Return a text as one line of limited length, control characters spelled out."""
    return shorten(printable(line[: 2 * _WIDTH]), _WIDTH)


logger = logging.getLogger(__name__)

MOST_ENTRIES = 5000
"""Instances whose lists have more entries are shown without a picture. Up to here it takes about
0.3 seconds at most, and at its first time the import of matplotlib."""
_INCHES = 5.5


@html.register(Instance)
@html.register(Solution)
@html.register(Result)
def pictured(shown: Instance | Solution | Result) -> str:
    """Return the short text, of a result its summary, and a picture if the instance is known."""
    return lines_html(*summary(shown).splitlines()) + _picture(shown)


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
