"""Muri: jobs of equal size share GPUs, in groups that interleave their stages (Muri, section 4)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any, ClassVar, Final

import numpy as np

from dlsched.errors import OptionError
from dlsched.problems.interleaving.definition.schema import Instance, Profile
from dlsched.problems.interleaving.instances import state as adapter
from dlsched.registry.cluster_state import ClusterState
from dlsched.schema import Id, Number
from dlsched.simulation.engine.decision import Allocation, Decision
from dlsched.simulation.engine.policy import BasePolicy
from dlsched.simulation.engine.speeds import least_iteration_time
from dlsched.simulation.engine.state import State
from dlsched.simulation.policies.muri_rounds import KnownRounds
from dlsched.simulation.policies.muri_seeded import FILL, SeededRounds
from dlsched.simulation.policies.placement import Placement
from dlsched.simulation.workload.cluster import Cluster
from dlsched.simulation.workload.job import Job
from dlsched.simulation.workload.workload import Workload

TIES: Final = ("listed", "shortest")
OBJECTIVES: Final = ("efficiency", "seeded_speeds")
EXPONENT: Final = 0.25
"""Of seeded speeds; found on the first 200 and 300 jobs of traces 1 to 4
(`benchmarks/decisions.py`) **(D)**."""


class Muri(BasePolicy):
    """Groups of the first jobs of the queue, chosen by the problem ``interleaving``.

    In every round the jobs are sorted by priority; the first ones, as many as fill the cluster in
    full groups, are grouped (Algorithm 1), and the groups are placed by GPUs falling (section 5).
    A group that has run already stays where it is, so that its jobs need no restart **(D)**. While
    all jobs present fit the cluster, each runs alone **(D)**: Algorithm 1 as printed would let them
    share nevertheless. A round changes nothing **(D)** if no job has arrived or completed, and no
    server come or gone, since the last one.

    Parameters
    ----------
    method
        Method of ``interleaving``; None is the paper's (`muri`).
    interval
        Seconds between rounds (section 5: six minutes); None to decide at every arrival and
        completion.
    time_limit
        Seconds for the problem of one round.
    ties
        Which of the jobs with equal stages and GPUs goes into which group, as all are worth the
        same: ``"listed"``, as the method has them; ``"shortest"``, by `settle_ties`.
    objective
        What a round maximises: ``"efficiency"``, the sum of the groups' efficiencies, the paper's
        and that of ``interleaving``; ``"seeded_speeds"``, not the paper's, the weighted sum of the
        jobs' speeds over groups that grow from the first jobs of the queue and take in any other
        (`SeededRounds`), by a local search without a method. `muri_l` knows no remaining times:
        its speeds all weigh the same.
    exponent
        What a job's speed weighs in the last one: remaining time to minus this, from 0 to 1. None
        is `EXPONENT`.
    fill
        Jobs for which a group of ``"seeded_speeds"`` counts when the first jobs get GPUs, from 1.
    order
        Ids of all jobs, the first to go first, in place of the least remaining service, for
        ``"seeded_speeds"``; the largest weights go to the first ones.

    Raises
    ------
    OptionError
        If there is no such option, or options do not go together.
    """

    problem: ClassVar[str | None] = "interleaving"
    keeps_to = frozenset[str]()
    priority: ClassVar[str]

    def __init__(
        self,
        method: Any = None,
        *,
        interval: Number | None = 360,
        time_limit: float | None = None,
        ties: str = "listed",
        objective: str = "efficiency",
        exponent: float | None = None,
        fill: int = FILL,
        order: Sequence[Id] | None = None,
    ) -> None:
        super().__init__(method)
        if ties not in TIES:
            raise OptionError(f"ties={ties!r} is none of {', '.join(TIES)}")
        if objective not in OBJECTIVES:
            raise OptionError(f"objective={objective!r} is none of {', '.join(OBJECTIVES)}")
        if objective != "efficiency" and (method or ties != "listed"):
            raise OptionError(f"objective={objective!r} takes no method and leaves no ties")
        weighs = objective == "seeded_speeds" and self.priority == "srsf"
        if exponent is None:
            exponent = EXPONENT if weighs else 0.0
        elif not weighs or not 0 <= exponent <= 1:
            raise OptionError(f"exponent={exponent!r} must be from 0 to 1, with weights of speeds")
        if order is not None and objective != "seeded_speeds":
            raise OptionError('an order of the jobs goes with objective="seeded_speeds" only')
        if not isinstance(fill, int) or fill < 1 or (fill != FILL and objective != "seeded_speeds"):
            raise OptionError(f"fill={fill!r} must be a whole number from 1, with seeded speeds")
        self.order, self.fill = order, fill
        self.objective, self.exponent = objective, exponent
        self.interval, self.time_limit, self.ties = interval, time_limit, ties
        self.on_events = interval is None
        self._rounds = KnownRounds()
        self._seeded: SeededRounds | None = None

    def check(self, workload: Workload, cluster: Cluster) -> None:
        """Refuse an order that is none of these jobs, and jobs of which none has stages.

        Where all jobs fit at the same time none is needed.
        """
        several = sum(job.gpus for job in workload.jobs) > cluster.gpus
        if several and not any(any(job.stages) for job in workload.jobs):
            self._require_stages(workload.jobs)
        if self.order is not None and sorted(self.order) != sorted(j.id for j in workload.jobs):
            raise OptionError("order is not the ids of all jobs, each once")

    def _require_stages(self, jobs: Iterable[Job]) -> None:
        for job in jobs:
            if not any(job.stages):
                raise OptionError(
                    f"policy {self.name} groups jobs by the stages of their iterations, and job "
                    f"{job.id} has no stages, which no scheduler records; take a trace that has "
                    "them (--profiles muri), set Job.stages (seconds of an iteration by resource), "
                    "or let dlsched study draw them"
                )

    def decide(self, state: State) -> Decision:
        """Return the changes that make the groups of this round run."""
        jobs = state.arrays.job
        gpus = sum(view.server.gpus for view in state.servers)
        present = [len(jobs), int(jobs[-1]), gpus]
        runs = len(state.allocations)
        if self.memory.get("present") == present and self.memory["runs"] == runs:
            return Decision()
        decision = self._decide(state, gpus)
        self.memory = {
            "present": present,
            "runs": len({*state.allocations, *decision.start} - {*decision.preempt}),
        }
        return decision

    def _decide(self, state: State, gpus: int) -> Decision:
        """Return the changes of a round with these GPUs."""
        jobs = state.arrays.job
        if state.arrays.gpus.sum() <= gpus:
            return place_groups(state, [(v.id,) for v in (*state.running, *state.waiting)], {})
        self._require_stages(state.workload.jobs[j] for j in jobs.tolist())
        if self.objective == "seeded_speeds":
            if self._seeded is None or self._seeded.workload is not state.workload:
                self._seeded = SeededRounds(
                    state.workload, self.priority, self.exponent, self.fill, self.order
                )
            return place_groups(state, self._seeded.groups(state, gpus), {})
        resources = max(len(job.stages) for job in state.workload.jobs)
        first = _first(state, self.priority, gpus, resources)
        instance: Instance = adapter.instance(first, resources=resources, order=self.priority)
        groups, solved = self._rounds.groups(
            instance, self.method or "muri", time_limit=self.time_limit, seed=state.seed
        )
        if self.ties == "shortest":
            groups = settle_ties(instance, groups)
        return place_groups(state, groups, solved)


def _first(state: State, order: str, gpus: int, largest: int) -> ClusterState:
    """Return the state with no jobs that cannot be in the head of the queue.

    Of jobs with equally many GPUs at most as many as fill the cluster in full groups are in it, the
    first ones; those equal to the last of these are kept, too.
    """
    arrays = state.arrays
    key = (arrays.remaining if order == "srsf" else arrays.attained) * arrays.gpus
    keep = np.zeros(len(key), bool)
    for size in np.unique(arrays.gpus).tolist():
        alike = np.flatnonzero(arrays.gpus == size)
        most = largest * (gpus // size)
        if most < len(alike):
            alike = alike[key[alike] <= np.partition(key[alike], most)[most]]
        keep[alike] = True
    waits = arrays.running == 0
    held = {state.workload.jobs[j].id for j in arrays.job[keep & ~waits].tolist()}
    return state.snapshot(
        (view for view in state.running if view.id in held),
        (state.waiting[i] for i in np.flatnonzero(keep[waits]).tolist()),
    )


def settle_ties(instance: Instance, groups: Sequence[tuple[Id, ...]]) -> list[tuple[Id, ...]]:
    """Return the groups with jobs of equal profile exchanged: those first in line are the fastest.

    All such groupings are worth the same in `interleaving`. Of them this one has the largest sum
    over jobs of a weight times the job's speed, for any weights that fall along the queue: in a
    group that takes time T a job of a profile with stages s has speed sum(s) / T, and a sum of
    products is largest where both factors are in the same order (Hardy, Littlewood, Polya 1934).

    Parameters
    ----------
    instance
        Its jobs are in the order of priority.
    """
    index = instance.job_index
    profile = {job.id: Profile(job.gpus, job.stages) for job in instance.jobs}
    times = [
        least_iteration_time(tuple(sorted(profile[name].stages for name in group)))
        for group in groups
    ]
    order = sorted(
        range(len(groups)), key=lambda i: (times[i], min(index[name] for name in groups[i]))
    )
    queues = {p: iter(instance.jobs[j].id for j in js) for p, js in instance.profiles.items()}
    settled = list(groups)
    for i in order:
        settled[i] = tuple(next(queues[profile[name]]) for name in groups[i])
    return settled


class MuriS(Muri):
    """Muri where durations are known: shortest remaining service first (section 4.2)."""

    name = "muri_s"
    priority = "srsf"


class MuriL(Muri):
    """Muri where durations are unknown: least attained service first, two-dimensional (4.2)."""

    name = "muri_l"
    priority = "2d-las"


def place_groups(
    state: State, groups: Sequence[tuple[Id, ...]], solved: dict[str, Any]
) -> Decision:
    """Return the decision that runs these groups and no other job; by GPUs falling."""
    held = state.allocations
    names = {group: "+".join(sorted(group)) if len(group) > 1 else None for group in groups}
    running: dict[Id, set[Id]] = {}
    for job, allocation in held.items():
        running.setdefault(allocation.group or job, set()).add(job)

    def runs(group: tuple[Id, ...]) -> bool:
        name = names[group]
        return running.get(name or group[0]) == set(group) and held[group[0]].group == name

    kept = {group for group in groups if runs(group)}
    stays = set(chain.from_iterable(kept))
    placement = Placement(state.cluster, state.free)
    for members in running.values():
        if not members & stays:
            placement.release(held[min(members)])
    start: dict[Id, Allocation] = {}
    jobs = state.workload.by_id
    moving = [group for group in groups if group not in kept]
    for group in sorted(moving, key=lambda group: -jobs[group[0]].gpus):
        placed = placement.place(jobs[group[0]].gpus)
        if placed is not None:
            start |= dict.fromkeys(group, placed._replace(group=names[group]))
    preempt = [job for job in held if job not in stays and job not in start]
    return Decision(start, preempt, solved=solved)
