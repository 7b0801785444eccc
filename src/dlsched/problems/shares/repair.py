"""From a solver's floating-point times to exact ones that satisfy every row."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import prod

from dlsched.problems.shares.program import Program

_UNIT = 2**120
"""Times are multiples of 1 divided by this: sums of them are fast, and weights and steps may differ
by 18 orders of magnitude."""
_BITS = 45
"""A solver's times are rounded to multiples of 2 to the power of minus this."""


def repair(
    program: Program, values: Sequence[float], targets: Sequence[Fraction] = ()
) -> list[Fraction]:
    """Return exact times close to a solver's, with all rows of the program satisfied.

    Times below 0 become 0; jobs below their target get time alone on their fastest type; if a job's
    time or a type's GPUs are exceeded, all times are divided by the largest ratio; of two sides
    that should be equal the larger is cut; and so is a job that is beside its own group for more
    than half of its time. What this costs is in the exact objective, and so in the gap.

    Parameters
    ----------
    values
        Times of the program's columns.
    targets
        Throughputs of each kind's jobs that the times should give.
    """
    scale, step = 2**_BITS, _UNIT >> _BITS
    times = [max(0, round(value * scale)) * step for value in values]
    _match(program, times)
    if targets:
        _add(program, times, targets)
    worst = max(_loads(program, times))
    if worst > 1:
        times = [t * worst.denominator // worst.numerator for t in times]
    _match(program, times)
    for j, column in enumerate(program.columns):
        if times[j] and not column.beside:  # each job's share is a multiple of the unit, too
            times[j] -= times[j] % prod(program.kinds[c].count for c in set(column.kinds))
    return [Fraction(t, _UNIT) for t in times]


def _match(program: Program, times: list[int]) -> None:
    """Reduce times until sides that should be equal are, and none is above its own half."""
    for ours, theirs in program.matched.values():
        a = sum(times[j] for j in ours)
        b = sum(times[j] for j in theirs)
        if a > b:
            _shrink(times, ours, a, b)
        elif b > a:
            _shrink(times, theirs, b, a)
    for members in program.own.values():
        total = sum(times[j] for j in members)
        for j in members:
            alone = program.kinds[program.columns[j].kinds[0]].count == 1
            if alone and 2 * times[j] > total:  # at most one job has more than half
                times[j] = total - times[j]
                break


def _shrink(times: list[int], columns: Sequence[int], total: int, wanted: int) -> None:
    """Scale columns down from a total to another one."""
    for j in columns:
        times[j] = -(-times[j] * wanted // total)
    excess = sum(times[j] for j in columns) - wanted  # below the number of columns
    for j in columns:
        cut = min(excess, times[j])
        times[j] -= cut
        excess -= cut


def _add(program: Program, times: list[int], targets: Sequence[Fraction]) -> None:
    fastest: dict[int, int] = {}
    for j, column in enumerate(program.columns):
        if len(column.kinds) == 1 and column.beside is None:
            (c,), (rate,) = column.kinds, column.rates
            if c not in fastest or rate > program.columns[fastest[c]].rates[0]:
                fastest[c] = j
    reached = throughputs(program, [Fraction(t, _UNIT) for t in times])
    for c, (speed, target) in enumerate(zip(reached, targets, strict=True)):
        if speed < target:
            j = fastest[c]
            rate = Fraction(program.columns[j].rates[0])
            times[j] += -(-(target - speed) * program.kinds[c].count * _UNIT // rate)


def _loads(program: Program, times: Sequence[int]) -> list[Fraction]:
    """Return used divided by available, of each kind's time and of each type's GPUs."""
    used = dict.fromkeys(program.gpus, 0)  # twice the GPUs: a side of a pair is counted half
    busy = [0] * len(program.kinds)
    for column, time in zip(program.columns, times, strict=True):
        if time:
            used[column.gpu] += time * int(2 * column.uses(program.kinds))
            for c, _, _ in column.sides(program.kinds):
                busy[c] += time
    loads = [Fraction(used[gpu], 2 * many * _UNIT) for gpu, many in program.gpus.items()]
    for time, kind in zip(busy, program.kinds, strict=True):
        loads.append(Fraction(time, kind.count * _UNIT))
    return loads


def throughputs(program: Program, times: Sequence[Fraction]) -> list[Fraction]:
    """Return the throughput of each job of a kind."""
    work = [Fraction(0)] * len(program.kinds)
    for column, time in zip(program.columns, times, strict=True):
        if time:
            for c, rate, _ in column.sides(program.kinds):
                work[c] += time * rate
    return [total / kind.count for total, kind in zip(work, program.kinds, strict=True)]
