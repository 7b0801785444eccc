# ruff: noqa: PLW0108 - the lambdas are what is tested
"""Methods are found by name, by decorator and by entry point, and called as their form asks."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from functools import partial
from importlib.metadata import EntryPoint
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import dlsched
from dlsched import registry
from dlsched.names import MOVED
from dlsched.problems.reclaiming import Instance, Solution
from dlsched.registry import layout, names, registered
from dlsched.registry.retired import RETIRED
from dlsched.simulation import list_policies
from dlsched.simulation.policies import find_policy
from dlsched.variants import owner_of

ROOT = Path(__file__).parents[1]


@pytest.fixture(autouse=True)
def clean_registry(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Undo what a test registers."""
    for name in registry.problem_names():
        registry.problem(name).methods  # noqa: B018 - loads them
    monkeypatch.setattr(
        registered, "METHODS", {name: dict(found) for name, found in registered.METHODS.items()}
    )
    yield
    registered.load_plugins.cache_clear()


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


@pytest.mark.parametrize("method", [first, "milp", "lyra", lambda instance: first(instance)])
def test_unknown_options(method: Any, instance: Instance) -> None:
    """An option that there is not is refused with those that there are."""
    with pytest.raises(dlsched.OptionError, match="has no option 'skipp'; it has: "):
        dlsched.solve(instance, method, skipp=2)


def test_decorator(instance: Instance) -> None:
    """A decorated function is a method with its name, kind, summary and options."""
    dlsched.method("reclaiming", kind="baseline")(first)
    result = dlsched.solve(instance, "first", skip=1)
    assert (result.method, result.kind) == ("first", "baseline")
    row = dlsched.list_methods("reclaiming").set_index("method").loc["first"]
    assert row["summary"] == "Return the first servers in the file."
    assert row["options"] == {"skip": 0}


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


def test_unknown_names(instance: Instance) -> None:
    """A problem, kind or method that there is not is refused with the near ones."""
    with pytest.raises(dlsched.UnknownName, match="did you mean 'reclaiming'"):
        dlsched.method("reclaming", kind="heuristic")
    with pytest.raises(dlsched.UnknownName, match="did you mean 'heuristic'"):
        dlsched.method("reclaiming", kind="heuristics")
    with pytest.raises(dlsched.UnknownName, match="no method for reclaiming is called 'lira'"):
        dlsched.solve(instance, "lira")


def plug(monkeypatch: pytest.MonkeyPatch, load: Any) -> None:
    """Install a package that is loaded through the entry point group."""
    entry = SimpleNamespace(value="stranger:methods", load=load)
    monkeypatch.setattr(names, "entry_points", lambda group: {"dlsched.methods": [entry]}[group])
    registered.load_plugins.cache_clear()


@pytest.mark.parametrize(("problem", "name"), RETIRED)
def test_names_that_are_gone(problem: str, name: str, instance: Instance) -> None:
    """A name that is gone says what to use instead, and that is there."""
    known = {*list_policies(), "exact"}
    find = find_policy
    if problem != "simulation":
        changed = dlsched.Variant("reclaiming", "kept", fix={"x[s1]": 0})
        of_variants = problem == "variants"
        owner = owner_of(instance, changed) if of_variants else registry.problem(problem)
        known |= {*owner.methods}
        find = owner.method
    with pytest.raises(dlsched.UnknownName, match="it is gone, use ") as raised:
        find(name)
    folders = re.findall(r"\w+/\w+", raised.value.instead)
    assert known & set(re.findall(r"\w+", raised.value.instead)) or folders
    assert all((ROOT / folder).is_dir() for folder in folders)


@pytest.mark.parametrize("name", MOVED)
def test_modules_and_functions_that_are_gone(name: str) -> None:
    """An import of a name that is gone says what to use instead, and that is there."""
    instead = MOVED[name]
    module, _, attribute = name.rpartition(".")
    for statement in (f"import {name}", f"from {module} import {attribute}"):
        with pytest.raises(ImportError, match=re.escape(instead)):
            exec(statement, {})
    for used in re.findall(r"dlsched[.\w]*", instead):
        assert find_spec(used) is not None or hasattr(dlsched, used.rpartition(".")[2])
    assert all((ROOT / folder).is_dir() for folder in re.findall(r"benchmarks/\w+", instead))


def test_attributes_of_the_package() -> None:
    """An attribute that is gone says what to use instead; any other is as usual."""
    with pytest.raises(AttributeError, match=r"use dlsched\.sweeps"):
        _ = dlsched.bench
    with pytest.raises(AttributeError, match="has no attribute 'never_there'"):
        _ = dlsched.never_there


