"""Hadar, insertion with neighbourhoods, and the baselines."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from dlsched.errors import OptionError
from dlsched.problem import method
from dlsched.problems.utility.rounds import Grants, Rounds, grab
from dlsched.problems.utility.schema import Instance
from dlsched.result import Claim, Status
from dlsched.run import Run


@method("utility", kind="heuristic", compiled="knapsack")
def hadar(instance: Instance) -> Claim:
    """Hadar's Algorithms 1 and 2, repaired: in every slot the jobs of the largest sum of payoffs.

    A payoff is the utility that the job has if it goes on like this, minus the price of its GPUs,
    which grows exponentially with those in use (eq. 5). See `hadar.Hadar` and the card.
    """
    from dlsched.problems.utility.hadar import Hadar

    return _played(instance, Hadar(instance).decide, "hadar")


@method("utility", kind="baseline", compiled="knapsack")
def hadar_literal(instance: Instance) -> Claim:
    """Algorithm 2 closer to its letter: jobs in turn, until the first that fits nowhere.

    Read to the letter it would schedule nothing, as the empty allocation has the least cost; here
    each job takes its best payoff.
    """
    from dlsched.problems.utility.hadar import Hadar

    return _played(instance, Hadar(instance).literal, "hadar_literal")


@method("utility", kind="baseline")
def fifo(instance: Instance) -> Claim:
    """First come first served, slot by slot; a gang that does not fit is passed over."""
    return _played(instance, _listed(lambda rounds, queue: queue), "fifo")


@method("utility", kind="baseline")
def srtf(instance: Instance) -> Claim:
    """Shortest remaining time at its fastest first, slot by slot."""
    return _played(
        instance,
        _listed(lambda rounds, queue: sorted(queue, key=rounds.slots_left)),
        "srtf",
    )


@method("utility", kind="baseline")
def tiresias(instance: Instance) -> Claim:
    """Least attained service in GPU slots first, blind to types: it takes where most are free."""

    def policy(rounds: Rounds) -> Grants:
        free, grants = dict(instance.supply), {}
        for j in sorted(rounds.queue, key=lambda j: rounds.attained[j]):
            job = instance.jobs[j]
            usable = sorted(instance.speeds[j][-1].types, key=lambda k: (-free[k], k))
            if sum(free[k] for k in usable) >= job.workers:
                grants[j] = grab(free, usable, job.workers)
        return grants

    return _played(instance, policy, "tiresias")


@method("utility", kind="heuristic", compiled="columns")
def insertion(instance: Instance, run: Run, rounds: int = 5000) -> Claim:
    """Jobs inserted in the order of the dual, each optimally; then neighbourhoods.

    Prices come from a few passes of the volume algorithm. A job is inserted by the dynamic program
    of pricing; the neighbourhood search takes a few jobs out and inserts them in another order.
    Ours, not the paper's.

    Parameters
    ----------
    rounds
        Rounds of neighbourhood search.
    """
    _refuse_forking(instance, "insertion")
    from dlsched.problems.utility.columns import Search

    search = Search(instance, run)
    if not search.gangs.masks:
        return Claim(solution=search.gangs.solution(search.best.levels, "insertion"))
    search.offer(search.inserted(None))
    limit = run.time_limit
    prices, _ = search.dual.descend(
        run.nested(0.3 * limit if limit else 60.0), search.value, search.prices, 200
    )
    search.offer(search.inserted(prices))
    search.best.improve(run, search.dual.by_mask(prices), rounds)
    if not search.complete():
        return Claim(status=Status.NO_SOLUTION, reason="not every job could be inserted")
    return Claim(solution=search.gangs.solution(search.best.levels, "insertion"))


@method("utility", kind="heuristic")
def hadare(instance: Instance) -> Claim:
    """HadarE (section V): every job is forked onto many nodes; steps divided by throughput.

    Slot by slot, the job that needs least takes nodes, slowest first, until they do what is left
    of it; nodes that remain join in, so that none idles while there is work. Only for forking
    instances.
    """
    if not instance.forking:
        raise OptionError("hadare forks jobs: the instance needs forking true; use hadar")
    from dlsched.problems.utility.forking import forked

    return _judged(instance, forked(instance))


def _listed(order: Callable[[Rounds, list[int]], Iterable[int]]) -> Callable[[Rounds], Grants]:
    """Return the policy that gives GPUs to jobs in an order, each as fast as it can be."""

    def policy(rounds: Rounds) -> Grants:
        free, grants = dict(rounds.instance.supply), {}
        for j in order(rounds, rounds.queue):
            taken = rounds.take(free, j)
            if taken:
                grants[j] = taken
        return grants

    return policy


def _refuse_forking(instance: Instance, name: str) -> None:
    if instance.forking:
        raise OptionError(f"{name} schedules gangs, and the instance is forking; use hadare")


def _played(instance: Instance, policy: Callable[[Rounds], Grants], name: str) -> Claim:
    _refuse_forking(instance, name)
    return _judged(instance, Rounds(instance).run(policy, name))


def _judged(instance: Instance, solution: object) -> Claim:
    """Return a solution, unless every job must finish and one does not."""
    from dlsched.problems.utility.check import completions
    from dlsched.problems.utility.schema import Solution

    assert isinstance(solution, Solution)
    done = completions(instance, solution.schedule)
    if instance.must_finish and len(done) < len(instance.jobs):
        late = next(job.id for job in instance.jobs if job.id not in done)
        return Claim(status=Status.NO_SOLUTION, reason=f"job {late} does not finish in time")
    kept = {name: rows for name, rows in solution.schedule.items() if name in done}
    return Claim(solution=solution.model_copy(update={"schedule": kept}))
