"""What `dlsched.testing` checks, on more drawn instances than its conformance suite takes."""

from __future__ import annotations

from typing import Any

import pytest

from dlsched.testing import check_heuristic, check_problem, strategies

SMALL_FLEET = {"max_servers": 8, "max_jobs": 10}
HEURISTICS: list[tuple[str, str, dict[str, Any]]] = [
    *(
        ("reclaiming", "densest", {"examples": 60, "instances": strategies.reclaiming(**options)})
        for options in (
            SMALL_FLEET,
            SMALL_FLEET | {"mixed": True},
            SMALL_FLEET | {"weighted": False},
        )
    ),
    ("elastic", "prices", {"examples": 40}),
    ("workers", "chosen_first", {"examples": 40}),
    ("placement", "short_annealing", {"examples": 6}),
    ("dispatch", "counted", {"examples": 25}),
    ("utility", "insertion", {"examples": 60}),
    ("sensitivity", "balance", {"examples": 25, "invariant": ("names", "order")}),
    ("sensitivity", "price_round", {"examples": 25, "invariant": ("names", "order")}),
]


@pytest.mark.parametrize(("problem", "method", "options"), HEURISTICS)
def test_heuristics_have_their_properties(
    problem: str, method: str, options: dict[str, Any]
) -> None:
    """Feasible, deterministic, no better than brute force, valid bounds, independent of names."""
    found = check_heuristic(problem, method, **options)
    assert found, str(found)


AGREEMENT = ("exact", "heuristics", "bounds", "renaming", "order")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("problem", "checks", "examples"),
    [
        ("reclaiming", AGREEMENT, 300),
        ("elastic", AGREEMENT, 300),
        ("workers", ("exact", "bounds", "model_assign"), 500),
        ("sensitivity", ("exact", "bounds"), 120),
    ],
)
def test_many_instances_conform(problem: str, checks: tuple[str, ...], examples: int) -> None:
    """The comparisons with brute force hold on hundreds of instances each."""
    check_problem(problem, checks=checks, examples=examples).raise_if_any()
