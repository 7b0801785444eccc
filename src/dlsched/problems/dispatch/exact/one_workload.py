"""The first workload of the ranking, exactly: a program over classes of equal machines."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from dlsched.problems.dispatch.definition.ranking import Ranked
from dlsched.problems.dispatch.definition.workloads import MOST_PRIORITIES
from dlsched.problems.dispatch.heuristics.dispatcher import Dispatcher, Plan, Score
from dlsched.problems.dispatch.heuristics.job_plan import JobPlan
from dlsched.problems.dispatch.programs.level_costs import ONE, jobs_lost, youth
from dlsched.problems.dispatch.programs.patterns import Pattern, classes
from dlsched.problems.dispatch.programs.program_rows import LevelCosts, ProgramRows
from dlsched.problems.dispatch.structures.fleet import Fleet, room
from dlsched.results.result import Status, Termination
from dlsched.run import Run
from dlsched.schema import Number
from dlsched.solvers import highs
from dlsched.solvers.outcome import Vector
from dlsched.solvers.standard_form import INF


@dataclass
class WorkloadSearch:
    """The search for the best plan; ``stopped`` says which limit ended it, if any."""

    fleet: Fleet
    ranked: Ranked
    run: Run
    best: Plan | None = None
    stopped: Termination | None = None

    def __post_init__(self) -> None:
        """Look up the workload's jobs in the fleet's integers."""
        self.requests = self.fleet.requests[self.ranked.position]
        self.dispatcher = Dispatcher(self.fleet, cache=False)

    def solve(self) -> None:
        """Find the best plan of all regions; ``best`` may be a plan to start from.

        Parts of the fleet are solved in the order of the priority that has to be preempted. With
        one job each cluster is a part of its own, else each region.
        """
        single = len(self.requests) == 1
        workload = self.fleet.instance.pending[self.ranked.position]
        parts: list[tuple[int, int, list[int]]] = []
        for region, sites in self.fleet.sites_of(workload).items():
            for part in [[s] for s in sites] if single else [sites]:
                priority = self.least_priority(part)
                if priority is not None:
                    parts.append((priority, region, part))
        for priority, region, part in sorted(parts, key=lambda part: -part[0]):
            if self.best is not None and self.highest_victim(self.best) > priority:
                return  # it preempts nobody of this priority or a higher one; all others must
            from_priority = priority if single else self.ranked.priority + 1
            victims = np.flatnonzero(self.fleet.priority >= from_priority).tolist()
            self.solve_part(region, part, victims)
            if self.stopped:
                return

    def highest_victim(self, plan: Plan) -> int:
        """Return the highest priority that a plan preempts; one beyond all if it does not."""
        return min((int(self.fleet.priority[v]) for v in plan.victims), default=MOST_PRIORITIES + 1)

    def least_priority(self, sites: Sequence[int]) -> int | None:
        """Return the lowest priority such that victims of it and below may suffice.

        Every job must have a cluster with room for it alone, which is sufficient for one job.
        ``None`` if all victims together are not enough.
        """
        for priority in range(MOST_PRIORITIES + 1, self.ranked.priority, -1):
            if all(
                any(self.total_room(s, i, priority) >= request.tasks for s in sites)
                for i, request in enumerate(self.requests)
            ):
                return priority
        return None

    def total_room(self, s: int, i: int, priority: int) -> int:
        """Return how many tasks fit in a cluster if all victims from a priority on stop."""
        request = self.requests[i]
        held = self.fleet.holdings[s]
        held = held.only(self.fleet.priority[held.victim] >= priority)
        free = self.fleet.free[:, self.fleet.sites[s].machines].copy()
        np.add.at(free.T, held.machine, held.amount.T)
        return int(room(free[:, self.fleet.usable(s, request)], request).sum())

    def solve_part(self, region: int, sites: Sequence[int], victims: Collection[int]) -> None:
        """Solve the program of some clusters, as far as it may be better than the best plan."""
        program = WorkloadProgram(self, sites, victims)
        form = program.form()
        goal = None if self.best is None else program.relevant(self.best.score)
        values = None
        for level in range(len(program.levels)):
            # The next levels are compared with the optimum, so a gap would make wrong bounds.
            outcome = highs.solve(form, level, self.run.nested())
            if outcome.status is Status.INFEASIBLE:
                return
            if outcome.status is not Status.OPTIMAL:
                self.stopped = outcome.termination
                return
            assert outcome.values is not None
            values = np.rint(outcome.values)
            value = program.value(level, values)
            if goal is not None:
                if value > goal[level]:
                    return
                if value < goal[level]:
                    goal = None
            form = form.held(level, float(value))
        assert values is not None
        plan = program.plan(region, values)
        if self.best is None or plan.score < self.best.score:
            self.best = plan


class WorkloadProgram(ProgramRows):
    """The integer program of some clusters of one region.

    Columns: machines of each class by pattern, victims, the cluster of each job, racks in use.
    Rows: tasks of a job in a cluster; machines of a class; the victims of patterns; the racks.
    Levels: those that are not constant: victims by priority, their youth, machines and racks.

    Attributes
    ----------
    machines
        By class the column of each pattern.
    victim
        Column by position of a running workload.
    site
        Column by position of a job and a cluster.
    """

    def __init__(
        self, search: WorkloadSearch, sites: Sequence[int], victims: Collection[int]
    ) -> None:
        super().__init__()
        self.search = search
        self.sites = sites
        fleet = search.fleet
        requests = search.requests
        self.classes = [
            machine_class for s in sites for machine_class in classes(fleet, s, requests, victims)
        ]
        self.machines: list[dict[int, Pattern]] = [
            {self.column(len(machine_class.machines)): p for p in machine_class.patterns}
            for machine_class in self.classes
        ]
        used = {v for c in self.classes for pattern in c.patterns for v in pattern.victims}
        self.victim = {v: self.column(1) for v in sorted(used)}
        self.site = {(j, s): self.column(1) for j in range(len(requests)) for s in sites}
        racks = sorted({(c.site, c.rack) for c in self.classes})
        self.rack = {rack: self.column(1) for rack in racks}
        for j in range(len(requests)):
            self._place(j)
        for k in range(len(self.classes)):
            self._use(k)
        self.priorities = sorted({int(fleet.priority[v]) for v in self.victim})
        self.levels = [jobs_lost(fleet, self.victim, p) for p in self.priorities]
        if self.victim:
            self.levels.append(youth(fleet, self.victim))
        patterns = [column for machines in self.machines for column in machines]
        spread = dict.fromkeys([*patterns, *self.rack.values()], 1)
        self.levels.append(LevelCosts(spread, ONE))

    def _place(self, j: int) -> None:
        """Add that a job is in one cluster, and there all its tasks."""
        self.row([(self.site[j, s], 1) for s in self.sites], 1, 1)
        for s in self.sites:
            cells = [
                (column, pattern.tasks[j])
                for machine_class, patterns in zip(self.classes, self.machines, strict=True)
                if machine_class.site == s
                for column, pattern in patterns.items()
            ]
            self.row([*cells, (self.site[j, s], -self.search.requests[j].tasks)], 0, INF)

    def _use(self, k: int) -> None:
        """Add the machines of a class, their rack, and the victims of their patterns."""
        machine_class = self.classes[k]
        count = len(machine_class.machines)
        machines = [(column, 1) for column in self.machines[k]]
        self.row(machines, -INF, count)
        rack = self.rack[machine_class.site, machine_class.rack]
        self.row([*machines, (rack, -count)], -INF, 0)
        for v in {v for pattern in machine_class.patterns for v in pattern.victims}:
            cells = [(column, 1) for column, p in self.machines[k].items() if v in p.victims]
            self.row([*cells, (self.victim[v], -count)], -INF, 0)

    def relevant(self, score: Score) -> list[Number] | None:
        """Return a plan's values of this program's levels; ``None`` if it is worse by another."""
        if any(lost for p, lost in enumerate(score.lost) if p not in self.priorities):
            return None
        lost = [score.lost[p] for p in self.priorities]
        return [*lost, *([score.youth] if self.victim else []), score.spread]

    def plan(self, region: int, values: Vector) -> Plan:
        """Return the plan of a point of the program."""
        requests = self.search.requests
        site_of = [
            next(s for s in self.sites if values[self.site[j, s]]) for j in range(len(requests))
        ]
        waiting = [request.tasks for request in requests]
        placed: list[dict[int, int]] = [{} for _ in requests]
        for machine_class, patterns in zip(self.classes, self.machines, strict=True):
            machines = iter(machine_class.machines)
            for column, pattern in patterns.items():
                for _ in range(int(values[column])):
                    machine = next(machines)
                    for j, most in enumerate(pattern.tasks):
                        here = site_of[j] == machine_class.site
                        tasks = min(most, waiting[j]) if here else 0
                        if tasks:
                            waiting[j] -= tasks
                            placed[j][machine] = tasks
        victims = tuple(v for v, column in self.victim.items() if values[column])
        jobs = tuple(
            JobPlan(site, np.array(list(on)), np.array(list(on.values())))
            for site, on in zip(site_of, placed, strict=True)
        )
        return Plan(region, jobs, victims, self.search.dispatcher.score(jobs, victims))
