"""Best-fit decreasing step by step (Lyra, sections 5.3 and 6), first fit, and `chosen_first`."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from workers_instances import instance, job, server

import dlsched
from dlsched.problems.workers import Instance
from dlsched.problems.workers.definition.schema import KINDS
from dlsched.problems.workers.heuristics.chosen_first import (
    WAYS,
    Trial,
    choose,
    sizes_divide,
)
from dlsched.problems.workers.heuristics.repair import Placement, repair
from dlsched.problems.workers.instances.strategy import instances
from dlsched.problems.workers.programs.room_program import RoomProgram
from dlsched.problems.workers.structures.best_fit import solution_of
from dlsched.problems.workers.structures.fleet import BestFit
from dlsched.run import Run
from drawing import draws


def place(method: str, servers: Any, jobs: Any, *, separate_groups: bool = True) -> dict[str, Any]:
    """Return what a method places: base workers by server, or a pair with the flexible ones."""
    made = instance(servers, jobs, separate_groups=separate_groups)
    placement = dlsched.solve(made, method).solution.placement
    placed = {n: tuple(dict(p.counts(k)) for k in KINDS) for n, p in placement.items()}
    return {name: pair if pair[1] else pair[0] for name, pair in placed.items()}


MOVES = {"fungible": True}
GROWS = {"fungible": True, "elastic": True}
HETEROGENEOUS_GROWING = job("e", 1, 1, 2, heterogeneous=True, elastic=True)
HETEROGENEOUS = job("h", 2, 3, 5, heterogeneous=True)
PLACED: dict[str, tuple[str, list[Any], list[Any], dict[str, Any]]] = {
    "a worker goes to the fullest server that fits": (
        "bfd", [server("t1", 8), server("t2", 5), server("t3", 3), server("t4", 1)],
        [job("a", 2, 3)], {"a": {"t3": 1, "t2": 2}},
    ),
    "an empty server comes after a used one with more free GPUs": (
        "bfd", [server("t1", 4, gpus=4), server("t2", 7)],
        [job("a", 2, 4)], {"a": {"t2": 3, "t1": 1}},
    ),
    "larger workers come first, and of equal ones the job with more": (
        "bfd", [server("t1", 8)],
        [job("small", 1, 4), job("few", 2, 1), job("many", 2, 2), job("large", 4, 1)],
        {"large": {"t1": 1}, "many": {"t1": 2}},
    ),
    "ties are broken by the file": (
        "bfd", [server("t1", 8)], [job("x", 8, 1), job("y", 8, 1)], {"x": {"t1": 1}},
    ),
    "elastic jobs prefer loan, others training, and jobs that cannot move stay (section 5.3)": (
        "bfd", [server("t1", 7), server("l1", 7)],
        [job("e", 1, 1, **GROWS), job("i", 1, 1, **MOVES), job("fixed", 1, 1, elastic=True)],
        {"e": {"l1": 1}, "i": {"t1": 1}, "fixed": {"t1": 1}},
    ),
    "a gang that does not fit its pool is undone and tries the other": (
        "bfd", [server("t1", 4), server("l1", 3)],
        [job("a", 2, 2, **GROWS), job("b", 2, 1, **GROWS)], {"a": {"t1": 2}, "b": {"l1": 1}},
    ),
    "flexible workers stay in the pool of the base": (
        "bfd", [server("t1", 6), server("l1", 3)],
        [job("a", 2, 2, 2, **MOVES)], {"a": ({"t1": 2}, {"t1": 1})},
    ),
    "base workers open a server, flexible ones go to their group": (
        "bfd", [server("l1", 8), server("l2", 8), server("l3", 5, group="flexible")],
        [job("a", 2, 1, 4, **MOVES)], {"a": ({"l1": 1}, {"l3": 2, "l2": 2})},
    ),
    "a server of the own group wins a tie": (
        "bfd", [server("l1", 4), server("l2", 4, group="base")],
        [job("a", 2, 1, **GROWS)], {"a": {"l2": 1}},
    ),
    "it wins a tie only: the fuller server is taken": (
        "bfd", [server("l1", 3), server("l2", 4, group="base")],
        [job("a", 2, 1, **GROWS)], {"a": {"l1": 1}},
    ),
    "heterogeneous jobs come last, with flexible workers on loan (section 6)": (
        "bfd", [server("t1", 4), server("l1", 8), server("l2", 8)],
        [HETEROGENEOUS, job("i", 1, 1)],
        {"i": {"t1": 1}, "h": ({"t1": 1, "l1": 2}, {"l2": 4})},
    ),
    "the flexible workers of heterogeneous jobs overflow": (
        "bfd", [server("t1", 8), server("l1", 2)],
        [HETEROGENEOUS], {"h": ({"t1": 3}, {"l1": 1, "t1": 1})},
    ),
    "bfd gives a job that could be on loan the only GPUs of one that could not": (
        "bfd", [server("t1", 4), server("l1", 4)],
        [job("anywhere", 4, 1, **MOVES), job("confined", 2, 2)], {"anywhere": {"t1": 1}},
    ),
    "jobs that must be on training servers can come first": (
        "confined_first", [server("t1", 4), server("l1", 4)],
        [job("anywhere", 4, 1, **MOVES), job("confined", 2, 2)],
        {"confined": {"t1": 2}, "anywhere": {"l1": 1}},
    ),
    # t1 has 6 GPUs left for b; c's flexible worker has no loan server that is not of group base.
    "first fit takes the first job and the first server that fits": (
        "first_fit",
        [server("t1", 8), server("t2", 3), server("l1", 8), server("l2", 4, group="base")],
        [job("a", 1, 2), job("b", 4, 2), job("c", 2, 1, 1, **MOVES)],
        {"a": {"t1": 2}, "c": {"l1": 1}},
    ),
}  # fmt: skip


@pytest.mark.parametrize("rule", PLACED)
def test_placed_by_hand(rule: str) -> None:
    """Jobs are placed in this order, and their workers are where the rule says."""
    method, servers, jobs, placed = PLACED[rule]
    assert [*place(method, servers, jobs).items()] == [*placed.items()]


def test_the_two_readings_differ_as_the_card_says() -> None:
    """Job by job, a flexible worker takes what another job's base workers need."""
    values = {"bfd": (1, 1, 0, 0), "bases_first": (2, 0, 0, 0), "milp": (2, 0, 0, 0)}
    for method, value in values.items():
        assert tuple(dlsched.solve("workers-two-readings", method).objective) == value


