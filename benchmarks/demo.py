"""The demo: optima and heuristics side by side, with pictures of the papers' examples.

    python benchmarks/demo.py [FOLDER]

Writes results, solutions, a report and pictures to results/demo, and prints the summary.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import matplotlib as mpl

import dlsched
from dlsched.bench import Store, read_suite
from dlsched.bench.instance_spec import InstanceSpec
from dlsched.bench.report import write_report
from dlsched.bench.statistics import evaluate_rows
from dlsched.cli.output import put_line
from dlsched.cli.sweep import put_sweep, run_shown
from dlsched.cli.verdict import status_of
from dlsched.registry import problem
from dlsched.schema import Instance
from dlsched.traces import read_trace, snapshot

ROOT = Path(__file__).resolve().parents[1]
RECORDED = ROOT.parent / "shared" / "data" / "muri" / "trace1.csv"
DAY = 86400


def snapshots() -> Iterator[Instance]:
    """Yield busy moments of the shipped trace, and of a recorded trace if there is one."""
    moments = [("synthetic-1", 4, 64), ("synthetic-1", 10, 64)]
    if RECORDED.exists():
        moments.append((str(RECORDED), 50, 16))
    else:
        put_line("no recorded trace beside the checkout: only the shipped one is replayed")
    for trace, day, servers in moments:
        moment = snapshot(read_trace(trace), at=day * DAY, servers=servers)
        yield moment.reclaiming
        yield moment.elastic


def draw_examples(folder: Path) -> int:
    """Draw each paper example with its optimum; return how many there are."""
    mpl.use("Agg")
    from matplotlib import pyplot as plt

    folder.mkdir(parents=True, exist_ok=True)
    examples = [
        e for name in dlsched.list_problems() for e in problem(name).module("generate").examples()
    ]
    for example in examples:
        axes = (
            problem(example.problem).module("draw").draw(example, dlsched.solve(example).solution)
        )
        axes.figure.savefig(folder / f"{example.name}.png", dpi=150, bbox_inches="tight")
        plt.close(axes.figure)
    return len(examples)


def main(out: Path) -> int:
    """Run everything; return 1 if a run failed."""
    sweep = read_suite(ROOT / "benchmarks" / "suites" / "demo.toml")
    for instance in snapshots():
        sweep.instance_specs.append(InstanceSpec.given(instance))
    shutil.rmtree(out, ignore_errors=True)
    run_shown(sweep, out, jobs=2)
    with Store(out) as store:
        runs = evaluate_rows(store.rows())
    put_sweep(runs)
    write_report(out)
    pictures = draw_examples(out / "pictures")
    put_line(f"{len(runs)} checked runs, a report and {pictures} pictures in {out}")
    return status_of(run.row for run in runs)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path("results/demo")))
