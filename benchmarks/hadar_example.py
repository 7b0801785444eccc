"""Hadar's example of section II, and what the sections on batches share.

A section of `hadar_simulation.py`, which runs it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from dlsched.simulation import Cluster, Workload, simulate
from dlsched.simulation.run import Simulation

SLOT = 360
TYPES = ("V100", "P100", "K80")
EXAMPLE = {"J1": (3, 80, (40, 20, 30)), "J2": (2, 30, (5, 15, 5)), "J3": (2, 50, (10, 2, 20))}
"""GPUs, epochs, and epochs a round on each type, of the jobs of section II-A."""
EXAMPLE_POLICIES: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("gavel", "gavel", {}),
    ("gavel, makespan", "gavel", {"method": "makespan"}),
    ("hadar", "hadar", {"mode": "full"}),
    ("hadar, inverse time", "hadar", {"mode": "full", "utility": "inverse_time"}),
    ("hadar_literal", "hadar", {"mode": "full", "method": "hadar_literal"}),
    ("optimum of P1, effective throughput", "hadar", {"mode": "full", "method": "exact"}),
    ("optimum of P1, inverse time", "hadar",
     {"mode": "full", "method": "exact", "utility": "inverse_time"}),
)  # fmt: skip


def run(workload: Workload, cluster: Cluster, policy: str, **options: Any) -> Simulation:
    """Simulate and audit."""
    made = simulate(workload, cluster, policy, **options)
    report = made.audit()
    if not report:
        raise SystemExit(f"the audit of {made} failed: {report.violations[:3]}")
    return made


def table(head: list[str]) -> str:
    """Return the head of a table."""
    return f"| {' | '.join(head)} |\n|{'---|' * len(head)}"


def rounds_of(made: Simulation, slot: int = SLOT) -> int:
    """Return the number of rounds until the last completion."""
    return int(-(-made.summary["makespan"] // slot))


def example() -> Iterator[str]:
    """Yield the example of section II-A and Figure 1."""
    yield table(["policy", "rounds", "completion of J1, J2, J3 in rounds", "CRU by round", "CRU"])
    rows = []
    for name, (gpus, epochs, rates) in EXAMPLE.items():
        row = {"id": name, "submit": 0, "gpus": gpus, "work": epochs * SLOT / rates[0]}
        # An epoch counts as 360 iterations, so that rates are whole numbers.
        more = {"iterations": SLOT * epochs, "gpu_type": TYPES[0]}
        rows.append(row | more | {"rates": dict(zip(TYPES, rates, strict=True))})
    workload = Workload.parse({"name": "section II", "jobs": rows}, "the benchmark")
    cluster = Cluster.of(
        [{"gpus": n, "gpu_type": kind} for n, kind in zip((2, 3, 1), TYPES, strict=True)]
    )
    for label, policy, options in EXAMPLE_POLICIES:
        made = run(workload, cluster, policy, **options)
        held = np.zeros(rounds_of(made))
        for segment in made.log.rows("segments"):
            first, last = segment[1] // (10**6 * SLOT), -(-segment[2] // (10**6 * SLOT))
            held[first:last] += segment[3] / cluster.gpus
        yield (
            f"| {label} | {len(held)} | {', '.join(f'{e / SLOT:.3g}' for e in made.jobs['end'])} "
            f"| {', '.join(f'{100 * h:.0f}' for h in held)} % | {100 * held.mean():.0f} % |"
        )
