"""Internal: every row of placement's programs holds at every placement, in exact arithmetic.

The model, the model with the rows that searches find, and the relaxation with spreading rows, or
without light reads. A row too many makes a certified bound false, which
brute force on small instances rarely shows.
"""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from placement_instances import feasible, home_of, hostile, instance, job, region, table

import dlsched
from dlsched import Run, SolverFailure
from dlsched.problems.placement import Instance, Solution, model
from dlsched.problems.placement.definition.check import TOLERANCE
from dlsched.problems.placement.exact import Refinement, spreading_rounds
from dlsched.problems.placement.programs import spreading_rows
from dlsched.problems.placement.programs.coefficients import Shares
from dlsched.problems.placement.programs.piecewise_estimate import step_of
from dlsched.problems.placement.programs.spreading_rows import SpreadingRows
from dlsched.problems.placement.programs.tunables import TUNABLES
from dlsched.proofs.forms.compiled import form_of
from dlsched.results.result import Termination
from dlsched.solvers import highs
from dlsched.solvers.outcome import Outcome
from dlsched.solvers.standard_form import StandardForm, compile_model


def exact_point(instance: Instance, m: Any, solution: Solution) -> dict[str, Fraction]:
    """Return the values of the model's variables at a placement, by name."""
    shares, index = Shares(instance), instance.region_index
    home = {table: index[region] for table, region in solution.home.items()}
    runs = [instance.region_of(instance.jobs[jobs[0]], home) for _, _, jobs in shares.groups]
    at = {m.x[t, r].name: Fraction(home[t] == index[r]) for t, r in m.x}
    at |= {m.y[g, r].name: Fraction(runs[g] == index[r]) for g, r in m.y}
    at |= {m.near[g, t, r].name: Fraction(runs[g] == home[t] == index[r]) for g, t, r in m.near}
    _, weights = shares.priority_weight
    weighted: dict[tuple[int, int], Fraction] = {}
    for r, k, p in m.square:
        load = sum(part for g, part in shares.demand[k, p].items() if runs[g] == r)
        square = 1000 * (load - shares.supply[r][k]) ** 2
        at[m.square[r, k, p].name] = square
        weighted[r, k] = weighted.get((r, k), Fraction(0)) + weights[p] * square
    for (r, k, i), step in m.STEP_AT.items():
        load = sum(part for g, part in shares.load[k].items() if runs[g] == r)
        over = Fraction(load > step_of(shares, r, k, step)[0])
        at[m.over[r, k, i].name] = over
        at[m.extra[r, k, i].name] = over * weighted.get((r, k), Fraction(0))
    for r in m.uneven:
        stored = sum(shares.bytes[t] for t, name in enumerate(shares.tables) if home[name] == r)
        at[m.uneven[r].name] = 1000 * (stored - shares.capacity[r]) ** 2
    return at


def value_at(columns: Any, entries: Any, point: list[Fraction]) -> Fraction:
    """Return the value of a row at a point."""
    return sum((Fraction(a) * point[j] for j, a in zip(columns, entries, strict=True)), Fraction(0))


def cost_of(form: StandardForm, point: list[Fraction]) -> Fraction:
    """Return the cost at a point."""
    return Fraction(form.offsets[0]) + value_at(range(len(point)), form.costs[0].tolist(), point)


def broken(form: StandardForm, point: list[Fraction]) -> list[str]:
    """Return the columns and rows that a point breaks."""
    rows = form.A.tocsr()
    parts = [slice(*ends) for ends in zip(rows.indptr[:-1], rows.indptr[1:], strict=True)]
    values = [value_at(rows.indices[p].tolist(), rows.data[p].tolist(), point) for p in parts]
    named = [
        *zip(form.lower, point, form.upper, form.column_names, strict=True),
        *zip(form.row_lower, values, form.row_upper, form.row_names, strict=True),
    ]
    return [name for low, value, high, name in named if not low <= value <= high]


@pytest.mark.parametrize(
    "seeds", [range(5), pytest.param(range(5, 150), marks=pytest.mark.slow)], ids=["few", "many"]
)
def test_every_row_holds_at_every_placement(seeds: range) -> None:
    """Of the model, its form of a proof, and the program with the rows of searches."""
    for seed in seeds:
        instance = hostile(seed)
        found = feasible(instance)
        if not found:
            continue
        plain = model.build(instance)
        search = Refinement(instance, Run())
        search.relax()
        programs = [(plain, compile_model(plain)), *search.built.values()]
        whole = form_of("model", programs[0][1])
        for solution, cost in [*found[:2], *found[2:16:3]]:
            for built, form in programs:
                at = exact_point(instance, built, solution)
                point = [at[variable.name] for variable in form.variables]
                assert broken(form, point) == [], seed
                assert cost_of(form, point) <= cost * (1 + Fraction(TOLERANCE)), seed
                if built is plain:
                    for row in whole.rows:
                        value = value_at(row.coefficients, row.coefficients.values(), point)
                        assert row.low is None or row.low <= value
                        assert row.high is None or value <= row.high


def chain() -> Instance:
    """Return three tables in a row, each pair of neighbours read by a job, and two regions."""
    return instance(
        [region("r", 100, 1), region("s", 100, 1)],
        [table("a"), table("b"), table("c")],
        [job("j", "ab", 1), job("k", "bc", 1)],
        weights={"traffic": 1, "gpu": 1, "storage": 0},
    )


def family_of(made: Instance) -> tuple[Any, SpreadingRows]:
    """Return the model of an instance, and what finds spreading rows for its form."""
    refinement = Refinement(made, Run())
    built, form = refinement.build()
    return built, SpreadingRows(form, refinement.shares)


