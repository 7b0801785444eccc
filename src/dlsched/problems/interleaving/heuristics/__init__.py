"""Muri's grouping as printed and as published code, searches of our own, and the baselines."""

from fractions import Fraction

import numpy as np

from dlsched.errors import OptionError, UnknownName
from dlsched.problems.interleaving.definition.check import iteration_time
from dlsched.problems.interleaving.definition.schema import Group, Instance, Solution
from dlsched.problems.interleaving.heuristics.matching import MATCHING_LIBRARIES
from dlsched.problems.interleaving.heuristics.muri import Rounds, improve
from dlsched.problems.interleaving.heuristics.regroup import Grouping, few_groups
from dlsched.problems.interleaving.heuristics.tunables import MATCHING, REGROUP
from dlsched.problems.interleaving.structures.group_counts import count_multisets
from dlsched.problems.interleaving.structures.groups import arrangements, solution_of
from dlsched.registry.own import method
from dlsched.run import Run

ORDERS = ("listed", "idle")


@method("interleaving", kind="heuristic", preload=MATCHING_LIBRARIES)
def muri(instance: Instance, run: Run, *, profile_error: float = 0.0) -> Solution:
    """Muri's multi-round grouping as printed (section 4.2, Algorithm 1), every matched pair merged.

    For each number of GPUs, ceil(log2 k) rounds of maximum-weight matching (lines 9-20); the weight
    of an edge is gamma (eq. 4) of the union at its best offsets (eq. 3). Groups that a round leaves
    unmatched stay as they are. In the paper the algorithm gets the first jobs of the queue which in
    full groups fill the cluster (lines 3-5); on a cover with a budget far above that it still
    merges every pair. Where the rounds do not give uniform groups or exceed the budget (k = 3:
    pairs cannot be merged), the least efficient groups are dissolved and their jobs assigned to the
    others **(D)**.

    Parameters
    ----------
    profile_error
        Groups and offsets are decided on stages multiplied by random factors between 1 minus and
        1 plus this, from 0 to 1: the profiling noise of Figure 14. The solution is evaluated with
        the instance's own stages.
    """
    known = profiled(instance, run.rng, profile_error)
    rounds = Rounds(known, run)
    rounds.merge_all()
    rounds.complete()
    return solution_of(known, rounds.all())


@method("interleaving", kind="heuristic", preload=MATCHING_LIBRARIES)
def muri_needed(
    instance: Instance, run: Run, *, order: str = "listed", profile_error: float = 0.0
) -> Solution:
    """Muri's grouping as in the authors' public code: pairs merged only while GPUs are short.

    Source: github.com/Rivendile/Muri, simulator/matching.py. A round matches the groups of every
    number of GPUs; its pairs are merged one by one, only while the GPUs required exceed the
    cluster, and up to K rounds are run, with K the most jobs in a group. That code multiplies the
    iteration times of groups of 2, 3 and 4 by constants (sharing overhead), which eq. 4 has not;
    they are left out here. With uniform groups, whose number is fixed, this is `muri`. If the
    rounds do not meet the budget, all pairs are merged, and then groups dissolved, as in `muri`
    **(D)**.

    Parameters
    ----------
    order
        ``"listed"``, the order of the pairs in that code; or ``"idle"``, the order that it
        computes and does not use: least (1 - gamma) times GPUs first.
    profile_error
        As in `muri`.
    """
    if order not in ORDERS:
        raise UnknownName("order of merging", order, ORDERS)
    known = profiled(instance, run.rng, profile_error)
    rounds = Rounds(known, run)
    if instance.grouping == "uniform":
        rounds.merge_all()
    else:
        rounds.merge_needed(order)
    return solution_of(known, _completed(rounds))


@method("interleaving", kind="heuristic", preload=MATCHING_LIBRARIES)
def swap(instance: Instance, run: Run) -> Solution:
    """Local search from Muri's groups: jobs change places, or move to a group that is not full.

    Starts from `muri` for uniform groups. For a cover it starts from Muri's rounds that merge only
    while the budget needs it, in a round the pair first that loses least efficiency for each GPU
    that it frees. Ends when no exchange of two jobs and no move helps, or after 100 passes. Ours,
    not the paper's.
    """
    return solution_of(instance, improve(instance, initial_groups(instance, run), 100, run))


