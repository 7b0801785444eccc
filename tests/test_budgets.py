"""How large each part of the repository may be, so that what is added takes the place of something.

A number is raised in the commit that says what for, and what went in exchange.
"""

import re
import subprocess
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[1]
CODE = {".py", ".pyx", ".pxd", ".c", ".h", ".cpp", ".hpp", ".rs"}
"""Endings of files that are counted under src/dlsched; kernels may be in any language."""


class Budget(NamedTuple):
    """A part of the repository, and how large it may be.

    Attributes
    ----------
    folders
        Folders under src/dlsched that belong to it, those to come first. Whoever renames a folder
        changes its name here.
    most
        What it may be in the end.
    today
        What it may be until then; ``None`` from when `most` has been reached.
    """

    name: str
    folders: tuple[str, ...]
    most: int
    today: int | None = None


REST = "root and what else is there"
FOLDERS = [
    Budget("reclaiming", ("problems/reclaiming",), 2350),
    Budget("elastic", ("problems/elastic",), 3150),
    Budget("workers", ("problems/workers",), 2500),
    Budget("interleaving", ("problems/interleaving",), 6300),
    Budget("utility", ("problems/utility",), 6200),
    Budget("placement", ("problems/placement",), 6600),
    Budget("sensitivity", ("problems/sensitivity",), 6000, 6082),
    Budget("dispatch", ("problems/dispatch",), 5600),
    Budget("shares", ("problems/shares",), 1400, 1584),
    Budget("configurations", ("problems/configurations",), 1200),
    Budget("simulation", ("simulation",), 13200, 16999),
    Budget("sweeps and execution", ("sweeps", "execution"), 3900, 4660),
    Budget("records", ("records",), 5200, 5718),
    Budget("studies", ("studies",), 1150),
    Budget("cli", ("cli",), 3100, 3132),
    Budget("variants", ("variants",), 2600, 2857),
    Budget("proofs", ("proofs",), 3100),
    Budget("api and testing", ("api", "testing"), 4700),
    Budget(
        "solvers to display",
        ("solvers", "registry", "schema", "results", "display", "text"),
        11600,
        12243,
    ),
    Budget(REST, (), 750, 855),
]
"""Lines of code files under src/dlsched. What is in none of the folders is in the last row."""
WHOLE = [
    Budget("lines of src", (), 90600, 96122),
    Budget("files of src", (), 640),
    Budget("lines of tests", (), 30000, 32758),
    Budget("lines of tests/internal", (), 6000),
    Budget("lines of benchmarks", (), 5000),
    Budget("lines of benchmarks/published and claims_only", (), 6000),
    Budget("lines of scripts in docs", (), 700, 845),
    Budget("words of prose", (), 35000),
    Budget("words of CHANGELOG.md", (), 800),
    Budget("words of docs/add-a-problem.md", (), 1200),
]
APART = re.compile(r"benchmarks/(published|claims_only)/")
"""What serves one claim each, and is not installed."""
WRITTEN = (
    "docs/calibration.md",
    "docs/claims.md",
    "docs/fields/",
    "docs/instances.md",
    "docs/schema/",
)
"""Pages that programs write."""


@cache
def tracked() -> list[str]:
    """Return the files that git knows, and that are there."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("this is no checkout")
    return [file for file in listed.stdout.splitlines() if (ROOT / file).is_file()]


def lines(files: Iterable[str]) -> int:
    """Return the lines of files."""
    return sum((ROOT / file).read_bytes().count(b"\n") for file in files)


def code() -> list[str]:
    """Return the code files under src/dlsched, named from there."""
    inside = "src/dlsched/"
    return [
        f.removeprefix(inside) for f in tracked() if f.startswith(inside) and Path(f).suffix in CODE
    ]


def scripts(folder: str) -> list[str]:
    """Return the Python files of a folder."""
    return [f for f in tracked() if f.startswith(folder) and f.endswith(".py")]


def words(file: str) -> int:
    """Return the words of a page outside tables, blocks of code and what programs write."""
    text = (ROOT / file).read_text(encoding="utf-8")
    text = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    text = re.sub(r"<!-- Written by.*?<!-- End of.*?-->", "", text, flags=re.DOTALL)
    return sum(len(line.split()) for line in text.splitlines() if not line.lstrip().startswith("|"))


def prose() -> list[str]:
    """Return the pages that are written by hand."""
    pages = [f for f in tracked() if f.startswith(("docs/", "models/")) and f.endswith(".md")]
    return ["README.md", *(page for page in pages if not page.startswith(WRITTEN))]


@cache
def measured() -> dict[str, int]:
    """Return how large each part is."""
    home = {folder: row.name for row in FOLDERS for folder in row.folders}
    sizes = dict.fromkeys((row.name for row in FOLDERS), 0)
    for file in code():
        parts = file.split("/")
        owners = (home.get("/".join(parts[:depth])) for depth in (1, 2))
        sizes[next(filter(None, owners), REST)] += lines([f"src/dlsched/{file}"])
    benchmarks = scripts("benchmarks/")
    apart = [f for f in benchmarks if APART.match(f)]
    whole = (
        sum(sizes.values()),
        len(code()),
        lines(scripts("tests/")),
        lines(scripts("tests/internal/")),
        lines(set(benchmarks) - set(apart)),
        lines(apart),
        lines(scripts("docs/")),
        sum(map(words, prose())),
        len((ROOT / "CHANGELOG.md").read_text(encoding="utf-8").split()),
        words("docs/add-a-problem.md"),
    )
    return sizes | {row.name: size for row, size in zip(WHOLE, whole, strict=True)}


@pytest.mark.parametrize("row", [*FOLDERS, *WHOLE], ids=lambda row: row.name)
def test_nothing_outgrows_its_budget(row: Budget) -> None:
    """A part is no larger than its budget, or until that is reached than it was."""
    size = measured()[row.name]
    assert size <= max(row.most, row.today or 0)
    reached = f"{row.name} is down to {size:,}, at most {row.most:,}: remove the larger number"
    assert row.today is None or size > row.most, reached
