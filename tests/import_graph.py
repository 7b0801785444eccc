"""Which module of dlsched imports which, read from the source, and how packages stand on others."""

import ast
import re
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import networkx as nx

SRC = Path(__file__).parents[1] / "src" / "dlsched"
CORE = {"api", "display", "errors", "execution", "extras", "library", "names", "problems", "proofs"}
CORE |= {"registry", "results", "run", "schema", "solvers", "text", "variants"}
"""What solves, verifies and proves, with all that this stands on.

``variants`` is here because proofs and api import it, ``display`` because problems draw with it and
`compare` returns its table.
"""


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
def graph() -> "nx.DiGraph[str]":
    """Return the graph of imports between modules of dlsched."""
    edges = [(name, target) for name in MODULES for target in imports(name) if target != name]
    found: nx.DiGraph[str] = nx.DiGraph(edges)
    return found


def package_of(module: str) -> str:
    """Return the package of a module, or the module itself if it is one of the root."""
    return module.partition(".")[0]


@cache
def packages() -> "nx.DiGraph[str]":
    """Return the graph of imports between packages, and modules of the root."""
    edges = [(package_of(a), package_of(b)) for a, b in graph().edges]
    found: nx.DiGraph[str] = nx.DiGraph([(a, b) for a, b in edges if a != b])
    return found
