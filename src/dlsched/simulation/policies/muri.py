"""Muri: jobs of equal size share GPUs, in groups that interleave their stages (Muri, section 4)."""

from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import chain
from typing import Any, ClassVar, Final

import numpy as np

from dlsched.api import solve
from dlsched.errors import OptionError
from dlsched.problems.interleaving.definition.schema import Instance
from dlsched.problems.interleaving.instances import state as adapter
from dlsched.problems.interleaving.structures.groups import unpadded
from dlsched.registry.cluster_state import ClusterState
from dlsched.schema import Id, Number
from dlsched.simulation.engine.decision import Allocation, Decision
from dlsched.simulation.engine.jobs import Arrays
from dlsched.simulation.engine.policy import BasePolicy
from dlsched.simulation.engine.state import State
from dlsched.simulation.kernels.seeded_groups import grow
from dlsched.simulation.policies.placement import Placement
from dlsched.simulation.policies.solving import Remembered, solved_by
from dlsched.simulation.workload.cluster import Cluster
from dlsched.simulation.workload.job import Job
from dlsched.simulation.workload.workload import Workload
from dlsched.solvers.arrays import Floats, Ints

OBJECTIVES: Final = ("efficiency", "seeded_speeds")
EXACT: Final = ("exact", "aggregated", "blossom", "column_generation", "milp")
"""Methods whose objective does not depend on the order of the jobs."""

EXPONENT = 0.25
"""A job's speed weighs its remaining time to minus this; found on the first 200 and 300 jobs of
traces 1 to 4 **(D)**. Where remaining times are not known, all speeds weigh the same."""
FILL = 3
"""Jobs for which a group counts when the first jobs get GPUs: 2 and 3 are alike, 1 and 4 worse, on
the inputs that the exponent was found on **(D)**. With as many as a group can have, groups are
opened as by Muri's Algorithm 1."""
_LEAST_STAGE = 1e-250
"""Of the longest one; below it sums of products would lose digits."""

Groups = list[tuple[Id, ...]]


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
    objective
        What a round maximises: ``"efficiency"``, the sum of the groups' efficiencies, the paper's
        and that of ``interleaving``; ``"seeded_speeds"``, not the paper's, the weighted sum of the
        jobs' speeds over groups that grow from the first jobs of the queue and take in any other
        (`SeededRounds`), by a local search without a method.

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
        objective: str = "efficiency",
    ) -> None:
        super().__init__(method)
        if objective not in OBJECTIVES:
            raise OptionError(f"objective={objective!r} is none of {', '.join(OBJECTIVES)}")
        if objective != "efficiency" and method:
            raise OptionError(f"objective={objective!r} takes no method")
        self.objective = objective
        self.interval, self.time_limit = interval, time_limit
        self.on_events = interval is None
        self._known = Remembered[tuple[list[tuple[int, ...]], dict[str, Any]]]()
        self._seeded: SeededRounds | None = None

    def check(self, workload: Workload, cluster: Cluster) -> None:
        """Refuse jobs of which none has stages; where all fit at the same time none is needed."""
        several = sum(job.gpus for job in workload.jobs) > cluster.gpus
        if several and not any(any(job.stages) for job in workload.jobs):
            self._require_stages(workload.jobs)

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
        jobs = state.arrays.job
        if state.arrays.gpus.sum() <= gpus:
            return place_groups(state, [(v.id,) for v in (*state.running, *state.waiting)], {})
        self._require_stages(state.workload.jobs[j] for j in jobs.tolist())
        if self.objective == "seeded_speeds":
            if self._seeded is None or self._seeded.workload is not state.workload:
                self._seeded = SeededRounds(state.workload, self.priority)
            return place_groups(state, self._seeded.groups(state, gpus), {})
        resources = max(len(job.stages) for job in state.workload.jobs)
        first = _first(state, self.priority, gpus, resources)
        instance: Instance = adapter.instance(first, resources=resources, order=self.priority)
        return place_groups(state, *self._grouped(instance, state.seed))

    def _grouped(self, instance: Instance, seed: int) -> tuple[Groups, dict[str, Any]]:
        """Return the groups of the jobs, and what the log keeps of how they were found.

        An exact method gets the jobs sorted by profile, so that rounds with as many jobs of each
        profile are one instance but for names. It is solved once; what it says of places in that
        order is then read for the jobs that are there. So the groups depend on the round alone, and
        are the same whether it was solved before or is now.
        """
        if not (isinstance(self.method, str) and self.method in EXACT):
            return self._solve(instance, seed)
        jobs = tuple(sorted(instance.jobs, key=lambda job: (job.gpus, job.stages)))
        profiles = tuple((job.gpus, job.stages) for job in jobs)

        def solve_by_place() -> tuple[list[tuple[int, ...]], dict[str, Any]]:
            groups, solved = self._solve(instance.model_copy(update={"jobs": jobs}), seed)
            place = {job.id: j for j, job in enumerate(jobs)}
            return [tuple(place[name] for name in group) for group in groups], solved

        places, solved = self._known.get((instance.gpu_budget, seed, profiles), solve_by_place)
        return [tuple(jobs[j].id for j in group) for group in places], solved

    def _solve(self, instance: Instance, seed: int) -> tuple[Groups, dict[str, Any]]:
        result = solve(instance, self.method or "muri", time_limit=self.time_limit, seed=seed)
        assert result.solution is not None, "a grouping that merges all pairs fits the cluster"
        return [tuple(group.jobs) for group in result.solution.groups], solved_by(result)


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