def test_entry_point(instance: Instance, monkeypatch: pytest.MonkeyPatch) -> None:
    """A package's methods are there without an import; a broken one is warned of, and harmless."""
    plug(monkeypatch, lambda: dlsched.method("reclaiming", kind="heuristic", name="theirs")(first))
    assert dlsched.solve(instance, "theirs").method == "theirs"

    def fail() -> None:
        raise ImportError("no module named torch")

    plug(monkeypatch, fail)
    with pytest.warns(UserWarning, match="stranger:methods not loaded: no module named torch"):
        assert dlsched.solve(instance, "lyra").method == "lyra"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        dlsched.solve(instance, "lyra")  # said once


def no_instance() -> None:
    """Take nothing."""


def hides_seed(instance: Instance, rng: Any, seed: int = 0) -> None:
    """Have an option with the name of a keyword."""


def seeded(instance: Instance, seed: int) -> None:
    """Have another name for the generator."""


def with_option(instance: Instance, rng: Any, depth: int) -> None:
    """Need an option."""


@pytest.mark.parametrize(
    ("method", "message"),
    [
        (no_instance, "takes no instance"),
        (hides_seed, "an option 'seed', which is a keyword"),
        (partial(hides_seed, seed=1), "an option 'seed', which is a keyword"),
        (seeded, "second parameter of seeded is called 'seed'"),
        (with_option, "needs a value for its option 'depth'"),
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


def install(monkeypatch: pytest.MonkeyPatch, **problems: str) -> None:
    """Install packages with problems: names of entry points, and what they load."""
    found = {
        "dlsched.methods": [],
        "dlsched.problems": [EntryPoint(n, v, "dlsched.problems") for n, v in problems.items()],
    }
    monkeypatch.setattr(names, "entry_points", lambda group: found[group])


def test_broken_problems(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, instance: Instance
) -> None:
    """Packages that raise, exit, or take a name are warned of; all else works."""
    (tmp_path / "exits.py").write_text("raise SystemExit(3)")
    monkeypatch.syspath_prepend(tmp_path)
    install(monkeypatch, gone="nowhere:P", exits="exits:P", wrong="math:pi", elastic="nowhere:P")
    with pytest.warns(UserWarning) as caught:
        found = registry.usable_problems()
    assert [owner.name for owner in found] == list(registry.BUILT_IN)
    said = "\n".join(str(warning.message) for warning in caught)
    for part in ("elastic' of its own", "No module named 'nowhere'", "SystemExit", "is no Problem"):
        assert part in said
    assert dlsched.solve(instance, "lyra").status is dlsched.Status.FEASIBLE
    for name in ("gone", "exits", "wrong"):
        with pytest.raises(dlsched.OptionError, match=f"problem {name}: "):
            dlsched.generate(name)


def test_broken_methods_of_a_problem(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A problem whose methods cannot be imported is an error only where it is used."""
    text = "from dataclasses import replace\nfrom dlsched.problems.elastic import PROBLEM\n"
    text += 'PROBLEM = replace(PROBLEM, name="half", package="half")\n'
    (tmp_path / "half").mkdir()
    (tmp_path / "half" / "__init__.py").write_text(text)
    (tmp_path / "half" / "exact.py").write_text("import nowhere")
    monkeypatch.syspath_prepend(tmp_path)
    install(monkeypatch, half="half:PROBLEM")
    with pytest.warns(UserWarning, match=r"cannot load half\.exact"):
        assert len(registry.usable_problems()) == len(registry.BUILT_IN)
    with pytest.raises(dlsched.OptionError, match=r"cannot load half\.exact"):
        dlsched.list_methods("half")
    registry.problem.cache_clear()


def test_two_packages_with_one_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither is chosen silently."""
    entries = [EntryPoint("twice", f"{name}:P", "dlsched.problems") for name in ("one", "other")]
    monkeypatch.setattr(names, "entry_points", lambda group: entries)
    with pytest.raises(dlsched.OptionError, match="one:P and other:P have that name"):
        registry.problem("twice")


def test_relative_imports_count_from_the_packages_around(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a package of packages two dots lead to the problem's, three and four beyond it."""
    folder = tmp_path / "company" / "scheduling" / "mine" / "definition"
    folder.mkdir(parents=True)
    for package in (folder, *folder.parents[:3]):
        (package / "__init__.py").touch()
    (folder / "check.py").write_text(
        "from ....exact import one\nfrom ...mine.exact import two\nfrom ..exact import three\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    assert layout.upward_imports("company.scheduling.mine") == [
        f"definition/check.py: imports company.scheduling.mine.exact.{name}"
        for name in ("two", "three")
    ]
