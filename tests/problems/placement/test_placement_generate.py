"""The generator of placement, and extra replicas and the rules that these follow."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from placement_instances import instance, job, region, table

import dlsched
from dlsched.problems.placement import Instance, Solution
from dlsched.problems.placement.heuristics import initial_homes, solution_of
from dlsched.problems.placement.instances.generate import PRIORITIES
from dlsched.problems.placement.instances.replicas import (
    Replica,
    check_replicas,
    co_location,
    replicate,
)
from dlsched.problems.placement.structures.arrays import arrays
from dlsched.problems.placement.structures.state import state_of
from dlsched.testing import strategies
from drawing import drawn


def test_statistics_are_the_papers() -> None:
    """Priorities as printed; sizes and readers as printed for migrations and for partitions."""
    inst = dlsched.generate(
        "placement", 1, tables=6000, regions=5, jobs=9000, largest=1, clusters=0
    )
    size = np.array([table.size for table in inst.tables])
    assert np.quantile(size, [0.5, 0.9, 0.99]) == pytest.approx([565, 103_000, 7.5e6], rel=0.35)
    readers = {table.id: 0 for table in inst.tables}
    for row in inst.jobs:
        for name in row.tables:
            readers[name] += 1
    counts = np.quantile(list(readers.values()), [0.5, 0.9, 0.99])
    assert counts == pytest.approx([3, 17, 45], rel=0.15)
    shares = np.bincount([job.priority for job in inst.jobs], minlength=8)[1:] / len(inst.jobs)
    assert shares == pytest.approx(np.array(PRIORITIES) / sum(PRIORITIES), abs=0.02)


@pytest.mark.parametrize("seed", range(3))
def test_today_is_feasible(seed: int) -> None:
    """The homes of today are feasible, hardware is uneven, and no table exceeds a tenth."""
    inst = dlsched.generate("placement", seed, tables=80, regions=5, jobs=120)
    result = dlsched.solve(inst, "no_moves")
    assert result.status == "feasible"
    assert result.details["moved"] == 0
    size = [table.size for table in inst.tables]
    assert max(size) <= 0.1 * sum(size) + 1
    supplies = [sum(region.gpu_supply.values()) for region in inst.regions]
    assert max(supplies) > 1.5 * min(supplies)


def test_sizes_and_readers_are_parameters() -> None:
    """Equal quantiles give equal tables; sizes are given in GB, tables have MB."""
    inst = dlsched.generate("placement", 1, tables=50, sizes=(2, 2, 2), readers=(1, 1, 1), jobs=90)
    assert {table.size for table in inst.tables} == {2000}


def test_experiments_read_what_another_job_reads() -> None:
    """With three quarters of experiments, the other jobs have all sets of tables."""
    inst = dlsched.generate("placement", 2, tables=40, jobs=80, experiments=0.75)
    kinds: dict[tuple[str, ...], set[tuple[str, str]]] = {}
    for row in inst.jobs[:20]:
        kinds.setdefault(row.tables, set()).add((row.kind, "".join(row.gpu_hours)))
    for row in inst.jobs[20:]:
        assert (row.kind, "".join(row.gpu_hours)) in kinds[row.tables]


def test_training_without_gpus() -> None:
    """About 30 % of the training jobs need no GPU with `cpu_training` at 0.3."""
    inst = dlsched.generate("placement", 1, tables=50, jobs=600, cpu_training=0.3)
    training = [job for job in inst.jobs if job.kind == "ml"]
    share = sum(not job.gpu_hours for job in training) / len(training)
    assert share == pytest.approx(0.3, abs=0.06)


def test_no_priority_is_rare() -> None:
    """With a minimum of 20, every priority of training jobs has 20; without, some have fewer."""
    for least in (0, 20):
        inst = dlsched.generate("placement", 1, tables=50, jobs=400, min_jobs_per_priority=least)
        count = Counter(job.priority for job in inst.jobs if job.kind == "ml")
        assert (min(count.values()) >= 20) == (least == 20)


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
    assert co_location(PAIR, APART) == 0
    assert co_location(PAIR, APART, chosen) == 1


def test_jobs_are_served_without_disaster_copies() -> None:
    """Rank gets users (6 bytes) in east; then match's 8 bytes fit in west only."""
    chosen = replicate(PAIR, APART, disaster=False)
    assert [(copy.table, copy.reason) for copy in chosen] == [("users", "job"), ("videos", "job")]
    assert co_location(PAIR, APART, chosen) == 1