def test_naive_has_no_groups_and_prefers_training() -> None:
    """Table 6: elastic jobs are placed like others, and a loan server holds both kinds."""
    servers = [server("t1", 2), server("l1", 8)]
    jobs = [job("a", 2, 1, fungible=True, elastic=True), job("b", 1, 2, 2, fungible=True)]
    made = place("naive_bfd", servers, jobs, separate_groups=False)
    assert made == {"a": {"t1": 1}, "b": ({"l1": 2}, {"l1": 2})}
    with pytest.raises(dlsched.OptionError, match="separate_groups to false"):
        place("naive_bfd", servers, jobs)


def _plain_bfd(instance: Instance) -> dict[str, tuple[dict[str, int], dict[str, int]]]:
    """Place worker by worker with a scan of all servers, as the text of section 5.3 has it."""
    free = [s.free for s in instance.servers]
    used = [not s.empty for s in instance.servers]
    group: list[Any] = [s.group if instance.separate_groups else None for s in instance.servers]
    made: dict[str, tuple[dict[str, int], dict[str, int]]] = {}

    def worker(size: int, kind: str, pools: Any) -> int | None:
        for pool in pools:
            fits = [
                s for s, x in enumerate(instance.servers)
                if x.pool == pool and free[s] >= size and group[s] in (None, kind)
            ]  # fmt: skip
            if fits:
                s = min(fits, key=lambda s: (not used[s], free[s], group[s] != kind, s))
                free[s] -= size
                used[s] = True
                if pool == "loan" and instance.separate_groups:
                    group[s] = kind
                return s
        return None

    order = sorted(
        instance.jobs,
        key=lambda j: (j.heterogeneous, -j.gpus_per_worker,
                       -j.gpus_per_worker * (j.base + j.flexible)),
    )  # fmt: skip
    for j in order:
        tries = [(p,) for p in j.pools]
        if j.heterogeneous:
            tries = [("training", "loan")]
        for pools in tries:
            state = (free[:], used[:], group[:])
            where = [worker(j.gpus_per_worker, "base", pools) for _ in range(j.base)]
            if None in where:
                free, used, group = state
                continue
            more = pools[::-1] if j.heterogeneous else pools
            other = [worker(j.gpus_per_worker, "flexible", more) for _ in range(j.flexible)]
            ids = [s.id for s in instance.servers]
            made[j.id] = tuple(
                {ids[s]: kind.count(s) for s in kind if s is not None} for kind in (where, other)
            )  # type: ignore[assignment]
            break
    return made


