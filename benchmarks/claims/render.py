"""The papers' claims and objections as pages: docs/claims.md and docs/objections/*.md.

Every measured number is read from benchmarks/rows: `python benchmarks/claims/render.py`, or
`make claims`, writes the pages again.
"""

from collections import Counter
from math import isnan
from pathlib import Path
from typing import Any

from cells import heading, sections
from markdown.extensions.toc import slugify
from rows import PAPERS, VERDICTS, filled, paper, verdict

HERE = Path(__file__).resolve().parent
DOCS = HERE.parents[1] / "docs"


def claims_page() -> str:
    """Return the text of docs/claims.md."""
    papers = [(name, paper(name)) for name in PAPERS]
    counts = Counter(verdict(claim) for _, p in papers for claim in p["claims"])
    total = ", ".join(said.format(counts[v]) for v, said in VERDICTS.items())
    head = (HERE / "head.md").read_text(encoding="utf-8")
    lines = [head, f"{sum(counts.values())} claims: {total}."]
    for name, said in papers:
        lines += ["", f"## {said['paper']}", ""]
        lines += [f"[Each row in detail, and what its authors would object](objections/{name}.md)"]
        lines += ["", "| row | claim | printed | ours | verdict | from |", "|---" * 6 + "|"]
        lines += [_row(name, claim) for claim in said["claims"]]
    return "\n".join(lines) + "\n"


def cells_of(claim: dict[str, Any]) -> list[str]:
    """Return the cells of a claim's row, but the first, which names it."""
    links = _links(claim, "../benchmarks/figures") or _tests(claim["command"], "..")
    ours = filled(claim["ours"], claim)
    return [claim["claim"], claim["printed"], ours, f"**{verdict(claim)}**", links]


def objections_page(name: str) -> str:
    """Return the text of docs/objections/<name>.md."""
    said = paper(name)
    lines = [
        f"# {said['paper']}: what its authors would object",
        "",
        "Objections that a referee for the authors would raise against [our rows](../claims.md),",
        "with our answers; then each row in detail. Written by `make claims`, which reads measured",
        "numbers from the figure pages.",
    ]
    for objection in said.get("objections", []):
        lines += ["", f"**{filled(objection['objection'], objection)}**", ""]
        lines += [filled(objection["answer"], objection)]
        if links := _links(objection, "../../benchmarks/figures"):
            lines += ["", f"From {links}."]
    lines += ["", "## What is simplified", ""]
    lines += [f"- {simplified}" for simplified in said.get("simplified", [])]
    lines += ["", "## Each row in detail", ""]
    lines += ["| row | claim | measured | statements | from |", "|---" * 5 + "|"]
    lines += [_detail(claim) for claim in said["claims"]]
    return "\n".join(lines) + "\n"


def _row(name: str, claim: dict[str, Any]) -> str:
    row = claim["id"]
    named = f'<a id="{row}"></a>[{row}](objections/{name}.md#{row}): {claim["section"]}'
    return f"| {' | '.join([named, *cells_of(claim)])} |"


def _detail(claim: dict[str, Any]) -> str:
    measured = filled(claim["measured"], claim)
    measured += f" *{claim['setting']}* Reading: {claim['reading']}."
    parts = "; ".join(f"{statement}: *{grade}*" for statement, grade in claim["parts"].items())
    graded = f"{parts}. Inputs: {claim['inputs']}. {filled(claim['because'], claim)}"
    links = _links(claim, "../../benchmarks/figures")
    origin = [links, f"`{claim['command']}`", _seconds(claim)]
    name = f'<a id="{claim["id"]}"></a>[{claim["id"]}](../claims.md#{claim["id"]})'
    return (
        f"| {name} | {claim['text']} | {measured} | {graded} | {'; '.join(filter(None, origin))} |"
    )


def _links(row: dict[str, Any], folder: str) -> str:
    """Return links to the tables that a row's cells are from, by page."""
    links: dict[str, dict[str, str]] = {}
    for page, key, _, _, *table in row.get("cells", {}).values():
        anchor = slugify(heading(page, key, *table).replace("`", ""), "-")
        named = links.setdefault(page, {})
        if anchor not in named:
            before = sum(name.strip("[]").split()[0] == key for name in named.values())
            named[anchor] = f"[{key} {before + 1}]" if before else f"[{key}]"
    return "; ".join(
        f"{page}: " + ", ".join(f"{name}({folder}/{page}.md#{a})" for a, name in named.items())
        for page, named in sorted(links.items())
    )


def _tests(command: str, folder: str) -> str:
    """Return links to the tests that a row's command names, or to the page that it measures."""
    if command.startswith("python"):
        page = command.split()[2]
        return f"[{page}]({folder}/benchmarks/figures/{page}.md)"
    files = [word for word in command.split() if word.startswith("tests/")]
    return ", ".join(f"[{Path(file).stem}]({folder}/{file})" for file in files)


def _seconds(row: dict[str, Any]) -> str:
    places = {(place[0], place[1]) for place in row.get("cells", {}).values()}
    taken = [sections(page)[key] for page, key in places]
    return f"{sum(taken):,.0f} s" if taken and not isnan(sum(taken)) else ""


if __name__ == "__main__":
    (DOCS / "claims.md").write_text(claims_page(), encoding="utf-8")
    (DOCS / "objections").mkdir(exist_ok=True)
    for name in PAPERS:
        (DOCS / "objections" / f"{name}.md").write_text(objections_page(name), encoding="utf-8")
