"""Muri's grouping (section 4.2), a local search, and the baselines."""

from __future__ import annotations

from dlsched.problem import method
from dlsched.problems.interleaving.gamma import arrangements, iteration_time
from dlsched.problems.interleaving.groups import solution_of
from dlsched.problems.interleaving.muri import Rounds, improve
from dlsched.problems.interleaving.schema import Group, Instance, Solution


@method("interleaving", kind="heuristic")
def muri(instance: Instance) -> Solution:
    """Muri's multi-round grouping (Algorithm 1): Blossom on jobs, then on the groups it made.

    For each number of GPUs, ceil(log2 k) rounds of maximum-weight matching; an edge weighs gamma
    (eq. 4) of the union at its best offsets (eq. 3). What a round leaves over stays single. Every
    round merges all it can, whatever the budget leaves room for, as in the paper. Where that does
    not give uniform groups or is over the budget (k = 3: pairs cannot be merged), the least
    efficient groups are dissolved and their jobs assigned to the others **(D)**.
    """
    rounds = Rounds(instance)
    rounds.merge_all()
    rounds.complete()
    return solution_of(instance, rounds.all(), "muri")


@method("interleaving", kind="heuristic")
def muri_needed(instance: Instance) -> Solution:
    """Muri's rounds, but merging only while the GPUs exceed the budget, least loss first.

    Not in the paper, which picks as many jobs as fill the cluster when fully grouped.
    """
    rounds = _needed(instance)
    return solution_of(instance, rounds.all(), "muri_needed")


@method("interleaving", kind="heuristic", compiled="local")
def swap(instance: Instance, *, passes: int = 100) -> Solution:
    """Local search from Muri's groups: jobs change places, or move to a group with room.

    Starts from `muri` for uniform groups and from `muri_needed` for a cover, and ends when no
    exchange of two jobs and no move helps, or after so many passes.
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
def muri_worst_order(instance: Instance) -> Solution:
    """Muri's groups at their worst offsets: what the ordering of stages is worth (section 6.4)."""
    made = muri(instance)
    k = len(instance.resources)
    groups = []
    for group in made.groups:
        stages = [instance.jobs[instance.job_index[job]].stages for job in group.jobs]
        worst = max(arrangements(k, len(stages)), key=lambda o: iteration_time(stages, o))
        groups.append(Group(jobs=group.jobs, offsets=worst))
    return made.model_copy(update={"groups": tuple(groups), "method": "muri_worst_order"})


def start_groups(instance: Instance) -> list[tuple[int, ...]]:
    """Return the better of Muri's groups for the instance: all rounds if uniform."""
    if instance.grouping == "cover":
        return _needed(instance).all()
    rounds = Rounds(instance)
    rounds.merge_all()
    rounds.complete()
    return rounds.all()


def _needed(instance: Instance) -> Rounds:
    rounds = Rounds(instance)
    rounds.merge_needed()
    if rounds.excess:  # the rounds that went on only while needed got stuck: merge all
        rounds = Rounds(instance)
        rounds.merge_all()
    rounds.complete()
    return rounds
