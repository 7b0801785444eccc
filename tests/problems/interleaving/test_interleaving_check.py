"""The definition of interleaving: efficiencies by hand, violations, and unusable fields."""

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import strategies as st

import dlsched
from drawing import drawn
from interleaving_instances import cover, gamma, job

JOBS = [
    job("a", [2, 1, 1]), job("b", [1, 2, 0]), job("c", [1, 1, 1]),
    job("d", [0, 3, 0.5], 2), job("e", [1, 0, 4], 2),
]  # fmt: skip
INSTANCE = cover(JOBS, 5, name="five")
HEAD = {"dlsched": 1, "problem": "interleaving"}


def group(jobs: str, *offsets: int) -> dict[str, Any]:
    """Return a group of jobs with names of one letter."""
    return {"jobs": list(jobs), "offsets": list(offsets)}


AB, C, DE = group("ab", 0, 1), group("c", 2), group("de", 0, 1)


def solution(*groups: Any) -> dict[str, Any]:
    """Return a solution file of the instance, or of one of its name."""
    return HEAD | {"instance": "five", "groups": groups or [AB, C, DE]}


def test_worth_by_hand() -> None:
    """T of a-b is max(2,2) + max(1,0) + max(1,1) = 4, of d-e it is 0 + 4 + 1 = 5."""
    report = dlsched.verify(INSTANCE, solution())
    assert report.feasible
    ab, c, de = Fraction(7, 12), Fraction(1, 3), Fraction(17, 2) / 15
    assert tuple(report.objective) == (ab + c + de,)
    details = {"gpus": 4, "groups": 3, "largest_group": 2, "mean_efficiency": (ab + c + de) / 3}
    assert report.details == pytest.approx(details)


def test_weighing_by_gpus_by_hand() -> None:
    """With weigh_by gpus the group of two GPUs counts twice."""
    weighed = INSTANCE.model_copy(update={"weigh_by": "gpus"})
    expected = Fraction(7, 12) + Fraction(1, 3) + 2 * Fraction(17, 30)
    assert tuple(dlsched.verify(weighed, solution()).objective) == (expected,)


STAGES = st.integers(1, 4).flatmap(
    lambda k: st.lists(
        st.lists(st.integers(0, 9), min_size=k, max_size=k).filter(any), min_size=1, max_size=k
    )
)


@drawn(100, STAGES, st.integers(0, 3), st.randoms(use_true_random=False))
def test_worth_is_a_share_and_invariant_under_shifts(stages: Any, shift: int, draw: Any) -> None:
    """Gamma is in (0, size / k] at any offsets, and a shift of all, or of all stages, is none."""
    k, size = len(stages[0]), len(stages)
    offsets = draw.sample(range(k), size)
    turned = [[row[(j + shift) % k] for j in range(k)] for row in stages]
    worths = {
        dlsched.verify(
            cover([job(f"j{i}", row) for i, row in enumerate(rows)], name="five"),
            solution({"jobs": [f"j{i}" for i in range(size)], "offsets": some}),
        ).objective.efficiency
        for rows in (stages, turned)
        for some in (offsets, [(o + shift) % k for o in offsets])
    }
    assert worths == {gamma(stages, offsets)}
    assert 0 < gamma(stages, offsets) <= gamma(stages) <= Fraction(size, k)


def test_a_sum_of_many_denominators_is_rounded_down() -> None:
    """Beyond a denominator of 2**64 the sum is the next multiple of 2**-64 below it."""
    primes = [1009, 1013, 1019, 1021, 1031, 1033, 1039, 1049]
    jobs = [job(f"j{p}", [p, 2]) for p in primes] + [job(f"k{p}", [1, 3]) for p in primes]
    groups = [{"jobs": [f"j{p}", f"k{p}"], "offsets": [0, 1]} for p in primes]
    exact = sum(Fraction(p + 6, 2 * (max(p, 3) + max(2, 1))) for p in primes)
    assert exact.denominator > 2**64
    value = dlsched.verify(cover(jobs, name="five"), solution(*groups)).objective.efficiency
    assert value == Fraction(exact * 2**64 // 1, 2**64)


SMALL: dict[str, Any] = HEAD | {
    "name": "good", "resources": ["cpu", "gpu"], "grouping": "cover", "gpu_budget": 2,
    "jobs": [{"id": "a", "stages": [1, 2]}, job("b", [2, 1.5])],
}  # fmt: skip
UNIFORM = {"grouping": "uniform", "gpu_budget": None}


def test_groups_have_as_many_jobs_as_resources_at_most() -> None:
    """That is the default, and what uniform groups may state; a job has one GPU by default."""
    instance = dlsched.load(SMALL)
    assert (instance.jobs[0].gpus, instance.group_limit, instance.weigh_by) == (1, 2, "groups")
    assert dlsched.load(SMALL | UNIFORM | {"max_group_size": 2}).group_limit == 2
