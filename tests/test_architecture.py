"""What may import what: no circle, and the layers of docs/architecture.md."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import networkx as nx
import pytest

import dlsched

SRC = Path(__file__).parents[1] / "src" / "dlsched"
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
    """Return the dotted name of a source file within the package; that of the package is ""."""
    parts = path.relative_to(SRC).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in SRC.rglob("*.py")}

NAMING = ("registry.lookup", "names")
"""What imports the problem that its caller names, and what says where names are that are gone."""


@cache
def tree(name: str) -> ast.Module:
    """Return a module's syntax tree."""
    return ast.parse(MODULES[name].read_text(encoding="utf-8"))


@cache
def constants(name: str) -> dict[str, Any]:
    """Return what a module's names are that are given by a literal."""
    found: dict[str, Any] = {"__name__": f"dlsched.{name}".rstrip(".")}
    for node in tree(name).body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            with suppress(ValueError):
                found[node.targets[0].id] = ast.literal_eval(node.value)
    return found


def within(name: str) -> str | None:
    """Return a module's name within the package; ``None`` if it is of another one."""
    return name.partition(".")[2] if name.partition(".")[0] == "dlsched" else None


def targets(node: ast.Import | ast.ImportFrom) -> Iterator[str]:
    """Yield the modules of dlsched that a statement imports."""
    assert isinstance(node, ast.Import) or node.level == 0, "imports are absolute"
    for alias in node.names:
        home = "" if isinstance(node, ast.Import) else f"{node.module}"
        named = (within(f"{home}.{alias.name}".lstrip(".")), within(home))
        yield from [name for name in named if name in MODULES][:1]


def imports(name: str) -> Iterator[str]:
    """Yield what a module imports, also in functions, for type checkers alone, and by names.

    Names are those in a call of `import_module`, in a table of `dlsched.names.lazy`, in a text
    ``module:function``, and of modules two packages down. (Shorter ones are entry points, too.)
    """
    for node in ast.walk(tree(name)):
        match node:
            case ast.Import() | ast.ImportFrom():
                yield from targets(node)
            case _ if name in NAMING:
                continue
            case ast.Call(func=ast.Name("lazy"), args=[_, ast.Name(table)]):
                yield from (f"{name}.{module}".lstrip(".") for module in constants(name)[table])
            case ast.Call(func=function, args=[text]):
                if ast.unparse(function).endswith("import_module"):
                    yield from meant(text, name)
            case ast.Constant(value=str(text)):
                full, _, function = text.partition(":")
                module = within(full)
                if module in MODULES and (function.isidentifier() or module.count(".") > 0):
                    yield module


def meant(text: ast.expr, name: str) -> list[str]:
    """Return the modules that a text in a module may name; none if it begins with a variable."""
    parts = text.values if isinstance(text, ast.JoinedStr) else [text]
    values = [getattr(part, "value", None) for part in parts]
    stated = constants(name)
    known = [stated.get(ast.unparse(v)) if isinstance(v, ast.expr) else v for v in values]
    written = "".join(re.escape(k) if isinstance(k, str) else r"\w+" for k in known)
    texts = isinstance(known[0], str)
    return [m for m in MODULES if texts and re.fullmatch(written, f"dlsched.{m}")]


@cache
def graph() -> nx.DiGraph[str]:
    """Return the graph of imports between modules of dlsched."""
    edges = [(name, target) for name in MODULES for target in imports(name) if target != name]
    found: nx.DiGraph[str] = nx.DiGraph(edges)
    return found


def test_imports_go_down() -> None:
    """Imports go down the table of docs/architecture.md, in no circle, to no other problem."""
    circles = [sorted(part) for part in nx.strongly_connected_components(graph()) if len(part) > 1]
    assert circles == []
    assert [edge for edge in graph().edges if layer(edge[1]) > layer(edge[0])] == []
    owners = [[n.split(".")[1] for n in edge if n.split(".")[1:2] and n.split(".")[1] in PROBLEMS]
              for edge in graph().edges]  # fmt: skip
    assert [found for found in owners if len(set(found)) > 1] == []


def layer(name: str) -> int:
    """Return the number of a module's layer, from below: that of the longest name it is part of."""
    parts = name.split(".")
    names = [".".join(parts[:length]) for length in (2, 1, 0)]
    number = {each: i for i, row in enumerate(LAYERS) for each in row}
    return next(number[each] for each in names if each in number)


def test_the_page_names_every_module_once() -> None:
    """The table of docs/architecture.md has each module and package of dlsched, and no other."""
    named = [name for names in LAYERS for name in names]
    tops = {name.partition(".")[0] for name in MODULES}
    assert sorted(name for name in named if "." not in name) == sorted(tops)
    assert {name for name in named if "." in name} <= set(MODULES)


def test_the_root_has_six_modules_at_most() -> None:
    """A reader sees at the root only what the library consists of."""
    modules = {path.stem for path in SRC.glob("*.py")}
    assert len(modules - {"__init__", "__main__"}) <= 6


SIMULATION = ["kernels", "workload", "log", "measures", "engine", "policies", "bounds", "audit"]
"""Folders of the simulator: none imports one that stands after it; what is left stands last."""


def test_the_simulator_has_layers() -> None:
    """Folders of the simulator import those below them alone."""

    def number(name: str) -> int:
        part = name.split(".")[1]
        return SIMULATION.index(part) if part in SIMULATION else len(SIMULATION)

    inside = [edge for edge in graph().edges
              if all(name.startswith("simulation.") for name in edge)]  # fmt: skip
    assert [edge for edge in inside if number(edge[1]) > number(edge[0])] == []


def test_the_check_of_proofs_imports_no_search() -> None:
    """What has to be trusted when a proof is checked has nothing of what made the proof."""
    checks = ("proofs.check", "proofs.bounds")
    used = set().union(*(nx.descendants(graph(), check) for check in checks))
    parts = ("search", "relaxation", "sum_search", "leaves", "prove")
    search = {f"proofs.{part}" for part in parts}
    assert search <= set(MODULES) and not used & search


@pytest.mark.parametrize("part", DEFINITION)
@pytest.mark.parametrize("name", dlsched.list_problems())
def test_the_definition_stands_alone(name: str, part: str) -> None:
    """Schema, checker and brute force share no code with the methods that they test."""
    package = f"problems.{name}"
    used = nx.descendants(graph(), f"{package}.definition.{part}")
    own = {module for module in used if module.startswith(f"{package}.")}
    assert not {module for module in own if module.split(".")[2] != "definition"}
    assert not any(module.startswith("solvers") for module in used)


def test_the_auditor_stands_alone() -> None:
    """The auditor of simulations shares no code with what simulates, decides or summarizes."""
    used = nx.descendants(graph(), "simulation.audit")
    shared = {"audit", "clock", "cluster", "job", "log", "profiles", "workload"}
    inside = {name.split(".")[1] for name in used if name.startswith("simulation.")}
    assert inside <= shared


def test_lazy_imports_are_of_other_libraries() -> None:
    """Import statements inside functions are of third-party libraries only."""
    own = [
        (name, ast.unparse(node))
        for name in MODULES
        for function in ast.walk(tree(name))
        if isinstance(function, ast.FunctionDef)
        for node in ast.walk(function)
        if isinstance(node, ast.Import | ast.ImportFrom) and list(targets(node))
    ]
    assert own == []
