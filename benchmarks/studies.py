"""`frontier` on three library instances, `what_if` for all servers of one.

Run ``python benchmarks/studies.py [frontier|what_if]`` for benchmarks/figures/studies.md. Seconds
are processor time, with the compilation of the model.
"""

from __future__ import annotations

import argparse
import time

import dlsched
from dlsched.execution import Local

FRONTIERS = {
    "reclaiming-520-130": ("preempted", "collateral"),
    "workers-192": ("placed", "opened"),
    "elastic-80": ("launched", "reduction"),
}
FLEET = "reclaiming-520-130"


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", default=["frontier", "what_if"])
    parser.add_argument("--jobs", type=int, default=1, help="processes of what_if")
    given = parser.parse_args()
    parts, jobs = given.parts, given.jobs
    if "frontier" in parts:
        print("| instance | levels | points | proved | s |\n|---|---|---|---|---|")
        for name, levels in FRONTIERS.items():
            began = time.process_time()
            points = dlsched.frontier(name, levels)
            spent = time.process_time() - began
            proved = int((points["status"] == "optimal").sum())
            print(f"| {name} | {', '.join(levels)} | {len(points)} | {proved} | {spent:.1f} |")
    if "what_if" in parts:
        instance = dlsched.load(FLEET)
        fixes = [{f"x[{server.id}]": 1} for server in instance.servers]
        began, cpu = time.perf_counter(), time.process_time()
        costs = dlsched.what_if(instance, fixes, on=Local(jobs) if jobs > 1 else None)
        spent, cpu = time.perf_counter() - began, time.process_time() - cpu
        proved = int((costs["status"] == "optimal").sum())
        free = int((costs["preempted_cost"] == 0).sum()) - 1
        print(
            f"what_if {FLEET}: {len(fixes)} servers in {spent:.1f} s, {jobs} processes, "
            f"{cpu:.1f} s of this one, {proved - 1} proved, "
        )
        print(f"{free} cost no preempted job, the worst {costs['preempted_cost'].max():.0f}")


if __name__ == "__main__":
    main()
