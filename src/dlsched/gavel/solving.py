"""The policies as linear programs: solved, made exact, and bounded by their duals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from dlsched.errors import SolverFailure
from dlsched.gavel.kinds import Kind
from dlsched.gavel.measures import combine, isolated, value
from dlsched.gavel.program import Program
from dlsched.gavel.repair import repair, throughputs
from dlsched.gavel.rows import Rows, best_rates, least_level, weighted_sum
from dlsched.result import Termination
from dlsched.run import Run
from dlsched.solvers import highs
from dlsched.solvers.certificate import dual_bound
from dlsched.solvers.outcome import Outcome, Vector
from dlsched.solvers.standard_form import StandardForm

_POSITIVE = 1e-7
"""A row's dual counts as positive from this part of the sum of all, which is 1."""
_PRECISION = 1e-9
"""Finish-time fairness is solved to about this relative width."""
_MOST_STEPS = 200


@dataclass(frozen=True)
class Filled:
    """One round of water filling: the kinds fixed in it, their level, and a bound on the level.

    The bound holds for allocations in which the kinds of the earlier rounds have at least their
    levels; ``None`` if it was not asked for.
    """

    level: Fraction
    bound: Fraction | None
    kinds: tuple[int, ...]


@dataclass(frozen=True)
class Solved:
    """Exact times per column, and a bound on the policy's objective."""

    times: list[Fraction]
    bound: Fraction | None
    size: tuple[int, int]
    rounds: tuple[Filled, ...] = ()
    solves: int = 1


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
    rows = least_level(program, [_fair(kind) for kind in program.kinds])
    found = _proved(highs.solve(rows.form, 0, run, relax=True))
    bound = _level_bound(rows, found, 1.0) if certify else None
    return Solved(_times(program, found), bound, rows.form.shape)


def water_filling(program: Program, run: Run, certify: bool) -> Solved:
    """Maximise the least value, then the least of the others, and so on, without integers.

    A kind whose row has a positive dual is at the level in every optimum, by complementary
    slackness. So it is fixed there: its row's level coefficient becomes 0 and its lower side the
    level. In each round the duals add up to 1, so at least one kind is fixed.
    """
    required = [_fair(kind) for kind in program.kinds]
    rows = least_level(program, required)
    relaxation = highs.Relaxation(rows.form, 0, run)
    limits = [
        np.nextafter(float(Fraction(most) / (r * rows.unit)), np.inf)
        for most, r in zip(best_rates(program), required, strict=True)
    ]
    level_column = rows.form.shape[1] - 1
    form, open_, rounds = rows.form, set(range(len(program.kinds))), []
    while open_:
        found = _proved(relaxation.solve())
        assert found.values is not None and found.duals is not None
        level = float(found.values[level_column])
        duals = np.abs(found.duals[rows.first :])
        fixed = sorted(c for c in open_ if duals[c] > _POSITIVE)
        if not fixed:
            raise SolverFailure("no row of water filling has a positive dual")
        bound = None
        if certify:
            now = replace(rows, form=form)
            bound = _level_bound(now, found, min(limits[c] for c in open_))
        rounds.append(Filled(Fraction(level) * rows.unit, bound, tuple(fixed)))
        form = _fix(form, rows.first, fixed, level)
        for c in fixed:
            relaxation.change_coefficient(rows.first + c, level_column, 0.0)
            relaxation.change_row(rows.first + c, level, np.inf)
        open_.difference_update(fixed)
    return Solved(_times(program, found), rounds[0].bound, form.shape, tuple(rounds), len(rounds))


def makespan(program: Program, run: Run, certify: bool) -> Solved:
    """Minimise the time by which all jobs finish: maximise the least throughput / steps."""
    rows = least_level(program, [_steps(kind) for kind in program.kinds])
    found = _proved(highs.solve(rows.form, 0, run, relax=True))
    bound = 1 / _level_bound(rows, found, 1.0) if certify else None
    return Solved(_times(program, found), bound, rows.form.shape)


def max_sum_throughput(program: Program, run: Run, certify: bool) -> Solved:
    """Maximise the sum of weight x throughput."""
    rows = weighted_sum(program)
    found = _proved(highs.solve(rows.form, 0, run, relax=True))
    bound = _exact(dual_bound(rows.form, 0, found.duals)) if certify else None  # type: ignore[arg-type]
    return Solved(_times(program, found), bound, rows.form.shape)


