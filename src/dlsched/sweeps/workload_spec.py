"""Workload specifications: how to make a simulation's jobs and servers, in any process."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from dlsched.errors import DlschedError
from dlsched.registry.generators import call
from dlsched.registry.labels import labelled
from dlsched.simulation import Cluster, Workload
from dlsched.simulation.bounds import MetricBound, bound
from dlsched.simulation.workload.estimates import with_wrong_estimates
from dlsched.simulation.workload.generators.generated import generated
from dlsched.sweeps.instance_spec import Changed

SIMULATION = "simulation"
"""What the column ``problem`` says of a simulation."""
BOUND = "bound"
"""What stands for a policy in the run of a bound; see `dlsched.sweeps.simulations`."""


@dataclass(frozen=True)
class WorkloadSpec:
    """How to make a workload and a cluster, as plain data that can be sent to another process.

    It stands in a `Task` where that of a method has an `InstanceSpec`, whose attributes it has.

    Attributes
    ----------
    name
        Workload and cluster, as tables name them.
    source
        The trace or the generator, as the suite names it, and what is made of it.
    recipe
        ``trace``, ``options`` (of `Workload.from_trace`) and ``cluster`` (its data), or
        ``generator`` and ``parameters``; ``wrong``, the share of wrong estimates; ``seed``.
    identity
        Text that differs between specifications of different runs: a digest, or the call that
        generates the workload.
    sha256
        Digest of the jobs and the servers, if they are known before they are made.
    family, seed
        The name without the workload's seed, and the seed; ``None`` if nothing is drawn.
    varied
        The parameters that a grid varies.
    """

    name: str
    source: str
    recipe: Mapping[str, Any] = field(hash=False)
    identity: str
    sha256: str | None
    family: str
    seed: int | None = None
    varied: Mapping[str, Any] = field(default_factory=dict, hash=False)
    problem: str = SIMULATION

    @classmethod
    def of_trace(
        cls,
        trace: str,
        shown: str,
        options: Mapping[str, Any],
        cluster: Cluster,
        files: Mapping[str, str],
        *,
        wrong: float = 0.0,
        seed: int | None = None,
        varied: Mapping[str, Any] | None = None,
    ) -> WorkloadSpec:
        """Return the specification of a trace on a cluster; the trace is read now, once.

        Parameters
        ----------
        trace, shown
            What `Workload.from_trace` takes, and how the suite names it.
        options
            Options of `Workload.from_trace`; those that are None, False or empty are left out.
        cluster
            The servers.
        files
            Options that are paths, as this machine finds them.
        wrong, seed
            The share of wrong estimates, and the seed of their drawing.
        varied
            The parameters that a grid varies.

        Raises
        ------
        DlschedError
            If the trace cannot be read, or there is no such set of profiles.
        """
        given = {name: value for name, value in options.items() if value}
        recipe: dict[str, Any] = {
            "trace": trace,
            "options": given | dict(files),
            "cluster": _data(cluster),
        }
        if wrong:
            recipe |= {"wrong": wrong, "seed": seed or 0}
        workload = _from_trace(trace, _text(recipe["options"]))
        first = f" (first {given['limit']})" if "limit" in given else ""
        arguments = "".join(f", {name}={value!r}" for name, value in given.items())
        source = f"Workload.from_trace({shown!r}{arguments})"
        family = f"{workload.name}{first} on {_size(cluster)}"
        if wrong:
            source += f", {wrong:g} of the estimates wrong, seed {seed or 0}"
            family += f", {wrong:g} wrong"
        name = family if seed is None else f"{family}, seed {seed}"
        digest = _digest(_wrong(workload, recipe), cluster)
        return cls(name, source, recipe, digest, digest, family, seed, varied or {})

    @classmethod
    def generated(
        cls,
        generator: str,
        parameters: Mapping[str, Any],
        seed: int,
        *,
        wrong: float = 0.0,
        varied: Mapping[str, Any] | None = None,
    ) -> WorkloadSpec:
        """Return the specification of a generator's call, which is not made now."""
        recipe: dict[str, Any] = {"generator": generator, "parameters": dict(parameters)}
        if wrong:
            recipe |= {"wrong": wrong}
        source = call("generated", generator, seed, parameters, "simulation")
        shown = dict(parameters)
        if wrong:
            source += f", {wrong:g} of the estimates wrong"
            shown["wrong"] = wrong
        family = labelled(generator, shown)
        recipe["seed"] = seed
        name = f"{family}-{seed}"
        return cls(name, source, recipe, source, None, family, seed, varied or {})

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
            if self.sha256 is None:  # a generator's own error
                raise
            raise Changed(f"{self.source} cannot be read any more or here: {error}") from None
        if self.sha256 not in (None, digest):
            forget()
            what = f"{self.source} has not the jobs that the sweep was planned with"
            raise Changed(f"{what}: their digest is {digest[:12]}, not {str(self.sha256)[:12]}")
        return workload, cluster

    def digest(self) -> str:
        """Return the digest of the jobs and servers, which are made if they are not."""
        self.make()
        return _make(self)[2]


