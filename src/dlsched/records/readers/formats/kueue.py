"""Workloads of Kueue: ``kubectl get workloads -A -o json``, or ``-o yaml``.

A workload has pod sets (a count, and what one pod asks for) and conditions: QuotaReserved,
Admitted, PodsReady, Evicted, Finished. Of each kind of condition only the last transition is there,
so that after an eviction the first start is lost. What was admitted counts: of each pod set the
count, the usage and the flavour of each resource (``status.admission``). A node is one that
topology-aware scheduling chose; where it chose none, a flavour counts as one, ``pool h100``. What
was asked for counts while a workload is pending. A pod asks for what its containers ask for
together, or for more while an init container runs. Finished pods are deleted: they are no history.

Source: https://kueue.sigs.k8s.io/docs/reference/kueue.v1beta1/, Workload.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Final

import numpy as np

from dlsched.errors import InstanceError, OptionError
from dlsched.extras import require
from dlsched.records.readers.amounts import SLICES, Gpus, parse_amount
from dlsched.records.readers.files import open_text
from dlsched.records.readers.filler import fill_gpus, gpu_vectors
from dlsched.records.readers.format import Source, TraceFormat
from dlsched.records.readers.rows import POOL, Rows, empty, tuples
from dlsched.records.readers.values import counted, find_zone
from dlsched.schema.files import refuse_values

RESOURCES: Final = {"gpu": ("nvidia.com/gpu", "amd.com/gpu", "gpu.intel.com/i915"), "cpu": ("cpu",)}
"""What Kubernetes calls each resource."""
MIG: Final = re.compile(r"nvidia\.com/mig-(([12347]g)\.\d+gb.*)")
LABELS: Final = ("user", "owner", "submitted-by", "kueue.x-k8s.io/submitter")
REMEDY: Final = "export workloads: kubectl get workloads -A -o json"
FIELDS: Final = {
    "id": "metadata.name",
    "submit": "metadata.creationTimestamp",
    "eligible": "metadata.creationTimestamp",
    "start": "status.conditions.Admitted",
    "end": "status.conditions.Finished",
    "gpus": "spec.podSets",
}


def recognises(head: str) -> bool:
    """Return whether a file's beginning is a document of Kubernetes."""
    return bool(re.search(r'["\s]?kind"?\s*:\s*"?Workload', head)) and "podSets" in head


def read(source: Source) -> Iterator[Rows]:
    """Yield the workloads of a file."""
    import pandas as pd

    source.fields |= FIELDS
    with open_text(source.path, source.where) as text:
        items = documents(text.read(), source.where)
    kinds = Counter(str(item.get("kind")) for item in items if isinstance(item, dict))
    other = next((kind for kind in kinds if kind not in ("Workload", "None")), None)
    if other is not None:
        raise other_kind(other, source.where)
    rows = empty(len(items))
    evicted = 0
    nodes: list[tuple[tuple[str, int], ...]] = [()] * rows.size
    gpus: list[Gpus | None] = [None] * rows.size
    moments = {name: [""] * rows.size for name in ("submit", "start", "end")}
    for i, item in enumerate(items):
        try:
            workload = Workload(item, source.resource)
            gpus[i] = workload.fill(rows, i)
            nodes[i] = workload.nodes()
            for name, spelled in workload.moments().items():
                moments[name][i] = str(spelled)
            evicted += workload.evicted
        except (AttributeError, KeyError, TypeError, ValueError, OptionError) as error:
            reason = str(error) if isinstance(error, OptionError) else f"({error!r:.80})"
            rows.refuse_row(i, "", f"is no workload of Kueue that can be read: {reason}")
    fill_gpus(rows, gpu_vectors(gpus))
    rows.columns["nodes"] = tuples([tuple(name for name, _ in held) for held in nodes])
    rows.columns["amounts"] = tuples([tuple(n for _, n in held) for held in nodes])
    for name, texts in moments.items():  # which are all in UTC
        column = pd.Series(texts, dtype=object)
        rows.read_moment(name, column, FIELDS[name], find_zone("UTC"))
    if evicted:
        source.notes.append(
            f"{counted(evicted, 'workload')} evicted at least once: the last admission counts, as "
            "earlier ones are not kept"
        )
    yield rows


