"""What README.md shows: the output of the demo, and the picture of heuristics against the optimum.

    python benchmarks/readme.py

Runs the demo, with 80 columns, and writes its output into README.md, without the tables in the
middle; writes docs/pictures/gaps.svg from the table that README's second example computes.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import matplotlib as mpl

import dlsched
from dlsched.display.drawing.files import picture_bytes
from dlsched.schema.files import write_bytes

ROOT = Path(__file__).resolve().parents[1]
OUTPUT = re.compile(r"(?<=^```console\n\$ make demo\n).*?(?=^```$)", re.M | re.S)
END = "An optimal solution"
WIDTH_INCHES = 7


def shortened(printed: str) -> str:
    """Return the output of the demo with the first two tables only."""
    first, _, rest = printed.partition(END)
    head, reclaiming, elastic = first.split("\n\n")[:3]
    return "\n\n".join([head, reclaiming, elastic, "...", END + rest])


def demo_output() -> str:
    """Run the demo and return what it prints."""
    return subprocess.run(
        [sys.executable, "benchmarks/demo.py", "results/demo"],
        cwd=ROOT, env=os.environ | {"COLUMNS": "80"}, stdout=subprocess.PIPE, text=True, check=True,
    ).stdout  # fmt: skip


def picture() -> bytes:
    """Return the gaps of three rules for reclaiming servers, on twenty instances."""
    mpl.use("agg")
    instances = [dlsched.generate("reclaiming", seed=s, servers=128) for s in range(20)]
    table = dlsched.compare(instances, ["exact", "lyra", "scf"])
    with mpl.rc_context({"figure.figsize": (WIDTH_INCHES, WIDTH_INCHES)}):
        made = dlsched.plot_comparison(table)
        return picture_bytes(getattr(made, "figure", made), "svg", "plate")


def main() -> None:
    """Write both."""
    write_bytes(ROOT / "docs" / "pictures" / "gaps.svg", picture())
    page = ROOT / "README.md"
    text = page.read_text(encoding="utf-8")
    assert OUTPUT.search(text), "README.md has no block that begins with: $ make demo"
    page.write_text(OUTPUT.sub(lambda _: shortened(demo_output()), text, count=1), encoding="utf-8")


if __name__ == "__main__":
    main()
