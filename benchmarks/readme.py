"""What README.md shows: the output of the demo, and the picture of all problems at a glance.

    python benchmarks/readme.py

Runs the demo, with 80 columns, and writes its output into README.md, without the tables in the
middle; writes docs/pictures/overview.svg and overview-narrow.svg from the demo's results.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import matplotlib as mpl

import dlsched
from dlsched.display.drawing.files import picture_bytes
from dlsched.schema.files import write_bytes
from dlsched.sweeps import Store
from dlsched.sweeps.report import OVERVIEW_INCHES
from dlsched.sweeps.stored_runs import stored_runs

ROOT = Path(__file__).resolve().parents[1]
OUTPUT = re.compile(r"(?<=^```console\n\$ make demo\n).*?(?=^```$)", re.M | re.S)
END = "An optimal solution"
RESULTS = ROOT / "results" / "demo"


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


def write_pictures(results: Path) -> None:
    """Write all problems at a glance, on the runs of the demo, for a page and for a telephone."""
    mpl.use("agg")
    with Store(results) as store:
        table = stored_runs(store)
    for name, inches in OVERVIEW_INCHES.items():
        with mpl.rc_context({"figure.figsize": (inches, inches)}):
            content = picture_bytes(dlsched.plot_overview(table), "svg", "plate")
        write_bytes(ROOT / "docs" / "pictures" / f"{name}.svg", content)


def main() -> None:
    """Write all of it."""
    page = ROOT / "README.md"
    text = page.read_text(encoding="utf-8")
    assert OUTPUT.search(text), "README.md has no block that begins with: $ make demo"
    page.write_text(OUTPUT.sub(lambda _: shortened(demo_output()), text, count=1), encoding="utf-8")
    write_pictures(RESULTS)


if __name__ == "__main__":
    main()
