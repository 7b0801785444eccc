"""Hadar, insertion with neighbourhoods, and the baselines."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from dlsched.errors import OptionError
from dlsched.problems.utility.rounds import Grants, Rounds
from dlsched.problems.utility.schema import Instance, Solution
from dlsched.registry import method
from dlsched.result import Claim, Status
from dlsched.run import Run


@method("utility", kind="heuristic", preload=(".knapsack",))
def hadar(instance: Instance, run: Run) -> Claim:
    """Hadar's Algorithms 1 and 2 (section III-C), repaired: the jobs of the largest payoffs.

    A payoff is the utility that the job has if it goes on like this, minus the price of its GPUs,
    which grows exponentially with those in use on each machine and of each type (eq. 5-7). See
    `hadar.Hadar` and the card. Where the program over machines and types is too large, jobs are
    scanned by payoff; the reason says so.
    """
    return _hadar(instance, run, by_machine=True)


@method("utility", kind="heuristic", preload=(".knapsack",))
def hadar_pooled(instance: Instance, run: Run) -> Claim:
    """`hadar` with one price for each type, whatever the machine.

    Ours: the program has a state for each number of GPUs in use of each type, so it is in reach at
    the size of section IV, where that over machines is not.
    """
    return _hadar(instance, run, by_machine=False)


@method("utility", kind="baseline", preload=(".knapsack",))
def hadar_literal(instance: Instance, run: Run) -> Claim:
    """Algorithm 2 closer to its letter: jobs in turn, until the first that fits nowhere.

    Read to the letter it would schedule nothing, as the empty allocation has the least cost; here
    each job takes its best payoff.
    """
    from dlsched.problems.utility.hadar import Hadar

    return _played(instance, Hadar(instance).literal, "hadar_literal", run)


@method("utility", kind="baseline")
def yarn_cs(instance: Instance, run: Run) -> Claim:
    """Apache YARN's capacity scheduler, as compared in section IV: first come first served.

    Jobs are never preempted, and the head of the queue blocks the rest. See
    `policies.CapacityQueue`.
    """
    from dlsched.problems.utility.policies import CapacityQueue

    return _played(instance, CapacityQueue(instance), "yarn_cs", run)


@method("utility", kind="baseline")
def tiresias(instance: Instance, run: Run, threshold: float = 3250) -> Claim:
    """Tiresias as section IV-B configures it: two queues, no promotion, blind to types.

    Jobs of little attained service run before the others, in each queue in the order in which they
    started. A gang gets GPUs of one type. See `policies.two_queues`.

    Parameters
    ----------
    threshold
        GPU seconds of service after which a job is in the second queue. The paper gives none; the
        default is the first limit in the simulator that Tiresias's authors published.
    """
    from dlsched.problems.utility.policies import two_queues

    if not threshold > 0:
        raise OptionError(f"threshold={threshold} must be above 0 GPU seconds")
    return _played(instance, two_queues(threshold), "tiresias", run)


@method("utility", kind="baseline")
def las(instance: Instance, run: Run) -> Claim:
    """Least attained service in GPU slots first, without queues, mixing types. Ours."""
    from dlsched.problems.utility.policies import least_attained

    return _played(instance, least_attained, "las", run)


@method("utility", kind="baseline")
def fifo(instance: Instance, run: Run) -> Claim:
    """First come first served with backfilling and preemption. Ours; see `yarn_cs`.

    Slot by slot the jobs in the order of arrival, each at its fastest speed that is free; a gang
    that does not fit is passed over.
    """
    from dlsched.problems.utility.policies import listed

    return _played(instance, listed(lambda rounds, queue: queue), "fifo", run)


@method("utility", kind="baseline")
def srtf(instance: Instance, run: Run) -> Claim:
    """Shortest remaining time at its fastest first, slot by slot; as `fifo` else. Ours."""
    from dlsched.problems.utility.policies import listed

    order = listed(lambda rounds, queue: sorted(queue, key=rounds.slots_left))
    return _played(instance, order, "srtf", run)


@method("utility", kind="heuristic", preload=(".columns",))
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
    _validate_no_forking(instance, "insertion")
    from dlsched.problems.utility.columns import CLOSE, Search
    from dlsched.problems.utility.dual import Stopped

    search = Search(instance, run)
    if not search.gangs.masks:
        return Claim(solution=search.gangs.solution(search.best.levels, "insertion"))
    search.offer(search.inserted(None))
    limit = run.time_limit
    try:
        prices, found = search.dual.descend(
            run.nested(0.3 * limit if limit else 60.0), search.value, search.prices, 200
        )
        search.offer(search.inserted(prices))
        if found.bound > search.value * (1 + CLOSE) or not search.complete():
            search.best.improve(run, search.dual.by_mask(prices), rounds)
    except Stopped:
        pass  # the best schedule by now is the answer
    if not search.complete():
        return Claim(status=Status.NO_SOLUTION, reason="not every job could be inserted")
    solution = search.gangs.solution(search.best.levels, "insertion")
    return Claim(solution=solution, reason=run.stop_reason() or "")


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


def _hadar(instance: Instance, run: Run, by_machine: bool) -> Claim:
    from dlsched.problems.utility.hadar import Hadar

    name = "hadar" if by_machine else "hadar_pooled"
    _validate_no_forking(instance, name)
    decider = Hadar(instance, by_machine)
    claim = _played(instance, decider.decide, name, run)
    if not decider.scanned:
        return claim
    said = f"jobs scanned by payoff in {decider.scanned} slots: {decider.states:.1e} states"
    if decider.states > 10**300:
        said = f"jobs scanned by payoff in {decider.scanned} slots: too many states"
    return replace(claim, reason="; ".join(part for part in (claim.reason, said) if part))


def _validate_no_forking(instance: Instance, name: str) -> None:
    if instance.forking:
        raise OptionError(f"{name} schedules gangs, and the instance is forking; use hadare")


def _played(instance: Instance, policy: Callable[[Rounds], Grants], name: str, run: Run) -> Claim:
    _validate_no_forking(instance, name)
    claim = _judged(instance, Rounds(instance).run(policy, name, run.stop_reason))
    stop = run.stop_reason()
    if stop is None:
        return claim
    return replace(claim, reason=f"{stop}; {claim.reason}" if claim.reason else stop)


def _judged(instance: Instance, solution: Solution) -> Claim:
    """Return a solution, unless every job must finish and one does not."""
    from dlsched.problems.utility.check import completions

    done = completions(instance, solution.schedule)
    if instance.must_finish and len(done) < len(instance.jobs):
        late = next(job.id for job in instance.jobs if job.id not in done)
        return Claim(status=Status.NO_SOLUTION, reason=f"job {late} does not finish in time")
    kept = {name: rows for name, rows in solution.schedule.items() if name in done}
    return Claim(solution=solution.model_copy(update={"schedule": kept}))
