"""`frontier` on three library instances, `what_if` for all servers of one, a simulation study.

Run ``python benchmarks/studies.py [frontier|what_if]`` for benchmarks/figures/studies.md. Seconds
are processor time, with the compilation of the model. The study is not run:
``python benchmarks/studies.py simulation --folder DIR`` says what is done in a folder of
``dlsched bench benchmarks/suites/simulation-study.toml -o DIR``, and how long the rest takes.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

import dlsched
from dlsched.bench import Local, Store, read_suite
from dlsched.bench.simulation_rows import simulation_rows, table_rows
from dlsched.bench.spread import label_of, spread_rows
from dlsched.bench.task import Task
from dlsched.bench.workload_spec import BOUND
from dlsched.display.figures import percent
from dlsched.display.table import Row

FRONTIERS = {
    "reclaiming-520-130": ("preempted", "collateral"),
    "workers-192": ("placed", "opened"),
    "elastic-80": ("launched", "reduction"),
}
FLEET = "reclaiming-520-130"
STUDY = Path(__file__).parent / "suites" / "simulation-study.toml"


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", default=["frontier", "what_if"])
    parser.add_argument("--jobs", type=int, default=1, help="processes of what_if")
    parser.add_argument("--folder", type=Path, help="with the results of the simulation study")
    given = parser.parse_args()
    parts, jobs = given.parts, given.jobs
    if "simulation" in parts:
        print("\n".join(simulation(given.folder)))
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


def simulation(folder: Path) -> Iterator[str]:
    """Yield what is done of the simulation study: completion times by policy, and hours."""
    tasks = read_suite(STUDY).tasks()
    with Store(folder) as store:
        keys = [row["key"] for row in store.base.execute("SELECT key FROM runs ORDER BY started")]
        made = {_place(row["instance"], row["method"], row["options"]): row
                for row in store.rows_of(keys)}  # fmt: skip
    planned: dict[str, list[Task]] = defaultdict(list)
    for task in tasks:
        planned[str(task.instance.family)].append(task)
    rows = {_of_task(task): made[_of_task(task)] for task in tasks if _of_task(task) in made}
    flat = dict(zip(rows, simulation_rows(rows.values()), strict=True))
    seconds = sum(row["run_seconds"] for row in rows.values())
    yield f"{len(rows)} of {len(tasks)} runs are done, in {seconds / 3600:.1f} h.\n"
    yield "| workload | policy | runs | mean completion time, s | sd | saved | gap | s each |"
    yield "|---|---|---|---|---|---|---|---|"
    unknown = 0
    limits = 0.0
    expected = 0.0
    for family, of_family in planned.items():
        done = [flat[_of_task(task)] for task in of_family if _of_task(task) in flat]
        spread = {label_of(line): line for line in spread_rows(done)}
        for name, group in _by_policy(of_family).items():
            mine = [flat[place] for place in group if place in flat]
            each = sum(row["run_seconds"] for row in mine) / len(mine) if mine else None
            if not mine:
                unknown += len(group)
                limits += sum(
                    task.limits.wall_limit for task in of_family if _of_task(task) in group
                )
            expected += (each or 0.0) * len(group)
            shown = "" if each is None else f"{each:.1f}"
            line = spread.get(_label(mine)) if mine else None
            yield f"| {family} | {name} | {len(mine)} of {len(group)} | {_values(line)} | {shown} |"
    yield (
        f"\nAt these seconds all runs but {unknown}, of which none is done, take "
        f"{expected / 3600:.1f} h one after another, and those at most {limits / 3600:.0f} h, "
        "their limit."
    )


def _place(instance: str, method: str, options: str) -> tuple[str, str, str]:
    return instance, method, options


def _of_task(task: Task) -> tuple[str, str, str]:
    options = json.dumps(dict(task.options), sort_keys=True, default=str)
    return _place(task.instance.name, task.method, options)


def _by_policy(tasks: Sequence[Task]) -> dict[str, list[tuple[str, str, str]]]:
    """Return the runs of one workload by policy and options."""
    groups: dict[str, list[tuple[str, str, str]]] = defaultdict(list)
    for task in tasks:
        inside = ", ".join(str(value) for _, value in sorted(dict(task.options).items()))
        groups[f"{task.method} ({inside})" if inside else task.method].append(_of_task(task))
    return groups


def _label(rows: Sequence[Row]) -> str | None:
    """Return how tables name the policy of these runs; a bound is none."""
    simulated = [row for row in rows if row["method"] != BOUND]
    return label_of(table_rows(simulated[:1])[0]) if simulated else None


def _values(line: Row | None) -> str:
    if line is None or line["mean_jct"] is None:
        return " | | | "
    deviation = "" if line["sd"] is None else f"{line['sd']:,.0f}"
    saved = percent(line["saved"]) if line["saved"] else ""
    return f"{line['mean_jct']:,.0f} | {deviation} | {saved} | {percent(line['gap'])}"


if __name__ == "__main__":
    main()
