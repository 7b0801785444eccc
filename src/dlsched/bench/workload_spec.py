"""Workload specifications: how to make a simulation's jobs and servers, in any process."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from dlsched.bench.instance_spec import Changed
from dlsched.errors import DlschedError
from dlsched.simulation import Cluster, Workload
from dlsched.simulation.bounds import MetricBound, bound

SIMULATION = "simulation"
"""What the column ``problem`` says of a simulation."""


@dataclass(frozen=True)
class WorkloadSpec:
    """How to make a workload and a cluster, as plain data that can be sent to another process.

    It stands in a `Task` where that of a method has an `InstanceSpec`, whose attributes it has.

    Attributes
    ----------
    name
        Workload and cluster, as tables name them.
    source
        The trace, as the suite names it, and what is made of it.
    recipe
        ``trace``, ``options`` (of `Workload.from_trace`) and ``cluster`` (its data).
    sha256
        Digest of the jobs and the servers.
    bounds
        Whether lower bounds are computed, too.
    """

    name: str
    source: str
    recipe: Mapping[str, Any] = field(hash=False)
    sha256: str
    bounds: bool = False
    problem: str = SIMULATION

    @classmethod
    def of(
        cls,
        trace: str,
        shown: str,
        options: Mapping[str, Any],
        cluster: Cluster,
        bounds: bool,
        files: Mapping[str, str],
    ) -> WorkloadSpec:
        """Return the specification of a trace on a cluster; the trace is read now.

        Parameters
        ----------
        trace, shown
            What `Workload.from_trace` takes, and how the suite names it.
        options
            Options of `Workload.from_trace`; those that are None, False or empty are left out.
        cluster
            The servers.
        bounds
            Whether lower bounds are computed, too.
        files
            Options that are paths, as this machine finds them.

        Raises
        ------
        DlschedError
            If the trace cannot be read, or there is no such set of profiles.
        """
        given = {name: value for name, value in options.items() if value}
        data = json.loads(cluster.model_dump_json(exclude_defaults=True))
        recipe = {"trace": trace, "options": given | dict(files), "cluster": data}
        workload = Workload.from_trace(trace, **recipe["options"])
        first = f" (first {given['limit']})" if "limit" in given else ""
        arguments = "".join(f", {name}={value!r}" for name, value in given.items())
        return cls(
            f"{workload.name}{first} on {_size(cluster)}",
            f"Workload.from_trace({shown!r}{arguments})",
            recipe,
            _digest(workload, cluster),
            bounds,
        )

    @property
    def identity(self) -> str:
        """Text that differs between specifications of different runs."""
        return f"{self.sha256} {'with' if self.bounds else 'without'} bounds"

    def make(self) -> tuple[Workload, Cluster]:
        """Return jobs and servers. The last ones made by this process are cached.

        Raises
        ------
        Changed
            If the trace has changed since the sweep was planned, or cannot be read here.
        """
        try:
            workload, cluster, digest = _make(self)
        except (DlschedError, OSError) as error:
            raise Changed(f"{self.source} cannot be read any more or here: {error}") from None
        if digest != self.sha256:
            _make.cache_clear()
            what = f"{self.source} has not the jobs that the sweep was planned with"
            raise Changed(f"{what}: their digest is {digest[:12]}, not {self.sha256[:12]}")
        return workload, cluster


@lru_cache(maxsize=1)
def _make(spec: WorkloadSpec) -> tuple[Workload, Cluster, str]:
    workload = Workload.from_trace(spec.recipe["trace"], **spec.recipe["options"])
    cluster = Cluster.parse(spec.recipe["cluster"], "the cluster")
    return workload, cluster, _digest(workload, cluster)


@lru_cache(maxsize=4)
def bound_of(
    spec: WorkloadSpec,
    metric: str,
    sharing: bool,
    published: str | None = None,
    method: str | None = None,
) -> MetricBound:
    """Return a bound over all policies; the last ones of this process are cached."""
    return bound(*spec.make(), metric, sharing=sharing, published=published, method=method)


def _digest(*parts: Workload | Cluster) -> str:
    total = hashlib.sha256()
    for part in parts:
        total.update(part.model_dump_json(exclude_defaults=True).encode() + b"\0")
    return total.hexdigest()


def _size(cluster: Cluster) -> str:
    """Return the servers as ``4x8``, or ``2x8 V100 + 1x4 K80``."""
    counts: dict[str, int] = {}
    for server in cluster.servers:
        kind = f"x{server.gpus}" + (f" {server.gpu_type}" if server.gpu_type else "")
        counts[kind] = counts.get(kind, 0) + 1
    return " + ".join(f"{count}{kind}" for kind, count in counts.items())


__all__ = ["SIMULATION", "WorkloadSpec", "bound_of"]
