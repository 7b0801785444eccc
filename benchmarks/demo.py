"""The main job on display: optima and heuristics side by side, with pictures of the examples.

    python benchmarks/demo.py [FOLDER]

Writes results.csv, results.json, solutions/ and pictures/ to results/demo, and prints the table.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import matplotlib as mpl

import dlsched
from dlsched.bench import read_suite, run_suite
from dlsched.bench.suite import Case
from dlsched.cli.output import progress, put_line
from dlsched.cli.verdict import failures_status, put_comparison
from dlsched.problem import problem
from dlsched.result import Result
from dlsched.schema import Instance
from dlsched.table import Failure
from dlsched.traces import read_trace, snapshot

ROOT = Path(__file__).resolve().parents[1]
RECORDED = ROOT.parent / "shared" / "data" / "muri" / "trace1.csv"
DAY = 86400


def snapshots() -> Iterator[Instance]:
    """Yield crowded moments of the shipped trace, and of a recorded one where there is one."""
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
        e for name in dlsched.problems() for e in problem(name).module("generate").examples()
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
        sweep.cases.append(Case(instance.problem, lambda instance=instance: instance))
    answers: list[Result | Failure] = []
    with progress() as bar:
        task = bar.add_task(sweep.name, total=sweep.total) if bar else None

        def note(answer: Result | Failure) -> None:
            answers.append(answer)
            if bar and task is not None:
                bar.update(task, advance=1, description=f"{answer.instance} {answer.method}")

        frame = run_suite(sweep, out, on_answer=note)
    records = frame.astype(object).where(frame.notna(), None).to_dict("records")
    put_comparison([{str(k): v for k, v in row.items()} for row in records])
    pictures = draw_examples(out / "pictures")
    put_line(f"{len(answers)} checked runs and {pictures} pictures in {out}")
    return failures_status(answers)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path("results/demo")))
