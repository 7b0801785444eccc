"""Dantzig-Wolfe over the jobs' schedules, with prices of ever shorter periods.

A column is a schedule of one job: the slots in which it runs, and its speed in each. The master
takes at most one per job and keeps Hall's condition in every slot. The duals of its rows, each of a
slot and a set of types, add up to prices of types, whose bound is at least as tight: the types of a
gang are in every set that contains one of its masks.
"""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from dlsched.problems.utility.definition.check import evaluate
from dlsched.problems.utility.definition.schema import Instance, Solution
from dlsched.problems.utility.heuristics.insertion import Insertion
from dlsched.problems.utility.model import Restriction
from dlsched.problems.utility.programs.column_generation import (
    TUNABLES,
    Columns,
    first_cuts,
    prices_of_periods,
    refinements,
)
from dlsched.problems.utility.programs.finish_periods import prices_of_finishes
from dlsched.problems.utility.programs.lagrangian import Dual
from dlsched.problems.utility.programs.reduced_cost_fixing import allowed_part, restrict
from dlsched.problems.utility.structures.gangs import Barred, Gangs, Stopped, levels_of
from dlsched.problems.utility.structures.machines import solution_of
from dlsched.results.objective import Bound
from dlsched.results.result import Claim, Point, Status, Termination
from dlsched.run import Run
from dlsched.schema import granularity
from dlsched.solvers.arrays import Floats
from dlsched.solvers.column_generation import CLOSE
from dlsched.solvers.division import PARTS
from dlsched.solvers.incumbent import Incumbent

LAGRANGIAN = "prices, one pricing pass"
"""How bounds are certified."""


