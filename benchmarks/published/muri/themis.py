"""Themis: finish-time fairness; the job whose finish is delayed most, relative to a fair share."""

import math

import numpy as np

from dlsched.errors import OptionError
from dlsched.simulation.policies.themis import least_ratio_shares
from published.muri.jobs import JobState
from published.muri.loop import Policy
from published.muri.recorder import Held
from published.muri.servers import Servers

UNSTARTED = 1e9
"""Factor of the share of a job that has not run, in place of the inverse of its attained time."""


class Themis(Policy):
    """At every event the shares of time minimise the largest ratio of finish times.

    A job's ratio is its time since submission plus its remaining time at a share x of the time,
    over the time that it would take with a fair share of the GPUs. Jobs with the largest share over
    attained time run, as many as fit, placed by GPUs falling.

    Only the shape of the published figures can be expected: the public code takes the shares from
    an interior-point solver, which leaves those of jobs below the largest ratio undetermined. Here
    the ratios are minimised in lexicographic order **(D)**. The public code's time with a fair
    share counts iterations where seconds are meant; that is kept.

    Parameters
    ----------
    interval
        Most seconds between decisions; None for decisions at arrivals and completions only, as in
        the public code. With those, the mean completion times of the traces with all jobs at the
        start are about twice the printed ones, with an hour's interval they are within a tenth
        **(D)**.
    """

    def __init__(self, servers: Servers, interval: float | None = 3600) -> None:
        super().__init__()
        if interval is not None and not interval > 0:
            raise OptionError(f"interval={interval!r} must be above 0 seconds, or None")
        self.interval = math.inf if interval is None else float(interval)
        self.servers = servers
        self.gpus = sum(servers.sizes)
        self.last = 0.0
        self.fair: dict[int, float] = {}
        self.before: dict[int, tuple[float, float]] = {}
        self.due: dict[int, float] = {}

    def decide(self, now: float) -> dict[int, Held]:
        """Compute the shares, choose jobs in their order, and place them."""
        if self.jobs:
            self._sort(now)
        self.last = now
        self.servers.empty()
        chosen = {job.index for job in self.jobs if self.servers.place(job.gpus) is not None}
        self.jobs.sort(key=lambda job: job.gpus, reverse=True)
        self.servers.empty()
        self.running, held = [], {}
        for job in self.jobs:
            shares = self.servers.place(job.gpus) if job.index in chosen else None
            job.running = shares is not None
            if shares is not None:
                self.running.append(job)
                held[job.index] = Held(shares, None, job.tau)
        return held

    def wake(self, now: float) -> float:
        """Return the time of the next decision if nothing happens before."""
        return now + self.interval

    def _sort(self, now: float) -> None:
        """Sort the jobs by share over attained time, then by deficit and share, largest first."""
        jobs = self.jobs
        even = math.ceil(self.gpus / len(jobs))
        fair = [self._fair_time(job, min(1.0, even / job.gpus)) for job in jobs]
        shares = least_ratio_shares(
            np.array([now - job.submit for job in jobs]),
            np.array([job.left * job.tau for job in jobs]),
            np.array(fair),
            np.array([job.gpus for job in jobs]),
            self.gpus,
        )
        keys = {}
        for job, share in zip(jobs, shares.tolist(), strict=True):
            due = self.due.setdefault(job.index, 0.0)
            value = share / job.attained if job.attained else share * UNSTARTED
            keys[job.index] = (value, due - job.attained, share)
            self.due[job.index] = due + share * (now - self.last)
        jobs.sort(key=lambda job: keys[job.index], reverse=True)

    def _fair_time(self, job: JobState, alone: float) -> float:
        """Return the time with a fair share, so far and to go, in the public code's unit."""
        left_before, rate = self.before.get(job.index, (job.left, alone))
        so_far = self.fair.get(job.index, 0.0) + (left_before - job.left) / rate
        self.fair[job.index] = so_far
        self.before[job.index] = job.left, alone
        return so_far + job.left / alone
