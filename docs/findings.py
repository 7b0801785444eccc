"""Writes docs/findings.md and the list of findings in README.md, from docs/findings.toml.

    python docs/findings.py

Each number is read from a cell of benchmarks/figures, as those of the claims are. A test compares
the pages with what this writes today.
"""

import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(1, str(ROOT / "benchmarks" / "claims"))
from charts import between  # noqa: E402
from rows import filled  # noqa: E402


def pages() -> dict[Path, str]:
    """Return each page that has findings, as this script writes it today."""
    said = tomllib.loads((ROOT / "docs" / "findings.toml").read_text(encoding="utf-8"))["findings"]
    sections, items = [], []
    for row in said:
        sentence = filled(row["text"], row)
        items.append(f"- [{row['title']}](docs/findings.md): {sentence}")
        links = [f"[figures](../benchmarks/figures/{row['figures']}.md)"]
        links += [f"[claim](claims.md#{row['claim']})"] * bool(row["claim"])
        sections += [
            f"## {row['title']}", sentence, f"![{row['title']}](pictures/{row['picture']}.svg)",
            f"`{row['command']}` measures it again; {', '.join(links)}.",
        ]  # fmt: skip
    texts = {ROOT / "docs" / "findings.md": "\n\n".join(sections),
             ROOT / "README.md": "\n".join(items)}  # fmt: skip
    return {
        p: between(p.read_text(encoding="utf-8"), "findings.py", f"\n{text}\n")
        for p, text in texts.items()
    }


if __name__ == "__main__":
    for path, text in pages().items():
        path.write_text(text, encoding="utf-8")
