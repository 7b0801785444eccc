# ruff: noqa: PLW0108 - the lambdas are what is tested
"""Methods are found by name, by decorator and by entry point, and called as their form asks."""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dlsched
from calls import apart, install, python
from dlsched import registry
from dlsched.problems.reclaiming import Instance, Solution


@pytest.fixture
def instance() -> Instance:
    """Return a small instance."""
    made = dlsched.generate("reclaiming", servers=6, demand=2)
    assert isinstance(made, Instance)
    return made


def first(instance: Instance, rng: np.random.Generator | None = None, *, skip: int = 0) -> Solution:
    """Return the first servers in the file."""
    chosen = instance.servers[skip : skip + instance.demand]
    return Solution(instance=instance.name, returned=tuple(s.id for s in chosen))


class Firsts:
    """A method that is an object."""

    def __call__(self, instance: Instance, rng: np.random.Generator) -> Solution:
        """Return the first servers."""
        return first(instance)


FORMS: dict[str, tuple[Any, str]] = {
    "function": (first, "first"),
    "one parameter": (lambda instance: first(instance), "<lambda>"),
    "two parameters": (lambda inst, generator: first(inst, generator), "<lambda>"),
    "object": (Firsts(), "Firsts"),
    "bound method": (Firsts().__call__, "__call__"),
    "partial": (partial(first, skip=1), "partial"),
    "keywords only": (lambda instance, *, skip=0: first(instance, skip=skip), "<lambda>"),
    "any keywords": (lambda instance, **options: first(instance, **options), "<lambda>"),
}


@pytest.mark.parametrize("form", FORMS)
def test_any_callable(form: str, instance: Instance) -> None:
    """Functions, lambdas, objects and partials all serve as methods, with options by keyword."""
    function, name = FORMS[form]
    result = dlsched.solve(instance, function)
    assert result.status is dlsched.Status.FEASIBLE and result.method == name
    assert result.kind == "heuristic"
    if form in ("function", "partial", "keywords only", "any keywords"):
        skipped = dlsched.solve(instance, function, skip=2)
        assert skipped.options == {"skip": 2}
        assert skipped.solution.returned == first(instance, skip=2).returned


def test_unknown_options(instance: Instance) -> None:
    """An option that a callable has not is refused with those that it has."""
    for method in (first, lambda instance: first(instance)):
        with pytest.raises(dlsched.OptionError, match="has no option 'skipp'; it has: "):
            dlsched.solve(instance, method, skipp=2)


@apart
def test_decorator(instance: Instance) -> None:
    """A decorated function is a method with its name, kind, summary and options."""
    dlsched.method("reclaiming", kind="baseline")(first)
    result = dlsched.solve(instance, "first", skip=1)
    assert (result.method, result.kind) == ("first", "baseline")
    row = dlsched.list_methods("reclaiming").set_index("method").loc["first"]
    assert row["summary"] == "Return the first servers in the file."
    assert row["options"] == {"skip": 0}


@apart
def test_a_registered_function_keeps_its_name(instance: Instance) -> None:
    """A registered function keeps its name; a module may define one anew, as in a notebook."""
    dlsched.method("reclaiming", kind="baseline", name="by-file")(first)
    assert dlsched.solve(instance, first).method == "by-file"
    dlsched.method("reclaiming", kind="baseline", name="mine")(lambda i: first(i))
    dlsched.method("reclaiming", kind="baseline", name="mine")(lambda i: first(i, skip=1))
    result = dlsched.solve(instance, "mine")
    assert result.solution.returned == first(instance, skip=1).returned


@pytest.mark.parametrize("taken", ["lyra", "milp", "exact"])
def test_name_clash(taken: str) -> None:
    """A name that is taken is refused, and the owner keeps it."""
    before = registry.problem("reclaiming").methods.get(taken)
    with pytest.raises(dlsched.OptionError, match=f"already has a method '{taken}', from dlsched"):
        dlsched.method("reclaiming", kind="heuristic", name=taken)(first)
    assert registry.problem("reclaiming").methods.get(taken) == before


def test_unknown_names() -> None:
    """What there is not is refused with what is near, what is gone with what to use instead."""
    with pytest.raises(dlsched.UnknownName, match="did you mean 'reclaiming'"):
        dlsched.method("reclaming", kind="heuristic")
    with pytest.raises(dlsched.UnknownName, match="did you mean 'heuristic'"):
        dlsched.method("reclaiming", kind="heuristics")
    with pytest.raises(dlsched.UnknownName, match="it is gone, use "):
        dlsched.solve(dlsched.generate("elastic", jobs=3), "prices")
    for name, said in (
        ("bench", r"use dlsched\.sweeps"),
        ("never_there", "has no attribute 'never"),
    ):
        with pytest.raises(AttributeError, match=said):
            getattr(dlsched, name)


