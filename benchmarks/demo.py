"""The demo: every problem in two minutes, on the papers' examples and some larger instances.

    python benchmarks/demo.py [FOLDER]

Writes results, solutions, a report and pictures to results/demo, and prints the summary. The runs
are those of suites/demo.toml; suites/library.toml has every shipped instance.
"""

import gzip
import json
import multiprocessing
import shutil
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import dlsched
from dlsched.cli import progress
from dlsched.cli.bench import put_sweep, run_shown
from dlsched.cli.exits import put
from dlsched.cli.output import put_line
from dlsched.cli.verdict import status_of
from dlsched.cli.verify import put_report
from dlsched.display.table import Row
from dlsched.registry import problem
from dlsched.results.performance_profiles import ending
from dlsched.run import Stage
from dlsched.sweeps import Store, read_suite
from dlsched.sweeps.report import write_report
from dlsched.sweeps.stored_runs import evaluate_rows

ROOT = Path(__file__).resolve().parents[1]
JOBS = 2
EXAMPLE = "lyra-fig5"
_BESIDE = Path(sys.executable).parent / "dlsched"
COMMAND = _BESIDE.relative_to(Path.cwd()) if _BESIDE.is_relative_to(Path.cwd()) else _BESIDE
"""The command line of the environment that the demo runs in."""


def examples(name: str) -> list[dlsched.Instance]:
    """Return the examples of a problem's paper."""
    found: list[dlsched.Instance] = problem(name).module("generate").examples()
    return found


def drawn(runs: Sequence[Row]) -> list[Row]:
    """Return the exact runs that get a picture: the papers' examples, the largest of a problem."""
    exact = [run for run in runs if run["method"] == "exact" and run["solution_sha256"]]
    names = {
        e.name for p in dlsched.list_problems() for e in problem(p).module("generate").examples()
    }
    largest = {run["problem"]: run for run in sorted(exact, key=lambda run: run["size"])}
    return [run for run in exact if run["instance"] in names or run in largest.values()]


def draw(pairs: Sequence[tuple[str, dict[str, object]]], folder: Path) -> None:
    """Draw instances with the solutions in the files."""
    import matplotlib as mpl

    mpl.use("agg")
    from matplotlib import pyplot as plt

    folder.mkdir(parents=True, exist_ok=True)
    for name, solution in pairs:
        inst = dlsched.load(name)
        axes = dlsched.plot(dlsched.load_solution(solution, inst.problem), instance=inst)
        axes.figure.savefig(folder / f"{name}.png", dpi=150, bbox_inches="tight")
        plt.close(axes.figure)


def put_wrong_answer(out: Path) -> None:
    """Show what the checker says of an optimal solution from which one server is missing."""
    solution = dlsched.solve(EXAMPLE).solution
    assert solution is not None
    wrong = solution.to_data()
    wrong["returned"] = wrong["returned"][:-1]
    dlsched.save(dlsched.load_solution(wrong, "reclaiming"), out / "wrong.json")
    put_line("An optimal solution from which one server is taken away does not pass the checker:")
    put(f"\n$ {COMMAND} verify {EXAMPLE} {out / 'wrong.json'}\n")
    put_report(dlsched.verify(EXAMPLE, out / "wrong.json"))


def put_end(runs: Sequence[Row], out: Path, seconds: float) -> None:
    """Say what was done, and the three things to look at."""
    proven = sum(ending(run) == "proven" for run in runs)
    put_line(
        f"{len(runs)} runs in {seconds:.0f} seconds, {proven} of them to a proven optimum. Every "
        "solution was checked in exact arithmetic by code that shares nothing with the methods."
    )
    things = {
        "the report, with charts": out / "report" / "index.html",
        "an example of a paper with its optimum, and more pictures": (
            out / "pictures" / f"{EXAMPLE}.png"
        ),
        "a heuristic, the optimum and the gap between them": (
            f"{COMMAND} compare reclaiming-520-130 -m exact -m lyra -m scf"
        ),
    }
    put("\nThree things to look at:\n")
    for number, (what, where) in enumerate(things.items(), 1):
        put(f"  {number}. {what}\n     {where}\n")  # one line each, to be copied


def main(out: Path) -> int:
    """Run everything; return 1 if a run failed."""
    began = time.monotonic()
    sweep = read_suite(ROOT / "benchmarks" / "suites" / "demo.toml")
    shutil.rmtree(out, ignore_errors=True)
    context = multiprocessing.get_context("spawn")
    with progress.shown(), ProcessPoolExecutor(JOBS, context) as pool:
        out.parent.mkdir(parents=True, exist_ok=True)
        run_shown(sweep, out, jobs=JOBS)
        with Store(out) as store:
            runs = evaluate_rows(store.rows())
            pairs = [
                (run["instance"], json.loads(gzip.decompress(store.content(run))))
                for run in drawn(runs)
            ]
        pictures = pool.submit(draw, pairs, out / "pictures")
        put_line("How many runs of each method are optimal in all levels, and its gaps by level.")
        put("\n")
        put_sweep(runs)
        put("\n")
        put_wrong_answer(out)
        progress.say(Stage.BUILDING, "the report and the pictures")
        write_report(out)
        pictures.result()
        put("\n")
        put_end(runs, out, time.monotonic() - began)
    return status_of(runs)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path("results/demo")))
