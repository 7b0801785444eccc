"""Interleaving: heads of Muri's queues, and Muri's rounds against other matchings."""

import time
from collections.abc import Iterator

import numpy as np
import rustworkx
from code_version import ROOT
from runs import Row, rows_of

import dlsched
from dlsched.problems.interleaving.heuristics.matching import SCALE, match
from dlsched.problems.interleaving.structures.groups import pair_efficiencies, stage_array
from dlsched.records import read_trace
from dlsched.simulation import queue

RECORDED = ROOT.parent / "shared" / "data" / "muri"
MOMENTS = range(5, 100, 5)
"""Days of a recorded trace at which its queue is looked at."""
METHODS = [{"method": "exact", "time_limit": 30.0}, "muri", "muri_needed", "swap", "greedy"]


def heads() -> Iterator[Row]:
    """Yield the recorded traces' queues by least remaining time times GPUs.

    Full: full groups take all 64 GPUs. Not full: fewer jobs, but more than fit alone.
    """
    for name in ("trace1", "trace3"):
        jobs = read_trace(RECORDED / f"{name}.csv")
        for resources in (3, 4):
            for day in MOMENTS:
                made = queue(jobs, f"{day}d", resources=resources)
                if sum(job.gpus for job in made.jobs) > (made.gpu_budget or 0):
                    full = "full" if made.least_gpus == made.gpu_budget else "not full"
                    label = f"{name}, k={resources}, {full}"
                    said = {"head": label, "day": day, "jobs": len(made.jobs)}
                    yield from rows_of(made, METHODS, said)


def rounds() -> Iterator[Row]:
    """Yield Muri's rounds, and rustworkx's matching of the whole graph of round one."""
    dlsched.solve(dlsched.generate("interleaving", 9, jobs=16), "muri")
    for jobs in (256, 512, 1000):
        instance, row = dlsched.generate("interleaving", 1, jobs=jobs), {"jobs": str(jobs)}
        for _ in range(3):
            began = time.process_time()
            dlsched.solve(instance, "muri")
            middle = time.process_time()
            weights = pair_efficiencies(stage_array(instance))
            found = match(weights)
            spent = {"muri, s": middle - began, "round one, s": time.process_time() - middle}
            row |= {name: min(s, row.get(name, s)) for name, s in spent.items()}
        units = np.rint(weights * SCALE).astype(np.int64).tolist()
        seconds, dense = _dense(units)
        row |= {"s": seconds, "dense / muri": seconds / row["muri, s"]}
        same = sum(units[i][j] for i, j in dense) == found.weight
        yield row | {"same weight": "yes" if same else "NO"}


def _dense(units: list[list[int]]) -> tuple[float, set[tuple[int, int]]]:
    """Return the seconds in which rustworkx matches the whole graph, and the matching."""
    graph = rustworkx.PyGraph()
    graph.add_nodes_from(range(len(units)))
    graph.add_edges_from([(i, j, units[i][j]) for i in range(len(units)) for j in range(i)])
    began = time.process_time()
    dense = rustworkx.max_weight_matching(graph, weight_fn=int)
    return time.process_time() - began, dense
