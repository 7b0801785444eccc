"""The checks of `check_problem` for documents: written and read, immutable, with their labels."""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from dlsched import api
from dlsched.errors import OptionError
from dlsched.registry import Kind
from dlsched.schema.document import Document
from dlsched.schema.envelope import Instance
from dlsched.schema.frozen import FrozenDict, derived
from dlsched.testing.search import Finding
from dlsched.testing.subject import Subject, require


def json_round_trip(subject: Subject) -> Finding | None:
    """Instances, solutions and results are the same after writing and reading."""
    owner = subject.problem

    def check(instance: Instance) -> None:
        read = owner.instance.parse(instance.to_data(), "the copy")
        require(read == instance and read.sha256 == instance.sha256, "to_data loses something")
        for method in ("exact", *(m.name for m in subject.methods(Kind.HEURISTIC)[:1])):
            try:
                result = api.solve(instance, method)
            except OptionError:  # a method for another kind of instance
                continue
            require(api.read_result(result.to_json()) == result, f"the result of {method} changes")

    with tempfile.TemporaryDirectory() as folder:
        for ending in (".json", ".json.gz"):
            path = Path(folder) / f"instance{ending}"
            api.save(subject.example(), path)
            require(api.load(path) == subject.example(), f"{ending} loses something")
    return subject.each(check)


def immutable(subject: Subject) -> None:
    """No list, set, plain dict or writable array can be reached from an instance or a solution."""
    instance = subject.example()
    documents: list[Document] = [instance, *subject.feasible(instance)]
    changeable = []
    for document in documents:
        for path, value in _containers(document, type(document).__name__):
            if type(value) is not FrozenDict:
                changeable.append(path)
    require(not changeable, f"these can be changed: {', '.join(changeable)}")


def _containers(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Yield containers and writable arrays in a document with their paths, derived ones too."""
    if isinstance(value, Document):
        for name in dir(type(value)):
            if isinstance(getattr(type(value), name), derived):
                getattr(value, name)
        for name, entry in vars(value).items():
            yield from _containers(entry, f"{path}.{name}")
    elif isinstance(value, (dict, list, set)):
        yield path, value
        if isinstance(value, dict):
            for key, entry in value.items():
                yield from _containers(entry, f"{path}[{key!r}]")
    elif isinstance(value, np.ndarray) and value.flags.writeable:
        yield path, value
    elif isinstance(value, tuple):
        for i, entry in enumerate(value):
            yield from _containers(entry, f"{path}[{i}]")


def labels(subject: Subject) -> None:
    """Every method's solution has the labels of its run; another instance's is refused."""
    instance = subject.example()
    for result in subject.solve(instance, Kind.EXACT, Kind.HEURISTIC, Kind.BASELINE):
        solution = result.solution
        if solution is None:
            continue
        said = (solution.instance, solution.instance_sha256, solution.method)
        wanted = (instance.name, instance.sha256, result.method)
        require(said == wanted, f"the solution of {result.method} has the labels {said}")
        other = solution.model_copy(update={"instance": "another"})
        kinds = [v.kind for v in subject.problem.check(instance, other).violations]
        require(kinds == ["instance"], f"a solution of another instance has violations {kinds}")
