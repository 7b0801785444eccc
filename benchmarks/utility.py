"""Utility from 8 jobs to the paper's 480: proofs, certified gaps, and Hadar's distance to them.

    python benchmarks/utility.py [eight twenty sixty cluster queue forking]

Without arguments every section, an hour; prints markdown and writes it to
benchmarks/figures/utility.md. Times are wall-clock seconds of one process on one thread.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
from figures import arguments, cell, rule_gap, write

import dlsched
from dlsched.problems.utility import Instance
from dlsched.problems.utility.forking import divisible_load
from dlsched.problems.utility.hadar import Hadar
from dlsched.problems.utility.rounds import Rounds

RULES = ("insertion", "hadar", "hadar_literal", "fifo", "srtf", "tiresias")


def table(options: dict[str, object], seeds: range, limit: float) -> Iterator[str]:
    """Yield the rows of one size."""
    yield (
        "| utility | mix | seed | method | status | s | gap | gap, certified | "
        + " | ".join(RULES)
        + " |"
    )
    yield "|" + "---|" * (8 + len(RULES))
    proved = total = 0
    for kind in ("effective_throughput", "linear"):
        for mix in ("groups", "even"):
            for seed in seeds:
                inst = dlsched.generate("utility", seed, mix=mix, utility=kind, **options)
                best = dlsched.solve(inst, time_limit=limit)
                bound = best.certified[0]
                certified = (
                    "-" if bound is None else cell(float(bound.value - best.objective[0])
                                                   / max(1e-12, float(bound.value)))
                )  # fmt: skip
                gaps = [rule_gap(inst, rule, best) for rule in RULES]
                proved += best.status == "optimal"
                total += 1
                yield (
                    f"| {kind} | {mix} | {seed} | {best.method} | {best.status!s} "
                    f"| {best.seconds.total:.1f} | {cell(best.gap[0])} | {certified} | "
                    + " | ".join(gaps)
                    + " |"
                )
    yield f"\nProved: {proved} of {total}, {limit:g} s each."


def eight() -> Iterator[str]:
    """Yield 8 jobs over 20 slots."""
    yield "## 8 jobs, 20 slots, 6 GPUs\n"
    yield "Gaps are |optimum or bound - value| / the larger. Certified: from prices, or LP duals.\n"
    yield from table({"jobs": 8, "slots": 20, "gpus": 6, "per_machine": 2}, range(1, 13), 60)


def twenty() -> Iterator[str]:
    """Yield 20 jobs over 40 slots."""
    yield "## 20 jobs, 40 slots, 12 GPUs\n"
    yield from table({"jobs": 20, "slots": 40, "gpus": 12}, range(1, 4), 60)


def sixty() -> Iterator[str]:
    """Yield 60 jobs over 100 slots."""
    yield "## 60 jobs, 100 slots, 24 GPUs\n"
    yield from table({"jobs": 60, "slots": 100, "gpus": 24}, range(1, 3), 120)


def cluster() -> Iterator[str]:
    """Yield section IV's cluster."""
    yield "## 480 jobs, 400 slots, 60 GPUs (section IV), effective throughput\n"
    yield "`insertion` has five minutes, `dantzig_wolfe` fifteen.\n"
    head = "| seed | status | s | value | certified bound | gap | insertion, 5 min "
    yield head + "| hadar | fifo | srtf | tiresias |"
    yield "|" + "---|" * 11
    inst = dlsched.generate("utility", 1, jobs=480, slots=400, gpus=60)
    best = dlsched.solve(inst, "dantzig_wolfe", time_limit=900)
    bound = best.certified[0]
    inserted = dlsched.solve(inst, "insertion", time_limit=300, rounds=10**9)
    gaps = [rule_gap(inst, rule, best) for rule in ("hadar", "fifo", "srtf", "tiresias")]
    yield (
        f"| 1 | {best.status!s} | {best.seconds.total:.0f} | {float(best.objective[0]):.1f} "
        f"| {float(bound.value):.1f} | {cell(best.gap[0])} "
        f"| {cell(inserted.gap_to(best.bound)[0])} | " + " | ".join(gaps) + " |"
    )


def queue() -> Iterator[str]:
    """Yield the time that Hadar takes to decide one slot."""
    yield "## One round of `hadar`\n"
    yield "60 GPUs; every job is in the queue. The paper: below seven minutes for 2,048 jobs.\n"
    yield "| queued jobs | s | jobs that run |\n|---|---|---|"
    small = dlsched.generate("utility", 1, jobs=4, slots=4, gpus=6)
    Hadar(small).decide(Rounds(small))  # compiles
    for jobs in (64, 512, 2048):
        inst = dlsched.generate("utility", 1, jobs=jobs, slots=1000, gpus=60, arrivals=0.0)
        hadar, rounds = Hadar(inst), Rounds(inst)
        began = time.perf_counter()
        grants = hadar.decide(rounds)
        yield f"| {jobs} | {time.perf_counter() - began:.2f} | {len(grants)} |"


def forking() -> Iterator[str]:
    """Yield HadarE's total duration against the divisible load."""
    yield "## HadarE: total duration on five nodes against the divisible load\n"
    yield "Five nodes of one GPU, each of another type, as in Figure 6; random jobs of 30 to 100"
    yield "slots on one node, all there from the start. Slots, means of ten seeds.\n"
    yield "| jobs | hadare | linear program | hadare / linear program |\n|---|---|---|---|"
    for count in range(1, 13):
        found, least = [], []
        for seed in range(10):
            inst = five_nodes(count, seed)
            result = dlsched.solve(inst, "hadare")
            found.append(float(dlsched.verify(inst, result.solution).details["last_slot"]))
            least.append(divisible_load(inst))
        yield (
            f"| {count} | {np.mean(found):.1f} | {np.mean(least):.1f} "
            f"| {np.mean(np.array(found) / np.array(least)):.3f} |"
        )


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


SECTIONS = {
    "eight": eight,
    "twenty": twenty,
    "sixty": sixty,
    "cluster": cluster,
    "queue": queue,
    "forking": forking,
}

if __name__ == "__main__":
    write("utility", SECTIONS, arguments())
