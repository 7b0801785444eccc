"""Sections of figures whose code has changed since they were measured.

python benchmarks/stale.py [page ...]
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator

from code_version import git
from figures import FOLDER

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
        paths = [f"src/dlsched/{part}" for part in used.split(", ")]
        changed = git("diff", "--name-only", commit, "--", f"benchmarks/{page}.py", *paths)
        if changed:
            first, *others = changed.split()
            yield section, f"{first} and {len(others)} other files since {commit}"


def main() -> None:
    """Print a line for each section that is stale."""
    for page in sys.argv[1:] or sorted(path.stem for path in FOLDER.glob("*.md")):
        for section, why in stale(page):
            print(f"{page}.md, {section}: {why}")


if __name__ == "__main__":
    main()
