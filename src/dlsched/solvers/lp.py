"""One level of a model as LP text, for other solvers and for people."""

import io
import re
from collections.abc import Iterable
from typing import Any

from dlsched.solvers.pyomo_model import pyomo_model
from dlsched.solvers.standard_form import StandardForm

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
    """Return one level of a form; `name` is for the first line, a comment."""
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
