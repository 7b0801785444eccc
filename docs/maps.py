"""Writes from the code where things are: maps of packages and of the problems' folders.

    python docs/maps.py

The maps of the problems' folders stand on docs/problems/<problem>.md, that of all on
docs/architecture.md, each between two marks. A test compares the pages with what this writes.
"""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import networkx as nx
from charts import between

from dlsched.registry import layout, problem_names

DOCS = Path(__file__).resolve().parent
SRC = DOCS.parent / "src"
sys.path.insert(1, str(DOCS.parent / "tests"))
from import_graph import CORE, MODULES, packages  # noqa: E402


def sentence(path: Path) -> str:
    """Return the first sentence of a module's docstring."""
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return " ".join(text.split("\n\n")[0].split()).replace("|", "\\|").replace("``", "`")


def folder_map(name: str) -> Iterator[str]:
    """Yield the lines of a problem's map: the files that every problem has, then the others."""
    package = SRC / "dlsched" / "problems" / name
    yield f"In `src/dlsched/problems/{name}/`; `PROBLEM` in `__init__.py` has levels and defaults:"
    yield ""
    yield "| file | what it has |"
    yield "|---|---|"
    places = ["definition/*", "model", *(f"{folder}/*" for folder in [*layout.FOLDERS][1:]), "draw"]
    for place in places:
        for path in sorted(package.glob(f"{place}.py")):
            if path.stem != "__init__":
                yield f"| `{path.relative_to(package)}` | {sentence(path)} |"


def map_of_all(part: set[str]) -> Iterator[str]:
    """Yield a table of packages and modules of the root, each after those that it imports."""
    below = nx.transitive_reduction(packages())
    yield "| package | what it has | stands on |"
    yield "|---|---|---|"
    for name in nx.lexicographical_topological_sort(packages().subgraph(part).reverse()):
        said = sentence(MODULES[name])
        under = ", ".join(f"`{other}`" for other in sorted(below.successors(name)))
        yield f"| `{name or 'dlsched'}` | {said} | {under} |"


def pages() -> dict[Path, str]:
    """Return each page that has something of this script, as it writes it today."""
    made = {DOCS / "problems" / f"{n}.md": [folder_map(n)] for n in problem_names()}
    rest = set(packages()) - CORE
    made[DOCS / "architecture.md"] = [map_of_all(CORE), map_of_all(rest)]
    return {
        path: between(path.read_text(encoding="utf-8"), "maps.py", *map("\n".join, parts))
        for path, parts in made.items()
    }


if __name__ == "__main__":
    for path, text in pages().items():
        path.write_text(text, encoding="utf-8")
