"""A case: an instance that a worker makes when its turn comes, in whichever process."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from dlsched import api, library
from dlsched.errors import DlschedError
from dlsched.labels import labelled
from dlsched.schema import Instance


@dataclass(frozen=True)
class Case:
    """How to make an instance, as plain data that can be sent to another process.

    Attributes
    ----------
    problem
        Name of the problem.
    name
        The instance's.
    source
        For people: a shipped name, a path, or the call that generates it.
    identity
        Differs whenever what is to be solved differs: a digest, or the call that generates it.
    recipe
        The keywords of one of the makers below, with its name under ``maker``.
    sha256
        The instance's digest, where it is known before the instance is made.
    """

    problem: str
    name: str
    source: str
    identity: str
    recipe: Mapping[str, Any]
    sha256: str | None = None

    @classmethod
    def shipped(cls, name: str) -> Case:
        """Return the case of an instance of the library."""
        entry = library.index()[name]
        digest, recipe = entry["sha256"], {"maker": "load", "source": name}
        return cls(entry["problem"], name, name, digest, recipe, digest)

    @classmethod
    def from_file(cls, path: Path) -> Case:
        """Return the case of a file, which is read now, so that a bad one is found now.

        Raises
        ------
        InstanceError
            If the file cannot be used.
        """
        instance = api.load(path)
        recipe = {"maker": "load", "source": str(path.resolve())}
        identity = f"{instance.name} {instance.sha256}"
        return cls(instance.problem, instance.name, str(path), identity, recipe, instance.sha256)

    @classmethod
    def generated(cls, problem: str, seed: int, parameters: Mapping[str, Any]) -> Case:
        """Return the case of a generator with parameters."""
        said = "".join(f", {name}={value!r}" for name, value in parameters.items())
        source = f"dlsched.generate({problem!r}, seed={seed}{said})"
        name = f"{labelled(problem, parameters)}-{seed}"
        recipe = {"maker": "generate", "problem": problem, "seed": seed, "name": name}
        return cls(problem, name, source, source, recipe | {"parameters": parameters})

    @classmethod
    def given(cls, instance: Instance) -> Case:
        """Return the case of an instance that is already in memory."""
        source = instance.source or instance.name
        recipe = {"maker": "load", "source": instance.to_data()}
        identity = f"{instance.name} {instance.sha256}"
        return cls(instance.problem, instance.name, source, identity, recipe, instance.sha256)

    def make(self) -> Instance:
        """Return the instance; the last one made by this process is kept for its next method.

        Raises
        ------
        Changed
            If it is not the instance that the sweep was planned with.
        """
        made = _kept(_ByIdentity(self))
        if self.sha256 not in (None, made.sha256):
            forget()
            what = f"{self.source} is not the instance that the sweep was planned with"
            raise Changed(f"{what}: its digest is {made.sha256[:12]}, not {str(self.sha256)[:12]}")
        return made


class Changed(DlschedError):
    """An instance that has changed since the sweep was planned; the message has both digests."""


def forget() -> None:
    """Make the next instance anew: a method may have changed the one that is kept."""
    _kept.cache_clear()


class _ByIdentity:
    """A case as a key of the cache, which needs a hash."""

    def __init__(self, case: Case) -> None:
        self.case = case

    def __hash__(self) -> int:
        return hash(self.case.identity)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _ByIdentity) and other.case == self.case


@lru_cache(maxsize=1)
def _kept(key: _ByIdentity) -> Instance:
    recipe = dict(key.case.recipe)
    return _MAKERS[recipe.pop("maker")](**recipe)


def _generate(problem: str, seed: int, name: str, parameters: Mapping[str, Any]) -> Instance:
    return api.generate(problem, seed, **parameters).model_copy(update={"name": name})


_MAKERS: dict[str, Callable[..., Instance]] = {"load": api.load, "generate": _generate}
