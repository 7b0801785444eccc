"""What became of the jobs of a period: in the record, or under one policy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dlsched.simulation import Simulation, Workload
from dlsched.simulation.history import Period
from dlsched.simulation.measures.metrics import frame, rank
from dlsched.studies.waiting import Floats, Spans, gaps, held_time, idle_shares

if TYPE_CHECKING:
    import pandas as pd

RECORDED = "recorded"
"""Name of the record among the policies."""
MARGIN = 1.0
"""Seconds by which a wait must differ to count as longer or shorter: records have whole ones."""


@dataclass(frozen=True)
class Outcome:
    """What became of the counted jobs of a period.

    Attributes
    ----------
    name
        The policy, with its method; `RECORDED` for the record.
    jobs
        One row per counted job: the columns of `Period.outcome`, and ``idle``, the GPU-seconds that
        were idle while it waited, divided among all that waited.
    held, waits
        What all simulated jobs hold over time; when counted jobs wait. Times are those of the
        simulations' clock.
    utilization
        Share of the capacity in the window that jobs held.
    violations
        What the audit of the simulation found; 0 for the record.
    shares_gpus
        Whether jobs share GPUs; then a wait is the time without any.
    run
        The simulation; None for the record.
    """

    name: str
    jobs: pd.DataFrame
    held: Spans
    waits: Spans
    utilization: float
    violations: int
    shares_gpus: bool
    run: Simulation | None

    @property
    def row(self) -> dict[str, Any]:
        """The figures of the table; times in seconds."""
        jobs = self.jobs
        slowdown = jobs["jct"] / jobs["runtime"].where(jobs["runtime"] > 0)
        return {
            "policy": self.name,
            "jobs": len(jobs),
            **_distribution(jobs["jct"], "jct"),
            **_distribution(jobs["wait"], "wait"),
            "mean_slowdown": float(slowdown.mean()),
            "utilization": self.utilization,
            "preemptions": int(jobs["preemptions"].sum()),
        }


def _distribution(values: pd.Series[float], name: str) -> dict[str, float]:
    ordered = np.sort(values.to_numpy(float))
    return {
        f"mean_{name}": float(ordered.mean()),
        f"median_{name}": float(np.median(ordered)),
        f"p95_{name}": rank(ordered, 0.95),
        f"p99_{name}": rank(ordered, 0.99),
    }


def recorded_outcome(period: Period) -> Outcome:
    """Return what the record says."""
    jobs = period.simulated
    end = jobs["end"].fillna(period.horizon).to_numpy(float)
    start = jobs["start"].to_numpy(float)
    places = np.arange(len(jobs))
    held = Spans(places, start - period.origin, end - period.origin, jobs["gpus"].to_numpy(float))
    return _outcome(RECORDED, period, held, None, 0)


def simulated_outcome(name: str, period: Period, workload: Workload, run: Simulation) -> Outcome:
    """Return what a simulation of a period came to; it is audited."""
    segments = frame(run.log, "segments")
    place = {job_id: i for i, job_id in enumerate(period.simulated["id"])}
    position = np.array([place[job.id] for job in workload.jobs], np.int64)
    held = Spans(
        position[segments["job"].to_numpy(np.int64)],
        segments["start"].to_numpy(float),
        segments["end"].to_numpy(float),
        segments["gpus"].to_numpy(float),
    )
    return _outcome(name, period, held, run, len(run.audit().violations))


def _outcome(
    name: str, period: Period, held: Spans, run: Simulation | None, violations: int
) -> Outcome:
    jobs = period.simulated
    counted = np.flatnonzero((jobs["role"] == "counted").to_numpy())
    capacity = float(period.capacity.total)
    begin = np.maximum(jobs["eligible"].to_numpy(float), period.since) - period.origin
    every_wait = gaps(held, begin, jobs["gpus"].to_numpy(float))
    is_counted = np.isin(every_wait.job, counted)
    waits = Spans(
        every_wait.job[is_counted],
        every_wait.start[is_counted],
        every_wait.end[is_counted],
        every_wait.gpus[is_counted],
    )
    since, until = period.since - period.origin, period.until - period.origin
    rows = period.outcome(run)
    rows["idle"] = idle_shares(held, waits, capacity, len(jobs))[counted]
    return Outcome(
        name=name,
        jobs=rows,
        held=held,
        waits=waits,
        utilization=held_time(held, capacity, since, until) / (capacity * (until - since)),
        violations=violations,
        shares_gpus=run is not None and run.shares_gpus,
        run=run,
    )


def later(outcome: Outcome, recorded: Outcome) -> Floats:
    """Return which jobs wait longer than recorded, by more than `MARGIN`: 1 or 0 for each."""
    longer = outcome.jobs["wait"].to_numpy() > recorded.jobs["wait"].to_numpy() + MARGIN
    return longer.astype(float)


def earlier(outcome: Outcome, recorded: Outcome) -> Floats:
    """Return which jobs wait less than recorded, by more than `MARGIN`: 1 or 0 for each."""
    shorter = outcome.jobs["wait"].to_numpy() < recorded.jobs["wait"].to_numpy() - MARGIN
    return shorter.astype(float)
