"""Specifications: how to make an instance, or a simulation's jobs and servers, in any process."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, TypeVar

from dlsched import api, library, registry
from dlsched.errors import DlschedError
from dlsched.registry import Problem
from dlsched.registry.generators import call
from dlsched.registry.labels import labelled
from dlsched.schema.envelope import Instance
from dlsched.simulation import Cluster, Workload
from dlsched.simulation.workload.generators.generated import generated
from dlsched.simulation.workload.generators.lyra import with_wrong_estimates
from dlsched.variants import Variant, changed_problem, find_variant

SIMULATION = "simulation"
"""What the column ``problem`` says of a simulation."""
BOUND = "bound"
"""What stands for a policy in the run of a bound; see `dlsched.sweeps.simulations`."""
T = TypeVar("T")


class Changed(DlschedError):
    """An instance that changed since the sweep was planned; the message has both digests."""


def _as_planned(
    source: str, sha256: str | None, make: Callable[[], T], digest: Callable[[T], str]
) -> T:
    """Return what is made.

    Raises
    ------
    Changed
        If it has another digest than the specification, or could be read when the sweep was
        planned, but cannot now and here.
    """
    try:
        made = make()
    except (DlschedError, OSError) as error:
        if sha256 is None:  # a generator's own error
            raise
        raise Changed(f"{source} cannot be read any more or here: {error}") from None
    if sha256 not in (None, digest(made)):
        raise Changed(
            f"{source} is not what the sweep was planned with: its digest is "
            f"{digest(made)[:12]}, not {str(sha256)[:12]}"
        )
    return made


@dataclass(frozen=True)
class VariantSpec:
    """A variant as plain data: the text that means it, its name and its digest when planned."""

    text: str
    name: str
    sha256: str

    @classmethod
    def of(cls, text: str, folder: Path) -> VariantSpec:
        """Return the specification of ``file.py:name``, relative to a folder.

        Raises
        ------
        OptionError, UnknownName
            If it cannot be loaded, is no variant, or has no identity.
        """
        place, _, name = text.rpartition(":")
        if place.endswith(".py"):
            text = f"{(folder / place).resolve()}:{name}"
        return cls(text, **changed_problem(find_variant(text)).label.to_data())

    def find(self) -> Variant:
        """Return the variant; see `_as_planned` for what it raises."""
        make = partial(find_variant, self.text)
        return _as_planned(self.text, self.sha256, make, lambda found: str(found.sha256))


@dataclass(frozen=True)
class Spec:
    """How to make what a run is of, as plain data that can be sent to another process.

    Attributes
    ----------
    problem, name
        Of the instance, as tables name it.
    source
        A library name, a path, or the call that generates it; shown in tables.
    identity
        Text that differs between specifications of different instances: a digest, or the call that
        generates the instance.
    recipe
        How it is made.
    sha256
        The digest, if it is known before the instance is made.
    """

    problem: str
    name: str
    source: str
    identity: str
    recipe: Mapping[str, Any] = field(hash=False)
    sha256: str | None = None


@dataclass(frozen=True)
class InstanceSpec(Spec):
    """An instance, and the change of the problem with which it is solved, if there is one."""

    variant: VariantSpec | None = None

    def changed(self, variant: VariantSpec) -> InstanceSpec:
        """Return the specification of the same instance, solved with a variant."""
        called = variant.text.rpartition(":")[2]  # two functions may stand in the same line
        identity = f"{self.identity} variant {called} {variant.name} {variant.sha256}"
        return replace(self, identity=identity, variant=variant)

    @property
    def owner(self) -> Problem:
        """The problem, or the variant of it."""
        if self.variant is None:
            return registry.problem(self.problem)
        return changed_problem(self.variant.find())

    @classmethod
    def shipped(cls, name: str) -> InstanceSpec:
        """Return the specification of a library instance."""
        entry = library.index()[name]
        digest = entry["sha256"]
        return cls(entry["problem"], name, name, digest, {"source": name}, digest)

    @classmethod
    def from_file(cls, path: Path) -> InstanceSpec:
        """Return the specification of a file; the file is read now.

        Raises
        ------
        InstanceError
            If the file cannot be used.
        """
        instance = api.load(path)
        identity, recipe = f"{instance.name} {instance.sha256}", {"source": str(path.resolve())}
        about = instance.problem, instance.name, str(path), identity
        return cls(*about, recipe, instance.sha256)

    @classmethod
    def generated(cls, problem: str, seed: int, parameters: Mapping[str, Any]) -> InstanceSpec:
        """Return the specification of a call of a generator."""
        source = call("dlsched.generate", problem, seed, parameters)
        name = f"{labelled(problem, parameters)}-{seed}"
        return cls(problem, name, source, source, {"seed": seed, "parameters": parameters})

    def make(self) -> Instance:
        """Return the instance; see `_as_planned` for what it raises."""
        return _as_planned(self.source, self.sha256, self._make, lambda made: made.sha256)

    def _make(self) -> Instance:
        if "source" in self.recipe:
            return api.load(self.recipe["source"])
        made = api.generate(self.problem, self.recipe["seed"], **self.recipe["parameters"])
        return made.model_copy(update={"name": self.name})


@dataclass(frozen=True)
class WorkloadSpec(Spec):
    """The jobs and servers of a simulation.

    Attributes
    ----------
    recipe
        ``trace``, ``options`` (of `Workload.from_trace`) and ``cluster`` (its data), or
        ``generator`` and ``parameters``; ``wrong``, the share of wrong estimates; ``seed``.
    family, seed
        The name without the workload's seed, and the seed; ``None`` if nothing is drawn.
    varied
        The parameters that a grid varies.
    """

    family: str = ""
    seed: int | None = None
    varied: Mapping[str, Any] = field(default_factory=dict, hash=False)

    @classmethod
    def of_trace(
        cls,
        trace: str,
        options: Mapping[str, Any],
        cluster: Cluster,
        *,
        wrong: float = 0.0,
        seed: int | None = None,
        varied: Mapping[str, Any] | None = None,
    ) -> WorkloadSpec:
        """Return the specification of a trace on a cluster; the trace is read now, once.

        `trace` and `options` are what `Workload.from_trace` takes; options that are None, False or
        empty are left out. `wrong` is the share of wrong estimates, `seed` that of their drawing.

        Raises
        ------
        DlschedError
            If the trace cannot be read, or there is no such set of profiles.
        """
        given = {name: value for name, value in options.items() if value}
        servers = json.loads(cluster.model_dump_json(exclude_defaults=True))
        recipe = {"trace": trace, "options": given, "cluster": servers}
        workload = _from_trace(trace, _text(given))
        first = f" (first {given['limit']})" if "limit" in given else ""
        arguments = "".join(f", {name}={value!r}" for name, value in given.items())
        source = f"Workload.from_trace({trace!r}{arguments})"
        family = f"{workload.name}{first} on {_size(cluster)}"
        if wrong:
            recipe |= {"wrong": wrong, "seed": seed or 0}
            source += f", {wrong:g} of the estimates wrong, seed {seed or 0}"
            family += f", {wrong:g} wrong"
        name = family if seed is None else f"{family}, seed {seed}"
        digest = _digest(_wrong(workload, recipe), cluster)
        rest = family, seed, varied or {}
        return cls(SIMULATION, name, source, digest, recipe, digest, *rest)

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
        recipe = {"generator": generator, "parameters": dict(parameters), "seed": seed}
        source = call("generated", generator, seed, parameters, "simulation")
        shown = dict(parameters)
        if wrong:
            recipe["wrong"] = shown["wrong"] = wrong
            source += f", {wrong:g} of the estimates wrong"
        family = labelled(generator, shown)
        rest = family, seed, varied or {}
        return cls(SIMULATION, f"{family}-{seed}", source, source, recipe, None, *rest)

    def make(self) -> tuple[Workload, Cluster, str]:
        """Return jobs and servers, and their digest; see `_as_planned` for what it raises."""
        return _as_planned(self.source, self.sha256, self._make, lambda made: made[2])

    def _make(self) -> tuple[Workload, Cluster, str]:
        recipe = self.recipe
        if "generator" in recipe:
            workload, cluster = generated(recipe["generator"], recipe["parameters"], recipe["seed"])
        else:
            workload = _from_trace(recipe["trace"], _text(recipe["options"]))
            cluster = Cluster.parse(recipe["cluster"], "the cluster")
        workload = _wrong(workload, recipe)
        return workload, cluster, _digest(workload, cluster)


def forget() -> None:
    """Clear the cache of traces, since files may have changed."""
    _from_trace.cache_clear()


@lru_cache(maxsize=2)
def _from_trace(trace: str, options: str) -> Workload:
    """Read a trace; several specifications may differ in their clusters only."""
    return Workload.from_trace(trace, **json.loads(options))


def _wrong(workload: Workload, recipe: Mapping[str, Any]) -> Workload:
    share = recipe.get("wrong")
    return with_wrong_estimates(workload, share, seed=recipe["seed"]) if share else workload


def _text(data: object) -> str:
    return json.dumps(data, sort_keys=True)


def _digest(workload: Workload, cluster: Cluster) -> str:
    """Return the digest of jobs and servers."""
    texts = (part.model_dump_json(exclude_defaults=True) for part in (workload, cluster))
    return hashlib.sha256("".join(f"{text}\0" for text in texts).encode()).hexdigest()


def _size(cluster: Cluster) -> str:
    """Return the servers as ``4x8``, or ``2x8 V100 + 1x4 K80``."""
    counts: dict[str, int] = {}
    for server in cluster.servers:
        kind = f"x{server.gpus}" + (f" {server.gpu_type}" if server.gpu_type else "")
        counts[kind] = counts.get(kind, 0) + 1
    return " + ".join(f"{count}{kind}" for kind, count in counts.items())
