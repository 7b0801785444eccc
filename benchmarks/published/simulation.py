"""`simulate`: a published simulator on a workload and a cluster."""

from __future__ import annotations

import json
from functools import cached_property
from typing import Any

import pandas as pd

from dlsched.errors import UnknownName
from dlsched.results.result import Report
from dlsched.simulation import Cluster, Workload
from dlsched.simulation.bounds import MetricBound
from dlsched.simulation.log import TABLES
from dlsched.simulation.measures import metrics
from published import audit, bounds
from published.log import Log
from published.policies import PUBLISHED


def simulate(
    workload: Workload,
    cluster: Cluster,
    policy: str,
    *,
    method: Any = None,
    seed: int = 0,
    **options: Any,
) -> Simulation:
    """Run the simulator of a policy; see `published.muri.run` and `published.synergy.run`.

    Raises
    ------
    UnknownName
        If no published simulator has this policy.
    """
    if policy not in PUBLISHED:
        raise UnknownName("published policy", policy, list(PUBLISHED))
    log = Log()
    PUBLISHED[policy](workload, cluster, policy, log, seed=seed, method=method, **options)
    return Simulation(workload, cluster, policy, method, log)


class Simulation:
    """A simulation that was run; everything is computed from its log."""

    def __init__(
        self, workload: Workload, cluster: Cluster, policy: str, method: Any, log: Log
    ) -> None:
        self.workload, self.cluster, self.log = workload, cluster, log
        self.policy, self.method = policy, method

    def frame(self, table: str) -> pd.DataFrame:
        """Return a table of the log."""
        return pd.DataFrame(self.log.rows(table), columns=list(TABLES[table]))

    @cached_property
    def meta(self) -> dict[str, Any]:
        """Workload and cluster, as the header of a log has them."""
        return {
            name: json.loads(stated.model_dump_json(exclude_defaults=True))
            for name, stated in (("workload", self.workload), ("cluster", self.cluster))
        }

    @cached_property
    def jobs(self) -> pd.DataFrame:
        """One row per job; see `dlsched.simulation.measures.metrics.jobs_frame`."""
        submit = [float(job.submit) for job in self.workload.jobs]
        tables = self.frame("segments"), self.frame("completions")
        return metrics.by_job(self.meta["workload"]["jobs"], submit, *tables, 1)

    @cached_property
    def summary(self) -> dict[str, Any]:
        """Metrics by name; see `dlsched.simulation.measures.metrics.summary`."""
        segments = self._in_seconds(self.frame("segments"))
        seconds = [row[-1] for row in self.log.rows("timings")]
        return metrics.summarize(self.jobs, segments, seconds, self.meta)

    def _in_seconds(self, segments: pd.DataFrame) -> pd.DataFrame:
        """Return segments with work in seconds alone: all that a job did is its ``work``."""
        totals = segments.groupby("job")[["work", "lost"]].sum()
        done = segments["job"].map(totals["work"] - totals["lost"]).to_numpy(float)
        seconds = self.jobs["work"].to_numpy()[segments["job"]] / done
        return segments.assign(work=segments["work"] * seconds, lost=segments["lost"] * seconds)

    def bound(self, metric: str = "mean_jct") -> MetricBound:
        """Return a lower bound for the policies that share GPUs as this one does."""
        return bounds.bound(self.workload, self.cluster, self.policy, metric, method=self.method)

    def audit(self) -> Report:
        """Recompute the simulation from its log."""
        return audit.audit(self.workload, self.cluster, self.log, self.summary)
