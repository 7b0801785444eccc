"""Internal: the forms of proofs; none leaves out a better solution, and rounding is outward."""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from form_cases import checked, drawn, satisfies
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import dlsched
from dlsched import Run, Termination, library, registry
from dlsched.problems.dispatch.structures.blocks import coarsest, shape_of
from dlsched.problems.interleaving.programs.column_pool import GroupPool
from dlsched.problems.sensitivity.programs.form_columns import columns_of
from dlsched.proofs.available import Forms, form_choices
from dlsched.proofs.document import read_proof
from dlsched.proofs.forms.compiled import form_of
from dlsched.proofs.forms.form import Form, FormChoice, Goal
from dlsched.proofs.forms.limit import Unbuilt, until
from dlsched.proofs.levels import aim, kind_of
from dlsched.proofs.search import TreeSearch, Unproved
from dlsched.solvers.standard_form import StandardForm
from dlsched.testing import strategies
from drawing import draws

BASELINES = {
    "reclaiming": "random",
    "elastic": "fifo",
    "interleaving": "muri_worst_order",
    "utility": "srtf",
    "placement": "no_moves",
    "sensitivity": "proportional",
    "workers": "bfd",
    "dispatch": "local",
}
"""By problem a method that is often worse than the optimum."""


def _tried(instance: Any, solution: Any, level: int) -> Iterator[FormChoice]:
    """Yield all forms of an instance that a proof of a level may be about."""
    owner = registry.problem(instance.problem)
    if module := form_choices(owner):
        yield from module.choices(instance, solution, level, Run())
    else:
        yield FormChoice("model")


def search(forms: Forms, level: int, form: str, parameters: Any) -> None:
    """Search a proof of the level's target with a form."""
    built = forms.build(form, parameters, level)
    wanted = aim(built, level, forms.targets, kind_of(built, level))
    TreeSearch(built, wanted, Run()).nodes(10_000)


