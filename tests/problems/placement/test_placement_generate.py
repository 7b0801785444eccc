"""The generator of placement, extra replicas and the rules that these follow, pictures."""

from fractions import Fraction
from random import Random
from typing import Any

import pytest
from hypothesis import strategies as st
from placement_instances import instance, job, region, table

import dlsched
from dlsched.problems.placement import Instance, Solution
from dlsched.problems.placement.instances.replicas import (
    Replica,
    check_replicas,
    co_location,
    replicate,
)
from dlsched.testing import strategies
from drawing import drawn


@pytest.mark.parametrize("seed", range(3))
def test_today_is_feasible(seed: int) -> None:
    """The homes of today are feasible, hardware is uneven, and no table exceeds its share."""
    inst = dlsched.generate("placement", seed, tables=80, regions=5, jobs=120, largest=0.1)
    result = dlsched.solve(inst, "no_moves")
    assert result.status == "feasible"
    assert result.details["moved"] == 0
    size = [table.size for table in inst.tables]
    assert max(size) <= 0.1 * sum(size) + 1
    supplies = [sum(region.gpu_supply.values()) for region in inst.regions]
    assert max(supplies) > 1.5 * min(supplies)


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_as_many_are_trained_at_home_as_asked_for(share: float) -> None:
    """Exactly, of few jobs, also with experiments and without GPUs."""
    inst = dlsched.generate("placement", 1, tables=12, jobs=20, trained_at_home=share)
    training = sum(job.kind == "ml" for job in inst.jobs)
    rate = co_location(inst, today(inst), by="jobs")
    assert abs(rate * training - share * training) <= Fraction(1, 2)


PAIR = dlsched.load("mast-two-regions")
APART = Solution(home={"clicks": "east", "users": "west", "videos": "east", "ads": "west"})


def test_by_hand() -> None:
    """With 12 and 16 bytes free, clicks and ads get a copy, videos and users do not."""
    # East holds 18 of 30 bytes, west 14. Largest first: clicks (10) to west, then videos (8) does
    # not fit there (6 left), ads (8) to east, and users (6) no more (4 left). Then rank finds
    # clicks and users in west, match finds videos and ads in east.
    chosen = replicate(PAIR, APART)
    assert chosen == (Replica("clicks", "west", "disaster"), Replica("ads", "east", "disaster"))
    assert check_replicas(PAIR, APART, chosen) == ()
    assert (co_location(PAIR, APART), co_location(PAIR, APART, chosen)) == (0, 1)
    # Without copies for disasters rank gets users in east; then match's 8 bytes fit in west only.
    chosen = replicate(PAIR, APART, disaster=False)
    assert [(copy.table, copy.reason) for copy in chosen] == [("users", "job"), ("videos", "job")]
    assert co_location(PAIR, APART, chosen) == 1


@drawn(60, strategies.placement(max_tables=5, max_jobs=5), st.randoms(use_true_random=False))
def test_chosen_replicas_pass_the_checker(made: Instance, random: Random) -> None:
    """From any placement, replicas fit and never lower co-location."""
    solution = Solution(home={t.id: random.choice(made.regions).id for t in made.tables})
    stored = {r.id: sum(t.size for t in made.tables if solution.home[t.id] == r.id)
              for r in made.regions}  # fmt: skip
    full = any(stored[r.id] > r.storage_capacity for r in made.regions)
    quota = Fraction(7)
    for disaster in (True, False):
        chosen = replicate(made, solution, disaster=disaster, hot_quota=quota)
        found = check_replicas(made, solution, chosen, disaster=disaster, hot_quota=quota)
        assert {v.kind for v in found} <= ({"storage_exceeded"} if full else set())
        assert co_location(made, solution, chosen) >= co_location(made, solution)


@pytest.mark.parametrize(
    ("copies", "kind"),
    [
        ([Replica("nothing", "west", "job")], "unknown_table"),
        ([Replica("clicks", "north", "job")], "unknown_region"),
        ([Replica("clicks", "east", "job")], "duplicate_copy"),
        ([Replica("clicks", "west", "hot")], "hot_quota_exceeded"),
        ([Replica(t, "west", "job") for t in ("clicks", "videos")], "storage_exceeded"),
        ([], "unprotected"),
    ],
)
def test_corrupted_replicas_are_rejected(copies: list[Replica], kind: str) -> None:
    """Each corruption is reported under its own kind."""
    assert kind in {violation.kind for violation in check_replicas(PAIR, APART, copies)}


T, U = table("t", 10, "r0"), table("u", 6, "r1")


def served(*supplies: dict[str, int], jobs: list[Any], more: Any = (), free: int = 100) -> Instance:
    """Return an instance with regions r0, r1, ... of these supplies, and t and u in the first."""
    regions = [region(f"r{i}", free, supply) for i, supply in enumerate(supplies)]
    return instance(regions, [T, U, *more], jobs)


def copies_of(made: Instance, **options: Any) -> list[tuple[str, str]]:
    """Return the tables and regions of the copies that jobs get."""
    chosen = replicate(made, today(made), disaster=False, **options)
    return [(copy.table, copy.region) for copy in chosen]


def today(made: Instance) -> Solution:
    """Return today's homes."""
    return Solution(home={row.id: row.home for row in made.tables})


def test_stranded_jobs_go_to_the_highest_supply() -> None:
    """Copies go to r2, with most A, although r1 misses fewer bytes."""
    made = served({}, {"A": 3}, {"A": 5}, jobs=[job("j", "tu", 1)])
    assert copies_of(made) == [("t", "r2"), ("u", "r2")]


def test_co_location_needs_all_types_in_one_region() -> None:
    """A job of two types has no region if r0 has A and r1 has B; Spark jobs are not counted."""
    jobs = [job("j", "t", {"A": 1, "B": 3}), job("s", "t", 4, "spark")]
    apart = served({"A": 2}, {"B": 2}, jobs=jobs)
    copies = [Replica("t", "r1", "job")]
    assert co_location(apart, today(apart), copies) == 0
    assert copies_of(apart) == []
    both = served({"A": 2}, {"A": 1, "B": 2}, jobs=jobs)
    assert co_location(both, today(both), copies) == 1


def test_hot_tables_fill_a_quota_for_each_region_and_type() -> None:
    """Of 40 bytes r0 gets 10 for A and r1 30 for B, filled with the tables of most jobs."""
    # For A in r0: u, read by two jobs that use A, is 6 bytes; v, by one, is 11 and skipped; w is 4.
    # For B in r1: t is read by one job.
    reads = [("a", "u", "A", 1), ("b", "u", "A", 1), ("c", "vw", "A", 99), ("d", "t", "B", 1)]
    jobs = [job(name, tables, {kind: n}, "spark") for name, tables, kind, n in reads]
    made = served({"A": 1}, {"B": 3}, jobs=jobs, more=[table("v", 11, "r1"), table("w", 4, "r1")])
    assert copies_of(made, hot_quota=40) == [("u", "r0"), ("w", "r0"), ("t", "r1")]


def test_rules_have_names() -> None:
    """Unknown weights, and a quota below 0, raise an error."""
    with pytest.raises(dlsched.OptionError):
        replicate(PAIR, APART, hot_quota=-1)
    with pytest.raises(dlsched.OptionError):
        co_location(PAIR, APART, by="bytes")
