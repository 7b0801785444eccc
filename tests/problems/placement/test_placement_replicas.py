"""Extra replicas keep their promises, and the checker sees when they do not."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings

import dlsched
from dlsched.problems.placement import Instance, Solution
from dlsched.problems.placement.arrays import arrays
from dlsched.problems.placement.heuristics import settled, solution_of
from dlsched.problems.placement.replicas import Replica, check_replicas, co_location, replicate
from dlsched.problems.placement.tally import state_of
from dlsched.testing import strategies

PAIR = dlsched.load("mast-two-regions")
APART = Solution(
    instance=PAIR.name,
    home={"clicks": "east", "users": "west", "videos": "east", "ads": "west"},
)


def test_by_hand() -> None:
    """With 12 and 16 bytes free, west gets clicks and ads gets nothing: videos fits no more.

    East holds 18 of 30 bytes, west 14. Largest first: clicks (10) to west, then videos (8) does not
    fit there (6 left), ads (8) to east, and users (6) no more (4 left). Then rank finds clicks and
    users in west, match finds videos and ads in east.
    """
    chosen = replicate(PAIR, APART)
    assert chosen == (Replica("clicks", "west", "disaster"), Replica("ads", "east", "disaster"))
    assert check_replicas(PAIR, APART, chosen) == ()
    assert co_location(PAIR, APART) == 0
    assert co_location(PAIR, APART, chosen) == 1


def test_jobs_are_served_without_disaster_copies() -> None:
    """Rank gets users (6 bytes) in east; then match's 8 bytes fit in west only."""
    chosen = replicate(PAIR, APART, disaster=False)
    assert [(copy.table, copy.reason) for copy in chosen] == [("users", "job"), ("videos", "job")]
    assert co_location(PAIR, APART, chosen) == 1


@given(strategies.placement(max_tables=5, max_jobs=5))
@settings(max_examples=200, deadline=None, derandomize=True)
def test_chosen_replicas_pass_the_checker(instance: Instance) -> None:
    """From any placement that stores what it must, replicas fit and never lower co-location."""
    data = arrays(instance)
    solution = solution_of(instance, state_of(data, settled(data)), "settled")
    before = co_location(instance, solution)
    quota = Fraction(7)
    for disaster in (True, False):
        chosen = replicate(instance, solution, disaster=disaster, hot_quota=quota)
        found = check_replicas(instance, solution, chosen, disaster=disaster, hot_quota=quota)
        kinds = {violation.kind for violation in found}
        full = any(
            _stored(instance, solution, region.id) > region.storage_capacity
            for region in instance.regions
        )
        assert kinds <= ({"storage_exceeded"} if full else set())
        assert co_location(instance, solution, chosen) >= before


def _stored(instance: Instance, solution: Solution, region: str) -> Fraction:
    return sum(
        (Fraction(t.size) for t in instance.tables if solution.home[t.id] == region), Fraction(0)
    )


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


def test_hot_tables_stay_within_their_quota() -> None:
    """A larger quota serves no fewer GPU hours, and its bytes are kept."""
    inst = dlsched.generate("placement", 2, tables=60, regions=4, jobs=90, fill=0.4)
    home = dlsched.solve(inst, "hill_climbing").solution
    size = {table.id: table.size for table in inst.tables}
    rates = []
    for share in (0, 0.01, 0.1):
        quota = int(share * sum(size.values()))
        chosen = replicate(inst, home, disaster=False, hot_quota=quota)
        assert check_replicas(inst, home, chosen, disaster=False, hot_quota=quota) == ()
        assert sum(size[c.table] for c in chosen if c.reason == "hot") <= quota
        rates.append(co_location(inst, home, chosen))
    assert rates == sorted(rates)
    with pytest.raises(dlsched.OptionError):
        replicate(inst, home, hot_quota=-1)
