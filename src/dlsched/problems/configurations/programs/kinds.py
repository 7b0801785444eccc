"""The integer program by kinds of jobs: equal jobs are counted, useless choices left out.

A choice is useless if another one of the same type has no more GPUs and costs less, or as much and
moves the job no more; waiting is one with no GPUs. Fewer GPUs never take more blocks of nodes.

With a price u_t >= 0 for each GPU of type t, where n_k jobs of kind k have choices of cost c_kj,
GPUs g_j and type t(j), waiting among them, and y_kj have choice j, every solution costs

    bound(u) + sum_kj d_kj y_kj + sum_t u_t idle_t, where d_kj = c_kj + g_j u_t(j) - m_k >= 0,
    m_k = min_j (c_kj + g_j u_t(j)), and bound(u) = sum_k n_k m_k - sum_t u_t GPUs_t.

So an optimum that costs at most bound(u) + gap has no choice with d_kj above the gap. Costs above
the bound are small numbers, which a solver's tolerances suit. All costs are in units of 1e-9.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from dlsched.problems.configurations.definition.costs import UNIT, Costs, in_units
from dlsched.problems.configurations.definition.schema import Instance, Job, Solution
from dlsched.problems.configurations.model import add_rooms
from dlsched.results.objective import Bound
from dlsched.results.result import Claim, Status, Termination
from dlsched.run import Run
from dlsched.schema import Id
from dlsched.solvers.incremental import IncrementalProgram
from dlsched.solvers.levels import solve_levels

Prices = Mapping[Id, int]
"""By type of GPU, the price of one."""
WAITS = ""
"""The choice of a job without a configuration."""
_PARTS = 4
"""Of the dearest GPU's price, for the first gap: an eighth is as quick, the whole takes 3 s."""


class Kind(NamedTuple):
    """Jobs with the same costs, their present configuration, and the cost of each useful choice."""

    jobs: list[Id]
    present: Id | None
    costs: dict[Id, int]


