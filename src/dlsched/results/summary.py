"""The summary of a result: a text for people."""

import re
import textwrap
from collections.abc import Iterator, Sequence

from dlsched.errors import plain
from dlsched.results.objective import TOLERANCE, Objective
from dlsched.results.result import Result
from dlsched.results.status import Status, Termination
from dlsched.schema.content import number_text
from dlsched.text.figures import display, percent, seconds, shorten
from dlsched.text.rendering import summary

WIDTH = 100
_LONGEST = 300
"""Characters of a reason or a message."""
_LONGEST_NAME = 60
_FEW_LEVELS = 4
"""Up to this number of levels, a title names all."""
_SHOWN_UNITS = ("GPUs", "seconds")
"""Units that a title states; others are what the level is named after."""

_CODE = re.compile(r"^k[A-Z]\w*: ")
"""HiGHS's name of a status, which stands before its words for it."""
_STOPPED = {
    Termination.TIME_LIMIT,
    Termination.MEMORY_LIMIT,
    Termination.ITERATION_LIMIT,
    Termination.SOLUTION_LIMIT,
    Termination.OBJECTIVE_LIMIT,
    Termination.INTERRUPTED,
}
"""Terminations that say that a limit ended the run."""


@summary.register
def summarize(result: Result) -> str:
    """Return a result's summary; see `dlsched.Result.summary`."""
    lines = [
        f"{_name(result.instance)} ({_problem(result)}) by {_name(result.method)} "
        f"({result.kind}): {status_text(result)}",
        *_wrapped("", meaning(result)),
        *_table(rows(result)),
        *_wrapped("ended: ", ending(result)),
        *_wrapped("next: ", next_step(result)),
        *_wrapped("seconds: ", times(result)),
        *_wrapped("run: ", setting(result)),
        *_wrapped("details: ", details(result)),
    ]
    return "\n".join(lines)


def solution_text(method: str | None, objective: Objective | None) -> str:
    """Return who made a solution and what it is worth, as ``lyra: preempted 1, collateral 0 GPUs``.

    Of more than four levels only those with another value than 0 are named.

    Parameters
    ----------
    method
        The method's name; ``None`` if it is not known.
    objective
        ``None`` of a solution that has none.
    """
    values = []
    pairs = [*objective.pairs()] if objective is not None else []
    for level, value in pairs:
        unit = f" {level.unit}" if level.unit in _SHOWN_UNITS else ""
        if value or len(pairs) <= _FEW_LEVELS:
            values.append(f"{level.name} {display(value)}{unit}")
    who = _name(method or "a solution")
    return f"{who}: {', '.join(values)}" if values else who


def _problem(result: Result) -> str:
    """Return the problem's name, and that of the variant that was solved."""
    changed = f", variant {_name(result.variant.name)}" if result.variant else ""
    return f"{result.problem}{changed}"


def _name(text: str) -> str:
    return shorten(one_line(text), _LONGEST_NAME)


def status_text(result: Result) -> str:
    """Return the status in words: what is only claimed is called so."""
    return f"{result.status}{', claimed' if claimed(result) else ''}"


def claimed(result: Result) -> bool:
    """Whether the status is what a method of another package says, and nobody has proved."""
    return result.termination is Termination.CLAIMED


def meaning(result: Result) -> str:
    """Return what the status says about the solution and about better ones."""
    said = "Claimed by the method, not proved" if claimed(result) else "Proved"
    if result.status is Status.OPTIMAL:
        worst = max((gap for gap in result.gap if gap is not None), default=0.0)
        better = "no solution is better at any level"
        if worst > TOLERANCE or result.termination is Termination.GAP_REACHED:
            better = "no solution is better by more than the gap"
        asked = percent(result.limits.gap) if result.limits else "not recorded"
        return (
            f"{said}: {better}. Gap asked {asked}, achieved {percent(worst)}; "
            f"tolerance {TOLERANCE:g}, as solvers round."
        )
    if result.status is Status.FEASIBLE:
        known = "No bound is known" if not any(result.bound) else "The bounds limit what is better"
        return f"The solution is feasible, by the checker; it is not proved optimal. {known}."
    return {
        Status.INFEASIBLE: f"{said}: the instance has no solution.",
        Status.UNBOUNDED: f"{said}: the objective has no bound.",
        Status.NO_SOLUTION: "No solution was found; that none exists is not proved.",
    }[result.status]


