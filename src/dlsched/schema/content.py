"""What a document contains, in a few words: its values, and the sizes and ranges of its lists.

It is derived from the fields, so it serves any problem.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from pydantic import BaseModel

from dlsched.display.figures import display, shorten

ADDED_UP = ("gpus", "gpu_supply", "gpu_hours", "size", "storage_capacity")
"""Fields whose values are stated with their total."""
LONGEST = 40
"""Characters of a text, entries of a list: what is longer is shortened or counted."""
_FEW = 4
"""Entries that are named one by one."""


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
    if _is_list(value) or isinstance(value, Mapping):
        return _brief_entries(value)
    return shorten(number_text(value).replace(",", ""), LONGEST)


def number_text(value: object) -> str:
    """Return a number as text with up to six digits; any other value by its ``repr``."""
    if isinstance(value, bool) or not isinstance(value, (int, float, Fraction)):
        return repr(value)
    try:
        return display(value)
    except (OverflowError, ValueError):  # it does not fit a double, or has thousands of digits
        return "a large number"


def _brief_entries(value: Any) -> str:
    entries = value.values() if isinstance(value, Mapping) else value
    if len(value) > _FEW or any(_is_compound(entry) for entry in entries):
        return f"<{len(value):,} {'entry' if len(value) == 1 else 'entries'}>"
    if isinstance(value, Mapping):
        pairs = (f"{brief_value(key)}: {brief_value(entry)}" for key, entry in value.items())
        return "{" + ", ".join(pairs) + "}"
    return "[" + ", ".join(map(brief_value, entries)) + "]"


def _is_list(value: object) -> bool:
    return isinstance(value, (list, tuple, set, frozenset))


def _is_compound(value: object) -> bool:
    return _is_list(value) or isinstance(value, (Mapping, BaseModel))


def arguments(document: BaseModel) -> Iterable[tuple[str, str]]:
    """Yield the names and brief values of the fields that are not at their defaults."""
    for name, field in type(document).model_fields.items():
        value = document.__dict__.get(name)
        if field.is_required() or value != field.get_default(call_default_factory=True):
            yield name, brief_value(value)


def values(document: BaseModel, without: Sequence[str]) -> list[tuple[str, str]]:
    """Return names and texts of the single values that are not at their defaults."""
    return [
        (name, _unquoted(document.__dict__[name], text))
        for name, text in arguments(document)
        if name not in without and not _is_collection(document.__dict__.get(name))
    ]


def _unquoted(value: object, text: str) -> str:
    if isinstance(value, BaseModel):
        return ", ".join(f"{name} {text}" for name, text in values(value, ())) or "as by default"
    return text[1:-1] if isinstance(value, str) and value.isidentifier() else text


def _is_collection(value: object) -> bool:
    return _is_list(value) or isinstance(value, Mapping)


def parts(document: BaseModel, without: Sequence[str] = ()) -> list[Part]:
    """Return a part for each list and mapping of a document; empty ones by default are left out."""
    found = []
    for name, field in type(document).model_fields.items():
        value: Any = document.__dict__.get(name)
        if name not in without and _is_collection(value) and (value or field.is_required()):
            found.append(Part(name, len(value), tuple(facts(value))))
    return found


def entries(document: BaseModel) -> int:
    """Return the number of entries in the lists and mappings of a document."""
    found: list[Any] = [document.__dict__.get(name) for name in type(document).model_fields]
    return sum(len(value) for value in found if _is_collection(value))


def facts(value: Any) -> Iterable[str]:
    """Yield facts about the entries of a list or a mapping."""
    entries = list(value.values()) if isinstance(value, Mapping) else list(value)
    if entries and all(isinstance(entry, BaseModel) for entry in entries):
        yield from _fields(entries)
    elif entries and len(entries) <= _FEW and not any(map(_is_compound, entries)):
        yield _brief_entries(value)
    elif entries and all(map(is_number, entries)):
        yield _range(entries)


def _fields(entries: Sequence[BaseModel]) -> Iterable[str]:
    """Yield a fact per field of the documents in a list, where there is one worth stating."""
    for name, field in type(entries[0]).model_fields.items():
        default = field.get_default(call_default_factory=True)
        found = [entry.__dict__.get(name) for entry in entries]
        known = [value for value in found if value is not None]
        if known and name != "id" and any(value != default for value in known):
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
    words = (f"{shorten(word, LONGEST)!r} {n:,}" for word, n in counts.items())
    return f"{name} {', '.join(words)}"


def _list_fact(name: str, known: Sequence[Sequence[Any]]) -> str:
    inner = [entry for value in known for entry in value]
    text = f"{name} {_range([len(value) for value in known])} each"
    if inner and all(isinstance(entry, BaseModel) for entry in inner):
        return f"{text} ({', '.join([f'{len(inner):,} in all', *_fields(inner)])})"
    return text


def _mapping_fact(name: str, known: Sequence[Mapping[Any, Any]]) -> str | None:
    totals: dict[Any, Any] = {}
    for mapping in known:
        for key, entry in mapping.items():
            totals[key] = totals.get(key, 0) + (entry if is_number(entry) else 0)
    if not totals or len(totals) > _FEW:
        return f"{name} by {len(totals):,} keys" if totals else None
    if name in ADDED_UP:
        words = (f"{shorten(str(key), LONGEST)} {number_text(n)}" for key, n in totals.items())
        return f"{name} in total {', '.join(words)}"
    return f"{name} by {', '.join(shorten(str(key), LONGEST) for key in totals)}"


_FACTS: tuple[tuple[Any, Callable[[str, Sequence[Any]], str | None]], ...] = (
    (str, _text_fact),
    (Mapping, _mapping_fact),
    ((list, tuple), _list_fact),
)
"""What states a fact about values of a type."""


def is_number(value: object) -> bool:
    """Whether a value is a number; True and False are none."""
    return isinstance(value, (int, float, Fraction)) and not isinstance(value, bool)


def _range(numbers: Sequence[Any]) -> str:
    low, high = number_text(min(numbers)), number_text(max(numbers))
    return low if low == high else f"{low} to {high}"
