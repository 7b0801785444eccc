"""Exact methods for reclaiming: the integer program, and a decomposition into components."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from dlsched.objective import Bound
from dlsched.problems.reclaiming.check import evaluate
from dlsched.problems.reclaiming.components import (
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
from dlsched.problems.reclaiming.densest import densest
from dlsched.problems.reclaiming.heuristics import lyra
from dlsched.problems.reclaiming.reduce import Reduced
from dlsched.problems.reclaiming.schema import Instance, Solution
from dlsched.registry import method
from dlsched.result import Claim, Status
from dlsched.run import Run
from dlsched.solvers.levels import SOLVER_LIBRARIES, solve_levels

MANY_UNITS = 400_000
"""Where weights together count more units, a bound cannot be rounded to one, given the tolerance
that is granted to a solver."""


def choose(instance: Instance) -> str:
    """Return the exact method that suits an instance.

    Where the weights have more digits than a solver with tolerances can tell apart and every
    component is small, `components` decides in whole numbers; else `milp` is faster.
    """
    if sum(Units(instance, collateral=False).weights) <= MANY_UNITS:
        return "milp"
    parts = split(instance, collateral=True)
    return "components" if all(len(part.servers) <= SMALL for part in parts) else "milp"


@method("reclaiming", kind="exact", preload=SOLVER_LIBRARIES)
def milp(instance: Instance, run: Run, levels: int = 2) -> Claim:
    """Integer program: first the preempted weight, then, held at its optimum, the collateral.

    Exact because the model's solutions are the instance's (models/reclaiming.md) and a branch and
    bound searches them all, but for those that preempt a job heavier than all that `densest`, or
    the start, preempts; the certified part of the bound comes from the relaxation's duals.
    Where weights count more than about 400,000 units of their greatest common divisor, the solver's
    tolerances can leave a gap of about 1e-9, which is stated; `components` leaves none as long as
    its components are small.

    Parameters
    ----------
    levels
        1 to stop after the preempted weight.
    """
    from dlsched.problems.reclaiming import model

    known = run.start
    if known is None and instance.demand <= len(instance.servers) and not uniform(instance):
        known = densest(instance, np.random.default_rng(0))
    reduced = Reduced.by(instance, known) if isinstance(known, Solution) else model
    return solve_levels(instance, run, reduced, levels)


def uniform(instance: Instance) -> bool:
    """Whether all jobs weigh the same, so that none can outweigh a choice that preempts any."""
    return len({job.weight for job in instance.jobs}) <= 1


@method("reclaiming", kind="exact", preload=SOLVER_LIBRARIES)
def components(instance: Instance, run: Run) -> Claim:
    """Decomposition: both levels for every part of the demand that a component may get.

    Exact because components share no job that can be preempted, so an optimum is a way to share
    out the demand and an optimum of each component for its share. Small components are enumerated.
    Large ones first get a table of level 1; the integer program then solves both levels for those
    shares that some optimum of level 1 uses. The convolutions are in whole numbers.
    """
    return _Decomposition(instance, run).solve()


@dataclass
class _Table:
    """Pairs of both levels by number of servers returned, and the servers for each."""

    pairs: Costs
    chosen: dict[int, tuple[int, ...]]


@dataclass
class _Decomposition:
    instance: Instance
    run: Run
    tables: list[_Table] = field(default_factory=list)
    large: list[tuple[Component, Costs]] = field(default_factory=list)

    def solve(self) -> Claim:
        instance, run, demand = self.instance, self.run, self.instance.demand
        self.units = Units(instance, collateral=True)
        weights = Units(instance, collateral=False)
        parts = sorted(split(instance, collateral=True), key=lambda p: len(p.servers))
        singles = [p for p in parts if len(p.servers) == 1]
        pairs, order = merge_singles(instance, singles, self.units, demand)
        self.tables.append(_Table(pairs, {k: tuple(order[:k]) for k in range(len(pairs))}))
        uppers: list[Costs] = []
        for part in parts[len(singles) :]:
            if len(part.servers) <= SMALL:
                pairs, chosen = enumerate_subsets(instance, part, self.units)
                self.tables.append(_Table(pairs, dict(enumerate(chosen))))
            else:
                limit = min(len(part.servers), demand)
                lower, upper = bracket(instance, part, weights, limit, run)
                self.large.append((part, lower))
                uppers.append(upper)
        first = [t.pairs // self.units.step for t in self.tables]
        lowers = [lower for _, lower in self.large]
        goal = int(fold([*first, *lowers], weights, demand)[demand])
        bound = Bound(weights.decode(goal)[0], "claimed", "components")
        exact = all((a == b).all() for a, b in zip(lowers, uppers, strict=True))
        if not exact or run.stop_reason():
            return self.stopped(bound)
        needed = self.needed(fold(first, weights, demand), lowers, goal, weights)
        for (part, _), counts in zip(self.large, needed, strict=True):
            if not self.refine(part, counts):
                return self.stopped(bound)
        returned, cost = self.trace_back(demand)
        weight, collateral = self.units.decode(cost)
        second = Bound(collateral, "claimed", "components")
        return Claim(
            solution=self.solution(returned),
            status=Status.OPTIMAL,
            reason="proved optimal",
            objective=(weight, collateral),
            bounds=([bound], [second]),
        )

    def needed(
        self, rest: Costs, lowers: list[Costs], goal: int, weights: Units
    ) -> Iterable[list[int]]:
        """Yield for each large component the shares that an optimum of level 1 can give it."""
        demand = self.instance.demand
        after = [weights.array([0])]
        for lower in reversed(lowers):
            after.append(convolve(after[-1], lower, demand, weights.infinity)[0])
        for lower, behind in zip(lowers, reversed(after[:-1]), strict=True):
            others, _ = convolve(rest, behind, demand, weights.infinity)
            yield [
                k
                for k in range(len(lower))
                if 0 <= demand - k < len(others) and lower[k] + others[demand - k] == goal
            ]
            rest, _ = convolve(rest, lower, demand, weights.infinity)

    def refine(self, part: Component, counts: list[int]) -> bool:
        """Solve both levels of a component for these shares; say whether all were proved."""
        pairs = self.units.array([self.units.infinity] * (max(counts) + 1))
        chosen: dict[int, tuple[int, ...]] = {}
        for k in counts:
            if self.run.stop_reason():
                return False
            claim = solve_part(self.instance, part, k, 2, self.run)
            if claim.status is not Status.OPTIMAL:
                return False
            assert isinstance(claim.solution, Solution)
            chosen[k] = tuple(self.instance.server_index[s] for s in claim.solution.returned)
            weight, collateral = evaluate(self.instance, set(chosen[k]))
            pairs[k] = self.units.encode(weight, int(collateral))
        self.tables.append(_Table(pairs, chosen))
        return True

    def trace_back(self, demand: int) -> tuple[list[int], int]:
        """Convolve all tables and return an optimal choice of servers with its cost."""
        total = self.units.array([0])
        choices = []
        for table in self.tables:
            total, choice = convolve(total, table.pairs, demand, self.units.infinity)
            choices.append(choice)
        left = demand
        returned: list[int] = []
        for table, choice in zip(reversed(self.tables), reversed(choices), strict=True):
            share = int(choice[left])
            returned += table.chosen[share]
            left -= share
        return sorted(returned), int(total[demand])

    def solution(self, returned: list[int]) -> Solution:
        """Return the solution with these servers."""
        return Solution(
            returned=tuple(self.instance.servers[s].id for s in returned),
        )

    def stopped(self, bound: Bound) -> Claim:
        """Return what a stop leaves: Lyra's solution, and what is known of level 1."""
        return Claim(
            solution=lyra(self.instance, np.random.default_rng(0)),
            status=Status.FEASIBLE,
            reason=self.run.stop_reason() or "a component was not solved to its end",
            bounds=([bound],),
        )
