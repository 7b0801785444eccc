"""The checks of `check_problem` for a package and its documents: modules, methods, files, card."""

import importlib
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from dlsched import api, extras
from dlsched.display.plotting import draw_function
from dlsched.errors import OptionError
from dlsched.registry import Kind, layout
from dlsched.schema.document import Document, FrozenDict, derived
from dlsched.schema.envelope import Instance
from dlsched.testing.search import Finding
from dlsched.testing.strategies import small_of
from dlsched.testing.subject import Subject, require

_REQUIRED = {
    "schema": ("Instance", "Solution"),
    "check": ("LEVELS", "check"),
    "model": ("build", "read", "assign"),
    "generate": ("generate", "examples"),
    "draw": ("draw",),
    "oracle": ("brute_force",),
    "strategy": ("instances",),
}


def parts(subject: Subject) -> None:
    """The package has its modules, and each of these its functions."""
    owner = subject.problem
    instead = {"draw": owner.cells is not None, "strategy": bool(small_of(owner))}
    needed = (m for m in _REQUIRED if owner.has_module(m) or not instead.get(m))
    wrong = [text for module in needed if (text := _wrong(owner.package, module))]
    require(not wrong, "; ".join(wrong))
    size = owner.size
    require(hasattr(subject.example(), size), f"instances have no field {size!r}, PROBLEM.size")


def _wrong(package: str, module: str) -> str:
    """Return what is wrong with a module that a package must have once; nothing if it is right."""
    names = _REQUIRED[module]
    places = layout.places(package, module)
    if not places:
        return f"there is no {layout.expected(package, module)}, with {', '.join(names)}"
    if len(places) > 1:
        return f"{places[0]} hides {places[1]}; remove one"
    loaded = importlib.import_module(places[0])
    missing = [name for name in names if not hasattr(loaded, name)]
    return f"{places[0]} has no {', '.join(missing)}" if missing else ""


def methods(subject: Subject) -> None:
    """There are the methods that PROBLEM names, and exact ones say why they are exact."""
    owner = subject.problem
    known = ", ".join(owner.methods) or "none"
    modules = [*layout.method_modules(owner.package)]
    unloaded = layout.unloaded_methods(owner.package)
    hidden = f"not imported: {', '.join(unloaded)}; methods are in the folders exact and heuristics"
    hidden += ", or in modules exact, heuristics and bounds of the package"
    for field, name, kinds in _named_methods(subject):
        said = f"there is no method {name!r}, which PROBLEM names as {field}; there are: {known}"
        said += f" (in {', '.join(modules) or 'no module'})"
        require(name in owner.methods, f"{said}; {hidden}" if unloaded else said)
        require(owner.methods[name].kind in kinds, f"{name} is not of kind {' or '.join(kinds)}")
    require(not unloaded, hidden)
    for method in subject.methods(*Kind):
        require(method.summary, f"{method.name} has no docstring")
    for method in subject.methods(Kind.EXACT):
        text = " ".join((method.function.__doc__ or "").split()).lower()
        require("exact because" in text, f"the docstring of {method.name} has no 'Exact because'")


def _named_methods(subject: Subject) -> Iterator[tuple[str, str, tuple[Kind, ...]]]:
    """Yield the methods that a problem names: the field, the name, and which kinds it may have."""
    owner, instance = subject.problem, subject.example()
    yield "exact", owner.exact, (Kind.EXACT,)
    yield "bound", owner.bound, (Kind.BOUND, Kind.EXACT)
    if owner.choose is not None:
        yield "choose", owner.choose(instance), (Kind.EXACT,)
    for start in owner.starts_for(instance):
        yield "starts", start.name, tuple(Kind)


def generator(subject: Subject) -> None:
    """The same seed generates the same instance, another seed another one."""
    name = subject.problem.name
    first, again, other = (api.generate(name, seed) for seed in (1, 1, 2))
    require(first == again, "seed 1 generates two different instances")
    require(first.sha256 != other.sha256, "seeds 1 and 2 generate the same instance")
    names = [e.name for e in subject.problem.module("generate").examples()]
    require(names and len(set(names)) == len(names), f"examples() are named {names}")


def picture(subject: Subject) -> None:
    """An instance and its solution can be drawn."""
    matplotlib = extras.require("matplotlib", "the check picture")
    backend = matplotlib.get_backend()
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    try:
        instance = subject.example()
        draw = draw_function(subject.problem)
        for solution in (None, api.solve(instance).solution):
            ax = draw(instance, solution)
            require(solution is None or ax.has_data(), "the picture of a solution is empty")
            plt.close(ax.figure)
    finally:
        matplotlib.use(backend)


def card(subject: Subject) -> None:
    """The card's tables have a row with each component and its kind, and it names every method."""
    import pyomo.core as pyo

    assert subject.card is not None
    text = subject.card.read_text(encoding="utf-8")
    kinds = (pyo.Set, pyo.Var, pyo.Objective, pyo.Constraint)
    model = api.model(subject.example())
    components = set()
    for kind in kinds:
        for component in model.component_objects(kind):
            components.add((component.local_name, kind.__name__))
    tables = re.findall(r"^\| component \|.*\n((?:\|.*\n)+)", text, flags=re.MULTILINE)
    row = re.compile(r"^\| `(\w+)`.*? \| (\w+)", re.MULTILINE)
    named = {pair for table in tables for pair in row.findall(table)}
    lacks, more = (
        ", ".join(f"`{name}` {kind}" for name, kind in sorted(pairs))
        for pairs in (components - named, named - components)
    )
    form = "a row is '| `x` | Var | meaning |', in a table headed '| component | kind | meaning |'"
    require(not lacks, f"the card has no row for {lacks} of the model; {form}")
    require(not more, f"the card has rows for {more}, which the model has not")
    missing = [m.name for m in subject.methods(*Kind) if f"`{m.name}`" not in text]
    require(not missing, f"{subject.card.name} does not name {', '.join(missing)}")


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