def documents(content: str, where: str) -> list[Any]:
    """Return the objects of a file of JSON or YAML, those of a list by themselves."""
    refuse_values(content, where)
    try:
        if content.lstrip()[:1] in ("{", "["):
            loaded = [json.loads(content)]
        else:
            yaml = require("yaml", "a record in YAML")
            try:
                loaded = list(yaml.load_all(content, yaml.CSafeLoader))
            except yaml.YAMLError as error:
                raise ValueError(" ".join(str(error).split())) from None
    except (ValueError, RecursionError) as error:
        raise InstanceError(where, "", f"is no JSON ({error})", REMEDY) from None
    items: list[Any] = []
    for data in loaded:
        listed = data.get("items") if isinstance(data, dict) else data
        items += listed if isinstance(listed, list) else [data]
    return items


def other_kind(kind: str, where: str) -> InstanceError:
    """Return the error of a list of something else than workloads."""
    if kind == "Pod":
        problem = "is a list of pods: finished pods are deleted, so that it is no history"
        return InstanceError(where, "items[0].kind", problem, REMEDY)
    problem = f"is a list of the kind {kind}, which has no waits in a queue"
    return InstanceError(where, "items[0].kind", problem, f"{JSON_READ}; {REMEDY}")


JSON_READ: Final = "JSON is read of Kueue's workloads, of sacct --json, and of Philly"
"""What a file of JSON may be."""


class Workload:
    """One workload."""

    def __init__(self, item: dict[str, Any], resource: str) -> None:
        self.item = item
        self.spec = item.get("spec") or {}
        self.status = item.get("status") or {}
        self.resource = resource
        listed = self.status.get("conditions") or []
        self.conditions = {entry["type"]: entry for entry in listed if entry["status"] == "True"}
        admission = self.status.get("admission") or {}
        self.assigned: list[dict[str, Any]] = admission.get("podSetAssignments") or []

    @property
    def evicted(self) -> bool:
        """Whether it was evicted at least once."""
        return "Evicted" in self.conditions or bool(self.status.get("requeueState"))

    def fill(self, rows: Rows, i: int) -> Gpus:
        """Fill what is no moment; return what it held, or asks for."""
        meta = self.item["metadata"]
        name = meta["name"]
        rows.columns["id"][i] = f"{meta['namespace']}/{name}" if "namespace" in meta else name
        rows.get("account")[i] = meta.get("namespace")
        labels = (meta.get("labels") or {}) | (meta.get("annotations") or {})
        rows.get("user")[i] = next((labels[name] for name in LABELS if name in labels), None)
        rows.get("partition")[i] = self.spec.get("queueName")
        rows.get("cluster")[i] = self.status.get("clusterName")
        rows.get("priority")[i] = self.spec.get("priority", np.nan)
        seconds = self.spec.get("maximumExecutionTimeSeconds")
        rows.get("limit")[i] = np.nan if seconds is None else float(seconds)
        rows.get("state")[i] = self._state()
        amounts = self._amounts()
        rows.get("cpus")[i] = float(amounts.get("cpu", 0)) or np.nan
        if self.resource == "node":
            return Gpus(self._pods())
        return self._held(amounts)

    def _state(self) -> str:
        if "Finished" in self.conditions:
            reason = self.conditions["Finished"].get("reason", "")
            return "FAILED" if "Fail" in reason else "COMPLETED"
        return "RUNNING" if "Admitted" in self.conditions else "PENDING"

    def _pods(self) -> int:
        sets = self.assigned or self.spec["podSets"]
        return sum(int(pods.get("count", 1)) for pods in sets)

    def _amounts(self) -> Counter[str]:
        """Return what it was admitted with; what it asks for while that is not known."""
        asked = {pods.get("name", "main"): pods for pods in self.spec["podSets"]}
        total: Counter[str] = Counter()
        if not self.assigned:
            for pods in asked.values():
                total.update(_times(_request(pods), int(pods.get("count", 1))))
            return total
        for part in self.assigned:
            pods = asked.get(part.get("name", "main"), {})
            count = int(part.get("count", pods.get("count", 1)))
            usage = part.get("resourceUsage")
            if usage is None:
                total.update(_times(_request(pods), count))
            else:
                total.update({name: _quantity(str(text)) for name, text in usage.items()})
        return total

    def _held(self, amounts: Mapping[str, Any]) -> Gpus:
        """Return the GPUs or CPUs among some amounts."""
        names = RESOURCES[self.resource]
        number = sum(int(np.ceil(float(amounts.get(name, 0)))) for name in names)
        flavours = {
            flavour
            for part in self.assigned
            for name, flavour in (part.get("flavors") or {}).items()
            if name in names or MIG.fullmatch(name)
        }
        kind = "+".join(sorted(flavours)) or None
        if self.resource != "gpu":
            return Gpus(number, kind)
        slices = {
            match[1]: (SLICES[match[2]], int(amounts[name]))
            for name in amounts
            if (match := MIG.fullmatch(name)) and amounts[name]
        }
        if slices:
            share = number + sum(part * count for part, count in slices.values())
            units = number + sum(count for _, count in slices.values())
            return Gpus(units, kind, share, "+".join(sorted(slices)))
        if not number and self._claims():
            raise OptionError("asks for devices by claims (DRA), whose number is not in it")
        return Gpus(number, kind)

    def _claims(self) -> bool:
        specs = [pods["template"]["spec"] for pods in self.spec["podSets"]]
        return any(spec.get("resourceClaims") for spec in specs)

    def nodes(self) -> tuple[tuple[str, int], ...]:
        """Return what is held on each node that topology-aware scheduling chose, or by flavour."""
        held: Counter[str] = Counter()
        for part in self.assigned:
            usage = part.get("resourceUsage") or {}
            count = max(int(part.get("count", 1)), 1)
            topology = part.get("topologyAssignment") or {}
            levels = topology.get("levels") or [""]
            chosen = levels[-1] == "kubernetes.io/hostname"
            for name in RESOURCES.get(self.resource, ()):
                amount = int(np.ceil(float(_quantity(str(usage.get(name, 0))))))
                if chosen:
                    for domain in topology.get("domains") or ():
                        held[domain["values"][-1]] += amount // count * int(domain["count"])
                else:
                    held[f"{POOL} {(part.get('flavors') or {}).get(name)}"] += amount
        return tuple((name, amount) for name, amount in held.items() if amount)

    def moments(self) -> dict[str, str]:
        """Return creation, admission and end as they are spelled."""
        started = self.conditions.get("Admitted") or self.conditions.get("QuotaReserved") or {}
        return {
            "submit": self.item["metadata"].get("creationTimestamp") or "",
            "start": started.get("lastTransitionTime", ""),
            "end": self.conditions.get("Finished", {}).get("lastTransitionTime", ""),
        }


