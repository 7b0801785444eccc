"""Utility: section IV of Hadar's paper, rounds, HadarE against the divisible load."""

import time
from collections.abc import Iterator

import numpy as np
from claims_only.divisible_load import divisible_load
from code_version import ROOT
from runs import Row

import dlsched
from dlsched.problems.shares import read_rates
from dlsched.problems.utility import Instance
from dlsched.problems.utility.definition.check import completions
from dlsched.problems.utility.definition.schema import Utility
from dlsched.problems.utility.heuristics.hadar import Hadar
from dlsched.problems.utility.instances.generate import MODELS_OF, NAMES
from dlsched.problems.utility.structures.slot_simulation import Rounds

GAVEL = ROOT.parent / "shared" / "data" / "gavel" / "isolated_throughputs.json"
"""Gavel's measured throughputs, which are not part of the repository."""


def measured() -> dict[str, list[dict[str, float]]]:
    """Return Gavel's rates of jobs of one GPU, all and by the size of their model."""
    found: dict[str, list[dict[str, float]]] = {"": []}
    for (name, gpus), row in read_rates(GAVEL).alone.items():
        known = {kind.upper(): float(rate) for kind, rate in row.items() if rate}
        models = {NAMES[m]: size for size, models in MODELS_OF.items() for m in models}
        size = next((models[m] for m in models if name.startswith(m)), "")
        for group in {"", size} if known and gpus == 1 else ():
            found.setdefault(group, []).append(known)
    return found


def section4() -> Iterator[Row]:
    """Yield section IV's comparison: when the last job finishes, and the mean completion.

    The paper names no utility: `hadar` has effective throughput, and slots + 1 - completion.
    """
    options = {"jobs": 480, "slots": 4000, "gpus": 60, "utilization": 0.09}
    rules = ("hadar", "hadar, linear", "yarn_cs", "tiresias", "srtf")
    for rates, known in {"generated": "models", "measured": measured()}.items():
        for seed in (1, 2, 3, 4, 5):
            made = dlsched.generate("utility", seed, rates=known, **options)
            first: Row = {}
            for name in rules:
                rule, _, kind = name.partition(", ")
                utility = {"utility": Utility(kind="linear")} if kind else {}
                result = dlsched.solve(made.model_copy(update=utility), rule)
                times = list(completions(made, result.solution.schedule).values())
                row: Row = {"rates": rates, "seed": seed, "method": name, "finished": len(times)}
                row |= {"last slot": int(result.details["last_slot"])}
                row |= {"median": float(np.median(times)), "mean": float(np.mean(times))}
                row["used"] = 100 * result.details["used"]
                first = first or row
                row["of hadar's"] = row["last slot"] / first["last slot"]
                yield row | {"median of hadar's": row["median"] / first["median"]}


def queue() -> Iterator[Row]:
    """Yield the seconds in which Hadar decides one slot; every job is in the queue."""
    for jobs in (64, 512, 1024, 2048):
        made = dlsched.generate("utility", 1, jobs=jobs, slots=1000, gpus=60, arrivals=0.0)
        hadar, rounds = Hadar(made), Rounds(made)
        began = time.process_time()
        grants = hadar.decide(rounds)
        spent = time.process_time() - began
        yield {"queued jobs": str(jobs), "s": spent, "jobs that run": len(grants)}


def forking() -> Iterator[Row]:
    """Yield HadarE's total duration against the divisible load, a linear program."""
    methods: dict[str, tuple[str, Row]] = {
        "copies, whole": ("hadare", {}),
        "copies, divided": ("hadare", {"divided": True}),
    }
    for count in (1, 3, 5, 8, 12):
        for seed in range(5):
            made = five_nodes(count, seed)
            row: Row = {"jobs": count, "seed": seed, "linear program": float(divisible_load(made))}
            for label, (method, options) in methods.items():
                result = dlsched.solve(made, method, **options)
                last = dlsched.verify(made, result.solution).details["last_slot"]
                row[label] = float(last)
            yield row


def five_nodes(count: int, seed: int) -> Instance:
    """Return a forking instance on five unlike nodes."""
    rng = np.random.default_rng(seed)
    speeds = np.array([1.0, 0.8, 0.55, 0.35, 0.2])
    jobs = []
    for j in range(count):
        rates = np.round(10 * speeds * rng.uniform(0.7, 1.3, 5), 2)
        work = int(rng.integers(30, 101) * rates.max() * 60)
        kinds = {f"T{i}": float(rate) for i, rate in enumerate(rates)}
        jobs.append({"id": f"j{j}", "arrival": 1, "workers": 1, "iterations": work, "rates": kinds})
    return Instance(
        name=f"nodes-{count}-{seed}",
        slots=2000,
        slot_seconds=60,
        forking=True,
        utility={"kind": "linear"},
        machines=[{"id": f"n{i}", "gpus": {f"T{i}": 1}} for i in range(5)],
        jobs=jobs,
    )
