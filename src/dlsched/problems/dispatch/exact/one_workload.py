"""The first workload of the ranking, exactly: a program over classes of equal machines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from dlsched.problems.dispatch.definition.ranking import Ranked
from dlsched.problems.dispatch.definition.schema import MOST_PRIORITIES
from dlsched.problems.dispatch.heuristics.dispatcher import Dispatcher, Plan, Score
from dlsched.problems.dispatch.heuristics.job_plan import JobPlan
from dlsched.problems.dispatch.programs.patterns import MachineClass, classes
from dlsched.problems.dispatch.structures.fleet import Fleet, room
from dlsched.results.result import Status, Termination
from dlsched.run import Run
from dlsched.schema import Number, granularity
from dlsched.solvers import highs
from dlsched.solvers.standard_form import INF, StandardForm


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
        """Find the best plan of all regions; ``best`` may be a plan to start from."""
        fleet = self.fleet
        units: list[tuple[int, tuple[int, ...]]] = []
        workload = fleet.instance.pending[self.ranked.position]
        for region, sites in fleet.sites_of(workload).items():
            # With one job each cluster is a problem of its own.
            single = len(self.requests) == 1
            units += [
                (region, own) for own in ([(s,) for s in sites] if single else [tuple(sites)])
            ]
        levels = {unit: self.least_priority(unit[1]) for unit in units}
        order = sorted((u for u in units if levels[u] is not None), key=lambda u: -(levels[u] or 0))
        for region, own in order:
            q = levels[region, own]
            assert q is not None
            if self.best is not None and self._needed(self.best) > q:
                break  # it preempts nobody of priority q or higher; this and all later ones must
            victims = self.victims(q if len(self.requests) == 1 else self.ranked.priority + 1)
            if not self._solve_unit(region, own, victims):
                return

    def victims(self, q: int) -> frozenset[int]:
        """Return the running workloads of priority `q` and lower."""
        priorities = self.fleet.priority
        return frozenset(np.flatnonzero(self.fleet.running & (priorities >= q)).tolist())

    def _needed(self, plan: Plan) -> int:
        """Return the highest priority that a plan preempts; one beyond all if it does not."""
        return min((int(self.fleet.priority[v]) for v in plan.victims), default=MOST_PRIORITIES + 1)

    def least_priority(self, sites: Sequence[int]) -> int | None:
        """Return the lowest priority such that victims of it and below may suffice.

        Every job must have a cluster with room for it alone, which is sufficient for one job.
        ``None`` if all victims together are not enough.
        """
        for q in range(MOST_PRIORITIES + 1, self.ranked.priority, -1):
            if all(
                any(self.total_room(s, i, q) >= request.tasks for s in sites)
                for i, request in enumerate(self.requests)
            ):
                return q
        return None

    def total_room(self, site: int, i: int, q: int) -> int:
        """Return how many tasks fit in a cluster if all victims from priority `q` on stop."""
        fleet, request = self.fleet, self.requests[i]
        at, held = fleet.sites[site], fleet.holdings[site]
        free = fleet.free[:, at.machines]
        mine = fleet.running[held.victim] & (fleet.priority[held.victim] >= q)
        if mine.any():
            free = free.copy()
            for k in range(3):
                np.add.at(free[k], held.machine[mine], held.amount[k, mine])
        usable = at.kind == request.kind if request.kind != -1 else at.kind >= -1
        return int(room(free[:, usable], request).sum())

    def _solve_unit(self, region: int, sites: Sequence[int], victims: frozenset[int]) -> bool:
        """Solve the program of some clusters; ``False`` if a limit stopped it."""
        program = Program(self, sites, victims)
        form = program.form
        goal = None if self.best is None else program.relevant(self.best.score)
        values = None
        for level in range(len(form.costs)):
            # The next levels are compared with the optimum, so a gap would make wrong bounds.
            outcome = highs.solve(form, level, self.run.nested())
            if outcome.status is Status.INFEASIBLE:
                return True
            if outcome.status is not Status.OPTIMAL:
                self.stopped = outcome.termination
                return False
            assert outcome.values is not None
            values = np.rint(outcome.values)
            value = program.value(level, values)
            if goal is not None:
                if value > goal[level]:
                    return True
                if value < goal[level]:
                    goal = None
            form = form.held(level, float(value))
        assert values is not None
        plan = program.plan(region, values)
        if self.best is None or plan.score < self.best.score:
            self.best = plan
        return True


class Program:
    """The integer program of some clusters of one region.

    Columns: machines of each class by pattern, victims, the cluster of each job, racks in use.
    Rows: tasks of a job in a cluster; machines of a class; the victims of patterns; the racks.
    """

    def __init__(
        self, search: WorkloadSearch, sites: Sequence[int], victims: frozenset[int]
    ) -> None:
        self.search, self.sites = search, tuple(sites)
        requests = search.requests
        self.classes: list[MachineClass] = [
            found for s in sites for found in classes(search.fleet, s, requests, victims)
        ]
        used = {v for c in self.classes for p in c.patterns for v in p.victims}
        self.victims = sorted(used)
        self.columns = [(k, p) for k, c in enumerate(self.classes) for p in range(len(c.patterns))]
        self.racks = sorted({(c.site, c.rack) for c in self.classes})
        self.priorities = sorted({int(search.fleet.priority[v]) for v in self.victims})
        self.form = self._form()

    def _form(self) -> StandardForm:
        from scipy import sparse

        requests, n = self.search.requests, len(self.columns)
        at_victim = {v: n + i for i, v in enumerate(self.victims)}
        first_choice = n + len(self.victims)
        at_rack = {
            rack: first_choice + len(requests) * len(self.sites) + i
            for i, rack in enumerate(self.racks)
        }
        width = first_choice + len(requests) * len(self.sites) + len(self.racks)
        entries: list[tuple[int, int, int]] = []
        lower: list[float] = []
        upper: list[float] = []

        def row(cells: Sequence[tuple[int, int]], low: float, high: float) -> None:
            entries.extend((len(lower), column, a) for column, a in cells)
            lower.append(low)
            upper.append(high)

        of_class: dict[int, list[int]] = {}
        of_site: dict[int, list[int]] = {s: [] for s in self.sites}
        for i, (k, _) in enumerate(self.columns):
            of_class.setdefault(k, []).append(i)
            of_site[self.classes[k].site].append(i)
        for j, request in enumerate(requests):
            chosen = [first_choice + j * len(self.sites) + i for i in range(len(self.sites))]
            row([(column, 1) for column in chosen], 1, 1)
            for s, column in zip(self.sites, chosen, strict=True):
                cells = [(i, self._pattern(i).tasks[j]) for i in of_site[s]]
                row([*((i, a) for i, a in cells if a), (column, -request.tasks)], 0, INF)
        for k, columns in of_class.items():
            found = self.classes[k]
            count = len(found.machines)
            row([(i, 1) for i in columns], -INF, count)
            rack = at_rack[found.site, found.rack]
            row([*((i, 1) for i in columns), (rack, -count)], -INF, 0)
            for v in {v for p in found.patterns for v in p.victims}:
                cells = [(i, 1) for i in columns if v in self._pattern(i).victims]
                row([*cells, (at_victim[v], -count)], -INF, 0)
        top = np.ones(width)
        top[:n] = [len(self.classes[k].machines) for k, _ in self.columns]
        at: Any = np.array(entries)
        matrix = sparse.csc_array(
            (at[:, 2].astype(float), (at[:, 0], at[:, 1])), shape=(len(lower), width)
        )
        costs, grains = self._costs(width, at_victim, list(at_rack.values()))
        levels = len(costs)
        return StandardForm(
            matrix,
            np.array(lower, dtype=float),
            np.array(upper, dtype=float),
            np.zeros(width),
            top,
            np.ones(width, dtype=bool),
            tuple(costs),
            (0.0,) * levels,
            ("min",) * levels,
            tuple(grains),
            tuple(f"level_{level}" for level in range(levels)),
        )

    def _costs(
        self, width: int, at_victim: dict[int, int], racks: Sequence[int]
    ) -> tuple[list[Any], list[Fraction]]:
        """Return the levels that are not constant: victims by priority, their youth, spread."""
        fleet = self.search.fleet
        costs, grains = [], []
        for p in self.priorities:
            cost = np.zeros(width)
            for v, column in at_victim.items():
                cost[column] = fleet.jobs[v] if fleet.priority[v] == p else 0
            costs.append(cost)
            grains.append(Fraction(1))
        if self.victims:
            cost = np.zeros(width)
            for v, column in at_victim.items():
                cost[column] = float(fleet.young[v])
            costs.append(cost)
            grains.append(granularity(fleet.young[v] for v in self.victims))
        cost = np.zeros(width)
        cost[: len(self.columns)] = 1
        cost[list(racks)] = 1
        return [*costs, cost], [*grains, Fraction(1)]

    def value(self, level: int, values: Any) -> Number:
        """Return the exact value of a level at a point."""
        fleet, n = self.search.fleet, len(self.columns)
        chosen = [v for i, v in enumerate(self.victims) if values[n + i]]
        if level < len(self.priorities):
            return sum(fleet.jobs[v] for v in chosen if fleet.priority[v] == self.priorities[level])
        if self.victims and level == len(self.priorities):
            return sum(fleet.young[v] for v in chosen)
        return int(self.form.value(level, values))

    def relevant(self, score: Score) -> list[Number] | None:
        """Return a plan's values of this program's levels; ``None`` if it is worse by another."""
        others = [
            score[p] for p in range(MOST_PRIORITIES + 1) if p not in self.priorities and score[p]
        ]
        if others:
            return None
        values = [score[p] for p in self.priorities]
        return [*values, *([score[-2]] if self.victims else []), score[-1]]

    def _pattern(self, column: int) -> Any:
        k, p = self.columns[column]
        return self.classes[k].patterns[p]

    def plan(self, region: int, values: Any) -> Plan:
        """Return the plan of a point of the program."""
        search, n = self.search, len(self.columns)
        first_choice = n + len(self.victims)
        where = []
        for j in range(len(search.requests)):
            own = values[first_choice + j * len(self.sites) :][: len(self.sites)]
            where.append(self.sites[int(np.argmax(own))])
        left = [request.tasks for request in search.requests]
        placed: list[dict[int, int]] = [{} for _ in search.requests]
        cursor = [0] * len(self.classes)
        for i, (k, _) in enumerate(self.columns):
            found, pattern = self.classes[k], self._pattern(i)
            for _ in range(int(values[i])):
                machine = found.machines[cursor[k]]
                cursor[k] += 1
                for j, most in enumerate(pattern.tasks):
                    tasks = min(most, left[j]) if where[j] == found.site else 0
                    if tasks:
                        left[j] -= tasks
                        placed[j][machine] = tasks
        chosen = tuple(v for i, v in enumerate(self.victims) if values[n + i])
        jobs = tuple(
            JobPlan(site, np.array(list(on)), np.array(list(on.values())))
            for site, on in zip(where, placed, strict=True)
        )
        return Plan(region, jobs, chosen, search.dispatcher.score(jobs, chosen))