@pytest.mark.parametrize(
    ("method", "message"),
    [
        (lambda: None, "takes no instance"),
        (lambda instance, rng, seed=0: None, "an option 'seed', which is a keyword"),
        (partial(lambda instance, rng, seed=0: None, seed=1), "an option 'seed', which is a keyw"),
        (lambda instance, seed: None, "second parameter of <lambda> is called 'seed'"),
        (lambda instance, rng, depth: None, "needs a value for its option 'depth'"),
        (dict, "dict has no signature"),
        (registry.problem("elastic").method("lyra"), "lyra is for elastic, not for reclaiming"),
        ("nowhere:method", "cannot get 'method' from 'nowhere'"),
    ],
)
def test_callables_that_cannot_be_methods(method: Any, message: str, instance: Instance) -> None:
    """They are refused with the reason, which is a row of a comparison."""
    with pytest.raises(dlsched.OptionError, match=message):
        dlsched.solve(instance, method)
    row = dlsched.compare([instance], [method, "lyra"]).iloc[0]
    assert row["status"] == "error" and message in row["reason"]


def provide(folder: Path, group: str, module: str, text: str, name: str = "theirs") -> None:
    """Install a package with an entry point, an object ``PLUGIN`` of its module."""
    entry = f"[{group}]\n{name} = {module}:PLUGIN\n"
    install(folder, module, entry_points=entry, **{module: text})


METHODS = """
import dlsched
@dlsched.method("reclaiming", kind="heuristic", name="theirs")
def PLUGIN(instance, rng):
    return {"returned": [server.id for server in instance.servers[:instance.demand]]}
"""
WARNED = """
import warnings, dlsched
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    for method in ("theirs", "lyra", "theirs"):
        print(dlsched.solve("lyra-fig5", method).method)
print(*(str(warning.message) for warning in said), sep="\\n")
"""


def test_methods_of_installed_packages(tmp_path: Path) -> None:
    """They are there without an import; a package that is broken is warned of once, harmlessly."""
    provide(tmp_path, registry.METHODS_GROUP, "good", METHODS)
    provide(tmp_path, registry.METHODS_GROUP, "stranger", "import torch_that_is_not_there")
    said = python(WARNED, env={"PYTHONPATH": f"{tmp_path}:{Path(dlsched.__file__).parents[1]}"})
    *found, warned = said.stdout.splitlines()
    assert found == ["theirs", "lyra", "theirs"]
    assert warned == (
        "methods of stranger:PLUGIN not loaded: No module named 'torch_that_is_not_there'"
    )


def test_broken_problems(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, instance: Instance
) -> None:
    """Packages that raise, exit, or take a name are warned of; all else works."""
    texts = {"gone": "import nowhere", "exits": "raise SystemExit(3)", "wrong": "PLUGIN = 3"}
    for name, text in texts.items():
        provide(tmp_path, registry.PROBLEMS_GROUP, f"{name}_problem", text, name)
    provide(tmp_path, registry.PROBLEMS_GROUP, "taking", "", "elastic")
    for name in ("one", "other"):
        provide(tmp_path, registry.PROBLEMS_GROUP, f"{name}_of_two", "PLUGIN = 3", "twice")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.warns(UserWarning) as caught:
        found = registry.usable_problems()
    assert [owner.name for owner in found] == list(registry.BUILT_IN)
    said = "\n".join(str(warning.message) for warning in caught)
    for part in ("elastic' of its own", "No module named 'nowhere'", "SystemExit", "is no Problem"):
        assert part in said
    assert dlsched.solve(instance, "lyra").status is dlsched.Status.FEASIBLE
    for name in texts:
        with pytest.raises(dlsched.OptionError, match=f"problem {name}: "):
            dlsched.generate(name)
    with pytest.raises(dlsched.OptionError, match=r"one_of_two:PLUGIN and other_of_two:PLUGIN"):
        registry.problem("twice")


HALF = """
from dataclasses import replace
from dlsched.problems.elastic import PROBLEM
PLUGIN = replace(PROBLEM, name="half", package="company.scheduling.mine")
"""


def test_a_problem_that_is_half_there(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Methods that cannot be imported are an error only where they are used."""
    provide(tmp_path, registry.PROBLEMS_GROUP, "half_problem", HALF, "half")
    package = tmp_path / "company" / "scheduling" / "mine"
    package.mkdir(parents=True)
    for place in (package, *package.parents[:2]):
        (place / "__init__.py").touch()
    (package / "exact.py").write_text("import nowhere")
    monkeypatch.syspath_prepend(tmp_path)
    broken = r"cannot load company\.scheduling\.mine\.exact"
    with pytest.warns(UserWarning, match=broken):
        assert len(registry.usable_problems()) == len(registry.BUILT_IN)
    with pytest.raises(dlsched.OptionError, match=broken):
        dlsched.list_methods("half")
