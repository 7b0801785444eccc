"""Which code made rows: the commit, the modules that were used, and what these say."""

import ast
import hashlib
import subprocess
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "dlsched"
_USED = ("solvers", "proofs", "simulation", "records")
"""Folders of the package that count beside those of problems; the rest serves all methods."""
_FRAME = {"tables.py", "measure.py", "code_version.py", "stale.py"}
SWEPT: set[str] = set()
"""Files that the runs of a sweep used, in processes of their own."""


def commit_of_code() -> str:
    """Return the commit that is checked out, with ``+`` if source files differ from it."""
    commit = _git("rev-parse", "--short=8", "HEAD")
    return commit + "+" * bool(_git("status", "--porcelain", "src", "benchmarks/*.py"))


def tree_of_code() -> str:
    """Return what git calls the text of the package, which commits of rows do not change."""
    return _git("rev-parse", "--short=8", "HEAD:src")


def _git(*arguments: str) -> str:
    run = subprocess.run(
        ["git", *arguments], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False
    )
    return run.stdout.strip()


def imported() -> list[str]:
    """Return the files that this process used of problems, solvers and what runs them."""
    found = set()
    for module in list(sys.modules.values()):
        file = Path(getattr(module, "__file__", None) or "/")
        if file.suffix == ".so":  # of a kernel, whose text is beside it
            file = file.with_name(f"{file.name.partition('.')[0]}.py")
        if file.is_relative_to(PACKAGE):
            part, *below = file.relative_to(PACKAGE).parts
            if (part in _USED and below) or (part == "problems" and len(below) > 2):
                found.add(file)
        elif file.is_relative_to(ROOT / "benchmarks") and file.name not in _FRAME:
            found.add(file)
    return sorted(SWEPT | {str(file.relative_to(ROOT)) for file in found})


def modules_of(problems: Iterable[str | None]) -> list[str]:
    """Return the files of solvers and problems, and of simulations where a run has no problem."""
    places = {f"problems/{name}" if name else "simulation" for name in problems}
    found = [file for place in {*places, "solvers"} for file in (PACKAGE / place).rglob("*.py")]
    return sorted(str(file.relative_to(ROOT)) for file in found)


def digest(files: Iterable[str]) -> str:
    """Return a digest of what files say: without docstrings, comments, layout and imports."""
    whole = hashlib.sha256("".join(f"{file} {statements(file)}" for file in files).encode())
    return whole.hexdigest()[:16]


@cache
def statements(file: str) -> str:
    """Return a digest of what a file says, nothing if it is gone."""
    path = ROOT / file
    if not path.is_file():
        return ""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            node.body = [part for part in body if not _is_text(part)]  # type: ignore[attr-defined]
    return hashlib.sha256(ast.dump(tree).encode()).hexdigest()


def _is_text(node: ast.stmt) -> bool:
    """Return whether a statement is a docstring or an import."""
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Constant)
    return isinstance(node, ast.Import | ast.ImportFrom)
