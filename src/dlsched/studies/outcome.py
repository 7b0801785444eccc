"""What became of the jobs of a period: in the record, or under one policy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from dlsched.simulation import Simulation
from dlsched.simulation.history import Period
from dlsched.simulation.measures.metrics import count_over_time, rank
from dlsched.simulation.measures.queue import Floats, integral
from dlsched.studies.parts import Part

if TYPE_CHECKING:
    import pandas as pd

Ints = NDArray[np.int64]
RECORDED: Final = "recorded"
"""Name of the record among the policies."""
AS_RAN: Final = "as ran: "
"""Before the name of what the cluster is said to run."""
MARGIN: Final = 1.0
"""Seconds by which a wait must differ to count as longer or shorter: records have whole ones."""


@dataclass(frozen=True)
class Outcome:
    """What became of the counted jobs of a period.

    Attributes
    ----------
    conditions
        What the policy decides by: the length of rounds, drawn stages, no preemption.
    jobs
        One row per counted job: the columns of `Period.outcome`.
    utilization, idle_hours
        Of the GPUs in the window, the share that jobs held; GPU-hours that were idle while a job
        waited, whether it would have fitted or not.
    violations
        What the audit of the simulation found; 0 for the record.
    run
        The simulation; of the record, the replay of its starts.
    """

    name: str
    conditions: tuple[str, ...]
    jobs: pd.DataFrame
    utilization: float
    idle_hours: float
    violations: int
    run: Simulation

    def mean(self, part: Part | None = None) -> float:
        """Return the mean wait of all counted jobs, or of a part's."""
        waits = self.jobs["wait"].to_numpy(float)
        return float((waits if part is None else waits[part.jobs]).mean())

    @property
    def terms(self) -> str:
        """What stands beside each figure: its conditions, and preemptions with their restart."""
        count, restart = int(self.jobs["preemptions"].sum()), self.run.summary["restart"]
        preempted = (f"{count:,} preemptions, restart {restart:g} s",) if count else ()
        return ", ".join((*self.conditions, *preempted))

    @property
    def label(self) -> str:
        """The name with its terms."""
        return f"{self.name} ({self.terms})" if self.terms else self.name

    @property
    def row(self) -> dict[str, Any]:
        """The figures of the table; times in seconds."""
        jobs = self.jobs
        slowdown = jobs["jct"] / jobs["runtime"].where(jobs["runtime"] > 0)
        row = {"policy": self.name, "terms": self.terms, "jobs": len(jobs)}
        for name in ("jct", "wait"):
            values = np.sort(jobs[name].to_numpy(float))
            row[f"mean_{name}"] = float(values.mean())
            row[f"median_{name}"] = float(np.median(values))
            row |= {f"p{p}_{name}": rank(values, p / 100) for p in (95, 99)}
        row |= {"mean_slowdown": float(slowdown.mean()), "utilization": self.utilization}
        row["idle_gpu_hours"] = self.idle_hours
        return row | {"preemptions": int(jobs["preemptions"].sum())}

    def differs(self, recorded: Outcome) -> tuple[Ints, Ints]:
        """Return which jobs wait less than recorded, and which longer: 1 or 0 for each."""
        more = self.jobs["wait"].to_numpy() - recorded.jobs["wait"].to_numpy()
        return (more < -MARGIN).astype(np.int64), (more > MARGIN).astype(np.int64)


def outcome_of(name: str, conditions: tuple[str, ...], period: Period, run: Simulation) -> Outcome:
    """Return what a simulation of a period came to; it is audited, but for the record's replay."""
    recorded, capacity = name == RECORDED, float(period.capacity.total)
    window = np.array([period.since, period.until]) - period.origin
    times, held = count_over_time(run.log, run.jobs, "gpus")
    held = held.clip(max=capacity)  # GPUs that jobs share count once
    moments, waiting = count_over_time(run.log, run.jobs, "waiting")
    every = np.union1d(times, moments)
    idle = np.where(_at(moments, waiting, every) > 0, capacity - _at(times, held, every), 0.0)
    used = float(np.diff(integral(times, held, window))[0])
    return Outcome(
        name=name,
        conditions=conditions,
        jobs=period.outcome(None if recorded else run),
        utilization=used / (capacity * float(window[1] - window[0])),
        idle_hours=float(np.diff(integral(every, idle, window))[0]) / 3600,
        violations=0 if recorded else len(run.audit().violations),
        run=run,
    )


def _at(times: Floats, values: Floats, every: Floats) -> Floats:
    """Return a curve from each of some times on."""
    place = np.searchsorted(times, every, side="right")
    return np.concatenate(([0.0], values))[place]
