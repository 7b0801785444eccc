"""Names for tables: no two generated instances, instances of one table or methods share one."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

MOST_CHARACTERS = 80
"""What the parameters may take of a name; the rest is a digest."""
_WORDS = ("True", "False", "None", "nan", "inf")


def labelled(stem: str, parameters: Mapping[str, Any]) -> str:
    """Return a name that carries parameters, as ``reclaiming-servers=64``.

    Different parameters give different names; those that are long are told apart by a digest.
    """
    said = "".join(f"-{name}={_value(value)}" for name, value in parameters.items())
    if len(said) > MOST_CHARACTERS:
        digest = hashlib.sha256(said.encode(errors="backslashreplace")).hexdigest()[:8]
        said = f"{said[: MOST_CHARACTERS - len(digest) - 1]}-{digest}"
    return stem + said


def _value(value: Any) -> str:
    """Spell a value such that 1 and "1" differ, and words need no quotes."""
    value = value.item() if hasattr(value, "item") else value
    if isinstance(value, str):
        return value if value.isidentifier() and value not in _WORDS else repr(value)
    return str(value)


def shorten(text: str, most: int) -> str:
    """Return a text, or its beginning and an ellipsis if it has more than `most` characters."""
    return text if len(text) <= most else text[: max(1, most - 1)] + "…"


def method_labels(methods: Sequence[Any]) -> list[str]:
    """Return the names of methods for a table, where each callable has a name of its own."""
    labels = [m if isinstance(m, str) else _name_of(m) for m in methods]
    for spell in (_full_name_of, lambda m: f"{_full_name_of(m)} at {id(m):#x}"):
        shared = {
            label
            for i, label in enumerate(labels)
            for j in range(i)
            if labels[j] == label and methods[j] is not methods[i] and methods[j] != methods[i]
        }
        labels = [
            spell(m) if label in shared and not isinstance(m, str) else label
            for m, label in zip(methods, labels, strict=True)
        ]
    return labels


def _name_of(function: Any) -> str:
    return str(getattr(function, "__name__", type(function).__name__))


def _full_name_of(function: Any) -> str:
    home = getattr(function, "__module__", type(function).__module__)
    return f"{home}.{getattr(function, '__qualname__', type(function).__qualname__)}"


def distinguish(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the rows; different instances of one name have their digest's beginning added to it.

    Instances are told apart by ``instance_sha256``; where a run did not come so far, by that of
    another row with the same name and ``source``, or by the source.
    """
    known = {_place(row): row["instance_sha256"] for row in rows if row.get("instance_sha256")}
    identities = [str(row.get("instance_sha256") or known.get(_place(row)) or "") for row in rows]
    owners: dict[str, set[str]] = {}
    for i, row in enumerate(rows):
        source = str(row.get("source")).encode(errors="backslashreplace")
        identities[i] = identities[i] or hashlib.sha256(source).hexdigest()
        owners.setdefault(row["instance"], set()).add(identities[i])
    return [
        row | {"instance": f"{row['instance']} ({identity[:8]})"}
        if len(owners[row["instance"]]) > 1
        else row
        for row, identity in zip(rows, identities, strict=True)
    ]


def _place(row: Mapping[str, Any]) -> tuple[Any, Any]:
    return row["instance"], row.get("source")
