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

import json
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from contextlib import suppress
from fractions import Fraction
from typing import Any, Final

import numpy as np

from dlsched.errors import InstanceError, OptionError
from dlsched.extras import require
from dlsched.records.readers.amounts import SLICES, Gpus, parse_amount
from dlsched.records.readers.files import open_text
from dlsched.records.readers.filler import fill_gpus, gpu_vectors
from dlsched.records.readers.format import Source, TraceFormat
from dlsched.records.readers.rows import POOL, Rows, empty, objects
from dlsched.records.readers.values import counted, find_zone
from dlsched.schema.files import refuse_values

RESOURCES: Final = {"gpu": ("nvidia.com/gpu", "amd.com/gpu", "gpu.intel.com/i915"), "cpu": ("cpu",)}
"""What Kubernetes calls each resource."""
MIG: Final = re.compile(r"nvidia\.com/mig-(([12347]g)\.\d+gb.*)")
LABELS: Final = ("user", "owner", "submitted-by", "kueue.x-k8s.io/submitter")
REMEDY: Final = "export workloads: kubectl get workloads -A -o json"
JSON_READ: Final = "JSON is read of Kueue's workloads, of sacct --json, and of Philly"
"""What a file of JSON may be."""
FIELDS: Final = {
    "id": "metadata.name",
    "submit": "metadata.creationTimestamp",
    "eligible": "metadata.creationTimestamp",
    "start": "status.conditions.Admitted",
    "end": "status.conditions.Finished",
    "gpus": "spec.podSets",
}
TEXTS: Final = ("id", "account", "user", "partition", "cluster", "state")


def recognises(head: str) -> bool:
    """Return whether a file's beginning is a document of Kubernetes."""
    return bool(re.search(r'["\s]?kind"?\s*:\s*"?Workload', head)) and "podSets" in head


def read(source: Source) -> Iterator[Rows]:
    """Yield the workloads of a file."""
    import pandas as pd

    source.fields |= FIELDS
    with open_text(source.path, source.where) as text:
        items = documents(text.read(), source.where)
    kinds = [str(item.get("kind")) for item in items if isinstance(item, dict)]
    for kind in kinds:
        if kind not in ("Workload", "None"):
            raise other_kind(kind, source.where)
    rows = empty(len(items))
    found: list[dict[str, Any]] = [{} for _ in items]
    for i, item in enumerate(items):
        try:
            found[i] = _workload(item, source.resource)
        except (AttributeError, KeyError, TypeError, ValueError, OptionError) as error:
            with suppress(AttributeError, KeyError, TypeError):
                found[i] = {"id": _name_of(item["metadata"])}
            reason = str(error) if isinstance(error, OptionError) else f"({error!r:.80})"
            rows.refuse_row(i, "", f"is no workload of Kueue that can be read: {reason}")
    columns = rows.columns
    columns |= {name: objects([one.get(name) for one in found]) for name in TEXTS}
    for name in ("priority", "limit", "cpus"):
        columns[name] = np.array([one.get(name, np.nan) for one in found], float)
    fill_gpus(rows, gpu_vectors([one.get("gpus") for one in found]))
    held = [one.get("nodes", {}) for one in found]
    columns["nodes"] = objects([tuple(nodes) for nodes in held])
    columns["amounts"] = objects([tuple(nodes.values()) for nodes in held])
    for name in ("submit", "start", "end"):  # which are all in UTC
        texts = pd.Series([str(one.get(name) or "") for one in found], dtype=object)
        rows.read_moment(name, texts, FIELDS[name], find_zone())
    evicted = sum(one.get("evicted", False) for one in found)
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
    lists = [data.get("items") if isinstance(data, dict) else data for data in loaded]
    pairs = zip(lists, loaded, strict=True)
    return [
        item for listed, data in pairs for item in (listed if isinstance(listed, list) else [data])
    ]


def other_kind(kind: str, where: str) -> InstanceError:
    """Return the error of a list of something else than workloads."""
    if kind == "Pod":
        problem = "is a list of pods: finished pods are deleted, so that it is no history"
        return InstanceError(where, "items[0].kind", problem, REMEDY)
    problem = f"is a list of the kind {kind}, which has no waits in a queue"
    return InstanceError(where, "items[0].kind", problem, f"{JSON_READ}; {REMEDY}")


