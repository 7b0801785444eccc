"""Lower bounds on the makespan: nothing that is left at any time is done sooner than possible."""

from __future__ import annotations

from fractions import Fraction

from dlsched.simulation.bounds.charges import mixtures
from dlsched.simulation.bounds.demands import Demands, Pool, pool
from dlsched.simulation.bounds.program import capacity_weights, makespan_by_program
from dlsched.simulation.bounds.sharing import Sharing, group_facet, stage_facet


def of_demands(d: Demands) -> tuple[Fraction, str]:
    """Return a bound on the makespan in microseconds, and its source."""
    one = pool(d, capacity_weights(d))
    found = [(longest_job(one), "each job alone"), (pooled_work(one), "GPU time on all GPUs")]
    if any(len(kind.modes) > 1 for kind in d.kinds):
        found.append((makespan_by_program(d)[0], "GPU time by type, CPUs and memory"))
    return max(found, key=lambda pair: pair[0])


def sharing_demands(jobs: Sharing) -> Demands:
    """Return the demands by which jobs that may share GPUs take longest, all together."""
    facet = group_facet(jobs, jobs.loads())
    if facet is None:
        loads = jobs.loads()
        facet = max(
            (stage_facet(jobs, weights) for weights in mixtures(jobs.resources)),
            key=lambda facet: sum(x * load for x, load in zip(facet, loads, strict=True)),
        )
    return jobs.demands([facet])


def longest_job(d: Pool) -> Fraction:
    """Return the latest time at which a job alone would be complete, in microseconds."""
    return Fraction(max(r + p for r, p in zip(d.release, d.length, strict=True)))


def pooled_work(d: Pool) -> Fraction:
    """Return a time before which the machine cannot be through, in microseconds.

    For each submission: what is submitted then or later has to be done after it.
    """
    capacity = d.capacity
    latest, left = Fraction(0), 0
    for release, area in zip(reversed(d.release), reversed(d.area), strict=True):
        left += area
        done = capacity.reached(capacity.until(release) + left) if left else Fraction(release)
        latest = max(latest, done)
    return latest