@settings(max_examples=draws(30), deadline=None)
@given(instances(max_servers=8, max_jobs=8))
def test_bisection_places_as_a_scan_of_all_servers(made: Instance) -> None:
    """The sorted lists of bfd choose the servers that a plain scan, worker by worker, chooses."""
    placed = dlsched.solve(made, "bfd").solution.placement
    assert {n: (dict(p.base), dict(p.flexible)) for n, p in placed.items()} == _plain_bfd(made)


def test_undo_restores_the_lists() -> None:
    """After an undo, every list of servers is what it was."""
    made = [server("t1", 8), server("t2", 5), server("t3", 3), server("l1", 8), server("l2", 2)]
    fleet = BestFit(instance(made, []))
    before = {key: list(keys) for key, keys in fleet.keys.items() if keys}
    for kind in KINDS:
        fleet.place("training", kind, 2, 6)
        fleet.place("loan", kind, 1, 9)
    fleet.undo()
    assert {key: list(keys) for key, keys in fleet.keys.items() if keys} == before


THREE_EACH = [server("t1", 3), server("t2", 3)]
CHOSEN: dict[str, tuple[list[Any], list[Any], str]] = {
    "two servers with 3 free GPUs have room for two workers of 2": (
        THREE_EACH, [job(name, 2, 1) for name in "abc"], "ab",
    ),
    "small jobs are chosen as long as they fit in number": (
        THREE_EACH, [job("l", 1, 6), *(job(name, 2, 1) for name in "ab")], "ab",
    ),
    "confined jobs are limited by the training servers": (
        [server("t1", 2), server("l1", 4)],
        [*(job(name, 1, 1) for name in "abc"), job("f", 1, 4, **MOVES)], "abf",
    ),
    "servers of flexible workers have no room for base workers": (
        [server("l1", 4, group="flexible"), server("l2", 2, group="base")],
        [job(name, 1, 2, **MOVES) for name in "ab"], "a",
    ),
    "of equal jobs those with flexible workers are chosen": (
        [server("t1", 3)], [job("a", 1, 2), job("b", 1, 2, flexible=2)], "b",
    ),
}  # fmt: skip


@pytest.mark.parametrize("rule", CHOSEN)
def test_chosen_by_hand(rule: str) -> None:
    """`chosen_first` chooses these jobs."""
    servers, jobs, names = CHOSEN[rule]
    assert [row.id for row in choose(instance(servers, jobs))] == [*names]


def test_many_small_jobs_come_before_one_large() -> None:
    """Best-fit decreasing starts the one with the largest workers."""
    servers = [server("t1", 8)]
    jobs = [job("large", 8, 1), *(job(name, 1, 2) for name in "abcd")]
    assert dlsched.solve(instance(servers, jobs), "bfd").objective.placed == 1
    assert dlsched.solve(instance(servers, jobs), "chosen_first").objective.placed == 4


def test_what_is_left_goes_to_jobs_that_were_not_chosen() -> None:
    """Two jobs of 3 GPUs fit in number, not on servers with 4 and 2; the third one does."""
    servers = [server("t1", 4), server("t2", 2)]
    jobs = [job("a", 1, 3, fungible=True), job("b", 3, 1), job("c", 3, 1), job("d", 2, 2)]
    assert dlsched.solve(instance(servers, jobs), "chosen_first").objective.placed == 2


def test_later_trials_place_more_flexible_workers() -> None:
    """Flexible workers of 3 GPUs first leave room for one only; those of 1 GPU are three."""
    made = instance(
        [server("t1", 3), server("t2", 4)],
        [job("a", 3, 1, flexible=1), job("b", 1, 1, flexible=3)],
    )
    trials = [Trial(made, way) for way in WAYS[:2]]
    for trial in trials:
        trial.place_all(made.jobs, [])
    assert [trial.reached for trial in trials] == [(2, 1), (2, 3)]
    assert dlsched.solve(made, "chosen_first", trials=2).objective[:2] == (2, 3)


CROWDED = {"training": 27, "loan": 21, "jobs": 70, "admitted": False, "scenario": "advanced"}


