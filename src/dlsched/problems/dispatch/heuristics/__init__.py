"""MAST's rule, the other scopes of its Table 1, and a rule of this library."""

from collections.abc import Iterator
from typing import Any

from dlsched.errors import OptionError
from dlsched.problems.dispatch.definition.check import evaluate
from dlsched.problems.dispatch.definition.ranking import Ranked, rank, startable
from dlsched.problems.dispatch.definition.schema import Instance, Solution
from dlsched.problems.dispatch.heuristics.counted_plan import Counted
from dlsched.problems.dispatch.heuristics.dispatcher import Dispatcher
from dlsched.problems.dispatch.heuristics.reinsertion import Reinsertion
from dlsched.problems.dispatch.heuristics.table1_scopes import Loads, SitesByRegion
from dlsched.problems.dispatch.programs.batch_search import incumbent
from dlsched.problems.dispatch.programs.unjustified_victims import justified
from dlsched.problems.dispatch.structures.fleet import Barred, Fleet
from dlsched.registry.own import method
from dlsched.results.result import Claim
from dlsched.run import Run


@method("dispatch", kind="heuristic")
def mast(instance: Instance, rng: Any, cache: bool = True, fewest: bool = True) -> Solution:
    """Each workload by rank, in the region and clusters with the best plan (section 4.3).

    Parameters
    ----------
    cache
        Whether failures are remembered; this changes no result.
    fewest
        Whether victims are sorted by size again, so that few large ones suffice.
    """
    return mast_solution(instance, cache, fewest)


def mast_solution(
    instance: Instance, cache: bool = True, fewest: bool = True, barred: Barred | None = None
) -> Solution:
    """Return the solution of `mast`, under a rule if there is one."""
    dispatcher = Dispatcher(Fleet(instance, barred), cache=cache, fewest=fewest)
    dispatcher.dispatch(startable(instance), dispatcher.everywhere)
    return dispatcher.solution()


def largest_first(instance: Instance) -> Solution:
    """Return the solution of `mast` with the largest workload of a priority first.

    The levels count the size that starts; credit decides the priority only.
    """
    dispatcher = Dispatcher(Fleet(instance))
    order = sorted(
        startable(instance),
        key=lambda r: (r.priority, -instance.size(instance.pending[r.position])),
    )
    dispatcher.dispatch(order, dispatcher.everywhere)
    return justified(instance, dispatcher.solution())


@method("dispatch", kind="baseline")
def top_k(instance: Instance, rng: Any, k: int = 1) -> Solution:
    """As mast in the k regions with the least used share of the needed type, not in all.

    Parameters
    ----------
    k
        Regions to make plans in.
    """
    if not isinstance(k, int) or k < 1:
        raise OptionError(f"k={k!r} must be a whole number from 1")
    dispatcher = Dispatcher(Fleet(instance))
    loads = Loads(dispatcher.fleet)
    dispatcher.dispatch(startable(instance), lambda r: loads.regions(r, bound=False, k=k))
    return dispatcher.solution()


@method("dispatch", kind="baseline")
def federated(instance: Instance, rng: Any, blocking: bool = True) -> Solution:
    """Solution (1) of Table 1 without ranks: bound to a cluster, first come first served **(D)**.

    The paper does not say how a cluster's queue is served; `local` does it by rank.

    Parameters
    ----------
    blocking
        Whether a workload that does not fit stops those behind it in its cluster.
    """
    dispatcher = Dispatcher(Fleet(instance))
    loads = Loads(dispatcher.fleet)
    arrivals = _arrivals(instance)
    bound = loads.bind_on_arrival(arrivals, lambda r: loads.clusters(r, bound=True))
    allowed = {ranked.position for ranked in startable(instance)}
    blocked: set[int] = set()
    for ranked in arrivals:
        sites = bound[ranked.position]
        clusters = {s for of_region in sites.values() for s in of_region}
        if ranked.position not in allowed or clusters & blocked:
            continue
        plan = dispatcher.auction(ranked, sites)
        if plan is not None:
            dispatcher.execute(ranked, plan)
        elif blocking:
            blocked |= clusters
    return dispatcher.solution()


@method("dispatch", kind="baseline")
def local(instance: Instance, rng: Any) -> Solution:
    """Solution (1) of Table 1: bound on arrival to a cluster, whose queue is ordered by rank."""
    return _bound(instance, region=False, one_cluster=True)


