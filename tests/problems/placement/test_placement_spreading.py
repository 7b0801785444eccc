"""Spreading rows: every placement satisfies them, and they raise the relaxation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from placement_hostile import hostile
from placement_instances import home_of, instance, job, region, table

import dlsched
from dlsched import Run, SolverFailure
from dlsched.doctor import StandardForm
from dlsched.problems.placement import Instance, Solution
from dlsched.problems.placement import model as placement_model
from dlsched.problems.placement.exact import Refinement, estimated_program, spreading_rounds
from dlsched.problems.placement.exact.spreading_rounds import solve_relaxation
from dlsched.problems.placement.programs import light_groups, spreading_rows
from dlsched.problems.placement.programs.cost_rows import THOUSAND
from dlsched.problems.placement.programs.spreading_rows import Row, SpreadingRows
from dlsched.results.result import Termination
from dlsched.solvers.outcome import Outcome
from dlsched.testing import oracles


def chain(demand: Any = 1) -> Instance:
    """Return three tables in a row, each pair of neighbours read by a job, and two regions."""
    return instance(
        [region("r", 100, 1), region("s", 100, 1)],
        [table("a"), table("b"), table("c")],
        [job("j", "ab", demand), job("k", "bc", demand)],
        weights={"traffic": 1, "gpu": 1, "storage": 0},
    )


def exact_point(made: Instance, built: Any, form: StandardForm, homes: Any) -> list[Fraction]:
    """Return the columns' values at a placement, the squares in fractions."""
    refinement = Refinement(made, Run())
    shares = refinement.shares
    placement_model.assign(made, built, Solution(home=home_of(made, homes)))
    values = []
    for variable in form.variables:
        family, index = variable.parent_component().local_name, variable.index()
        if family == "square":
            r, k, p = index
            placed = sum(
                part * round(built.y[g, shares.regions[r]].value)
                for g, part in shares.demand[k, p].items()
            )
            values.append(THOUSAND * (placed - shares.supply[r][k]) ** 2)
        elif family == "uneven":
            stored = sum(
                part * round(built.x[t, shares.regions[index]].value)
                for t, part in zip(shares.tables, shares.bytes, strict=True)
            )
            values.append(THOUSAND * (stored - shares.capacity[index]) ** 2)
        else:
            whole = family in ("x", "y", "near")
            values.append(Fraction(round(variable.value)) if whole else Fraction(0))
    return values


def with_pairs(family: SpreadingRows, point: list[Fraction]) -> list[Fraction]:
    """Return a placement's point with the columns of pairs, at the products that they stand for."""
    point = [*point, *[Fraction(0)] * (family.form.shape[1] - len(point))]
    for squares in family.squares:
        for square in squares:
            parts = square.parts
            there = [int(point[j]) for j in family.columns[square.region, parts.nodes]]
            for i in range(parts.heavy):
                pairs = sum(
                    int(w) * y for w, y in zip(parts.whole[i + 1 :], there[i + 1 :], strict=True)
                )
                point[square.pairs + i] = Fraction(there[i] * pairs, 2**30)
    return point


def meets(row: Row, point: list[Fraction]) -> bool:
    """Whether a point satisfies a row, in exact arithmetic."""
    reached = sum(
        Fraction(entry) * point[j] for j, entry in zip(row.columns, row.entries, strict=True)
    )
    return reached >= Fraction(row.least)


def fractional(family: SpreadingRows, rng: np.random.Generator) -> np.ndarray:
    """Return a point whose squares are 0, and where nothing is there without what it needs."""
    values = np.zeros(family.form.shape[1])
    for columns in family.columns:
        values[columns] = rng.choice([0.0, 0.25, 0.5, 1.0, rng.random()], len(columns))
        for before, after in family.links.steps.T:
            values[columns[after]] = min(values[columns[after]], values[columns[before]])
    return values


