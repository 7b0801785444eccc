"""Transformations that keep what an instance states: other names, another order."""

from __future__ import annotations

from typing import Any

from dlsched.registry import problem
from dlsched.schema.envelope import Instance
from dlsched.schema.files import JsonObject


def renamed(instance: Instance) -> Instance:
    """Return the instance with new ids that sort the other way round."""
    data = instance.to_data()
    names = sorted(_ids(data) - instance.FIXED_IDS)
    fresh = {name: f"n{len(names) - i:03}" for i, name in enumerate(names)}
    return _instance(instance, _replaced(data, fresh))


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


def _replaced(data: Any, fresh: dict[str, str], field: str = "") -> Any:
    if isinstance(data, list):
        return [_replaced(entry, fresh, field) for entry in data]
    if isinstance(data, dict):
        return {_renamed(k, fresh): _replaced(v, fresh, k) for k, v in data.items()}
    if isinstance(data, str) and field not in ("problem", "name", "kind", "version"):
        return fresh.get(data, data)
    return data


def _renamed(key: str, fresh: dict[str, str]) -> str:
    """Return a key's new name; ``m#3`` is the fourth of the machines called ``m``."""
    head, mark, number = key.rpartition("#")
    if mark and head in fresh:
        return f"{fresh[head]}#{number}"
    return fresh.get(key, key)
