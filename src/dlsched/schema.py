"""The envelope that every file shares, ids and numbers, digests, and errors with a path.

A problem's package derives its own ``Instance`` and ``Solution`` from the two classes here. Numbers
are kept as the file writes them: an ``int``, or a ``fractions.Fraction`` equal to the decimal, so
that checkers can compute exactly while ``float(x)`` stays lossless.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import math
import numbers
import pickle
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    ClassVar,
    Final,
    Literal,
    Self,
    TypeAlias,
    TypeVar,
    cast,
)

from pydantic import (
    BaseModel,
    ConfigDict,
    GetCoreSchemaHandler,
    PlainSerializer,
    PlainValidator,
    StringConstraints,
    ValidationError,
    WithJsonSchema,
    model_validator,
)
from pydantic_core import CoreSchema

from dlsched.content import arguments
from dlsched.errors import InstanceError
from dlsched.figures import shorten
from dlsched.frames.write import to_frames
from dlsched.rendering import Rendered

SCHEMA_VERSION: Final = 1
LARGEST = 10**15
"""No number in a file may be larger: sums of a million of them still fit 64 bits exactly enough."""

_LONGEST_REPR = 300
"""Characters of a document's ``repr``."""

_LEAST_EXPONENT = -330
"""No double but 0 is smaller than ten to this power."""

_LINK = "_instance"
"""The attribute of solutions and results that `link_instance` sets."""

if TYPE_CHECKING:
    import pandas

K = TypeVar("K")
V = TypeVar("V")
T = TypeVar("T")

Number: TypeAlias = int | Fraction
"""An exact number: what the checkers compute with."""


class Flaw(ValueError):
    """Raised by a problem's validator: a path below the model, what is wrong, the remedy."""

    def __init__(self, path: Sequence[str | int], problem: str, remedy: str) -> None:
        self.path, self.problem, self.remedy = tuple(path), problem, remedy
        super().__init__(f"{problem}; {remedy}")


class Unusable:
    """A JSON literal that is no quantity (NaN, 1e400); it is refused with its path."""

    def __init__(self, text: str, problem: str, remedy: str) -> None:
        self.text, self.problem, self.remedy = text, problem, remedy


def exact(value: object) -> Number:
    """Return `value` as an exact number: the shortest decimal that reads as this double.

    Raises
    ------
    Flaw
        If it is not a number, not finite, beyond 1e15, or has more digits than a double keeps.
    """
    if isinstance(value, Unusable):
        raise Flaw((), f"{value.text} {value.problem}", value.remedy)
    if isinstance(value, bool) or not isinstance(value, (numbers.Real, Decimal)):
        raise Flaw((), f"{shown(value)} is not a number", "write a plain number without quotes")
    if isinstance(value, numbers.Integral):
        number: Number = int(value)
    elif isinstance(value, Fraction):
        number = value
    elif isinstance(value, Decimal):
        number = _from_decimal(value)
    else:
        double = float(value)
        number = Fraction(repr(double)) if math.isfinite(double) else _infinite(value)
    if not -LARGEST <= number <= LARGEST:
        raise Flaw((), f"{shown(value)} is too large", "use a unit that keeps it within 1e15")
    if isinstance(number, Fraction):
        if number.denominator == 1:
            return int(number)
        if number != Fraction(repr(float(number))):
            raise Flaw((), f"{shown(value)} has more digits than a double", "round it to 15 digits")
    return number


def _from_decimal(value: Decimal) -> Fraction:
    """Convert only what is in reach: 1e999999999 as a fraction would fill the memory."""
    if not value.is_finite():
        return _infinite(value)
    if not value:
        return Fraction(0)
    if value.adjusted() < _LEAST_EXPONENT:
        raise Flaw((), f"{shown(value)} has more digits than a double", "round it to 15 digits")
    return Fraction(value) if value.adjusted() < 2 * len(str(LARGEST)) else Fraction(2 * LARGEST)


def _infinite(value: object) -> Fraction:
    raise Flaw((), f"{value} is not a finite number", "write a finite decimal")


def shown(value: object) -> str:
    """Return a value for a message, shortened before it is spelled: it may be of any size."""
    if isinstance(value, Unusable):
        return value.text
    if isinstance(value, (Mapping, list, tuple, set, frozenset)):
        return "an object" if isinstance(value, Mapping) else "a list"
    if isinstance(value, int) and not -(LARGEST**2) < value < LARGEST**2:
        return "the number"
    if isinstance(value, Fraction):
        return str(float(value)) if abs(value) < LARGEST**2 else "the number"
    return brief(json.dumps(value[:80] if isinstance(value, str) else value, default=str))


