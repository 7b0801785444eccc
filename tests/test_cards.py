"""The cards under models/ name what the models have, and the documentation what the methods are."""

from __future__ import annotations

import re
from pathlib import Path

import pyomo.environ as pyo
import pytest

import dlsched
from dlsched.registry import problem

ROOT = Path(__file__).parents[1]
KINDS = (pyo.Set, pyo.Var, pyo.Objective, pyo.Constraint)


def table_names(text: str) -> set[str]:
    """Return the names in backticks that open the rows of the card's tables of components."""
    tables = re.findall(r"^\| component \|.*\n((?:\|.*\n)+)", text, flags=re.MULTILINE)
    return {name for table in tables for name in re.findall(r"^\| `(\w+)", table, re.MULTILINE)}


@pytest.mark.parametrize("name", dlsched.list_problems())
def test_card_names_every_component(name: str) -> None:
    """The card's table has one row for each set, variable, objective and constraint, no other."""
    example = problem(name).module("generate").examples()[0]
    model = dlsched.model(example)
    components = {c.local_name for kind in KINDS for c in model.component_objects(kind)}
    assert table_names((ROOT / "models" / f"{name}.md").read_text()) == components


@pytest.mark.parametrize("name", dlsched.list_problems())
def test_objectives_are_the_levels(name: str) -> None:
    """The model's objectives have the levels' names, senses and order."""
    example = problem(name).module("generate").examples()[0]
    objectives = list(dlsched.model(example).component_objects(pyo.Objective))
    senses = {pyo.minimize: "min", pyo.maximize: "max"}
    found = [(o.local_name, senses[o.sense]) for o in objectives]
    assert found == [(level.name, level.sense) for level in problem(name).levels]


@pytest.mark.parametrize("name", dlsched.list_problems())
def test_pages_and_cards_name_every_method(name: str) -> None:
    """Card and page both name each registered method of the room in backticks."""
    for file in (ROOT / "models" / f"{name}.md", ROOT / "docs" / "problems" / f"{name}.md"):
        text = file.read_text()
        room = [m for m in problem(name).methods.values() if "dlsched" in m.function.__module__]
        assert [m.name for m in room if f"`{m.name}`" not in text] == []
