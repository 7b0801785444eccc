"""Utility from 8 jobs to the paper's 480: proofs, certified gaps, and the gaps of Hadar.

    python benchmarks/utility.py [own open eight twenty forty sixty cluster bound open_bounds
        section4 queue forking random theorem1 theorem2]

Without arguments every section, an hour; prints markdown and writes it to
benchmarks/figures/utility.md. Times are wall-clock seconds of one process on one thread.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import hadar_theorems
import numpy as np
from claims_only.divisible_load import divisible_load
from figures import cell, rule_gap

import dlsched
from dlsched.problems.utility import Instance
from dlsched.problems.utility.definition.check import completions
from dlsched.problems.utility.definition.schema import Utility
from dlsched.problems.utility.heuristics.hadar import Hadar
from dlsched.problems.utility.instances.from_gavel_throughputs import from_throughputs
from dlsched.problems.utility.structures.slot_simulation import Rounds

RULES = (
    "insertion", "hadar", "hadar_literal", "yarn_cs", "tiresias", "srtf",
)  # fmt: skip
GAVEL = Path(__file__).parents[1].parent / "shared/data/gavel/isolated_throughputs.json"
"""Gavel's measured throughputs, which are not part of the repository."""


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


def eight() -> Iterator[str]:
    """Yield 8 jobs over 20 slots."""
    yield from table(
        {"jobs": 8, "slots": 20, "gpus": 6, "per_machine": 2, "arrivals": 0.5}, range(1, 13), 60
    )


def twenty() -> Iterator[str]:
    """Yield 20 jobs over 40 slots."""
    yield from table({"jobs": 20, "slots": 40, "gpus": 12, "arrivals": 0.5}, range(1, 4), 60)


def sixty() -> Iterator[str]:
    """Yield 60 jobs over 100 slots."""
    yield from table({"jobs": 60, "slots": 100, "gpus": 24, "arrivals": 0.5}, range(1, 3), 120)


def cluster() -> Iterator[str]:
    """Yield section IV's cluster."""
    rules = ("hadar", "yarn_cs", "tiresias", "srtf")
    head = "| seed | status | s | value | certified bound | gap | insertion, 5 min | "
    yield head + " | ".join(rules) + " |"
    yield "|" + "---|" * (7 + len(rules))
    inst = dlsched.generate("utility", 1, jobs=480, slots=400, gpus=60)
    best = dlsched.solve(inst, "dantzig_wolfe", time_limit=900)
    bound = best.certified[0]
    inserted = dlsched.solve(inst, "insertion", time_limit=300, rounds=10**9)
    gaps = [rule_gap(inst, rule, best) for rule in rules]
    yield (
        f"| 1 | {best.status!s} | {best.seconds.total:.0f} | {float(best.objective[0]):.1f} "
        f"| {float(bound.value):.1f} | {cell(best.gap[0])} "
        f"| {cell(inserted.gap_to(best.bound)[0])} | " + " | ".join(gaps) + " |"
    )


def bound() -> Iterator[str]:
    """Yield the certified bounds of two sizes, and the processor time that they take."""
    yield "| size | seed | certified bound | s | best schedule | gap |"
    yield "|" + "---|" * 6
    for size, seed in ((size, seed) for size in ("20x40", "480x400") for seed in (1, 2, 3)):
        jobs, slots = map(int, size.split("x"))
        small = {"gpus": 12, "mix": "even", "arrivals": 0.5}
        options = small if jobs == 20 else {"gpus": 60}
        inst = dlsched.generate("utility", seed, jobs=jobs, slots=slots, **options)
        method, limit = ("lagrangian", None) if jobs == 20 else ("dantzig_wolfe", 300)
        dlsched.solve(inst, method, time_limit=0.1)  # imports the solver
        began = time.process_time()
        found = dlsched.solve(inst, method, time_limit=limit)
        seconds = time.process_time() - began
        certified = found.certified[0]
        value = "-" if found.objective is None else f"{float(found.objective[0]):.2f}"
        yield (
            f"| {size} | {seed} | {float(certified.value):.2f} "
            f"| {seconds:.1f} | {value} | {cell(found.gap and found.gap[0])} |"
        )


