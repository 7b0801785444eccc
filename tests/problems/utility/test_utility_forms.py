"""The forms of utility: at any prices they have the optimum, and prove nothing that is worse."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume
from hypothesis import strategies as st
from refusals import changed
from utility_instances import instance, job

import dlsched
from dlsched import Run
from dlsched.problems.utility import Instance, Solution
from dlsched.problems.utility.programs import finish_costs, run_form
from dlsched.problems.utility.programs.finish_costs import NEVER, LeastCosts
from dlsched.problems.utility.programs.finish_form import Finishes
from dlsched.problems.utility.programs.forms import FORMS
from dlsched.problems.utility.programs.run_form import runs_of
from dlsched.problems.utility.structures.gangs import levels_of
from dlsched.problems.utility.structures.work_units import Units
from dlsched.proofs.bounds import Forms
from dlsched.proofs.check import Form, InvalidProof, aim
from dlsched.proofs.document import proof_from_data
from dlsched.proofs.levels import kind_of
from dlsched.proofs.search import TreeSearch, Unproved
from dlsched.testing import oracles, strategies
from drawing import drawn

ONE_LEAF = "utility-20x40-table-2"
"""A library instance whose proof is the prices."""


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
    found, free = LeastCosts(instance).of(prices), [0] * instance.slots
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


@drawn(25, strategies.utility(scales=False), st.integers(0, 10**6), st.booleans())
def test_rounded_work_costs_no_more(instance: Instance, seed: int, few_sums: bool) -> None:
    """With too many sums or amounts gains are rounded up, and the least costs are lower bounds."""
    prices = _prices(instance, seed, 50)
    exact = LeastCosts(instance).of(prices)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(finish_costs, "_MOST_SUMS" if few_sums else "_MOST_AMOUNTS", 0)
        patch.setattr(finish_costs, "_UNITS", 3)
        finish_costs._amounts.cache_clear()
        assert np.all(LeastCosts(instance).of(prices) <= exact)
    finish_costs._amounts.cache_clear()


def _holds(instance: Instance, j: int, gains: Sequence[int], need: int) -> bool:
    """Whether all numbers of slots at each speed that complete a job have gains of the need."""
    job, slots = instance.jobs[j], instance.slots - instance.jobs[j].arrival + 1
    for counts in product(range(slots + 1), repeat=len(gains)):
        done = sum(n * s.gain for n, s in zip(counts, instance.speeds[j], strict=True))
        enough = sum(n * g for n, g in zip(counts, gains, strict=True)) >= need
        if sum(counts) <= slots and done >= job.iterations and not enough:
            return False
    return True


@drawn(25, strategies.utility(scales=False), st.integers(0, 10**6))
def test_units_are_checked_before_they_are_a_row(instance: Instance, seed: int) -> None:
    """Integers of `work` that do not hold are told from those that do, and none gets into a row."""
    rng = np.random.default_rng(seed)
    costs = LeastCosts(instance)
    jobs = [j for j, fewest in enumerate(instance.fewest) if fewest]
    for j in jobs:
        gains, need = rng.integers(0, 5, len(instance.speeds[j])).tolist(), int(rng.integers(1, 9))
        assert costs.suffices(j, gains, need) == _holds(instance, j, gains, need)

    def false(gains: Sequence[Fraction], *others: object, **more: object) -> Units:
        return Units((0,) * len(gains), 1, exact=True)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run_form, "units", false)
        found = Finishes(instance, 0, Fraction(0))
        for j in jobs:
            assert _holds(instance, j, *run_form.units_of(found, j))


def test_forms_share_nothing_with_what_finds() -> None:
    """The forms' modules import the definition, each other, and `units`, which is checked."""
    folder = Path(run_form.__file__).parent
    home, own = "dlsched.problems.utility.", ("forms", "finish_form", "run_form", "finish_costs")
    for name in own:
        tree = ast.parse((folder / f"{name}.py").read_text())
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(home):
                module = str(node.module).removeprefix(home)
                names = {alias.name for alias in node.names}
                allowed = {"definition.schema", *(f"programs.{each}" for each in own)}
                units = ("structures.work_units", {"UNITS", "units"})
                assert module in allowed or (module, names) == units


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


