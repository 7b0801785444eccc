"""One level of a model as text, for other solvers and for people: LP, and MPS with long names."""

import io
import math
import re
from collections.abc import Iterable, Iterator
from typing import Any

from dlsched.solvers.outcome import Vector
from dlsched.solvers.pyomo_model import pyomo_model
from dlsched.solvers.standard_form import StandardForm


def mps_text(name: str, form: StandardForm, level: int) -> str:
    """Return one level of a form as MPS text; `name` is for the NAME line.

    Numbers are written with the digits that they need to be read as the same ones.
    """
    lines = _lines("_".join(name.split()), form, level)
    return "\n".join(lines) + "\n"


def _lines(name: str, form: StandardForm, level: int) -> Iterator[str]:
    costs = form.costs[level]
    offset = form.offsets[level]
    objective = "Obj" if costs.any() or offset else "NoObj"
    rows = list(zip(form.row_names, form.row_lower.tolist(), form.row_upper.tolist(), strict=True))
    yield f"NAME        {name}"
    if form.senses[level] == "max":
        yield "OBJSENSE"
        yield "  MAX"
    yield "ROWS"
    yield f" N  {objective:<8}"
    for row, low, high in rows:
        yield f" {_kind(low, high)}  {row:<8}"
    yield "COLUMNS"
    yield from _columns(form, costs, objective)
    yield "RHS"
    if offset:
        yield _entry("RHS_V", objective, -offset)
    for row, low, high in rows:
        side = low if math.isinf(high) else high
        if side and math.isfinite(side):
            yield _entry("RHS_V", row, side)
    ranges = [
        _entry("RANGE", row, high - low)
        for row, low, high in rows
        if low < high and math.isfinite(low) and math.isfinite(high)
    ]
    bounds = list(_bounds(form))
    for section, lines in (("RANGES", ranges), ("BOUNDS", bounds)):
        if lines:
            yield section
            yield from lines
    yield "ENDATA"


def _columns(form: StandardForm, level_costs: Vector, objective: str) -> Iterator[str]:
    """Yield the entries, column by column; integer columns stand between two markers."""
    starts = form.A.indptr.tolist()
    rows = form.A.indices.tolist()
    entries = form.A.data.tolist()
    costs = level_costs.tolist()
    integer = form.integer.tolist()
    row_names = form.row_names
    markers = 0
    inside = False
    for j, column in enumerate(form.column_names):
        if integer[j] != inside:
            inside = integer[j]
            yield _marker(markers, inside)
            markers += 1
        span = range(starts[j], starts[j + 1])
        if costs[j] or not span:
            yield _entry(column, objective, costs[j])
        for k in span:
            yield _entry(column, row_names[rows[k]], entries[k])
    if inside:
        yield _marker(markers, False)


def _bounds(form: StandardForm) -> Iterator[str]:
    """Yield the limits of columns that are not what readers assume."""
    limits = form.lower.tolist(), form.upper.tolist(), form.integer.tolist()
    for column, low, high, integer in zip(form.column_names, *limits, strict=True):
        for kind, value in _limits(low, high, integer):
            number = "" if value is None else f"  {_number(value)}"
            yield f" {kind} BOUND     {column:<8}{number}"


def _limits(low: float, high: float, integer: bool) -> list[tuple[str, float | None]]:
    """Return kinds and values of a column's limits, none for 0 and infinity."""
    lower, upper = ("LI", "UI") if integer else ("LO", "UP")
    if (low, high) == (-math.inf, math.inf):
        return [("FR", None)]
    if low == high:
        return [("FX", low)]
    if integer and (low, high) == (0, 1):
        return [("BV", None)]
    if integer and (low, high) == (0, math.inf):
        return [("PL", None)]  # some readers assume a limit of 1
    limits: list[tuple[str, float | None]] = []
    if low == -math.inf:
        limits.append(("MI", None))
    elif low:
        limits.append((lower, low))
    if high < math.inf:
        limits.append((upper, high))
    return limits


def _kind(low: float, high: float) -> str:
    if low == high:
        return "E"
    if high < math.inf:
        return "L"
    return "G" if low > -math.inf else "N"


def _entry(first: str, second: str, value: float) -> str:
    return f"    {first:<8}  {second:<8}  {_number(value)}"


def _marker(number: int, begin: bool) -> str:
    return f"    MARK{number:04}  'MARKER'                 'INT{'ORG' if begin else 'END'}'"


def _number(value: float) -> str:
    """Return the shortest text that is read as the number."""
    short = f"{value:.15g}"
    return short if float(short) == value else repr(value)


_LONGEST = 230
"""Readers allow 255 characters; the writer adds five, `lp_names` a number."""
_LEGAL = str.maketrans("[]{}", "()()", "'")
_ILLEGAL = re.compile(r"[^A-Za-z0-9_.,()]")
_RESERVED = re.compile(
    r"[\d.,()].*|e[\de+-]*|st|s\.t\.|min|max|(minim|maxim)(um|i[sz]e)|such|subject|bounds?|free"
    r"|inf(inity)?|gen|generals?|int|integers?|bin|binar(y|ies)|semis?|sos[12]?|end|",
    re.IGNORECASE,
)
"""Texts that readers of LP files take for numbers or keywords."""


def lp_text(name: str, form: StandardForm, level: int) -> str:
    """Return one level of a form as LP text; `name` is for the first line, a comment."""
    from pyomo.repn.plugins.lp_writer import LPWriter

    written = pyomo_model(form, level, conditioned=False)
    written.name = re.sub(r"[^\w.-]", "_", name, flags=re.ASCII)[:_LONGEST]
    columns, rows = lp_names(form.column_names), lp_names(form.row_names)
    names = {id(written.objective): _legal(form.level_names[level])}
    names |= {id(x): columns[j] for j, x in written.x.items()}
    names |= {id(row): rows[i] for i, row in written.rows.items()}

    def label(component: Any) -> str:
        text: str = names.get(id(component)) or component.name  # the writer's column of 1
        return text

    stream = io.StringIO()
    stream.write(f"\\ level {level + 1} of {len(form.costs)}: {form.level_names[level]}\n")
    LPWriter().write(written, stream, labeler=label)
    return stream.getvalue()


def lp_names(names: Iterable[str]) -> list[str]:
    """Return unique names that LP files may have: ``z[a,s 2]`` becomes ``z(a,s_2)``."""
    unique_names: dict[str, None] = {}
    numbers: dict[str, int] = {}
    for text in map(_legal, names):
        unique = text
        while unique in unique_names:
            numbers[text] = numbers.get(text, 1) + 1
            unique = f"{text}_{numbers[text]}"
        unique_names[unique] = None
    return list(unique_names)


def _legal(name: str) -> str:
    text = _ILLEGAL.sub("_", name.translate(_LEGAL))[:_LONGEST]
    return f"_{text}" if _RESERVED.fullmatch(text) else text