class ScheduleSearch:
    """Columns, incumbent, bound and prices."""

    def __init__(self, instance: Instance, run: Run, barred: Barred | None = None) -> None:
        self.instance = instance
        self.run = run
        self.gangs = Gangs(instance, run.stop_reason, barred)
        self.dual = Dual(self.gangs)
        self.bound: Fraction | None = None
        self.prices = np.zeros((instance.slots, len(self.gangs.kinds)))
        self.given: dict[bytes, Solution] = {}
        self.columns = Columns(self.gangs)
        self.incumbent: Incumbent[Insertion, tuple[int, float]] = Incumbent(
            run, lambda schedule: schedule.merit, shown=self.shown
        )
        self.empty = Insertion(self.gangs)
        self.pass_seconds = 0.0
        self.granularity = Fraction(0)
        if instance.utility.kind != "effective_throughput":
            self.granularity = granularity(
                instance.worth(job, c)
                for job in instance.jobs
                for c in range(1, instance.slots - job.arrival + 2)
            )

    @property
    def best(self) -> Insertion:
        """The incumbent; before there is one, no job runs."""
        return self.incumbent.solution or self.empty

    @property
    def value(self) -> float:
        """The incumbent's scaled utility."""
        return self.best.total

    def shown(self, merit: tuple[int, float]) -> float | None:
        """Return the utility of a schedule of this merit; ``None`` if a job is missing."""
        scheduled, total = merit
        missing = self.instance.must_finish and scheduled < len(self.instance.jobs)
        return None if missing else self.gangs.unscaled(total)

    @property
    def solution(self) -> Solution:
        """The incumbent on machines, as it was given if it was."""
        levels = self.best.levels
        return self.given.get(levels.tobytes()) or solution_of(self.instance, levels)

    @property
    def fits_milp(self) -> bool:
        """Whether the integer program is small enough to close a gap that is left."""
        return self.instance.runs <= TUNABLES.most_closing

    @property
    def part(self) -> Restriction | None:
        """What a better schedule can use; ``None`` without a schedule or a bound."""
        if self.bound is None or not self.complete:
            barred = self.gangs.barred
            return allowed_part(self.instance, barred) if len(barred) else None
        return restrict(self.dual, self.prices, self.best.levels, self.value)

    @property
    def complete(self) -> bool:
        """Whether the incumbent is a solution: all jobs finish, where they must."""
        return not self.instance.must_finish or bool((self.best.levels >= 0).any(axis=1).all())

    @property
    def closed(self) -> bool:
        """Whether the gap is at most the one asked for."""
        if self.bound is None or not self.complete:
            return False
        bound, value = self.scaled(self.bound), self.value
        return bound - value <= max(self.run.gap, CLOSE) * max(abs(value), abs(bound))

    def scaled(self, bound: Fraction) -> float:
        """Return an exact bound as a scaled float."""
        return float(bound / Fraction(2) ** self.gangs.exponent)

    def pass_on(self, point: Point) -> None:
        """Report a point of the integer program."""
        bounds = [bound for bound in (point.bound, self.incumbent.bound) if bound is not None]
        utilities = [self.shown(self.best.merit), point.objective]
        best = max((value for value in utilities if value is not None), default=None)
        self.run.record(best, min(bounds, default=None))

    def solve(self) -> None:
        """Run all phases; the run's limit becomes earlier by the time that the claim will take."""
        limit = self.run.time_limit or float("inf")
        direct = self.instance.runs <= TUNABLES.most_direct
        rounds = TUNABLES.rounds
        if direct:
            rounds = min(rounds, TUNABLES.direct_rounds * len(self.best.worth))
        try:
            self.bound_without_prices()
            order = self.gangs.by_density
            seconds = TUNABLES.first_share * limit
            began = self.run.elapsed()
            self.incumbent.begin(lambda: [self.searched(order, rounds, seconds)], self.schedule_of)
            if self.run.time_limit is not None and self.run.found:
                now = self.run.elapsed()  # a bound has its part of the limit in any case
                earlier = limit - TUNABLES.answering * (now - began)
                self.run.time_limit = min(limit, max(earlier, now + limit / PARTS))
            if self.run.stop_reason():
                return
            self.columns.add(self.best.levels)
            self.improve_prices(self.run.nested(TUNABLES.prices_share * limit))
            if not direct:
                self.search()
        except Stopped:
            return

    def improve_prices(self, run: Run) -> None:
        """Lower the bound by prices of ever shorter periods, each followed by an insertion."""
        prices = self.prices
        if not self.fits_milp:
            cuts = first_cuts(self.instance.slots, TUNABLES.finish_periods)
            first = prices_of_finishes(self.gangs, run, cuts)
            prices = prices if first is None else first
            self.try_prices(prices)
        for cuts in refinements(self.gangs):
            # Of two passes one certifies the last prices, and one may exceed the limit.
            seconds = run.remaining() - 2 * self.pass_seconds
            if self.closed or seconds <= 0:
                return
            part = run.nested(seconds)
            prices, ended = prices_of_periods(self.dual, self.columns, part, cuts, prices)
            self.try_prices(prices)
            if not ended or run.stop_reason():
                return

    def try_prices(self, prices: Floats) -> None:
        """Update the bound, and insert the jobs at shares of the prices.

        They are inserted by utility minus cost, per GPU and slot.
        """
        began = self.run.elapsed()
        values = self.dual.price(prices).values
        self.update_bound(prices, values)
        self.pass_seconds = self.run.elapsed() - began
        gpu_slots = self.gangs.workers * np.maximum(1, self.instance.fewest)
        order = np.argsort(-values / gpu_slots, kind="stable").tolist()
        for share in (1.0,) if self.fits_milp else TUNABLES.price_shares:
            if self.run.stop_reason():
                return
            schedule = Insertion(self.gangs)
            schedule.fill_at(self.dual.by_mask(share * prices), self.dual.rounded_down, order)
            self.propose(schedule)

    def bound_by_prices(self, run: Run) -> None:
        """Update bound and prices within a run's limits; one that is reached ends the search."""
        try:
            self.bound_without_prices()
            schedule = Insertion(self.gangs)
            schedule.fill(self.gangs.by_density)
            self.propose(schedule)
            if self.gangs.masks and not self.closed:  # otherwise no job can run
                self.improve_prices(run)
        except Stopped:
            pass  # the bound found so far is kept

    def update_bound(self, prices: Floats, values: Floats) -> None:
        """Keep the bound of these prices, with the jobs' own values at them, if it is better."""
        bound = self.dual.bound(prices, values)
        if self.granularity:
            bound = bound // self.granularity * self.granularity
        if self.bound is None or bound < self.bound:
            self.bound = bound
            self.prices = prices
            self.incumbent.bound = self.gangs.unscaled(self.scaled(bound))
            self.incumbent.record()

    def bound_without_prices(self) -> None:
        """Update the bound with that of prices 0: every job as if it were alone. Takes no time."""
        values = self.gangs.worth.max(axis=1, initial=0.0)
        self.update_bound(np.zeros_like(self.prices), values)

    def searched(self, order: Sequence[int], rounds: int, seconds: float) -> Insertion:
        """Insert the jobs in an order, and search from there."""
        schedule = Insertion(self.gangs)
        part = self.run.nested(seconds)
        part.rng = self.run.rng  # other neighbourhoods each time
        schedule.search(part, order, rounds)
        return schedule

    def schedule_of(self, solution: Solution) -> Insertion:
        """Return the schedule of a solution."""
        schedule = Insertion(self.gangs, levels_of(self.instance, solution))
        self.given[schedule.levels.tobytes()] = solution
        return schedule

    def propose(self, schedule: Insertion) -> None:
        """Add a schedule's rows as columns; make it the incumbent if it is better."""
        self.columns.add(schedule.levels)
        self.incumbent.offer(schedule)

    def search(self) -> None:
        """Improve the incumbent by neighbourhoods, after rounds without gain from another one."""
        if len(self.best.worth) < TUNABLES.fewest_jobs:
            return
        to_the_limit = self.run.time_limit is not None and not self.fits_milp
        idle = 0
        while to_the_limit or idle < TUNABLES.patience:
            if self.closed or self.run.stop_reason():
                return
            before = self.value
            rounds = (1 + idle) * TUNABLES.rounds
            if idle:
                order = self.run.rng.permutation(len(self.best.worth)).tolist()
                seconds = TUNABLES.other_share * self.run.remaining()
                self.incumbent.offer(self.searched(order, rounds, seconds))
            if to_the_limit:
                seconds = TUNABLES.improving_share * self.run.remaining()
                self.best.improve(self.run.nested(seconds), 10**9)
            else:
                self.best.improve(self.run, rounds)
            self.incumbent.offer(self.best)  # improved in place
            idle = 0 if self.value > before + CLOSE * abs(before) else idle + 1

    def claim(self) -> Claim:
        """Return the incumbent, the bound, and whether the two meet."""
        bounds = [] if self.bound is None else [Bound(self.bound, "certified", LAGRANGIAN)]
        solution = self.solution if self.complete else None
        claim = Claim(
            solution=solution,
            status=Status.FEASIBLE if self.complete else Status.NO_SOLUTION,
            termination=self.run.stop_reason() or Termination.UNDECIDED,
            bounds=[bounds],
            start=self.incumbent.start,
        )
        if self.closed and solution is not None:
            value = evaluate(self.instance, solution.schedule)[0]
            bounds.append(Bound(value, "claimed", "prices, to nine digits"))
            return replace(claim, status=Status.OPTIMAL, termination=None)
        if not self.complete and self.bound is not None and self.bound < 0:
            claim = replace(claim, termination=Termination.INFEASIBLE, status=Status.INFEASIBLE)
            return replace(claim, reason="by prices, not every job can finish")
        return claim
