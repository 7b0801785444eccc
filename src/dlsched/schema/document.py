"""A piece of a file: a frozen model whose first flaw is an error with a path."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterable, Mapping
from functools import cache, cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

from pydantic import (
    BaseModel,
    ConfigDict,
    GetCoreSchemaHandler,
    ValidationError,
    model_validator,
)
from pydantic_core import CoreSchema

from dlsched.errors import InstanceError
from dlsched.schema.content import arguments
from dlsched.schema.flaws import Flaw, field_names, flaws, spell_path
from dlsched.text.figures import shorten

if TYPE_CHECKING:
    from pydantic import GetJsonSchemaHandler
    from pydantic.json_schema import JsonSchemaValue

K = TypeVar("K")
V = TypeVar("V")
T = TypeVar("T")


class FrozenDict(dict[K, V]):
    """A mapping that cannot be changed; `copy` returns a plain dict, which can.

    Its values must be frozen already: `freeze` takes them as they are.
    """

    def _raise_frozen(self, *_args: Any, **_kwargs: Any) -> Any:
        raise TypeError("the data of an instance cannot be changed; change a copy: dict(...)")

    __setitem__ = __delitem__ = __ior__ = _raise_frozen
    clear = pop = popitem = setdefault = update = _raise_frozen

    def __hash__(self) -> int:  # type: ignore[override]
        """Hash the items in their order; the values must be hashable."""
        return hash(tuple(self.items()))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by way of a plain dict, as items cannot be set one by one."""
        return type(self), (dict(self),)


def freeze(value: Any) -> Any:
    """Return a value with its mappings and lists, at any depth, replaced by read-only ones."""
    if type(value) is FrozenDict:
        return value
    if isinstance(value, Mapping):
        return FrozenDict({key: freeze(entry) for key, entry in value.items()})
    if type(value) in (list, tuple):
        return tuple(freeze(entry) for entry in value)
    return frozenset(value) if isinstance(value, set) else value


class derived(cached_property[T]):
    """A property that is computed once from a document's fields, and frozen like these."""

    def __init__(self, function: Callable[[Any], T]) -> None:
        super().__init__(lambda document: cast(T, freeze(function(document))))
        self.__doc__ = function.__doc__


_LONGEST_REPR = 300
"""Characters of a document's ``repr``."""

_SEQUENCES = ("dict", "list", "tuple")


def _failing_fast(schema: Any) -> Any:
    """Return a core schema in which lists and mappings give up at their first bad entry."""
    if isinstance(schema, list):
        return [_failing_fast(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    fast = {k: part if k == "metadata" else _failing_fast(part) for k, part in schema.items()}
    if fast.get("type") in _SEQUENCES:
        fast["fail_fast"] = True
    return fast


class _Plain(str):
    """A text whose ``repr`` is the text itself."""

    __slots__ = ()
    __repr__ = str.__str__


class Document(BaseModel):
    """A piece of a file, frozen at every depth; unknown fields are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", ignored_types=(derived,))

    def model_post_init(self, _context: Any, /) -> None:
        """Make the mappings among the fields read-only."""
        for name, value in self.__dict__.items():
            if isinstance(value, (dict, list)):
                self.__dict__[name] = freeze(value)

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """Copy with some fields changed; what was derived from the old ones is derived anew."""
        changed = {name: freeze(value) for name, value in (update or {}).items()}
        copy = super().model_copy(update=changed, deep=deep)
        for name in set(copy.__dict__) - set(type(self).model_fields):
            del copy.__dict__[name]
        return copy

    def __getstate__(self) -> dict[Any, Any]:
        """Pickle the fields; what was derived from them, or linked to them, is left behind."""
        state = super().__getstate__()
        fields = type(self).model_fields
        kept = {name: value for name, value in state["__dict__"].items() if name in fields}
        return state | {"__dict__": kept}

    def __repr_args__(self) -> Iterable[tuple[str, Any]]:
        """Return the fields that are not at their defaults, with long values counted."""
        return [(name, _Plain(text)) for name, text in arguments(self)]

    def __repr__(self) -> str:
        """Return a line of limited length, whatever the document's size."""
        fields = ", ".join(f"{name}={text}" for name, text in arguments(self))
        return shorten(f"{type(self).__name__}({fields})", _LONGEST_REPR)

    def __str__(self) -> str:
        """Return the same as ``repr``."""
        return repr(self)

    @classmethod
    def parse(cls, data: object, where: str) -> Self:
        """Validate plain JSON data.

        Parameters
        ----------
        data, where
            The data, and a name for where it came from.

        Raises
        ------
        InstanceError
            Naming `where`, the first offending field, and the remedy.
        """
        try:
            return cls.model_validate(data)
        except ValidationError as error:
            path, problem, remedy = next(flaws(error, cls))
            raise InstanceError(where, spell_path(path), problem, remedy) from None

    @classmethod
    def __get_pydantic_core_schema__(
        cls, source: type[BaseModel], handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        """Stop at a list's first flaw: a file with a million of them must not take minutes."""
        return cast(CoreSchema, _failing_fast(handler(source)))

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """Describe fields by the texts below them in the source."""
        found = handler(schema)
        fields = handler.resolve_ref_schema(found)["properties"]
        for name, text in meanings(cls).items():
            fields[cls.model_fields[name].alias or name].setdefault("description", text)
        return found

    @model_validator(mode="before")
    @classmethod
    def _validate_field_names(cls, data: Any) -> Any:
        """Refuse the first of many unknown fields; pydantic finds it when there are few."""
        known = cls.__pydantic_fields__  # `model_fields` is a property that warns
        if isinstance(data, Mapping) and len(data) > len(known):
            unknown = next(name for name in data if name not in known)
            raise Flaw((unknown,), "is an unknown field", f"remove it (known: {field_names(cls)})")
        return data


def meanings(model: type[BaseModel]) -> dict[str, str]:
    """Return what fields mean, by name, for those that have a text where they are stated last.

    Pydantic can read these itself (``use_attribute_docstrings``), but it does so when a class is
    made, which was a fifth of the time that a command took to begin. Only JSON Schemas need them.
    """
    found: dict[str, str] = {}
    for owner in reversed(model.__mro__):
        if issubclass(owner, BaseModel):
            texts = _texts(owner)
            for name in inspect.get_annotations(owner):
                found.pop(name, None)
                if name in texts:
                    found[name] = texts[name]
    return {name: text for name, text in found.items() if name in model.model_fields}


@cache
def _texts(owner: type) -> Mapping[str, str]:
    """Return the texts below annotated names in the source of a class, if there is a source."""
    try:
        source = inspect.getsource(owner)
    except (OSError, TypeError):  # written in a console
        return {}
    body = ast.parse(textwrap.dedent(source)).body[0]
    assert isinstance(body, ast.ClassDef)
    found = {}
    for field, below in pairwise(body.body):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
            match below:
                case ast.Expr(ast.Constant(str(text))):
                    found[field.target.id] = inspect.cleandoc(text)
    return found
