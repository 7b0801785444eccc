"""The instances that come with dlsched, their best known solutions and bounds."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from dlsched.errors import UnknownName
from dlsched.problem import problem
from dlsched.records import bound_from_data
from dlsched.result import Bounds


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


def best_bounds(sha256: str) -> Bounds | None:
    """Return the recorded bounds of a shipped instance, found by its digest."""
    for entry in index().values():
        if entry["sha256"] == sha256:
            owner = problem(entry["problem"])
            bounds = entry["bound"]
            return owner.by_level([bound_from_data(bounds[level.name]) for level in owner.levels])
    return None
