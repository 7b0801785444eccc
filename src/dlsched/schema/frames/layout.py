"""Which data frames a document has, derived from its fields.

- The single values of the document are the columns of a frame ``instance`` (or ``solution``) with
  one row.
- Every other field is a frame of its name: a list of documents has a row for each, a single
  document has one row, a mapping has the column ``key`` (``id`` if its values are documents).
- A list or mapping inside a document is a frame ``<frame>_<field>``, as ``jobs_workers``. Its first
  columns identify the document that it belongs to: ``job`` has the id of a ``Job``. A document
  without an id is identified by its position.
- The column of a list of values has the field's name. Lists in lists have the column ``row``.
"""

from __future__ import annotations

import itertools
import re
import types
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin

from pydantic import BaseModel

ENVELOPE = ("dlsched", "problem")
"""Fields that are the same in all documents of a problem, and in no frame."""
SINGLE = "instance"
"""The frame with the single values of an instance."""
KEY, ID, POSITION, ROW = "key", "id", "position", "row"
"""Names of the columns that identify entries of mappings, documents, and entries of lists."""


@dataclass(frozen=True)
class Shape:
    """What a field holds.

    Attributes
    ----------
    kind
        ``"value"``, ``"document"``, ``"list"`` or ``"mapping"``.
    model
        The class of a document, and of the documents in a list or mapping.
    inner
        The shape of the entries of a list or mapping.
    """

    kind: Literal["value", "document", "list", "mapping"]
    model: type[BaseModel] | None = None
    inner: Shape | None = None


class Level(NamedTuple):
    """A list or mapping around the entries of a frame, and the column for its indices or keys."""

    kind: Literal["list", "mapping"]
    column: str | None


@dataclass(frozen=True)
class Table:
    """One frame.

    Attributes
    ----------
    name
        As ``jobs_workers``.
    parents
        Columns that identify the document that a row belongs to, outermost first.
    levels
        The nested lists and mappings, outermost first; none for a single document.
    own
        The column by which the frames below refer to a row; ``None`` if there is one row only.
    model
        The class of the documents, ``None`` for a frame of values.
    field
        The field, and the column of the values in a frame of values.
    """

    name: str
    parents: tuple[str, ...]
    levels: tuple[Level, ...]
    own: str | None
    model: type[BaseModel] | None
    field: str

    @property
    def index(self) -> tuple[str, ...]:
        """The columns with keys, and with positions in lists."""
        return tuple(level.column for level in self.levels if level.column)

    @property
    def values(self) -> tuple[str, ...]:
        """The columns with values."""
        return value_fields(self.model) if self.model else (self.field,)

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns in their order."""
        return tuple(dict.fromkeys((*self.parents, *self.index, *self.values)))

    @property
    def reference(self) -> str:
        """The column by which the frames below refer to a row, as ``job``."""
        name = self.model.__name__ if self.model else self.field
        return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


@cache
def below(outer: Table, field: str) -> Table:
    """Return the frame of a list, mapping or document inside a frame's documents."""
    assert outer.model is not None
    parents = outer.parents
    if outer.own is not None:
        parents += tuple(name for name in outer.index if name != outer.own)
        parents += (_unused(outer.reference, parents),)
    return table(f"{outer.name}_{field}", field, shapes(outer.model)[field], parents)


def table(name: str, field: str, shape: Shape, parents: tuple[str, ...] = ()) -> Table:
    """Return the frame of a field that is no single value."""
    kinds: list[Literal["list", "mapping"]] = []
    while shape.kind in ("list", "mapping"):
        assert shape.inner is not None
        kinds.append(shape.kind)
        shape = shape.inner
    model = shape.model
    used = [*parents, *(value_fields(model) if model else (field,))]
    levels: list[Level] = []
    for depth, kind in enumerate(kinds):
        column: str | None = KEY if kind == "mapping" else ROW
        if depth + 1 == len(kinds):
            unnamed = model is not None and not _has_id(model)
            if kind == "list":
                column = POSITION if unnamed and nested_fields(model) else None
            elif unnamed:
                column = ID
        if column is not None:
            column = _unused(column, used)
            used.append(column)
        levels.append(Level(kind, column))
    reference = levels[-1].column if levels else None
    if levels and levels[-1].kind == "list" and _has_id(model):
        reference = ID
    return Table(name, parents, tuple(levels), reference, model, field)


