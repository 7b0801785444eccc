"""From total times of kinds of jobs to shares of jobs, and back."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from fractions import Fraction
from types import MappingProxyType
from typing import TypeAlias

from dlsched.problems.shares.definition.schema import Instance, Share, Solution
from dlsched.problems.shares.structures.kinds import Kind, Where, kinds_of, parts
from dlsched.schema import Id

_BITS = 60
"""A solver's times are taken as multiples of 2 to the power of minus this."""
Line: TypeAlias = list[tuple[Id, Fraction]]
"""Jobs, and the length of each on a line on which they follow each other."""


def times_of(instance: Instance, solution: Solution) -> dict[Where, Fraction]:
    """Return the times of the kinds in a solution."""
    kind_of = {job: kind for kind in kinds_of(instance).values() for job in kind.jobs}
    times: dict[Where, Fraction] = defaultdict(Fraction)
    for share in solution.shares:
        kinds = [kind_of[job] for job in share.jobs]
        for i, kind in enumerate(kinds):
            others = (other.example.model for other in kinds[:i] + kinds[i + 1 :])
            times[kind.name, *others, share.type] += Fraction(share.time)
    return times


def solution_of(
    instance: Instance,
    solved: Mapping[Where, float | Fraction],
    needs: Mapping[Id, Fraction] = MappingProxyType({}),
) -> Solution:
    """Return a solution close to a solver's times.

    Jobs below the throughput that their kind needs get time alone on their fastest type. If a job's
    time or a type's GPUs are then exceeded, all times are divided by the largest ratio. Of two
    sides that should be equal, the longer is cut. What this costs is in the value.
    """
    kinds = kinds_of(instance)
    times = defaultdict(Fraction, {key: _exact(time) for key, time in solved.items()})
    work: dict[Id, Fraction] = defaultdict(Fraction)
    for part in parts(instance, kinds, times):
        work[part.kind.name] += part.rate * part.time
    for c, need in needs.items():
        rates = kinds[c].rates
        fastest = max(rates, key=lambda k: rates[k])
        missing = max(Fraction(0), need * kinds[c].count - work[c])
        times[c, fastest] += missing / Fraction(rates[fastest])
    divisor = max([Fraction(1), *_loads(instance, kinds, times)])
    shares = []
    for (c, *beside, k), time in times.items():
        each = _rounded(time / divisor / kinds[c].count)
        if each and not beside:
            shares += [Share(jobs=(job,), type=k, time=each) for job in kinds[c].jobs]
    for a, b, k, length in _paired(kinds, times):
        each = _rounded(length / divisor)
        shares += [Share(jobs=(a, b), type=k, time=each)] if each else []
    return Solution(shares=tuple(shares))


def _exact(time: float | Fraction) -> Fraction:
    return Fraction(max(0, round(time * 2**_BITS)), 2**_BITS)


def _rounded(time: Fraction) -> Fraction:
    """Return a number rounded down to 15 digits, which each double has."""
    if not time:
        return time
    scale = 10 ** (15 + max(0, len(str(time.denominator // time.numerator or 1)) - 1))
    return Fraction(time.numerator * scale // time.denominator, scale)


def _loads(
    instance: Instance, kinds: Mapping[Id, Kind], times: Mapping[Where, Fraction]
) -> Iterator[Fraction]:
    """Yield used by available, of each kind's time and of each type's GPUs."""
    busy: dict[Id, Fraction] = defaultdict(Fraction)
    halves: dict[Id, Fraction] = defaultdict(Fraction)
    for part in parts(instance, kinds, times):
        busy[part.kind.name] += part.time
        halves[part.type] += part.halves * part.time
    yield from (time / kinds[c].count for c, time in busy.items())
    yield from (used / (2 * instance.gpus[k]) for k, used in halves.items() if used)


def _paired(
    kinds: Mapping[Id, Kind], times: Mapping[Where, Fraction]
) -> Iterator[tuple[Id, Id, Id, Fraction]]:
    """Divide time beside models into time of pairs of jobs, with few pairs.

    Two models: their jobs' times are laid on two lines, and jobs at the same place are a pair. One
    model beside itself: its jobs' times are laid on a circle, and jobs at opposite places are a
    pair; they differ, because no job has more than half of the circle.
    """
    lines: dict[tuple[Id, Id, Id], Line] = defaultdict(list)
    for (c, *beside, k), time in times.items():
        if time and beside:
            each = time / kinds[c].count
            lines[kinds[c].example.model, beside[0], k] += [(job, each) for job in kinds[c].jobs]
    for (model, other, k), ours in sorted(lines.items()):
        if model <= other:
            both = _halves(ours) if model == other else (ours, lines.get((other, model, k), []))
            yield from ((a, b, k, length) for a, b, length in _overlaps(*both) if a != b)


def _halves(line: Line) -> tuple[Line, Line]:
    """Return the two halves of a line."""
    missing = sum((length for _, length in line), Fraction(0)) / 2
    first: Line = []
    for i, (job, length) in enumerate(line):
        if length >= missing:
            return [*first, (job, missing)], [(job, length - missing), *line[i + 1 :]]
        first.append((job, length))
        missing -= length
    return first, []


def _overlaps(ours: Line, theirs: Line) -> Iterator[tuple[Id, Id, Fraction]]:
    """Yield the jobs that lie at the same place of two lines, and for how long."""
    left, right = ours[::-1], theirs[::-1]
    while left and right:
        (job, mine), (other, its) = left.pop(), right.pop()
        length = min(mine, its)
        if length:
            yield job, other, length
        left += [(job, mine - length)] if mine > length else []
        right += [(other, its - length)] if its > length else []