@method("interleaving", kind="heuristic", preload=("highspy",))
def regroup(instance: Instance, run: Run, *, rounds: int = REGROUP.rounds) -> Solution:
    """Divide the jobs of every two groups anew until no division helps (ours).

    Starts from the groups of `greedy`. All jobs of two groups of a class are divided between them
    in the best way, pair by pair; of large groups on seven or eight resources one or two jobs
    change places or move, or the groups are merged. On a cover with more GPUs than full groups
    need, a price of a GPU decides how many groups a class has: groups are merged and split as well,
    for eight prices, found by bisection, and GPUs that are left go to the best splits. Then rounds:
    the jobs of three random groups of a class are mixed, pairs with these are divided anew, and the
    result is kept unless it is worse.

    Where jobs have few profiles (up to 4,000 multisets), an integer program over all multisets is
    solved instead to a gap of 0.5 %, at the root node.

    Parameters
    ----------
    rounds
        Number of rounds.
    """
    if rounds < 0:
        raise OptionError("rounds must be from 0")
    if count_multisets(instance) <= REGROUP.few_multisets:
        groups = few_groups(instance, run)
        if groups is not None:
            return solution_of(instance, groups)
    grouping = Grouping(instance, consecutive_groups(instance), run)
    grouping.divide()
    if instance.grouping == "cover" and instance.least_gpus < (instance.gpu_budget or 0):
        grouping.distribute()
    for _ in range(rounds):
        if run.stop_reason():
            break
        grouping.kick(run.rng)
    return solution_of(instance, grouping.groups())


@method("interleaving", kind="baseline")
def greedy(instance: Instance) -> Solution:
    """Full groups of consecutive jobs in the file's order, the order of priority; no matching.

    The ablation without Blossom of Muri's section 6.4.
    """
    return solution_of(instance, consecutive_groups(instance))


@method("interleaving", kind="baseline", preload=MATCHING_LIBRARIES)
def muri_worst_order(instance: Instance, run: Run) -> Solution:
    """Muri's groups at their worst offsets: what the ordering of stages gains (section 6.4)."""
    k = len(instance.resources)
    groups = []
    for group in muri(instance, run).groups:
        stages = instance.stages_of(group.jobs)
        worst = max(arrangements(k, len(stages)), key=lambda o: iteration_time(stages, o))
        groups.append(Group(jobs=group.jobs, offsets=worst))
    return Solution(groups=tuple(groups))


def initial_groups(instance: Instance, run: Run) -> list[tuple[int, ...]]:
    """Return the groups from which searches start: `muri`'s if uniform, else of least loss.

    Near a time limit the matchings of many jobs are not always heaviest.
    """
    rounds = Rounds(instance, run, MATCHING.share)
    if instance.grouping == "uniform":
        rounds.merge_all()
    else:
        rounds.merge_least_loss()
    return _completed(rounds)


def consecutive_groups(instance: Instance) -> list[tuple[int, ...]]:
    """Return full groups of consecutive jobs of each class."""
    size = instance.group_limit
    return [
        jobs[i : i + size] for jobs in instance.classes.values() for i in range(0, len(jobs), size)
    ]


def profiled(instance: Instance, rng: np.random.Generator, error: float) -> Instance:
    """Return the instance with stages as profiled with this error (Figure 14).

    Raises
    ------
    OptionError
        If the error is not from 0 to 1.
    """
    if not 0 <= error <= 1:
        raise OptionError(f"profile_error={error!r} must be a share from 0 to 1")
    if not error:
        return instance
    jobs = []
    for job in instance.jobs:
        factors = 1 + error * (2 * rng.random(len(job.stages)) - 1)
        stages = tuple(
            stage * Fraction(max(1e-6, round(factor, 9)))  # no stage becomes 0
            for factor, stage in zip(factors.tolist(), job.stages, strict=True)
        )
        jobs.append(job.model_copy(update={"stages": stages}))
    return instance.model_copy(update={"jobs": tuple(jobs)})


def _completed(rounds: Rounds) -> list[tuple[int, ...]]:
    """Return the groups, fitted to the grouping and the budget."""
    if rounds.excess:  # partial merging ended above the budget: merge all pairs instead
        rounds = Rounds(rounds.instance, rounds.run, rounds.share)
        rounds.merge_all()
    rounds.complete()
    return rounds.all()
