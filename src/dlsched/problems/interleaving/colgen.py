"""Column generation: the relaxation with exact pricing, then the groups that can still matter.

The relaxation's prices give a bound on every grouping (`Pool.bound`), and with it a test: if no
group's reduced value exceeds h, a grouping with a group of reduced value r is worth at most the
bound minus (h - r). So groups further below h than the gap are in no better grouping, and the
integer program over the others finds the optimum.
"""

from __future__ import annotations

import time
from fractions import Fraction

import numpy as np

from dlsched.objective import Bound
from dlsched.problems.interleaving.groups import GAMMA_ERROR, Indices, Vector, solution_of
from dlsched.problems.interleaving.master import Master, best_choice
from dlsched.problems.interleaving.neighbourhood import Neighbourhood
from dlsched.problems.interleaving.pool import Groups, Pool, Prices
from dlsched.problems.interleaving.schema import Instance, Solution
from dlsched.result import Claim, Start, Status
from dlsched.run import Run

CLOSE = 1e-9
"""Relative distance at which bound and value, both in floats, are the same."""
ROUNDING = 1e-13
"""Relative difference of two values that may be rounding only."""
SMOOTHING = 0.5
"""How far prices go from the relaxation's towards those of the best bound (Wentges 1997)."""
_QUOTA = 5
_CAPACITY = 200_000
_PATIENCE = 20.0
"""Seconds for an integer program that may not decide anything."""
_ROUGH = 1e-4
"""Relative gap at which an integer program that decides nothing may end."""
_MOST_CLOSING = 60_000
"""The integer program over the groups that matter is tried with at most so many."""


