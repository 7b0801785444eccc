"""Data frames as the data of a document."""

from __future__ import annotations

import numbers
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from pydantic import ValidationError

from dlsched.errors import InstanceError
from dlsched.schema.flaws import FieldPath, flaws
from dlsched.schema.frames.frame import MISSING, WHERE, Frame, flaw, place, plain, unknown
from dlsched.schema.frames.layout import (
    SINGLE,
    below,
    nested_fields,
    shapes,
    single,
    tables,
    value_fields,
)

if TYPE_CHECKING:
    from dlsched.schema.document import Document

REMEDIES = {
    "is missing": "add the column, or fill the cell",
    "is not a string": "convert the column with .astype(str)",
    "is neither true nor false": "write True or False, as column == 1 or column == 'yes' gives it",
    "is not a number": "convert the column with pandas.to_numeric",
}
"""Remedies for frames where those for files do not fit, by the end of what is wrong."""

Parents: TypeAlias = tuple[Any, ...]
"""The cells that identify the document that a row belongs to."""


MOST_MISTAKES = 20
"""Mistakes that one error names."""


def raise_all(mistakes: Sequence[InstanceError]) -> None:
    """Raise mistakes as one error, a line for each column and remedy; a single one as it is."""
    alike: dict[tuple[str, str], list[InstanceError]] = {}
    for mistake in mistakes:
        place = re.sub(r"row \d+", "row", mistake.path)
        alike.setdefault((place, mistake.remedy), []).append(mistake)
    told = []
    for first, *others in alike.values():
        rows = f" (rows like it: {len(others)})" if others else ""
        told.append(InstanceError(WHERE, first.path, f"{first.problem}{rows}", first.remedy))
    if len(told) == 1:
        raise told[0] from None
    if told:
        lines = "".join(f"\n  {m.path}: {m.problem}; {m.remedy}" for m in told)
        raise InstanceError(WHERE, "", f"has {len(told)} mistakes", lines) from None


class Origin(NamedTuple):
    """The frame, the row and, of a value, the column that an entry of the data came from."""

    frame: str
    row: int
    column: str | None


class Branch(NamedTuple):
    """A list or mapping that is being built: its frame and parents, and its path in the data."""

    frame: Frame
    parents: Parents
    path: FieldPath

    def entry(self, step: str | int) -> Branch:
        """Return the same for an entry."""
        return self._replace(path=(*self.path, step))


