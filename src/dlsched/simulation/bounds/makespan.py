"""Lower bounds on the makespan: nothing that is left at any time is done sooner than possible."""

from __future__ import annotations

from fractions import Fraction

from dlsched.simulation.bounds.demands import Demands


def longest_job(d: Demands) -> Fraction:
    """Return the latest time at which a job alone would be complete, in microseconds."""
    return Fraction(max(r + p for r, p in zip(d.release, d.length, strict=True)))


def pooled_work(d: Demands) -> Fraction:
    """Return a time before which the GPUs cannot be through, in microseconds.

    For each submission: what is submitted then or later takes at least its GPU time over all GPUs.
    """
    capacity = d.capacity
    latest, left = Fraction(0), 0
    for release, area in zip(reversed(d.release), reversed(d.area), strict=True):
        left += area
        done = capacity.until(release) + left
        latest = max(latest, Fraction(release), capacity.reached(done) if left else Fraction(0))
    return latest
