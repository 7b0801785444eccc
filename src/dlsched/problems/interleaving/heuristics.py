"""Muri's grouping as printed and as published code, searches of our own, and the baselines."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from dlsched.errors import OptionError, UnknownName
from dlsched.problems.interleaving.gamma import arrangements, iteration_time
from dlsched.problems.interleaving.groups import solution_of
from dlsched.problems.interleaving.muri import Rounds, improve
from dlsched.problems.interleaving.schema import Group, Instance, Solution
from dlsched.registry import method

ORDERS = ("listed", "idle")
_LEAST_FACTOR = 1e-6
"""A profiler that is off by 100 % still sees that a stage is there."""


@method("interleaving", kind="heuristic")
def muri(instance: Instance, rng: np.random.Generator, *, profile_error: float = 0.0) -> Solution:
    """Muri's multi-round grouping as printed (section 4.2, Algorithm 1), every matched pair merged.

    For each number of GPUs, ceil(log2 k) rounds of maximum-weight matching (lines 9-20); an edge
    weighs gamma (eq. 4) of the union at its best offsets (eq. 3). What a round leaves over stays
    single. The algorithm is given the jobs at the head of the queue which, fully grouped, fill the
    cluster (lines 3-5); on a cover whose budget is far above that it still merges all it can.
    Where the rounds do not give uniform groups or are over the budget (k = 3: pairs cannot be
    merged), the least efficient groups are dissolved and their jobs assigned to the others **(D)**.

    Parameters
    ----------
    profile_error
        Groups and offsets are decided on stages multiplied by random factors between 1 minus and
        1 plus this, from 0 to 1: the profiling noise of Figure 14. The solution is measured with
        the instance's own stages.
    """
    known = profiled(instance, rng, profile_error)
    rounds = Rounds(known)
    rounds.merge_all()
    rounds.complete()
    return _solution(instance, known, rounds, "muri")


@method("interleaving", kind="heuristic")
def muri_needed(
    instance: Instance,
    rng: np.random.Generator,
    *,
    order: str = "listed",
    profile_error: float = 0.0,
) -> Solution:
    """Muri's grouping as in the authors' public code: pairs merged only while GPUs are short.

    Source: github.com/Rivendile/Muri, simulator/matching.py. A round matches the groups of every
    number of GPUs; its pairs are merged one by one, only while the GPUs required exceed the
    cluster, and up to K rounds are run, with K the most jobs in a group. That code multiplies the
    iteration times of groups of 2, 3 and 4 by constants (sharing overhead), which eq. 4 has not;
    they are left out here. With uniform groups, whose number is fixed, this is `muri`. A budget
    that the rounds do not meet is met as in `muri` **(D)**.

    Parameters
    ----------
    order
        ``"listed"``, as that code goes through the pairs; or ``"idle"``, the order that it
        computes and does not use: least (1 - gamma) times GPUs first.
    profile_error
        As in `muri`.
    """
    if order not in ORDERS:
        raise UnknownName("order of merging", order, ORDERS)
    known = profiled(instance, rng, profile_error)
    return _solution(instance, known, needed(known, order), "muri_needed")


@method("interleaving", kind="heuristic")
def least_loss(instance: Instance) -> Solution:
    """Muri's rounds, merging only while the budget needs it, least loss of efficiency first.

    A reading of our own, between Algorithm 1 and the public code: ceil(log2 k) rounds, and of a
    round's pairs those come first that lose least efficiency for each GPU that they free.
    """
    return solution_of(instance, start_groups(instance), "least_loss")


@method("interleaving", kind="heuristic", preload=(".local",))
def swap(instance: Instance, *, passes: int = 100) -> Solution:
    """Local search from Muri's groups: jobs change places, or move to a group that is not full.

    Starts from `muri` for uniform groups and from `least_loss` for a cover, and ends when no
    exchange of two jobs and no move helps, or after so many passes. Ours, not the paper's.
    """
    return solution_of(instance, improve(instance, start_groups(instance), passes), "swap")


@method("interleaving", kind="baseline")
def greedy(instance: Instance) -> Solution:
    """Full groups of consecutive jobs in the file's order, the order of priority; no matching.

    The ablation without Blossom of Muri's section 6.4.
    """
    size = instance.group_limit
    groups = [
        jobs[i : i + size] for jobs in instance.classes.values() for i in range(0, len(jobs), size)
    ]
    return solution_of(instance, groups, "greedy")


@method("interleaving", kind="baseline")
def muri_worst_order(instance: Instance, rng: np.random.Generator) -> Solution:
    """Muri's groups at their worst offsets: what the ordering of stages is worth (section 6.4)."""
    made = muri(instance, rng)
    k = len(instance.resources)
    groups = []
    for group in made.groups:
        stages = [instance.jobs[instance.job_index[job]].stages for job in group.jobs]
        worst = max(arrangements(k, len(stages)), key=lambda o: iteration_time(stages, o))
        groups.append(Group(jobs=group.jobs, offsets=worst))
    return made.model_copy(update={"groups": tuple(groups), "method": "muri_worst_order"})


def start_groups(instance: Instance) -> list[tuple[int, ...]]:
    """Return the groups from which searches start: `muri`'s if uniform, else `least_loss`'s."""
    rounds = Rounds(instance)
    if instance.grouping == "uniform":
        rounds.merge_all()
    else:
        rounds.merge_least_loss()
    return _completed(rounds).all()


def needed(instance: Instance, order: str) -> Rounds:
    """Return the groups of `muri_needed`."""
    rounds = Rounds(instance)
    if instance.grouping == "uniform":
        rounds.merge_all()
    else:
        rounds.merge_needed(order)
    return _completed(rounds)


def profiled(instance: Instance, rng: np.random.Generator, error: float) -> Instance:
    """Return the instance as a profiler with this error sees it (Figure 14).

    Raises
    ------
    OptionError
        If the error is not from 0 to 1.
    """
    if not 0 <= error <= 1:
        raise OptionError(f"profile_error={error!r} must be a share from 0 to 1")
    if not error:
        return instance
    seen = []
    for job in instance.jobs:
        factors = 1 + error * (2 * rng.random(len(job.stages)) - 1)
        stages = tuple(
            stage * Fraction(max(_LEAST_FACTOR, round(factor, 9)))
            for factor, stage in zip(factors.tolist(), job.stages, strict=True)
        )
        seen.append(job.model_copy(update={"stages": stages}))
    return instance.model_copy(update={"jobs": tuple(seen)})


def _solution(instance: Instance, known: Instance, rounds: Rounds, method: str) -> Solution:
    """Return the solution with groups and offsets as decided on what was known."""
    made = solution_of(known, rounds.all(), method)
    return made.model_copy(update={"instance_sha256": instance.sha256})


def _completed(rounds: Rounds) -> Rounds:
    if rounds.excess:  # the rounds that went on only while needed got stuck: merge all
        rounds = Rounds(rounds.instance)
        rounds.merge_all()
    rounds.complete()
    return rounds