def _times(amounts: Mapping[str, Any], count: int) -> dict[str, Any]:
    return {name: amount * count for name, amount in amounts.items()}


def _request(pods: dict[str, Any]) -> Counter[str]:
    """Return what one pod of a set asks for, at its peak."""
    spec = pods["template"]["spec"]
    total: Counter[str] = Counter()
    for container in spec.get("containers") or ():
        total.update(_of_container(container))
    most: Counter[str] = Counter()
    beside: Counter[str] = Counter()
    for container in spec.get("initContainers") or ():
        asked = _of_container(container)
        # A sidecar runs on beside all that begins after it.
        if container.get("restartPolicy") == "Always":
            beside.update(asked)
            most |= beside
        else:
            most |= Counter(asked) + beside
    total.update(beside)
    return total | most


def _of_container(container: dict[str, Any]) -> dict[str, Any]:
    resources = container.get("resources") or {}
    asked = (resources.get("limits") or {}) | (resources.get("requests") or {})
    wanted = {*RESOURCES["gpu"], "cpu"}
    return {n: _quantity(str(q)) for n, q in asked.items() if n in wanted or MIG.fullmatch(n)}


def _quantity(text: str) -> Any:
    """Return an amount as Kubernetes writes it: 500m, 64Gi, 8k."""
    return parse_amount(text.replace("k", "000") if text.endswith("k") else text)


FORMAT = TraceFormat(
    title="workloads of Kueue as JSON or YAML", recognises=recognises, read=read, record=True
)
