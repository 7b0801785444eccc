"""Sections of figures whose code has changed since they were measured.

python benchmarks/stale.py [page ...]
"""

from __future__ import annotations

import ast
import hashlib
import re
import sys
from collections.abc import Iterator
from functools import cache

from code_version import git
from figures import FOLDER

_MOVED = {
    "bench": ["sweeps"],
    "gavel": ["problems/shares"],
    "profiling": ["problems/sensitivity/instances"],
    "traces": ["records/traces"],
}
"""Where the parts are today that older sections name."""
_SECTION = re.compile(r"^<!-- (\S+) -->$", re.MULTILINE)
_STAMP = re.compile(r"^Measured in .* with the code of commit (\w+)\+? \((.*)\)\.$", re.MULTILINE)


def stale(page: str) -> Iterator[tuple[str, str]]:
    """Yield the sections of a page whose code has changed, each with what is known of it.

    A section's code is its script and the parts of the package that it had imported.
    """
    text = (FOLDER / f"{page}.md").read_text(encoding="utf-8")
    _, *parts = _SECTION.split(text)
    for section, body in zip(parts[::2], parts[1::2], strict=True):
        stamp = _STAMP.search(body)
        if not stamp:
            yield section, "measured before pages named their commit"
            continue
        commit, used = stamp.groups()
        if not git("cat-file", "-t", commit):
            yield section, f"commit {commit} is not in this repository"
            continue
        paths = [
            path if path.startswith("benchmarks/") else f"src/dlsched/{path}"
            for part in used.split(", ")
            for path in (part, *_MOVED.get(part, ()))
        ]
        changed = changes(commit, f"benchmarks/{page}.py", *paths)
        if changed:
            yield section, f"{changed[0]} and {len(changed) - 1} other files since {commit}"


def changes(commit: str, *paths: str) -> list[str]:
    """Return the files under these paths that say something else than in a commit.

    A file that was moved, or whose docstrings, comments, layout or imports alone are others, says
    the same.
    """
    changed = []
    listed = git("diff", "--raw", "--no-abbrev", "-M", commit, "HEAD", "--", *paths)
    for line in listed.splitlines():
        what, old, *moved = line.split("\t")
        _, _, before, after, status = what.split()
        new = moved[0] if moved else old
        if status[0] in "AD" or statements(before, old) != statements(after, new):
            changed.append(new)
    return changed


@cache
def statements(blob: str, path: str) -> str:
    """Return a digest of what a file says: of its text, of Python without what does not run."""
    text = git("cat-file", "blob", blob)
    if path.endswith(".py"):
        tree = ast.parse(text)
        for node in ast.walk(tree):
            body = getattr(node, "body", None)
            if isinstance(body, list):
                node.body = [part for part in body if not _is_text(part)]  # type: ignore[attr-defined]
        text = ast.dump(tree)
    return hashlib.sha256(text.encode()).hexdigest()


def _is_text(node: ast.stmt) -> bool:
    """Return whether a statement is a docstring or an import."""
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Constant)
    return isinstance(node, ast.Import | ast.ImportFrom)


def main() -> None:
    """Print a line for each section that is stale."""
    for page in sys.argv[1:] or sorted(path.stem for path in FOLDER.glob("*.md")):
        for section, why in stale(page):
            print(f"{page}.md, {section}: {why}")


if __name__ == "__main__":
    main()
