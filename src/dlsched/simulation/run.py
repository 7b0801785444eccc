"""One simulation that was run: its log, and what is computed from it."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dlsched.display.markup import lines_html
from dlsched.results.result import Report
from dlsched.simulation.audit import audit
from dlsched.simulation.bounds import MetricBound, bound
from dlsched.simulation.log import Log, Segment
from dlsched.simulation.measures import metrics
from dlsched.simulation.workload.cluster import Cluster
from dlsched.simulation.workload.workload import Workload
from dlsched.text.figures import display, percent

if TYPE_CHECKING:
    import pandas as pd


class Simulation:
    """A simulation; everything is computed from the log.

    Attributes
    ----------
    log
        The log, open for reading, or its file, which is copied to memory; `dlsched.save` writes it.
        Threads share it; a pickle, as for another process, has a copy of it in memory.
    """

    def __init__(self, log: Log | str | Path) -> None:
        self.log = log if isinstance(log, Log) else Log.from_bytes(Path(log).read_bytes())

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the log, from which everything else is computed again."""
        return type(self), (self.log,)

    @cached_property
    def meta(self) -> dict[str, Any]:
        """Header of the log: policy, method, options, seed, workload, cluster."""
        return self.log.meta()

    @cached_property
    def workload(self) -> Workload:
        """The jobs."""
        return Workload.parse(self.meta["workload"], "the log")

    @cached_property
    def cluster(self) -> Cluster:
        """The servers."""
        return Cluster.parse(self.meta["cluster"], "the log")

    def bound(self, metric: str = "mean_jct", *, sharing: bool | None = None) -> MetricBound:
        """Return a certified lower bound on a metric, over all policies.

        Parameters
        ----------
        metric
            ``"mean_jct"`` or ``"makespan"``.
        sharing
            Whether the bound allows for jobs that share GPUs; None if this policy made them do so.
        """
        if sharing is None:
            sharing = self.shares_gpus
        return bound(self.workload, self.cluster, metric, sharing=sharing)

    @cached_property
    def shares_gpus(self) -> bool:
        """Whether the policy made jobs share GPUs."""
        return any(Segment(*row).sharing is not None for row in self.log.rows("segments"))

    @property
    def complete(self) -> bool:
        """Whether all jobs are complete."""
        return "end" in self.meta

    @cached_property
    def summary(self) -> dict[str, Any]:
        """Metrics by name; see `dlsched.simulation.measures.metrics.summary`."""
        return metrics.summary(self.log)

    @cached_property
    def jobs(self) -> pd.DataFrame:
        """One row per job; see `dlsched.simulation.measures.metrics.jobs_frame`."""
        return metrics.jobs_frame(self.log)

    @cached_property
    def rounds(self) -> pd.DataFrame:
        """One row per decision: time, cause, jobs waiting and running before it, changes."""
        return metrics.frame(self.log, "decisions")

    def audit(self) -> Report:
        """Recompute the simulation from its log; see `dlsched.simulation.audit.audit`.

        Returns
        -------
        Report
            It is true if nothing disagrees; else its violations say what.
        """
        return audit(self.log, lambda _: self.summary)

    @property
    def name(self) -> str:
        """The policy, and the method that it calls."""
        method = self.meta["method"]
        policy: str = self.meta["policy"]
        return f"{policy} ({method})" if method else policy

    def _repr_html_(self) -> str:
        """Return the metrics for a notebook: times in hours, shares in per cent."""
        lines = [
            f"{name}: {_measured(name, value)}"
            for name, value in self.summary.items()
            if name not in ("jobs", "completed")
        ]
        jobs = f"{self.summary['completed']:,} of {self.summary['jobs']:,} jobs are complete"
        settings = (f"{name} {self.meta[name]}" for name in ("options", "seed") if self.meta[name])
        return lines_html(f"simulation {self.name}", "; ".join([jobs, *settings]), *lines)

    def __repr__(self) -> str:
        """Return policy, method and the first metrics."""
        name = self.name
        if "mean_jct" not in self.summary:
            return f"Simulation({name}, no job complete)"
        mean, span = self.summary["mean_jct"], self.summary["makespan"]
        return f"Simulation({name}, mean_jct={mean:,.0f} s, makespan={span:,.0f} s)"


def _measured(name: str, value: float) -> str:
    """Return a metric's value with its unit."""
    if name == "preemptive":
        return "yes" if value else "no"
    if name == "makespan" or name.endswith(("_jct", "_queueing")):
        return f"{value / 3600:,.2f} h"
    if name == "restart" or name.endswith("_seconds"):
        return f"{display(value)} s"
    shares = ("utilization", "checkpoints")
    if name in shares or name.startswith("busy_") or name.endswith("_share"):
        return percent(value)
    return display(value)