@method("dispatch", kind="baseline")
def regional_queue(instance: Instance, rng: Any, late: bool = False) -> Solution:
    """Solution (2): bound on arrival to a region, whose queue gives a workload to one cluster.

    Parameters
    ----------
    late
        Whether each cluster of the region makes a plan and the best one is taken, which is the
        paper's late binding (section 4.1); else the cluster of least load alone is tried **(D)**.
    """
    return _bound(instance, region=True, one_cluster=True, late=late)


@method("dispatch", kind="baseline")
def global_queue(instance: Instance, rng: Any, late: bool = False) -> Solution:
    """Solution (3): one queue by rank, which gives a workload to one cluster.

    Parameters
    ----------
    late
        Whether each cluster makes a plan and the best one is taken, which is the paper's late
        binding (section 4.1); else the cluster of least load alone is tried **(D)**.
    """
    dispatcher = Dispatcher(Fleet(instance))
    loads = Loads(dispatcher.fleet)

    def sites(ranked: Ranked) -> SitesByRegion:
        return loads.candidates(ranked, True) if late else loads.clusters(ranked, bound=False)

    dispatcher.dispatch(startable(instance), sites, one_cluster=True)
    return dispatcher.solution()


@method("dispatch", kind="baseline")
def regional(instance: Instance, rng: Any) -> Solution:
    """Solution (5): bound on arrival to a region; its queue is by rank, all its clusters plan."""
    return _bound(instance, region=True, one_cluster=False)


def _bound(instance: Instance, region: bool, one_cluster: bool, late: bool = False) -> Solution:
    """Bind workloads on arrival; then start them by rank where they are bound.

    With one cluster of a region, that of least load is tried, with `late` each of them.
    """
    dispatcher = Dispatcher(Fleet(instance))
    loads = Loads(dispatcher.fleet)

    def choose(ranked: Ranked) -> SitesByRegion:
        if region:
            return loads.regions(ranked, bound=True, one_cluster=one_cluster)
        return loads.clusters(ranked, bound=True)

    bound = loads.bind_on_arrival(_arrivals(instance), choose)

    def sites(ranked: Ranked) -> SitesByRegion:
        of_region = bound[ranked.position]
        if late or not (region and one_cluster):
            return of_region
        kind, _ = loads.demand(ranked)
        return {
            r: [min(clusters, key=lambda s: (loads.share([s], kind, False), s))]
            for r, clusters in of_region.items()
        }

    dispatcher.dispatch(startable(instance), sites, one_cluster)
    return dispatcher.solution()


def _arrivals(instance: Instance) -> list[Ranked]:
    return sorted(rank(instance), key=lambda ranked: ranked.position)


@method("dispatch", kind="heuristic")
def reinserted(instance: Instance, run: Run) -> Solution:
    """Of this library: mast by priority, then what waits starts where others start elsewhere.

    At each priority the workloads start by rank or by size, whichever is better. Then each that
    waits is planned in one region without what starts in one of its clusters, later in all of them;
    what was removed is planned again after it. A move is kept if the levels down to the priority
    are better. The answer is the plan of `mast` where that is better.
    """
    first = mast_solution(instance)
    if len(startable(instance)) < 2 or run.stop_reason():
        return first
    other = Reinsertion(instance, run).solve()
    return other if evaluate(instance, other).better_than(evaluate(instance, first)) else first


@method("dispatch", kind="heuristic", preload=("highspy", "scipy.sparse"))
def counted(instance: Instance, run: Run) -> Claim:
    """Of this library: mast, then an integer program over blocks of machines at each priority.

    It begins from the better one of two plans: that of `reinserted`, and that of `mast` with the
    largest workload of a priority first; where a limit strikes, it is no worse than these.

    The program is that of `classes`, with one level for the jobs preempted and the size started at
    a priority, and few nodes. Priorities at which everything starts without preemption need none;
    the youth of the victims and the number of machines are left as they come. If a program is left
    before it is solved, what still fits is started at the end, the largest first.
    """
    best = incumbent(instance, run, lambda: _first_plans(instance, run))
    return Claim(Counted(instance, run, best).solve(), start=best.start)


def _first_plans(instance: Instance, run: Run) -> Iterator[Solution]:
    yield reinserted(instance, run)
    if not run.stop_reason():
        yield largest_first(instance)
