"""The integer program by kinds of jobs: equal jobs are counted, useless choices left out.

Jobs are equal that have the same costs and the same present configuration. A choice is useless if
another one of the same type has no more GPUs and costs less, or as much and moves the job no more;
waiting is one with no GPUs. Blocks of nodes that a configuration takes never fall with its GPUs, so
exchanging a useless choice for the better one keeps a solution feasible and makes no level worse.

With a price u_t >= 0 for each GPU of type t, where n_k jobs of kind k have choices of cost c_kj,
GPUs g_j and type t(j), waiting among them, and y_kj have choice j, every solution costs

    bound(u) + sum_kj d_kj y_kj + sum_t u_t idle_t, where d_kj = c_kj + g_j u_t(j) - m_k >= 0,
    m_k = min_j (c_kj + g_j u_t(j)), and bound(u) = sum_k n_k m_k - sum_t u_t GPUs_t.

So an optimum that costs at most bound(u) + gap has no choice with d_kj above the gap, and at most
gap / u_t idle GPUs. Costs above the bound are small numbers, which a solver's tolerances suit.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from dlsched.problems.configurations.definition.costs import UNIT, Costs, in_units
from dlsched.problems.configurations.definition.schema import Instance, Job, Solution
from dlsched.problems.configurations.model import add_rooms
from dlsched.results.result import Termination
from dlsched.run import Run
from dlsched.schema import Id
from dlsched.solvers.incremental import IncrementalProgram

Prices = Mapping[Id, int]
"""By type of GPU, the price of one in units of 1e-9."""


WAITS = ""
"""The choice of a job without a configuration."""


class Kind(NamedTuple):
    """Equal jobs, their present configuration, and the cost of each choice worth having."""

    jobs: list[Id]
    present: Id | None
    costs: dict[Id, int]


class Kinds:
    """The kinds of jobs of an instance, and what prices of GPUs say of them.

    Parameters
    ----------
    instance
        The instance.
    costs
        The costs of jobs; by default those of the definition.
    """

    def __init__(self, instance: Instance, costs: Costs | None = None) -> None:
        self.instance = instance
        self.costs = costs or Costs(instance)

    @cached_property
    def kinds(self) -> list[Kind]:
        """The kinds of jobs, in the file's order of their first."""
        groups: dict[Any, list[Job]] = defaultdict(list)
        for job in self.instance.jobs:
            groups[self.costs.alike(job)].append(job)
        return [
            Kind([job.id for job in jobs], jobs[0].present, self._worthwhile(jobs[0]))
            for jobs in groups.values()
        ]

    def _worthwhile(self, job: Job) -> dict[Id, int]:
        """Return the costs of the choices that are not useless."""
        by_id = self.instance.by_id
        rows = [(by_id[c].gpus, units, c) for c, units in self.costs.of(job).items()]
        kept = {WAITS: self.costs.waiting}
        best = dict.fromkeys(self.instance.type_of, self.costs.waiting)
        for _, units, c in sorted(rows):
            least = best[by_id[c].type]
            if units < least or (units == least and c == job.present):
                kept[c] = best[by_id[c].type] = units
        return kept

    def prices(self, run: Run) -> Prices:
        """Return the prices of the linear relaxation without rooms; none if a limit stops it."""
        from scipy import sparse

        rows = {kind.id: len(self.kinds) + t for t, kind in enumerate(self.instance.types)}
        columns = [
            (k, c, units)
            for k, kind in enumerate(self.kinds)
            for c, units in kind.costs.items()
            if c != WAITS
        ]
        chosen = [self.instance.by_id[c] for _, c, _ in columns]
        entries = [1.0] * len(columns) + [float(one.gpus) for one in chosen]
        places = [k for k, *_ in columns] + [rows[one.type] for one in chosen]
        starts = 2 * list(range(len(columns)))
        shape = (len(self.kinds) + len(rows), len(columns))
        limits = [len(kind.jobs) for kind in self.kinds]
        limits += [kind.nodes * kind.gpus_per_node for kind in self.instance.types]
        program = IncrementalProgram(run)
        program.add_rows([-np.inf] * shape[0], limits)
        saved = np.array([units - self.costs.waiting for *_, units in columns]) / UNIT
        program.add_columns(saved, sparse.csc_array((entries, (places, starts)), shape=shape))
        if not columns or program.solve() is not Termination.PROVED:
            return dict.fromkeys(rows, 0)
        duals = program.duals.tolist()
        return {t: max(0, round(-duals[row] * UNIT)) for t, row in rows.items()}

    def bound(self, prices: Prices) -> int:
        """Return what every solution costs at least, in units of 1e-9."""
        priced = sum(len(kind.jobs) * min(self.priced(kind, prices)) for kind in self.kinds)
        return priced - sum(prices[t.id] * t.nodes * t.gpus_per_node for t in self.instance.types)

    def priced(self, kind: Kind, prices: Prices) -> list[int]:
        """Return what each choice of a kind costs together with its GPUs."""
        chosen = [self.instance.by_id.get(c) for c in kind.costs]
        gpus = (one.gpus * prices[one.type] if one else 0 for one in chosen)
        return [units + price for units, price in zip(kind.costs.values(), gpus, strict=True)]

    def value(self, solution: Solution) -> int:
        """Return what a solution costs, in units of 1e-9."""
        given = solution.configurations
        return sum(
            kind.costs.get(given.get(job, WAITS), self.costs.waiting)
            for kind in self.kinds
            for job in kind.jobs
        )


