"""Workloads of Kueue as JSON: ``kubectl get workloads -A -o json``.

A workload has pod sets (a count, and what one pod asks for), an admission with the flavour of each
pod set, and conditions: QuotaReserved, Admitted, PodsReady, Evicted, Finished. Of each kind of
condition only the last transition is there, so that after an eviction the first start is lost. A
list of pods is no history: finished pods are deleted, with their waits.

Source: https://kueue.sigs.k8s.io/docs/reference/kueue.v1beta1/, Workload.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import numpy as np

from dlsched.errors import InstanceError, OptionError
from dlsched.records.history.raw import Raw, Record, empty, tuples
from dlsched.records.history.times import find_zone
from dlsched.records.history.times import parse_moments as parse
from dlsched.records.history.tres import UNITS, parse_amount
from dlsched.records.traces.lines import open_text
from dlsched.records.traces.record import counted
from dlsched.schema.files import refuse_values

RESOURCES: Final = {"gpu": ("nvidia.com/gpu", "amd.com/gpu", "gpu.intel.com/i915"), "cpu": ("cpu",)}
"""What Kubernetes calls each resource."""
LABELS: Final = ("user", "owner", "submitted-by", "kueue.x-k8s.io/submitter")
_REMEDY: Final = "export workloads: kubectl get workloads -A -o json"
_NAMES: Final = {
    "id": "metadata.name",
    "submit": "metadata.creationTimestamp",
    "eligible": "metadata.creationTimestamp",
    "start": "status.conditions.Admitted",
    "end": "status.conditions.Finished",
    "gpus": "spec.podSets",
}


def recognises(head: str) -> bool:
    """Return whether a file's beginning is of this format."""
    return head.lstrip()[:1] in ("{", "[")


def read(path: Path, where: str, resource: str) -> Record:
    """Return the workloads of a file.

    Raises
    ------
    InstanceError
        If it is no JSON, or a list of something else.
    """
    with open_text(path, where) as text:
        content = text.read()
        refuse_values(content, where)
        try:
            data = json.loads(content)
        except (ValueError, RecursionError) as error:
            raise InstanceError(where, "", f"is no JSON ({error})", _REMEDY) from None
    items = data.get("items") if isinstance(data, dict) else data
    if not isinstance(items, list):
        items = [data]
    kinds = {item.get("kind") for item in items if isinstance(item, dict)}
    if "Pod" in kinds:
        problem = "is a list of pods: finished pods are deleted, so that it is no history"
        raise InstanceError(where, "items[0].kind", problem, _REMEDY)
    raw = empty(len(items))
    raw.columns["row"] = np.arange(1, raw.size + 1)
    record = Record(raw, dict(_NAMES), local=False)
    evicted = 0
    for i, item in enumerate(items):
        try:
            evicted += _fill(raw, i, item, resource)
        except (AttributeError, KeyError, TypeError, ValueError, OptionError) as error:
            raw.refuse_row(i, "", f"is no workload of Kueue ({error!r:.80})")
    raw.columns["nodes"] = tuples([()] * raw.size)
    _fill_moments(raw, items)
    if evicted:
        record.notes.append(
            f"{counted(evicted, 'workload')} evicted at least once: the last admission counts, as "
            "earlier ones are not kept"
        )
    return record


def _fill(raw: Raw, i: int, item: dict[str, Any], resource: str) -> bool:
    """Fill what is no moment; return whether the workload was evicted."""
    columns = raw.columns
    meta, spec, status = item["metadata"], item.get("spec", {}), item.get("status", {})
    columns["id"][i] = (
        f"{meta['namespace']}/{meta['name']}" if "namespace" in meta else meta["name"]
    )
    columns["account"][i] = meta.get("namespace")
    labels = meta.get("labels", {}) | meta.get("annotations", {})
    columns["user"][i] = next((labels[name] for name in LABELS if name in labels), None)
    columns["partition"][i] = spec.get("queueName")
    columns["gpus"][i] = sum(_amount(pods, resource) for pods in spec["podSets"])
    columns["gpu_type"][i] = _flavour(status, resource)
    seconds = spec.get("maximumExecutionTimeSeconds")
    columns["limit"][i] = np.nan if seconds is None else float(seconds)
    conditions = _conditions(item)
    columns["state"][i] = _state(conditions)
    return "Evicted" in conditions or bool(status.get("requeueState"))


def _amount(pods: dict[str, Any], resource: str) -> int:
    """Return what the pods of a set ask for together."""
    count = int(pods.get("count", 1))
    if resource == "node":
        return count
    total = 0
    for container in pods["template"]["spec"]["containers"]:
        asked = container.get("resources", {})
        asked = asked.get("limits", {}) | asked.get("requests", {})
        amounts = [_quantity(str(asked[name])) for name in RESOURCES[resource] if name in asked]
        total += sum(amounts)
    return count * total


def _quantity(text: str) -> int:
    """Return a whole amount: 500 thousandths of a CPU are one."""
    if text.endswith("m") and text[:-1].isdecimal():
        return -(-int(text[:-1]) // 1000)
    return int(np.ceil(float(parse_amount(text if text[-1:] in UNITS else text.removesuffix("i")))))


def _flavour(status: dict[str, Any], resource: str) -> str | None:
    """Return the flavours that were admitted, joined as the types of GPUs are."""
    names = RESOURCES.get(resource, ())
    assigned = status.get("admission", {}).get("podSetAssignments", [])
    kinds = {f for pods in assigned for name, f in pods.get("flavors", {}).items() if name in names}
    return "+".join(sorted(kinds)) or None


def _conditions(item: dict[str, Any]) -> dict[str, dict[str, str]]:
    """Return the conditions that hold, by type."""
    listed = item.get("status", {}).get("conditions", [])
    return {entry["type"]: entry for entry in listed if entry.get("status") == "True"}


def _state(conditions: dict[str, dict[str, str]]) -> str:
    if "Finished" in conditions:
        reason = conditions["Finished"].get("reason", "")
        return "FAILED" if "Fail" in reason else "COMPLETED"
    return "RUNNING" if "Admitted" in conditions else "PENDING"


def _fill_moments(raw: Raw, items: list[Any]) -> None:
    """Read creation, admission and end, which are all in UTC."""
    import pandas as pd

    usable = raw.usable
    texts: dict[str, list[str]] = {"submit": [], "start": [], "end": []}
    for i, item in enumerate(items):
        conditions = _conditions(item) if usable[i] else {}
        texts["submit"].append(item["metadata"].get("creationTimestamp", "") if usable[i] else "")
        admitted = conditions.get("Admitted") or conditions.get("QuotaReserved") or {}
        texts["start"].append(admitted.get("lastTransitionTime", ""))
        texts["end"].append(conditions.get("Finished", {}).get("lastTransitionTime", ""))
    for moment, spelled in texts.items():
        parsed = parse(pd.Series(spelled, dtype=object), find_zone("UTC"))
        raw.columns[moment] = parsed.seconds
        raw.refuse(parsed.bad, _NAMES[moment], "is no time, as 2026-01-08T12:00:00Z")