class Search:
    """The state of the search: columns, incumbent, bound and the prices that prove it."""

    def __init__(self, pool: Pool, run: Run, method: str) -> None:
        self.pool, self.run, self.method = pool, run, method
        self.bound: Fraction | None = None
        self.prices: Prices | None = None
        self.centre: Prices | None = None
        self.highest = np.zeros(len(pool.parts))
        self.incumbent: Groups | None = None
        self.proved = False
        self.solved = -np.inf
        """The bound of the last integer program that was solved to its end."""
        self.start: Start | None = None

    @property
    def value(self) -> float:
        """The incumbent's worth."""
        return -np.inf if self.incumbent is None else float(self.incumbent.worth.sum())

    @property
    def gap(self) -> float:
        """The distance from the incumbent to the bound."""
        return np.inf if self.bound is None else float(self.bound) - self.value

    def done(self) -> bool:
        """Whether the gap is as small as was asked for."""
        return self.proved or self.gap <= max(self.run.gap, CLOSE) * abs(self.value)

    def offer(self, groups: Groups) -> bool:
        """Take a grouping as the incumbent if it is better."""
        if groups.worth.sum() <= self.value + ROUNDING * abs(self.value):
            return False
        self.incumbent = groups
        self.run.record(self.value, None if self.bound is None else float(self.bound))
        return True

    def solve(self, rounds: int, share: float = 0.6) -> None:
        """Run all phases within the limits, from the incumbent offered.

        Parameters
        ----------
        rounds
            Rounds of neighbourhood search without progress after which it ends.
        share
            Part of the time limit that the relaxation may take.
        """
        self.relax(share)
        if self.prices is None or self.done() or self.run.stop_reason():
            return
        self.deepen()
        neighbourhood = Neighbourhood(self.pool, self.prices, self.run)
        idle = 0
        while not (self.done() or self.run.stop_reason() or idle >= rounds):
            assert self.incumbent is not None
            better = neighbourhood.improve(self.incumbent)
            idle = 0 if better is not None and self.offer(better) else idle + 1
            if idle == max(1, rounds // 4):
                self.close(_MOST_CLOSING // 2, None)
        self.close(_MOST_CLOSING, None)

    def deepen(self) -> None:
        """Solve the integer program over the groups nearest to the prices, then over more."""
        slack = 4e-6 * len(self.pool.many)
        while not (self.done() or self.run.stop_reason()):
            slack = min(slack, self.gap)
            if not self.close(_MOST_CLOSING // 4, slack):
                return
            slack *= 2

    def relax(self, share: float) -> None:
        """Solve the relaxation by column generation, prices smoothed."""
        master = Master(self.pool, self.run)
        assert self.incumbent is not None
        master.add(Groups.join([self.incumbent, self.pool.singles()]))
        deadline = self.run.began + share * (self.run.time_limit or np.inf)
        step = SMOOTHING
        while not self.run.stop_reason():
            solved = master.solve()
            if solved is None:
                break
            value, prices = solved
            at = prices if self.centre is None else prices.towards(self.centre, step)
            answer = self.pool.price(at, 0.0, _QUOTA, _CAPACITY, self.run)
            if answer is None:
                break
            self.note_bound(at, answer.highest)
            assert self.bound is not None
            if float(self.bound) - value <= CLOSE * abs(value) or time.perf_counter() > deadline:
                break
            groups = master.new(answer.groups)
            reduced = groups.worth - prices.of(groups.members) - prices.gpu * self.pool.gpus(groups)
            helps = reduced > CLOSE * abs(value) / len(self.pool.many)
            if helps.any():
                master.add(groups)
                step = SMOOTHING
            elif step > 0:
                step = step / 2 if step > 1 / 8 else 0.0  # mispriced: closer to the relaxation's
            else:
                break

    def note_bound(self, prices: Prices, highest: Vector) -> None:
        """Keep the bound that these prices prove, if it is the best so far."""
        bound = self.pool.bound(prices, highest)
        if self.bound is None or bound < self.bound:
            self.bound, self.prices, self.highest = bound, prices, highest
            self.centre = self.pool.centred(prices, highest)
            self.run.record(self.value, float(bound))

    def take(self, groups: Groups, run: Run) -> bool:
        """Solve the integer program over some groups; return whether it was solved to its end."""
        assert self.incumbent is not None
        groups = Groups.join([groups, self.incumbent])
        outcome, counts = best_choice(self.pool, groups, run, self.counts(groups))
        if counts is not None:
            self.offer(groups[np.repeat(np.arange(len(groups)), counts)])
        if outcome.status is not Status.OPTIMAL:
            return False
        self.solved = self.value if outcome.bound is None else outcome.bound
        return True

    def counts(self, groups: Groups) -> Indices:
        """Return how often the incumbent takes each of the groups."""
        assert self.incumbent is not None
        place = {tuple(sorted(row)): i for i, row in enumerate(groups.members.tolist())}
        counts = np.zeros(len(groups), dtype=np.int64)
        for row in self.incumbent.members.tolist():
            counts[place[tuple(sorted(row))]] += 1
        return counts

    def close(self, most: int, slack: float | None) -> bool:
        """Find the best grouping among the groups within some slack of the prices.

        Parameters
        ----------
        most
            The most groups to look at.
        slack
            By default the gap: then nothing better can be missed. A smaller one is for a better
            incumbent, at a rough gap.

        Returns
        -------
        bool
            Whether it was done: there were not too many, and no limit struck.
        """
        if self.done() or self.run.stop_reason():
            return False
        assert self.prices is not None and self.bound is not None
        within = (self.gap if slack is None else slack) * (1 + 1e-6) + CLOSE
        parts = []
        for g in range(len(self.pool.parts)):
            threshold = float(self.highest[g]) - within
            answer = self.pool.price(
                self.prices, threshold, most, most, self.run, [g], listing=True
            )
            if answer is None or not answer.complete:
                return False
            parts.append(answer.groups)
        groups = Groups.join(parts)
        decisive = within >= self.gap  # else the next one starts from what this one finds
        patience = np.inf if slack is None else max(_PATIENCE, 0.1 * self.run.elapsed())
        run = self.run.nested(patience, 0.0 if decisive else _ROUGH)
        if len(groups) > most or not self.take(groups, run):
            return False
        self.proved = decisive
        return True

    def bounds(self) -> list[Bound]:
        """Return the certified bound, if there is one."""
        how = "prices, one exact pricing pass"
        return [] if self.bound is None else [Bound(self.bound, "certified", how)]

    def claim(self, instance: Instance, build_seconds: float) -> Claim:
        """Return what is known."""
        assert self.incumbent is not None
        bounds = self.bounds()
        status, reason = Status.FEASIBLE, self.run.stop_reason() or ""
        if self.done():
            status = Status.OPTIMAL
            reason = "the relaxation's bound is met"
            # Sums of doubles: the exact value may lie above by so much.
            off = GAMMA_ERROR * sum(part.weight * int(part.many.sum()) for part in self.pool.parts)
            solved = max(self.solved, self.value) + off
            if self.proved:
                reason = "the best of all groups within the gap"
                bounds.append(Bound(solved, "claimed", "highs on the groups within the gap"))
            elif self.gap > CLOSE * abs(self.value):
                reason = "within the gap asked for"
            else:
                bounds.append(Bound(self.value + off, "claimed", "prices, to nine digits"))
        elif not reason:
            reason = "no progress in the rounds of neighbourhood search that were asked for"
        return Claim(
            solution=expand(instance, self.incumbent, self.method),
            status=status,
            reason=reason,
            objective=[self.value],
            bounds=[bounds],
            build_seconds=build_seconds,
            start=self.start,
        )


def expand(instance: Instance, groups: Groups, method: str) -> Solution:
    """Return the solution in which each group's profiles are jobs, in the file's order."""
    queues = [list(reversed(jobs)) for jobs in instance.profiles.values()]
    rows = [[queues[p].pop() for p in row if p >= 0] for row in groups.members.tolist()]
    return solution_of(instance, rows, method)


def _version() -> str:
    from dlsched.solvers import highs

    return highs.version()
