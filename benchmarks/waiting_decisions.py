"""What a decision takes while 10,000 jobs wait, for each policy.

    python benchmarks/waiting_decisions.py

Prints markdown and writes it to benchmarks/figures/waiting_decisions.md. Seconds are those of the
processor in `decide`. Needs ../shared/data of the authors' traces and profiles.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np
from figures import ROOT, arguments, write

from dlsched.simulation import Cluster, Workload, simulate
from dlsched.simulation.engine.decision import PolicyError
from dlsched.simulation.policies import make_policy
from dlsched.simulation.workload.generators import lyra_cluster, lyra_workload, synergy_workload

SHARED = ROOT.parent / "shared" / "data"
WAITING, MORE, DECISIONS = 10_000, 100, 30
"""Jobs at 0, further ones that come one a minute, and how many decisions are measured."""


def queued(rows: list[dict[str, Any]], **others: Any) -> Workload:
    """Return a workload of rows, of which all but the last ones are submitted at 0."""
    for i, row in enumerate(rows):
        row |= {"id": f"j{i}", "submit": max(0, i - WAITING) * 60}
    return Workload.model_validate({"name": "queue", "jobs": rows, **others})


def traced() -> tuple[Workload, Cluster]:
    """Return the jobs of Muri's trace 1, repeated with work that varies, on 64 GPUs."""
    file = SHARED / "muri" / "trace1.csv"
    whole = Workload.from_trace(file, "muri", resources=4, together=True).up_to(64)[0]
    rng = np.random.default_rng(0)
    rows = []
    for i in range(WAITING + MORE):
        row = whole.jobs[i % len(whole.jobs)].model_dump(exclude_defaults=True)
        row.pop("estimate", None)
        rows.append(row | {"work": round(float(row["work"]) * rng.uniform(0.5, 1.5), 3)})
    return queued(rows), Cluster.uniform(8, 8)


def synergy() -> tuple[Workload, Cluster]:
    """Return jobs of Synergy's kind, on 64 GPUs."""
    profiles = SHARED / "synergy" / "profiles.json"
    jobs = synergy_workload(WAITING + MORE, load=None, seed=1, split="60/30/10", measured=profiles)
    return jobs, Cluster.uniform(8, 8, cpus=24, memory=500)


def lyra(loaning: bool) -> tuple[Workload, Cluster]:
    """Return jobs of Lyra's kind, on 16 training servers and up to 8 on loan."""
    drawn = lyra_workload(64, days=31, load=1.5, seed=1)
    rows = [job.model_dump(exclude_defaults=True) for job in drawn.jobs[: WAITING + MORE]]
    return queued(rows), lyra_cluster(16, 8, days=1, loaning=loaning, seed=1)


RATED = {"elastic": "completion_rates", "retries": 30}
ROWS = (
    ("fifo", traced, "fifo", {}),
    ("srsf", traced, "srsf", {}),
    ("muri_s", traced, "muri_s", {}),
    ("synergy, order srtf", synergy, "synergy", {"order": "srtf"}),
    ("synergy, order prices", synergy, "synergy", {"order": "prices"}),
    ("lyra, no loan", lambda: lyra(False), "lyra", {}),
    ("lyra, loan", lambda: lyra(True), "lyra", {}),
    ("lyra, completion_rates, no loan", lambda: lyra(False), "lyra", RATED),
    ("lyra, completion_rates, loan", lambda: lyra(True), "lyra", RATED),
)


def times(jobs: Workload, cluster: Cluster, name: str, options: dict[str, Any]) -> list[float]:
    """Return the processor seconds of the first decisions in which something can change."""
    policy: Any = make_policy(name, **options)
    decide, taken = policy.decide, []

    def measured(state: Any) -> Any:
        began = time.process_time()
        decision = decide(state)
        taken.append(time.process_time() - began)
        if len(taken) == DECISIONS:
            raise StopIteration
        return decision

    policy.decide = measured
    try:
        simulate(jobs, cluster, policy)
    except PolicyError:
        if len(taken) < DECISIONS:
            raise
    return taken


def decisions() -> Iterator[str]:
    """Yield a row for each policy."""
    yield f"{WAITING:,} jobs at 0, then one a minute; the first {DECISIONS} decisions. The first"
    yield "one also computes what follows from the workload, once for the simulation.\n"
    yield "| policy | median, ms | most after the first, ms | first, ms |\n|---|---|---|---|"
    for label, make, name, options in ROWS:
        taken = 1000 * np.array(times(*make(), name, options))
        yield f"| {label} | {np.median(taken):.1f} | {taken[1:].max():.1f} | {taken[0]:.0f} |"


if __name__ == "__main__":
    write("waiting_decisions", {"decisions": decisions}, arguments())
