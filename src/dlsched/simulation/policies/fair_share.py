"""Fair share with half-life: backfilling by the priorities of Slurm's plugin priority/multifactor.

Sources: slurm.schedmd.com/priority_multifactor.html, "Multifactor Job Priority Plugin", and
slurm.schedmd.com/classic_fair_share.html, "Normalized Usage" and "Simplified Fair-Share Formula":

priority = age * min(1, waited / max_age) + share * 2^(-U / S) + size * (GPUs asked for / all GPUs)
           + qos * (number of the job's QOS / greatest number of a QOS)

S is a user's share of all shares. U is its share of all usage: of the GPU-seconds that jobs held,
each counted half after every `half_life`.
"""

import math
from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from dlsched.errors import OptionError
from dlsched.simulation.engine.decision import Decision
from dlsched.simulation.engine.jobs import Vector
from dlsched.simulation.engine.state import State
from dlsched.simulation.policies.backfill import Backfill
from dlsched.simulation.workload.clock import TICKS
from dlsched.simulation.workload.job import Job
from dlsched.simulation.workload.workload import Workload

TWO_WEEKS: Final = 14 * 86400.0


class FairShare(Backfill):
    """EASY backfilling in the order of Slurm's multifactor priority, greatest first.

    The weights, the half-life and the greatest age are those of the page's "Configuration Example"
    with decay, where QOS have none. Usage decays at every moment, not every PriorityCalcPeriod; all
    users are on one level; nothing was used before the simulation **(D)**.

    Parameters
    ----------
    half_life, max_age
        Seconds: PriorityDecayHalfLife, above 0 and maybe infinite; PriorityMaxAge, above 0.
    age, share, size, qos
        The weights PriorityWeightAge, -Fairshare, -JobSize and -QOS.
    shares
        Shares by user; 1 for one that is not named.
    by
        Whose usage counts: ``"tenant"`` or ``"account"``.
    priorities
        A number for each `Job.qos`; 0 for one that is not named.

    Raises
    ------
    OptionError
        If a number is below 0, or where it divides, 0.
    """

    name = "fair_share"

    def __init__(
        self,
        method: Any = None,
        *,
        half_life: float = TWO_WEEKS,
        max_age: float = TWO_WEEKS,
        age: float = 1000,
        share: float = 10_000,
        size: float = 1000,
        qos: float = 0,
        shares: Mapping[str, float] | None = None,
        by: str = "tenant",
        priorities: Mapping[str, float] | None = None,
    ) -> None:
        super().__init__(method)
        if by not in ("tenant", "account"):
            raise OptionError(f"by={by!r} is nobody who has shares; write tenant or account")
        seconds = {"half_life": half_life, "max_age": max_age}
        weights = {"age": age, "share": share, "size": size, "qos": qos}
        for given in (seconds, shares or {}, weights, priorities or {}):
            divides = given is seconds or given is shares
            for name, value in given.items():
                finite = value < math.inf or given is seconds
                if not (value >= 0 and finite) or (divides and not value):
                    least = "above 0" if divides else "of at least 0"
                    raise OptionError(f"{name}={value!r}: give a number {least}")
        self.half_life, self.max_age, self.by = float(half_life), float(max_age), by
        self.age, self.share, self.size, self.qos = age, share, size, qos
        self.shares, self.priorities = dict(shares or {}), dict(priorities or {})

    def decide(self, state: State) -> Decision:
        """Return the jobs that start, and remember who holds how much from now on."""
        self.memory = {
            "time": float(state.time),
            "held": {},
            "usage": self._usage(state),
        }
        decision = super().decide(state)
        held = self.memory["held"]
        for name, allocation in (*state.allocations.items(), *decision.start.items()):
            user = self._user(state.workload.by_id[name])
            held[user] = held.get(user, 0) + allocation.gpus
        return decision

    def _user(self, job: Job) -> str:
        return getattr(job, self.by) or ""

    def _usage(self, state: State) -> dict[str, float]:
        """Return the decayed GPU-seconds of each user.

        Since the last decision nothing changed, unless all jobs ended.
        """
        now = end = float(state.time)
        since = float(self.memory.get("time", now))
        if state.last_end is not None and state.arrays.submit.min() / TICKS > since:
            end = float(state.last_end)
        kept = math.exp2(-(now - since) / self.half_life)
        rate = math.log(2) / self.half_life
        # The integral of 2^(-(end - t) / half_life) since then.
        new = end - since if not rate else -math.expm1(-rate * (end - since)) / rate
        new *= math.exp2(-(now - end) / self.half_life)
        usage = {user: kept * used for user, used in self.memory.get("usage", {}).items()}
        for user, gpus in self.memory.get("held", {}).items():
            usage[user] = usage.get(user, 0.0) + gpus * new
        return usage

    def order(self, state: State) -> Vector:
        """Return the positions of the jobs by priority; equal ones in the order of submission."""
        if self._ranked is not state.workload:
            self._prepare(state.workload)
        usage = np.array([self.memory["usage"].get(user, 0.0) for user in self._users])
        share = self._share * max(usage.sum(), 1e-300)
        fair = np.exp2(-usage / share)
        jobs = state.arrays
        waited = (float(state.time) - jobs.submit / TICKS) / self.max_age
        priority = self.age * np.minimum(waited, 1.0) + self.size * jobs.gpus / state.cluster.gpus
        priority += self.share * fair[self._owner[jobs.job]] + self.qos * self._qos[jobs.job]
        return np.argsort(-priority, kind="stable")

    def _prepare(self, workload: Workload) -> None:
        """Note whose each job is, the share of each user, and the factor of each job's QOS."""
        owners = [self._user(job) for job in workload.jobs]
        self._users, self._owner = np.unique(owners, return_inverse=True)
        shares = np.array([self.shares.get(str(user), 1.0) for user in self._users])
        self._share = shares / shares.sum()
        greatest = max(self.priorities.values(), default=0) or 1
        named = [self.priorities.get(job.qos or "", 0) / greatest for job in workload.jobs]
        self._qos, self._ranked = np.array(named), workload
