"""Column generation: the relaxation with exact pricing, then the groups that can still matter.

The relaxation's prices give a bound on every grouping (`GroupPool.bound`), and with it a test: if
no group's reduced value exceeds h, a grouping with a group of reduced value r is worth at most the
bound minus (h - r). So groups further below h than the gap are in no better grouping, and the
integer program over the others finds the optimum. With many distinct jobs the relaxation is that
of `large_relaxation`.
"""

from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from dlsched.problems.interleaving.definition.schema import Solution
from dlsched.problems.interleaving.heuristics.matching import MATCHING_LIBRARIES
from dlsched.problems.interleaving.programs.column_pool import GroupPool
from dlsched.problems.interleaving.programs.columns import Groups, Prices, Query
from dlsched.problems.interleaving.programs.large_relaxation import LargeRelaxation
from dlsched.problems.interleaving.programs.master import GroupMaster, best_choice
from dlsched.problems.interleaving.programs.tunables import TUNABLES
from dlsched.problems.interleaving.structures.groups import (
    GAMMA_ERROR,
    LEAST_GAIN,
    groups_of,
    solution_of,
)
from dlsched.results.objective import Bound
from dlsched.results.result import Claim, Status, Termination
from dlsched.run import Run
from dlsched.solvers.arrays import Floats, Ints
from dlsched.solvers.column_generation import CLOSE, generate
from dlsched.solvers.incumbent import Incumbent

COLUMN_LIBRARIES = ("highspy", *MATCHING_LIBRARIES)
"""What a method that generates columns preloads."""


