"""Whether a record can be true: its starts are replayed, on its nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from dlsched.records.capacity import Capacity
from dlsched.records.division import overfull
from dlsched.results.result import Report, Violation
from dlsched.simulation.history.workload import Clock
from dlsched.simulation.run import Simulation
from dlsched.simulation.workload.clock import TICKS
from dlsched.solvers.garbage import no_collection

if TYPE_CHECKING:
    import pandas as pd

SHOWN: Final = 100
"""Most violations of a kind that are listed."""


def check_replay(jobs: pd.DataFrame, run: Simulation, clock: Clock, capacity: Capacity) -> Report:
    """Return whether a simulation of the recorded starts agrees with the jobs' record."""
    sizes = dict(zip(capacity.nodes["name"], capacity.nodes["gpus"].tolist(), strict=True))
    full = [
        Violation(
            "overfull",
            f"nodes.{name}",
            f"{peak} are held at the same time, it has {sizes.get(name, 0)}",
            peak - sizes.get(name, 0),
        )
        for name, peak, _ in overfull(jobs, sizes)
    ]
    with no_collection():
        audit = run.audit()
    ran = run.jobs.set_index("id").loc[jobs["id"]]
    expected = np.maximum(jobs["start"].to_numpy(float), clock.since)
    carried = (jobs["role"] == "carried").to_numpy()
    expected[carried] = clock.origin
    difference = np.abs(ran["start"].to_numpy(float) + clock.origin - expected)
    difference = np.round(difference * TICKS) / TICKS
    late = np.flatnonzero(difference > 0)
    late = late[np.argsort(-difference[late], kind="stable")]
    violations = [
        Violation(
            "difference",
            f"jobs.{jobs['id'][j]}",
            f"it starts {difference[j]:,.6g} s off its recorded start, as its nodes were not free",
            float(difference[j]),  # type: ignore[arg-type]
        )
        for j in late[:SHOWN].tolist()
    ]
    details = {
        "jobs": len(jobs),
        "largest_difference": float(difference.max(initial=0.0)),
        "different": len(late),
        "overfull": len(full),
        "audit": len(audit.violations),
    }
    found = (*full[:SHOWN], *violations, *audit.violations[:SHOWN])
    return Report(found, None, details)
