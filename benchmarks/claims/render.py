"""The papers' claims as a page: docs/claims.md from the files beside this one.

python benchmarks/claims/render.py
"""

from __future__ import annotations

import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
PAGE = HERE.parents[1] / "docs" / "claims.md"
PAPERS = ("lyra", "muri", "hadar", "mast", "synergy")
VERDICTS = {
    "holds": ("holds", "hold"),
    "holds in part": ("holds in part", "hold in part"),
    "does not hold": ("does not hold", "do not hold"),
    "not tested here": ("was not tested here", "were not tested here"),
}
"""Verdicts, and what a sentence says of one claim and of several."""
FIELDS = ("section", "claim", "command", "measured", "verdict")


def papers() -> list[tuple[str, list[dict[str, Any]]]]:
    """Return each paper with its claims."""
    found = (tomllib.loads((HERE / f"{name}.toml").read_text()) for name in PAPERS)
    return [(paper["paper"], paper["claims"]) for paper in found]


def page() -> str:
    """Return the page's text."""
    counts = Counter(claim["verdict"] for _, claims in papers() for claim in claims)
    lines = [
        "# The papers' claims, measured",
        "",
        "Written by `python benchmarks/claims/render.py` from the files beside it. Claims are in",
        "our words. What was measured is on generated instances and on public traces and profiles,",
        "by the command named, on the machine that its figures name; `benchmarks/figures` has the",
        "tables. A verdict is about what was measured here, not about the authors' own clusters:",
        "single rounds and simulations, on generated or recorded inputs. A claim holds in part if",
        "only a part of it does, or if only a part could be measured.",
        "",
        f"{sum(counts.values())} claims: "
        + ", ".join(f"{counts[v]} {words[counts[v] != 1]}" for v, words in VERDICTS.items())
        + ".",
    ]
    for paper, claims in papers():
        lines += ["", f"## {paper}", "", "| section | claim | measured | verdict | command |"]
        lines.append("|---|---|---|---|---|")
        lines += [
            f"| {c['section']} | {c['claim']} | {c['measured']} | **{c['verdict']}** "
            f"| `{c['command']}` |"
            for c in claims
        ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page())
