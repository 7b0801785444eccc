"""Writes the tables of docs/which-method.md, from benchmarks/figures/exact_against_heuristics.md.

    python docs/which_method.py

A test compares the page with what this writes today.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from dlsched.registry import problem, problem_names

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "which-method.md"
FIGURES = ROOT / "benchmarks" / "figures" / "exact_against_heuristics.md"
LIMIT = 10
"""Seconds that every run of the figures shown had."""
_TINY = 1e-6
"""Gaps in per cent that are a solver's last digits."""
BEGIN = "<!-- Written by docs/which_method.py. -->"
END = "<!-- End of what docs/which_method.py writes. -->"
HEAD = "| instance | exact method | ended | seconds | best heuristic | its gap | seconds |"


def rows(name: str) -> Iterator[str]:
    """Yield a problem's rows: the exact method, and the best heuristic, on each instance."""
    text = FIGURES.read_text(encoding="utf-8")
    part = re.search(rf"<!-- {name}-{LIMIT} -->\n(.*?)(?=<!-- |\Z)", text, re.S)
    assert part, f"{FIGURES.name} has no section {name}-{LIMIT}"
    for line in part[1].splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) < 10 or cells[0] == "instance" or set(cells[0]) == {"-"}:
            continue
        instance, exact, status, best, gap, seconds, rule, value, own, better = cells
        size = instance.removeprefix(f"{name}-").rpartition("-")[0].replace("-", ", ")
        if status == "optimal":
            ended = "proved"
        elif gap == "-":
            ended = "limit, no bound"
        else:
            ended = f"limit, gap {gap}"
        away = "best found" if value == best and status != "optimal" else _gap(name, value, best)
        if re.search(rf"\b{rule}\b", better):
            away = f"better than what exact found, by {away}"
        elif status != "optimal" and value != best:
            away = f"{away} to what exact found"
        yield (
            f"| {size or 'as generated'} | `{exact}` | {ended} | {seconds} | `{rule}` | {away} "
            f"| {own} |"
        )


def _gap(name: str, value: str, best: str) -> str:
    """Return the gap at the first level at which two objectives differ, in words."""
    pairs = zip(_numbers(value), _numbers(best), problem(name).levels, strict=True)
    for mine, theirs, level in pairs:
        if mine != theirs:
            gap = 100 * abs(mine - theirs) / max(abs(mine), abs(theirs))
            return f"{gap:.2g} % ({level.name})" if gap > _TINY else "0"
    return "0"


def _numbers(text: str) -> list[float]:
    return [float(part.replace(",", "")) for part in text.split(", ")]


def tables() -> str:
    """Return the tables of all problems, each under its advice."""
    lines: list[str] = []
    for name in problem_names():
        lines += [f"### {name.capitalize()}", "", _advice(name), "", HEAD, "|---" * 7 + "|"]
        lines += [*rows(name), ""]
    return "\n".join(lines)


def _advice(name: str) -> str:
    """Return which methods a problem has, and where they are described."""
    owner = problem(name)
    kinds = [m.name for m in owner.methods.values() if m.kind == "heuristic" and m.own]
    paper = f"; the paper's is `{owner.paper_method}`" if owner.paper_method else ""
    return (
        f"{owner.title}. Heuristics: {_listed(kinds)}{paper}. [All "
        f"methods](problems/{name}.md#methods), [all figures](../benchmarks/figures/{name}.md)."
    )


def _listed(names: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def page(text: str) -> str:
    """Return the page with today's tables between its marks."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{tables()}\n{END}{after}"


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