class KindProgram:
    """The program of solutions within a gap of the prices' bound, as `solve_levels` takes it.

    Jobs may wait, and GPUs be idle, beyond the gap as well: a start is a point of the program.

    Parameters
    ----------
    kinds, prices
        The kinds of jobs, and prices of their GPUs.
    gap
        How far above the bound, in units of 1e-9.
    """

    def __init__(self, kinds: Kinds, prices: Prices, gap: int) -> None:
        self.kinds, self.prices, self.gap = kinds.kinds, prices, gap
        self.least = kinds.bound(prices)
        self.above: dict[tuple[int, Id], int] = {}
        for k, kind in enumerate(self.kinds):
            priced = kinds.priced(kind, prices)
            least = min(priced)
            for c, units in zip(kind.costs, priced, strict=True):
                if units - least <= gap or c == WAITS:
                    self.above[k, c] = units - least

    def build(self, instance: Instance) -> Any:
        """Return the Pyomo model: how many jobs of each kind have each choice, and idle GPUs."""
        import pyomo.core as pyo

        m = pyo.ConcreteModel(instance.name)
        m.TYPES = pyo.Set(initialize=list(instance.type_of))
        m.CHOICES = pyo.Set(initialize=list(self.above), dimen=2)
        m.y = pyo.Var(
            m.CHOICES,
            domain=pyo.NonNegativeIntegers,
            bounds=lambda m, k, c: (0, len(self.kinds[k].jobs)),
        )
        there = {t.id: t.nodes * t.gpus_per_node for t in instance.types}
        m.idle = pyo.Var(m.TYPES, domain=pyo.NonNegativeIntegers, bounds=lambda m, t: (0, there[t]))
        costs = [(units, m.y[key]) for key, units in self.above.items() if units]
        costs += [(self.prices[t], m.idle[t]) for t in m.TYPES if self.prices[t]]
        running = sum(job.present is not None for job in instance.jobs)
        kept = (m.y[k, c] for k, c in self.above if c == self.kinds[k].present)
        m.cost = pyo.Objective(
            expr=self.least / UNIT + pyo.quicksum(units / UNIT * var for units, var in costs)
        )
        m.moved = pyo.Objective(expr=running - pyo.quicksum(kept))
        m.GRANULARITY = {"cost": in_units(1), "moved": 1}
        of_kind = defaultdict[int, list[Any]](list)
        used = [(instance.by_id[c], y) for (_, c), y in m.y.items() if c != WAITS]
        for (k, _), y in m.y.items():
            of_kind[k].append(y)

        def choice(m: Any, k: int) -> Any:
            return pyo.quicksum(of_kind[k]) == len(self.kinds[k].jobs)

        def gpus(m: Any, t: Id) -> Any:
            taken = pyo.quicksum(one.gpus * y for one, y in used if one.type == t)
            return taken + m.idle[t] == there[t]

        m.choice = pyo.Constraint(list(of_kind), rule=choice)
        m.gpus = pyo.Constraint(m.TYPES, rule=gpus)
        add_rooms(m, instance, used)
        return m

    def read(self, instance: Instance, m: Any) -> Solution:
        """Return the solution that the model's variables hold, jobs in the file's order."""
        left = [list(reversed(kind.jobs)) for kind in self.kinds]
        given = {}
        for (k, c), y in m.y.items():
            for _ in range(round(y.value or 0)):
                given[left[k].pop()] = c
        order = (job.id for job in instance.jobs)
        return Solution(configurations={j: given[j] for j in order if given[j] != WAITS})

    def assign(self, instance: Instance, m: Any, solution: Solution) -> None:
        """Set every variable to its value in a solution; a choice left out counts as waiting."""
        counts = Counter[tuple[int, Id]]()
        taken = Counter[Id]()
        for k, kind in enumerate(self.kinds):
            for job in kind.jobs:
                c = solution.configurations.get(job, WAITS)
                c = c if (k, c) in self.above else WAITS
                counts[k, c] += 1
                if c != WAITS:
                    taken[instance.by_id[c].type] += instance.by_id[c].gpus
        for key, y in m.y.items():
            y.set_value(counts[key], skip_validation=True)
        for t, idle in m.idle.items():
            there = instance.type_of[t].nodes * instance.type_of[t].gpus_per_node
            idle.set_value(there - taken[t], skip_validation=True)
