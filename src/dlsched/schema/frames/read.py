"""Data frames as the data of a document."""

from __future__ import annotations

import numbers
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dlsched.errors import InstanceError
from dlsched.schema.frames.cells import MISSING, is_pandas, plain
from dlsched.schema.frames.frame import WHERE, Frame, flaw, place, unknown
from dlsched.schema.frames.layout import SINGLE, nested_fields, shapes, tables, value_fields

if TYPE_CHECKING:
    from dlsched.schema.document import Document

REMEDIES = {
    "is missing": "add the column, or fill the cell",
    "is not a string": "convert the column with .astype(str)",
    "is neither true nor false": "write True or False, as column == 1 or column == 'yes' gives it",
    "is not a number": "convert the column with pandas.to_numeric",
}
"""Remedies for frames where those for files do not fit, by the end of what is wrong."""

Path = tuple[str | int, ...]


class Reader:
    """Builds the data of a document from its parts, and knows from which row each entry came.

    Parameters
    ----------
    model
        The document's class.
    parts
        Frames by name, and single values, lists and mappings by field.

    Raises
    ------
    InstanceError
        If a name or a column is unknown.
    """

    def __init__(self, model: type[Document], parts: Mapping[str, Any]) -> None:
        self.model = model
        self.parts = {name: part for name, part in parts.items() if part is not None}
        self.origins: dict[Path, tuple[str, int, str | None]] = {}
        self.frames: dict[str, Frame] = {}
        self.used: dict[str, set[tuple[Any, ...]]] = {}
        known = {found.name: found for found in tables(model)}
        names = [*value_fields(model), *known, SINGLE]
        for name, part in self.parts.items():
            if name not in names:
                raise unknown(name, "is neither a frame nor a field", name, names)
            if name in known and is_pandas(part, "DataFrame"):
                self.frames[name] = Frame(known[name], part)
            elif name in known and known[name].parents:
                problem = f"is of type {type(part).__name__}"
                raise InstanceError(WHERE, name, problem, "give a pandas.DataFrame")

    def data(self) -> dict[str, Any]:
        """Return the data of the document, but for the envelope.

        Raises
        ------
        InstanceError
            Naming frame, row and column, if the frames do not fit together.
        """
        found = self._single_values()
        for name in nested_fields(self.model):
            shape = shapes(self.model)[name]
            if name in self.frames:
                found[name] = self._entries(self.frames[name], (), (name,))
            elif name in self.parts:
                part = self.parts[name]
                listed = shape.kind == "list" and is_pandas(part, "Series")
                found[name] = plain(list(part) if listed else part)
            else:
                below = [n for n in self.frames if n.startswith(f"{name}_")]
                if below and below[0] not in nested_fields(self.model):
                    raise InstanceError(WHERE, name, "is missing", f"{below[0]} belongs to it")
        self._refuse_orphans()
        return found

    def _single_values(self) -> dict[str, Any]:
        """Return the single values: those given by name, and those of the frame with one row."""
        given, names = self.parts.get(SINGLE, {}), value_fields(self.model)
        if is_pandas(given, "DataFrame"):
            if len(given) != 1:
                raise flaw(SINGLE, None, None, f"has {len(given)} rows", "give one row")
            given = given.iloc[0]
        if not isinstance(given, Mapping) and not is_pandas(given, "Series"):
            problem = f"is of type {type(given).__name__}"
            raise InstanceError(WHERE, SINGLE, problem, "give a pandas.DataFrame with one row")
        keys = list(given.keys())
        twice = next((key for i, key in enumerate(keys) if key in keys[:i]), None)
        if twice is not None:
            raise flaw(SINGLE, None, str(twice), "stands twice", "give every column its own name")
        found = {}
        for name, value in dict(given).items():
            if name not in names:
                here = place(SINGLE, None, str(name))
                raise unknown(here, "is an unknown column", str(name), names)
            found[name] = plain(value)
        found |= {name: plain(self.parts[name]) for name in names if name in self.parts}
        return {name: value for name, value in found.items() if value is not MISSING}

    def _entries(self, frame: Frame, parents: tuple[Any, ...], path: Path) -> Any:
        """Return the list, mapping or document made of the rows of one parent."""
        where, rows = frame.where, frame.rows.get(parents, [])
        self.used.setdefault(where.name, set()).add(parents)
        if where.levels:
            return self._nested(frame, rows, 0, path, parents)
        if len(rows) != 1:
            raise flaw(where.name, None, None, f"has {len(rows)} rows", "give one row")
        return self._leaf(frame, rows[0], path, parents)

    def _nested(
        self, frame: Frame, rows: Sequence[int], depth: int, path: Path, parents: tuple[Any, ...]
    ) -> Any:
        """Return what one level of nested lists and mappings holds."""
        level, innermost = frame.where.levels[depth], depth + 1 == len(frame.where.levels)
        if innermost and level.kind == "list":
            return [self._leaf(frame, row, (*path, i), parents) for i, row in enumerate(rows)]
        groups = self._groups(frame, rows, depth)
        keys = range(len(groups)) if level.kind == "list" else groups
        found = {
            key: self._leaf(frame, inner[0], (*path, key), parents)
            if innermost
            else self._nested(frame, inner, depth + 1, (*path, key), parents)
            for key, inner in zip(keys, groups.values(), strict=True)
        }
        return [*found.values()] if level.kind == "list" else found

    def _groups(self, frame: Frame, rows: Sequence[int], depth: int) -> dict[Any, list[int]]:
        """Return the rows by the key of a level; for a list in the order of its positions."""
        level, innermost = frame.where.levels[depth], depth + 1 == len(frame.where.levels)
        assert level.column is not None
        name, groups = frame.where.name, dict[Any, list[int]]()
        for row in rows:
            (key,) = frame.cells(row, (level.column,))
            if innermost and key in groups:
                problem = f"{key!r} is already used in row {groups[key][0]}"
                raise flaw(name, row, level.column, problem, "give every entry its own key")
            if level.kind == "list" and not isinstance(key, numbers.Integral):
                problem = f"{key!r} is not a whole number"
                raise flaw(name, row, level.column, problem, "write the position in the list")
            groups.setdefault(key, []).append(row)
        return {key: groups[key] for key in sorted(groups)} if level.kind == "list" else groups

    def _leaf(self, frame: Frame, row: int, path: Path, parents: tuple[Any, ...]) -> Any:
        """Return one document or value."""
        where = frame.where
        self.origins[path] = (where.name, row, None if where.model else where.field)
        if where.model is None:
            if where.field not in frame.columns:
                raise flaw(where.name, None, where.field, "is missing", "add the column")
            value = frame.columns[where.field][row]
            if value is MISSING:
                raise flaw(where.name, row, where.field, "is empty", "fill it, or drop the row")
            return value
        found = {n: frame.columns[n][row] for n in where.values if n in frame.columns}
        for name in nested_fields(where.model):
            found[name] = self._inside(frame, row, name, path, parents)
        return {name: value for name, value in found.items() if value is not MISSING}

    def _inside(
        self, frame: Frame, row: int, name: str, path: Path, parents: tuple[Any, ...]
    ) -> Any:
        """Return a list or mapping of a row: from its cell, from wide columns, or from a frame."""
        where = frame.where
        wide = [found for found in frame.columns if found.startswith(f"{name}.")]
        twice = [name] * (name in frame.columns) + wide
        if twice and f"{where.name}_{name}" in self.frames:
            problem = f"repeats what the frame {where.name}_{name} says"
            raise flaw(where.name, None, twice[0], problem, "drop one of the two")
        if name in frame.columns:
            return frame.columns[name][row]
        if wide:
            cells = {n.removeprefix(f"{name}."): frame.columns[n][row] for n in wide}
            return {key: value for key, value in cells.items() if value is not MISSING}
        assert where.model is not None
        required = where.model.model_fields[name].is_required()
        inner = self.frames.get(f"{where.name}_{name}")
        if inner is None:
            below = where.below(name)
            if required:
                remedy = f"pass it, with the columns {', '.join(below.columns)}"
                raise InstanceError(WHERE, below.name, "is missing", remedy)
            return MISSING
        if where.own is not None:
            own = where.index if where.own in where.index else (*where.index, where.own)
            parents = (*parents, *frame.cells(row, own))
        if parents not in inner.rows and not required:
            return MISSING
        return self._entries(inner, parents, (*path, name))

    def _refuse_orphans(self) -> None:
        """Refuse a row that belongs to nothing."""
        for name, frame in self.frames.items():
            used = self.used.get(name, set())
            orphan = next((parents for parents in frame.rows if parents not in used), None)
            if orphan is None:
                continue
            column = frame.where.parents[-1]
            remedy = f"add it to {name.removesuffix(f'_{frame.where.field}')}, or drop the row"
            types = {type(parents[-1]).__name__ for parents in used}
            if types and type(orphan[-1]).__name__ not in types:
                remedy = f"the ids there are of type {', '.join(sorted(types))}: use .astype(str)"
            problem = f"there is no {column} {orphan[-1]!r}"
            raise flaw(name, frame.rows[orphan][0], column, problem, remedy)

    def parse(self, data: Mapping[str, Any]) -> Any:
        """Return the document with this data.

        Raises
        ------
        InstanceError
            Naming frame, row and column.
        """
        try:
            return self.model.parse(data, WHERE, self.locate)
        except InstanceError as error:
            fitting = (REMEDIES[end] for end in REMEDIES if error.problem.endswith(end))
            remedy = next(fitting, error.remedy)
            if error.path in shapes(self.model):
                remedy = f"pass {error.path}=" if error.problem == "is missing" else error.remedy
            raise InstanceError(error.where, error.path, error.problem, remedy) from None

    def locate(self, path: Path) -> str:
        """Return where an entry of the data came from: frame, row and column, or the field."""
        for length in range(len(path), 0, -1):
            origin = self.origins.get(path[:length])
            if origin is not None:
                frame, row, column = origin
                rest = ".".join(map(str, path[length:]))
                below = f"{frame}_{path[length]}" if rest else ""
                if below in self.frames and len(path) == length + 1:  # a list as a whole
                    return f"{below}, the rows of {place(frame, row, None)}"
                return place(frame, row, rest or column)
        return ".".join(map(str, path))
