"""Exact methods for sensitivity: the direct integer program, and whole-server patterns."""

from __future__ import annotations

import contextlib
import math
from fractions import Fraction

import numpy as np

from dlsched.objective import SOLVER_PRECISION, Bound, relative_gap
from dlsched.problems.sensitivity.check import check, evaluate
from dlsched.problems.sensitivity.cluster import solution_of
from dlsched.problems.sensitivity.heuristics import starts
from dlsched.problems.sensitivity.packing import TooManyStates
from dlsched.problems.sensitivity.pooled import solve_pooled
from dlsched.problems.sensitivity.program import Near, Program, patterns_of
from dlsched.problems.sensitivity.schema import Choice, Instance, Solution
from dlsched.registry import method
from dlsched.result import Claim, Start, Status
from dlsched.run import Run
from dlsched.schema import Number
from dlsched.solvers.levels import SOLVER_LIBRARIES, solve_levels
from dlsched.solvers.outcome import Outcome, Vector


@method("sensitivity", kind="exact", preload=SOLVER_LIBRARIES)
def milp(instance: Instance, run: Run, levels: int = 2) -> Claim:
    """Integer program: every job's choice and its GPUs on every server, level by level.

    Exact because the model's solutions are the instance's but for dominated choices, which no
    optimum needs (models/sensitivity.md). For few servers, as they are all alike.

    Parameters
    ----------
    levels
        1 to stop after the throughput.
    """
    from dlsched.problems.sensitivity import model

    return solve_levels(instance, run, model, levels)


@method("sensitivity", kind="exact", preload=(".program",))
def patterns(instance: Instance, run: Run) -> Claim:
    """Whole-server patterns of items, by column generation; then the fewest split jobs.

    Exact because servers are alike and jobs of one profile are: a solution is how often each
    option is taken and each pattern used, and any such numbers can be given servers and jobs. The
    throughput's bound is re-checked from the prices by a dynamic program in whole numbers. An
    optimum that keeps every job together, where it can be, splits fewest; else a second program
    holds the throughput and minimises the jobs that are split.

    It ends when the throughput is within ``gap`` of its bound. An instance whose servers have too
    many sums of CPUs or memory for that dynamic program is left to `milp`, or, if too large for
    that, to `tune` and the bound of `pooled`.
    """
    search = _Patterns(instance, run)
    try:
        return search.solve()
    except TooManyStates as error:
        return search.without_patterns(str(error))


