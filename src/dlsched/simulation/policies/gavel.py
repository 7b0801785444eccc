"""Gavel: shares of the types of GPUs by a linear program, and rounds that approach them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, ClassVar, Final, NamedTuple

from dlsched.errors import UnknownName
from dlsched.problems.shares import Instance
from dlsched.problems.shares.definition.check import value_of
from dlsched.problems.shares.exact import milp, water_filling
from dlsched.run import Run
from dlsched.schema import Id, Number
from dlsched.simulation.engine.decision import Decision
from dlsched.simulation.engine.jobs import JobView
from dlsched.simulation.engine.policy import BasePolicy
from dlsched.simulation.engine.state import State
from dlsched.simulation.policies.typed import (
    base_rate,
    held_by_type,
    rates_of,
    realize,
    require_one_type,
    supply,
    views_by_submission,
)
from dlsched.simulation.workload.clock import TICKS
from dlsched.simulation.workload.cluster import Cluster
from dlsched.simulation.workload.eligibility import TYPE
from dlsched.simulation.workload.workload import Workload

POLICIES: Final = ("max_min", "water_filling", "makespan", "finish_time", "total")
"""The objectives of `shares`, and `water_filling`, which goes on where the first one ends."""
TIMED: Final = ("makespan", "finish_time")
"""Those that read the work that remains."""

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

    Shares are computed anew, as an instance of `dlsched.problems.shares`, in rounds before which a
    job arrived or completed.

    Parameters
    ----------
    method
        One of `POLICIES`, the program of the shares; ``"max_min"`` for None.
    interval
        Seconds of a round (section IV: six minutes). A job that completes within a round leaves
        its GPUs idle until the next **(D)**.

    Raises
    ------
    UnknownName
        If there is no such program.
    """

    name = "gavel"
    keeps_to = frozenset((TYPE,))
    own_methods: ClassVar[bool] = True
    on_events = False

    def __init__(self, method: Any = None, *, interval: Number = 360) -> None:
        super().__init__("max_min" if method is None else method)
        if self.method not in POLICIES:
            raise UnknownName("program of gavel", str(self.method), list(POLICIES))
        self.interval = interval

    def check(self, workload: Workload, cluster: Cluster) -> None:
        """Refuse a job that asks for more GPUs than there are of any type on which it may run."""
        require_one_type(self.name, workload, cluster)

    def decide(self, state: State) -> Decision:
        """Return the changes that make the jobs of this round run."""
        now = float(state.time)
        views = {view.id: view for view in views_by_submission(state)}
        self._account(state, now)
        solved: dict[str, Any] = {}
        free = supply(state)
        present = [dict(free), *views]
        if self.memory.get("present") != present:
            solved = self._share(list(views.values()), free, now)
            self.memory["present"] = present
        counts: dict[Id, dict[str, int]] = {}
        pairs = self._pairs(now)
        places = {name: i for i, name in enumerate(views)}
        for pair in sorted(pairs, key=lambda p: (-p.priority, -p.deficit, -p.share, places[p.job])):
            gpus = views[pair.job].job.gpus
            if pair.job not in counts and free[pair.kind] >= gpus:
                counts[pair.job] = {pair.kind: gpus}
                free[pair.kind] -= gpus
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

    def _pairs(self, now: float) -> list[_Pair]:
        """Return the pairs of job and type that have a share, as they are at a time."""
        memory = self.memory
        elapsed = now - memory["since"]
        pairs = []
        for name, row in memory["shares"].items():
            owed = memory["deficits"].get(name, {})
            got = memory["got"].get(name, {})
            for kind, share in row.items():
                had = got.get(kind, 0.0)
                due = share * elapsed
                priority = due / had if had else math.inf
                pairs.append(_Pair(name, kind, share, priority, owed.get(kind, 0.0) + due - had))
        return pairs

    def _share(self, views: list[JobView], gpus: Mapping[str, int], now: float) -> dict[str, Any]:
        """Compute the shares of the jobs present, and keep what is owed from the last ones."""
        deficits: ByPair = {view.id: {} for view in views}
        if "shares" in self.memory:
            for name, owed in self.memory["deficits"].items():
                deficits.get(name, {}).update(owed)
            for pair in self._pairs(now):
                deficits.get(pair.job, {})[pair.kind] = pair.deficit
        models: dict[Any, dict[str, Any]] = {}
        jobs = []
        for view in views:
            job = view.job
            known = rates_of(job, gpus)
            if all(gpus[kind] < job.gpus for kind in known):
                continue
            like = (job.model, job.gpus, *known.items())
            made = {"id": f"{job.model or 'job'} {len(models)}", "gpus": job.gpus, "rates": known}
            timed: dict[str, Any] = {"id": job.id, "model": models.setdefault(like, made)["id"]}
            if self.method in TIMED:
                # A job without work still has to start.
                remaining = view.remaining or Fraction(1, TICKS)
                timed["steps"] = float(remaining * base_rate(job))
                timed["elapsed"] = max(0.0, now - float(job.submit))
            jobs.append(timed)
        self.memory |= {"since": now, "got": {}, "shares": {}, "deficits": deficits}
        if not jobs:
            return {}
        fields = {"gpus": dict(gpus), "models": tuple(models.values()), "jobs": jobs}
        objective = "max_min" if self.method == "water_filling" else self.method
        instance = Instance(name="round", objective=objective, **fields)
        divide = water_filling if self.method == "water_filling" else milp
        solution: Any = divide(instance, Run()).solution
        granted: ByPair = self.memory["shares"]
        for share in solution.shares:
            granted.setdefault(share.jobs[0], {})[share.type] = float(share.time)
        return {"method": self.method, "objective": [float(value_of(instance, solution))]}


class _Pair(NamedTuple):
    """A job and a type of GPUs with its share; how urgent it is, and the seconds it fell short."""

    job: Id
    kind: str
    share: float
    priority: float
    deficit: float
