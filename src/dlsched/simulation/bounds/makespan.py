"""Lower bounds on the makespan: nothing that is left at any time is done sooner than possible."""

from __future__ import annotations

from fractions import Fraction

from dlsched.simulation.bounds.demands import Demands


def longest_job(d: Demands) -> Fraction:
    """Return the latest time at which a job alone would be complete, in microseconds."""
    return Fraction(max(r + p for r, p in zip(d.release, d.length, strict=True)))


def pooled_work(d: Demands) -> Fraction:
    """Return the latest time at which all GPUs can be through, in microseconds.

    For each submission: what is submitted then or later takes at least its GPU time over all GPUs.
    """
    latest, left = Fraction(0), 0
    for release, area in zip(reversed(d.release), reversed(d.area), strict=True):
        left += area
        latest = max(latest, release + Fraction(left, d.gpus))
    return latest
