"""Internal: the groups of proof forms are those of the definition; forged proofs are refused."""

import math
from fractions import Fraction
from itertools import chain, combinations_with_replacement
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dlsched
from dlsched.problems.interleaving.programs.priced_groups import (
    ExactGroup,
    PricedClass,
    TooManyGroups,
    groups_from,
)
from dlsched.proofs.bounds import BoundProof
from dlsched.proofs.check import Form, InvalidProof, Kind
from dlsched.proofs.document import Leaf
from dlsched.proofs.forms.form import Goal, Row
from dlsched.results.proof import LevelProof, Proof
from interleaving_instances import gamma

TIMES = st.sampled_from([0, 1, 2, 3, Fraction(1, 2), Fraction(9, 4)]) | st.integers(1, 10**17).map(
    lambda digits: Fraction(digits, 10**17)
)
FAR = st.sampled_from([0, 0, 0, 9, -9, -150, -300, 14])
"""Powers of ten by which profiles differ."""


@st.composite
def priced_classes(draw: st.DrawFn) -> PricedClass:
    """Draw a class of few profiles, with prices near those of good groupings or far from them."""
    k = draw(st.integers(1, 4))
    uniform = draw(st.booleans())
    profile = st.lists(TIMES, min_size=k, max_size=k).filter(any)
    stages = [
        [Fraction(s) * Fraction(10) ** power for s in row]
        for row, power in draw(st.lists(st.tuples(profile, FAR), min_size=1, max_size=5))
    ]
    bits, weight = draw(st.sampled_from([0, 3, 20, 36, 500])), draw(st.sampled_from([1, 8, 10**15]))
    size = k if uniform else draw(st.integers(1, k))
    unit = draw(st.sampled_from([weight << bits, weight << bits, 2**100, 2**900]))
    shares = st.fractions(Fraction(-1, 4), Fraction(1, 2), max_denominator=1000)
    prices = [math.floor(draw(shares) * unit) for _ in stages]
    return PricedClass(
        stages=stages,
        jobs=[draw(st.integers(1, 3)) for _ in stages],
        smallest=k if uniform else 1,
        largest=size,
        weight=weight,
        prices=prices,
        fixed=math.floor(draw(shares) * unit) if draw(st.booleans()) else 0,
        bits=bits,
    )


def every_group(data: PricedClass) -> list[ExactGroup]:
    """Return all groups of a class, by the definition."""
    found = []
    for size in range(data.smallest, data.largest + 1):
        for row in combinations_with_replacement(range(len(data.stages)), size):
            if all(row.count(p) <= data.jobs[p] for p in row):
                stages = [data.stages[p] for p in row]
                worth = gamma(stages) * data.weight
                price = sum(data.prices[p] for p in row) + data.fixed
                found.append(ExactGroup(row, worth, math.ceil(worth * 2**data.bits) - price))
    return sorted(found)


@pytest.mark.parametrize("examples", [10, pytest.param(2000, marks=pytest.mark.slow)])
def test_the_groups_from_a_floor_are_those_of_the_definition(examples: int) -> None:
    """At any prices and any floor, also one that is a group's reduced value."""

    @settings(derandomize=True, deadline=None, max_examples=examples, database=None)
    @given(priced_classes(), st.integers(0, 100), st.sampled_from([-1, 0, 1]))
    def run(data: PricedClass, share: int, beside: int) -> None:
        every = every_group(data)
        values = sorted(group.reduced for group in every)
        if not values:
            assert groups_from(data, -(2**2000), 0) == []
            return
        floor = values[share * (len(values) - 1) // 100] + beside
        kept = [group for group in every if group.reduced >= floor]
        assert groups_from(data, floor, len(kept)) == kept
        if kept:
            with pytest.raises(TooManyGroups):
                groups_from(data, floor, len(kept) - 1)

    run()


def test_more_groups_than_a_block_are_found() -> None:
    """Twenty profiles with four jobs each have 8,855 groups of four, found in several arrays."""
    stages = [[(7 * p + 3 * r) % 11 + 1 for r in range(4)] for p in range(20)]
    data = PricedClass(stages, [4] * 20, 4, 4, 1, [0] * 20, 0, 10)
    found = groups_from(data, 0, 10_000)
    assert len(found) == math.comb(23, 4)


TARGET = Fraction(83, 2)
FORGED: dict[str, Any] = {
    "bits": 10,
    "prices": [66661039312539, 66661039312539],
    "gpu": 0,
    "highest": [-133322078624293],
}
"""Prices so high that the rounding of doubles is larger than what a group is worth."""


def sides() -> tuple[Any, dict[str, Any]]:
    """Return 51 jobs of one resource and 49 of another, and 33 unlike pairs, worth the target."""
    jobs = {"a": [f"a{i}" for i in range(51)], "b": [f"b{i}" for i in range(49)]}
    rows = [{"id": i, "stages": [10, 0] if i[0] == "a" else [0, 10]} for i in chain(*jobs.values())]
    head = {"dlsched": 1, "problem": "interleaving"}
    fields = {"name": "sides", "grouping": "uniform", "resources": ["x", "y"], "jobs": rows}
    unlike = list(zip(jobs["a"][:33], jobs["b"][:33], strict=True))
    alike = [of[i : i + 2] for of in jobs.values() for i in range(33, len(of), 2)]
    groups = [{"jobs": pair, "offsets": [0, 1]} for pair in [*unlike, *alike]]
    return dlsched.load(head | fields), head | {"instance": "sides", "groups": groups}


def forged(parameters: dict[str, Any], kind: Kind) -> LevelProof:
    """Return a proof from a form with pairs of different jobs only: it has no grouping."""
    rows = [Row({0: 1}, 51, 51), Row({0: 1}, 49, 49), Row({0: 1}, 50, 50)]
    goal = Goal("efficiency", -1, {0: -(2**40)}, 0, Fraction(1, 2**40), False)
    form = Form("groups", [0], [49], [True], rows, [goal])
    tree = [Leaf(0, {0: 16}, True)]
    return LevelProof("efficiency", TARGET, kind, "groups", form.digest, tree, parameters)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({}, "below the target"),
        ({"prices": [0, 0], "gpu": 512, "highest": [512]}, "without a budget"),
        ({"highest": [-133322078624293 + 2**10]}, "is not that of the form"),
        ({"highest": [-133322078624293 + 2**50]}, "is not that of the form"),
        ({"bits": 0, "prices": [0, 0], "highest": [2]}, "is not that of the form"),
        ({"bits": 0, "prices": [0, 0], "highest": [0]}, "below the target"),
        ({"prices": [0, 0], "highest": [900]}, "larger reduced value than is stated"),
    ],
)
def test_a_forged_proof_is_refused(changes: dict[str, Any], reason: str) -> None:
    """By the check of optima and by that of bounds."""
    instance, worse = sides()
    level = forged(FORGED | changes, "certified to nine digits")
    with pytest.raises(InvalidProof, match=reason):
        proof = Proof("interleaving", "sides", instance.sha256, worse, [level])
        dlsched.check_proof(instance, proof)
    level = forged(FORGED | changes, "certified")
    with pytest.raises(InvalidProof, match=reason):
        dlsched.check_bound(instance, BoundProof("interleaving", "sides", instance.sha256, level))