def with_pairs(family: SpreadingRows, point: list[Fraction]) -> list[Fraction]:
    """Return a placement's point with the columns of pairs, at the products that they stand for."""
    point = [*point, *[Fraction(0)] * (family.form.shape[1] - len(point))]
    for square in (square for squares in family.squares for square in squares):
        parts = square.parts
        there = [int(point[j]) for j in family.columns[square.region, parts.nodes]]
        for i in range(parts.heavy):
            later = zip(parts.whole[i + 1 :], there[i + 1 :], strict=True)
            pairs = sum(int(w) * y for w, y in later)
            point[square.pairs + i] = Fraction(there[i] * pairs, 2**30)
    return point


def fractional(family: SpreadingRows, rng: np.random.Generator) -> np.ndarray:
    """Return a point whose squares are 0, and where nothing is there without what it needs."""
    values = np.zeros(family.form.shape[1])
    for columns in family.columns:
        values[columns] = rng.choice([0.0, 0.25, 0.5, 1.0, rng.random()], len(columns))
        for before, after in family.links.steps.T:
            values[columns[after]] = min(values[columns[after]], values[columns[before]])
    return values


def valid_rows(made: Instance, rng: np.random.Generator) -> int:
    """Check the spreading rows of some points at all placements, and return their number."""
    built, family = family_of(made)
    rows = [row for _ in range(4) for row in family.violated(fractional(family, rng))]
    rows += [family._with_pairs(square) for squares in family.squares for square in squares]
    for homes in product(range(len(made.regions)), repeat=len(made.tables)):
        at = exact_point(made, built, Solution(home=home_of(made, homes)))
        point = with_pairs(family, [at.get(v.name, Fraction(0)) for v in family.form.variables])
        assert (family.form.lower <= point).all() and (family.form.upper >= point).all()
        assert all(value_at(row.columns, row.entries, point) >= row.least for row in rows), homes
    return len(rows)


def drawn_instances(seeds: range) -> list[Instance]:
    """Return generated instances with few placements."""
    return [
        dlsched.generate("placement", seed, tables=5, regions=2, jobs=10, largest=0.4)
        for seed in seeds
    ]


@pytest.mark.parametrize(
    "seeds",
    [range(4), pytest.param(range(1000, 1040), marks=pytest.mark.slow)],
    ids=["few", "many"],
)
def test_spreading_rows_hold_at_every_placement(
    seeds: range, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of any fractional points; where memory allows few beginnings of paths, there are fewer."""
    made = [chain(), *drawn_instances(seeds)]
    rng = np.random.default_rng(3)
    assert sum(valid_rows(one, rng) for one in made) > 60
    assert sum(valid_rows(hostile(seed), rng) for seed in range(8 * len(seeds))) > 40
    every = valid_rows(made[1], np.random.default_rng(6))
    monkeypatch.setattr(spreading_rows, "TUNABLES", replace(TUNABLES, most_distances=40))
    assert 0 < valid_rows(made[1], np.random.default_rng(6)) < every


def test_the_relaxation_without_light_reads_has_every_placement() -> None:
    """Its rows hold at every placement, at no more than the cost; so do its spreading rows."""
    lighter, rng = 0, np.random.default_rng(8)
    for made in [*drawn_instances(range(4)), *map(hostile, range(20))]:
        refinement = Refinement(made, Run())
        built, form = refinement.build(Fraction(4, 5))
        lighter += len(built.near) < len(refinement.build()[0].near)
        family = SpreadingRows(form, refinement.shares)
        rows = [*family.violated(fractional(family, rng))]
        for solution, cost in feasible(made)[:10]:
            at = exact_point(made, built, solution)
            point = [at[variable.name] for variable in form.variables]
            assert broken(form, point) == []
            assert cost_of(form, point) <= cost * (1 + Fraction(TOLERANCE))
            wide = with_pairs(family, point)
            assert all(value_at(row.columns, row.entries, wide) >= row.least for row in rows)
    assert lighter >= 6


def failed(form: StandardForm) -> Outcome:
    """Fail."""
    raise SolverFailure("HiGHS failed")


def without_numbers(form: StandardForm) -> Outcome:
    """Return no numbers, as HiGHS may where numbers have very different sizes."""
    values, rows = (np.full(n, np.nan) for n in form.shape[::-1])
    return Outcome("HiGHS", Termination.INFEASIBLE, "", 0.0, None, values, rows)


@pytest.mark.parametrize("failure", [failed, without_numbers])
def test_a_failure_keeps_the_bound_before_it(
    failure: Callable[[StandardForm], Outcome], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What HiGHS cannot solve with spreading rows, or at a node, leaves the bound without."""
    made = dlsched.generate("placement", 3, tables=8, regions=3, jobs=12, largest=0.4)
    expected = dlsched.bound(made, "relaxation_tree", nodes=0, spreading=0).cost.value

    usual = spreading_rounds.solve_relaxation
    monkeypatch.setattr(
        spreading_rounds, "solve_relaxation",
        lambda form, *how: failure(form) if "spreading" in form.constraints else usual(form, *how),
    )  # fmt: skip
    root = dlsched.bound(made, "relaxation_tree", nodes=0).cost.value
    assert root == pytest.approx(float(expected), rel=1e-9)
    if failure is not failed:
        monkeypatch.setattr(highs, "interior_point", lambda form, *how, **options: failure(form))
        assert dlsched.bound(made, "relaxation_tree", nodes=20).cost.value == root
