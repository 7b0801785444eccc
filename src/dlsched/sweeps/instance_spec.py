"""Instance specifications: how to make an instance, in any process."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from dlsched import api, library, registry
from dlsched.errors import DlschedError
from dlsched.registry import Problem
from dlsched.registry.generators import call
from dlsched.registry.labels import labelled
from dlsched.schema.envelope import Instance
from dlsched.variants import Variant, changed_problem, find_variant


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
        """Return the variant.

        Raises
        ------
        Changed
            If it cannot be loaded here, or is another one than when the sweep was planned.
        """
        try:
            found = find_variant(self.text)
        except DlschedError as error:
            raise Changed(f"the variant {self.name} cannot be loaded here: {error}") from None
        if found.sha256 != self.sha256:
            raise Changed(
                f"{self.text} is not the variant that the sweep was planned with: its digest is "
                f"{str(found.sha256)[:12]}, not {self.sha256[:12]}"
            )
        return found


@dataclass(frozen=True)
class InstanceSpec:
    """How to make an instance, as plain data that can be sent to another process.

    Attributes
    ----------
    problem
        Name of the problem.
    name
        Name of the instance.
    source
        A library name, a path, or the call that generates the instance; shown in tables.
    identity
        Text that differs between specifications of different instances: a digest, or the call that
        generates the instance.
    recipe
        Keyword arguments of one of the makers below, and its name under ``maker``.
    sha256
        The instance's digest, if it is known before the instance is made.
    variant
        The change of the problem with which it is solved, if there is one.
    """

    problem: str
    name: str
    source: str
    identity: str
    recipe: Mapping[str, Any] = field(hash=False)
    sha256: str | None = None
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
        digest, recipe = entry["sha256"], {"maker": "load", "source": name}
        return cls(entry["problem"], name, name, digest, recipe, digest)

    @classmethod
    def from_file(cls, path: Path) -> InstanceSpec:
        """Return the specification of a file; the file is read now.

        Raises
        ------
        InstanceError
            If the file cannot be used.
        """
        return cls._of(api.load(path), str(path), str(path.resolve()))

    @classmethod
    def given(cls, instance: Instance) -> InstanceSpec:
        """Return the specification of an instance in memory."""
        return cls._of(instance, instance.source or instance.name, instance.to_data())

    @classmethod
    def _of(cls, instance: Instance, source: str, data: str | Mapping[str, Any]) -> InstanceSpec:
        recipe = {"maker": "load", "source": data}
        identity = f"{instance.name} {instance.sha256}"
        return cls(instance.problem, instance.name, source, identity, recipe, instance.sha256)

    @classmethod
    def generated(cls, problem: str, seed: int, parameters: Mapping[str, Any]) -> InstanceSpec:
        """Return the specification of a call of a generator."""
        source = call("dlsched.generate", problem, seed, parameters)
        name = f"{labelled(problem, parameters)}-{seed}"
        recipe = {"maker": "generate", "problem": problem, "seed": seed, "name": name}
        return cls(problem, name, source, source, recipe | {"parameters": parameters})

    def make(self) -> Instance:
        """Return the instance; what is derived from its fields is derived anew in every run.

        The last one made by this process is cached. Without the copy, the first method of a sweep
        would spend the time to derive values that the next ones find.

        Raises
        ------
        Changed
            If the instance has another digest than the specification, or one that could be read
            when the sweep was planned cannot be read now and here.
        """
        try:
            instance = _make(self)
        except (DlschedError, OSError) as error:
            if self.sha256 is None:  # a generator's own error
                raise
            raise Changed(f"{self.source} cannot be read any more or here: {error}") from None
        if self.sha256 not in (None, instance.sha256):
            forget()
            what = f"{self.source} is not the instance that the sweep was planned with"
            raise Changed(
                f"{what}: its digest is {instance.sha256[:12]}, not {str(self.sha256)[:12]}"
            )
        return instance.model_copy()


class Changed(DlschedError):
    """An instance that changed since the sweep was planned; the message has both digests."""


def forget() -> None:
    """Clear the cache, since a method may have changed the cached instance."""
    _make.cache_clear()


@lru_cache(maxsize=1)
def _make(spec: InstanceSpec) -> Instance:
    recipe = dict(spec.recipe)
    return _MAKERS[recipe.pop("maker")](**recipe)


def _generate(problem: str, seed: int, name: str, parameters: Mapping[str, Any]) -> Instance:
    return api.generate(problem, seed, **parameters).model_copy(update={"name": name})


_MAKERS: dict[str, Callable[..., Instance]] = {"load": api.load, "generate": _generate}
