"""The simulation study: every policy of docs/simulation.md on drawn workloads, with bounds."""

import json
from collections.abc import Iterator

from measure import swept
from runs import Row

from dlsched.sweeps.specs import BOUND


def study(only: str) -> Iterator[Row]:
    """Yield the runs of the suite's parts that have a text, each beside the first with its seed."""
    runs = list(swept("simulation-study", only))
    first: dict[tuple[str, int], float] = {}
    bounds: dict[tuple[str, int], float] = {}
    for run in runs:
        if run["status"] == "error":
            continue
        key = (run["family"], run["workload_seed"])
        row: Row = {"workload": key[0], "seed": key[1], "s a run": run["run_seconds"]}
        if run["method"].startswith(BOUND):
            value = run.get("mean_jct_bound")
            if value is not None:  # of several, the one that holds for all policies
                bounds[key] = min(bounds.get(key, value), value)
        elif run["status"] == "feasible":
            first.setdefault(key, run["mean_jct"])
            saved = 100 * (1 - run["mean_jct"] / first[key])
            yield row | {
                "policy": label(run), "mean, s": run["mean_jct"], "saved, %": saved,
                "shorter": saved > 0, "p99, s": run["p99_jct"], "makespan, s": run["makespan"],
                "to the bound, %": 100 * run.get("mean_jct_gap", float("nan")),
                "ms a decision": 1000 * run["mean_decision_seconds"],
            }  # fmt: skip
    for (family, seed), least in bounds.items():
        yield {"workload": family, "seed": seed, "policy": "certified bound", "mean, s": least}


def label(run: Row) -> str:
    """Return a policy with its method and its options."""
    options = json.loads(run["options"] or "{}")
    said = [options.pop("method")] if "method" in options else []
    said += [f"{name}={value}" for name, value in options.items()]
    name = run["method"].partition(" {")[0]
    return f"{name} ({', '.join(said)})" if said else name
