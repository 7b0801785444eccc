"""Hadar, insertion with neighbourhood search, and the baselines."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from dlsched.errors import OptionError
from dlsched.problems.utility.definition.check import completions
from dlsched.problems.utility.definition.schema import Instance, Solution
from dlsched.problems.utility.heuristics.hadar import Hadar
from dlsched.problems.utility.heuristics.hadare import Copies
from dlsched.problems.utility.heuristics.insertion import TUNABLES, Insertion
from dlsched.problems.utility.heuristics.slot_policies import (
    CapacityQueue,
    shortest_first,
    two_queues,
)
from dlsched.problems.utility.structures.gangs import Gangs, require_gangs
from dlsched.problems.utility.structures.machines import solution_of
from dlsched.problems.utility.structures.slot_simulation import Grants, Rounds
from dlsched.registry.own import method
from dlsched.results.result import Claim, Status
from dlsched.run import Run


@method("utility", kind="heuristic")
def hadar(instance: Instance, run: Run) -> Claim:
    """Hadar's Algorithms 1 and 2 (section III-C), repaired: the jobs of the largest payoffs.

    A payoff is the utility that the job has if it goes on like this, minus the price of its GPUs,
    which grows exponentially with those in use on each machine and of each type (eq. 5-7). See
    `hadar.Hadar` and the card. Where the program over machines and types is too large, jobs are
    scanned by payoff, and the result's reason states it.
    """
    decider = Hadar(instance)
    claim = _simulate(instance, decider.decide, run)
    if not decider.scanned:
        return claim
    states = f"{decider.states:.1e}" if decider.states <= 10**300 else "too many"
    scanned = f"jobs scanned by payoff in {decider.scanned} slots: {states} states"
    ended = claim.reason or (claim.termination and claim.termination.sentence)
    return replace(claim, reason=f"{ended}; {scanned}" if ended else scanned)


@method("utility", kind="baseline")
def hadar_literal(instance: Instance, run: Run) -> Claim:
    """Algorithm 2 closer to its text: jobs in turn, until the first that does not fit.

    Read literally it would schedule nothing, as the empty allocation has the least cost; here each
    job takes its best payoff.
    """
    return _simulate(instance, partial(Hadar(instance).decide, literal=True), run)


@method("utility", kind="baseline")
def yarn_cs(instance: Instance, run: Run) -> Claim:
    """Apache YARN's capacity scheduler, as compared in section IV: first come first served.

    Jobs are never preempted, and the head of the queue blocks the rest. See
    `slot_policies.CapacityQueue`.
    """
    return _simulate(instance, CapacityQueue(instance), run)


@method("utility", kind="baseline")
def tiresias(instance: Instance, run: Run, threshold: float = 3250) -> Claim:
    """Tiresias as section IV-B configures it: two queues, no promotion, types not distinguished.

    Jobs of little attained service run before the others, in each queue in the order in which they
    started. A gang gets GPUs of one type. See `slot_policies.two_queues`.

    Parameters
    ----------
    threshold
        GPU seconds of service after which a job is in the second queue. The paper gives none; the
        default is the first limit in the simulator that Tiresias's authors published.
    """
    if not threshold > 0:
        raise OptionError(f"threshold={threshold} must be above 0 GPU seconds")
    return _simulate(instance, two_queues(threshold), run)


@method("utility", kind="baseline")
def srtf(instance: Instance, run: Run) -> Claim:
    """Shortest remaining time first, with backfilling and preemption. Ours.

    In each slot the jobs by the slots that they would need at their fastest speed, each at its
    fastest possible speed; a gang that does not fit is skipped.
    """
    return _simulate(instance, shortest_first, run)


@method("utility", kind="heuristic")
def insertion(instance: Instance, run: Run, rounds: int = TUNABLES.rounds) -> Claim:
    """Jobs inserted one by one, each at its earliest finish; search over orders and schedules.

    The first order is by utility per GPU and slot. The first search moves a job in the order, and
    inserts it and those after it again. The second one removes a few jobs that run in the same slot
    and inserts them in another order. Both anneal, by turns, in stages of which each is four times
    as long as the one before, whatever the time limit is: it only ends them. Ours, not the paper's.

    Parameters
    ----------
    rounds
        Rounds of the second search for each job; the first one takes about as long.
    """
    if rounds < 0:
        raise OptionError(f"rounds={rounds} must be from 0")
    gangs = Gangs(instance, run.stop_reason)
    schedule = Insertion(gangs)
    if not gangs.masks:
        return _finished_jobs(instance, solution_of(instance, schedule.levels), run)
    schedule.search(run, gangs.by_density, rounds)
    if instance.must_finish and schedule.left_out():
        return Claim(status=Status.NO_SOLUTION, reason="not every job could be inserted")
    return Claim(solution=solution_of(instance, schedule.levels), termination=run.stop_reason())


@method("utility", kind="heuristic")
def hadare(instance: Instance, run: Run, divided: bool = False) -> Claim:
    """HadarE: Hadar decides which copies of forked jobs run, as section V-A has it.

    In each slot Hadar takes every job's copies, one for each machine, as jobs of their own. Only
    for forking instances.

    Parameters
    ----------
    divided
        Whether the work of a copy is its share of what is left of its job, by throughput (section
        V-B), instead of all of it.
    """
    if not instance.forking:
        raise OptionError("hadare copies jobs: the instance needs forking true; use hadar")
    copies = Copies(instance, divided)
    solution = Rounds(instance).run(copies.decide, run.stop_reason)
    return _finished_jobs(instance, solution, run)


def _simulate(instance: Instance, policy: Callable[[Rounds], Grants], run: Run) -> Claim:
    require_gangs(instance)
    return _finished_jobs(instance, Rounds(instance).run(policy, run.stop_reason), run)


def _finished_jobs(instance: Instance, solution: Solution, run: Run) -> Claim:
    """Return the jobs of a schedule that finish; no solution if all must and one does not."""
    stop = run.stop_reason()
    done = completions(instance, solution.schedule)
    late = [job.id for job in instance.jobs if job.id not in done]
    if instance.must_finish and late:
        reason = "" if stop else f"job {late[0]} does not finish in time"
        return Claim(status=Status.NO_SOLUTION, reason=reason, termination=stop)
    kept = {name: rows for name, rows in solution.schedule.items() if name in done}
    return Claim(solution=solution.model_copy(update={"schedule": kept}), termination=stop)
