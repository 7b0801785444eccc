"""The instances that come with dlsched, their best known solutions and bounds."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from dlsched.errors import UnknownName
from dlsched.registry import problem
from dlsched.results.objective import Bound, Bounds, Objective, bound_from_data, number_from_data


@dataclass(frozen=True)
class LibraryEntry:
    """How one instance of the library is made; a problem's module ``library`` has its ``ENTRIES``.

    Attributes
    ----------
    kind
        ``small``, ``medium``, ``production``, ``trace`` or ``open``; see ``instances/README.md``.
    parameters
        Keyword arguments of `dlsched.generate`; of a ``trace``, those of
        `dlsched.simulation.snapshot` on the shipped trace.
    methods
        Of an open instance: the methods that look for a better solution or bound.
    mps
        Whether the model is written as an MPS file if it is not too large.
    """

    kind: str
    name: str
    seed: int
    parameters: Mapping[str, Any]
    methods: tuple[str, ...] = ()
    mps: bool = True


def root() -> Path:
    """Return the folder of the instance library: a checkout's, else the installed package's."""
    package = Path(__file__).parent
    checkout = package.parents[1] / "instances"
    return checkout if (checkout / "index.json").exists() else package / "_instances"


@cache
def index() -> dict[str, dict[str, Any]]:
    """Return the library's index: {name: entry}; see ``instances/README.md`` for the fields."""
    entries = json.loads((root() / "index.json").read_text())["instances"]
    return {entry["name"]: entry for entry in entries}


def names(problem_name: str | None = None) -> list[str]:
    """Return the names of the shipped instances, of one problem or of all."""
    return [n for n, e in index().items() if problem_name in (None, e["problem"])]


def instance_file(name: str) -> Path:
    """Return the file of a shipped instance.

    Raises
    ------
    UnknownName
        If there is none of that name.
    """
    if name not in index():
        raise UnknownName("instance", name, index())
    return root() / str(index()[name]["file"])


def solution_file(name: str) -> Path:
    """Return the file of a shipped instance's best known solution."""
    stem = instance_file(name)
    suffix = ".json.gz" if stem.suffix == ".gz" else ".json"
    return stem.with_name(f"{name}.sol{suffix}")


def proof_file(name: str) -> Path:
    """Return the file of the proof that a shipped instance's best known solution is optimal.

    Not every instance has one.
    """
    return root() / str(index()[name]["problem"]) / "proofs" / f"{name}.json.gz"


def bound_file(name: str) -> Path:
    """Return the file of the proof of a shipped open instance's bound; few have one."""
    return root() / str(index()[name]["problem"]) / "bounds" / f"{name}.json.gz"


def best_bounds(sha256: str) -> Bounds | None:
    """Return the recorded bounds of a shipped instance, found by its digest.

    Where the library has a proof, they are the values that it proves.
    """
    entry = _by_digest().get(sha256)
    if entry is None:
        return None
    owner, bounds = problem(entry["problem"]), entry["bound"]
    found = [bound_from_data(bounds[level.name]) for level in owner.levels]
    if "certificate" in entry:
        kinds = entry["certificate"]["kinds"]
        found = [
            bound
            if bound is not None and bound.kind == "certified"
            else Bound(number_from_data(entry["objective"][level.name]), kinds[level.name], "proof")
            for level, bound in zip(owner.levels, found, strict=True)
        ]
    return owner.by_level(found)


def best_objective(sha256: str) -> Objective | None:
    """Return the objective of a shipped instance's best known solution, found by its digest."""
    entry = _by_digest().get(sha256)
    if entry is None:
        return None
    owner, values = problem(entry["problem"]), entry["objective"]
    return owner.by_level([number_from_data(values[level.name]) for level in owner.levels])


def name_of(sha256: str) -> str | None:
    """Return the name of the shipped instance with this digest."""
    entry = _by_digest().get(sha256)
    return str(entry["name"]) if entry else None


@cache
def _by_digest() -> dict[str, dict[str, Any]]:
    return {entry["sha256"]: entry for entry in index().values()}
