"""Bounds for utility: prices, from the volume algorithm and the master's duals."""

from __future__ import annotations

from dlsched.errors import OptionError
from dlsched.objective import Bound
from dlsched.problems.utility.dual import Stopped, priced_bound
from dlsched.problems.utility.schema import Instance
from dlsched.registry import method
from dlsched.result import Claim, Status
from dlsched.run import Run

__all__ = ["priced", "priced_bound"]


@method("utility", kind="bound", preload=(".columns",))
def priced(instance: Instance, run: Run) -> Claim:
    """The best prices found, and the bound that one pricing pass re-checks: `priced_bound`."""
    if instance.forking:
        raise OptionError("prices of types bound gang jobs; use divisible_load for forking ones")
    from dlsched.problems.utility.columns import Search

    search = Search(instance, run)
    if not search.gangs.masks:
        bound = Bound(0, "certified", "no job can run")
        return Claim(status=Status.NO_SOLUTION, reason="no job can run", bounds=[[bound]])
    search.bound_alone()
    try:
        search.offer(search.inserted(None))
        search.ascend(run)
        if not run.stop_reason() and search.small:
            search.generate(run)
    except Stopped:
        pass  # what is known by now is the bound
    bounds = [] if search.bound is None else [search.bound]
    return Claim(
        status=Status.NO_SOLUTION,
        reason=run.stop_reason() or "bound only",
        bounds=[[Bound(b, "certified", "prices, one pricing pass") for b in bounds]],
    )
