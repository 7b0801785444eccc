"""The definition and the files: objectives by hand, violations, and unusable fields."""

from __future__ import annotations

from typing import Any

import pytest
from refusals import refused_path
from workers_instances import job, server

import dlsched

HEAD = {"dlsched": 1, "problem": "workers"}
SERVERS = [
    server("t1", 8), server("t2", 3), server("l1", 8), server("l2", 5),
    server("lb", 4, group="base"), server("lf", 4, group="flexible"),
]  # fmt: skip
JOBS = [
    job("plain", 2, 2),
    job("moves", 1, 2, fungible=True),
    job("grows", 2, 1, 3, fungible=True),
    job("both", 1, 4, 2, heterogeneous=True),
]
INSTANCE: dict[str, Any] = HEAD | {"name": "hand", "servers": SERVERS, "jobs": JOBS}
GOOD: dict[str, dict[str, dict[str, int]]] = {
    "plain": {"base": {"t1": 1, "t2": 1}},
    "moves": {"base": {"lb": 2}},
    "grows": {"base": {"lb": 1}, "flexible": {"lf": 2}},
    "both": {"base": {"t1": 2, "l1": 2}, "flexible": {"t2": 1, "l2": 1}},
}


def verify(placement: dict[str, Any], **changes: Any) -> dlsched.Report:
    """Check a placement of the instance with some fields changed."""
    return dlsched.verify(INSTANCE | changes, HEAD | {"instance": "hand", "placement": placement})


def test_objective_by_hand() -> None:
    """All jobs and 4 flexible workers; 2 GPUs of moves on loan, 3 of both in training; t1, l1."""
    report = verify(GOOD)
    assert report.feasible
    assert tuple(report.objective) == (4, 4, 2 + 3, 2)
    assert report.details == {"base_on_loan": 5, "flexible_on_loan": 3}


@pytest.mark.parametrize(
    ("change", "kind", "where"),
    [
        ({"nobody": {"base": {"t1": 1}}}, "unknown_job", "placement['nobody']"),
        ({"plain": {"base": {"t1": 1, "t9": 1}}}, "unknown_server", "placement['plain'].base"),
        ({"plain": {"base": {"t1": 1}}}, "too_few_base", "placement['plain'].base"),
        ({"plain": {"base": {"t1": 2, "t2": 1}}}, "too_many_base", "placement['plain'].base"),
        ({"both": {"base": {"t1": 4}, "flexible": {"l2": 3}}}, "too_many_flexible",
         "placement['both'].flexible"),
        ({"moves": {"base": {"lb": 2}, "flexible": {"l2": 1}}}, "too_many_flexible",
         "placement['moves'].flexible"),
        ({"plain": {"base": {"t1": 1, "l1": 1}}}, "pool", "placement['plain']"),
        ({"moves": {"base": {"lb": 1, "t2": 1}}}, "two_pools", "placement['moves']"),
        ({"grows": {"base": {"lb": 1}, "flexible": {"t1": 1}}}, "two_pools",
         "placement['grows']"),
        ({"plain": {"base": {"t2": 2}}}, "gpus", "servers[1]"),
        ({"grows": {"base": {"lb": 1}, "flexible": {"lf": 3}}}, "gpus", "servers[5]"),
        ({"both": {"base": {"lf": 4}}}, "group", "servers[5]"),
        ({"both": {"base": {"t1": 4}, "flexible": {"lb": 1}}}, "group", "servers[4]"),
        ({"both": {"base": {"l2": 4}, "flexible": {"l2": 1}}}, "mixed_group", "servers[3]"),
    ],
)  # fmt: skip
def test_corrupted_placements_are_refused(change: Any, kind: str, where: str) -> None:
    """A feasible placement with one job changed is refused for that, and for where it is."""
    found = {(v.kind, v.where) for v in verify(GOOD | change).violations}
    assert (kind, where) in found
    assert {v[0] for v in found} <= {kind, "gpus"}


def test_groups_count_only_if_separate() -> None:
    """Without separate groups a loan server holds workers of both kinds, whatever its group."""
    mixed = {"both": {"base": {"lf": 2, "l1": 2}, "flexible": {"lf": 1, "l1": 1}}}
    assert not verify(mixed).feasible
    assert verify(mixed, separate_groups=False).feasible


TRAINING, USED, IDLE = server("a", 8), server("l", 1), server("l", 8)
SMALL = job("j", 1, 1)


@pytest.mark.parametrize(
    ("servers", "jobs", "path"),
    [
        ([server("a", 9)], [], "servers[0].free"),
        ([server("a", 3, group="base")], [], "servers[0].group"),
        ([IDLE | {"group": "base"}], [], "servers[0].group"),
        ([USED, USED], [], "servers[1].id"),
        ([], [job("j", 1, 0)], "jobs[0].base"),
        ([], [job("j", 1, 1, 1) | {"elastic": False}], "jobs[0].flexible"),
    ],
)
def test_unusable_fields_are_named(servers: Any, jobs: Any, path: str) -> None:
    """A bad field is refused with its path."""
    assert refused_path(INSTANCE | {"servers": servers, "jobs": jobs}) == path