class MuriS(Muri):
    """Muri where durations are known: shortest remaining service first (section 4.2)."""

    name = "muri_s"
    priority = "srsf"


class MuriL(Muri):
    """Muri where durations are unknown: least attained service first, two-dimensional (4.2)."""

    name = "muri_l"
    priority = "2d-las"


class SeededRounds:
    """Groups that grow from the first jobs of the queue (of this library): `seeded_groups`.

    The order is Muri's, least remaining or attained time times GPUs first, ties by submission.

    Parameters
    ----------
    workload
        Those of its jobs that are present at a decision have stages.
    priority
        ``"srsf"``, or ``"2d-las"``, which knows no remaining times.
    """

    def __init__(self, workload: Workload, priority: str) -> None:
        self.workload, self.priority = workload, priority
        longest = max(Fraction(time) for job in workload.jobs for time in job.stages)
        resources = max(len(job.stages) for job in workload.jobs)
        self.stages = np.zeros((len(workload.jobs), resources))
        for row, job in zip(self.stages, workload.jobs, strict=True):
            for r, time in enumerate(job.stages):
                row[r] = max(float(time / longest), _LEAST_STAGE) if time else 0.0
        kinds = [(job.gpus, job.stages) for job in workload.jobs]
        number = {kind: p for p, kind in enumerate(dict.fromkeys(kinds))}
        self.profile = np.array([number[kind] for kind in kinds], np.int64)

    def queue(self, present: Arrays) -> tuple[Floats, Ints]:
        """Return the weights of the jobs present, and their positions in the order of the queue."""
        remaining = np.maximum(present.remaining.astype(float), 1.0)
        service = remaining if self.priority == "srsf" else present.attained.astype(float)
        order = np.argsort(service * present.gpus, kind="stable")
        return remaining ** (-EXPONENT if self.priority == "srsf" else 0.0), order

    def groups(self, state: State, gpus: int) -> list[tuple[Id, ...]]:
        """Return the groups that run from now on, on at most `gpus` GPUs."""
        present = state.arrays
        jobs = present.job
        weights, order = self.queue(present)
        grown = grow(
            self.stages[jobs],
            present.gpus.astype(np.int64),
            self.profile[jobs],
            weights,
            order,
            gpus,
            FILL,
        )
        names = [self.workload.jobs[j].id for j in jobs.tolist()]
        return [tuple(names[i] for i in group) for group in unpadded(grown)]


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
