"""Pages: their Python runs, formulas are right, what programs write of them is of today."""

import importlib
import importlib.util
import inspect
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from matplotlib import rcParams

import dlsched
from calls import data, python
from dlsched import registry
from dlsched.registry import problem
from plotted import drawing

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
LONG = {"change-the-problem.md", "cluster.md", "gallery.md", "own-cluster.md", "thousand.md"}
"""Pages whose blocks take many seconds, or several in calls that other tests make."""
NEEDS = re.compile(r"<!-- not run: needs (\w+) -->")
"""What a block left out imports; it runs where that is installed, but not on the site."""
BLOCK = re.compile(r"(<!-- not run: [^>]*? -->\s*)?^```python\n(.*?)^```", re.M | re.S)
FEWER = {
    "SEEDS = 125\n": "SEEDS = 5\n",
    "examples=100)": "examples=20)",
    "examples=50)": "examples=10)",
    'check_heuristic("reclaiming", by_name)': 'check_heuristic("reclaiming", by_name, examples=20)',
    '"elastic", "fifo", 200,': '"elastic", "fifo", 40,',
    "max_examples=20,": "max_examples=5,",
    "hadar_workload(20, scale=0.1)": "hadar_workload(5, scale=0.1)",
    '"synergy", split="60/30/10", limit=8)': '"synergy", split="60/30/10", limit=3)',
    "iterations=500": "iterations=50",
}
"""What a page does at full length, and a test with less."""


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(
            page,
            id=str(page.relative_to(ROOT)),
            marks=pytest.mark.slow if page.name in LONG or page.parent.name == "problems" else (),
        )
        for page in PAGES
    ],
)
def test_page(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page's blocks run from top to bottom in one namespace, at the project's root."""
    monkeypatch.chdir(ROOT)
    monkeypatch.setitem(rcParams, "figure.max_open_warning", 0)  # a notebook closes its figures
    text = page.read_text(encoding="utf-8")
    blocks = [code for why, code in BLOCK.findall(text) if not why or is_there(why)]
    assert len(BLOCK.findall(text)) == len(re.findall(r"^```python", text, re.M))
    for found, shorter in FEWER.items():
        blocks = [code.replace(found, shorter) for code in blocks]
    if "dlsched.method(" in text:  # what a page registers is gone after it
        python("\n".join(blocks), cwd=ROOT)
        return
    names: dict[str, object] = {"__name__": f"docs.{page.stem}"}
    for code in blocks:
        exec(compile(code, str(page), "exec", dont_inherit=True), names)


def is_there(why: str) -> bool:
    """Whether what a block needs is a package that is installed."""
    needed = NEEDS.match(why)
    return needed is not None and importlib.util.find_spec(needed[1]) is not None


@pytest.mark.parametrize("name", registry.BUILT_IN)
def test_a_problem_s_page_names_its_methods(name: str) -> None:
    """Each in the words that `dlsched.solve` takes."""
    text = (ROOT / "docs" / "problems" / f"{name}.md").read_text(encoding="utf-8")
    assert [m for m in dlsched.list_methods(name).method if f"`{m}`" not in text] == []


PACKAGES = {"execution", "records", "simulation", "sweeps", "testing"}


def api_pages() -> str:
    """Return the pages of the library's names, one after another."""
    pages = [ROOT / "docs" / "api.md", *sorted((ROOT / "docs" / "api").glob("*.md"))]
    return "\n".join(page.read_text(encoding="utf-8") for page in pages)


def test_api_page_is_complete() -> None:
    """The reference has what `dlsched` exports, each name once, and links each problem's fields."""
    text = api_pages()
    listed = re.findall(r"^::: dlsched\.([a-zA-Z]\w*)$", text, re.M)
    assert listed[:4] == ["load", "solve", "verify", "compare"]
    assert sorted(set(listed) - PACKAGES) == sorted(dlsched.__all__)
    linked = re.findall(r"\[(\w+)\]\(api/\1\.md\)", text)
    assert {*linked} >= set(registry.BUILT_IN)


@pytest.mark.parametrize("name", sorted(PACKAGES))
def test_api_page_has_the_packages_below(name: str) -> None:
    """All that a public package exports, but for its modules."""
    text = api_pages()
    package = importlib.import_module(f"dlsched.{name}")
    exported = {n for n in package.__all__ if not inspect.ismodule(getattr(package, n))}
    described = re.search(rf"^::: dlsched\.{name}\n((?:    .*\n)*)", text, re.M)
    options = described[1] if described else ""
    listed = set(re.findall(r"^::: [\w.]+\.(\w+)$", text, re.M))
    listed |= set(re.findall(r"\w+", options.partition("members:")[2]))
    if described and "members:" not in options:
        listed |= exported
    assert exported - listed == set()


def test_cite_is_complete() -> None:
    """The page and CITATION.cff name the same five papers, and the page today's version."""
    page = (ROOT / "docs" / "cite.md").read_text()
    text = (ROOT / "CITATION.cff").read_text()
    titles = re.findall(r'^    title: "(.*)"$', text, re.M)
    assert titles == re.findall(r"^  title     = {{(.*)}},$", page, re.M) and len(titles) == 5
    assert f"version = {{{dlsched.__version__}}}" in page
    linked = {name for name in registry.BUILT_IN if f"(problems/{name}.md)" in page}
    assert linked == set(registry.BUILT_IN)


def test_tables_on_pages_are_complete() -> None:
    """Tables have what pictures can be coloured by, and what `dlsched.schema` exports."""
    text = (ROOT / "docs" / "tutorials" / "pictures.md").read_text()
    rows = re.findall(r"^\| (\w+) \|.*\| ([^|]*) \|$", text, re.M)
    stated = {name: set(re.findall(r"`(\w+)`", last)) for name, last in rows}
    for name in registry.BUILT_IN:
        draw = drawing(name)
        assert stated[name] == {*draw.COLOR_BY, *getattr(draw, "COLOR_BY_OF_MANY", ())}, name
    text = (ROOT / "docs" / "add-a-problem.md").read_text()
    table = text[text.index("`dlsched.schema` has") : text.index("## 3. Check")]
    cells = re.findall(r"^\| (`.*?) \|", table, re.M)
    assert sorted(re.findall(r"`(\w+)`", " ".join(cells))) == sorted(dlsched.schema.__all__)


def test_written_pages_are_of_today(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages of instances, methods and findings are what programs write."""
    monkeypatch.syspath_prepend(ROOT / "instances")
    written = importlib.import_module("page").text()
    assert (ROOT / "docs" / "instances.md").read_text() == written
    monkeypatch.syspath_prepend(ROOT / "docs")
    methods = importlib.import_module("which_method")
    text = methods.PAGE.read_text()
    assert text == methods.page(text), "run: python docs/which_method.py"
    for path, text in importlib.import_module("findings").pages().items():
        assert path.read_text(encoding="utf-8") == text, "run: python docs/findings.py"


@pytest.mark.parametrize("name", registry.problem_names())
def test_every_field_has_a_meaning(name: str) -> None:
    """A schema describes each field."""
    for kind in (problem(name).instance, problem(name).solution):
        schema = kind.model_json_schema()
        parts = [schema, *schema.get("$defs", {}).values()]
        own = {field for base in kind.__mro__[1:] for field in getattr(base, "model_fields", {})}
        fields = [(f, e) for part in parts for f, e in part.get("properties", {}).items()]
        assert [f for f, entry in fields if "description" not in entry and f not in own] == []


UNCHARTED = {"shares", "configurations"}
"""Problems without a chart of gaps."""


@pytest.mark.slow
def test_site_builds_without_warnings(tmp_path: Path) -> None:
    """The site builds strictly, loads nothing from elsewhere, and has its pictures and figures."""
    pytest.importorskip("mkdocs", reason="the site's builder is an optional extra")
    build = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "-d", str(tmp_path)]
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    ran = subprocess.run(
        build, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")
    pages = {str(page.relative_to(tmp_path)) for page in tmp_path.rglob("*.html")}
    for name in registry.problem_names():
        assert {f"{folder}/{name}.html" for folder in ("problems", "models", "figures")} <= pages
        shown = (tmp_path / "problems" / f"{name}.html").read_text()
        assert f"pictures/{name}.svg" in shown
        described = (tmp_path / "api" / f"{name}.html").read_text()
        package = importlib.import_module(f"dlsched.problems.{name}")
        assert not [
            n
            for n in getattr(package, "__all__", ())
            if n != "PROBLEM" and f">{n}<" not in described
        ]
        assert (f"pictures/figures-{name}.svg" in shown) == (name not in UNCHARTED)
    gallery = (tmp_path / "gallery.html").read_text()
    assert gallery.count("pictures/gallery-") >= 20
    for name in ("peers", "lyra_simulation", "worst_cases"):
        shown = (tmp_path / "figures" / f"{name}.html").read_text()
        assert f"pictures/figures-{name}.svg" in shown
    assert not list(tmp_path.rglob("__pycache__"))
    loaded = re.compile(r'<(?:script|img|link)[^>]*(?:src|href)="(https?://[^"]*)"')
    for page in pages:
        assert not loaded.findall((tmp_path / page).read_text()), page


FIELDS = """
import dlsched
print(dlsched.load('lyra-fig5').servers[0].gpus)
result = dlsched.solve('lyra-fig5')
print(result.solution.returned, result.objective.preempted, result.bound.preempted)
print(result.objectiv)
"""


def test_snippets_type_check(tmp_path: Path) -> None:
    """The README's blocks have no type errors, and fields of any problem need no cast; the one
    error in both is a misspelt field of the result."""
    blocks = re.findall(r"^```python\n(.*?)^```", (ROOT / "README.md").read_text(), re.M | re.S)
    (tmp_path / "readme.py").write_text("\n".join(blocks))
    (tmp_path / "fields.py").write_text(FIELDS)
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file", "pyproject.toml"]
    command += [str(tmp_path / "readme.py"), str(tmp_path / "fields.py")]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    errors = [line for line in ran.stdout.splitlines() if "error:" in line]
    assert blocks and len(errors) == 1 and "fields.py:6: error:" in errors[0], ran.stdout
    assert 'no attribute "objectiv"' in errors[0]


FOLDER = ROOT / "docs" / "schema"
REMEDY = "run: dlsched export --schemas docs/schema"


def test_schemas_are_current(tmp_path: Path) -> None:
    """The files in docs/schema equal what the code writes today, the same each time."""
    for folder in (tmp_path / "one", tmp_path / "two"):
        folder.mkdir()
        files = [Path(file) for file in data("export", "--schemas", folder)["files"]]
        written = {file.name: file.read_text() for file in files}
        assert written == {path.name: path.read_text() for path in FOLDER.glob("*.json")}, REMEDY


def objects(schema: Any) -> list[dict[str, Any]]:
    """Return every object that a schema describes."""
    if isinstance(schema, list):
        return [found for part in schema for found in objects(part)]
    if not isinstance(schema, dict):
        return []
    own = [schema] if "properties" in schema else []
    return own + [found for part in schema.values() for found in objects(part)]


@pytest.mark.parametrize("name", dlsched.list_problems())
@pytest.mark.parametrize("kind", ["instance", "solution"])
def test_schema_is_as_strict_as_the_code(name: str, kind: str) -> None:
    """A schema refuses unknown fields everywhere and demands the envelope and required fields."""
    schema = json.loads((FOLDER / f"{name}.{kind}.schema.json").read_text())
    assert all(part["additionalProperties"] is False for part in objects(schema))
    model = getattr(problem(name), kind)
    required = {k for k, field in model.model_fields.items() if field.is_required()}
    envelope = {"dlsched", "problem", *(["instance"] if kind == "solution" else [])}
    assert set(schema["required"]) == envelope | required
    assert list(schema["properties"]["problem"].values()).count(name) >= 1
    assert set(schema["properties"]) == set(model.model_fields)


FORMULAS = [*sorted((ROOT / "models").glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
CODE = re.compile(r"^```.*?^```$|`[^`\n]*`", re.M | re.S)
DISPLAY = re.compile(r"^\$\$\n(.*?)\n\$\$$", re.M | re.S)
INLINE = re.compile(r"(?<![\\$])\$(?!\s)([^$\n]+?)(?<!\s)\$(?!\d)")


def formulas(page: Path) -> list[tuple[bool, str]]:
    """Return a page's formulas, each with whether it is displayed."""
    text = CODE.sub("", page.read_text(encoding="utf-8"))
    displays = [(True, formula) for formula in DISPLAY.findall(text)]
    return displays + [(False, formula) for formula in INLINE.findall(DISPLAY.sub("", text))]


@pytest.mark.parametrize("name", registry.problem_names())
def test_displayed_model_names_the_components(name: str) -> None:
    """The displayed model names every objective and constraint, and no name is of no component.

    Components of one kind with a number at the end are displayed once, with p for the number.
    """
    import pyomo.environ as pyo

    text = (ROOT / "models" / f"{name}.md").read_text(encoding="utf-8")
    model = dlsched.model(registry.problem(name).module("generate").examples()[0])
    shown = {found.replace("\\_", "_") for found in re.findall(r"\\mathtt\{([^}]*)\}", text)}
    kinds = (pyo.Set, pyo.Var, pyo.Objective, pyo.Constraint)
    made = [
        {re.sub(r"_\d+$", "_p", c.local_name) for c in model.component_objects(kind)}
        for kind in kinds
    ]
    sets, variables, objectives, constraints = made
    assert objectives | constraints <= shown
    assert shown <= sets | objectives | constraints
    assert all(f"`{variable}`" in text for variable in variables)


@pytest.mark.skipif(shutil.which("node") is None, reason="KaTeX is checked where Node is installed")
def test_katex_accepts_every_formula() -> None:
    """The site's KaTeX typesets all formulas of cards and pages without an error."""
    found = [(page.name, *formula) for page in FORMULAS for formula in formulas(page)]
    assert {page for page, displayed, _ in found if displayed} >= {
        f"{name}.md" for name in registry.problem_names()
    }
    script = (
        "const katex = require(process.argv[1]);"
        "const rows = JSON.parse(require('fs').readFileSync(0, 'utf8'));"
        "for (const [page, displayMode, tex] of rows)"
        " try { katex.renderToString(tex, {displayMode, strict: 'error'}) }"
        " catch (error) { console.log(page + ': ' + tex + ': ' + error.message) }"
    )
    katex = str(ROOT / "docs" / "vendor" / "katex" / "katex.min.js")
    ran = subprocess.run(
        ["node", "-e", script, katex], input=json.dumps(found), capture_output=True, text=True,
        check=True,
    )  # fmt: skip
    assert ran.stdout == ""


STEPS = ROOT / "docs" / "add-a-problem.md"
FILE = re.compile(r"^<!-- not run: file (\S+) -->\n```\w+\n(.*?)^```", re.M | re.S)
COMMANDS = re.compile(r"^```bash\n(.*?)^```", re.M | re.S)
UNRUN = re.compile(r"^<!-- not run: needs the package -->\n```python\n(.*?)^```", re.M | re.S)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write the page's files into a new folder."""
    folder = tmp_path_factory.mktemp("hosting")
    files = FILE.findall(STEPS.read_text(encoding="utf-8"))
    own = [text for name, text in files if name.startswith(("dlsched_", "hosting.md"))]
    assert len(own) == 8 and sum(text.count("\n") for text in own) <= 400
    for name, content in files:
        path = folder / name
        path.parent.mkdir(exist_ok=True, parents=True)
        path.write_text(content, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def environment(project: Path) -> dict[str, str]:
    """Return the variables with which pip installs into the folder, and Python finds it."""
    site = str(project / "site")
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    found = os.pathsep.join(filter(None, [site, os.environ.get("PYTHONPATH")]))
    own = {"PATH": path, "PIP_TARGET": site, "PYTHONPATH": found, "MPLBACKEND": "Agg"}
    return os.environ | own | {"PIP_DISABLE_PIP_VERSION_CHECK": "1"}


def run(command: list[str], folder: Path, environment: dict[str, str]) -> str:
    """Run a command in a folder and return what it prints; it must succeed."""
    ran = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, f"{command}\n{ran.stdout}\n{ran.stderr}"
    return ran.stdout


@pytest.mark.slow
def test_the_page_s_steps_work(project: Path, environment: dict[str, str]) -> None:
    """The package is installed, solved, proved, drawn, benchmarked and tested as the page says."""
    text = STEPS.read_text(encoding="utf-8")
    commands = "".join(COMMANDS.findall(text)).splitlines()
    said = "show generate solve verify plot prove check-proof bench"
    assert [c.split()[1] for c in commands if c.startswith("dlsched ")] == said.split()
    for command in commands:
        run(["bash", "-c", command], project, environment)
    blocks = UNRUN.findall(text)
    assert len(blocks) == 2
    said = run([sys.executable, "-c", "\n".join(blocks)], project, environment)
    assert " checks passed, 0 failed" in said


FIGURES = ROOT / "benchmarks" / "figures"
DRAWING = """# A page

```python
import dlsched

print(dlsched.load("lyra-table4").name)
```

Words.

```python
axes = dlsched.plot(dlsched.solve("lyra-table4"))
```

<!-- not run: needs another machine -->
```python
dlsched.plot("nothing")
```
"""


def module(name: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Import a script in docs."""
    monkeypatch.syspath_prepend(ROOT / "docs")
    return importlib.import_module(name)


def test_what_a_block_draws_is_below_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """One block of three draws; its picture says what it is."""
    snippets = module("snippets", monkeypatch)
    text, pictures = snippets.illustrated(DRAWING, "tutorials/page.md")
    assert set(pictures) == {"tutorials-page-0.svg"}
    (image,) = re.findall(r'<img src="([^"]*)" alt="([^"]*)"', text)
    assert image[0] == "../pictures/tutorials-page-0.svg"
    assert image[1].startswith("lyra-table4: 2 jobs")
    assert text.index("dlsched.solve(") < text.index(image[0]) < text.index("not run")
    assert text.replace(text[text.index("\n<div") : text.index("</div>") + 8], "") == DRAWING
    assert snippets.draws(DRAWING) and not snippets.draws(DRAWING[: DRAWING.index("Words")])


def test_pages_of_figures_have_what_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every page of figures begins with a picture; the columns drawn exist and have numbers."""
    charts = module("charts", monkeypatch)
    for name in set(charts.tables.names()) - {"peers", "frontiers"}:
        labels, values = charts.bars(name)
        rows = charts.tables.tables(name)[0].rows
        assert values or charts.has_gaps(name)
        assert set(labels) | set(values) <= set(rows[0]), name
        for column in values:
            assert any(charts.number(row, column) is not None for row in rows), column


def test_pages_of_figures_are_of_their_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """`python benchmarks/tables.py` would change no page, and every page has rows."""
    tables = module("charts", monkeypatch).tables
    assert {path.stem for path in FIGURES.glob("*.md")} == set(tables.names())
    assert {path.stem for path in tables.ROWS.glob("*.parquet")} == set(tables.names())
    for name in tables.names():
        text = (FIGURES / f"{name}.md").read_text(encoding="utf-8")
        assert text == tables.text_of(name), "run: python benchmarks/tables.py"


def test_maps_are_of_today(monkeypatch: pytest.MonkeyPatch) -> None:
    """`python docs/maps.py` would change no page."""
    maps = module("maps", monkeypatch)
    assert {
        path.name for path, text in maps.pages().items() if path.read_text("utf-8") != text
    } == set()


NOTES = ROOT / "docs" / "notebooks"
NOTEBOOKS = sorted(NOTES.glob("*.ipynb"))
TIME = re.compile(r"\b\d+(\.\d+)?(e-\d+)? ?(s|ms|µs|seconds)\b")


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_was_run(path: Path) -> None:
    """Every cell of a notebook has been run, in order, none has failed, and pictures are there."""
    nbformat = pytest.importorskip("nbformat", reason="notebooks are an optional extra")
    cells = [c for c in nbformat.read(path, as_version=4).cells if c.cell_type == "code"]
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    for cell in cells:
        assert not any(out.output_type == "error" for out in cell.outputs)
        if "dlsched.plot" in cell.source:
            assert "image/svg+xml" in cell.outputs[-1].data, cell.source


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_prints_what_it_says(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A notebook that is run again prints the same, but for times."""
    pytest.importorskip("nbclient", reason="notebooks are an optional extra")
    monkeypatch.syspath_prepend(NOTES.parent)
    monkeypatch.delenv("MPLBACKEND", raising=False)  # the kernel's own shows pictures
    import notebook_pages

    said = notebook_pages.printed(notebook_pages.read(path))
    now = notebook_pages.printed(notebook_pages.run(notebook_pages.read(path)))
    assert [_timeless(cell) for cell in now] == [_timeless(cell) for cell in said]


def _timeless(cell: list[str]) -> list[str]:
    return [TIME.sub("T", text) for text in cell]
