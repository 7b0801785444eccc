"""The checks of `check_problem` for a package: modules, layers, generator, picture and pages."""

from __future__ import annotations

import re

from dlsched import api, extras
from dlsched.registry import Kind, layout
from dlsched.testing.documents import run_blocks
from dlsched.testing.subject import Subject, require

_REQUIRED = {
    "schema": ("Instance", "Solution"),
    "check": ("LEVELS", "check", "explain"),
    "model": ("build", "read", "assign"),
    "generate": ("generate", "examples"),
    "draw": ("draw",),
    "oracle": ("brute_force",),
    "strategy": ("instances",),
}


def parts(subject: Subject) -> None:
    """The package has its modules, and each of these its functions."""
    for module, names in _REQUIRED.items():
        loaded = subject.problem.module(module)
        missing = [name for name in names if not hasattr(loaded, name)]
        require(not missing, f"{subject.problem.package}.{module} has no {', '.join(missing)}")
    size = subject.problem.size
    require(hasattr(subject.example(), size), f"instances have no field {size!r}, PROBLEM.size")


def layers(subject: Subject) -> None:
    """The package's folders import only those above them, in the order of `layout.FOLDERS`."""
    upward = layout.upward_imports(subject.problem.package)
    require(not upward, "; ".join(upward))


def methods(subject: Subject) -> None:
    """There are the methods that PROBLEM names, and exact ones say why they are exact."""
    owner = subject.problem
    for name, kinds in ((owner.exact, ["exact"]), (owner.bound, ["bound", "exact"])):
        require(name in owner.methods, f"there is no method {name!r}, which PROBLEM names")
        require(owner.methods[name].kind in kinds, f"{name} is not of kind {' or '.join(kinds)}")
    for method in subject.methods(*Kind):
        require(method.summary, f"{method.name} has no docstring")
    for method in subject.methods(Kind.EXACT):
        text = " ".join((method.function.__doc__ or "").split()).lower()
        require("exact because" in text, f"the docstring of {method.name} has no 'Exact because'")


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
        draw = subject.problem.module("draw").draw
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
    message = f"the card has {sorted(named)}, the model {sorted(components)}"
    require(named == components, message)
    _require_methods(subject, subject.card.name, text)


def page(subject: Subject) -> None:
    """The page names every method, and its Python blocks run."""
    assert subject.page is not None
    _require_methods(subject, subject.page.name, subject.page.read_text(encoding="utf-8"))
    run_blocks(subject.page)


def _require_methods(subject: Subject, file: str, text: str) -> None:
    missing = [m.name for m in subject.methods(*Kind) if f"`{m.name}`" not in text]
    require(not missing, f"{file} does not name {', '.join(missing)}")