class _Patterns:
    def __init__(self, instance: Instance, run: Run) -> None:
        self.instance, self.run = instance, run
        self.best: Solution | None = None
        self.offered: list[Solution] = []
        self.worth: tuple[Number, ...] = ()
        self.start: Start | None = None
        self.first: list[Bound] = []
        self.second: list[Bound] = []
        self.infeasible = False
        self.left = "a gap is left"
        self.rounded = False
        most = instance.servers.gpus
        larger = sum(instance.profile(job).gpus > most for job in instance.jobs)
        self.forced = 0 if instance.may_wait else larger
        self.several = any(1 < instance.profile(job).gpus <= most for job in instance.jobs)

    def solve(self) -> Claim:
        instance = self.instance
        if not instance.jobs:
            self.offer(solution_of(instance, {}, "patterns"))
            self.first.append(Bound(0, "certified", "there are no jobs"))
            self.second.append(Bound(0, "certified", "there are no jobs"))
            return self.claim(Status.OPTIMAL, "there are no jobs")
        for found in starts(instance):
            self.offer(found)
            if self.run.stop_reason():
                break
        if isinstance(self.run.start, Solution):
            better = self.offer(self.run.start)
            said = "the first incumbent" if better else "no better than the heuristics'"
            self.start = Start(True, said)
        together = Program(instance, whole=True, units=False)
        free = together
        if instance.allow_split and self.several:
            free = Program(instance, whole=False, units=True)
        goal = self.throughput(free)
        self.second.append(Bound(self.forced, "certified", "jobs larger than a server"))
        if goal is None:
            if self.infeasible:
                return Claim(status=Status.INFEASIBLE, reason="no patterns hold all jobs")
            return self.stopped(self.left)
        if not self.rounded and min(bound.value for bound in self.first) != self.worth[0]:
            return self.claim(Status.OPTIMAL, "within the gap asked for")
        if self.worth[1] > self.forced and free is not together:
            self.throughput(together, goal)
        if self.worth[1] > self.forced and not self.fewest(goal):
            return self.stopped("a gap is left at level 2")
        digits = ", to the digits that the solver sees" if self.rounded else ""
        return self.claim(Status.OPTIMAL, "proved optimal" + digits)

    def without_patterns(self, why: str) -> Claim:
        """Leave the instance to the integer program, or to a bound if that is too large, too."""
        from dlsched.problems.sensitivity import model

        choices = self.instance.undominated
        pairs = sum(len(choices[job.profile]) for job in self.instance.jobs)
        if pairs * self.instance.servers.count <= model.MOST_VARIABLES:
            return solve_levels(self.instance, self.run, model)
        certified, claimed = solve_pooled(self.instance, self.run)
        self.first.append(Bound(certified, "certified", "prices of pooled CPUs and memory"))
        if claimed is not None:
            self.first.append(Bound(claimed, "claimed", "highs on the pooled cluster"))
        self.second.append(Bound(self.forced, "certified", "jobs larger than a server"))
        return self.stopped(why)

    def stopped(self, otherwise: str) -> Claim:
        """Claim what there is after a limit, or where a program grew too large."""
        status = Status.NO_SOLUTION if self.best is None else Status.FEASIBLE
        return self.claim(status, self.run.stop_reason() or otherwise)

    def offer(self, solution: Solution | None) -> bool:
        if solution is None:
            return False
        if not check(self.instance, solution).feasible:
            return False  # a heuristic's fault must not end the exact method
        self.offered.append(solution)
        worth = evaluate(self.instance, solution.allocation)
        if self.best is not None and not worth.better_than(self.worth):
            return False
        self.best, self.worth = solution, worth
        bound = float(self.first[-1].value) if self.first else None
        self.run.record(float(worth[0]), bound)
        return True

    def throughput(self, program: Program, goal: Number | None = None) -> Number | None:
        """Maximise the throughput; return the optimum if it is proved.

        With a goal, the optimum of a relaxation, only a solution that attains it is of use.
        """
        self.seed(program)
        relaxed = program.relax(self.run)
        if relaxed is not None and not relaxed.fits:
            self.infeasible = goal is None
        if program.bound is None:
            return None
        value = _number(program.bound * program.grid)
        if goal is not None:
            # Only a solution that attains the bound is of use, and it is within slack 0 of it.
            if value == goal and relaxed is not None and not self.met(value):
                self.close(program, relaxed.duals, 0)
            return None
        self.first.append(Bound(value, "certified", "prices and a table of one server"))
        if not self.within(value) and relaxed is not None:
            value = self.decide(program, relaxed.duals, value)
        return self.worth[0] if self.rounded or self.within(value) else None

    def decide(self, program: Program, duals: Vector, value: Number) -> Number:
        """Close what is left between the incumbent and its bound; return the bound then known."""
        if not self.close(program, duals, None) or self.within(value):
            return value
        if self.best is None:
            self.infeasible = True
            return value
        # What the solver cannot tell apart: nothing, unless the costs are rounded. Then a gap is
        # left, and stated: as small as any solver's, unless the largest throughputs are no option.
        doubt = 0 if program.unit == 1 else len(self.instance.jobs) * program.unit * program.grid
        value = _number(min(value, self.worth[0] + doubt))
        self.first.append(Bound(value, "claimed", "highs on all patterns near the bound"))
        self.rounded = 0 < relative_gap(self.worth[0], value) <= SOLVER_PRECISION
        self.left = "the throughputs are too far apart to prove more"
        return value

    def close(self, program: Program, duals: Vector, most: int | None) -> bool:
        """Solve integer programs over all patterns near the bound, then over more.

        A solution within a slack of the bound uses no pattern or option further than that from its
        prices. So once the incumbent is within the slack, nothing better is left.

        Parameters
        ----------
        most
            The largest slack of interest; by default until it is decided.

        Returns
        -------
        bool
            Whether the incumbent is the best, or there is no solution at all.
        """
        assert program.bound is not None
        slack, last, tried = 0, 2 * program.bound, 0
        if most is None:
            # The patterns that pricing made are few, and often hold an optimum.
            self.take(program, self.run.nested(_SECONDS))
        while not self.run.stop_reason():
            gap = last
            if self.best is not None:
                gap = program.bound - int(Fraction(self.worth[0]) / program.grid)
                if gap == 0 or self.within(program.bound * program.grid):
                    return True
            slack = min(slack, gap if most is None else most)
            better = Near(duals, program.bound - gap)
            if most is None and gap < last and program.complete(_SOON, better, self.run):
                slack = gap  # few enough to decide at once
            near = Near(duals, program.bound - slack)
            if not (program.complete(_FEW, near, self.run) and self.affordable(program)):
                break
            if slack < gap and most is None and len(program.patterns) == tried:
                slack = max(4, 2 * slack)
                continue  # nothing new to choose from
            tried = len(program.patterns)
            patience = _SECONDS if slack < gap else float("inf")
            outcome = self.take(program, self.run.nested(patience), near=near)
            decided = outcome.status in (Status.OPTIMAL, Status.INFEASIBLE)
            if decided and slack >= gap:
                return True
            if most is not None and slack >= most:
                return False
            slack = max(4, 2 * slack)
        return False

    def take(
        self, program: Program, run: Run, floor: int | None = None, near: Near | None = None
    ) -> Outcome:
        """Solve the integer program over the patterns known, and offer what it finds."""
        outcome = program.integer(run, floor, near)
        if outcome.values is not None:
            self.offer(self.plan(program, outcome.values))
        return outcome

    def affordable(self, program: Program) -> bool:
        """Whether there is time for an integer program over so many patterns.

        HiGHS looks at the clock only between the steps of its root node.
        """
        enough = self.run.remaining() > len(program.patterns) / _PATTERNS_PER_SECOND
        if not enough:
            self.left = "time limit: an integer program would not end in time"
        return enough

    def met(self, value: Number) -> bool:
        """Whether the incumbent's throughput is that of the bound."""
        return self.best is not None and self.worth[0] == value

    def within(self, value: Number) -> bool:
        """Whether the incumbent's throughput is within the gap asked for of a bound."""
        return self.best is not None and (
            self.met(value) or relative_gap(self.worth[0], value) <= self.run.gap
        )

    def seed(self, program: Program) -> None:
        """Add the patterns of every solution found, and for each item a server full of it."""
        for solution in self.offered:
            # One that splits a job is of no use to a program that keeps jobs together.
            with contextlib.suppress(KeyError):
                program.add(patterns_of(program, solution))
        program.add([program.server.full(i) for i in range(len(program.items))])

    def fewest(self, goal: Number) -> bool:
        """Minimise the split jobs with the throughput held; return whether it is proved."""
        program = Program(self.instance, whole=True, units=True)
        floor = int(Fraction(goal) / program.grid)
        self.seed(program)
        first = program.relax(self.run)
        if first is None or program.bound is None:
            return False
        relaxed = program.relax(self.run, floor)
        if relaxed is None:
            return False
        least = math.ceil(relaxed.objective - 1e-6)
        self.second.append(Bound(least, "claimed", "the relaxation over patterns"))
        # As at level 1, the patterns that pricing made are few, and often hold an optimum.
        self.take(program, self.run.nested(_SECONDS), floor)
        if self.worth[1] == least:
            return True
        near = Near(first.duals, floor)
        if not (program.complete(_FEW, near, self.run) and self.affordable(program)):
            return False
        outcome = self.take(program, self.run, floor, near)
        # Where costs are rounded the solver may hold less than the throughput, and split fewer.
        split = None if outcome.objective is None else round(outcome.objective)
        if outcome.status is not Status.OPTIMAL or split != self.worth[1]:
            return False
        self.second.append(Bound(self.worth[1], "claimed", "highs on all patterns near the bound"))
        return True

    def plan(self, program: Program, x: Vector) -> Solution:
        """Give servers their patterns and jobs their places; a split job takes what is left."""
        instance = self.instance
        counts = np.rint(x).astype(int).tolist()
        taken, used = counts[: len(program.options)], counts[len(program.options) :]
        slots: dict[int, list[list[int]]] = {i: [] for i in range(len(program.items))}
        server = 0
        for pattern, often in zip(program.patterns, used, strict=True):
            for _ in range(often):
                for i, count in enumerate(pattern):
                    if count:
                        slots[i].append([server, count])
                server += 1
        queues: dict[str, list[str]] = {}
        for job in reversed(instance.jobs):
            queues.setdefault(job.profile, []).append(job.id)
        placed: dict[str, tuple[Choice, dict[str, int]]] = {}
        order = sorted(range(len(taken)), key=lambda c: -program.options[c].amount)
        for c in order:
            option = program.options[c]
            for _ in range(taken[c]):
                where = _draw(slots[option.item], option.amount)
                gpus = program.items[option.item].gpus
                name = queues[option.profile].pop()
                placed[name] = (option.choice, {str(s): n * gpus for s, n in where.items()})
        in_order = {job.id: placed[job.id] for job in instance.jobs if job.id in placed}
        return solution_of(instance, in_order, "patterns")

    def claim(self, status: Status, reason: str) -> Claim:
        return Claim(
            solution=None
            if self.best is None
            else self.best.model_copy(update={"method": "patterns"}),
            status=status,
            reason=reason,
            objective=self.worth or None,
            bounds=[self.first, self.second],
            start=self.start,
        )


_SECONDS = 10.0
"""For an integer program that decides nothing yet."""
_SOON = 2_000
_FEW = 20_000
"""Up to so many patterns all those near the bound are enumerated; up to `_SOON` without delay."""
_PATTERNS_PER_SECOND = 2000


def _draw(slots: list[list[int]], amount: int) -> dict[int, int]:
    """Take items from servers: from one that has just enough if there is one, else the fullest."""
    exact = [s for s in slots if s[1] >= amount]
    where: dict[int, int] = {}
    while amount:
        chosen = min(exact, key=lambda s: s[1]) if exact else max(slots, key=lambda s: s[1])
        count = min(amount, chosen[1])
        where[chosen[0]] = where.get(chosen[0], 0) + count
        chosen[1] -= count
        amount -= count
        if not chosen[1]:
            slots.remove(chosen)
    return where


def _number(value: Number) -> Number:
    return int(value) if value.denominator == 1 else value