def rows(result: Result) -> Iterator[tuple[str, ...]]:
    """Yield per level name, objective, bound, gap, and the bound's kind and source."""
    for i, (level, bound) in enumerate(result.bound.pairs()):
        value = "no value"
        if result.objective is not None:
            value = f"{number_text(result.objective[i])} {level.unit}"
        limit = "no bound"
        source = ""
        if bound is not None:
            limit = f"bound {number_text(bound.value)}"
            source = f"{bound.kind}: {shorten(one_line(bound.method), 40)}"
        gap = "no gap" if result.gap[i] is None else f"gap {percent(result.gap[i])}"
        yield f"{level.name} ({level.sense})", value, limit, gap, source


def _table(rows: Iterator[tuple[str, ...]]) -> list[str]:
    cells = [*rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = []
    for row in cells:
        padded = [text.ljust(width) for text, width in zip(row, widths, strict=True)]
        lines.append("  " + "   ".join(padded).rstrip())
    return lines


def ending(result: Result) -> str:
    """Return why the run ended, in words, with the limit that ended it."""
    said = result.termination.sentence
    reason = shorten(one_line(result.reason), _LONGEST)
    words = [reason] if reason.startswith(said) else [said, *filter(None, [reason])]
    limit = result.limits.time_limit if result.limits else None
    if result.termination is Termination.TIME_LIMIT and limit is not None:
        words.append(f"the limit is {number_text(limit)} s")
    message = shorten(_CODE.sub("", one_line(result.solver_message)), _LONGEST)
    words += [f"{result.solver or 'the solver'} reports: {message}"] if message else []
    return "; ".join(words)


def next_step(result: Result) -> str:
    """Return what to try if there is no solution, or no bound; empty if nothing is missing."""
    step = ""
    stopped = result.termination in _STOPPED
    methods = f"dlsched.list_methods({result.problem!r})"
    if claimed(result):
        step = f"certify=True, or compare it with an exact method of {methods}"
    elif result.status is Status.INFEASIBLE:
        step = "change the instance where the reason above says, and solve it again"
    elif result.status is Status.UNBOUNDED:
        step = "check the instance for a missing limit"
    elif result.termination is Termination.BOUND_ONLY:
        step = f"the method returns bounds only; for a solution choose another of {methods}"
    elif result.status is Status.NO_SOLUTION:
        limit = "a larger limit, or " if stopped else ""
        step = f"{limit}another method of {methods}"
        if result.kind == "exact":
            step = f"{limit}a heuristic of {methods}; its solution can be the start= of this method"
    elif result.status is Status.FEASIBLE and not any(result.bound):
        step = "result.gap_to(dlsched.bound(instance)), or gap_to(the bound of an exact method)"
    elif stopped:
        step = "a larger limit; start=result continues from this solution"
    return step


def times(result: Result) -> str:
    """Return the times: building the model apart from the search; what a limit was spent on."""
    spent = result.seconds
    words = (
        f"build {seconds(spent.build)}, search {seconds(spent.solve)}, "
        f"check {seconds(spent.check)}, total {seconds(spent.total)}"
    )
    if result.limits is None or result.limits.time_limit is None or not result.spent:
        return words
    stages = ", ".join(f"{name} {seconds(value)}" for name, value in result.spent.items())
    return f"{words}; of the limit: {stages}"


def setting(result: Result) -> str:
    """Return solver, seed, limits, options and start."""
    words = ["no solver"]
    if result.solver:
        words = [f"solver {result.solver} {result.solver_version or ''}".rstrip()]
    words.append(f"seed {result.seed}")
    if result.limits is not None:
        limit = result.limits.time_limit
        threads = result.limits.threads
        words.append("no time limit" if limit is None else f"time limit {number_text(limit)} s")
        words.append(f"{threads} threads" if threads > 1 else "1 thread")
    words += [f"{name}={shorten(repr(value), 40)}" for name, value in result.options.items()]
    if result.start is not None:
        used = "used" if result.start.accepted else "not used"
        words.append(f"start {used}: {one_line(result.start.reason)}")
    return ", ".join(words)


def details(result: Result) -> str:
    """Return further figures of the problem."""
    pairs = result.details.items()
    return ", ".join(f"{name.replace('_', ' ')} {number_text(value)}" for name, value in pairs)


def one_line(text: str) -> str:
    """Return a text without control characters and line ends."""
    return " ".join(plain(text).split())


def _wrapped(label: str, text: str) -> Sequence[str]:
    """Return the lines of a text, none for an empty one."""
    return textwrap.wrap(label + text, WIDTH, subsequent_indent="  ") if text else []