def brief(text: str) -> str:
    """Return a text, or its beginning, for a message that must fit a line."""
    return text if len(text) <= 40 else text[:37] + "..."


def whole(value: object) -> int:
    """Return `value` as an int; a decimal, even 2.0, is refused because the thing is indivisible.

    Raises
    ------
    Flaw
        If it is not a whole number.
    """
    number = exact(value)
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise Flaw((), f"{shown(value)} is not a whole number", "write an integer without a point")
    return int(number)


def _at_least(convert: Callable[[object], Number], low: int, strict: bool = False) -> Any:
    def validate(value: object) -> Number:
        number = convert(value)
        if number < low or (strict and number == low):
            word = "above" if strict else "at least"
            raise Flaw((), f"{shown(value)} is too small", f"write a number {word} {low}")
        return number

    return PlainValidator(validate)


def simplify(number: Number) -> Number:
    """Return a whole fraction as an int, any other number as it is."""
    return int(number) if number.denominator == 1 else number


def to_json(number: Number | float) -> int | float:
    """Return a number as a JSON number, a fraction as the nearest double."""
    return number if isinstance(number, int) else float(number)


_SPELL = PlainSerializer(to_json)
Amount = Annotated[
    int | Fraction, _at_least(exact, 0), _SPELL, WithJsonSchema({"type": "number", "minimum": 0})
]
PositiveAmount = Annotated[
    int | Fraction,
    _at_least(exact, 0, strict=True),
    _SPELL,
    WithJsonSchema({"type": "number", "exclusiveMinimum": 0}),
]
Count = Annotated[int, _at_least(whole, 0), WithJsonSchema({"type": "integer", "minimum": 0})]
PositiveCount = Annotated[
    int, _at_least(whole, 1), WithJsonSchema({"type": "integer", "minimum": 1})
]
Id = Annotated[str, StringConstraints(strict=True, min_length=1)]
Label = Annotated[str, StringConstraints(strict=True, min_length=1, max_length=200)]


_SEQUENCES = ("dict", "list", "tuple")


