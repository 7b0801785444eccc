"""The papers' claims and objections as pages: docs/claims.md and docs/objections/*.md.

Every measured number is read from benchmarks/figures: `python benchmarks/claims/render.py`, or
`make claims`, writes the pages again.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from cells import heading, sections
from markdown.extensions.toc import slugify
from rows import PAPERS, VERDICTS, filled, paper

HERE = Path(__file__).resolve().parent
DOCS = HERE.parents[1] / "docs"


def claims_page() -> str:
    """Return the text of docs/claims.md."""
    papers = [(name, paper(name)) for name in PAPERS]
    counts = Counter(claim["verdict"] for _, p in papers for claim in p["claims"])
    total = ", ".join(f"{counts[v]} {words[counts[v] != 1]}" for v, words in VERDICTS.items())
    head = (HERE / "head.md").read_text(encoding="utf-8")
    lines = [head, f"{sum(counts.values())} claims: {total}."]
    for name, said in papers:
        lines += ["", f"## {said['paper']}", ""]
        lines += [f"[What its authors would object](objections/{name}.md)", ""]
        lines += ["| row | section | claim | measured | verdict | from |", "|---" * 6 + "|"]
        lines += [_row(claim) for claim in said["claims"]]
    return "\n".join(lines) + "\n"


def objections_page(name: str) -> str:
    """Return the text of docs/objections/<name>.md."""
    said = paper(name)
    lines = [
        f"# {said['paper']}: what its authors would object",
        "",
        "Objections that a referee for the authors would raise against [our rows](../claims.md),",
        "with our answers. Written by `make claims`, which reads measured numbers from the figure",
        "pages.",
    ]
    for objection in said.get("objections", []):
        lines += ["", f"**{filled(objection['objection'], objection)}**", ""]
        lines += [filled(objection["answer"], objection)]
        if links := _links(objection, "../../benchmarks/figures"):
            lines += ["", f"From {links}."]
    lines += ["", "## What is simplified", ""]
    lines += [f"- {simplified}" for simplified in said.get("simplified", [])]
    return "\n".join(lines) + "\n"


def _row(claim: dict[str, Any]) -> str:
    measured = filled(claim["measured"], claim)
    measured += f" *{claim['setting']}* Reading: {claim['reading']}."
    verdict = f"**{claim['verdict']}**: {filled(claim['because'], claim)}"
    origin = [_links(claim, "../benchmarks/figures"), f"`{claim['command']}`", _seconds(claim)]
    name = f'<a id="{claim["id"]}"></a>{claim["id"]}'
    return (
        f"| {name} | {claim['section']} | {claim['claim']} | {measured} | {verdict} "
        f"| {'; '.join(filter(None, origin))} |"
    )


def _links(row: dict[str, Any], folder: str) -> str:
    links = set()
    for page, key, _, _, *table in row.get("cells", {}).values():
        above = heading(page, key, *table)
        name = key if above == heading(page, key) else above
        anchor = slugify(above.replace("`", ""), "-")
        links.add(f"[{page}, {name}]({folder}/{page}.md#{anchor})")
    return ", ".join(sorted(links))


def _seconds(row: dict[str, Any]) -> str:
    places = {(place[0], place[1]) for place in row.get("cells", {}).values()}
    taken = [sections(page)[key].seconds for page, key in places]
    known = [seconds for seconds in taken if seconds is not None]
    return f"{sum(known):,.0f} s" if known and len(known) == len(taken) else ""


if __name__ == "__main__":
    (DOCS / "claims.md").write_text(claims_page(), encoding="utf-8")
    (DOCS / "objections").mkdir(exist_ok=True)
    for name in PAPERS:
        (DOCS / "objections" / f"{name}.md").write_text(objections_page(name), encoding="utf-8")