class Kinds:
    """The kinds of jobs of an instance by their costs, and what prices of GPUs say of them."""

    def __init__(self, instance: Instance, costs: Costs | None = None) -> None:
        self.instance, self.costs = instance, costs or Costs(instance)
        self.gpus = {kind.id: kind.nodes * kind.gpus_per_node for kind in instance.types}

    @cached_property
    def kinds(self) -> list[Kind]:
        """The kinds of jobs, in the file's order of their first."""
        groups: dict[Any, list[Job]] = defaultdict(list)
        for job in self.instance.jobs:
            older = (job.age > 0,) if job.present is None else (job.age, job.restarts)
            groups[job.model, job.present, *older].append(job)
        return [Kind([j.id for j in k], k[0].present, self._useful(k[0])) for k in groups.values()]

    def _useful(self, job: Job) -> dict[Id, int]:
        """Return the costs of the choices that are not useless."""
        by_id, waiting = self.instance.by_id, self.costs.waiting
        rows = [(by_id[c].gpus, units, c) for c, units in self.costs.of(job).items()]
        kept, best = {WAITS: waiting}, dict.fromkeys(self.gpus, waiting)
        for _, units, c in sorted(rows):
            least = best[by_id[c].type]
            if units < least or (units == least and c == job.present):
                kept[c] = best[by_id[c].type] = units
        return kept

    def prices(self, run: Run) -> Prices:
        """Return the prices of the linear relaxation without rooms; 0 if a limit stops it."""
        rows = {t: len(self.kinds) + row for row, t in enumerate(self.gpus)}
        limits = [*(len(kind.jobs) for kind in self.kinds), *self.gpus.values()]
        program, waiting = IncrementalProgram(run), self.costs.waiting
        program.add_rows([-np.inf] * len(limits), limits)
        most = max((abs(u - waiting) for k in self.kinds for u in k.costs.values()), default=0)
        unit = max(UNIT, most // 10**6)  # a solver refuses costs above 1e15
        for k, kind in enumerate(self.kinds):
            for c, units in kind.costs.items():
                if c != WAITS:
                    one, saved = self.instance.by_id[c], (units - waiting) / unit
                    program.add_column(saved, 0.0, np.inf, [k, rows[one.type]], [1.0, one.gpus])
        if not limits or program.solve() is not Termination.PROVED:
            return dict.fromkeys(rows, 0)
        duals = program.duals.tolist()
        return {t: max(0, round(-duals[row] * unit)) for t, row in rows.items()}

    def bound(self, prices: Prices) -> int:
        """Return what every solution costs at least."""
        priced = sum(len(kind.jobs) * min(self.priced(kind, prices)) for kind in self.kinds)
        return priced - sum(prices[t] * gpus for t, gpus in self.gpus.items())

    def priced(self, kind: Kind, prices: Prices) -> list[int]:
        """Return what each choice of a kind costs together with its GPUs."""
        chosen = [self.instance.by_id.get(c) for c in kind.costs]
        gpus = (one.gpus * prices[one.type] if one else 0 for one in chosen)
        return [units + price for units, price in zip(kind.costs.values(), gpus, strict=True)]

    def counts(self, solution: Solution) -> Counter[tuple[int, Id]]:
        """Return how many jobs of each kind have each choice; a useless one counts as waiting."""
        given = solution.configurations
        pairs = [(k, given.get(j, WAITS)) for k, kind in enumerate(self.kinds) for j in kind.jobs]
        return Counter((k, c if c in self.kinds[k].costs else WAITS) for k, c in pairs)

    def value(self, solution: Solution) -> int:
        """Return what a solution costs."""
        return sum(n * self.kinds[k].costs[c] for (k, c), n in self.counts(solution).items())


class KindProgram:
    """The program of solutions within a gap of the prices' bound, as `solve_levels` takes it.

    Jobs may wait, and GPUs be idle, beyond the gap as well: a start is a point of the program.
    `above` is what each choice costs above the least, by the kind's position.
    """

    def __init__(self, kinds: Kinds, prices: Prices, gap: int) -> None:
        self.kinds, self.prices, self.least = kinds, prices, kinds.bound(prices)
        self.above: dict[tuple[int, Id], int] = {}
        for k, kind in enumerate(kinds.kinds):
            priced = kinds.priced(kind, prices)
            rows = zip(kind.costs, (units - min(priced) for units in priced), strict=True)
            self.above |= {(k, c): units for c, units in rows if units <= gap or c == WAITS}

    def build(self, instance: Instance) -> Any:
        """Return the Pyomo model: how many jobs of each kind have each choice, and idle GPUs."""
        import pyomo.core as pyo

        kinds, there = self.kinds.kinds, self.kinds.gpus
        m = pyo.ConcreteModel(instance.name)
        m.TYPES = pyo.Set(initialize=list(there))
        m.CHOICES = pyo.Set(initialize=list(self.above), dimen=2)
        whole = {"domain": pyo.NonNegativeIntegers}
        m.y = pyo.Var(m.CHOICES, bounds=lambda m, k, c: (0, len(kinds[k].jobs)), **whole)
        m.idle = pyo.Var(m.TYPES, bounds=lambda m, t: (0, there[t]), **whole)
        costs = [(units, m.y[key]) for key, units in self.above.items() if units]
        costs += [(self.prices[t], m.idle[t]) for t in there if self.prices[t]]
        paid = pyo.quicksum(units / UNIT * var for units, var in costs)
        m.cost = pyo.Objective(expr=self.least / UNIT + paid)
        running = sum(job.present is not None for job in instance.jobs)
        kept = (m.y[k, c] for k, c in self.above if c == kinds[k].present)
        m.moved = pyo.Objective(expr=running - pyo.quicksum(kept))
        m.GRANULARITY = {"cost": in_units(1), "moved": 1}
        of_kind = defaultdict[int, list[Any]](list)
        for (k, _), y in m.y.items():
            of_kind[k].append(y)
        used = [(instance.by_id[c], y) for (_, c), y in m.y.items() if c != WAITS]

        def choice(m: Any, k: int) -> Any:
            return pyo.quicksum(of_kind[k]) == len(kinds[k].jobs)

        def gpus(m: Any, t: Id) -> Any:
            taken = pyo.quicksum(one.gpus * y for one, y in used if one.type == t)
            return taken + m.idle[t] == there[t]

        m.choice = pyo.Constraint(list(of_kind), rule=choice)
        m.gpus = pyo.Constraint(m.TYPES, rule=gpus)
        add_rooms(m, instance, used)
        return m

    def read(self, instance: Instance, m: Any) -> Solution:
        """Return the solution that the model's variables hold, jobs in the file's order."""
        left = [list(reversed(kind.jobs)) for kind in self.kinds.kinds]
        given = {left[k].pop(): c for (k, c), y in m.y.items() for _ in range(round(y.value or 0))}
        order = (job.id for job in instance.jobs if given[job.id] != WAITS)
        return Solution(configurations={j: given[j] for j in order})

    def assign(self, instance: Instance, m: Any, solution: Solution) -> None:
        """Set every variable to its value in a solution; a choice left out counts as waiting."""
        counts, idle = Counter[tuple[int, Id]](), dict(self.kinds.gpus)
        for (k, c), n in self.kinds.counts(solution).items():
            choice = c if (k, c) in self.above else WAITS
            counts[k, choice] += n
            if choice != WAITS:
                idle[instance.by_id[c].type] -= n * instance.by_id[c].gpus
        for key, y in m.y.items():
            y.set_value(counts[key], skip_validation=True)
        for t, var in m.idle.items():
            var.set_value(idle[t], skip_validation=True)


def solve(kinds: Kinds, run: Run, levels: int | None = None) -> Claim:
    """Solve the program of kinds level by level, first without what is too dear at the prices."""
    prices = kinds.prices(run)
    least = kinds.bound(prices)
    gap = max(prices.values(), default=0) // _PARTS
    claim = Claim(None, Status.NO_SOLUTION)
    for _ in range(2):
        program = KindProgram(kinds, prices, gap)
        claim = solve_levels(kinds.instance, run, program, levels, first=claim.solution)
        value = kinds.value(claim.solution or Solution(configurations={}))  # type: ignore[arg-type]
        if value <= least + gap or run.stop_reason() is not None:
            break
        gap = value - least
    if value > least + gap:  # stopped, with a part of the program
        status = Status.NO_SOLUTION if claim.solution is None else Status.FEASIBLE
        claim = replace(claim, status=status, termination=run.stop_reason(), bounds=())
    first, *others = claim.bounds or [[]]
    first = [*first, Bound(in_units(least), "certified", "lp")]
    exact = abs(value) <= 2**53 or max(bound.value for bound in first) == in_units(value)
    if claim.status is Status.OPTIMAL and not exact:
        reason, ended = "doubles do not hold every unit of its cost", Termination.TOLERANCES
        claim = replace(claim, status=Status.FEASIBLE, termination=ended, reason=reason)
    return replace(claim, bounds=[first, *others])
