"""Gavel: shares of the types of GPUs by a linear program, and rounds that approach them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, ClassVar, Final

from dlsched import gavel
from dlsched.errors import UnknownName
from dlsched.schema import Id, Number
from dlsched.simulation.engine.decision import Decision
from dlsched.simulation.engine.policy import BasePolicy
from dlsched.simulation.engine.state import JobView, State
from dlsched.simulation.policies.typed import base_rate, held_by_type, rates_of, realize, supply
from dlsched.simulation.workload.clock import TICKS

TIMED: Final = ("makespan", "finish_time_fairness")
"""Programs that read the work that remains."""

ByPair = dict[Id, dict[str, float]]
"""A number for each job and type."""


class Gavel(BasePolicy):
    """Gavel (OSDI'20) as compared in Hadar's section IV.

    Ordering: in each round, pairs of job and type by their share over the fraction of time that
    the job has had on the type since the shares were computed; pairs with none come first. Ties
    go to the larger deficit: the time by which a pair fell short of its shares, over all shares
    so far. Then to the larger share, and to the job submitted first **(D)**. Pairs in turn get
    their GPUs if enough of the type are free and the job has none yet: all GPUs of a job are of
    one type. Larger gangs are placed first, and jobs of the same type as before stay where they
    are.

    Shares are computed anew, by `dlsched.gavel.shares`, in rounds before which a job arrived or
    completed.

    Parameters
    ----------
    method
        One of ``dlsched.gavel.POLICIES``, the program of the shares; None for ``"max_min"``.
    interval
        Seconds of a round (section IV: six minutes). A job that completes within a round leaves
        its GPUs idle until the next **(D)**.

    Raises
    ------
    UnknownName
        If there is no such program.
    """

    name = "gavel"
    own_methods: ClassVar[bool] = True
    on_events = False

    def __init__(self, method: Any = None, *, interval: Number = 360) -> None:
        super().__init__("max_min" if method is None else method)
        if self.method not in gavel.POLICIES:
            raise UnknownName("program of gavel", str(self.method), list(gavel.POLICIES))
        self.interval = interval

    def decide(self, state: State) -> Decision:
        """Return the changes that make the jobs of this round run."""
        now = float(state.time)
        jobs = {view.id: view for view in (*state.running, *state.waiting)}
        places = {state.workload.jobs[j].id: i for i, j in enumerate(state.arrays.job)}
        self._account(state, now)
        solved: dict[str, Any] = {}
        if self.memory.get("present") != list(places):
            solved = self._share([jobs[name] for name in places], supply(state), now)
            self.memory["present"] = list(places)
        memory, free = self.memory, supply(state)
        shares: ByPair = memory["shares"]
        deficits, elapsed = self._deficits(now), now - memory["since"]

        def rank(pair: tuple[Id, str]) -> tuple[float, float, float, int]:
            name, kind = pair
            share, got = shares[name][kind], memory["got"].get(name, {}).get(kind, 0.0)
            priority = share * elapsed / got if got else math.inf
            return -priority, -deficits[name][kind], -share, places[name]

        counts: dict[Id, dict[str, int]] = {}
        for name, kind in sorted(((n, k) for n, row in shares.items() for k in row), key=rank):
            gpus = jobs[name].job.gpus
            if name not in counts and free[kind] >= gpus:
                counts[name] = {kind: gpus}
                free[kind] -= gpus
        start, preempt = realize(state, counts)
        return Decision(start, preempt, solved=solved)

    def _account(self, state: State, now: float) -> None:
        """Add the time since the last round to what the running jobs have had."""
        memory = self.memory
        if memory:
            for name, allocation in state.allocations.items():
                got = memory["got"].setdefault(name, {})
                for kind in held_by_type(allocation, state.cluster):
                    got[kind] = got.get(kind, 0.0) + now - memory["time"]
        memory["time"] = now

    def _deficits(self, now: float) -> ByPair:
        """Return the time by which each pair with a share fell short of its shares."""
        memory = self.memory
        elapsed = now - memory["since"]
        return {
            name: {
                kind: memory["deficits"].get(name, {}).get(kind, 0.0)
                + share * elapsed
                - memory["got"].get(name, {}).get(kind, 0.0)
                for kind, share in row.items()
            }
            for name, row in memory["shares"].items()
        }

    def _share(self, views: list[JobView], gpus: Mapping[str, int], now: float) -> dict[str, Any]:
        """Compute the shares of the jobs present, and keep what is owed from the last ones."""
        present = {view.id for view in views}
        owed: ByPair = {}
        if "shares" in self.memory:
            owed = dict(self.memory["deficits"])
            for name, row in self._deficits(now).items():
                owed[name] = owed.get(name, {}) | row
        rates: dict[Any, Any] = {}
        labels: dict[Any, str] = {}
        jobs = []
        for view in views:
            job = view.job
            known = rates_of(job, gpus)
            label = labels.setdefault(
                (job.model, tuple(known.items())), f"{job.model or 'job'} {len(labels)}"
            )
            rates[label, job.gpus] = known
            timed: dict[str, Any] = {}
            if self.method in TIMED:
                # A job without work still has to start.
                left = view.remaining or Fraction(1, TICKS)
                timed = {
                    "steps": float(left * base_rate(job)),
                    "elapsed": max(0.0, now - float(job.submit)),
                }
            jobs.append(gavel.Job(job.id, label, job.gpus, **timed))
        found = gavel.shares(rates, gpus, jobs, policy=self.method, certify=False)
        shares: ByPair = {}
        for share in found.shares:
            shares.setdefault(share.job, {})[share.gpu] = float(share.share)
        self.memory |= {
            "since": now,
            "got": {},
            "shares": shares,
            "deficits": {name: row for name, row in owed.items() if name in present},
        }
        return {"method": self.method, "objective": [float(found.objective)]}
