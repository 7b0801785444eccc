"""Seconds per epoch by number of CPUs: which numbers to measure, and the error in between."""

import math
from bisect import bisect_left
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from numbers import Integral, Real
from typing import Literal, NamedTuple, TypeAlias

from dlsched.errors import InstanceError, OptionError

Measure: TypeAlias = Callable[[int], float]
RULES = ("binary", "repository")


@dataclass(frozen=True)
class CpuProfile:
    """Measured seconds per epoch by number of CPUs, at full memory."""

    points: tuple[tuple[int, float], ...]
    """``(cpus, seconds)`` by rising CPUs, each number once, with its last measurement."""
    measured: tuple[int, ...]
    """The numbers of CPUs in the order of the measurements."""
    gpus: int
    """GPUs of the job."""
    rule: str
    threshold: float
    """The rule and the threshold are those given to `profile_cpus`."""

    @property
    def measurements(self) -> int:
        """How often the callback was called: what the profile cost."""
        return len(self.measured)

    def seconds(self, cpus: float) -> float:
        """Return the seconds per epoch, between measured numbers linear in throughput.

        Raises
        ------
        OptionError
            If `cpus` is outside the measured range.
        """
        measured = [c for c, _ in self.points]
        if not measured[0] <= cpus <= measured[-1]:
            known = f"{measured[0]} to {measured[-1]}"
            raise OptionError(f"cpus={cpus!r} is not measured; use {known}")
        i = bisect_left(measured, cpus)
        high, seconds_high = self.points[i]
        if high == cpus:
            return seconds_high
        low, seconds_low = self.points[i - 1]
        part = (cpus - low) / (high - low)
        throughput = (1 - part) / seconds_low + part / seconds_high
        return 1 / throughput

    def curve(self) -> dict[int, float]:
        """Return seconds per epoch at all whole multiples of the GPUs, and where measured."""
        measured = [cpus for cpus, _ in self.points]
        first = math.ceil(measured[0] / self.gpus) * self.gpus
        multiples = range(first, measured[-1] + 1, self.gpus)
        return {cpus: self.seconds(cpus) for cpus in sorted({*multiples, *measured})}


def profile_cpus(
    measure: Measure,
    cpus_max: int,
    gpus: int,
    threshold: float = 0.1,
    rule: Literal["binary", "repository"] = "binary",
) -> CpuProfile:
    """Measure a job at a few numbers of CPUs, with its data set in memory.

    Parameters
    ----------
    measure
        ``measure(cpus)`` returns the seconds per epoch with that many CPUs; called once for each
        measurement.
    cpus_max
        The most CPUs, which are measured first.
    gpus
        GPUs of the job; CPUs are given to GPUs in equal numbers.
    threshold
        Relative difference of two times below which they count as equal; the paper's is 0.1.
    rule
        ``"binary"`` is the paper's text: with T the seconds and [lo, hi] the interval, first
        [gpus, cpus_max], the middle becomes hi if T(middle) <= (1 + threshold) T(hi), and lo
        otherwise, until the interval is at most `gpus` wide; then `gpus` CPUs are measured.
        ``"repository"`` is the authors' public code (msr-fiddle/synergy): the maximum is measured
        twice; if a time differs from the one before by less than the threshold, the number is
        halved, otherwise it falls by `gpus`; the end is below 1.

    Raises
    ------
    OptionError
        If `gpus`, `cpus_max`, `threshold` or `rule` cannot be used.
    InstanceError
        If a measurement is not a positive number of seconds.

    Notes
    -----
    Left open by the paper and decided here: the middle is the largest multiple of `gpus` up to the
    true middle (but above lo), because data workers are per GPU **(D)**; times are compared with
    that at the current hi, not with that at `cpus_max`, as section 3.1 speaks of each point's
    improvement **(D)**. The public code compares the first time with -1, which it counts as equal,
    so it measures the maximum once; the numbers of CPUs are the same **(D)**. Its halves are
    rounded down **(D)**: ``cpu / 2`` is no number of CPUs if ``cpu`` is odd.
    """
    gpus = whole_from_one("gpus", gpus)
    cpus_max = whole_from_one("cpus_max", cpus_max)
    if cpus_max < gpus:
        raise OptionError(f"cpus_max={cpus_max} is less than one CPU for each of {gpus} GPUs")
    threshold = at_least_zero("threshold", threshold)
    if rule not in RULES:
        raise OptionError(f"rule={rule!r} must be one of {', '.join(RULES)}")
    seconds: dict[int, float] = {}
    order: list[int] = []

    def measured(cpus: int) -> float:
        seconds[cpus] = _usable(measure(cpus), cpus)
        order.append(cpus)
        return seconds[cpus]

    if rule == "binary":
        _bisect(measured, cpus_max, gpus, threshold)
    else:
        _descend(measured, cpus_max, gpus, threshold)
    return CpuProfile(tuple(sorted(seconds.items())), tuple(order), gpus, rule, threshold)


