"""The cells of columns become rows; a distinct text is read once for the whole file."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from dlsched.errors import OptionError
from dlsched.records.readers.amounts import Gpus, parse_gpus
from dlsched.records.readers.columns import TIMES, Column
from dlsched.records.readers.format import Source
from dlsched.records.readers.hosts import parse_nodes
from dlsched.records.readers.rows import MOMENTS, NAMES, Rows, empty, is_known, objects
from dlsched.records.readers.table import Part
from dlsched.records.readers.values import Flags, factorize, name_of, number_flaw
from dlsched.schema import brief

if TYPE_CHECKING:
    import pandas as pd

EMPTY: Final = ("the cell is empty", "fill it in, or leave the row out")
"""What is wrong with a cell that must not be empty, and the remedy."""
_NO_GPUS: Final = ("", "none", "nan", "null", "n/a", "<na>")
Vectors = dict[str, NDArray[Any]]


def features_of(text: str) -> str | None:
    """Return what a job needs of a node, all of it, with ``&`` between; None if nothing."""
    name = name_of(text) or ""
    return "&".join(filter(None, name.replace(",", "&").split("&"))) or None


PARSERS: Final[dict[str, Callable[[str], Any]]] = {
    **dict.fromkeys(("state", *NAMES), name_of),
    **dict.fromkeys(("id", "model"), lambda text: text or None),  # any word may be one, as NA
    "features": features_of,
    "gpus": parse_gpus,
    "nodes": parse_nodes,
}
"""What reads a cell; times and numbers are read many at once."""


def known(make: Callable[[str], Any]) -> Callable[[str], Any]:
    """Return what makes something of each distinct text once, and None of what is no text."""

    @cache
    def made(text: str) -> Any:
        try:
            return make(text)
        except OptionError:
            return None

    return made


def vectors_of(
    make: Callable[[str], Any], texts: pd.Series[str], take: Callable[[list[Any]], Vectors]
) -> Vectors:
    """Return vectors of what is made of each text; `take` gets what is made of distinct ones."""
    codes, values = factorize(texts)
    made = take([make(value) for value in values])
    return {name: vector[codes] for name, vector in made.items()}


def _names_of(make: Callable[[str], Any], texts: pd.Series[str]) -> NDArray[Any]:
    return vectors_of(make, texts, lambda made: {"name": objects(made)})["name"]


def gpu_vectors(made: Sequence[Gpus | None]) -> Vectors:
    """Return numbers, types, shares and slices of GPUs."""
    known = [Gpus(0) if gpus is None else gpus for gpus in made]
    lacking = np.array([gpus is None for gpus in made], np.bool_)
    number = np.array([gpus.number for gpus in known], float)
    share = [np.nan if gpus.share is None else float(gpus.share) for gpus in known]
    return {
        "gpus": np.where(lacking, np.nan, number),
        "gpu_type": np.array([gpus.kind for gpus in known], object),
        "share": np.array(share, float),
        "slices": np.array([gpus.slices for gpus in known], object),
    }


def fill_gpus(rows: Rows, vectors: Vectors) -> None:
    """Take over the GPUs of each row, and their types where none is known."""
    types = rows.get("gpu_type")
    types[:] = np.where(is_known(types), types, vectors["gpu_type"])
    rows.columns["gpus"] = vectors["gpus"]
    if not np.isnan(vectors["share"]).all():
        rows.columns |= {name: vectors[name] for name in ("share", "slices")}


def _node_vectors(made: Sequence[Any]) -> Vectors:
    names, amounts = (objects([m[i] if m else () for m in made]) for i in (0, 1))
    bad = np.array([m is None for m in made], np.bool_)
    return {"nodes": names, "amounts": amounts, "bad": bad}


class Filler:
    """Reads the cells of some columns, one part after another.

    Cells of the fields that are `filled` must not be empty; `parsers` are in place of `PARSERS`.
    """

    def __init__(
        self,
        source: Source,
        columns: Sequence[Column],
        filled: Sequence[str] = (),
        parsers: Mapping[str, Callable[[str], Any]] | None = None,
    ) -> None:
        self.source = source
        self.columns = columns
        self.filled = filled
        self._known = {field: known(make) for field, make in {**PARSERS, **(parsers or {})}.items()}
        source.fields |= {column.field: column.name for column in columns}
        source.local |= any(c.field in MOMENTS and c.unit in (None, "date") for c in columns)

    def rows(self, part: Part) -> Rows:
        """Return some rows."""
        rows = empty(len(part.rows))
        rows.columns["row"] = part.rows
        for place, problem in part.broken.items():
            rows.refuse_row(place, "", problem, "write one cell per column")
        stages: Vectors = {}
        for column in self.columns:
            texts = part.cells[column.name]
            if column.field in self.filled:
                blank = ~is_known(_names_of(self._known["user"], texts))
                rows.refuse(blank & rows.usable, column.name, *EMPTY)
            if column.field == "stages":
                rows.read_duration("stage", texts, column.name, column.unit)
                stages[column.name] = rows.columns.pop("stage")
            else:
                self._fill(rows, column, texts)
        if stages:
            _fill_stages(rows, stages)
        return rows

    def _fill(self, rows: Rows, column: Column, texts: pd.Series[str]) -> None:
        field, name, unit = column.field, column.name, column.unit
        if field in MOMENTS:
            rows.read_moment(field, texts, name, self.source.zone, unit)
        elif field in TIMES:
            rows.read_duration("elapsed" if field == "duration" else field, texts, name, unit)
        elif field not in self._known:
            rows.read_number(field, texts, name)
        elif field in ("gpus", "nodes"):
            self._fill_amounts(rows, field, name, texts.where(rows.usable, ""))
        else:
            rows.columns[field] = _names_of(self._known[field], texts)

    def _fill_amounts(self, rows: Rows, field: str, name: str, texts: pd.Series[str]) -> None:
        """Read GPUs or nodes; refuse the rows whose cells are none."""
        if field == "gpus":
            vectors = vectors_of(self._known[field], texts, gpu_vectors)
            fill_gpus(rows, vectors)
            empty_cells = texts.str.strip().str.lower().isin(_NO_GPUS).to_numpy(bool)
            bad: Flags = np.isnan(vectors["gpus"]) & ~empty_cells
            flaws = [_gpu_flaw(text.strip()) for text in texts[bad]]
            rows.refuse(bad, name, flaws, "write it as 8 or gpu:a100:8")
        else:
            vectors = vectors_of(self._known[field], texts, _node_vectors)
            bad = vectors.pop("bad")
            flaws = [f"{brief(text)!r} is no list of hosts" for text in texts[bad]]
            rows.refuse(bad, name, flaws, "write it as n[1-4]")
            rows.columns |= vectors


def _gpu_flaw(text: str) -> str:
    return number_flaw(text)[0] if text[:1] in "+-" else f"{brief(text)!r} is no number of GPUs"


def _fill_stages(rows: Rows, stages: Vectors) -> None:
    """Keep the stages of rows that have all of them; refuse those that have some."""
    lacking = {name: np.isnan(stage) for name, stage in stages.items()}
    none = np.logical_and.reduce([*lacking.values()])
    for name, lacks in lacking.items():
        flaw = "an empty cell is no time", "write all the stages, or none"
        rows.refuse(lacks & ~none, name, *flaw)
    kept = zip(none, *stages.values(), strict=True)
    rows.columns["stages"] = objects([() if nothing else tuple(row) for nothing, *row in kept])
