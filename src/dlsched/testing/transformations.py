"""Transformations that keep what an instance states: other names, another order."""

from collections.abc import Iterable, Mapping
from functools import cache
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from dlsched.registry import problem
from dlsched.schema.document import Document
from dlsched.schema.envelope import Instance
from dlsched.schema.files import JsonObject


def renamed(instance: Instance) -> Instance:
    """Return the instance with new ids that sort the other way round."""
    data = instance.to_data()
    names = sorted(_ids(data) - instance.FIXED_IDS)
    fresh = {name: f"n{len(names) - i:03}" for i, name in enumerate(names)}
    return _instance(instance, _replaced(data, instance, fresh))


def reordered(instance: Instance) -> Instance:
    """Return the instance with its lists of servers, jobs and the like backwards.

    Lists whose order is part of the definition (`Instance.ORDERED_LISTS`) stay as they are.
    """
    data = instance.to_data()
    for key in data.keys() - instance.ORDERED_LISTS:
        value = data[key]
        if isinstance(value, list) and value and isinstance(value[0], dict):
            data[key] = value[::-1]
    return _instance(instance, data)


def _instance(instance: Instance, data: JsonObject) -> Instance:
    copy: Instance = problem(instance.problem).instance.parse(data, "the transformed instance")
    return copy


def _ids(data: Any) -> set[str]:
    """Return every id: values of fields called ``id``, and keys of profiles."""
    if isinstance(data, list):
        return set().union(*map(_ids, data))
    if not isinstance(data, dict):
        return set()
    ids = set().union(*map(_ids, data.values()))
    if isinstance(data.get("id"), str):
        ids.add(data["id"])
    if isinstance(data.get("profiles"), dict):
        ids.update(data["profiles"])
    return ids


def _replaced(data: Any, value: Any, fresh: dict[str, str]) -> Any:
    """Return data with new ids; `value` is what they were written from."""
    if isinstance(value, Document) and isinstance(data, dict):
        kept = _kept(type(value))
        return {
            name: part if name in kept else _replaced(part, getattr(value, name, None), fresh)
            for name, part in data.items()
        }
    if isinstance(data, list):
        return [_replaced(part, entry, fresh) for part, entry in _pairs(data, value)]
    if isinstance(data, dict):
        entries = value.values() if isinstance(value, Mapping) else ()
        parts = zip(data, _pairs(list(data.values()), tuple(entries)), strict=True)
        return {_renamed(key, fresh): _replaced(*pair, fresh) for key, pair in parts}
    return fresh.get(data, data) if isinstance(data, str) else data


def _pairs(data: list[Any], values: Any) -> Iterable[tuple[Any, Any]]:
    """Return each part of the data with what it was written from, if that is known."""
    known = isinstance(values, tuple) and len(values) == len(data)
    return zip(data, values if known else [None] * len(data), strict=True)


@cache
def _kept(kind: type[Document]) -> set[str]:
    """Return the fields of a document that name no id: labels, and those of fixed words."""
    labels = set(Instance.model_fields) if issubclass(kind, Instance) else set()
    return labels | {name for name, f in kind.model_fields.items() if _fixed(f.annotation)}


def _fixed(annotation: Any) -> bool:
    """Whether a type is one of fixed words, as ``Literal["ml", "spark"]``, or a list of them."""
    origin, parts = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        return True
    listed = origin in (tuple, list, frozenset, Union, UnionType, Annotated)
    return listed and any(map(_fixed, parts))


def _renamed(key: str, fresh: dict[str, str]) -> str:
    """Return a key's new name; ``m#3`` is the fourth of the machines called ``m``."""
    head, mark, number = key.rpartition("#")
    if mark and head in fresh:
        return f"{fresh[head]}#{number}"
    return fresh.get(key, key)