def _failing_fast(schema: Any) -> Any:
    """Return a core schema in which lists and mappings give up at their first bad entry."""
    if isinstance(schema, list):
        return [_failing_fast(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    result = {k: part if k == "metadata" else _failing_fast(part) for k, part in schema.items()}
    return result | {"fail_fast": True} if result.get("type") in _SEQUENCES else result


class FrozenDict(dict[K, V]):
    """A mapping that cannot be changed; `copy` returns a plain dict, which can."""

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


class _Plain(str):
    """A text whose ``repr`` is the text itself."""

    __slots__ = ()
    __repr__ = str.__str__


class Document(BaseModel):
    """A piece of a file, frozen at every depth; unknown fields are refused."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", ignored_types=(derived,), use_attribute_docstrings=True
    )

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
    def parse(
        cls,
        data: object,
        where: str,
        locate: Callable[[tuple[str | int, ...]], str] | None = None,
    ) -> Self:
        """Validate plain JSON data.

        Parameters
        ----------
        data, where
            The data, and a name for where it came from.
        locate
            Returns how an error names a path, if not as ``jobs[3].id``.

        Raises
        ------
        InstanceError
            Naming `where`, the first offending field, and the remedy.
        """
        try:
            return cls.model_validate(data)
        except ValidationError as error:
            raise _first_flaw(error, where, cls, locate or spell_path) from None

    @classmethod
    def __get_pydantic_core_schema__(
        cls, source: type[BaseModel], handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        """Stop at a list's first flaw: a file with a million of them must not take minutes."""
        return cast(CoreSchema, _failing_fast(handler(source)))

    @model_validator(mode="before")
    @classmethod
    def _validate_field_names(cls, data: Any) -> Any:
        """Refuse the first of many unknown fields; pydantic finds it when there are few."""
        if isinstance(data, Mapping) and len(data) > len(cls.model_fields):
            unknown = next(name for name in data if name not in cls.model_fields)
            raise Flaw((unknown,), "is an unknown field", f"remove it (known: {_fields(cls)})")
        return data


class _Enveloped(Rendered, Document):
    dlsched: Literal[1] = SCHEMA_VERSION
    """Version of the file format."""
    problem: str
    """Name of the problem."""

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """Show IPython the short text, and Hypothesis all data: it prints what makes a test fail.

        IPython's protocol, which Hypothesis uses too.
        """
        whole = type(printer).__module__.partition(".")[0] == "hypothesis"
        kind = "load" if isinstance(self, Instance) else "load_solution"
        printer.text(f"dlsched.{kind}({self.to_data()!r})" if whole else repr(self))

    def to_data(self) -> dict[str, Any]:
        """Return plain JSON data; fields at their default are left out, the envelope is not."""
        data = self.model_dump(mode="json", exclude_defaults=True)
        return {"dlsched": self.dlsched, "problem": self.problem} | data

    def to_frames(self) -> dict[str, pandas.DataFrame]:
        """Return all fields as data frames, by the layout of `dlsched.frames.layout`.

        The frame ``instance``, of a solution ``solution``, has the single values in one row. Every
        list and mapping is a frame of its own; one inside another names its parent in a column, as
        the frame ``jobs_workers`` does in the column ``job``. Fractions are written as doubles,
        from which they can be read back exactly. `dlsched.from_frames` is the inverse for
        instances.
        """
        return to_frames(self, "instance" if isinstance(self, Instance) else "solution")


class Instance(_Enveloped):
    """The envelope of an instance; the problem's own fields stand beside these."""

    FIXED_IDS: ClassVar[frozenset[str]] = frozenset()
    """Ids whose meaning the schema fixes; other ids are names, and may be replaced by others."""

    name: Id
    """Name of the instance, which solutions and tables repeat."""
    source: str | None = None
    """Where the instance comes from."""
    notes: str | None = None
    """Remarks for people."""

    def copy_apart(self) -> Self:
        """Return an equal instance that shares nothing with this one that could be changed."""
        apart: Self = pickle.loads(pickle.dumps(self.model_copy()))
        return apart

    def fingerprint(self) -> int | None:
        """Return a hash of the fields as they are now; ``None`` if one is not frozen any more.

        It is fast and differs between processes, where `sha256` is neither.
        """
        try:
            return hash(self)
        except (TypeError, AttributeError, KeyError):
            return None

    def digested(self) -> dict[str, Any]:
        """Return the data that the digest is taken over.

        A problem that gets new fields leaves them out where they are not used, so that the digests
        of older files stay.
        """
        return self.model_dump(mode="json", exclude={"name", "source", "notes"})

    @derived
    def sha256(self) -> str:
        """Digest of what is to be solved: every field but ``name``, ``source`` and ``notes``.

        It is taken over the canonical JSON text (sorted keys, defaults written out), so neither
        layout nor labels change it.
        """
        text = json.dumps(self.digested(), sort_keys=True, separators=(",", ":"), ensure_ascii=True)
        return hashlib.sha256(text.encode()).hexdigest()


class AnyInstance(Instance):
    """An instance of a problem that is known at run time only, with the fields of its problem.

    For type checkers alone: what is loaded is the problem's own class.
    """

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:  # noqa: D105
            ...


def _require_instance(schema: dict[str, Any]) -> None:
    """State in the JSON Schema that a file names its instance."""
    del schema["properties"]["instance"]["default"]
    schema["required"] = ["instance", *schema.get("required", ())]


def _day(value: object) -> str:
    if not isinstance(value, str) or not re.fullmatch(r"\d{4}-\d{2}-\d{2}", value):
        raise Flaw((), f"{shown(value)} is not a date", 'write "YYYY-MM-DD"')
    try:
        datetime.date.fromisoformat(value)
    except ValueError:
        raise Flaw((), f"{shown(value)} is not in the calendar", 'write "YYYY-MM-DD"') from None
    return value


Day = Annotated[str, PlainValidator(_day), WithJsonSchema({"type": "string", "format": "date"})]


class Credit(Document):
    """Who found a solution."""

    by: Label
    """Names, as they are to be printed."""
    date: Day
    """When, as ``YYYY-MM-DD``."""
    reference: Label | None = None
    """Where one can read how: a DOI, an address, a few words."""


class Solution(_Enveloped):
    """The envelope of a solution; the problem's own fields stand beside these.

    A method leaves ``instance``, ``instance_sha256`` and ``method`` out: the run fills them in. In
    a file, ``instance`` is required. ``credit`` is for solutions sent in for library instances.
    """

    model_config = ConfigDict(json_schema_extra=_require_instance)

    instance: Id = ""
    """Name of the instance that is solved."""
    instance_sha256: str | None = None
    """Digest of the instance; another instance is refused."""
    method: str | None = None
    """Method that found the solution."""
    credit: Credit | None = None
    """Who found it, of a solution that was sent in for a library instance."""

    @classmethod
    def parse(
        cls,
        data: object,
        where: str,
        locate: Callable[[tuple[str | int, ...]], str] | None = None,
    ) -> Self:
        """Validate plain JSON data, which must name the instance; see `Document.parse`.

        Raises
        ------
        InstanceError
            Naming `where`, the first offending field, and the remedy.
        """
        solution = super().parse(data, where, locate)
        if not solution.instance:
            raise InstanceError(where, "instance", "is missing", "add it")
        return solution

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """Copy with some fields changed; the copy knows the instance too if its digest is kept."""
        copy = super().model_copy(update=update, deep=deep)
        instance = linked_instance(self)
        if instance is not None and "instance_sha256" not in (update or {}):
            link_instance(copy, instance)
        return copy

    def __getstate__(self) -> dict[Any, Any]:
        """Pickle the fields, not the link to the instance."""
        state = super().__getstate__()
        return state | {"__dict__": without_link(state["__dict__"])}


def link_instance(document: object, instance: Instance) -> None:
    """Let a solution or a result know its instance, for pictures and summaries.

    The link is no field: equality, hash, pickles, JSON and ``repr`` are the same with and without.
    """
    vars(document)[_LINK] = instance


def linked_instance(document: object) -> Instance | None:
    """Return the instance that `link_instance` recorded, if any."""
    found: Instance | None = vars(document).get(_LINK)
    return found


def without_link(state: dict[str, Any]) -> dict[str, Any]:
    """Return the attributes of a document but for the link to its instance."""
    return {name: value for name, value in state.items() if name != _LINK}


class AnySolution(Solution):
    """A solution of a problem that is known at run time only, with the fields of its problem.

    For type checkers alone: what is loaded is the problem's own class.
    """

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:  # noqa: D105
            ...


def granularity(values: Iterable[Number]) -> Fraction:
    """Return the largest number of which all the values are multiples; 0 if all are 0."""
    values = [Fraction(v) for v in values if v]
    denominator = math.lcm(*(v.denominator for v in values))
    return Fraction(math.gcd(*(int(v * denominator) for v in values)), denominator)


def require_unique(ids: Iterable[str], *path: str) -> None:
    """Refuse a list of ids in which one stands twice.

    Raises
    ------
    Flaw
        At ``path[i].id`` of the second occurrence.
    """
    seen: dict[str, int] = {}
    for i, name in enumerate(ids):
        if name in seen:
            raise Flaw(
                (*path, i, "id"),
                f'the id "{brief(name)}" is already used at {"".join(path)}[{seen[name]}]',
                "give every entry its own id",
            )
        seen[name] = i


def dangling(path: Sequence[str | int], kind: str, name: str, known: Iterable[str]) -> Flaw:
    """Return the flaw of a reference that does not resolve."""
    known = list(known)
    some = ", ".join(map(brief, known[:4])) + (", ..." if len(known) > 4 else "")
    remedy = f"use one of the {len(known)}: {some}" if known else f"there is no {kind}: add one"
    return Flaw(path, f'no {kind} has the id "{brief(name)}"', remedy)


def spell_path(path: Iterable[str | int]) -> str:
    """Return a path as users write it: ``jobs[3].workers[0].server``."""
    text = ""
    for step in path:
        name = f"[{step}]" if isinstance(step, int) else brief(str(step)) or '""'
        text += f".{name}" if text and not isinstance(step, int) else name
    return text


_REMEDIES: Mapping[str, tuple[str, str]] = {
    "missing": ("is missing", "add it"),
    "string_type": ("is not a string", "write text in quotes"),
    "string_unicode": ("is not Unicode text", "write whole characters, not halves of a pair"),
    "string_too_short": ("is an empty string", "write at least one character"),
    "string_too_long": ("has more than 200 characters", "shorten it"),
    "bool_type": ("is neither true nor false", "write true or false"),
    "tuple_type": ("is not a list", "write [...]"),
    "list_type": ("is not a list", "write [...]"),
    "dict_type": ("is not an object", "write {...}"),
    "model_type": ("is not an object", "write {...}"),
    "model_attributes_type": ("is not an object", "write {...}"),
}


def _first_flaw(
    error: ValidationError,
    where: str,
    model: type[BaseModel],
    locate: Callable[[tuple[str | int, ...]], str],
) -> InstanceError:
    flaws = error.errors(include_url=False)
    first = flaws[0]
    path: tuple[str | int, ...] = tuple(first["loc"])
    cause = first.get("ctx", {}).get("error")
    if isinstance(cause, Flaw):
        path, problem, remedy = path + cause.path, cause.problem, cause.remedy
    elif first["type"] == "extra_forbidden":
        problem = "is an unknown field"
        remedy = "remove it" if len(path) > 1 else f"remove it (known: {_fields(model)})"
    elif first["type"] in _REMEDIES:
        problem, remedy = _REMEDIES[first["type"]]
    else:
        problem, remedy = first["msg"][0].lower() + first["msg"][1:], "see docs/schema"
    return InstanceError(where, locate(path), problem, remedy)


def _fields(model: type[BaseModel]) -> str:
    return ", ".join(model.model_fields)
