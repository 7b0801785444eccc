"""The policies that one linear program solves, and water filling, which takes one per round."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from dlsched.errors import SolverFailure
from dlsched.gavel.finish_time import finish_time_fairness
from dlsched.gavel.kinds import Kind
from dlsched.gavel.optimum import Filled, Solved, optimize
from dlsched.gavel.program import Program
from dlsched.gavel.repair import throughputs
from dlsched.gavel.rows import least_level, weighted_sum
from dlsched.run import Run

_POSITIVE = 1e-7
"""A row's dual counts as positive from this part of the sum of all, which is 1."""
_KEPT = 1 - Fraction(1, 10**9)
"""The part of a level that later rounds of water filling keep."""


def solve(program: Program, policy: str, run: Run, certify: bool) -> Solved:
    """Solve the program of a policy.

    Raises
    ------
    SolverFailure
        If HiGHS does not prove optimality.
    """
    return _SOLVERS[policy](program, run, certify)


def max_min(program: Program, run: Run, certify: bool) -> Solved:
    """Maximise the least scale x throughput / (weight x proportional throughput)."""
    required = [_fair(kind) for kind in program.kinds]
    found = optimize(least_level(program, required), run)
    bound = found.bound() if certify else None
    return Solved(found.times(program, required), bound, found.rows.form.shape)


def water_filling(program: Program, run: Run, certify: bool) -> Solved:
    """Maximise the least value, then the least of the others, and so on, without integers.

    A kind whose row has a positive dual is at the level in every optimum, by complementary
    slackness. So it is fixed there. In each round the duals of the rows of the others add up to 1,
    so at least one kind is fixed. Levels are those that exact times reach, and later rounds keep
    them to a billionth, so that their programs have solutions with floating-point numbers, too.
    """
    required = [_fair(kind) for kind in program.kinds]
    levels: dict[int, Fraction] = {}
    rounds: list[Filled] = []
    while len(levels) < len(program.kinds):
        found = optimize(least_level(program, required, levels), run)
        times = found.times(program, required, levels)
        speeds = throughputs(program, times)
        values = [speed / r for speed, r in zip(speeds, required, strict=True)]
        rows = {c: i for c, i in found.rows.progress.items() if c not in levels}
        fixed = tuple(c for c, i in rows.items() if abs(found.duals[i]) > _POSITIVE)
        if not fixed:
            raise SolverFailure("no row of water filling has a positive dual")
        level = min(values[c] for c in fixed)
        rounds.append(Filled(level, found.bound() if certify else None, fixed))
        levels = {c: min(old, values[c]) for c, old in levels.items()}
        levels |= dict.fromkeys(fixed, level * _KEPT)
    return Solved(times, rounds[0].bound, found.rows.form.shape, tuple(rounds), len(rounds))


def makespan(program: Program, run: Run, certify: bool) -> Solved:
    """Minimise the time by which all jobs finish: maximise the least throughput / steps."""
    required = [Fraction(kind.example.steps or 0) for kind in program.kinds]
    found = optimize(least_level(program, required), run)
    bound = 1 / found.bound() if certify else None
    return Solved(found.times(program, required), bound, found.rows.form.shape)


def max_sum_throughput(program: Program, run: Run, certify: bool) -> Solved:
    """Maximise the sum of weight x throughput."""
    found = optimize(weighted_sum(program), run)
    bound = found.bound() if certify else None
    return Solved(found.times(program), bound, found.rows.form.shape)


_SOLVERS: dict[str, Callable[[Program, Run, bool], Solved]] = {
    "max_min": max_min,
    "water_filling": water_filling,
    "makespan": makespan,
    "finish_time_fairness": finish_time_fairness,
    "max_sum_throughput": max_sum_throughput,
}


def _fair(kind: Kind) -> Fraction:
    """Return the throughput with which a job's normalised throughput is 1."""
    return kind.example.weight * kind.proportional / kind.example.scale