@drawn(60, strategies.placement(max_tables=5, max_jobs=5))
def test_chosen_replicas_pass_the_checker(made: Instance) -> None:
    """From any placement, replicas fit and never lower co-location."""
    data = arrays(made)
    solution = solution_of(made, state_of(data, initial_homes(data)))
    before = co_location(made, solution)
    quota = Fraction(7)
    for disaster, stranded, hot in ((True, "supply", "jobs"), (False, "nearest", "hours")):
        chosen = replicate(
            made, solution, disaster=disaster, stranded=stranded, hot=hot, hot_quota=quota
        )
        found = check_replicas(made, solution, chosen, disaster=disaster, hot_quota=quota)
        kinds = {violation.kind for violation in found}
        stored = {r.id: Fraction(0) for r in made.regions}
        for t in made.tables:
            stored[solution.home[t.id]] += Fraction(t.size)
        full = any(stored[r.id] > r.storage_capacity for r in made.regions)
        assert kinds <= ({"storage_exceeded"} if full else set())
        assert co_location(made, solution, chosen) >= before


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
    """A larger quota serves no fewer GPU hours, and copies stay within it."""
    inst = dlsched.generate("placement", 2, tables=60, regions=4, jobs=90, storage_utilization=0.4)
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
    """The paper's rule copies to r2, with most A; ours to r1, which misses fewer bytes."""
    made = served({}, {"A": 3}, {"A": 5}, jobs=[job("j", "tu", 1)])
    assert copies_of(made) == [("t", "r2"), ("u", "r2")]
    assert copies_of(made, stranded="nearest") == [("t", "r1")]


def test_high_priorities_and_jobs_without_gpus_are_served() -> None:
    """With storage for one of two jobs, the one of priority 1 gets copies, even without GPUs."""
    low, high = job("low", "t", 9, priority=2), job("high", "uv", priority=1)
    rows = {"more": [table("v", 6, "r0")], "free": 16}
    made = served({}, {"A": 1}, jobs=[low, high], **rows)
    assert copies_of(made) == [("v", "r1")]
    chosen = replicate(made, today(made), disaster=False)
    assert co_location(made, today(made), chosen, by="jobs") == Fraction(1, 2)
    swapped = served({}, {"A": 1}, jobs=[low | {"priority": 1}, high | {"priority": 2}], **rows)
    assert copies_of(swapped)[0] == ("t", "r1")


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
    # For B in r1: t is read by one job. By hours for a byte, ours, w is first.
    reads = [("a", "u", "A", 1), ("b", "u", "A", 1), ("c", "vw", "A", 99), ("d", "t", "B", 1)]
    jobs = [job(name, tables, {kind: n}, "spark") for name, tables, kind, n in reads]
    made = served({"A": 1}, {"B": 3}, jobs=jobs, more=[table("v", 11, "r1"), table("w", 4, "r1")])
    assert copies_of(made, hot_quota=40) == [("u", "r0"), ("w", "r0"), ("t", "r1")]
    assert copies_of(made, hot="hours", hot_quota=11) == [("w", "r0"), ("u", "r0")]


@pytest.mark.parametrize("options", [{"stranded": "best"}, {"hot": "cold"}])
def test_rules_have_names(options: dict[str, str]) -> None:
    """Unknown rules and weights raise an error."""
    with pytest.raises(dlsched.OptionError):
        replicate(PAIR, APART, **options)
    with pytest.raises(dlsched.OptionError):
        co_location(PAIR, APART, by="bytes")
