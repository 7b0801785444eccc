"""Finish-time fairness, whose program is linear only for a given ratio: a search for the ratio."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from dlsched.gavel.measures import combine, isolated, value
from dlsched.gavel.optimum import Optimum, Solved, optimize
from dlsched.gavel.program import Program
from dlsched.gavel.repair import throughputs
from dlsched.gavel.rows import best_rates, least_level
from dlsched.run import Run

_PRECISION = 1e-9
"""The ratio is found to about this relative width."""
_MOST_SOLVES = 200
_MOST_PROOFS = 6


def finish_time_fairness(program: Program, run: Run, certify: bool) -> Solved:
    """Minimise the largest (elapsed + steps / throughput) / (elapsed + steps / isolated).

    A ratio can be reached if and only if every job can have the throughput steps / (ratio x its
    time in isolation - elapsed), so if the level of the program with these requirements is at
    least 1. Every solved program gives an allocation, whose largest ratio is an upper bound; a
    lower bound is certified by duals that prove a level below 1. The first ratio tried is that of
    the job that is worst off if every job is at its best, which is often the optimum. Others are
    mostly the best one found, less the precision: if it can be reached, the allocation is better,
    and if not, the search is over. Every third one is the middle of the interval.
    """
    search = _Search(program, run)
    kept, high, low = search.start()
    while high > low * (1 + 2 * _PRECISION) and search.solves < _MOST_SOLVES:
        near, least = float(high) * (1 - _PRECISION), low * (1 + _PRECISION)
        ratio = near if search.solves % 3 and near > low else (low + float(high)) / 2
        ratio = least if search.solves == 1 else ratio
        if not low < ratio < high:
            break
        found, times = search.at(ratio)
        reached = search.largest(times)
        if reached is not None and reached < high:
            kept, high = times, reached
        if found.level < 1:
            low = ratio
    bound = search.prove(low) if certify else None
    return Solved(kept, bound, search.size, (), search.solves)


class _Search:
    """The programs for given ratios."""

    def __init__(self, program: Program, run: Run) -> None:
        self.program, self.run, self.solves = program, run, 0
        self.size = 0, 0
        self.jobs = sum(kind.count for kind in program.kinds)
        self.steps = [Fraction(kind.example.steps or 0) for kind in program.kinds]
        self.elapsed = [Fraction(kind.example.elapsed) for kind in program.kinds]
        self.alone = [
            elapsed + steps / isolated(kind.example, kind.proportional, program.gpus, self.jobs)
            for kind, steps, elapsed in zip(program.kinds, self.steps, self.elapsed, strict=True)
        ]
        self.lowest = max(
            (elapsed + steps / rate) / alone
            for elapsed, steps, rate, alone in zip(
                self.elapsed, self.steps, best_rates(program), self.alone, strict=True
            )
        )
        """A lower bound: every job at its best rate all the time."""

    def start(self) -> tuple[list[Fraction], Fraction, float]:
        """Return an allocation with which all jobs finish, its largest ratio, and a lower bound."""
        _, times = self._solve(self.steps)
        largest = self.largest(times)
        assert largest is not None, "every job has the same part of its steps"
        return times, largest, float(self.lowest)

    def at(self, ratio: float) -> tuple[Optimum, list[Fraction]]:
        """Solve the program in which a level of 1 stands for this ratio."""
        return self._solve(
            [
                steps / (Fraction(ratio) * alone - elapsed)
                for steps, alone, elapsed in zip(self.steps, self.alone, self.elapsed, strict=True)
            ]
        )

    def largest(self, times: Sequence[Fraction]) -> Fraction | None:
        """Return the largest ratio of an allocation; ``None`` if a job never finishes."""
        policy, program = "finish_time_fairness", self.program
        return combine(
            policy,
            (
                value(policy, kind.example, speed, kind.proportional, program.gpus, self.jobs)
                for kind, speed in zip(program.kinds, throughputs(program, times), strict=True)
            ),
        )

    def prove(self, low: float) -> Fraction:
        """Return a certified lower bound, at `low` or as little below it as can be proved."""
        margin = _PRECISION
        for _ in range(_MOST_PROOFS):
            if low <= self.lowest:
                break
            found, _ = self.at(low)
            if found.bound() < 1:
                return Fraction(low)
            low, margin = low * (1 - margin), 10 * margin
        return self.lowest

    def _solve(self, required: Sequence[Fraction]) -> tuple[Optimum, list[Fraction]]:
        found = optimize(least_level(self.program, required), self.run)
        self.solves += 1
        self.size = found.rows.form.shape
        return found, found.times(self.program, required)
