"""What a decision of an exact method takes while consecutive rounds differ by a few jobs.

    python benchmarks/round_times.py [muri synergy study]

Prints markdown and writes it to benchmarks/figures/round_times.md. Seconds are those of the
processor in `decide`, of the decisions that solve a problem. If the variable OLD names an earlier
checkout, the same rounds are measured with its code, too, in turns with this one's. Needs
../shared/data of the authors' traces and profiles.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from figures import ROOT, arguments, write

from dlsched.simulation import Cluster, Workload, simulate
from dlsched.simulation.engine.decision import PolicyError
from dlsched.simulation.policies import make_policy
from dlsched.simulation.workload.generators import synergy_workload
from dlsched.simulation.workload.generators.lyra import with_wrong_estimates

SHARED = ROOT.parent / "shared" / "data"


class Case(NamedTuple):
    """Rounds to measure: a policy on a workload, and how many decisions that solve a problem."""

    title: str
    policy: str
    options: dict[str, Any]
    decisions: int
    turns: int = 2
    """How often each code is measured."""


EXACT: dict[str, Any] = {"method": "exact"}
STUDY = "synthetic-1, first 400 jobs, a fifth of the estimates wrong (seed 0), rounds of 360 s"
CASES = {
    "trace3": Case("trace 3, four resources, at events", "muri_s", EXACT | {"interval": None}, 300),
    "fifo": Case(
        "128 GPUs, 9 jobs an hour, FIFO", "synergy", EXACT | {"order": "fifo"}, 300, turns=1
    ),
    "srtf": Case("the same, SRTF", "synergy", EXACT | {"order": "srtf"}, 300, turns=1),
    "rounds": Case(STUDY, "muri_s", EXACT, 90, turns=1),
}


def inputs(name: str) -> tuple[Workload, Cluster]:
    """Return the workload and the cluster of a case."""
    if name == "trace3":
        file = SHARED / "muri" / "trace3.csv"
        return Workload.from_trace(file, "muri", resources=4), Cluster.uniform(8, 8)
    if name in ("fifo", "srtf"):
        profiles = SHARED / "synergy" / "profiles.json"
        jobs = synergy_workload(1500, load=9, split="20/70/10", measured=profiles, seed=42)
        return jobs, Cluster.uniform(16, 8, cpus=24, memory=500)
    jobs = Workload.from_trace("synthetic-1", "muri", limit=400)
    return with_wrong_estimates(jobs, 0.2, seed=0), Cluster.uniform(8, 8)


def measure(name: str) -> dict[str, Any]:
    """Simulate a case; return the seconds of its decisions."""
    case = CASES[name]
    policy = make_policy(case.policy, **case.options)
    decide = policy.decide
    seconds: list[float] = []

    def timed(state: Any) -> Any:
        began = time.process_time()
        decision = decide(state)
        spent = time.process_time() - began
        if decision.solved:
            seconds.append(spent)
            assert decision.solved["status"] == "optimal", decision.solved
        if len(seconds) == case.decisions:
            raise StopIteration
        return decision

    policy.decide = timed  # type: ignore[method-assign]
    try:
        simulate(*inputs(name), policy)
    except PolicyError:
        if len(seconds) < case.decisions:
            raise
    return {"seconds": seconds[1:]}  # the first one loads the libraries


def in_turns(name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the measurements of a case, with the old code and with this one in turns."""
    trees = [("new", ROOT)]
    if "OLD" in os.environ:
        trees.insert(0, ("old", Path(os.environ["OLD"])))
    for _ in range(CASES[name].turns):
        for which, tree in trees:
            paths = {**os.environ, "PYTHONPATH": str(tree / "src")}
            command = [sys.executable, __file__, "--measure", name]
            done = subprocess.run(command, env=paths, check=True, stdout=subprocess.PIPE)
            yield which, json.loads(done.stdout)


def rows(*names: str) -> Iterator[str]:
    """Yield a table of cases; each row's median is the least of its turns."""
    yield "| rounds | code | decisions | median ms | mean ms | 90 % ms | longest ms | together s |"
    yield "|" + "---|" * 8
    for name in names:
        best: dict[str, Any] = {}
        for which, found in in_turns(name):
            ms = 1000 * np.array(found["seconds"])
            figures = (np.median(ms), ms.mean(), np.quantile(ms, 0.9), ms.max(), ms.sum() / 1e3)
            best[which] = min(best.get(which, figures), figures)
            counted = len(ms) + 1
        for which, figures in best.items():
            cells = " | ".join(f"{value:,.1f}" for value in figures)
            yield f"| {CASES[name].title} | {which} | {counted} | {cells} |"
    yield (
        "\nThe first so many decisions of the simulation that solve a problem, but for the very "
        "first, which loads the libraries. Of several turns the one with the least median. Ties "
        "between optima lead old and new apart, so that they are not the same rounds; every "
        "decision is proved optimal."
    )


def muri() -> Iterator[str]:
    """Yield Muri's rounds on trace 3."""
    yield "## `muri_s` with `exact`, 64 GPUs\n"
    yield from rows("trace3")


def synergy() -> Iterator[str]:
    """Yield Synergy's rounds on 128 GPUs."""
    yield "## `synergy` with `exact`, 20/70/10, measured profiles\n"
    yield from rows("fifo", "srtf")


def study() -> Iterator[str]:
    """Yield a run of the simulation study's that took longest."""
    yield "## A run of `simulation-study.toml`: `muri_s` with `exact`, 64 GPUs\n"
    yield from rows("rounds")


SECTIONS = {"muri": muri, "synergy": synergy, "study": study}

if __name__ == "__main__":
    if sys.argv[1:2] == ["--measure"]:
        print(json.dumps(measure(sys.argv[2])))
    else:
        write("round_times", SECTIONS, arguments())
