"""The peers' tables, from sweeps of suites/peers.toml (sizes) and suites/peers_regimes.toml.

    dlsched bench benchmarks/suites/peers.toml -o results/peers
    python -m benchmarks.peers.table results/peers

    timeout -s INT 600 dlsched bench benchmarks/suites/peers_regimes.toml -o results/regimes
    python -m benchmarks.peers.table results/regimes

The first two write the part of benchmarks/figures/peers.md with sizes, the others that with
regimes, whatever runs are stored so far; with `--resume` the sweep goes on.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from dlsched.display.table import Row
from dlsched.results.performance_profiles import ending, label_of
from dlsched.results.statistics import solution_of
from dlsched.sweeps import Store
from dlsched.sweeps.stored_runs import evaluate_rows

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
benchmarks.peers.table results/peers`; a time limit of 10 s, killed after 30 s, one thread. Of the
[regimes](#regimes) at the end the suite is `peers_regimes.toml`.

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
REGIMES = """
## Regimes

Small instances of ten seeds, or as many as the last column says, limit 5 s: loose and tight, few
and many equal, wide ranges, multi, scattered. Cells as above. The last column counts the seeds on
which a peer proved the optimum in less time than ours did, and names the peers. Each run is a
process of its own, forked after the library was imported: times are those of a first call. Where a
peer is faster by more than a tenth: on workers the first call of `exact` prepares more than it
searches (in a second call it takes 12 ms, the whole model 14); on scattered fleets nearly all the
time is HiGHS's search of both levels, and SCIP's is shorter.

"""


Cases = dict[tuple[str, str], dict[str, list[Row]]]
"""The runs by problem and parameters, then by method."""


def cases_of(runs: Sequence[Row]) -> Cases:
    """Return the runs of each case."""
    cases: Cases = {}
    for run in runs:
        problem = run["problem"]
        case = run["instance"].removeprefix(f"{problem}-").rpartition("-")[0].replace("-", ", ")
        cases.setdefault((problem, case), defaultdict(list))[label_of(run)].append(run)
    return cases


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(heads)} |"
    yield "|---" * len(heads) + "|"
    yield from (f"| {' | '.join(row)} |" for row in rows)


def _cells(by_label: Mapping[str, list[Row]], labels: Sequence[str]) -> list[str]:
    ours = _seconds(by_label["exact"])
    return [_cell(by_label.get(label, []), ours, label == "exact") for label in labels]


def size_lines(runs: Sequence[Row]) -> Iterator[str]:
    """Yield a table for each problem."""
    for problem in dict.fromkeys(run["problem"] for run in runs):
        cases = {case: by for (p, case), by in cases_of(runs).items() if p == problem}
        labels = [name for name in NAMES if any(name in by for by in cases.values())]
        heads = ["instance", *map(NAMES.__getitem__, labels)]
        yield f"\n## {problem}\n"
        yield from _table(heads, ([case, *_cells(by, labels)] for case, by in cases.items()))
        left = [[case, *(_gap_left(by[label]) for label in labels)] for case, by in cases.items()]
        if rows := [row for row in left if any(row[1:])]:
            yield "\nGaps left at the limit:\n"
            yield from _table(heads, rows)


def regime_lines(runs: Sequence[Row]) -> Iterator[str]:
    """Yield the table of regimes, a row for each."""
    cases = cases_of(runs)
    labels = [name for name in NAMES if any(name in by for by in cases.values())]
    heads = ["problem", "instance", *map(NAMES.__getitem__, labels), "times a peer was faster"]
    rows = ([*case, *_cells(by, labels), _faster(by)] for case, by in cases.items())
    yield from _table(heads, rows)


def _faster(by_label: Mapping[str, list[Row]]) -> str:
    """Return on how many instances a peer proved the optimum in less time than ours."""
    proved = {
        label: {run["instance"]: run["seconds"] for run in runs if _ending(run) is None}
        for label, runs in by_label.items()
    }
    ours = proved.pop("exact")
    faster = {
        NAMES[label]: [i for i, seconds in found.items() if seconds < ours.get(i, np.inf)]
        for label, found in proved.items()
    }
    of = len({run["instance"] for run in by_label["exact"]})
    names = [f"{name} {len(which)}" for name, which in faster.items() if which]
    total = len({i for which in faster.values() for i in which})
    return f"{total} of {of}" + (f" ({', '.join(names)})" if names else "")


def _cell(runs: Sequence[Row], ours: float, own: bool) -> str:
    if not runs:
        return ""
    endings = {_ending(run) for run in runs} - {None}
    words = sorted(ending for ending in endings if isinstance(ending, str))
    if words or endings:
        return " / ".join([*words, *(["limit"] if len(endings) > len(words) else [])])
    seconds = _seconds(runs)
    return f"{seconds:.3g} s" if own else f"{seconds / ours:.3g}"


def _gap_left(runs: Sequence[Row]) -> str:
    """Return the worst gap of the runs that were not proved in time; empty if there is none."""
    gaps = [ending for ending in map(_ending, runs) if isinstance(ending, float)]
    if not gaps:
        return ""
    return f"{np.format_float_positional(float(f'{100 * max(gaps):.2g}'), trim='-')} %"


def _ending(run: Row) -> str | float | None:
    """Return what stands instead of a time, a word or a gap; nothing if it was proved."""
    if run["status"] == "error":
        return "refused" if run["reason"].startswith("OptionError") else "error"
    if ending(run) == "failed":
        return str(run["status"])
    if not solution_of(run):
        return str(run["status"])
    left = run["gap_to_best"] or 0.0
    done = ending(run) == "proven" or (run["kind"] == "heuristic" and left < 1e-9)
    return None if done else left


def _seconds(runs: Sequence[Row]) -> float:
    """Return the geometric mean over instances of the median over the runs on each."""
    by_instance: dict[str, list[float]] = defaultdict(list)
    for run in runs:
        if run["seconds"] is not None:
            by_instance[run["instance"]].append(run["seconds"])
    return float(np.exp(np.mean(np.log([np.median(each) for each in by_instance.values()]))))


def main(folder: str) -> None:
    """Read a sweep, and write its part of the page."""
    with Store(folder) as store:
        rows = store.rows()
    runs = evaluate_rows(rows)
    versions = json.loads(rows[0]["versions"])
    said = ", ".join(f"{name} {version}" for name, version in versions.items())
    machine = f"\n\nMachine: {rows[0]['machine']}; {said}.\n"
    sizes, title, regimes = FILE.read_text(encoding="utf-8").partition("\n## Regimes\n")
    if len({run["instance"].rpartition("-")[2] for run in runs}) > 2:  # ten seeds, not two
        title, regimes = REGIMES, "\n".join(regime_lines(runs)) + machine
    else:
        sizes = HEAD + "\n".join(size_lines(runs)) + machine
    FILE.write_text(sizes + title + regimes, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