def _unused(column: str, taken: Sequence[str]) -> str:
    """Return a column's name, with a number if that name is taken."""
    name = column
    numbers = itertools.count(2)
    while name in taken:
        name = f"{column}_{next(numbers)}"
    return name


def _has_id(model: type[BaseModel] | None) -> bool:
    return model is not None and ID in model.model_fields


@cache
def shapes(model: type[BaseModel]) -> Mapping[str, Shape]:
    """Return the shape of each field of a document, but for the envelope."""
    fields = model.model_fields.items()
    return {name: _shape(field.annotation) for name, field in fields if name not in ENVELOPE}


@cache
def value_fields(model: type[BaseModel]) -> tuple[str, ...]:
    """Return the fields with single values."""
    return tuple(name for name in shapes(model) if name not in nested_fields(model))


@cache
def nested_fields(model: type[BaseModel] | None) -> tuple[str, ...]:
    """Return the fields with documents, lists and mappings."""
    if model is None:
        return ()
    return tuple(name for name, shape in shapes(model).items() if shape.kind != "value")


def tables(model: type[BaseModel]) -> Iterator[Table]:
    """Yield the frames of a document, but for the one with its single values."""
    waiting = [table(name, name, shapes(model)[name]) for name in nested_fields(model)]
    while waiting:
        outer = waiting.pop(0)
        yield outer
        waiting[:0] = [below(outer, name) for name in nested_fields(outer.model)]


def single(model: type[BaseModel]) -> Table:
    """Return the frame with the single values of an instance, in one row."""
    return Table(SINGLE, (), (), None, model, "")


def described(model: type[BaseModel]) -> dict[str, list[dict[str, Any]]]:
    """Return the frames of an instance, each with its columns: name, type, unit and so on."""
    frames = {SINGLE: [_described(model, name) for name in value_fields(model)]}
    owners = {"": model}
    for table in tables(model):
        owner = owners[table.name.removesuffix(table.field).rstrip("_")]
        if table.model is not None:
            owners[table.name] = table.model
        frames[table.name] = [
            _identifying(table, name)
            if name in (*table.parents, *table.index)
            else _described(table.model or owner, name, entries=table.model is None)
            for name in table.columns
        ]
    return frames


def _identifying(table: Table, column: str) -> dict[str, Any]:
    """Return what a column says that identifies rows."""
    place = ("list", column) in table.levels
    about = f"Id of the {column} that the row belongs to."
    if column in table.index:
        about = "Position in the list, from 0." if place else "Key of the entry."
    kind = "integer at least 0" if place else "string"
    return _column(column, kind, "", True, None, about)


def _described(model: type[BaseModel], field: str, *, entries: bool = False) -> dict[str, Any]:
    """Return what a field's column says: from the JSON Schema, as docs/schema has it.

    `entries`: whether the column has the entries of the field's list or mapping.
    """
    schema = model.model_json_schema()
    whole = schema["properties"][field]
    part = next(p for p in whole.get("anyOf", [whole]) if p.get("type") != "null")
    while entries and part.get("type") in ("array", "object"):
        part = part.get("items") or part["additionalProperties"]
    kind = " or ".join(map(repr, part["enum"])) if "enum" in part else part.get("type", "any")
    low, above = part.get("minimum"), part.get("exclusiveMinimum")
    kind += f" at least {low}" if low is not None else ""
    kind += f" above {above}" if above is not None else ""
    meaning, _, unit = whole.get("description", "").partition(" Unit: ")
    required = field in schema.get("required", ())
    return _column(field, kind, unit.rstrip("."), required, whole.get("default"), meaning)


def _column(*values: Any) -> dict[str, Any]:
    names = ("column", "type", "unit", "required", "default", "meaning")
    return dict(zip(names, values, strict=True))


def _shape(annotation: Any) -> Shape:
    """Return the shape that an annotation describes; unions of several shapes count as values."""
    origin = get_origin(annotation)
    arguments = get_args(annotation)
    if origin is Annotated:
        return _shape(arguments[0])
    if origin in (Union, types.UnionType):
        shapes = [_shape(part) for part in arguments if part is not type(None)]
        return shapes[0] if len(shapes) == 1 else Shape("value")
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return Shape("document", annotation)
    if origin in (tuple, list) and arguments:
        inner = _shape(arguments[0])
        return Shape("list", inner.model, inner)
    if origin is dict:
        inner = _shape(arguments[1])
        return Shape("mapping", inner.model, inner)
    return Shape("value")
