"""From a solver's floating-point times to exact ones that satisfy every row."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import frexp, prod

from dlsched.gavel.program import Program

_SHARE_BITS = 60
_BITS = 45
"""Times are rounded to multiples of 2 to the power of minus this."""


def repair(
    program: Program, values: Sequence[float], targets: Sequence[Fraction] = ()
) -> list[Fraction]:
    """Return exact times close to a solver's, with all rows of the program satisfied.

    Times below 0 become 0; of two sides that should be equal the larger is scaled down; a job that
    is beside its own group for more than half of its time is cut; jobs below their target get time
    alone on their fastest type; and if a job's time or a type's GPUs are exceeded, all times are
    divided by the largest ratio. What this costs is in the exact objective, and so in the gap.

    Parameters
    ----------
    values
        Times of the program's columns.
    targets
        Throughputs of each kind's jobs that the times should give.
    """
    scale = 2**_BITS
    times = [Fraction(max(0, round(value * scale)), scale) for value in values]
    for ours, theirs in program.matched.values():
        _equalise(times, ours, theirs)
    for members in program.own.values():
        _cut(program, times, members)
    if targets:
        _add(program, times, targets)
    worst = max(Fraction(1), *_loads(program, times))
    return _shorten(program, [t / worst for t in times] if worst > 1 else times)


def _shorten(program: Program, times: list[Fraction]) -> list[Fraction]:
    """Round times down so that each job's share has 60 bits, where that is possible.

    Sums of such shares are fast. Only the sides of groups with several kinds stay as they are: they
    must remain equal.
    """
    kinds = program.kinds
    for j, column in enumerate(program.columns):
        if times[j] and not column.beside:
            counts = prod(kinds[c].count for c in set(column.kinds))
            share = times[j] / counts
            unit = 2 ** max(0, _SHARE_BITS - frexp(share)[1])
            times[j] = Fraction(int(share * unit) * counts, unit)
    return times


def _add(program: Program, times: list[Fraction], targets: Sequence[Fraction]) -> None:
    fastest: dict[int, int] = {}
    for j, column in enumerate(program.columns):
        if len(column.kinds) == 1 and column.beside is None:
            (c,), (rate,) = column.kinds, column.rates
            if c not in fastest or rate > program.columns[fastest[c]].rates[0]:
                fastest[c] = j
    for c, reached in enumerate(throughputs(program, times)):
        if reached < targets[c]:
            j = fastest[c]
            missing = (targets[c] - reached) * program.kinds[c].count
            times[j] += missing / program.columns[j].rates[0]


def _equalise(times: list[Fraction], ours: list[int], theirs: list[int]) -> None:
    a = sum((times[j] for j in ours), Fraction(0))
    b = sum((times[j] for j in theirs), Fraction(0))
    if a != b:
        larger, ratio = (ours, b / a) if a > b else (theirs, a / b)
        for j in larger:
            times[j] *= ratio


def _cut(program: Program, times: list[Fraction], members: list[int]) -> None:
    total = sum((times[j] for j in members), Fraction(0))
    for j in members:
        alone = program.kinds[program.columns[j].kinds[0]].count == 1
        if alone and 2 * times[j] > total:  # at most one job has more than half
            times[j] = total - times[j]
            return


def _loads(program: Program, times: Sequence[Fraction]) -> list[Fraction]:
    """Return used divided by available, of each kind's time and of each type's GPUs."""
    used = dict.fromkeys(program.gpus, Fraction(0))
    busy = [Fraction(0)] * len(program.kinds)
    for column, time in zip(program.columns, times, strict=True):
        if time:
            used[column.gpu] += time * column.uses(program.kinds)
            for c, _, _ in column.sides(program.kinds):
                busy[c] += time
    found = [used[gpu] / many for gpu, many in program.gpus.items()]
    return found + [b / kind.count for b, kind in zip(busy, program.kinds, strict=True)]


def throughputs(program: Program, times: Sequence[Fraction]) -> list[Fraction]:
    """Return the throughput of each job of a kind."""
    found = [Fraction(0)] * len(program.kinds)
    for column, time in zip(program.columns, times, strict=True):
        if time:
            for c, rate, _ in column.sides(program.kinds):
                found[c] += time * rate
    return [total / kind.count for total, kind in zip(found, program.kinds, strict=True)]
