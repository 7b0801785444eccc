"""`chosen_first`: which jobs it chooses, what further trials are for, and its properties."""

from __future__ import annotations

from typing import Any

import pytest

import dlsched
from dlsched.problems.workers import Instance
from dlsched.problems.workers.heuristics.chosen_first import choose
from dlsched.testing import check_heuristic


def server(name: str, free: int, gpus: int = 8, group: str | None = None) -> dict[str, Any]:
    """Return a server, on loan if its name begins with l."""
    pool = "loan" if name.startswith("l") else "training"
    return {"id": name, "pool": pool, "gpus": gpus, "free": free, "group": group}


def job(name: str, size: int, base: int, flexible: int = 0, **flags: bool) -> dict[str, Any]:
    """Return a job with workers of `size` GPUs, elastic if it has flexible ones."""
    counts = {"base": base, "flexible": flexible}
    return {"id": name, "gpus_per_worker": size, **counts, "elastic": flexible > 0, **flags}


def instance(servers: list[dict[str, Any]], jobs: list[dict[str, Any]]) -> Instance:
    """Return an instance with separate groups."""
    return Instance(name="hand", servers=servers, jobs=jobs)


def chosen(servers: list[dict[str, Any]], jobs: list[dict[str, Any]]) -> list[str]:
    """Return the ids of the jobs that are chosen."""
    return [found.id for found in choose(instance(servers, jobs))]


def test_chosen_first_has_the_properties_of_heuristics() -> None:
    """Feasible, deterministic, no better than brute force; names apart."""
    found = check_heuristic("workers", "chosen_first", examples=40, invariant=("names",))
    assert found, str(found)


def test_small_jobs_are_chosen_as_long_as_they_fit_in_number() -> None:
    """Two servers with 3 free GPUs have room for two workers of 2, not for three."""
    servers = [server("t1", 3), server("t2", 3)]
    assert chosen(servers, [job(name, 2, 1) for name in "abc"]) == ["a", "b"]
    assert chosen(servers, [job("large", 1, 6), *(job(name, 2, 1) for name in "ab")]) == ["a", "b"]


def test_confined_jobs_share_the_training_servers() -> None:
    """They are limited by these, jobs that can be on loan by all servers."""
    servers = [server("t1", 2), server("l1", 4)]
    jobs = [job(name, 1, 1) for name in "abc"] + [job("f", 1, 4, fungible=True)]
    assert chosen(servers, jobs) == ["a", "b", "f"]


def test_servers_of_flexible_workers_have_no_room_for_base_workers() -> None:
    """A loan server of the flexible group is not counted."""
    servers = [server("l1", 4, group="flexible"), server("l2", 2, group="base")]
    assert chosen(servers, [job(name, 1, 2, fungible=True) for name in "ab"]) == ["a"]


def test_of_equal_jobs_those_with_flexible_workers_are_chosen() -> None:
    """Level 2 counts their flexible workers."""
    jobs = [job("a", 1, 2), job("b", 1, 2, flexible=2)]
    assert chosen([server("t1", 3)], jobs) == ["b"]


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
    servers = [server("t1", 3), server("t2", 4)]
    jobs = [job("a", 3, 1, flexible=1), job("b", 1, 1, flexible=3)]
    found = [dlsched.solve(instance(servers, jobs), "chosen_first", trials=n) for n in (1, 2)]
    assert [result.objective[:2] for result in found] == [(2, 1), (2, 3)]


@pytest.mark.parametrize("trials", [0, 2.5, True])
def test_a_wrong_number_of_trials_is_refused(trials: Any) -> None:
    """It is a whole number from 1."""
    with pytest.raises(dlsched.OptionError, match="trials"):
        dlsched.solve("workers-48", "chosen_first", trials=trials)


@pytest.mark.parametrize("admitted", [True, False])
def test_as_many_jobs_as_can_be_placed_on_a_small_fleet(admitted: bool) -> None:
    """The optimum of level 1 in every scenario, whether all jobs fit in total or not."""
    for seed, scenario in enumerate(("basic", "advanced", "heterogeneous", "ideal"), start=1):
        options = {"training": 22, "loan": 26, "jobs": 48, "scenario": scenario}
        made = dlsched.generate("workers", seed, admitted=admitted, **options)
        best = dlsched.solve(made, levels=1).objective
        assert dlsched.solve(made, "chosen_first").objective.placed == best.placed
