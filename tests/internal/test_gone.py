"""Internal: the lists of names that are gone; each says what to use instead, and that is there."""

import re
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

import dlsched
from dlsched import registry
from dlsched.names import MOVED
from dlsched.registry.retired import RETIRED
from dlsched.simulation import list_policies
from dlsched.simulation.policies import find_policy
from dlsched.variants import owner_of

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(("problem", "name"), RETIRED)
def test_methods_and_policies(problem: str, name: str) -> None:
    """The error for a name that is gone has one that is there, or a folder."""
    known, find = {*list_policies(), "exact"}, find_policy
    if problem != "simulation":
        changed = dlsched.Variant("reclaiming", "kept", fix={"x[1]": 0})
        of_variants = problem == "variants"
        owner = owner_of(dlsched.load("lyra-fig5"), changed) if of_variants else None
        owner = owner or registry.problem(problem)
        known |= {*owner.methods}
        find = owner.method
    with pytest.raises(dlsched.UnknownName, match="it is gone, use ") as raised:
        find(name)
    folders = re.findall(r"\w+/\w+", raised.value.instead)
    assert known & set(re.findall(r"\w+", raised.value.instead)) or folders
    assert all((ROOT / folder).is_dir() for folder in folders)


@pytest.mark.parametrize("name", MOVED)
def test_modules_and_functions(name: str) -> None:
    """An import of a name that is gone says what to use instead, and that is there."""
    instead = MOVED[name]
    module, _, attribute = name.rpartition(".")
    for statement in (f"import {name}", f"from {module} import {attribute}"):
        with pytest.raises(ImportError, match=re.escape(instead)):
            exec(statement, {})
    for used in re.findall(r"dlsched[.\w]*", instead):
        package, _, own = used.rpartition(".")
        assert find_spec(used) is not None or hasattr(import_module(package), own)
    assert all((ROOT / folder).is_dir() for folder in re.findall(r"benchmarks/\w+", instead))


@pytest.mark.parametrize(
    ("problem", "name"), [("interleaving", "draw_both"), ("placement", "draw_moves")]
)
def test_a_picture_that_is_gone(problem: str, name: str) -> None:
    """The picture of interleaving that had two axes of its own, and that of tables that move."""
    with pytest.raises(ImportError, match=rf"{name} is gone; use dlsched\.plot"):
        getattr(import_module(f"dlsched.problems.{problem}.pictures.draw"), name)