def section4() -> Iterator[str]:
    """Yield section IV's comparison: when the last job finishes, and the mean completion."""
    yield "| rates | seed | method | finished | last slot | of hadar's | median | mean | used |"
    yield "|" + "---|" * 9
    options = {"jobs": 480, "slots": 4000, "gpus": 60, "utilization": 0.09}
    found: dict[str, list[tuple[float, float, float]]] = {}
    for rates in ("generated", "measured"):
        for seed in (1, 2, 3, 4, 5):
            if rates == "generated":
                inst = dlsched.generate("utility", seed, **options)
            elif GAVEL.exists():
                inst = from_throughputs(GAVEL, seed=seed, **options)
            else:
                continue
            linear = inst.model_copy(update={"utility": Utility(kind="linear")})
            first, middle = 0, 0.0
            for rule, made in (
                ("hadar", inst), ("hadar", linear), ("yarn_cs", inst), ("tiresias", inst),
                ("srtf", inst),
            ):  # fmt: skip
                result = dlsched.solve(made, rule)
                times = sorted(completions(made, result.solution.schedule).values())
                last = int(result.details["last_slot"])
                first, middle = first or last, middle or float(np.median(times))
                name = f"{rule}, linear" if made is linear else rule
                ratios = last / first, float(np.median(times)) / middle
                found.setdefault(name, []).append((*ratios, 100 * result.details["used"]))
                yield (
                    f"| {rates} | {seed} | {name} | {len(times)} | {last} | {last / first:.2f} "
                    f"| {np.median(times):.0f} | {np.mean(times):.0f} "
                    f"| {100 * result.details['used']:.1f} % |"
                )
    heads = [f"{of}, {end}" for of in ("of hadar's", "median", "used") for end in ("least", "most")]
    yield f"| method | {' | '.join(heads)} |\n" + "|---" * (1 + len(heads)) + "|"
    for name, ratios_of in found.items():
        ends = [
            f"{end(values):.2f}" for values in zip(*ratios_of, strict=True) for end in (min, max)
        ]
        yield f"| {name} | {' | '.join(ends)} |"


def queue() -> Iterator[str]:
    """Yield the seconds in which Hadar decides one slot."""
    yield "| queued jobs | by | s | jobs that run |\n|---|---|---|---|"
    for jobs in (64, 512, 1024, 2048):
        inst = dlsched.generate("utility", 1, jobs=jobs, slots=1000, gpus=60, arrivals=0.0)
        hadar, rounds = Hadar(inst), Rounds(inst)
        began = time.process_time()
        grants = hadar.decide(rounds)
        spent = time.process_time() - began
        how = "scan" if hadar.scanned else "program"
        yield f"| {jobs} | {how} | {spent:.2f} | {len(grants)} |"


def forking() -> Iterator[str]:
    """Yield HadarE's total duration against the divisible load."""
    methods: dict[str, dict[str, bool]] = {
        "forked": {},
        "copies, whole": {},
        "copies, divided": {"divided": True},
    }
    heads = [*methods, "linear program", *(f"{rule} / linear program" for rule in methods)]
    yield f"| jobs | {' | '.join(heads)} |\n" + "|---" * (1 + len(heads)) + "|"
    for count in (1, 3, 5, 8, 12):
        found: dict[str, list[float]] = {rule: [] for rule in methods}
        least = []
        for seed in range(5):
            inst = five_nodes(count, seed)
            least.append(divisible_load(inst))
            for rule, options in methods.items():
                method = "forked" if rule == "forked" else "hadare"
                result = dlsched.solve(inst, method, **options)
                last = dlsched.verify(inst, result.solution).details["last_slot"]
                found[rule].append(float(last))
        means = [np.mean(values) for values in found.values()]
        cells = [f"{mean:.1f}" for mean in (*means, np.mean(least))]
        cells += [f"{mean / np.mean(least):.3f}" for mean in means]
        yield f"| {count} | {' | '.join(cells)} |"


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
    "section4": section4,
    "queue": queue,
    "forking": forking,
    "theorem1": hadar_theorems.theorem1,
    "theorem2": hadar_theorems.theorem2,
}
