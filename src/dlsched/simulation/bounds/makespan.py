"""Lower bounds on the makespan: nothing that is left at any time is done sooner than possible."""

from __future__ import annotations

from fractions import Fraction
from operator import add, mul

from dlsched.simulation.bounds.charges import mixtures
from dlsched.simulation.bounds.demands import Demands, Pool, pool
from dlsched.simulation.bounds.program import capacity_weights, makespan_by_program
from dlsched.simulation.bounds.sharing import Sharing, group_facet, stage_facet


def of_demands(d: Demands) -> tuple[Fraction, str]:
    """Return a bound on the makespan in microseconds, and its source."""
    machine = pool(d, capacity_weights(d))
    bounds = {"each job alone": longest_job(machine), "GPU time on all GPUs": pooled_work(machine)}
    if any(len(kind.modes) > 1 for kind in d.kinds):
        bounds["GPU time by type, CPUs and memory"] = makespan_by_program(d)[0]
    source = max(bounds, key=bounds.__getitem__)
    return bounds[source], source


def sharing_demands(jobs: Sharing) -> Demands:
    """Return the demands by which jobs that may share GPUs take longest, all together."""
    loads = jobs.loads()
    facet = group_facet(jobs, loads)
    if facet is None:
        facets = [stage_facet(jobs, weights) for weights in mixtures(jobs.resources)]
        facet = max(facets, key=lambda charges: sum(map(mul, charges, loads)))
    return jobs.demands([facet])


def longest_job(d: Pool) -> Fraction:
    """Return the latest time at which a job alone would be complete, in microseconds."""
    return Fraction(max(map(add, d.release, d.length)))


def pooled_work(d: Pool) -> Fraction:
    """Return a time before which the machine cannot be through, in microseconds.

    For each submission: what is submitted then or later has to be done after it.
    """
    capacity = d.capacity
    latest = Fraction(0)
    later_area = 0
    for release, area in zip(reversed(d.release), reversed(d.area), strict=True):
        later_area += area
        done = Fraction(release)
        if later_area:
            done = capacity.reached(capacity.until(release) + later_area)
        latest = max(latest, done)
    return latest
