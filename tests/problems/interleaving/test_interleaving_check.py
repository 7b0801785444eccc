"""The checker of interleaving: violations, and efficiencies by hand."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dlsched
from dlsched.problems.interleaving import Instance
from dlsched.problems.interleaving.definition.check import FINEST, efficiency, evaluate
from dlsched.problems.interleaving.definition.schema import Group
from dlsched.problems.interleaving.structures.offsets import best_offsets

JOBS: list[dict[str, Any]] = [
    {"id": "a", "gpus": 1, "stages": [2, 1, 1]},
    {"id": "b", "gpus": 1, "stages": [1, 2, 0]},
    {"id": "c", "gpus": 1, "stages": [1, 1, 1]},
    {"id": "d", "gpus": 2, "stages": [0, 3, 0.5]},
    {"id": "e", "gpus": 2, "stages": [1, 0, 4]},
]
INSTANCE = Instance(
    name="five", resources=["s", "c", "g"], grouping="cover", gpu_budget=5, jobs=JOBS
)
GOOD = [
    {"jobs": ["a", "b"], "offsets": [0, 1]},
    {"jobs": ["c"], "offsets": [2]},
    {"jobs": ["d", "e"], "offsets": [0, 1]},
]


def solution(groups: Any = GOOD, **changes: Any) -> dict[str, Any]:
    """Return a solution file of the instance with some fields changed."""
    base = {"dlsched": 1, "problem": "interleaving", "instance": "five", "groups": groups}
    return base | changes


def test_worth_by_hand() -> None:
    """T of a-b is max(2,2) + max(1,0) + max(1,1) = 4, of d-e it is 0 + 4 + 1 = 5."""
    report = dlsched.verify(INSTANCE, solution())
    assert report.feasible
    ab, c, de = Fraction(7, 12), Fraction(1, 3), Fraction(17, 2) / 15
    assert tuple(report.objective) == (ab + c + de,)
    assert report.details["gpus"] == 4
    assert report.details["groups"] == 3


def test_weighing_by_gpus_by_hand() -> None:
    """With weigh_by gpus the group of two GPUs counts twice."""
    weighed = INSTANCE.model_copy(update={"weigh_by": "gpus"})
    expected = Fraction(7, 12) + Fraction(1, 3) + 2 * Fraction(17, 30)
    assert tuple(dlsched.verify(weighed, solution()).objective) == (expected,)


def swap(index: int, **changes: Any) -> list[dict[str, Any]]:
    """Return the good groups with one changed."""
    return [g | changes if i == index else g for i, g in enumerate(GOOD)]


@pytest.mark.parametrize(
    ("groups", "kind", "amount"),
    [
        (swap(0, jobs=["a", "z"]), "unknown_job", 1),
        (swap(1, jobs=["a"]), "repeated_job", 1),
        (swap(0, jobs=["a", "a"]), "repeated_job", 1),
        (GOOD[:2], "missing_job", 1),
        ([*GOOD, {"jobs": [], "offsets": []}], "empty_group", 1),
        (
            [
                {"jobs": ["a", "b", "c", "d"], "offsets": [0, 1, 2, 0]},
                {"jobs": ["e"], "offsets": [0]},
            ],
            "too_large",
            1,
        ),
        (
            [*swap(1, jobs=["c", "d"], offsets=[0, 1])[:2], {"jobs": ["e"], "offsets": [0]}],
            "mixed_gpus",
            1,
        ),
        (swap(0, offsets=[0]), "offsets_missing", 1),
        (swap(1, offsets=[0, 1]), "offsets_surplus", 1),
        (swap(0, offsets=[0, 3]), "offset_range", 1),
        (swap(0, offsets=[0, 7]), "offset_range", 5),
        (swap(0, offsets=[1, 1]), "repeated_offset", 1),
        (
            [{"jobs": [j], "offsets": [0]} for j in "abcde"],
            "over_budget",
            2,
        ),
    ],
)
def test_corrupted_groupings_are_rejected(groups: Any, kind: str, amount: int) -> None:
    """Each corrupted grouping breaks the requirement that was corrupted, by the right amount."""
    report = dlsched.verify(INSTANCE, solution(groups))
    assert (kind, amount) in {(v.kind, v.amount) for v in report.violations}


def test_uniform_groups_must_be_full() -> None:
    """With uniform grouping a group of two of three resources lacks one job."""
    jobs = [j | {"gpus": 1} for j in JOBS[:3]]
    uniform = Instance(name="five", resources=["s", "c", "g"], grouping="uniform", jobs=jobs)
    report = dlsched.verify(uniform, solution(GOOD[:2]))
    assert {(v.kind, v.amount) for v in report.violations} == {
        ("not_uniform", 1),
        ("not_uniform", 2),
    }


stage_lists = st.integers(1, 4).flatmap(
    lambda k: st.lists(
        st.lists(st.integers(0, 9), min_size=k, max_size=k).filter(any), min_size=1, max_size=k
    )
)


@given(stages=stage_lists, shift=st.integers(0, 3))
@settings(max_examples=100, deadline=None, derandomize=True)
def test_gamma_is_a_share_and_invariant_under_shifts(stages: list[list[int]], shift: int) -> None:
    """Gamma is in (0, size / k], and shifting all offsets or all stages alike changes nothing."""
    k = len(stages[0])
    offsets = best_offsets(stages)
    gamma = efficiency(stages, offsets)
    assert 0 < gamma <= Fraction(len(stages), k)
    assert gamma == efficiency(stages, [(o + shift) % k for o in offsets])
    turned = [[job[(j + shift) % k] for j in range(k)] for job in stages]
    assert gamma == efficiency(turned, offsets)


def test_a_sum_of_many_denominators_is_rounded_down() -> None:
    """Beyond a denominator of 2**64 the sum is the next multiple of 2**-64 below it."""
    primes = [1009, 1013, 1019, 1021, 1031, 1033, 1039, 1049]
    jobs = [{"id": f"j{p}", "stages": [p, 2]} for p in primes] + [
        {"id": f"k{p}", "stages": [1, 3]} for p in primes
    ]
    instance = Instance(name="primes", resources=["a", "b"], grouping="cover", jobs=jobs)
    groups = [Group(jobs=(f"j{p}", f"k{p}"), offsets=(0, 1)) for p in primes]
    exact = sum(Fraction(p + 6, 2 * (max(p, 3) + max(2, 1))) for p in primes)
    assert exact.denominator > FINEST
    (value,) = evaluate(instance, groups)
    assert 0 <= exact - value < Fraction(1, FINEST)
