"""Internal: the proof forms of utility have the optimum at any prices, and prove nothing worse."""

from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import assume
from hypothesis import strategies as st

import dlsched
from dlsched import Run
from dlsched.problems.utility import Instance, Solution
from dlsched.problems.utility.exact import form_choices
from dlsched.problems.utility.programs.finish_costs import NEVER, least_costs, units_of
from dlsched.problems.utility.programs.finish_form import Finishes, IntegerPrices
from dlsched.problems.utility.programs.forms import FORMS, runs_of
from dlsched.problems.utility.structures.gangs import levels_of
from dlsched.proofs.bounds import Forms
from dlsched.proofs.check import Form, InvalidProof, aim
from dlsched.proofs.forms.form import FormChoice
from dlsched.proofs.levels import kind_of
from dlsched.proofs.search import TreeSearch, Unproved
from dlsched.testing import oracles, strategies
from drawing import drawn
from utility_instances import instance, job


def _prices(instance: Instance, seed: int, most: int) -> dict[str, list[int]]:
    rng = np.random.default_rng(seed)
    kinds = [kind for kind in instance.supply if rng.random() < 0.8]
    return {kind: rng.integers(0, most + 1, instance.slots).tolist() for kind in kinds}


def _parameters(instance: Instance, seed: int) -> dict[str, Any]:
    """Return two vectors of prices, in units about the size of the utilities."""
    exponent = max((Fraction(instance.worth(j, 1)) for j in instance.jobs), default=Fraction(1))
    power = exponent.numerator.bit_length() - exponent.denominator.bit_length() - 4
    vectors = [_prices(instance, seed, 9), _prices(instance, seed + 1, 3)]
    return {"exponent": power, "prices": vectors, "rounded": bool(seed % 2)}


@drawn(25, strategies.utility(scales=False), st.integers(0, 10**6))
def test_least_costs_are_those_of_all_choices_of_slots(instance: Instance, seed: int) -> None:
    """The least cost of a job's work by a slot is the least over all speeds in the slots so far."""
    prices = _prices(instance, seed, 50)
    found, free = least_costs(instance, prices), [0] * instance.slots
    for j, (row, speeds) in enumerate(zip(instance.jobs, instance.speeds, strict=True)):
        for f in range(instance.slots):
            slots = range(row.arrival - 1, f + 1)
            best = NEVER
            for chosen in product([None, *speeds], repeat=len(slots)):
                runs = [(t, s) for t, s in zip(slots, chosen, strict=True) if s is not None]
                if sum(s.gain for _, s in runs) >= row.iterations:
                    cost = sum(min(prices.get(k, free)[t] for k in s.types) for t, s in runs)
                    best = min(best, row.workers * cost)
            assert found[j, f] == best


def _holds(instance: Instance, j: int, gains: Sequence[int], need: int) -> bool:
    """Whether all numbers of slots at each speed that complete a job have gains of the need."""
    job, slots = instance.jobs[j], instance.slots - instance.jobs[j].arrival + 1
    for counts in product(range(slots + 1), repeat=len(gains)):
        done = sum(n * s.gain for n, s in zip(counts, instance.speeds[j], strict=True))
        enough = sum(n * g for n, g in zip(counts, gains, strict=True)) >= need
        if sum(counts) <= slots and done >= job.iterations and not enough:
            return False
    return True


@drawn(25, strategies.utility(scales=False))
def test_units_of_a_row_are_those_of_the_work(instance: Instance) -> None:
    """All numbers of slots at each speed that complete a job have gains of the need."""
    for j in (j for j, fewest in enumerate(instance.fewest) if fewest):
        assert _holds(instance, j, *units_of(instance, j))


def _point(found: Finishes, form: Form, instance: Instance, solution: Solution) -> list[int]:
    """Return a solution as a point of a form; what it leaves out must not be in the solution."""
    levels = levels_of(instance, solution)
    last = {j: int(np.flatnonzero(row >= 0)[-1]) for j, row in enumerate(levels) if row.max() >= 0}
    assert all(f in found.worth[j] for j, f in last.items())
    point = [int(last.get(j, f + 1) <= f) for j, f in found.columns]
    if form.name == "runs":
        point += [int(levels[j, t] == v) for j, t, v in runs_of(found)]
    return point


@drawn(25, strategies.utility(scales=False), st.integers(0, 10**6))
def test_optimum_is_a_point_whatever_the_prices(instance: Instance, seed: int) -> None:
    """The optimal solution satisfies both forms at any prices, and its utility is their level."""
    best = dlsched.solve(instance, "milp")
    if best.solution is None:
        return
    assert best.objective == oracles.utility(instance)
    parameters = _parameters(instance, seed)
    found = Finishes(instance, parameters["exponent"], Fraction(best.objective[0]))
    for prices in parameters["prices"]:
        found.add(prices)
    for name in FORMS:
        form = Forms(instance, best.objective).build(name, parameters, 0)
        x = _point(found, form, instance, best.solution)
        ends = zip(form.lower, x, form.upper, strict=True)
        assert all(low <= value <= high for low, value, high in ends)
        for row in form.rows:
            value = sum(a * x[c] for c, a in row.coefficients.items())
            assert row.low is None or value >= row.low
            assert row.high is None or value <= row.high
        goal = form.goals[0]
        value = -goal.unit * sum(c * x[j] for j, c in goal.costs.items())
        assert value == best.objective[0] if goal.exact else value >= best.objective[0]


@drawn(15, strategies.utility(scales=False), st.integers(0, 10**6))
def test_a_smaller_utility_is_not_proved(instance: Instance, seed: int) -> None:
    """At any prices, neither form has a proof that nothing exceeds a smaller utility."""
    best = dlsched.solve(instance, "milp")
    assume(best.solution is not None and best.objective[0] > 0)
    less = [Fraction(best.objective[0]) * (1 - Fraction(1, 100 + seed % 1000))]
    for name in FORMS:
        form = Forms(instance, less).build(name, _parameters(instance, seed), 0)
        with pytest.raises(Unproved):
            TreeSearch(form, aim(form, 0, less, kind_of(form, 0)), Run()).nodes(5000)


@pytest.mark.parametrize("name", FORMS)
def test_a_proof_without_the_finish_of_an_optimum_is_refused(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The check derives the finishes itself, so it notices one that a search has left out."""
    made = instance([job(utilities=[8, 0]), job(utilities=[5, 4])], {"A": 1}, slots=2)
    held = [[{"slot": t, "gpus": {"m": {"A": 1}}}] for t in (1, 2)]
    worse = Solution(instance="hand", schedule={"j0": held[1], "j1": held[0]})
    form = FormChoice(name, {"exponent": 0, "prices": [{"A": [8, 4]}]})
    add = Finishes.add

    def without(self: Finishes, prices: IntegerPrices) -> None:
        add(self, prices)
        self.worth[0].pop(0, None)

    monkeypatch.setattr(form_choices, "choices", lambda *others: iter([form]))
    with monkeypatch.context() as patch:
        patch.setattr(Finishes, "add", without)
        proof = dlsched.prove(made, worse)
    with pytest.raises(InvalidProof, match="the digest is not that of the form"):
        dlsched.check_proof(made, proof)
