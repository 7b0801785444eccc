"""Finish-time fairness, whose program is linear only for a given ratio: a search for the ratio."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from dlsched.problems.shares.groups import Groups
from dlsched.problems.shares.levels import Level, LevelProgram, rounded_down
from dlsched.problems.shares.measures import combine, isolated, value
from dlsched.problems.shares.optimum import Solved
from dlsched.problems.shares.repair import throughputs
from dlsched.run import Run

_PRECISION = 1e-9
"""The ratio is found to about this relative width."""
_MOST_SOLVES = 100
_MOST_PROOFS = 6


def finish_time_fairness(groups: Groups, run: Run, certify: bool) -> Solved:
    """Minimise the largest (elapsed + steps / throughput) / (elapsed + steps / isolated).

    A ratio can be reached if and only if every job can have the throughput steps / (ratio x its
    time in isolation - elapsed), so if the level of the program with these requirements is at
    least 1. The level rises with the ratio, and Brent's method finds where it is 1: bisection, made
    faster by interpolation. Every solved program gives an allocation, whose largest ratio is an
    upper bound; a lower bound is certified by duals that prove a level below 1. The first ratio
    tried is that of the job that is worst off if every job is at its best: often the optimum.
    """
    from scipy.optimize import brentq

    search = _RatioSearch(groups, run)
    low = float(search.lowest) * (1 + _PRECISION)
    high = search.start()
    if low < high and search.excess(low) < 0:
        width = _PRECISION * low
        brentq(search.excess, low, high, xtol=width, maxiter=_MOST_SOLVES, disp=False)
    bound = search.prove() if certify else None
    return Solved(search.times, bound, search.size, (), search.solves)


class _RatioSearch:
    """The programs for given ratios, and the best allocation found: `times`, with ratio `best`."""

    def __init__(self, groups: Groups, run: Run) -> None:
        program = groups.program
        self.program, self.levels, self.solves = program, LevelProgram(groups, run), 0
        self.size = 0, 0
        self.times: list[Fraction] = []
        self.best: Fraction | None = None
        self.jobs = sum(kind.count for kind in program.kinds)
        self.steps = [Fraction(kind.example.steps or 0) for kind in program.kinds]
        self.elapsed = [Fraction(kind.example.elapsed) for kind in program.kinds]
        self.alone = [
            elapsed + steps / isolated(kind.example, kind.proportional, program.gpus, self.jobs)
            for kind, steps, elapsed in zip(program.kinds, self.steps, self.elapsed, strict=True)
        ]
        best = [groups.best[g] for g in groups.group_of()]
        self.lowest = max(
            (elapsed + steps / rate) / alone
            for elapsed, steps, rate, alone in zip(
                self.elapsed, self.steps, best, self.alone, strict=True
            )
        )
        """A lower bound: every job at its best rate all the time."""

    def start(self) -> float:
        """Keep an allocation with which all jobs finish, and return its largest ratio."""
        self._solve(self.steps)
        assert self.best is not None, "every job has the same part of its steps"
        return float(self.best)

    def excess(self, ratio: float) -> float:
        """Return by how much the level at a ratio exceeds 1."""
        return float(self.at(ratio).value) - 1

    def at(self, ratio: float) -> Level:
        """Solve the program in which a level of 1 stands for this ratio, or a smaller one.

        Rounding down what is required keeps a proof that it cannot be reached.
        """
        return self._solve(
            [
                rounded_down(steps / (Fraction(ratio) * alone - elapsed))
                for steps, alone, elapsed in zip(self.steps, self.alone, self.elapsed, strict=True)
            ]
        )

    def prove(self) -> Fraction:
        """Return a certified lower bound, as little below the best ratio as can be proved."""
        assert self.best is not None
        ratio, margin = float(self.best), _PRECISION
        for _ in range(_MOST_PROOFS):
            ratio, margin = ratio * (1 - margin), 10 * margin
            if ratio <= self.lowest:
                break
            if self.at(ratio).optimum.bound() < 1:
                return Fraction(ratio)
        return self.lowest

    def _solve(self, required: Sequence[Fraction]) -> Level:
        """Solve a program, and keep its allocation if its largest ratio is the least yet."""
        level = self.levels.solve(required)
        self.solves += 1
        self.size = level.size
        policy, program = "finish_time_fairness", self.program
        speeds = zip(program.kinds, throughputs(program, level.times), strict=True)
        largest = combine(
            policy,
            (
                value(policy, kind.example, speed, kind.proportional, program.gpus, self.jobs)
                for kind, speed in speeds
            ),
        )
        if largest is not None and (self.best is None or largest < self.best):
            self.times, self.best = level.times, largest
        return level