class Reader:
    """Builds the data of a document from its parts, and knows from which row each entry came.

    `model`: the document's class. `parts`: frames by name, and single values, lists and mappings by
    field. `InstanceError` is raised if a name or a column is unknown.
    """

    def __init__(self, model: type[Document], parts: Mapping[str, Any]) -> None:
        import pandas as pd

        self.model = model
        self.parts = {name: part for name, part in parts.items() if part is not None}
        self.origins: dict[FieldPath, Origin] = {}
        self.frames: dict[str, Frame] = {}
        self.used: dict[str, set[Parents]] = {}
        mistakes: list[InstanceError] = []
        known = {table.name: table for table in tables(model)}
        names = [*value_fields(model), *known, SINGLE]
        for name, part in self.parts.items():
            try:
                if name not in names:
                    raise unknown(name, "is neither a frame nor a field", name, names)
                if name in known and isinstance(part, pd.DataFrame):
                    self.frames[name] = Frame(known[name], part)
                elif name in known and known[name].parents:
                    problem = f"is of type {type(part).__name__}"
                    raise InstanceError(WHERE, name, problem, "give a pandas.DataFrame")
            except InstanceError as error:
                mistakes.append(error)
        raise_all(mistakes)

    def data(self) -> dict[str, Any]:
        """Return the data of the document, but for the envelope.

        `InstanceError` is raised, naming frame, row and column, if the frames do not fit together.
        """
        import pandas as pd

        data = self._single_values()
        for name in nested_fields(self.model):
            shape = shapes(self.model)[name]
            if name in self.frames:
                data[name] = self._entries(Branch(self.frames[name], (), (name,)))
            elif name in self.parts:
                part = self.parts[name]
                listed = shape.kind == "list" and isinstance(part, pd.Series)
                data[name] = plain(list(part) if listed else part)
            else:
                inner = [n for n in self.frames if n.startswith(f"{name}_")]
                if inner and inner[0] not in nested_fields(self.model):
                    raise InstanceError(WHERE, name, "is missing", f"{inner[0]} belongs to it")
        self._refuse_orphans()
        return data

    def _single_values(self) -> dict[str, Any]:
        """Return the single values: those given by name, and those of the frame with one row."""
        import pandas as pd

        given = self.parts.get(SINGLE, {})
        if isinstance(given, (Mapping, pd.Series)):
            given = pd.DataFrame([given])
        if not isinstance(given, pd.DataFrame):
            problem = f"is of type {type(given).__name__}"
            raise InstanceError(WHERE, SINGLE, problem, "give a pandas.DataFrame with one row")
        if len(given) != 1:
            raise flaw(SINGLE, None, None, f"has {len(given)} rows", "give one row")
        names = value_fields(self.model)
        columns = Frame(single(self.model), given).columns
        values = {name: cells[0] for name, cells in columns.items()}
        values |= {name: plain(self.parts[name]) for name in names if name in self.parts}
        return {name: value for name, value in values.items() if value is not MISSING}

    def _entries(self, branch: Branch) -> Any:
        """Return the list, mapping or document made of the rows of one parent."""
        where = branch.frame.where
        rows = branch.frame.rows.get(branch.parents, [])
        self.used.setdefault(where.name, set()).add(branch.parents)
        if where.levels:
            return self._nested(branch, rows, 0)
        if len(rows) != 1:
            raise flaw(where.name, None, None, f"has {len(rows)} rows", "give one row")
        return self._leaf(branch, rows[0])

    def _nested(self, branch: Branch, rows: Sequence[int], depth: int) -> Any:
        """Return what one level of nested lists and mappings holds."""
        levels = branch.frame.where.levels
        level = levels[depth]
        innermost = depth + 1 == len(levels)
        if innermost and level.kind == "list":
            return [self._leaf(branch.entry(i), row) for i, row in enumerate(rows)]
        groups = self._groups(branch.frame, rows, depth)
        keys = range(len(groups)) if level.kind == "list" else groups
        entries = {}
        for key, inner in zip(keys, groups.values(), strict=True):
            entry = branch.entry(key)
            if innermost:
                entries[key] = self._leaf(entry, inner[0])
            else:
                entries[key] = self._nested(entry, inner, depth + 1)
        return [*entries.values()] if level.kind == "list" else entries

    def _groups(self, frame: Frame, rows: Sequence[int], depth: int) -> dict[Any, list[int]]:
        """Return the rows by the key of a level; for a list in the order of its positions."""
        name = frame.where.name
        level = frame.where.levels[depth]
        innermost = depth + 1 == len(frame.where.levels)
        assert level.column is not None
        groups: dict[Any, list[int]] = {}
        for row in rows:
            (key,) = frame.cells(row, (level.column,))
            if innermost and key in groups:
                problem = f"{key!r} is already used in row {groups[key][0]}"
                raise flaw(name, row, level.column, problem, "give every entry its own key")
            if level.kind == "list" and not isinstance(key, numbers.Integral):
                problem = f"{key!r} is not a whole number"
                raise flaw(name, row, level.column, problem, "write the position in the list")
            groups.setdefault(key, []).append(row)
        return dict(sorted(groups.items())) if level.kind == "list" else groups

    def _leaf(self, branch: Branch, row: int) -> Any:
        """Return one document or value."""
        where = branch.frame.where
        columns = branch.frame.columns
        self.origins[branch.path] = Origin(where.name, row, None if where.model else where.field)
        if where.model is None:
            if where.field not in columns:
                raise flaw(where.name, None, where.field, "is missing", "add the column")
            value = columns[where.field][row]
            if value is MISSING:
                raise flaw(where.name, row, where.field, "is empty", "fill it, or drop the row")
            return value
        fields = {name: columns[name][row] for name in where.values if name in columns}
        for name in nested_fields(where.model):
            fields[name] = self._inside(branch, row, name)
        return {name: value for name, value in fields.items() if value is not MISSING}

    def _inside(self, branch: Branch, row: int, name: str) -> Any:
        """Return a list or mapping of a row: from its cell, from wide columns, or from a frame."""
        where = branch.frame.where
        columns = branch.frame.columns
        wide = [column for column in columns if column.startswith(f"{name}.")]
        inner = self.frames.get(f"{where.name}_{name}")
        if inner is not None and (name in columns or wide):
            twice = name if name in columns else wide[0]
            problem = f"repeats what the frame {where.name}_{name} says"
            raise flaw(where.name, None, twice, problem, "drop one of the two")
        if name in columns:
            return columns[name][row]
        if wide:
            cells = {column.removeprefix(f"{name}."): columns[column][row] for column in wide}
            return {key: value for key, value in cells.items() if value is not MISSING}
        assert where.model is not None
        required = where.model.model_fields[name].is_required()
        if inner is None:
            if required:
                table = below(where, name)
                remedy = f"pass it, with the columns {', '.join(table.columns)}"
                raise InstanceError(WHERE, table.name, "is missing", remedy)
            return MISSING
        parents = branch.parents
        if where.own is not None:
            identifying = dict.fromkeys((*where.index, where.own))
            parents += branch.frame.cells(row, identifying)
        if parents not in inner.rows and not required:
            return MISSING
        return self._entries(Branch(inner, parents, (*branch.path, name)))

    def _refuse_orphans(self) -> None:
        """Refuse rows that belong to nothing."""
        mistakes = []
        for name, frame in self.frames.items():
            used = self.used.get(name, set())
            for orphan in (parents for parents in frame.rows if parents not in used):
                column = frame.where.parents[-1]
                types = {type(parents[-1]).__name__ for parents in used}
                remedy = f"add it to {name.removesuffix(f'_{frame.where.field}')}, or drop the row"
                if types and type(orphan[-1]).__name__ not in types:
                    remedy = (
                        f"the ids there are of type {', '.join(sorted(types))}: use .astype(str)"
                    )
                problem = f"there is no {column} {orphan[-1]!r}"
                mistakes.append(flaw(name, frame.rows[orphan][0], column, problem, remedy))
        raise_all(mistakes[:MOST_MISTAKES])

    def parse(self, data: dict[str, Any]) -> Any:
        """Return the document with this data, which is changed if it has mistakes.

        After a mistake its row is taken away, and what is left is read again: so all mistakes are
        found, though a list gives up at its first. A row that refers to one of them is none.

        `InstanceError` names frame, row and column of each of at most `MOST_MISTAKES` mistakes.
        """
        mistakes: list[InstanceError] = []
        gone: set[str] = set()
        while len(mistakes) < MOST_MISTAKES:
            try:
                document = self.model.model_validate(data)
            except ValidationError as error:
                found = list(flaws(error, self.model))
            else:
                raise_all(mistakes)
                return document
            before = len(mistakes)
            wrong_ids = any("id: is not a string" in str(mistake) for mistake in mistakes)
            mistakes += [
                self._mistake(path, problem, remedy)
                for path, problem, remedy in found
                if not any(f'"{name}"' in problem for name in gone)
                and not (wrong_ids and "has the id" in problem)
            ]
            removed = [self._remove(data, path) for path, *_ in found[:1]]
            if removed == [None]:
                break
            gone.update(name for name in removed if isinstance(name, str))
            del mistakes[before + 1 :]  # the others are found again
        raise_all(mistakes)
        return None

    def _mistake(self, path: FieldPath, problem: str, remedy: str) -> InstanceError:
        """Return a mistake in the words of frames."""
        where = self.locate(path)
        fitting = (REMEDIES[end] for end in REMEDIES if problem.endswith(end))
        told = next(fitting, remedy)
        if where in shapes(self.model):
            told = f"pass {where}=" if problem == "is missing" else remedy
        problem = re.sub(
            r"at (\w+)\[(\d+)\]$", lambda at: f"in {self.locate((at[1], int(at[2])))}", problem
        )
        return InstanceError(WHERE, where, problem, told)

    def _remove(self, data: Any, path: FieldPath) -> object:
        """Take the innermost document of a path away that is in a list; return its id, if any."""
        depth, listed = -1, data
        with suppress(LookupError, TypeError):  # the end of the path may not be there
            for i, step in enumerate(path):
                if isinstance(step, int) and isinstance(data[step], dict):
                    depth, listed = i, data
                data = data[step]
        if depth < 0:
            return None
        number = path[depth]
        assert isinstance(number, int)
        entry = listed.pop(number)
        stem = path[:depth]
        moved: dict[FieldPath, Origin] = {}
        for old, origin in self.origins.items():
            if old[:depth] != stem or len(old) <= depth:
                moved[old] = origin
            elif old[depth] != number:
                place = int(old[depth])
                moved[(*stem, place - (place > number), *old[depth + 1 :])] = origin
        self.origins = moved
        return entry.get("id", True)

    def locate(self, path: FieldPath) -> str:
        """Return where an entry of the data came from: frame, row and column, or the field."""
        for length in range(len(path), 0, -1):
            origin = self.origins.get(path[:length])
            if origin is not None:
                rest = path[length:]
                if not rest:
                    return place(*origin)
                inner = f"{origin.frame}_{rest[0]}"
                if inner in self.frames and len(rest) == 1:  # a list as a whole
                    return f"{inner}, the rows of {place(origin.frame, origin.row, None)}"
                return place(origin.frame, origin.row, ".".join(map(str, rest)))
        return ".".join(map(str, path))
