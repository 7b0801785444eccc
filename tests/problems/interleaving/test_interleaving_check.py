"""The definition of interleaving: efficiencies by hand, violations, and unusable fields."""

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import strategies as st
from refusals import refused_path

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


@pytest.mark.parametrize(
    ("groups", "kind", "amount"),
    [
        ([group("az", 0, 1), C, DE], "unknown_job", 1),
        ([AB, group("a", 2), DE], "repeated_job", 1),
        ([group("aa", 0, 1), C, DE], "repeated_job", 1),
        ([AB, C], "missing_job", 1),
        ([AB, C, DE, group("")], "empty_group", 1),
        ([group("abcd", 0, 1, 2, 0), group("e", 0)], "too_large", 1),
        ([AB, group("cd", 0, 1), group("e", 0)], "mixed_gpus", 1),
        ([group("ab", 0), C, DE], "offsets_missing", 1),
        ([AB, group("c", 0, 1), DE], "offsets_surplus", 1),
        ([group("ab", 0, 3), C, DE], "offset_range", 1),
        ([group("ab", 0, 7), C, DE], "offset_range", 5),
        ([group("ab", 1, 1), C, DE], "repeated_offset", 1),
        ([group(name, 0) for name in "abcde"], "over_budget", 2),
    ],
)
def test_corrupted_groupings_are_rejected(groups: Any, kind: str, amount: int) -> None:
    """Each corrupted grouping breaks the requirement that was corrupted, by the right amount."""
    report = dlsched.verify(INSTANCE, solution(*groups))
    assert (kind, amount) in {(v.kind, v.amount) for v in report.violations}


def test_uniform_groups_must_be_full() -> None:
    """With uniform grouping a group of two of three resources lacks one job."""
    uniform = cover(JOBS[:3], name="five", grouping="uniform")
    found = {(v.kind, v.amount) for v in dlsched.verify(uniform, solution(AB, C)).violations}
    assert found == {("not_uniform", 1), ("not_uniform", 2)}


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


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"resources": ["a"] * 9}, "resources"),
        ({"max_group_size": 3}, "max_group_size"),
        ({"grouping": "uniform"}, "gpu_budget"),
        (UNIFORM | {"max_group_size": 1}, "max_group_size"),
        ({"jobs": [job("a", [1])]}, "jobs[0].stages"),
        ({"jobs": [job("a", [0, 0])]}, "jobs[0].stages"),
    ],
)
def test_contradictions_are_refused_by_field(changes: dict[str, Any], path: str) -> None:
    """What contradicts itself is refused with the field's path."""
    assert refused_path(SMALL | changes) == path


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"gpu_budget": 0}, "gpu_budget 0, the fullest groups of up to 2 take 1"),
        (UNIFORM | {"jobs": SMALL["jobs"][:1]},
         "1 jobs of 1 GPUs do not divide into uniform groups of 2"),
    ],
)  # fmt: skip
def test_infeasible_instances_say_why(changes: dict[str, Any], words: str) -> None:
    """The reason names the requirement that cannot be met, in the instance's terms."""
    result = dlsched.solve(SMALL | changes)
    assert (result.termination, result.reason) == ("infeasible", words)