@pytest.mark.parametrize("examples", [4, pytest.param(80, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", BASELINES)
def test_no_form_proves_what_is_worse_than_the_optimum(name: str, examples: int) -> None:
    """Whichever form is chosen for a level that could be better, the search ends without a tree."""
    tried: set[str] = set()

    @settings(drawn, max_examples=examples)
    @given(getattr(strategies, name)(), st.integers(0, 5))
    def run(instance: Any, seed: int) -> None:
        best, worse = dlsched.solve(instance), dlsched.solve(instance, BASELINES[name], seed=seed)
        if best.solution is None or worse.solution is None:
            return
        pairs = enumerate(zip(worse.objective, best.objective, strict=True))
        level, by = next(((i, float(abs(a - b))) for i, (a, b) in pairs if a != b), (0, 0.0))
        if by <= 1e-6 * float(abs(best.objective[level])):
            return
        for form, parameters, _ in _tried(instance, worse.solution, level):
            tried.add(form)
            with contextlib.suppress(ValueError, dlsched.OptionError), pytest.raises(Unproved):
                search(Forms(instance, worse.objective), level, form, parameters)

    run()
    assert tried or examples < 80


@pytest.mark.parametrize("highest", [2, 100, 10**12])
def test_groups_stay_whatever_reduced_values_are_stated(highest: int) -> None:
    """Reduced values far above the groups' leave out no group, and prove no worse grouping."""
    instance = dlsched.generate("interleaving", seed=3, jobs=8)
    worse = dlsched.solve(instance, "muri_worst_order").objective
    pool = GroupPool(instance)
    stated = {"prices": [0] * len(pool.profiles), "gpu": 0, "bits": 0}
    with pytest.raises((Unproved, ValueError)):
        highs = {"highest": [highest] * len(pool.classes)}
        search(Forms(instance, worse), 0, "groups", stated | highs)


@pytest.mark.parametrize("price", [0, 1, 2**60, 2**63 - 1, 2**3000])
def test_prices_of_any_size_leave_out_no_pattern_that_matters(price: int) -> None:
    """Prices of items far beyond 64 bits are as valid as others, and prove nothing false."""
    instance = dlsched.load("sensitivity-small-10")
    worse = dlsched.solve(instance, "proportional").objective
    columns = columns_of(instance, whole=False, units=True)
    prices = {"items": [price] * len(columns.items), "factor": "1", "split": "1", "throughput": "0"}
    with pytest.raises((Unproved, ValueError)):
        search(Forms(instance, worse), 0, "patterns", {"prices": prices})


@pytest.mark.parametrize("negative", [True, False])
def test_cuts_of_negative_weights_or_repeated_shapes_are_refused(negative: bool) -> None:
    """A machine has more of such weights than the loads say that are enumerated."""
    instance = dlsched.generate("dispatch", seed=0)
    batch = coarsest(instance)
    jobs = (job for ranked in batch.ranking for job in batch.fleet.requests[ranked.position])
    one = [[shape.kind, *shape.need, 1] for shape in dict.fromkeys(shape_of(job) for job in jobs)]
    light = [[*row[:4], -(10**6)] for row in one]
    pairs = [[a, b] for a in one for b in light if a[:4] != b[:4]]
    cuts = pairs if negative else [[row] * 5 for row in one]
    worse = dlsched.solve(instance, "local").objective
    with pytest.raises(ValueError, match="distinct shapes"):
        Forms(instance, worse).build("counts", {"cuts": cuts}, 13)


def after(calls: int) -> Callable[[], Termination | None]:
    """Return what gives a reason to stop from a number of calls on."""
    counted = iter([None] * calls)
    return lambda: next(counted, Termination.TIME_LIMIT)


@pytest.mark.parametrize(
    "name", ["lyra-fig5", "utility-small-06", "interleaving-24", "placement-small-03"]
)
def test_a_limit_ends_the_building_of_a_form(name: str) -> None:
    """It strikes between two rows, or before the first; without one, the form is built."""
    proof = read_proof(library.proof_file(name))
    level, targets = proof.levels[0], [level.target for level in proof.levels]
    forms = Forms(dlsched.load(name), targets)
    with pytest.raises(Unbuilt, match="time limit, before the form was built"), until(after(2)):
        forms.build(level.form, level.parameters, 0)
    assert forms.build(level.form, level.parameters, 0).digest == level.digest
    with pytest.raises(Unbuilt), until(after(0)):
        Forms(dlsched.load(name), targets).build(level.form, level.parameters, 0)


EXACT = st.one_of(
    st.integers(-6, 6).map(Fraction),
    st.fractions(-5, 5, max_denominator=7),
    st.decimals(-4, 4, places=3).map(Fraction),
    st.fractions(-5, 5, max_denominator=9).map(lambda v: v * 10**7),
)


def product_of(coefficients: Sequence[Fraction], x: Sequence[Any]) -> Fraction:
    """Return the sum of products."""
    return sum((a * v for a, v in zip(coefficients, x, strict=True)), Fraction(0))


def program(row: Sequence[Any], ends: Any, box: Any, costs: Sequence[Any], **more: Any) -> Any:
    """Return a form of a solver, with one row and the doubles nearest to exact data."""
    low, high = (np.array([float(end)]) for end in ends)
    lower, upper = (np.array(end, dtype=float) for end in box)
    stated = {"offsets": (0.0,), "senses": ("min",), "granularities": (Fraction(0),)} | more
    return StandardForm(
        sparse.csc_array(np.array([row], dtype=float)), low, high, lower, upper,
        np.ones(len(row), dtype=bool), (np.array(costs, dtype=float),), **stated,
    )  # fmt: skip


@given(st.data())
@settings(checked, max_examples=draws(80))
def test_rounding_is_outward(data: st.DataObject) -> None:
    """A point that satisfies the exact rows satisfies the form; its level is no less."""
    columns = data.draw(st.integers(1, 3))
    x = [data.draw(st.integers(-3, 3)) for _ in range(columns)]
    lower = [v - data.draw(st.integers(0, 3)) for v in x]
    upper = [v + data.draw(st.integers(0, 3)) for v in x]
    row, cost = ([data.draw(EXACT) for _ in range(columns)] for _ in range(2))
    offset, value = data.draw(EXACT), product_of(row, x)
    low, high = data.draw(st.sampled_from([(True, False), (False, True), (True, True)]))
    ends = (value if low else -np.inf, value if high else np.inf)
    sense = data.draw(st.sampled_from(["min", "max"]))
    compiled = program(row, ends, (lower, upper), cost, offsets=(float(offset),), senses=(sense,))
    precision = data.draw(st.sampled_from([0, 44]))
    form = form_of("drawn", compiled, precision)
    assert all(satisfies(row, x) for row in form.rows)
    for stated_row in form.rows:
        sizes = [abs(a).bit_length() for a in stated_row.coefficients.values()]
        assert max(sizes, default=precision) >= precision
    goal = form.goals[0]
    stated = goal.unit * (sum(c * x[j] for j, c in goal.costs.items()) + goal.offset)
    level = goal.sign * (product_of(cost, x) + offset)
    assert stated == level if goal.exact else stated <= level
    assert float(level - stated) <= 1e-8 * (1 + max(map(abs, [*cost, offset])))


def test_columns_need_bounds() -> None:
    """A column without a finite bound has no bound from multipliers, and is refused."""
    compiled = program([1], (1, 1), ([0], [np.inf]), [1])
    with pytest.raises(ValueError, match="every column needs finite bounds"):
        form_of("unbounded", compiled)
    named = replace(compiled, variables=[SimpleNamespace(name="most")])
    with pytest.raises(ValueError, match="most needs finite bounds"):
        form_of("unbounded", named)


def test_whole_costs_of_a_level_without_a_granularity_are_not_exact() -> None:
    """They may have been rounded to integers."""
    compiled = program([1], (0, 1), ([0], [1]), [1])
    assert not form_of("f", compiled).goals[0].exact
    assert form_of("f", replace(compiled, granularities=(Fraction(1),))).goals[0].exact


def test_a_held_level_of_fractional_values_is_not_rounded_inwards() -> None:
    """With a column that is not an integer, a value of half a unit stays within the held row."""
    goal = Goal("first", 1, {0: 1}, 0, Fraction(1), True)
    form = Form("f", [0], [1], [False], [], [goal, replace(goal, name="second")])
    held = aim(form, 1, [Fraction(1, 2), 0], "certified").rows[-1]
    assert (held.low, held.high) == (0, 1)
    with pytest.raises(ValueError, match="no point of the form has first = 1/2"):
        aim(replace(form, integer=[True]), 1, [Fraction(1, 2), 0], "certified")


def test_costs_that_became_whole_by_rounding_are_covered() -> None:
    """What a double next to a whole number lost is not proved, nor lost by a later level's row."""
    exact = 3 - Fraction(1, 2**52)  # its double is this or 3
    goals = [
        Goal("cost", 1, {0: 3}, 0, Fraction(1), False),
        Goal("x", -1, {0: -1}, 0, Fraction(1), True),
    ]
    form = Form("drawn", [0], [2**60], [False], [], goals)
    targets = [exact * 2**60, 2**60]
    wanted = aim(form, 0, targets, kind_of(form, 0))
    least = wanted.least * exact / 3  # what the true costs are where the form's are so much
    assert targets[0] * (1 - Fraction(1, 10**9)) < least < targets[0]
    high = aim(form, 1, targets, kind_of(form, 1)).rows[-1].high
    assert high is not None and high >= 3 * 2**60
