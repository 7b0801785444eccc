"""Instances and solutions: read from files, names or data, and written."""

import numbers
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias, cast

from dlsched import library, registry
from dlsched.display.drawing.files import FORMATS, picture_bytes
from dlsched.errors import InstanceError, OptionError
from dlsched.registry import Problem
from dlsched.results.result import Result
from dlsched.schema.envelope import SCHEMA_VERSION, AnyInstance, Instance
from dlsched.schema.files import read_json, write_bytes, write_json
from dlsched.schema.quantities import shown
from dlsched.schema.solution import AnySolution, Solution
from dlsched.solvers.overhead import no_collection

InstanceLike: TypeAlias = "Instance | str | Path | Mapping[str, Any]"
"""What `load` takes."""
SolutionLike: TypeAlias = "Solution | Result | str | Path | Mapping[str, Any]"
"""What `load_solution` takes."""


def load(source: InstanceLike) -> AnyInstance:
    """Load an instance.

    Parameters
    ----------
    source
        A name in the library, a path to ``.json`` or ``.json.gz``, plain data, or an instance.

    Raises
    ------
    InstanceError
        If the file or the data cannot be used; it names the field and the remedy.
    UnknownName
        If it is neither a file nor a name in the library.
    """
    if isinstance(source, Instance):
        return cast(AnyInstance, source)
    if isinstance(source, Mapping):
        return _parse_instance(source, "the instance")
    path = _path(source, "the instance")
    bare = path.name == str(source) and not os.path.isfile(path)
    if bare and (path.name in library.index() or not (path.suffix or os.path.exists(path))):
        path = library.instance_file(path.name)  # raises if there is none, naming the near ones
    with no_collection():
        return _parse_instance(read_json(path), str(source))


def load_solution(source: SolutionLike, problem: str | None = None) -> AnySolution:
    """Load a solution from a path, plain data, or a result; of a result's file its solution.

    Raises
    ------
    InstanceError
        If it cannot be used, or belongs to another problem than `problem`.
    """
    if isinstance(source, Result):
        if source.solution is None:
            raise InstanceError("the result", "solution", "is missing", source.reason)
        source = source.solution
    if isinstance(source, Solution):
        _validate_problem(source.problem, problem, "the solution")
        return cast(AnySolution, source)
    if isinstance(source, Mapping):
        where, data = "the solution", source
    else:
        path = _path(source, "the solution")
        where, data = str(path), read_json(path)
        if "dlsched" not in data and "status" in data and "solution" in data:  # of a result
            if data["solution"] is None:
                remedy = str(data.get("reason", "give a result that has one"))
                raise InstanceError(where, "solution", "is missing", remedy)
            data = data["solution"]
    owner = _owner(data, where, problem)
    if "name" in data and "instance" not in data:
        raise InstanceError(where, "", "is an instance, not a solution", "give the solution's file")
    _validate_problem(owner.name, problem, where)
    solution: AnySolution = owner.solution.parse(data, where)
    return solution


def save(document: Any, path: str | Path) -> None:
    """Write a document, a table or a picture to a file.

    Parameters
    ----------
    document
        An instance, a solution, a result or a simulation; what `compare` returned, or its summary;
        a figure or axes of matplotlib.
    path
        Its ending says how: ``.json`` or ``.json.gz``; of a table also ``.csv``, or ``.tex`` with
        the rules of booktabs; of a simulation ``.sqlite``; of a picture ``.pdf``, ``.svg``,
        ``.png``, or ``.pgf``, which needs LaTeX.

    Raises
    ------
    OptionError
        If this cannot be written to a file with such a name.
    """
    path = Path(path)
    figure = getattr(document, "figure", document)
    if hasattr(document, "to_csv") and path.suffix in (".csv", ".tex"):
        text = document.to_csv() if path.suffix == ".csv" else document.to_latex()
        write_bytes(path, text.encode())
    elif hasattr(figure, "savefig") and path.suffix[1:] in FORMATS:
        write_bytes(path, picture_bytes(figure, path.suffix[1:]))
    elif path.suffix == ".sqlite" and hasattr(document, "log"):
        write_bytes(path, document.log.to_bytes())
    elif hasattr(document, "to_data") and path.name.endswith((".json", ".json.gz")):
        write_json(path, document.to_data())
    else:
        kind = type(document).__name__
        raise OptionError(f"{kind} cannot be written to {path.name}: dlsched.save says what can")


def _path(source: object, where: str) -> Path:
    if isinstance(source, (str, os.PathLike)):
        return Path(source)
    problem = f"is of type {type(source).__name__}"
    raise InstanceError(where, "", problem, "give a path, a name, or the data as a dict")


def _owner(data: Mapping[str, Any], where: str, wanted: str | None = None) -> Problem:
    """Return the problem that data are of; of bare data say what `wanted` would need."""
    version = data.get("dlsched")
    if version is None:
        remedy = f'add "dlsched": {SCHEMA_VERSION}'
        if wanted is not None and registry.is_problem(wanted):
            known = ", ".join(registry.problem(wanted).solution.model_fields)
            remedy += (
                f'; did you mean {{"dlsched": {SCHEMA_VERSION}, "problem": "{wanted}", **data}}? '
                f"(fields of a solution: {known})"
            )
        raise InstanceError(where, "dlsched", "is missing", remedy)
    whole = isinstance(version, numbers.Integral) and not isinstance(version, bool)
    if not whole or version != SCHEMA_VERSION:
        raise InstanceError(
            where,
            "dlsched",
            f"is {shown(version)}, a schema this version does not know",
            f"this is schema {SCHEMA_VERSION}; upgrade dlsched if the file is newer",
        )
    name = data.get("problem")
    if not isinstance(name, str) or not registry.is_problem(name):
        known = ", ".join(registry.problem_names())
        problem = "is missing" if name is None else f"is {shown(name)}, an unknown problem"
        package = ", or install the package that has it" if isinstance(name, str) else ""
        raise InstanceError(where, "problem", problem, f"write one of: {known}{package}")
    return registry.problem(name)


def _parse_instance(data: Mapping[str, Any], where: str) -> AnyInstance:
    owner = _owner(data, where)
    if "instance" in data and "name" not in data:
        raise InstanceError(where, "", "is a solution, not an instance", "give the instance's file")
    instance: AnyInstance = owner.instance.parse(data, where)
    return instance


def _validate_problem(found: str, wanted: str | None, where: str) -> None:
    if wanted is not None and found != wanted:
        remedy = f'a solution of a "{wanted}" instance is needed'
        raise InstanceError(where, "problem", f'is "{found}"', remedy)
