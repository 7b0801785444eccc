"""Writes docs/calibration.md: what papers print of their workloads, and what generators draw.

``python tests/calibration/page.py`` measures all but the rows of `SLOW` lists that the page has,
which stay as they are; ``--slow`` measures these as well, in about ten minutes.
"""

import importlib
import sys
from pathlib import Path

from marginal import Marginal

from dlsched.registry.generators import VERSIONS

HERE = Path(__file__).parent
PAGE = HERE.parents[1] / "docs" / "calibration.md"
HEAD = """# Generators and what the papers print

What a paper prints of its workload, beside the mean over ten seeds of what the generator draws. A
test holds the mean within the band; `python tests/calibration/page.py` writes this page. What
papers do not print is chosen here, as the docstrings say.

The rows marked "whole trace" are measured when this page is written.
"""
COLUMNS = ("marginal", "printed", "obtained", "band", "source")


def generators() -> dict[str, tuple[list[Marginal], list[Marginal]]]:
    """Return the marginals of each generator: those of the test, and those that take long."""
    names = sorted(file.stem for file in HERE.glob("printed_*.py"))
    modules = {name.removeprefix("printed_"): importlib.import_module(name) for name in names}
    return {
        name: (module.MARGINALS, getattr(module, "SLOW", [])) for name, module in modules.items()
    }


def title(name: str) -> str:
    """Return the heading of a generator, with its version."""
    problem, _, workload = name.partition("_")
    version = VERSIONS.get(problem, VERSIONS["simulation"])
    return f"## {' '.join((problem, workload)).strip()}, version {version}"


def row(marginal: Marginal, obtained: str, slow: bool) -> tuple[str, ...]:
    """Return the cells of a marginal."""
    name = marginal.name + (", whole trace" if slow else "")
    low, high = number(marginal.low), number(marginal.high)
    band = low if low == high else f"{low} to {high}"
    return name, number(marginal.printed), obtained, band, marginal.source


def number(value: float) -> str:
    """Return a number with four digits at least, and no zeros after the point."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def kept(text: str) -> dict[tuple[str, str], str]:
    """Return what a page says was obtained, by heading without version, and name."""
    found, heading = {}, ""
    for line in text.splitlines():
        if line.startswith("## "):
            heading = line.split(",")[0]
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == len(COLUMNS):
            found[heading, cells[0]] = cells[2]
    return found


def page(before: str, slow: bool | None = False) -> str:
    """Return the page.

    Parameters
    ----------
    before
        The page of before, whose digits are kept where nothing is measured.
    slow
        Whether to measure what takes long as well; None measures nothing.
    """
    old = kept(before)
    parts = [HEAD]
    for name, (quick, long) in generators().items():
        lines = [title(name), "", "| " + " | ".join(COLUMNS) + " |", "|---|---|---|---|---|"]
        for marginal in [*quick, *long]:
            late = marginal in long
            known = old.get((title(name).split(",")[0], row(marginal, "", late)[0]))
            if slow is None or (late and known and not slow):
                obtained = known or "not measured"
            else:
                obtained = number(marginal.obtained())
            lines.append("| " + " | ".join(row(marginal, obtained, late)) + " |")
        parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)


if __name__ == "__main__":
    text = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    PAGE.write_text(page(text, slow="--slow" in sys.argv), encoding="utf-8")
