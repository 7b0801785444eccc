"""What a period's simulation begins with, and whether that of its recorded starts agrees."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from dlsched.records.capacity import Capacity
from dlsched.records.division import overfull
from dlsched.results.result import Report, Violation
from dlsched.schema import Id
from dlsched.simulation.engine.decision import Allocation, Decision, Share
from dlsched.simulation.engine.policy import Policy
from dlsched.simulation.engine.state import State
from dlsched.simulation.history.workload import Clock
from dlsched.simulation.policies.divided import Passing
from dlsched.simulation.policies.placement import Placement
from dlsched.simulation.run import Simulation
from dlsched.simulation.workload.clock import TICKS
from dlsched.solvers.overhead import no_collection

if TYPE_CHECKING:
    import pandas as pd

SHOWN: Final = 100
"""Most violations of a kind that are listed."""


class Carrying(Passing):
    """Starts some jobs on their recorded nodes at the first decision; another policy does the rest.

    Parameters
    ----------
    policy
        The other policy; it may preempt these jobs, if it preempts any.
    jobs
        The jobs that run already, the only ones that are submitted at time 0.
    """

    def __init__(self, policy: Policy, jobs: Sequence[Id]) -> None:
        super().__init__(policy)
        self._jobs = tuple(jobs)
        self.carried = len(self._jobs)

    def decide(self, state: State) -> Decision:
        """Return the starts of the jobs that run already, then what the other policy decides."""
        return super().decide(state) if state.number else Decision(self._starts(state))

    def _starts(self, state: State) -> dict[Id, Allocation]:
        """Return where these jobs run; one without recorded nodes is placed last."""
        index = state.cluster.order[1]
        free = state.free
        jobs = [state.workload.by_id[name] for name in self._jobs]
        start = {}
        for job in jobs:
            for server, gpus in job.nodes:
                free[index[server]] -= gpus
            if job.nodes:
                start[job.id] = Allocation(tuple(Share(*held) for held in job.nodes))
        placeless = [job for job in jobs if not job.nodes]
        return start | Placement(state.cluster, np.maximum(free, 0)).place_all(placeless)


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
