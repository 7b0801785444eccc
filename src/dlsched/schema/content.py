"""What a document contains, in a few words: its values, and the sizes and ranges of its lists.

It is derived from the fields, so it serves any problem.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from pydantic import BaseModel

from dlsched.text.figures import display, shorten

ADDED_UP = ("gpus", "gpu_supply", "gpu_hours", "size", "storage_capacity")
"""Fields whose values are stated with their total."""
LONGEST = 40
"""Characters of a text, entries of a list: what is longer is shortened or counted."""
_FEW = 4
"""Entries that are named one by one."""


_LISTS = (list, tuple, set, frozenset)
_COLLECTIONS = (*_LISTS, Mapping)
_COMPOUND = (*_COLLECTIONS, BaseModel)


class Part(NamedTuple):
    """A list or mapping of a document: its field, its length, and facts about its entries."""

    name: str
    size: int
    facts: tuple[str, ...]


def brief_value(value: object) -> str:
    """Return a value of any type and size in a few characters."""
    if isinstance(value, str):
        return repr(shorten(value, LONGEST))
    if isinstance(value, BaseModel):
        return shorten(repr(value), 2 * LONGEST)
    if isinstance(value, _COLLECTIONS):
        return _brief_entries(value)
    return shorten(number_text(value).replace(",", ""), LONGEST)


def number_text(value: object) -> str:
    """Return a number as text with up to six digits; any other value by its ``repr``."""
    if not is_number(value):
        return repr(value)
    try:
        return display(value)
    except (OverflowError, ValueError):  # it does not fit a double, or has thousands of digits
        return "a large number"


def is_number(value: object) -> bool:
    """Whether a value is a number; True and False are none."""
    return isinstance(value, (int, float, Fraction)) and not isinstance(value, bool)


def _brief_entries(value: Any) -> str:
    entries = _entries(value)
    if len(entries) > _FEW or _has_compound(entries):
        noun = "entry" if len(entries) == 1 else "entries"
        return f"<{len(entries):,} {noun}>"
    if not isinstance(value, Mapping):
        return f"[{', '.join(map(brief_value, entries))}]"
    pairs = [f"{brief_value(key)}: {brief_value(entry)}" for key, entry in value.items()]
    return "{" + ", ".join(pairs) + "}"


def _entries(value: Any) -> list[Any]:
    """Return the entries of a list, or the values of a mapping."""
    return list(value.values() if isinstance(value, Mapping) else value)


def _has_compound(entries: Iterable[object]) -> bool:
    return any(isinstance(entry, _COMPOUND) for entry in entries)


def arguments(document: BaseModel) -> Iterable[tuple[str, str]]:
    """Yield the names and brief values of the fields that are not at their defaults."""
    for name, field in type(document).model_fields.items():
        value = document.__dict__.get(name)
        if field.is_required() or value != field.get_default(call_default_factory=True):
            yield name, brief_value(value)


def values(document: BaseModel, without: Sequence[str]) -> list[tuple[str, str]]:
    """Return names and texts of the single values that are not at their defaults."""
    shown_values = []
    for name, text in arguments(document):
        value = document.__dict__.get(name)
        if name in without or isinstance(value, _COLLECTIONS):
            continue
        shown = text
        if isinstance(value, BaseModel):
            shown = ", ".join(map(" ".join, values(value, ()))) or "as by default"
        elif isinstance(value, str) and value.isidentifier():
            shown = text[1:-1]  # without quotes
        shown_values.append((name, shown))
    return shown_values


def parts(document: BaseModel, without: Sequence[str] = ()) -> list[Part]:
    """Return a part for each list and mapping of a document; empty ones by default are left out."""
    listed = []
    for name, field in type(document).model_fields.items():
        value: Any = document.__dict__.get(name)
        is_part = isinstance(value, _COLLECTIONS) and (value or field.is_required())
        if is_part and name not in without:
            listed.append(Part(name, len(value), tuple(facts(value))))
    return listed


def entries(document: BaseModel) -> int:
    """Return the number of entries in the lists and mappings of a document."""
    fields = [document.__dict__.get(name) for name in type(document).model_fields]
    return sum(len(value) for value in fields if isinstance(value, _COLLECTIONS))


def facts(value: Any) -> Iterable[str]:
    """Yield facts about the entries of a list or a mapping."""
    entries = _entries(value)
    if not entries:
        return
    if all(isinstance(entry, BaseModel) for entry in entries):
        yield from _fields(entries)
    elif len(entries) <= _FEW and not _has_compound(entries):
        yield _brief_entries(value)
    elif all(map(is_number, entries)):
        yield _range(entries)


def _fields(entries: Sequence[BaseModel]) -> Iterable[str]:
    """Yield a fact per field of the documents in a list, where there is one worth stating."""
    for name, field in type(entries[0]).model_fields.items():
        default = field.get_default(call_default_factory=True)
        given = [entry.__dict__.get(name) for entry in entries]
        known = [value for value in given if value is not None]
        if name != "id" and any(value != default for value in known):
            fact = _fact(name, known)
            if fact:
                yield fact


def _fact(name: str, known: Sequence[Any]) -> str | None:
    """Return what is worth stating about a field's values; ``None`` if there is nothing."""
    if all(isinstance(value, bool) for value in known):
        return f"{name} {sum(known):,}"
    if all(map(is_number, known)):
        total = f", total {number_text(sum(known))}" if name in ADDED_UP else ""
        return f"{name} {_range(known)}{total}"
    for kind, fact in _FACTS:
        if all(isinstance(value, kind) for value in known):
            return fact(name, known)
    return None


def _text_fact(name: str, known: Sequence[str]) -> str | None:
    counts = Counter(known)
    if len(counts) == len(known) > 1:
        return None
    if len(counts) > _FEW:
        return f"{len(counts):,} values of {name}"
    words = [f"{shorten(word, LONGEST)!r} {n:,}" for word, n in counts.items()]
    return f"{name} {', '.join(words)}"


def _list_fact(name: str, known: Sequence[Sequence[Any]]) -> str:
    sizes = _range([len(value) for value in known])
    inner = [entry for value in known for entry in value]
    if not inner or not all(isinstance(entry, BaseModel) for entry in inner):
        return f"{name} {sizes} each"
    facts_of_inner = ", ".join([f"{len(inner):,} in all", *_fields(inner)])
    return f"{name} {sizes} each ({facts_of_inner})"


def _mapping_fact(name: str, known: Sequence[Mapping[Any, Any]]) -> str | None:
    totals: Counter[Any] = Counter()
    for mapping in known:
        for key, entry in mapping.items():
            totals[key] += entry if is_number(entry) else 0
    if not totals:
        return None
    if len(totals) > _FEW:
        return f"{name} by {len(totals):,} keys"
    keys = [shorten(str(key), LONGEST) for key in totals]
    if name not in ADDED_UP:
        return f"{name} by {', '.join(keys)}"
    numbers = map(number_text, totals.values())
    words = map(" ".join, zip(keys, numbers, strict=True))
    return f"{name} in total {', '.join(words)}"


_FACTS: tuple[tuple[Any, Callable[[str, Sequence[Any]], str | None]], ...] = (
    (str, _text_fact),
    (Mapping, _mapping_fact),
    ((list, tuple), _list_fact),
)
"""What states a fact about values of a type."""


def _range(numbers: Sequence[Any]) -> str:
    low = number_text(min(numbers))
    high = number_text(max(numbers))
    return low if low == high else f"{low} to {high}"