class GroupSearch:
    """The state of the search: columns, incumbent, bound and the prices that prove it.

    The value of a grouping with jobs that must not share is below 0.
    """

    def __init__(self, pool: GroupPool, run: Run) -> None:
        self.pool = pool
        self.run = run
        self.bound: Fraction | None = None
        self.prices: Prices | None = None
        self.highest = np.zeros(len(pool.classes))
        self.excess = 0.0
        """How far the bound that the prices alone prove is above the bound, full efficiency."""
        self.incumbent: Incumbent[Groups, float] = Incumbent(
            run,
            worth=lambda groups: float(groups.worth.sum()),
            better=lambda new, old: new > old + 1e-13 * abs(old),  # by more than rounding
            shown=lambda value: value if value >= 0 else None,
        )
        self.proved = False
        self.solved = -np.inf
        """The bound of the last integer program that was solved to its end."""

    @property
    def grouping(self) -> Groups:
        """The best grouping so far."""
        assert self.incumbent.solution is not None
        return self.incumbent.solution

    @property
    def value(self) -> float:
        """What it is worth."""
        return -np.inf if self.incumbent.value is None else self.incumbent.value

    @property
    def gap(self) -> float:
        """The distance from the incumbent to the bound."""
        return np.inf if self.bound is None else float(self.bound) - self.value

    @property
    def few(self) -> bool:
        """Whether all groups are listed, and few."""
        return self.pool.listed is not None and len(self.pool.listed) <= TUNABLES.few_groups

    def done(self) -> bool:
        """Return whether the gap is as small as was asked for."""
        return self.proved or self.gap <= max(self.run.gap, CLOSE) * abs(self.value)

    def own(self, solution: Solution) -> Groups:
        """Return the groups of a solution."""
        return self.pool.groups_of_jobs(groups_of(self.pool.instance, solution))

    def solve(self) -> None:
        """Run all phases within the limits; there must be an incumbent."""
        rounds = TUNABLES.rounds
        most = TUNABLES.most_columns
        self.solve_relaxation(TUNABLES.relaxation_share)
        if self.prices is None or self.done() or self.run.stop_reason():
            return
        self.solve_nearest()
        neighbourhood = _Neighbourhood(self.pool, self.prices, self.run)
        idle = 0
        while not (self.done() or self.run.stop_reason() or idle >= rounds):
            better = neighbourhood.improve(self.grouping)
            idle = 0 if better is not None and self.incumbent.offer(better) else idle + 1
            if idle == max(1, rounds // 4):
                self.solve_within(most // 2)
        self.solve_within(most)

    def solve_nearest(self) -> None:
        """Solve the integer program over the groups nearest to the prices, then over more."""
        if self.few and self.solve_within(TUNABLES.few_groups):
            return
        slack = TUNABLES.first_slack * len(self.pool.profiles)
        while not (self.done() or self.run.stop_reason()):
            slack = min(slack, self.gap)
            if not self.solve_within(TUNABLES.most_columns // 4, slack):
                return
            slack *= 2

    def solve_relaxation(self, share: float) -> None:
        """Solve the relaxation by column generation.

        Parameters
        ----------
        share
            Largest share of what is left of the time limit.
        """
        deadline = self.run.elapsed() + share * self.run.remaining()
        largest = max(len(profiles.rows) for profiles in self.pool.classes)
        if self.pool.listed is not None or largest < TUNABLES.many_profiles:
            self._solve_smoothed(deadline)
            return
        relaxation = LargeRelaxation(self.pool, self.run, self.grouping)
        for prices in relaxation.bounds(deadline):
            self.update_bound(prices, np.zeros(len(self.pool.classes)))
        if relaxation.failed:
            self._solve_smoothed(deadline)

    def _solve_smoothed(self, deadline: float) -> None:
        """Generate columns at smoothed prices, with an exact pass in each round."""
        master = GroupMaster(self.pool, self.run)
        master.add(Groups.join([self.grouping, self.pool.singles()]))
        if self.few and self.pool.listed is not None:
            master.add(self.pool.listed)
        query = Query(0.0, TUNABLES.quota, TUNABLES.capacity)

        def price(prices: Prices) -> tuple[float, Groups] | None:
            priced = self.pool.price(prices, query, self.run)
            if priced is None:
                return None
            return self.update_bound(prices, priced.highest), priced.groups

        def mixed(own: Prices, best: Prices, weight: float) -> Prices:
            centre = self.pool.without_excess(best, self.highest)
            rows = own.rows + weight * (centre.rows - own.rows)
            return Prices(rows, own.gpu + weight * (centre.gpu - own.gpu))

        known = None
        if self.prices is not None and self.bound is not None:
            known = self.prices, float(self.bound)
        for _ in generate(master, price, self.run, mixed=mixed, known=known):
            if self.run.elapsed() > deadline:
                break

    def update_bound(self, prices: Prices, highest: Floats) -> float:
        """Return the bound that these prices prove; keep it if it is the best so far."""
        bound = self.pool.bound(prices, highest)
        if self.bound is None or bound < self.bound:
            self.bound = bound
            self.prices = prices
            self.highest = highest
            self.excess = float(self.pool.lagrangian(prices, highest) - bound)
            self.incumbent.bound = float(bound)
            self.incumbent.record()
        return float(bound)

    def solve_integer(self, groups: Groups, run: Run) -> bool:
        """Solve the integer program over some groups; return whether it was solved to its end."""
        groups = Groups.join([groups, self.grouping])
        outcome, chosen = best_choice(self.pool, groups, run, self.grouping)
        if chosen is not None:
            self.incumbent.offer(chosen)
        if outcome.status is not Status.OPTIMAL:
            return False
        self.solved = self.value if outcome.bound is None else outcome.bound
        return True

    def solve_within(self, most: int, slack: float | None = None) -> bool:
        """Find the best grouping of groups whose reduced value is within a slack of the largest.

        Parameters
        ----------
        most
            Largest number of groups.
        slack
            By default the gap, so that nothing better is missed. A smaller one is for a better
            incumbent, at a rough gap.

        Returns
        -------
        bool
            Whether it was solved: there were not too many groups, and no limit was reached.
        """
        if self.done() or self.run.stop_reason():
            return False
        assert self.prices is not None and self.bound is not None
        decisive = slack is None or slack >= self.gap
        within = (self.gap if slack is None else slack) * (1 + 1e-6) + self.excess + CLOSE
        parts = []
        for c, highest in enumerate(self.highest.tolist()):
            query = Query(highest - within, most, most, listing=True)
            priced = self.pool.price(self.prices, query, self.run, [c])
            if priced is None or not priced.complete:
                return False
            parts.append(priced.groups)
        groups = Groups.join(parts)
        # If not decisive, the next one starts from the solution of this one.
        patience = max(TUNABLES.patience, TUNABLES.patience_share * self.run.elapsed())
        seconds = np.inf if slack is None else patience
        run = self.run.nested(seconds, 0.0 if decisive else TUNABLES.rough_gap)
        if len(groups) > most or not self.solve_integer(groups, run):
            return False
        self.proved = decisive
        return True

    def bounds(self) -> list[Bound]:
        """Return the certified bound; that of full efficiency before the first pass of pricing."""
        if self.bound is None:
            return [Bound(self.pool.full_efficiency, "certified", "full efficiency of all groups")]
        return [Bound(self.bound, "certified", "prices, one exact pricing pass")]

    def claim(self) -> Claim:
        """Return the incumbent with what is proved of it."""
        if self.value < 0:
            return self._without_grouping()
        done = self.done()
        stopped = self.run.stop_reason()
        idle = not done and not stopped
        return Claim(
            solution=self.solution(),
            status=Status.OPTIMAL if done else Status.FEASIBLE,
            termination=None if done else stopped or Termination.ITERATION_LIMIT,
            reason=f"no progress in {TUNABLES.rounds} rounds of neighbourhood search"
            if idle
            else "",
            objective=[self.value],
            bounds=[[*self.bounds(), *self.claimed_bounds()]],
            start=self.incumbent.start,
        )

    def claimed_bounds(self) -> Iterator[Bound]:
        """Yield what the integer program or the prices claim, if the optimum is claimed.

        The values are sums of doubles: the exact ones may be larger by the error of their gammas.
        """
        weights = self.pool.class_weights[self.pool.class_of]
        error = GAMMA_ERROR * float(weights @ self.pool.multiplicity)
        if self.proved:
            solved = max(self.solved, self.value) + error
            yield Bound(solved, "claimed", "highs on the groups within the gap")
        elif self.gap <= CLOSE * abs(self.value):
            yield Bound(self.value + error, "claimed", "prices, to nine digits")

    def _without_grouping(self) -> Claim:
        """Return that no grouping is allowed, if that is proved: each would be worth 0 or more."""
        none = self.proved or (self.bound is not None and self.bound < 0)
        reason = "no grouping keeps all jobs apart that must not share"
        return Claim(
            status=Status.INFEASIBLE if none else Status.NO_SOLUTION,
            termination=None if none else self.run.stop_reason() or Termination.UNDECIDED,
            reason=reason if none else "no grouping was found that keeps these jobs apart",
            bounds=[] if none else [self.bounds()],
        )

    def solution(self) -> Solution:
        """Return the incumbent with jobs in place of profiles, in the file's order."""
        instance = self.pool.instance
        queues = [list(reversed(jobs)) for jobs in self.pool.jobs_of_row]
        rows = [[queues[p].pop() for p in row if p >= 0] for row in self.grouping.members.tolist()]
        return solution_of(instance, rows)


class _Neighbourhood:
    """Removes some groups, and regroups their jobs by the integer program near the prices."""

    def __init__(self, pool: GroupPool, prices: Prices, run: Run) -> None:
        self.pool = pool
        self.prices = prices
        self.run = run
        self.query = Query(-np.inf, TUNABLES.removed_quota, TUNABLES.removed_capacity)
        self.size = TUNABLES.removed_groups
        """Groups to remove at once; it grows while the integer programs take little time."""

    def improve(self, groups: Groups) -> Groups | None:
        """Return a better grouping, or ``None``."""
        drawn = self.draw(groups)
        rest = groups[np.setdiff1d(np.arange(len(groups)), drawn)]
        removed = groups[drawn]
        jobs = np.zeros_like(self.pool.multiplicity)
        np.add.at(jobs, removed.members[removed.members >= 0], 1)
        budget = self.pool.budget
        if budget is not None:
            budget -= int(self.pool.gpus(rest).sum())
        sub = self.pool.restricted(jobs, budget)
        priced = sub.price(self.prices, self.query, self.run)
        if priced is None:
            return None
        inner = self.run.nested(TUNABLES.removed_seconds)
        _, chosen = best_choice(sub, Groups.join([priced.groups, removed]), inner)
        if chosen is None:
            return None
        hard = inner.elapsed() > TUNABLES.removed_seconds / 2
        size = self.size - 1 if hard else self.size + 1
        self.size = min(max(size, TUNABLES.fewest_removed), TUNABLES.most_removed)
        if chosen.worth.sum() <= removed.worth.sum() + LEAST_GAIN:
            return None
        return Groups.concatenate([rest, chosen])

    def draw(self, groups: Groups) -> Ints:
        """Draw groups at random, with a probability that grows with cost minus worth."""
        cost = self.prices.of(groups.members) + self.prices.gpu * self.pool.gpus(groups)
        loss = cost - groups.worth
        loss = loss - loss.min() + 1e-3 * (np.ptp(loss) + 1e-9)
        size = min(self.size, len(groups))
        return self.run.rng.choice(len(groups), size=size, replace=False, p=loss / loss.sum())
