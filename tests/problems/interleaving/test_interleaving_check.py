"""The definition of interleaving on drawn groups; reports.txt has what is worked out by hand."""

from fractions import Fraction
from typing import Any

from hypothesis import strategies as st

import dlsched
from drawing import drawn
from interleaving_instances import cover, gamma, job


def worth(jobs: list[dict[str, Any]], *groups: dict[str, Any]) -> Any:
    """Return the efficiency of groups of jobs."""
    head = {"dlsched": 1, "problem": "interleaving", "instance": "hand"}
    return dlsched.verify(cover(jobs), head | {"groups": groups}).objective.efficiency


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
        worth(
            [job(f"j{i}", row) for i, row in enumerate(rows)],
            {"jobs": [f"j{i}" for i in range(size)], "offsets": some},
        )
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
    assert worth(jobs, *groups) == Fraction(exact * 2**64 // 1, 2**64)


def test_groups_have_as_many_jobs_as_resources_at_most() -> None:
    """That is the default, and what uniform groups may state; a job has one GPU by default."""
    jobs = [{"id": "a", "stages": [1, 2]}, job("b", [2, 1.5])]
    made = cover(jobs, 2)
    assert (made.jobs[0].gpus, made.group_limit, made.weigh_by) == (1, 2, "groups")
    assert cover(jobs, grouping="uniform", max_group_size=2).group_limit == 2