def finish_time_fairness(program: Program, run: Run, certify: bool) -> Solved:
    """Minimise the largest (elapsed + steps / throughput) / (elapsed + steps / isolated).

    A ratio rho can be reached if and only if every job can have the throughput
    steps / (rho x its time in isolation - elapsed), so if the level of the program with these
    requirements is at least 1. Every solved program gives an allocation, whose largest ratio is an
    upper bound; a lower bound is certified by duals that prove a level below 1. The ratio tried is
    mostly the best one found, less the precision: if it can be reached, the allocation is much
    better, and if not, the search is over. Every third one is the middle.
    """
    jobs = sum(kind.count for kind in program.kinds)
    times = [
        kind.example.elapsed + _steps(kind) / isolated(kind.example, kind.rated, program.gpus, jobs)
        for kind in program.kinds
    ]
    best = best_rates(program)
    lowest = max(
        (kind.example.elapsed + _steps(kind) / Fraction(rate)) / time
        for kind, rate, time in zip(program.kinds, best, times, strict=True)
    )
    low, solves = float(lowest), 0
    kept, high, size = _start(program, run, jobs)

    def level(ratio: float) -> tuple[Rows, Outcome]:
        required = [
            _steps(kind) / (Fraction(ratio) * time - kind.example.elapsed)
            for kind, time in zip(program.kinds, times, strict=True)
        ]
        rows = least_level(program, required)
        return rows, _proved(highs.solve(rows.form, 0, run, relax=True))

    proof: tuple[Rows, Outcome] | None = None
    while high > low * (1 + 2 * _PRECISION) and solves < _MOST_STEPS:
        near = float(high) * (1 - _PRECISION)
        middle = near if solves % 3 < 2 and near > low else (low + float(high)) / 2
        if not low < middle < high:
            break
        rows, found = level(middle)
        solves += 1
        candidate = _times(program, found)
        ratio = _largest(program, candidate, jobs)
        if ratio is not None and ratio < high:
            kept, high = candidate, ratio
        assert found.values is not None
        if found.values[-1] * float(rows.unit) < 1:
            low, proof = middle, (rows, found)
    bound = None
    if certify:
        bound = lowest
        if proof is not None and _level_bound(*proof, 1.0) < 1:
            bound = max(bound, Fraction(low))
    return Solved(kept, bound, size, (), solves + 1)


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


def _steps(kind: Kind) -> Fraction:
    assert kind.example.steps is not None
    return Fraction(kind.example.steps)


def _start(
    program: Program, run: Run, jobs: int
) -> tuple[list[Fraction], Fraction, tuple[int, int]]:
    """Return an allocation with which all jobs finish, its largest ratio, the program's size."""
    solved = makespan(program, run, False)
    ratio = _largest(program, solved.times, jobs)
    if ratio is None:
        raise SolverFailure("a job has no throughput under the makespan policy")
    return solved.times, ratio, solved.size


def _largest(program: Program, times: Sequence[Fraction], jobs: int) -> Fraction | None:
    reached = throughputs(program, times)
    values = (
        value("finish_time_fairness", kind.example, speed, kind.rated, program.gpus, jobs)
        for kind, speed in zip(program.kinds, reached, strict=True)
    )
    return combine("finish_time_fairness", values)


def _fix(form: StandardForm, first: int, kinds: Sequence[int], level: float) -> StandardForm:
    """Return a form in which some kinds have at least a level instead of the common one."""
    lower = form.row_lower.copy()
    A = form.A.copy()
    start = A.indptr[-2]
    for c in kinds:
        lower[first + c] = level
        A.data[start:][A.indices[start:] == first + c] = 0.0
    return replace(form, A=A, row_lower=lower)


def _proved(found: Outcome) -> Outcome:
    if found.termination is not Termination.PROVED or found.values is None or found.duals is None:
        raise SolverFailure(f"HiGHS did not solve the allocation program ({found.message})")
    return found


def _times(program: Program, found: Outcome) -> list[Fraction]:
    assert found.values is not None
    return repair(program, found.values[: len(program.columns)].tolist())


def _level_bound(rows: Rows, found: Outcome, limit: float) -> Fraction:
    """Return a certified upper bound on the level; `limit` is one in units of the form."""
    assert found.duals is not None
    return rows.unit * _exact(dual_bound(rows.ceiling(limit), 0, _rounded(found.duals)))


def _rounded(duals: Vector) -> Vector:
    """Return duals with few bits, with which the certificate's fractions stay short."""
    return np.ldexp(np.rint(np.ldexp(duals, 40)), -40)


def _exact(bound: int | Fraction | None) -> Fraction:
    if bound is None:
        raise SolverFailure("the duals of the allocation program give no bound")
    return Fraction(bound)
