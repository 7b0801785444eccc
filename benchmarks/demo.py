"""The demo: the six problems in two minutes, on the papers' examples and some larger instances.

    python benchmarks/demo.py [FOLDER]

Writes results, solutions, a report and pictures to results/demo, and prints the summary. The runs
are those of suites/demo.toml; suites/library.toml has every shipped instance.
"""

from __future__ import annotations

import multiprocessing
import shutil
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import dlsched
from dlsched.bench import Store, read_suite
from dlsched.bench.report import write_report
from dlsched.bench.statistics import EvaluatedRun, evaluate_rows
from dlsched.cli import progress
from dlsched.cli.output import LeftOut, put_line
from dlsched.cli.sweep import put_sweep, run_shown
from dlsched.cli.verdict import status_of
from dlsched.cli.verify import put_report
from dlsched.registry import problem
from dlsched.run import Stage

ROOT = Path(__file__).resolve().parents[1]
JOBS = 2
FIRST_COMPILED = ("utility", "interleaving", "placement")
"""The problems whose loops take longest to compile."""
ASIDE = "lyra-fig5"


def compile_loops(name: str) -> None:
    """Compile the loops of a problem's methods, or find them in the cache."""
    owner = problem(name)
    for method in owner.methods.values():
        method.prepare(owner.package)


def draw_examples(folder: Path) -> int:
    """Draw each paper's example with its optimum; return how many there are."""
    import matplotlib as mpl

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


def put_wrong_answer(out: Path) -> None:
    """Show what the checker says of an optimal solution from which one server is missing."""
    best = dlsched.solve(ASIDE).solution
    wrong = best.to_data()
    wrong["returned"] = wrong["returned"][:-1]
    dlsched.save(dlsched.load_solution(wrong, "reclaiming"), out / "wrong.json")
    put_line(f"A wrong solution of {ASIDE}, which returns one server too few, is refused:")
    put_report(dlsched.verify(ASIDE, out / "wrong.json"))


def put_end(runs: Sequence[EvaluatedRun], out: Path, seconds: float) -> None:
    """Say what was done, and the three things to look at."""
    proven = sum(run.ending == "proven" for run in runs)
    put_line(
        f"{len(runs)} runs in {seconds:.0f} seconds, {proven} of them to a proven optimum; every "
        "solution was checked in exact arithmetic by code that shares nothing with the methods."
    )
    command = Path(sys.executable).parent / "dlsched"
    command = command.relative_to(Path.cwd()) if command.is_relative_to(Path.cwd()) else command
    put_line("")
    put_line("Three things to look at:")
    put_line(f"  1. the report, with charts:  {out}/report/index.html")
    put_line(f"  2. the papers' examples:     {out}/pictures/{ASIDE}.png and its neighbours")
    put_line("  3. a heuristic, its optimum and the gap between them:")
    put_line(f"     {command} compare reclaiming-520-130 -m exact -m lyra -m scf", indent=5)


def main(out: Path) -> int:
    """Run everything; return 1 if a run failed."""
    began = time.monotonic()
    sweep = read_suite(ROOT / "benchmarks" / "suites" / "demo.toml")
    names = dlsched.list_problems()
    shutil.rmtree(out, ignore_errors=True)
    context = multiprocessing.get_context("spawn")
    with progress.shown(), ProcessPoolExecutor(JOBS, context) as pool:
        put_line("Solves instances of six problems by exact methods and by heuristics.")
        progress.say(Stage.COMPILING, "the loops of all problems, which is done once per machine")
        first = sorted(names, key=lambda name: name not in FIRST_COMPILED)
        list(pool.map(compile_loops, first))
        run_shown(sweep, out, jobs=JOBS)
        pictures = pool.submit(draw_examples, out / "pictures")
        with Store(out) as store:
            runs = evaluate_rows(store.rows())
        put_line("")
        put_line("Gaps of each method to the best bound known, where 0 % is optimal:")
        put_line("")
        put_sweep(runs, LeftOut(remedy="the report has them"))
        put_line("")
        put_wrong_answer(out)
        progress.say(Stage.BUILDING, "the report and the pictures")
        write_report(out)
        pictures.result()
        put_line("")
        put_end(runs, out, time.monotonic() - began)
    return status_of(run.row for run in runs)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path("results/demo")))
