"""Data frames as the data of a document."""

from __future__ import annotations

import numbers
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from dlsched.errors import InstanceError
from dlsched.schema.flaws import FieldPath
from dlsched.schema.frames.cells import MISSING, is_pandas, plain
from dlsched.schema.frames.frame import WHERE, Frame, flaw, place, unknown
from dlsched.schema.frames.layout import (
    SINGLE,
    below,
    nested_fields,
    shapes,
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
        self.origins: dict[FieldPath, Origin] = {}
        self.frames: dict[str, Frame] = {}
        self.used: dict[str, set[Parents]] = {}
        known = {table.name: table for table in tables(model)}
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
        data = self._single_values()
        for name in nested_fields(self.model):
            shape = shapes(self.model)[name]
            if name in self.frames:
                data[name] = self._entries(Branch(self.frames[name], (), (name,)))
            elif name in self.parts:
                part = self.parts[name]
                listed = shape.kind == "list" and is_pandas(part, "Series")
                data[name] = plain(list(part) if listed else part)
            else:
                inner = [n for n in self.frames if n.startswith(f"{name}_")]
                if inner and inner[0] not in nested_fields(self.model):
                    raise InstanceError(WHERE, name, "is missing", f"{inner[0]} belongs to it")
        self._refuse_orphans()
        return data

    def _single_values(self) -> dict[str, Any]:
        """Return the single values: those given by name, and those of the frame with one row."""
        given = self.parts.get(SINGLE, {})
        names = value_fields(self.model)
        if is_pandas(given, "DataFrame"):
            if len(given) != 1:
                raise flaw(SINGLE, None, None, f"has {len(given)} rows", "give one row")
            given = given.iloc[0]
        if not isinstance(given, Mapping) and not is_pandas(given, "Series"):
            problem = f"is of type {type(given).__name__}"
            raise InstanceError(WHERE, SINGLE, problem, "give a pandas.DataFrame with one row")
        keys = list(given.keys())
        twice = [str(key) for i, key in enumerate(keys) if key in keys[:i]]
        if twice:
            raise flaw(
                SINGLE, None, str(twice[0]), "stands twice", "give every column its own name"
            )
        values = {}
        for name, value in dict(given).items():
            if name not in names:
                here = place(SINGLE, None, str(name))
                raise unknown(here, "is an unknown column", str(name), names)
            values[name] = plain(value)
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
