"""Where the modules of a problem's package are: eight folders, or all in the package itself."""

import ast
import importlib.util
import pkgutil
import sys
from collections.abc import Iterator
from pathlib import Path

from dlsched.errors import OptionError

FOLDERS = {
    "definition": "what the problem is: schema, check by the definition, brute force",
    "kernels": "the loops that are built with the package",
    "structures": "the instance as arrays, and the partial solutions that methods update",
    "instances": "where instances come from: generators, drawn ones for tests, states, files",
    "programs": "linear and integer programs beside the model; forms of proofs",
    "heuristics": "the paper's heuristic, baselines, and those of this library",
    "exact": "exact methods, bounds, and which forms a proof tries",
    "variant": "hooks of variants: `allow` and what follows from it, the whole model",
}
"""From top to bottom each folder imports only those above it; ``model`` stands with programs.

The module ``draw``, what the common frame of pictures draws, is in the package itself.
"""
MODEL = "model"

_FOLDER_OF = {
    **dict.fromkeys(("schema", "check", "oracle"), "definition"),
    **dict.fromkeys(("generate", "library", "strategy", "state"), "instances"),
    **dict.fromkeys(("bounds", "form_choices"), "exact"),
    **dict.fromkeys(("allow", "allowed", "whole_model"), "variant"),
    "forms": "programs",
}
"""The folder of each module that dlsched looks for by name."""
_METHODS = ("exact", "heuristics", "bounds")


def module_name(package: str, name: str) -> str | None:
    """Return the full name of a package's module of this name, or ``None`` if it has none."""
    return next(iter(places(package, name)), None)


def places(package: str, name: str) -> list[str]:
    """Return a package's modules of this name, in it or in folders: one, if it is as it should."""
    possible = [f"{package}.{name}"]
    spec = name in _FOLDER_OF and importlib.util.find_spec(f"{package}.{_FOLDER_OF[name]}")
    if spec and spec.submodule_search_locations:  # it is no module of that name, as exact.py
        possible.append(expected(package, name))
    return [place for place in possible if importlib.util.find_spec(place)]


def expected(package: str, name: str) -> str:
    """Return the full name that a package's module of this name has in the folders."""
    return ".".join(filter(None, [package, _FOLDER_OF.get(name), name]))


def method_modules(package: str) -> Iterator[str]:
    """Yield the modules that register a package's methods.

    They are the folders ``exact`` and ``heuristics`` with all modules in them; where a package has
    no folders, its modules ``exact``, ``heuristics`` and ``bounds``.
    """
    for name in _METHODS:
        home = f"{package}.{name}"
        spec = importlib.util.find_spec(home)
        if spec is None:
            continue
        yield home
        for module in pkgutil.iter_modules(spec.submodule_search_locations or ()):
            yield f"{home}.{module.name}"


def unloaded_methods(package: str) -> list[str]:
    """Return the files of a package with methods that nothing imports, so that nobody finds them.

    Call it when the package's methods are loaded.

    `OptionError` is raised if there is no such package.
    """
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise OptionError(f"there is no package {package}")
    root = Path(next(iter(spec.submodule_search_locations)))
    found = []
    for file in sorted(root.rglob("*.py")):
        parts = file.relative_to(root).with_suffix("").parts
        module = ".".join([package, *parts]).removesuffix(".__init__")
        if module not in sys.modules and _registers(ast.parse(file.read_text(encoding="utf-8"))):
            found.append(str(file.relative_to(root)))
    return found


def _registers(tree: ast.Module) -> bool:
    """Whether a module has functions with the decorator ``method``."""
    functions = (node for node in tree.body if isinstance(node, ast.FunctionDef))
    calls = (d.func for f in functions for d in f.decorator_list if isinstance(d, ast.Call))
    return any("method" in (getattr(c, "id", ""), getattr(c, "attr", "")) for c in calls)
