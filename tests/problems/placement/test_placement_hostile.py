"""No bound, row or status is refuted by a placement, whatever the numbers of the instance."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from typing import Any

import pytest
from placement_hostile import feasible, hostile, tables_only
from placement_instances import instance, job, region, table

import dlsched
from dlsched import Run
from dlsched.doctor import StandardForm
from dlsched.problems.placement import Instance, Solution, model
from dlsched.problems.placement.definition.check import TOLERANCE, check
from dlsched.problems.placement.exact import Refinement
from dlsched.problems.placement.programs.coefficients import Shares
from dlsched.problems.placement.programs.piecewise_estimate import step_of
from dlsched.proofs.check import Form
from dlsched.proofs.forms.compiled import form_of
from dlsched.solvers.standard_form import compile_model

BOUNDS = ("indivisible_bound", "home_tree", "relaxation", "relaxation_tree")
METHODS = ("hill_climbing", "annealing", "tempering", "milp", *BOUNDS)


@pytest.mark.parametrize(
    ("capacity", "sizes", "cost"),
    [
        (1e15, [0.45, 0.35, 0.2], 0.005),
        (1e12, [0.565, 0.103, 0.462], 0.0),
        (1e9, [1.03e-4, 0.97e-4, 2e-4], 0.0),
    ],
)
def test_a_capacity_without_effect_leaves_sizes_their_digits(
    capacity: float, sizes: list[float], cost: float
) -> None:
    """Bounds were 0.0555556 for 0.005, and annealing gave 0.08 for 0: sizes were one unit each."""
    instance = tables_only(capacity, sizes)
    for name in BOUNDS:
        (bound,) = dlsched.bound(instance, name)
        assert bound.kind == "certified"
        assert cost * (1 - 1e-6) <= bound.value <= Fraction(str(cost))
    for name, options in (("annealing", {"trials": 300}), ("milp", {})):
        result = dlsched.solve(instance, name, **options)
        assert result.objective[0] == Fraction(str(cost))
    assert (result.status, result.termination) == ("optimal", "proved")


def refuted(seed: int) -> list[str]:
    """Return what is false of what the methods say of a hostile instance."""
    instance, wrong = hostile(seed), []
    found = feasible(instance)
    for name in METHODS:
        result = dlsched.solve(instance, name)
        if result.status == "infeasible":
            wrong += [f"{name}: infeasible"] * bool(found)
        if not found:
            continue
        best = found[0][1]
        for bound in (*result.bound, *result.certified):
            least = best * (1 + Fraction(bound.kind != "certified", 10**6)) if bound else best
            if bound is not None and bound.value > least:
                wrong.append(f"{name}: {bound} where a placement costs {float(best)}")
        if result.status == "optimal" and result.objective[0] > best * (1 + Fraction(1, 10**9)):
            wrong.append(f"{name}: {result.objective} optimal, a placement costs {float(best)}")
    return wrong


@pytest.mark.parametrize(
    "seeds",
    [(0, 1, 23, 232, 241, 247), pytest.param(range(2, 250), marks=pytest.mark.slow)],
    ids=["few", "many"],
)
def test_no_placement_refutes_a_method(seeds: Sequence[int]) -> None:
    """By enumeration with the definition: no certified bound is beaten, no status is false."""
    # At seed 23 a bound was too large, at 241 milp contradicted itself; at 232, where some costs
    # are below the solver's tolerances, and at 247 its optimum was none.
    wrong = {seed: refuted(seed) for seed in seeds}
    assert {seed: found for seed, found in wrong.items() if found} == {}


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


def broken_rows(form: StandardForm, point: dict[str, Fraction], cost: Fraction) -> list[str]:
    """Return the columns and rows that a point breaks, and the level if it costs too much."""
    x = [point[variable.name] for variable in form.variables]
    named = list(zip(form.lower, x, form.upper, form.column_names, strict=True))
    rows = form.A.tocsr()
    for i, name in enumerate(form.row_names):
        entries = zip(
            rows.data[rows.indptr[i] : rows.indptr[i + 1]].tolist(),
            rows.indices[rows.indptr[i] : rows.indptr[i + 1]].tolist(),
            strict=True,
        )
        value = sum((Fraction(a) * x[j] for a, j in entries), Fraction(0))
        named.append((form.row_lower[i], value, form.row_upper[i], name))
    paid = zip(form.costs[0].tolist(), x, strict=True)
    value = sum((Fraction(c) * v for c, v in paid), Fraction(form.offsets[0]))
    named.append((-float("inf"), value, cost * (1 + Fraction(TOLERANCE)), "cost"))
    return [name for low, value, high, name in named if not low <= value <= high]


def broken_integers(form: Form, point: list[Fraction], cost: Fraction) -> list[int]:
    """Return the rows of an integer form that a point breaks; -1 if it costs too much."""

    def value(terms: Any) -> Fraction:
        return sum((a * point[j] for j, a in terms.items()), Fraction(0))

    broken = []
    for i, row in enumerate(form.rows):
        at = value(row.coefficients)
        if (row.low is not None and at < row.low) or (row.high is not None and at > row.high):
            broken.append(i)
    (goal,) = form.goals
    too_much = goal.unit * (value(goal.costs) + goal.offset) > cost * (1 + Fraction(TOLERANCE))
    return broken + [-1] * too_much


@pytest.mark.parametrize(
    "seeds", [range(5), pytest.param(range(5, 150), marks=pytest.mark.slow)], ids=["few", "many"]
)
def test_every_row_holds_at_every_placement(seeds: range) -> None:
    """In exact arithmetic: of the form `model`, and of the relaxation with the rows of searches."""
    for seed in seeds:
        instance = hostile(seed)
        found = feasible(instance)
        if not found:
            continue
        plain = model.build(instance)
        compiled = compile_model(plain)
        form = form_of("model", compiled)
        search = Refinement(instance, Run())
        search.relax()
        for solution, cost in [*found[:2], *found[2:16:3]]:
            point = exact_point(instance, plain, solution)
            assert broken_rows(compiled, point, Fraction(cost)) == [], seed
            columns = [point[variable.name] for variable in compiled.variables]
            assert broken_integers(form, columns, Fraction(cost)) == [], seed
            if search.built is not None:
                refined, relaxed = search.built
                point = exact_point(instance, refined, solution)
                assert broken_rows(relaxed, point, Fraction(cost)) == [], seed


@pytest.mark.parametrize("weights", [{"gpu": 1e-200}, {"gpu": 1}])
def test_costs_below_the_least_double(weights: dict[str, float]) -> None:
    """Weights of 1e-200, whose squares are 0 as doubles, and of 1e-320, which have three digits."""
    priority = 1 if weights["gpu"] < 1 else 1e-320
    tiny = instance(
        [region("r", 9, 0.3), region("s", 9, 0.7)],
        [table(f"t{i}") for i in range(3)],
        [job(f"j{i}", [f"t{i}"], 0.1 * (i + 1)) for i in range(3)],
        weights={"traffic": 0, "storage": 0} | weights, priority_weights={"1": priority},
    )  # fmt: skip
    half = Fraction(weights["gpu"]) * Fraction(repr(priority)) / 2
    for solution, cost in feasible(tiny):
        load = sum(j.gpu_hours["A"] for j in tiny.jobs if solution.home[j.tables[0]] == "r")
        share = Fraction(load) / Fraction(6, 10)
        squares = 2 * (share - Fraction(3, 10)) ** 2
        assert Fraction(cost) >= half * squares * (1 - Fraction(TOLERANCE))
    best = feasible(tiny)[0][1]
    assert best > 0
    for name in BOUNDS:
        assert dlsched.bound(tiny, name)[0].value <= best


def test_the_search_starts_from_what_heuristics_found() -> None:
    """Before the first program its best placement is the best of these."""
    instance = dlsched.generate("placement", 4, tables=8, regions=3, jobs=12, largest=0.4)
    found = [dlsched.solve(instance, name) for name in ("no_moves", "hill_climbing")]
    search = Refinement(instance, Run(found=[result.solution for result in found]))
    search.start()
    assert search.best is not None
    assert check(instance, search.best).objective == (search.exact_cost,)
    assert search.exact_cost == min(result.objective[0] for result in found)


@pytest.mark.slow
def test_milp_is_never_worse_than_a_heuristic() -> None:
    """With more than few tables it begins with all heuristics as they are by themselves."""
    for seed, tables in product(range(2), (10, 20)):
        instance = dlsched.generate("placement", seed, tables=tables, regions=4, jobs=40)
        ours = dlsched.solve(instance).objective
        for name in ("no_moves", "hill_climbing", "annealing"):
            theirs = dlsched.solve(instance, name).objective
            assert theirs is None or (ours and not theirs.better_than(ours)), (seed, tables, name)


def test_progress_is_reported_while_a_program_is_solved(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the cost of the best placement, checked, and a bound that is not above it."""
    instance = dlsched.generate("placement", 1, tables=12, regions=3, jobs=20, largest=0.4)
    run = Run()
    search = Refinement(instance, run)
    solve, during = search.backend.solve, []

    def counted(*arguments: Any, **options: Any) -> Any:
        before = len(run.trajectory)
        outcome = solve(*arguments, **options)
        if "start" in options:
            during.extend(run.trajectory[before:])
        return outcome

    monkeypatch.setattr(search.backend, "solve", counted)
    claim = search.search()
    cost = float(check(instance, claim.solution).objective[0])
    assert len(during) >= 2
    assert all(point.objective >= cost for point in during)
    assert all(point.bound <= point.objective for point in during)