def forget() -> None:
    """Clear the caches of traces and workloads, since files may have changed."""
    _from_trace.cache_clear()
    _make.cache_clear()
    _digests.clear()


@lru_cache(maxsize=2)
def _from_trace(trace: str, options: str) -> Workload:
    """Read a trace; several specifications may differ in their clusters only."""
    return Workload.from_trace(trace, **json.loads(options))


@lru_cache(maxsize=1)
def _make(spec: WorkloadSpec) -> tuple[Workload, Cluster, str]:
    recipe = spec.recipe
    if "generator" in recipe:
        workload, cluster = generated(recipe["generator"], recipe["parameters"], recipe["seed"])
    else:
        workload = _from_trace(recipe["trace"], _text(recipe["options"]))
        cluster = Cluster.parse(recipe["cluster"], "the cluster")
    workload = _wrong(workload, recipe)
    return workload, cluster, _digest(workload, cluster)


def _wrong(workload: Workload, recipe: Mapping[str, Any]) -> Workload:
    share = recipe.get("wrong")
    return with_wrong_estimates(workload, share, seed=recipe["seed"]) if share else workload


@lru_cache(maxsize=4)
def bound_of(
    spec: WorkloadSpec,
    metric: str,
    sharing: bool = False,
) -> MetricBound:
    """Return a bound over all policies; the last ones of this process are cached."""
    return bound(*spec.make(), metric, sharing=sharing)


def _text(data: object) -> str:
    return json.dumps(data, sort_keys=True)


def _data(cluster: Cluster) -> Any:
    return json.loads(cluster.model_dump_json(exclude_defaults=True))


_digests: dict[int, tuple[Workload, Any]] = {}
"""Unfinished digests of workloads that were read, by identity; the workloads are kept, so that no
other object gets the identity."""


def _digest(workload: Workload, cluster: Cluster) -> str:
    """Return the digest of jobs and servers; that of the jobs is computed once."""
    known = _digests.get(id(workload))
    if known is None or known[0] is not workload:
        _digests.clear()
        begun = hashlib.sha256(workload.model_dump_json(exclude_defaults=True).encode() + b"\0")
        known = _digests[id(workload)] = workload, begun
    total = known[1].copy()
    total.update(cluster.model_dump_json(exclude_defaults=True).encode() + b"\0")
    return str(total.hexdigest())


def _size(cluster: Cluster) -> str:
    """Return the servers as ``4x8``, or ``2x8 V100 + 1x4 K80``."""
    counts: dict[str, int] = {}
    for server in cluster.servers:
        kind = f"x{server.gpus}" + (f" {server.gpu_type}" if server.gpu_type else "")
        counts[kind] = counts.get(kind, 0) + 1
    return " + ".join(f"{count}{kind}" for kind, count in counts.items())


__all__ = ["BOUND", "SIMULATION", "WorkloadSpec", "bound_of", "forget"]
