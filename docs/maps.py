"""Writes from the code where things are: maps of packages and folders, and the way of `solve`.

    python docs/maps.py

The maps of the problems' folders stand on docs/problems/<problem>.md, those of other packages on
the pages in `PACKAGES`, that of all and the way on docs/architecture.md, each between two marks. A
test compares the pages with what this writes today.
"""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import networkx as nx

from dlsched.registry import layout, problem_names

DOCS = Path(__file__).resolve().parent
SRC = DOCS.parent / "src"
sys.path.insert(1, str(DOCS.parent / "tests"))
from import_graph import CORE, MODULES, packages  # noqa: E402

MARKS = "<!-- Written by docs/maps.py. -->", "<!-- End of what docs/maps.py writes. -->"
NAMED = [f"definition/{name}" for name in ("schema", "check", "oracle")]
NAMED += ["model", "instances/generate", "heuristics/__init__", "exact/__init__", "exact/bounds"]
"""Files that every problem has; the map also has those that say where in a paper they come from."""
PACKAGES = {"simulation.md": "simulation", "histories.md": "records"}
"""By page the package of which it has a map."""
_SECTION = re.compile(
    r"\b(?i:sections?|algorithms?|eqs?\.|equations?|tables?|figures?|theorems?|solutions?) "
    r"\(?(?:\d[\d.]*(?:\([a-z]\))?|[IVX]+(?:-[A-Z])?)\b\)?"
    r"(?:(?:, | and | to )\(?(?:\d[\d.]*|[IVX]+(?:-[A-Z])?)\b\)?)*"
)
_WAY = """
import json, sys
import dlsched

parts = {parts!r}
dlsched.solve("lyra-fig5", "exact")  # what is kept for later calls is there for the second one
way, depth = [], [0]

def profile(frame, event, _arg):
    name = frame.f_globals.get("__name__", "")
    function = frame.f_code.co_name
    if not name.startswith("dlsched.") or not name[8:].startswith(parts) or function[0] in "_<":
        return
    if event == "call":
        depth[0] += 1
        if depth[0] <= 4:
            way.append((depth[0], name[8:], function))
    elif event == "return":
        depth[0] -= 1

sys.setprofile(profile)
dlsched.solve("lyra-fig5", "exact")
sys.setprofile(None)
print(json.dumps(way))
"""
_PARTS = ("api.", "registry.calls", "registry.lookup", "solvers.levels", "solvers.certificate",
          "problems.reclaiming.exact", "problems.reclaiming.definition.check")  # fmt: skip


def sentence(path: Path) -> str:
    """Return the first sentence of a module's docstring."""
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return " ".join(text.split("\n\n")[0].split()).replace("|", "\\|").replace("``", "`")


def places(path: Path) -> list[str]:
    """Return where in papers the docstrings of a module say that it comes from, each once."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef)
    texts = [ast.get_docstring(node) or "" for node in ast.walk(tree)
             if isinstance(node, documented)]  # fmt: skip
    found = (
        re.sub(r"[()]", "", match.group()) for text in texts for match in _SECTION.finditer(text)
    )
    words = (place[0].lower() + place[1:] for place in (" ".join(each.split()) for each in found))
    return list(dict.fromkeys(words))


def folder_map(name: str) -> Iterator[str]:
    """Yield the lines of a problem's map."""
    package = SRC / "dlsched" / "problems" / name
    rest: dict[str, list[str]] = {folder: [] for folder in layout.FOLDERS}
    yield (
        f"In `src/dlsched/problems/{name}/`, from the definition to what is built on it; `PROBLEM` "
        "in `__init__.py` has the levels, which method `exact` is, and what that begins from:"
    )
    yield ""
    yield "| file | what it has | in the papers |"
    yield "|---|---|---|"
    for folder in ("definition", "model", *list(layout.FOLDERS)[1:]):
        paths = sorted(package.glob("model.py" if folder == "model" else f"{folder}/*.py"))
        for path in paths:
            file = path.relative_to(package).with_suffix("").as_posix()
            where = places(path)
            if file in NAMED or (where and path.stem != "__init__"):
                yield f"| `{file}.py` | {sentence(path)} | {', '.join(where[:3])} |"
            elif path.stem != "__init__":
                rest[folder].append(path.stem)
    yield ""
    listed = [f"{folder}: {', '.join(f'`{stem}`' for stem in stems)}"
              for folder, stems in rest.items() if stems]  # fmt: skip
    yield f"The other files, by folder: {'; '.join(listed)}."


def package_map(name: str) -> Iterator[str]:
    """Yield the lines of a package's map: its folders with the files in them, then its files."""
    package = SRC / "dlsched" / name
    yield f"In `src/dlsched/{name}/`:"
    yield ""
    yield "| file or folder | what it has |"
    yield "|---|---|"
    for folder in sorted(path.parent for path in package.glob("*/__init__.py")):
        inside = sorted(path.stem for path in folder.glob("*.py") if path.stem != "__init__")
        inside += sorted(f"{path.parent.name}/" for path in folder.glob("*/__init__.py"))
        files = ", ".join(f"`{stem}`" for stem in inside)
        yield f"| `{folder.name}/` | {sentence(folder / '__init__.py')} Files: {files} |"
    for path in sorted(package.glob("*.py")):
        if path.stem != "__init__":
            yield f"| `{path.name}` | {sentence(path)} |"


def map_of_all(part: set[str]) -> Iterator[str]:
    """Yield a table of packages and modules of the root, each after those that it imports."""
    below = nx.transitive_reduction(packages())
    yield "| package | what it has | stands on |"
    yield "|---|---|---|"
    for name in nx.lexicographical_topological_sort(packages().subgraph(part).reverse()):
        said = sentence(MODULES[name])
        under = ", ".join(f"`{other}`" for other in sorted(below.successors(name)))
        yield f"| `{name or 'dlsched'}` | {said} | {under} |"


def way_of_solve() -> Iterator[str]:
    """Yield the calls that `solve` makes for the shipped instance of Figure 5, as a list."""
    code = _WAY.format(parts=_PARTS)
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    yield 'What `dlsched.solve("lyra-fig5", "exact")` calls in turn, of the parts named above:'
    yield ""
    seen = set()
    for depth, module, function in json.loads(run.stdout):
        if (depth, module, function) not in seen:
            seen.add((depth, module, function))
            yield f"{'    ' * (depth - 1)}- `{module}.{function}`"


def written(page: str, *parts: Iterator[str]) -> str:
    """Return a page with the lines of each part between two marks, in their order."""
    left = iter(parts)
    pattern = "({}).*?({})".format(*map(re.escape, MARKS))
    page, marked = re.subn(
        pattern, lambda m: "\n".join([m[1], *next(left), m[2]]), page, flags=re.DOTALL
    )
    if marked != len(parts):
        raise ValueError(f"the page has {marked} pairs of marks, not {len(parts)}: {MARKS}")
    return page


def pages() -> dict[Path, str]:
    """Return each page that has something of this script, as it writes it today."""
    made = {DOCS / "problems" / f"{n}.md": [folder_map(n)] for n in problem_names()}
    made |= {DOCS / page: [package_map(package)] for page, package in PACKAGES.items()}
    rest = set(packages()) - CORE
    made[DOCS / "architecture.md"] = [map_of_all(CORE), map_of_all(rest), way_of_solve()]
    return {path: written(path.read_text(encoding="utf-8"), *parts) for path, parts in made.items()}


if __name__ == "__main__":
    for path, text in pages().items():
        path.write_text(text, encoding="utf-8")