def _workload(item: dict[str, Any], resource: str) -> dict[str, Any]:
    """Return what is known of one workload, by field."""
    meta, spec, status = item["metadata"], item.get("spec") or {}, item.get("status") or {}
    listed = status.get("conditions") or []
    conditions = {entry["type"]: entry for entry in listed if entry["status"] == "True"}
    finished = conditions.get("Finished", {})
    admitted = conditions.get("Admitted") or conditions.get("QuotaReserved") or {}
    assigned = (status.get("admission") or {}).get("podSetAssignments") or []
    labels = (meta.get("labels") or {}) | (meta.get("annotations") or {})
    state = "RUNNING" if "Admitted" in conditions else "PENDING"
    if finished:
        state = "FAILED" if "Fail" in finished.get("reason", "") else "COMPLETED"
    amounts = _amounts(spec, assigned)
    pods = sum(int(pods.get("count", 1)) for pods in assigned or spec["podSets"])
    seconds = spec.get("maximumExecutionTimeSeconds")
    nodes = _nodes(assigned, resource)
    gpus = Gpus(pods) if resource == "node" else _held(spec, assigned, amounts, resource)
    if resource == "cpu" and nodes:  # parts of CPUs are rounded up on each
        gpus = gpus._replace(number=sum(nodes.values()))
    return {
        "id": _name_of(meta),
        "account": meta.get("namespace"),
        "user": next((labels[name] for name in LABELS if name in labels), None),
        "partition": spec.get("queueName"),
        "cluster": status.get("clusterName"),
        "priority": spec.get("priority", np.nan),
        "limit": np.nan if seconds is None else float(seconds),
        "state": state,
        "cpus": float(amounts.get("cpu", 0)) or np.nan,
        "gpus": gpus,
        "nodes": nodes,
        "submit": meta.get("creationTimestamp"),
        "start": admitted.get("lastTransitionTime"),
        "end": finished.get("lastTransitionTime"),
        "evicted": "Evicted" in conditions or bool(status.get("requeueState")),
    }


def _name_of(meta: dict[str, Any]) -> str:
    return "/".join(filter(None, (meta.get("namespace"), meta["name"])))


def _amounts(spec: dict[str, Any], assigned: list[dict[str, Any]]) -> Counter[str]:
    """Return what it was admitted with; what it asks for while that is not known."""
    asked = {pods.get("name", "main"): pods for pods in spec["podSets"]}
    total: Counter[str] = Counter()
    for part in assigned or asked.values():
        pods = asked.get(part.get("name", "main"), {})
        usage = part.get("resourceUsage")
        if usage is None:
            count = int(part.get("count", pods.get("count", 1)))
            usage = {name: amount * count for name, amount in _request(pods).items()}
        total.update({name: _quantity(amount) for name, amount in usage.items()})
    return total


def _held(
    spec: dict[str, Any], assigned: list[dict[str, Any]], amounts: Mapping[str, Any], resource: str
) -> Gpus:
    """Return the GPUs or CPUs among some amounts."""
    names = RESOURCES[resource]
    number = sum(int(np.ceil(float(amounts.get(name, 0)))) for name in names)
    flavours = {
        flavour
        for part in assigned
        for name, flavour in (part.get("flavors") or {}).items()
        if name in names or MIG.fullmatch(name)
    }
    kind = "+".join(sorted(flavours)) or None
    slices = {
        match[1]: (SLICES[match[2]], int(amount))
        for name, amount in amounts.items()
        if resource == "gpu" and amount and (match := MIG.fullmatch(name))
    }
    if slices:
        share = number + sum(part * count for part, count in slices.values())
        units = number + sum(count for _, count in slices.values())
        return Gpus(units, kind, share, "+".join(sorted(slices)))
    claims = any(pods["template"]["spec"].get("resourceClaims") for pods in spec["podSets"])
    if claims and resource == "gpu" and not number:
        raise OptionError("asks for devices by claims (DRA), whose number is not in it")
    return Gpus(number, kind)


def _nodes(assigned: list[dict[str, Any]], resource: str) -> dict[str, int]:
    """Return what is held on each node that topology-aware scheduling chose, or by flavour."""
    held: dict[str, Fraction] = defaultdict(Fraction)
    for part in assigned:
        count = int(part.get("count", 1))
        topology = part.get("topologyAssignment") or {}
        domains = [(d["values"][-1], int(d["count"])) for d in topology.get("domains") or ()]
        by_host = (topology.get("levels") or [""])[-1] == "kubernetes.io/hostname"
        for name in RESOURCES.get(resource, ()):
            amount = Fraction(_quantity((part.get("resourceUsage") or {}).get(name, 0)))
            # Not all pods of a set may have been placed.
            placed = by_host and sum(pods for _, pods in domains) == count
            flavour = f"{POOL} {(part.get('flavors') or {}).get(name)}"
            for host, pods in domains if placed else [(flavour, count)]:
                held[host] += amount * pods / max(count, 1)
    return {name: math.ceil(amount) for name, amount in held.items() if amount}


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
    return {n: _quantity(q) for n, q in asked.items() if n in wanted or MIG.fullmatch(n)}


def _quantity(amount: Any) -> Any:
    """Return an amount as Kubernetes writes it: 500m, 64Gi, 8k; or as it was read from that."""
    if not isinstance(amount, str | int):
        return amount
    text = str(amount)
    return parse_amount(text.replace("k", "000") if text.endswith("k") else text)


FORMAT = TraceFormat(
    title="workloads of Kueue as JSON or YAML",
    recognises=recognises,
    read=read,
    record=True,
    cluster="the cluster, status.clusterName",
)
