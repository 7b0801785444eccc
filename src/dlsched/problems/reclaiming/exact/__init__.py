"""Exact methods for reclaiming: the integer program, and a decomposition into components."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from dlsched.problems.reclaiming import model
from dlsched.problems.reclaiming.definition.check import evaluate
from dlsched.problems.reclaiming.definition.schema import Instance, Solution, solution_of
from dlsched.problems.reclaiming.heuristics import lyra
from dlsched.problems.reclaiming.heuristics.densest import densest, few_jobs
from dlsched.problems.reclaiming.programs.components import (
    SMALL,
    Component,
    Costs,
    Units,
    bracket,
    convolve,
    enumerate_subsets,
    fold,
    merge_singles,
    solve_part,
    split,
)
from dlsched.problems.reclaiming.programs.fixed_jobs import Reduced
from dlsched.registry.own import method
from dlsched.results.objective import Bound
from dlsched.results.result import Claim, Status, Termination
from dlsched.run import Run
from dlsched.solvers.levels import SOLVER_LIBRARIES, solve_levels

logger = logging.getLogger(__name__)


def _needs_no_loops(instance: Instance) -> bool:
    """Return whether `milp` calls no compiled loops, or on a small instance only."""
    return not _is_weighted(instance) or few_jobs(instance)


def _is_weighted(instance: Instance) -> bool:
    """Return whether jobs differ in weight."""
    return len({job.weight for job in instance.jobs}) > 1


@method(
    "reclaiming",
    kind="exact",
    preload=(".heuristics.densest_loops", *SOLVER_LIBRARIES),
    small=_needs_no_loops,
)
def milp(instance: Instance, run: Run, levels: int = 2) -> Claim:
    """Integer program: first the preempted weight, then, held at its optimum, the collateral.

    Exact because solutions of the model and of the instance correspond (models/reclaiming.md) and
    branch and bound searches all of them except those that preempt a job heavier than the whole
    preempted weight of `densest`, or of the start. The certified bound comes from the relaxation's
    duals. If the weights add up to more than about 400,000 multiples of their greatest common
    divisor, the solver's tolerances can leave a gap of about 1e-9, which is stated; `components`
    leaves none if its components are small.

    Parameters
    ----------
    levels
        1 to stop after the preempted weight.
    """
    known = run.start or run.known
    if known is None and _is_weighted(instance) and instance.demand <= len(instance.servers):
        known = densest(instance, run)
    reduced = Reduced.by(instance, known) if isinstance(known, Solution) else model
    return solve_levels(instance, run, reduced, levels)


@method("reclaiming", kind="exact", preload=SOLVER_LIBRARIES)
def components(instance: Instance, run: Run) -> Claim:
    """Decomposition: an optimum of each component for its share of the demand.

    Exact because no job that can be preempted is in two components, so an optimum consists of
    shares that add up to the demand and of an optimum of each component for its share. Small
    components are enumerated. Large ones first get a table of level 1; the integer program then
    solves both levels for those shares that some optimum of level 1 uses. The convolutions are in
    integers.
    """
    return _Decomposition(instance, run).solve()


class _Table(NamedTuple):
    """Least cost of both levels by number of servers returned, and these servers."""

    costs: Costs
    chosen: Mapping[int, Sequence[int]]


class _Decomposition:
    """The tables of the components; those of large ones have finite costs at needed shares only."""

    def __init__(self, instance: Instance, run: Run) -> None:
        self.instance, self.run = instance, run
        self.units = Units(instance, collateral=True)
        self.weights = Units(instance, collateral=False)
        self.tables: list[_Table] = []

    def solve(self) -> Claim:
        instance, run, demand = self.instance, self.run, self.instance.demand
        large = self.tabulate_small()
        brackets = [
            bracket(instance, part, self.weights, min(len(part.servers), demand), run)
            for part in large
        ]
        lowers = [lower for lower, _ in brackets]
        small = fold((t.costs // self.units.step for t in self.tables), self.weights, demand)
        optimum = int(fold([small, *lowers], self.weights, demand)[demand])
        bound = Bound(self.weights.decode(optimum)[0], "claimed", "components")
        shares = self.needed_shares(small, lowers, optimum)
        proved = all((lower == upper).all() for lower, upper in brackets) and not run.stop_reason()
        if not proved or not all(map(self.refine, large, shares)):
            logger.info("not all components are proved: the solution is that of lyra")
            return Claim(
                solution=lyra(instance, np.random.default_rng(0)),
                bounds=([bound],),
                termination=run.stop_reason() or Termination.TOLERANCES,
            )
        returned, cost = self.trace_back()
        weight, collateral = self.units.decode(cost)
        return Claim(
            solution=solution_of(instance, returned),
            status=Status.OPTIMAL,
            objective=(weight, collateral),
            bounds=([bound], [Bound(collateral, "claimed", "components")]),
        )

    def tabulate_small(self) -> list[Component]:
        """Add the tables of the components that can be enumerated; return the other components."""
        instance, units = self.instance, self.units
        parts = sorted(split(instance, collateral=True), key=lambda p: len(p.servers))
        singles = [p for p in parts if len(p.servers) == 1]
        costs, order = merge_singles(instance, singles, units, instance.demand)
        self.tables.append(_Table(costs, {k: order[:k] for k in range(len(costs))}))
        large = []
        for part in parts[len(singles) :]:
            if len(part.servers) > SMALL:
                large.append(part)
            else:
                costs, chosen = enumerate_subsets(instance, part, units)
                self.tables.append(_Table(costs, dict(enumerate(chosen))))
        return large

    def needed_shares(
        self, rest: Costs, lowers: Sequence[Costs], optimum: int
    ) -> Iterator[list[int]]:
        """Yield for each large component its shares in all optima of level 1.

        Parameters
        ----------
        rest
            Table of level 1 of the small components together.
        lowers
            Table of level 1 of each large component.
        optimum
            The least cost of level 1.
        """
        demand, infinity = self.instance.demand, self.weights.infinity
        after = [self.weights.array([0])]
        for lower in reversed(lowers):
            after.append(convolve(after[-1], lower, demand, infinity)[0])
        for lower, behind in zip(lowers, reversed(after[:-1]), strict=True):
            others, _ = convolve(rest, behind, demand, infinity)
            yield [
                k
                for k in range(len(lower))
                if 0 <= demand - k < len(others) and lower[k] + others[demand - k] == optimum
            ]
            rest, _ = convolve(rest, lower, demand, infinity)

    def refine(self, part: Component, counts: Sequence[int]) -> bool:
        """Solve both levels of a component for these shares; return whether all were proved."""
        costs = self.units.array([self.units.infinity] * (max(counts) + 1))
        chosen: dict[int, Sequence[int]] = {}
        for k in counts:
            if self.run.stop_reason():
                return False
            claim = solve_part(self.instance, part, k, 2, self.run)
            if claim.status is not Status.OPTIMAL:
                return False
            assert isinstance(claim.solution, Solution)
            chosen[k] = [self.instance.server_index[s] for s in claim.solution.returned]
            weight, collateral = evaluate(self.instance, set(chosen[k]))
            costs[k] = self.units.encode(weight, int(collateral))
        self.tables.append(_Table(costs, chosen))
        return True

    def trace_back(self) -> tuple[list[int], int]:
        """Convolve all tables and return an optimal choice of servers with its cost."""
        left = self.instance.demand
        total = self.units.array([0])
        choices = []
        for table in self.tables:
            total, choice = convolve(total, table.costs, left, self.units.infinity)
            choices.append(choice)
        cost = int(total[left])
        returned: list[int] = []
        for table, choice in zip(reversed(self.tables), reversed(choices), strict=True):
            share = int(choice[left])
            returned += table.chosen[share]
            left -= share
        return sorted(returned), cost
