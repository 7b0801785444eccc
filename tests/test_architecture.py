"""What may import what: no circle, and the layers of docs/architecture.md."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import networkx as nx
import pytest

import dlsched
from dlsched.registry import layout

SRC = Path(__file__).parents[1] / "src"
PROBLEMS = set(dlsched.list_problems())
DEFINITION = ("schema", "check", "oracle")
PAGE = Path(__file__).parents[1] / "docs" / "architecture.md"


def documented_layers() -> list[list[str]]:
    """Return the first column of the page's table, from the lowest layer up; "" is the package."""
    text = PAGE.read_text(encoding="utf-8")
    table = text.partition("| layer, from the top |")[2].partition("\n\n")[0]
    rows = [line.split("|")[1] for line in table.splitlines()[2:]]
    layers = [re.findall(r"`([\w.]+)`", row) for row in rows]
    return [["" if name == "dlsched" else name for name in row] for row in reversed(layers)]


LAYERS = documented_layers()
"""Modules and packages; none imports one of a higher layer."""


def module_name(path: Path) -> str:
    """Return the dotted name of a source file."""
    parts = path.relative_to(SRC).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in (SRC / "dlsched").rglob("*.py")}


def imports(tree: ast.AST) -> Iterator[ast.Import | ast.ImportFrom]:
    """Yield the import statements of a module, those inside functions included.

    What is imported for type checkers alone is left out.
    """
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            yield node
        elif isinstance(node, ast.expr):  # has no statements
            yield from imports_by_name(node)
        elif not (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"):
            yield from imports(node)


def imports_by_name(expression: ast.expr) -> Iterator[ast.Import]:
    """Yield the modules that an expression imports by their names, as statements."""
    for node in ast.walk(expression):
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
            match node.args[:1]:
                case [ast.Constant(value=str(name))]:
                    yield ast.Import([ast.alias(name)])


@cache
def tree(name: str) -> ast.Module:
    """Return a module's syntax tree."""
    return ast.parse(MODULES[name].read_text(encoding="utf-8"))


@cache
def found_imports(name: str) -> list[ast.Import | ast.ImportFrom]:
    """Return a module's import statements."""
    return list(imports(tree(name)))


def targets(node: ast.Import | ast.ImportFrom) -> Iterator[str]:
    """Yield the modules of dlsched that a statement imports."""
    for alias in node.names:
        if isinstance(node, ast.Import):
            name = alias.name
        else:
            assert node.level == 0, "imports are absolute"
            inside = f"{node.module}.{alias.name}"
            name = inside if inside in MODULES else str(node.module)
        if name in MODULES:
            yield name


@cache
def graph() -> nx.DiGraph[str]:
    """Return the graph of imports between modules of dlsched."""
    edges = [
        (name, target)
        for name in MODULES
        for node in found_imports(name)
        for target in targets(node)
        if target != name
    ]
    found: nx.DiGraph[str] = nx.DiGraph(edges)
    return found


def test_imports_go_down() -> None:
    """Imports go down the table of docs/architecture.md, in no circle, to no other problem."""
    circles = [sorted(part) for part in nx.strongly_connected_components(graph()) if len(part) > 1]
    assert circles == []
    assert [edge for edge in graph().edges if layer(edge[1]) > layer(edge[0])] == []
    owners = [[n.split(".")[2] for n in edge if n.split(".")[2:3] and n.split(".")[2] in PROBLEMS]
              for edge in graph().edges]  # fmt: skip
    assert [found for found in owners if len(set(found)) > 1] == []


def layer(name: str) -> int:
    """Return the number of a module's layer, from below: that of the longest name it is part of."""
    parts = name.split(".")[1:]
    names = [".".join(parts[:length]) for length in (2, 1, 0)]
    number = {each: i for i, row in enumerate(LAYERS) for each in row}
    return next(number[each] for each in names if each in number)


def test_the_page_names_every_module_once() -> None:
    """The table of docs/architecture.md has each module and package of dlsched, and no other."""
    named = [name for names in LAYERS for name in names]
    tops = {name.partition(".")[2].partition(".")[0] for name in MODULES}
    assert sorted(name for name in named if "." not in name) == sorted(tops)
    assert {f"dlsched.{name}" for name in named if "." in name} <= set(MODULES)


def test_the_root_has_six_modules_at_most() -> None:
    """A reader sees at the root only what the library consists of."""
    modules = {path.stem for path in (SRC / "dlsched").glob("*.py")}
    assert len(modules - {"__init__", "__main__"}) <= 6


SIMULATION = ["kernels", "workload", "log", "measures", "engine", "policies", "bounds", "audit"]
"""Folders of the simulator: none imports one that stands after it; what is left stands last."""


def test_the_simulator_has_layers() -> None:
    """Folders of the simulator import those below them alone."""

    def number(name: str) -> int:
        part = name.split(".")[2]
        return SIMULATION.index(part) if part in SIMULATION else len(SIMULATION)

    inside = [edge for edge in graph().edges
              if all(name.startswith("dlsched.simulation.") for name in edge)]  # fmt: skip
    assert [edge for edge in inside if number(edge[1]) > number(edge[0])] == []


def test_the_check_of_proofs_imports_no_search() -> None:
    """What has to be trusted when a proof is checked has nothing of what made the proof."""
    checks = ("dlsched.proofs.check", "dlsched.proofs.bounds")
    used = set().union(*(nx.descendants(graph(), check) for check in checks))
    parts = ("search", "relaxation", "separation", "leaves", "prove")
    search = {f"dlsched.proofs.{part}" for part in parts}
    assert search <= set(MODULES) and not used & search


@pytest.mark.parametrize("name", dlsched.list_problems())
def test_folders_of_a_problem_are_layers(name: str) -> None:
    """A problem's package has model.py and the seven folders, whose order conformance checks."""
    package = SRC / "dlsched" / "problems" / name
    folders = {path.parent.name for path in package.glob("*/*.py")}
    assert folders == set(layout.FOLDERS)
    assert {path.name for path in package.glob("*.py")} == {"__init__.py", "model.py"}


@pytest.mark.parametrize("part", DEFINITION)
@pytest.mark.parametrize("name", dlsched.list_problems())
def test_the_definition_stands_alone(name: str, part: str) -> None:
    """Schema, checker and brute force share no code with the methods that they test."""
    package = f"dlsched.problems.{name}"
    used = nx.descendants(graph(), f"{package}.definition.{part}")
    own = {module for module in used if module.startswith(f"{package}.")}
    assert not {module for module in own if module.split(".")[3] != "definition"}
    assert not any(module.startswith("dlsched.solvers") for module in used)


def test_the_auditor_stands_alone() -> None:
    """The auditor of simulations shares no code with what simulates, decides or summarizes."""
    used = nx.descendants(graph(), "dlsched.simulation.audit")
    shared = {"audit", "clock", "cluster", "job", "log", "profiles", "workload"}
    inside = {name.split(".")[2] for name in used if name.startswith("dlsched.simulation.")}
    assert inside <= shared


def test_lazy_imports_are_of_other_libraries() -> None:
    """Import statements inside functions are of third-party libraries only."""
    own = [
        (name, ast.unparse(node))
        for name in MODULES
        for node in found_imports(name)
        if hasattr(node, "lineno") and node not in tree(name).body and list(targets(node))
    ]
    assert own == []