def _bisect(measured: Measure, cpus_max: int, gpus: int, threshold: float) -> None:
    low = gpus
    high = cpus_max
    fastest = measured(high)  # the time at `high`, which falls with it
    while high - low > gpus:
        half = (low + high) // 2
        middle = max(low + gpus, half // gpus * gpus)
        now = measured(middle)
        if now <= (1 + threshold) * fastest:
            high = middle
            fastest = now
        else:
            low = middle
    if cpus_max > gpus:
        measured(gpus)


def _descend(measured: Measure, cpus_max: int, gpus: int, threshold: float) -> None:
    before = measured(cpus_max)
    cpus = cpus_max
    while cpus >= 1:
        now = measured(cpus)
        equal = abs(before - now) < threshold * before
        cpus = cpus // 2 if equal else cpus - gpus
        before = now


class Gap(NamedTuple):
    """Two neighbouring measured numbers of CPUs, and the largest relative error between them."""

    low: int
    high: int
    error: float


def error_bound(points: CpuProfile | Mapping[int, float]) -> tuple[Gap, ...]:
    """Return the largest relative error between each two neighbouring measured numbers of CPUs.

    If the throughput W does not fall with the number of CPUs, both its true value and any estimate
    between measured a < b are in [W(a), W(b)], so the relative error of the throughput, and that
    of the seconds per epoch, is at most W(b) / W(a) - 1. It is 0 if b = a + 1.

    Parameters
    ----------
    points
        A profile, or seconds per epoch by number of CPUs.

    Raises
    ------
    InstanceError
        If a time is larger than one with fewer CPUs: the bound does not hold for such a curve.
    """
    measured = sorted(checked_points(points).items())
    gaps = []
    for (a, slow), (b, fast) in pairwise(measured):
        if fast > slow:
            problem = f"takes {fast:g} s with {b} CPUs and {slow:g} s with {a}"
            raise InstanceError("points", f"[{b}]", problem, "measure both again, for longer")
        error = slow / fast - 1 if b - a > 1 else 0.0
        gaps.append(Gap(a, b, error))
    return tuple(gaps)


def checked_points(points: CpuProfile | Mapping[int, float]) -> dict[int, float]:
    """Return seconds by number of CPUs, checked."""
    given = points.points if isinstance(points, CpuProfile) else points
    if not isinstance(given, (Mapping, tuple)):
        problem = f"is {type(points).__name__}, no times"
        raise InstanceError("points", "", problem, "give seconds by number of CPUs, or a profile")
    pairs = dict(given)
    if not pairs:
        raise InstanceError("points", "", "has no measurement", "give at least one")
    for cpus, seconds in pairs.items():
        number = as_number(cpus)
        if number is None or not number > 0:
            raise InstanceError("points", f"[{cpus!r}]", "is no number of CPUs", "use one above 0")
        _usable(seconds, cpus)
    return pairs


def _usable(seconds: object, cpus: float) -> float:
    number = as_number(seconds)
    if number is None or not 0 < number < math.inf:
        where = f"measurement at {cpus:g} CPUs"
        remedy = "return the seconds per epoch, above 0 and finite"
        raise InstanceError(where, "", f"is {seconds!r}", remedy)
    return number


def as_number(value: object) -> float | None:
    """Return a number of Python or numpy as a float; ``None`` for anything else."""
    if isinstance(value, bool) or not isinstance(value, Real):
        return None
    return float(value)


def at_least_zero(name: str, value: object) -> float:
    """Return an option that is a number from 0; raise `OptionError` for anything else."""
    number = as_number(value)
    if number is None or not 0 <= number < math.inf:
        raise OptionError(f"{name}={value!r} must be a number from 0, as 0.1 for 10 %")
    return number


def whole_from_one(name: str, value: object) -> int:
    """Return an option that is a whole number from 1; raise `OptionError` for anything else."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < 1:
        raise OptionError(f"{name}={value!r} must be a whole number from 1")
    return int(value)