def assert_valid(made: Instance, rng: np.random.Generator) -> int:
    """Check the rows of some points at all placements, and return their number."""
    refinement = Refinement(made, Run())
    built, form = refinement.build()
    family = SpreadingRows(form, refinement.shares)
    rows = [row for _ in range(4) for row in family.violated(fractional(family, rng))]
    rows += [family._with_pairs(square) for squares in family.squares for square in squares]
    for homes in product(range(len(made.regions)), repeat=len(made.tables)):
        point = with_pairs(family, exact_point(made, built, form, homes))
        assert (family.form.lower <= point).all()
        assert (family.form.upper >= point).all()
        assert all(meets(row, point) for row in rows), homes
    return len(rows)


def test_every_placement_satisfies_the_rows() -> None:
    """Rows of any fractional points, of generated instances, hold at all placements, exactly."""
    rng = np.random.default_rng(3)
    made = [
        dlsched.generate("placement", seed, tables=5, regions=2, jobs=9, largest=0.4)
        for seed in range(6)
    ]
    assert sum(assert_valid(one, rng) for one in [chain(), *made]) > 100


def test_hostile_numbers() -> None:
    """Units from 1e-9 to 1e15 and decimals of 17 digits leave the rows valid, exactly."""
    rng = np.random.default_rng(4)
    assert sum(assert_valid(hostile(seed), rng) for seed in range(60)) > 100


