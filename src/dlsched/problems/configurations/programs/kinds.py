"""The integer program by kinds of jobs: equal jobs are counted, useless choices left out.

Jobs are equal that have the same costs and the same present configuration. A choice is useless if
another one of the same type has no more GPUs and costs less, or as much and moves the job no more;
waiting is one with no GPUs. Blocks of nodes that a configuration takes never fall with its GPUs, so
exchanging a useless choice for the better one keeps a solution feasible and makes no level worse.

With a price u_t >= 0 for each GPU of type t, where n_k jobs of kind k have choices of cost c_kj,
GPUs g_j and type t(j), waiting among them, every solution costs at least

    bound(u) = sum_k n_k min_j (c_kj + g_j u_t(j)) - sum_t u_t GPUs_t

and at least bound(u) + d_kj if a job of kind k has choice j, where d_kj is what c_kj + g_j u_t(j)
is above the minimum. So an optimum that costs at most bound(u) + gap needs no choice with d_kj
above the gap.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from dlsched.problems.configurations.definition.costs import UNIT, Costs
from dlsched.problems.configurations.definition.schema import Instance, Job, Solution
from dlsched.problems.configurations.model import add_levels, add_rooms
from dlsched.results.result import Termination
from dlsched.run import Run
from dlsched.schema import Id
from dlsched.solvers.incremental import IncrementalProgram

Prices = Mapping[Id, int]
"""By type of GPU, the price of one in units of 1e-9."""


class Kind(NamedTuple):
    """Equal jobs, their present configuration, and the cost of each choice worth having."""

    jobs: list[Id]
    present: Id | None
    costs: dict[Id, int]


class KindProgram:
    """The program of an instance, as `solve_levels` takes it.

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
        kept, best = {}, dict.fromkeys(self.instance.type_of, self.costs.waiting)
        for _, units, c in sorted(rows):
            least = best[by_id[c].type]
            if units < least or (units == least and c == job.present):
                kept[c] = best[by_id[c].type] = units
        return kept

    def prices(self, run: Run) -> Prices:
        """Return the prices of the linear relaxation without rooms; none if a limit stops it."""
        from scipy import sparse

        rows = {kind.id: len(self.kinds) + t for t, kind in enumerate(self.instance.types)}
        columns = [(k, *item) for k, kind in enumerate(self.kinds) for item in kind.costs.items()]
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
        priced = sum(len(kind.jobs) * self._least(kind, prices) for kind in self.kinds)
        return priced - sum(
            prices[kind.id] * kind.nodes * kind.gpus_per_node for kind in self.instance.types
        )

    def value(self, solution: Solution) -> int:
        """Return what a solution costs, in units of 1e-9."""
        given = solution.configurations
        return sum(
            kind.costs.get(given.get(job, ""), self.costs.waiting)
            for kind in self.kinds
            for job in kind.jobs
        )

    def _priced(self, kind: Kind, prices: Prices) -> dict[Id, int]:
        by_id = self.instance.by_id
        return {
            c: units + by_id[c].gpus * prices[by_id[c].type] for c, units in kind.costs.items()
        }

    def _least(self, kind: Kind, prices: Prices) -> int:
        return min([self.costs.waiting, *self._priced(kind, prices).values()])

    def narrowed(self, prices: Prices, gap: int) -> KindProgram:
        """Return the program without choices that cost more than the bound and a gap."""
        narrow = KindProgram(self.instance, self.costs)
        narrow.kinds = []
        for kind in self.kinds:
            priced = self._priced(kind, prices)
            most = self._least(kind, prices) + gap
            costs = {c: units for c, units in kind.costs.items() if priced[c] <= most}
            narrow.kinds.append(kind._replace(costs=costs))
        return narrow

    def build(self, instance: Instance) -> Any:
        """Return the Pyomo model: how many jobs of each kind have each configuration."""
        import pyomo.core as pyo

        kinds = self.kinds
        choices = [(k, c) for k, kind in enumerate(kinds) for c in kind.costs]
        m = pyo.ConcreteModel(instance.name)
        m.CHOICES = pyo.Set(initialize=choices, dimen=2)
        m.y = pyo.Var(
            m.CHOICES,
            domain=pyo.NonNegativeIntegers,
            bounds=lambda m, k, c: (0, len(kinds[k].jobs)),
        )
        kept = [m.y[k, c] for k, c in choices if c == kinds[k].present]
        running = sum(job.present is not None for job in instance.jobs)
        terms = [(kinds[k].costs[c], y) for (k, c), y in m.y.items()]
        add_levels(m, terms, self.costs.waiting, len(instance.jobs), kept, running)
        add_rooms(m, instance, [(instance.by_id[c], y) for (_, c), y in m.y.items()])

        def choice(m: Any, k: int) -> Any:
            return pyo.quicksum(m.y[k, c] for c in kinds[k].costs) <= len(kinds[k].jobs)

        m.choice = pyo.Constraint([k for k, kind in enumerate(kinds) if kind.costs], rule=choice)
        return m

    def read(self, instance: Instance, m: Any) -> Solution:
        """Return the solution that the model's variables hold, jobs in the file's order."""
        left = [list(reversed(kind.jobs)) for kind in self.kinds]
        given = {}
        for (k, c), y in m.y.items():
            for _ in range(round(y.value or 0)):
                given[left[k].pop()] = c
        order = (job.id for job in instance.jobs)
        return Solution(configurations={j: given[j] for j in order if j in given})

    def assign(self, instance: Instance, m: Any, solution: Solution) -> None:
        """Set every variable to its value in a solution; a choice left out counts as waiting."""
        for (k, c), y in m.y.items():
            count = sum(solution.configurations.get(j) == c for j in self.kinds[k].jobs)
            y.set_value(count, skip_validation=True)
