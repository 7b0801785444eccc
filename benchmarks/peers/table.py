"""The peers' table, from a sweep of suites/peers.toml.

    dlsched bench benchmarks/suites/peers.toml -o results/peers
    python -m benchmarks.peers.table results/peers

Writes benchmarks/figures/peers.md: per problem and size each peer's time over ours, geometric
means over the seeds, or how it ended.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from dlsched.sweeps import Store, statistics
from dlsched.sweeps.statistics import EvaluatedRun

FILE = Path(__file__).resolve().parents[1] / "figures" / "peers.md"
NAMES = {
    "exact": "ours",
    "milp": "HiGHS, the whole model",
    "benchmarks.peers.solvers:scipy_milp": "scipy.optimize.milp",
    "benchmarks.peers.solvers:scip": "SCIP",
    "benchmarks.peers.cp_sat:cp_sat": "CP-SAT",
    "benchmarks.peers.special:networkx_matching": "networkx",
    "benchmarks.peers.special:scip_squares": "SCIP, squares as they are",
}
HEAD = """# Peers: figures

Made by `dlsched bench benchmarks/suites/peers.toml -o results/peers` and `python -m
benchmarks.peers.table results/peers`; a time limit of 10 s, killed after 30 s, one thread.

The column *ours* has seconds, the others time as a multiple of ours: geometric means over the
instances of two seeds. In reclaiming, placement and workers each method but CP-SAT runs three times
on an instance, with other seeds, and the median counts: ours comes first, and the first run in a
process is slower by some milliseconds. *Limit*: not proved in time; the worst gap that was left, to
the strongest bound of any method, is in the second table. *No solution*: none in time.
*wall_timeout*: a solver that was killed because it exceeded its time limit. *Rejected*: called
optimal, where the cost of its solution is more than a millionth from its own bound, as CP-SAT
counts in whole numbers. *Refused*: a peer that cannot take the instance.
Times include building the model and checking the solution.
"""


def lines(runs: Sequence[EvaluatedRun]) -> Iterator[str]:
    """Yield a table for each problem."""
    for problem in dict.fromkeys(run.row["problem"] for run in runs):
        own = [run for run in runs if run.row["problem"] == problem]
        labels = [name for name in NAMES if any(run.label == name for run in own)]
        yield f"\n## {problem}\n"
        yield "| instance | " + " | ".join(NAMES[name] for name in labels) + " |"
        yield "|---" * (len(labels) + 1) + "|"
        cases: dict[str, dict[str, list[EvaluatedRun]]] = defaultdict(lambda: defaultdict(list))
        for run in own:
            case = run.row["instance"].removeprefix(f"{problem}-").rpartition("-")[0]
            cases[case][run.label].append(run)
        for case, by_label in cases.items():
            ours = _seconds(by_label["exact"])
            cells = [_cell(by_label[label], ours, label == "exact") for label in labels]
            yield _row(case, cells)
        left = {case: [_gap_left(by[label]) for label in labels] for case, by in cases.items()}
        if any(any(gaps) for gaps in left.values()):
            yield "\nGaps left at the limit:\n"
            yield "| instance | " + " | ".join(NAMES[name] for name in labels) + " |"
            yield "|---" * (len(labels) + 1) + "|"
            yield from (_row(case, gaps) for case, gaps in left.items() if any(gaps))


def _row(case: str, cells: Sequence[str]) -> str:
    return f"| {case.replace('-', ', ')} | " + " | ".join(cells) + " |"


def _cell(runs: Sequence[EvaluatedRun], ours: float, own: bool) -> str:
    if not runs:
        return ""
    endings = {_ending(run) for run in runs} - {None}
    words = sorted(ending for ending in endings if isinstance(ending, str))
    if words or endings:
        return " / ".join([*words, *(["limit"] if len(endings) > len(words) else [])])
    seconds = _seconds(runs)
    return f"{seconds:.3g} s" if own else f"{seconds / ours:.3g}"


def _gap_left(runs: Sequence[EvaluatedRun]) -> str:
    """Return the worst gap of the runs that were not proved in time; empty if there is none."""
    gaps = [ending for ending in map(_ending, runs) if isinstance(ending, float)]
    if not gaps:
        return ""
    return f"{np.format_float_positional(float(f'{100 * max(gaps):.2g}'), trim='-')} %"


def _ending(run: EvaluatedRun) -> str | float | None:
    """Return what stands instead of a time, a word or a gap; nothing if it was proved."""
    if run.row["status"] == "error":
        return "refused" if run.row["reason"].startswith("OptionError") else "error"
    if run.ending == "failed":
        return str(run.row["status"])
    if run.objective is None:
        return str(run.row["status"])
    gaps = [g for g in run.gaps if g is not None]
    left = next((g for g in gaps if g), 0.0)
    done = run.ending == "proven" or (run.row["kind"] == "heuristic" and left < 1e-9)
    return None if done else left


def _seconds(runs: Sequence[EvaluatedRun]) -> float:
    """Return the geometric mean over instances of the median over the runs on each."""
    by_instance: dict[str, list[float]] = defaultdict(list)
    for run in runs:
        by_instance[run.row["instance"]].append(run.row["seconds"])
    return float(np.exp(np.mean(np.log([np.median(each) for each in by_instance.values()]))))


def main(folder: str) -> None:
    """Read a sweep and write the table."""
    with Store(folder) as store:
        rows = store.rows()
    runs = statistics.evaluate_rows(rows)
    versions = json.loads(rows[0]["versions"])
    said = ", ".join(f"{name} {version}" for name, version in versions.items())
    text = HEAD + "\n".join(lines(runs)) + f"\n\nMachine: {rows[0]['machine']}; {said}.\n"
    FILE.write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main(sys.argv[1])