def test_few_flexible_workers_are_found_by_counting() -> None:
    """On a crowded fleet one flexible worker can be placed, and neither trials nor repair do it."""
    made = dlsched.generate("workers", 201058, training_used=0.6, loan_used=0.44, **CROWDED)
    assert dlsched.solve(made, "chosen_first").objective[:2] == (51, 1)
    assert dlsched.solve(made, levels=2).objective[:2] == (51, 1)


@pytest.mark.parametrize("seed", [1, 2, 3, 4])
@pytest.mark.parametrize("separate", [True, False])
def test_counts_are_enough_where_sizes_divide(separate: bool, seed: int) -> None:
    """With workers of 1, 2, 4 and 8 GPUs the program's placement is optimal on two levels."""
    scenario = ("basic", "advanced", "heterogeneous", "ideal")[seed - 1]
    options = {"training": 9, "loan": 7, "jobs": 14, "training_used": 0.5, "loan_used": 0.5}
    made = dlsched.generate(
        "workers", seed, scenario=scenario, separate_groups=separate, admitted=False, **options
    )
    best = dlsched.solve(made, levels=2).objective[:2]
    found = RoomProgram(made, int(best[0])).solution(Run(), 100)
    assert dlsched.verify(made, found).objective[:2] == best


def test_no_program_where_sizes_do_not_divide() -> None:
    """Workers of 1, 2 and 6 GPUs are counted; with 4 besides, the placement is repaired."""
    sizes = {(1, 2, 6): True, (1, 2, 4, 6): False, (3,): True}
    for row, divide in sizes.items():
        jobs = [job(f"j{size}", size, 1) for size in row]
        assert sizes_divide(instance([server("t1", 8)], jobs)) == divide


def test_counts_are_not_enough_for_other_sizes() -> None:
    """Workers of 3 GPUs on servers with 4 leave one GPU, of which two are not room for one of 2."""
    made = instance(
        [server("t1", 4), server("t2", 4)],
        [job("a", 3, 2), job("b", 2, 1)],
    )
    assert RoomProgram(made, 2).solution(Run(), 100) is None
    assert RoomProgram(made, 1).solution(Run(), 100) is not None


@pytest.mark.parametrize("admitted", [True, False])
@pytest.mark.parametrize("seed", [1, 2, 3, 4])
def test_as_many_jobs_as_can_be_placed_on_a_small_fleet(admitted: bool, seed: int) -> None:
    """The optimum of level 1 in every scenario, whether all jobs fit in total or not."""
    scenario = ("basic", "advanced", "heterogeneous", "ideal")[seed - 1]
    options = {"training": 22, "loan": 26, "jobs": 48, "scenario": scenario}
    made = dlsched.generate("workers", seed, admitted=admitted, **options)
    best = dlsched.solve(made, levels=1).objective
    assert dlsched.solve(made, "chosen_first").objective.placed == best.placed


def test_a_job_goes_to_a_gap_and_leaves_room_for_flexible_workers() -> None:
    """One trial puts both base workers of `h` beside `e`; the gap on the loan server is free."""
    servers = [server("t1", 3), server("l1", 2, group="base")]
    made = instance(servers, [HETEROGENEOUS_GROWING, job("h", 1, 2, heterogeneous=True)])
    trial = Trial(made, WAYS[0])
    trial.place_all(made.jobs, [])
    assert trial.reached == (2, 0)
    repair(made, Placement(trial.fleet, trial.bases, trial.flexible, trial.home))
    assert trial.reached == (2, 2)


def test_jobs_leave_a_loan_server_together() -> None:
    """The base workers of `a` and `b` keep a loan server from flexible workers of `e`."""
    servers = [server("t1", 2), server("l1", 2, group="base"), server("l2", 2)]
    growing = job("e", 2, 1, flexible=1, fungible=True, elastic=True)
    made = instance(servers, [growing, *(job(name, 1, 1, fungible=True) for name in "ab")])
    fleet = BestFit(made)
    placed = {"e": fleet.place("loan", "base", 2, 1)}
    placed |= {name: fleet.place("loan", "base", 1, 1) for name in "ab"}
    flexible: dict[str, Any] = {name: [] for name in placed}
    placement = Placement(fleet, placed, flexible, dict.fromkeys(placed, "loan"))
    repair(made, placement)
    assert flexible["e"] == [(2, 1)]
    assert dlsched.verify(made, solution_of(made, placed, flexible)).objective[:2] == (3, 1)
