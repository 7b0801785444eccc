"""The policies that one linear program solves, and water filling, which takes one per round."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from dlsched.errors import SolverFailure
from dlsched.problems.shares.finish_time import finish_time_fairness
from dlsched.problems.shares.groups import Groups
from dlsched.problems.shares.kinds import Kind
from dlsched.problems.shares.levels import LevelProgram
from dlsched.problems.shares.optimum import Solved, optimize
from dlsched.problems.shares.repair import repair, throughputs
from dlsched.problems.shares.rows import weighted_sum
from dlsched.run import Run

_POSITIVE = 1e-7
"""A row's dual counts as positive from this part of the sum of all, which is 1."""
_KEPT = 1 - Fraction(1, 10**9)
"""The part of a level that later rounds of water filling keep."""


def solve(groups: Groups, policy: str, run: Run, certify: bool) -> Solved:
    """Solve the program of a policy.

    Raises
    ------
    SolverFailure
        If HiGHS does not prove optimality.
    """
    return _SOLVERS[policy](groups, run, certify)


def max_min(groups: Groups, run: Run, certify: bool) -> Solved:
    """Maximise the least scale x throughput / (weight x proportional throughput)."""
    required = [_fair(kind) for kind in groups.program.kinds]
    level = LevelProgram(groups, run).solve(required)
    bound = level.optimum.bound() if certify else None
    return Solved(level.times, bound, level.size)


def water_filling(groups: Groups, run: Run, certify: bool) -> Solved:
    """Maximise the least value, then the least of the others, and so on, without integers.

    A kind whose row has a positive dual is at the level in every optimum, by complementary
    slackness. So it is fixed there. In each round the duals of the rows of the others add up to 1,
    so at least one kind is fixed. Levels are those that exact times reach, and later rounds keep
    them to a billionth, so that their programs have solutions with floating-point numbers, too.
    """
    kinds = groups.program.kinds
    required = [_fair(kind) for kind in kinds]
    program = LevelProgram(groups, run)
    levels: dict[int, Fraction] = {}
    rounds: list[tuple[Fraction, Fraction | None, tuple[int, ...]]] = []
    while len(levels) < len(kinds):
        optimum = program.solve(required, levels)
        speeds = throughputs(groups.program, optimum.times)
        values = [speed / r for speed, r in zip(speeds, required, strict=True)]
        fixed = tuple(c for c, dual in optimum.duals.items() if dual > _POSITIVE)
        if not fixed:
            raise SolverFailure("no row of water filling has a positive dual")
        level = min(values[c] for c in fixed)
        rounds.append((level, optimum.optimum.bound() if certify else None, fixed))
        levels = {c: min(old, values[c]) for c, old in levels.items()}
        levels |= dict.fromkeys(fixed, level * _KEPT)
    return Solved(optimum.times, rounds[0][1], optimum.size, tuple(rounds), len(rounds))


def makespan(groups: Groups, run: Run, certify: bool) -> Solved:
    """Minimise the time by which all jobs finish: maximise the least throughput / steps."""
    required = [Fraction(kind.example.steps or 0) for kind in groups.program.kinds]
    level = LevelProgram(groups, run).solve(required)
    bound = 1 / level.optimum.bound() if certify else None
    return Solved(level.times, bound, level.size)


def max_sum_throughput(groups: Groups, run: Run, certify: bool) -> Solved:
    """Maximise the sum of weight x throughput."""
    program = groups.program
    optimum = optimize(weighted_sum(program), run)
    bound = optimum.bound() if certify else None
    values = optimum.values[: len(program.columns)] / optimum.rows.fine
    return Solved(repair(program, values.tolist()), bound, optimum.rows.form.shape)


_SOLVERS: dict[str, Callable[[Groups, Run, bool], Solved]] = {
    "max_min": max_min,
    "water_filling": water_filling,
    "makespan": makespan,
    "finish_time_fairness": finish_time_fairness,
    "max_sum_throughput": max_sum_throughput,
}


def _fair(kind: Kind) -> Fraction:
    """Return the throughput with which a job's normalised throughput is 1."""
    return kind.example.weight * kind.proportional / kind.example.scale
