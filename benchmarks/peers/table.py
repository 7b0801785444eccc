"""Rows of the peers' tables, from sweeps of suites/peers.toml (sizes) and peers_regimes.toml."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from measure import swept

from dlsched.display.table import Row
from dlsched.results.performance_profiles import ending
from dlsched.results.statistics import solution_of

NAMES = {
    "exact": "ours",
    "milp": "HiGHS, the whole model",
    "benchmarks.peers.solvers:scipy_milp": "scipy.optimize.milp",
    "benchmarks.peers.solvers:scip": "SCIP",
    "benchmarks.peers.cp_sat:cp_sat": "CP-SAT",
    "benchmarks.peers.solvers:glpk": "GLPK",
    "benchmarks.peers.special:networkx_matching": "networkx",
    "benchmarks.peers.special:scip_squares": "SCIP, squares as they are",
}
Cases = dict[tuple[str, str], dict[str, list[Row]]]
"""The runs by problem and parameters, then by method."""


def cases_of(suite: str, only: str = "") -> Cases:
    """Return the runs of each case."""
    cases: Cases = {}
    for run in swept(suite, only):
        problem = run["problem"]
        case = run["instance"].removeprefix(f"{problem}-").rpartition("-")[0].replace("-", ", ")
        cases.setdefault((problem, case), defaultdict(list))[run["method"]].append(run)
    return cases


def _cells(by_label: Mapping[str, list[Row]], labels: Sequence[str]) -> Row:
    ours = _seconds(by_label["exact"])
    return {
        NAMES[label]: _cell(by_label.get(label, []), ours, label == "exact") for label in labels
    }


def sizes(problem: str) -> Iterator[Row]:
    """Yield times by size, and the gaps that were left at the limit."""
    cases = {case: by for (_, case), by in cases_of("peers", f'"{problem}"\n').items()}
    labels = [name for name in NAMES if any(name in by for by in cases.values())]
    for case, by in cases.items():
        yield {"table": 0, "instance": case} | _cells(by, labels)
    for case, by in cases.items():
        left = {NAMES[label]: _gap_left(by[label]) for label in labels}
        if any(left.values()):
            yield {"table": 1, "instance": case} | left


def regimes() -> Iterator[Row]:
    """Yield a row for each regime."""
    cases = cases_of("peers_regimes")
    labels = [name for name in NAMES if any(name in by for by in cases.values())]
    for (problem, case), by in cases.items():
        row = {"problem": problem, "instance": case} | _cells(by, labels)
        yield row | {"times a peer was faster": _faster(by)}


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
