"""The simulation study: every policy of docs/simulation.md on ten workloads each, with bounds.

    dlsched bench benchmarks/suites/simulation-study.toml -o DIR --jobs 2
    python benchmarks/simulation_study.py DIR

The second command reads the rows of the first, prints a table for each workload, and writes
benchmarks/figures/simulation_study.md. ``--commit`` names the code that made the rows, if it is
not today's.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from code_version import commit_of_code
from dlsched.sweeps.spread import label_of
from figures import FOLDER

from dlsched.display.table import Row
from dlsched.sweeps import Store, read_suite
from dlsched.sweeps.simulation_rows import simulation_rows, table_rows
from dlsched.sweeps.specs import BOUND
from dlsched.sweeps.task import Task

STUDY = Path(__file__).parent / "suites" / "simulation-study.toml"
PARTS = (
    "simulation",
    "traces",
    "gavel",
    *(f"problems/{name}" for name in ("dispatch", "elastic", "interleaving", "reclaiming")),
    *(f"problems/{name}" for name in ("sensitivity", "utility", "workers")),
)
"""Parts of the package that the rows are made with, as `stale.py` reads them."""
COLUMNS = (
    "| policy | runs | mean, s | sd | saved, % | shorter | p99, s | makespan, s | to the bound, % "
    "| ms a decision | s a run |\n|---|---|---|---|---|---|---|---|---|---|---|"
)


def main() -> None:
    """Print the page and write it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="results of the suite")
    parser.add_argument("--commit", default=commit_of_code(), help="code that made the rows")
    given = parser.parse_args()
    head = (
        "# Simulation study: figures\n\nMade by `python benchmarks/simulation_study.py DIR`; "
        "seconds vary with the machine and its load.\n\n<!-- study -->"
    )
    text = "\n".join([head, *study(given.folder, given.commit)]) + "\n"
    (FOLDER / "simulation_study.md").write_text(text, encoding="utf-8")
    print(text, end="")


def study(folder: Path, commit: str) -> Iterator[str]:
    """Yield how much of the suite is done and a table for each workload."""
    tasks = read_suite(STUDY).tasks()
    with Store(folder) as store:
        keys = [row["key"] for row in store.base.execute("SELECT key FROM runs ORDER BY started")]
        by_place = {_place_of_row(row): row for row in store.rows_of(keys)}
    made = [by_place[_place(task)] for task in tasks if _place(task) in by_place]
    rows = simulation_rows(made)
    families: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        families[row["family"]].append(row)
    hours = sum(row["run_seconds"] for row in rows) / 3600
    failed = [row for row in rows if row["status"] not in ("feasible", "no solution")]
    yield (
        f"{len(rows)} of the {len(tasks)} runs of `benchmarks/suites/simulation-study.toml` are "
        f"done, in {hours:.1f} h of processes one after another; {len(failed)} failed. Each "
        "simulation is audited, and is compared with the certified bound of the same jobs and "
        "servers.\n"
    )
    for family, of_family in families.items():
        yield COLUMNS
        yield from _table(of_family)
    machines = sorted({row["machine"] for row in rows})
    versions = sorted({_versions(row) for row in rows})
    code = f"the code of commit {commit} ({', '.join(PARTS)})"


def _place(task: Task) -> tuple[str, str, str]:
    options = json.dumps(dict(task.options), sort_keys=True, default=str)
    return task.instance.name, task.method, options


def _place_of_row(row: Row) -> tuple[str, str, str]:
    return row["instance"], row["method"], row["options"]


def _versions(row: Row) -> str:
    return ", ".join(f"{name} {version}" for name, version in json.loads(row["versions"]).items())


def _table(rows: Sequence[Row]) -> Iterator[str]:
    """Yield a line for each policy, then one for the bounds."""
    simulated = [row for row in rows if row["method"] != BOUND]
    policies: dict[str, list[Row]] = defaultdict(list)
    for row, line in zip(simulated, table_rows(simulated), strict=True):
        policies[label_of(line)].append(row)
    first = {row["workload_seed"]: row["mean_jct"] for row in next(iter(policies.values()))}
    for name, mine in policies.items():
        ended = [row for row in mine if row["status"] == "feasible"]
        if not ended:
            yield f"| {name} | 0 of {len(mine)} |" + " |" * 9
            continue
        means = np.array([row["mean_jct"] for row in ended])
        saved = np.array([1 - row["mean_jct"] / first[row["workload_seed"]] for row in ended])
        cells = [name, str(len(ended)), f"{means.mean():,.0f}", _deviation(means)]
        cells += ["", ""] if ended[0] is simulated[0] else _saving(100 * saved)
        cells += [f"{_mean(ended, 'p99_jct'):,.0f}", f"{_mean(ended, 'makespan'):,.0f}"]
        bounded = [row for row in ended if row.get("mean_jct_gap") is not None]
        cells += [f"{100 * _mean(bounded, 'mean_jct_gap'):.1f}" if bounded else ""]
        cells += [f"{1000 * _mean(ended, 'mean_decision_seconds'):.2f}"]
        cells += [f"{_mean(ended, 'run_seconds'):.1f}"]
        yield "| " + " | ".join(cells) + " |"
    bounds = [row for row in rows if row["method"] == BOUND]
    least = _bounds(bounds)
    if least:
        mean = f"{np.mean(list(least.values())):,.0f}"
        seconds = sum(row["run_seconds"] for row in bounds) / len(least)
        yield f"| certified bound | {len(least)} | {mean} |" + " |" * 7 + f" {seconds:.1f} |"


def _bounds(rows: Sequence[Row]) -> dict[int, float]:
    """Return by seed the bound that holds for every policy."""
    found: dict[int, float] = {}
    for row in rows:
        value = row.get("mean_jct_bound")
        if value is not None:
            seed = row["workload_seed"]
            found[seed] = min(found.get(seed, value), value)
    return found


def _mean(rows: Sequence[Row], name: str) -> float:
    return float(np.mean([row[name] for row in rows]))


def _deviation(values: np.ndarray) -> str:
    return f"{values.std(ddof=1):,.0f}" if len(values) > 1 else ""


def _saving(percent: np.ndarray) -> list[str]:
    text = f"{percent.mean():+.1f} ({percent.min():+.1f} to {percent.max():+.1f})"
    return [text, f"{(percent > 0).sum()} of {len(percent)}"]


if __name__ == "__main__":
    main()
