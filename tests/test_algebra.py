"""The algebra on the cards names the model's components, and KaTeX accepts it."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import dlsched
from dlsched import registry

ROOT = Path(__file__).parents[1]
PAGES = [*sorted((ROOT / "models").glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
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
    found = [(page.name, *formula) for page in PAGES for formula in formulas(page)]
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