def test_few_beginnings_of_paths_leave_the_rows_valid(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where memory allows no more than some beginnings, there are fewer rows, and all hold."""
    made = dlsched.generate("placement", 2, tables=5, regions=2, jobs=9, largest=0.4)
    every = assert_valid(made, np.random.default_rng(6))
    monkeypatch.setattr(spreading_rows, "_MOST_DISTANCES", 60)
    assert 0 < assert_valid(made, np.random.default_rng(6)) < every


@pytest.mark.slow
def test_every_placement_satisfies_the_rows_of_many_instances() -> None:
    """The same of many more instances of both kinds."""
    rng = np.random.default_rng(5)
    for seed in range(1000, 1040):
        assert_valid(hostile(seed), rng)
        assert_valid(
            dlsched.generate("placement", seed, tables=5, regions=3, jobs=12, largest=0.5), rng
        )


def test_the_rows_of_a_chain() -> None:
    """Where b is by half and its readers are, j and k are a pair by half; the rows say so."""
    refinement = Refinement(chain(), Run())
    _, form = refinement.build()
    family = SpreadingRows(form, refinement.shares)
    values = np.zeros(family.form.shape[1])
    values[family.columns] = 0.5
    _, b, _, j, k = (int(column) for column in family.columns[0])
    (square,) = (square for square in family.squares[0] if 3 in square.parts.nodes)
    assert square.parts.heavy == 1
    linked = [row for row in family.violated(values) if square.pairs in row.columns]
    # j with k is half of y_j less x_b - y_k.
    expected = {square.pairs: 1, j: -1 / 2, k: -1 / 2, b: 1 / 2}
    assert [entries_of(row) for row in linked] == [pytest.approx(expected)]
    assert [row.least for row in linked] == [0]
    # (j, j) and (k, k) are y_j / 4 and y_k / 4; the target is a half.
    whole = family._with_pairs(square)
    own = 1000 * (1 / 4 - 1 / 2)
    expected = {square.column: 1, square.pairs: -1000, j: -own, k: -own}
    assert entries_of(whole) == pytest.approx(expected)
    assert whole.least == 250


def test_a_region_where_nothing_is_has_its_tangents() -> None:
    """No path begins there; its squares are above their tangents at no demand and no bytes."""
    refinement = Refinement(chain(), Run())
    _, form = refinement.build()
    family = SpreadingRows(form, refinement.shares)
    values = np.zeros(family.form.shape[1])
    values[family.columns[0]] = 1.0
    tangents = {square.column: square.target for square in family.squares[1]}
    least = {int(row.columns[0]): row.least for row in family.violated(values)}
    assert {j: least.get(j) for j in tangents} == {j: 1000 * t**2 for j, t in tangents.items()}


def entries_of(row: Row) -> dict[int, float]:
    """Return a row's coefficients by column."""
    return dict(zip(row.columns.tolist(), row.entries.tolist(), strict=True))


def test_jobs_around_one_table_are_not_divided() -> None:
    """Six jobs share a table: half of each in either region is cheap without the rows only."""
    others = "bcdefg"
    made = instance(
        [region("r", 100, 1), region("s", 100, 1)],
        [table(name) for name in "a" + others],
        [job(f"j{name}", ["a", name], 1) for name in others],
        weights={"traffic": 1, "gpu": 1, "storage": 0},
    )
    optimum = oracles.placement(made)
    assert optimum is not None
    loose = dlsched.bound(made, "relaxation", spreading=0).cost.value
    tight = dlsched.bound(made, "relaxation").cost.value
    assert loose * Fraction(13, 10) < tight <= optimum.cost


def test_bounds_with_the_rows_are_below_the_optimum() -> None:
    """With rows the relaxation is certified, above that without them, and below the optimum."""
    gained = 0
    for seed in range(8):
        made = dlsched.generate("placement", seed, tables=6, regions=2, jobs=12, largest=0.4)
        optimum = oracles.placement(made)
        assert optimum is not None
        loose = dlsched.bound(made, "relaxation", spreading=0).cost
        tight = dlsched.bound(made, "relaxation").cost
        tree = dlsched.bound(made, "relaxation_tree", nodes=20).cost
        assert {loose.kind, tight.kind, tree.kind} == {"certified"}
        assert loose.value <= tight.value <= tree.value <= optimum.cost
        gained += tight.value > loose.value * (1 + 1e-3)
    assert gained >= 4


@pytest.mark.parametrize("rounds", [0, 1, 3])
def test_a_limit_leaves_the_bound_of_the_last_round(
    rounds: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A limit that strikes in the round after some has the bound of these, else that without."""
    made = dlsched.generate("placement", 3, tables=10, regions=3, jobs=14, largest=0.4)
    expected = dlsched.bound(made, "relaxation", spreading=rounds).cost.value
    stopped: list[Run] = []

    def solve(form: StandardForm, run: Run, accuracy: float) -> Outcome:
        if len(stopped) == rounds:
            monkeypatch.setattr(run, "stop_reason", lambda: Termination.TIME_LIMIT)
        stopped.append(run)
        return solve_relaxation(form, run, accuracy)

    monkeypatch.setattr(spreading_rounds, "solve_relaxation", solve)
    refinement = Refinement(made, Run())
    refinement.relax(spreading=9)
    assert len(stopped) == rounds + 1
    assert refinement.dual == pytest.approx(float(expected), rel=1e-9)


def failing(form: StandardForm, run: Run, accuracy: float) -> Outcome:
    """Fail where there are spreading rows."""
    if "spreading" in form.constraints:
        raise SolverFailure("HiGHS failed")
    return solve_relaxation(form, run, accuracy)


def without_numbers(form: StandardForm, run: Run, accuracy: float) -> Outcome:
    """Return no numbers where there are spreading rows."""
    outcome = solve_relaxation(form, run, accuracy)
    if "spreading" not in form.constraints:
        return outcome
    return replace(outcome, values=np.full(form.shape[1], np.nan))


@pytest.mark.parametrize("solve", [failing, without_numbers])
def test_a_failure_with_the_rows_leaves_the_bound_without(
    solve: Callable[[StandardForm, Run, float], Outcome], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What HiGHS cannot solve with the rows keeps the bound that it had before them."""
    made = dlsched.generate("placement", 3, tables=10, regions=3, jobs=14, largest=0.4)
    expected = dlsched.bound(made, "relaxation", spreading=0).cost.value
    monkeypatch.setattr(spreading_rounds, "solve_relaxation", solve)
    assert dlsched.bound(made, "relaxation").cost.value == pytest.approx(float(expected), rel=1e-9)


def test_the_bound_is_in_the_unit_of_the_weights() -> None:
    """Rows are left out by their part of the cost, not because all weights are small."""
    made = dlsched.generate("placement", 1, tables=20, regions=3, jobs=30)
    small = {name: Fraction(1, 10**9) for name in ("traffic", "gpu", "storage")}
    scaled = dlsched.load(made.to_data() | {"weights": small})
    bounds = [
        float(dlsched.bound(one, "relaxation", spreading=15).cost.value) for one in (made, scaled)
    ]
    assert bounds[1] * 10**9 == pytest.approx(bounds[0], rel=5e-3)


def test_the_pairs_of_a_row_are_those_that_say_most() -> None:
    """Of each row the largest amounts are kept until they make up the share; of none, all are."""
    amounts = np.array([[0.5, 6.0, 3.5, 0.0], [0.0, 0.0, 0.0, 0.0], [5.0, 5.0, 0.0, 0.0]])
    small = spreading_rows._small(amounts, 0.9)
    assert small.tolist() == [
        [True, False, False, True],
        [False] * 4,
        [False, False, True, True],
    ]


def lightened(made: Instance) -> tuple[Any, StandardForm, StandardForm, np.ndarray]:
    """Return a model, its form, that without light groups, and whether each column is gone."""
    refinement = Refinement(made, Run())
    built, form = refinement.build()
    less = light_groups.without_light_groups(form, refinement.shares)
    return built, form, less, (less.upper == 0) & (form.upper > 0)


def test_every_placement_is_in_the_relaxation_without_light_groups(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its rows hold wherever the model's do, at no more than the model's cost, exactly."""
    monkeypatch.setattr(light_groups, "_LIGHT", Fraction(4, 5))
    lighter = 0
    rng = np.random.default_rng(8)
    generated = [
        dlsched.generate("placement", seed, tables=5, regions=2, jobs=12, largest=0.4)
        for seed in range(8)
    ]
    for made in [*generated, *map(hostile, range(30))]:
        built, form, less, gone = lightened(made)
        lighter += gone.any()
        assert less.shape[0] <= form.shape[0]
        rows = less.A.tocsr()
        for homes in rng.permutation([*product(range(len(made.regions)), repeat=len(made.tables))])[
            :20
        ]:
            full = exact_point(made, built, form, tuple(int(r) for r in homes))
            point = [Fraction(0) if g else value for g, value in zip(gone, full, strict=True)]
            assert cost_of(less, point) <= cost_of(form, full)
            for i in np.flatnonzero(abs(rows) @ gone.astype(float)):
                entries = rows[[i]]
                assert less.row_lower[i] == -np.inf
                assert (entries.data >= 0).all()
    assert lighter >= 10


def cost_of(form: StandardForm, point: list[Fraction]) -> Fraction:
    """Return the cost at a point, in exact arithmetic."""
    terms = (Fraction(c) * x for c, x in zip(form.costs[0], point, strict=True))
    return sum(terms, Fraction(form.offsets[0]))


def test_a_large_model_has_a_bound_without_light_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    """With fewer pairs and rows the bound is certified, above that without spreading rows."""
    monkeypatch.setattr(estimated_program, "_LARGE_NONZEROS", 0)
    monkeypatch.setattr(spreading_rows, "_LARGE_NONZEROS", 0)
    monkeypatch.setattr(spreading_rounds, "_LARGE_NONZEROS", 0)
    monkeypatch.setattr(light_groups, "_LIGHT", Fraction(1, 50))
    for seed in range(3):
        made = dlsched.generate("placement", seed, tables=7, regions=2, jobs=14, largest=0.4)
        optimum = oracles.placement(made)
        assert optimum is not None
        loose = dlsched.bound(made, "relaxation", spreading=0).cost
        tight = dlsched.bound(made, "relaxation").cost
        tree = dlsched.bound(made, "relaxation_tree", nodes=10).cost
        assert tight.kind == tree.kind == "certified"
        assert loose.value < tight.value <= tree.value <= optimum.cost


def test_a_negative_number_of_rounds_is_refused() -> None:
    """The options of both bounds are checked."""
    for name in ("relaxation", "relaxation_tree"):
        with pytest.raises(dlsched.OptionError, match="from 0"):
            dlsched.bound(chain(), name, spreading=-1)
