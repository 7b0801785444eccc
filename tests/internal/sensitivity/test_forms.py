"""Internal: the proof forms of sensitivity, derived apart from the methods, and complete."""

import random
from fractions import Fraction
from itertools import product
from typing import Any

import pytest

import dlsched
from dlsched.problems.sensitivity.exact import form_choices
from dlsched.problems.sensitivity.programs import forms
from dlsched.problems.sensitivity.programs.form_columns import (
    FormColumns,
    FormItem,
    FormPrices,
    Limit,
    columns_of,
    dearest,
    limit_of,
    maximal_patterns,
)
from dlsched.problems.sensitivity.programs.pattern_program import Lagrangian, Prices, Program
from dlsched.problems.sensitivity.structures.server_patterns import Floor, maximal
from dlsched.proofs.check import InvalidProof
from dlsched.proofs.prove import ProofFailed
from sensitivity_instances import by_cpus, instance


def test_all_maximal_patterns_within_the_limits_are_found() -> None:
    """The same as trying all numbers of items, at random prices of up to 200 bits."""
    rng = random.Random(1)
    for _ in range(40):
        room = FormItem(rng.randint(1, 4), rng.randint(1, 12), rng.randint(1, 12))
        items = [
            FormItem(rng.choice([1, 1, 2, 3]), rng.randint(0, 5), rng.randint(0, 5))
            for _ in range(rng.randint(1, 4))
        ]
        columns = FormColumns({}, 1, 1, [], items, room, [], Fraction(1))
        prices = [[rng.randint(0, rng.choice([3, 2**200])) for _ in items] for _ in range(2)]
        fitting = [
            counts
            for counts in product(range(5), repeat=len(items))
            if all(
                sum(n * size for n, size in zip(counts, sizes, strict=True)) <= limit
                for sizes, limit in zip(zip(*items, strict=True), room, strict=True)
            )
        ]

        def worth(counts: tuple[int, ...], values: list[int]) -> int:
            return sum(n * value for n, value in zip(counts, values, strict=True))

        best = [max(worth(counts, values) for counts in fitting) for values in prices]
        assert [dearest(columns, values)(room) for values in prices] == best
        limits = [
            Limit(values, most - rng.randint(0, 1 + most // 2), [])
            for values, most in zip(prices, best, strict=True)
        ]
        wanted = {
            counts
            for counts in fitting
            if all(worth(counts, limit.prices) >= limit.pattern for limit in limits)
            and not any(
                tuple(n + (i == k) for i, n in enumerate(counts)) in fitting
                for k in range(len(items))
            )
        }
        found = maximal_patterns(columns, limits, 10_000)
        assert len(found) == len(set(found))
        assert set(found) == wanted


@pytest.mark.parametrize(("whole", "units"), [(True, True), (False, True), (True, False)])
def test_two_derivations_agree(whole: bool, units: bool) -> None:
    """The methods' program and the forms leave out the same options and patterns."""
    made = dlsched.generate("sensitivity", 10, servers=3, gpus=4, memory=250, multi=True)
    program = Program(made, whole=whole, units=units)
    columns = columns_of(made, whole=whole, units=units)
    assert columns.values == program.values
    assert [(o.item, o.amount, o.split) for o in columns.options] == [
        (o.item, o.amount, o.split) for o in program.options
    ]
    rng = random.Random(2)
    for _ in range(3):
        items = [rng.randint(0, 60) for _ in columns.items]
        factor, split, floor_price = Fraction(1, rng.randint(5, 9)), Fraction(50), Fraction(1, 11)
        stated = FormPrices(items, factor, split, floor_price)
        prices = Prices(items, 0.0, factor, split, floor_price, program.server.table(items))
        best = dearest(columns, items)(columns.room)
        assert best == prices.best
        for floor in (None, 2000):
            lagrangian = Lagrangian(program, prices, floor)
            if floor is None:
                cutoff = lagrangian.cutoff(3000)
                limit = limit_of(columns, stated, 3000)
            else:
                cutoff = lagrangian.split_cutoff(2)
                limit = limit_of(columns, stated, floor, 2)
            assert limit.pattern == cutoff.floor.least
            assert limit.options == [
                cutoff.largest[o.profile] - left <= cutoff.allowance
                for o, left in zip(program.options, cutoff.surplus, strict=True)
            ]
            near = limit._replace(pattern=max(limit.pattern, best - 20))
            floors = [Floor(items, prices.table, near.pattern)]
            assert maximal_patterns(columns, [near], 5000) == maximal(program.server, 5000, floors)


def test_a_proof_with_one_good_column_left_out_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the only pattern of the optimum a worse solution is proved; the check has it."""
    profiles = {"fast": by_cpus(1, 1, 1.5), "slow": by_cpus(1, 1)}
    made = instance((1, 2, 4, 2), profiles, ["fast", "slow"])
    worse = dlsched.solve(made, "proportional").solution
    columns = columns_of(made, whole=False, units=True)
    optimal = tuple(int(item.cpus in (1, 3)) for item in columns.items)

    def incomplete(*arguments: Any) -> list[tuple[int, ...]]:
        return [pattern for pattern in maximal_patterns(*arguments) if pattern != optimal]

    every = form_choices.choices
    monkeypatch.setattr(
        form_choices, "choices", lambda *given: (c for c in every(*given) if c.form == "patterns")
    )
    with pytest.raises(ProofFailed):
        dlsched.prove(made, worse)
    with monkeypatch.context() as without:
        without.setattr(forms, "maximal_patterns", incomplete)
        proof = dlsched.prove(made, worse)
        dlsched.check_proof(made, proof)
    with pytest.raises(InvalidProof, match="the digest is not that of the form patterns"):
        dlsched.check_proof(made, proof)