def test_prices_are_the_proof() -> None:
    """A production instance that the model cannot prove has a proof of one leaf, exactly."""
    proof = dlsched.prove("utility-20x40-effective-1")
    (level,) = dlsched.check_proof("utility-20x40-effective-1", proof).levels
    assert (proof.levels[0].form, level.kind, level.leaves) == ("finishes", "certified", 1)


def test_runs_decide_where_prices_do_not() -> None:
    """Where finishes within all prices do not fit together, runs prove the optimum, exactly."""
    proof = dlsched.prove("utility-10x25")
    (level,) = dlsched.check_proof("utility-10x25", proof).levels
    assert (proof.levels[0].form, level.kind) == ("runs", "certified")


def test_forking_jobs_have_no_prices() -> None:
    """The forms are of gangs; a forking instance is refused."""
    instance = dlsched.load(ONE_LEAF).model_copy(update={"forking": True})
    with pytest.raises(ValueError, match="forking"):
        Forms(instance, [1]).build("finishes", {"exponent": 0, "prices": []}, 0)


DAMAGE: dict[str, tuple[str, Any]] = {
    "a negative price": ("prices[0].V100", [-1] * 40),
    "a slot too few": ("prices[0].V100", [1] * 39),
    "an unknown type": ("prices[0].T9", [0] * 40),
    "prices of floats": ("prices[0].V100", [0.5] * 40),
    "prices that are no list": ("prices[0].V100", 1),
    "a vector that is no mapping": ("prices[0]", [1]),
    "no vectors": ("prices", None),
    "prices of more than 64 bits": ("prices[0].V100", [2**80] * 40),
    "a huge exponent": ("exponent", 10**9),
    "an exponent that is no integer": ("exponent", 0.5),
    "an unknown parameter": ("more", 1),
    "other prices": ("prices[0].V100", [2**40] * 40),
    "a rounded goal": ("rounded", True),
}


@pytest.fixture(scope="module")
def good() -> dict[str, Any]:
    """The data of a proof by prices."""
    return dlsched.prove(ONE_LEAF).to_data()


def require_invalid(data: dict[str, Any]) -> None:
    """Fail unless the check of proofs refuses the data of one."""
    with pytest.raises(InvalidProof):
        dlsched.check_proof(ONE_LEAF, proof_from_data(data, "damaged"))


@pytest.mark.parametrize("damage", DAMAGE)
def test_damaged_prices_are_refused(good: dict[str, Any], damage: str) -> None:
    """Prices that are none are an error, and a proof with other prices than its own is invalid."""
    path, value = DAMAGE[damage]
    require_invalid(changed(good, f"levels[0].parameters.{path}", value))


def test_missing_and_further_parameters_are_refused(good: dict[str, Any]) -> None:
    """Without its exponent, or with one vector of prices more, a proof is invalid."""
    assert dlsched.check_proof(ONE_LEAF, proof_from_data(good, "good"))
    parameters = good["levels"][0]["parameters"]
    more = [*parameters["prices"], {"P100": [3] * 40}]
    require_invalid(changed(good, "levels[0].parameters.prices", more))
    without = {name: value for name, value in parameters.items() if name != "exponent"}
    require_invalid(changed(good, "levels[0].parameters", without))


def test_jobs_that_cannot_run() -> None:
    """Where no job can run, not running is proved optimal."""
    none = instance([job(workers=2)], {"A": 1}, slots=2)
    (level,) = dlsched.check_proof(none, dlsched.prove(none)).levels
    assert (level.value, level.kind) == (0, "certified")
