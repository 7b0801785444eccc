"""Bounds of cells and forms for proofs: valid for every placement, and tight enough."""

from __future__ import annotations

import copy
import gc
from collections.abc import Callable
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from placement_instances import instance, job, region, table

import dlsched
from dlsched.problems.placement import Instance, Solution, exact
from dlsched.problems.placement.definition.check import check
from dlsched.problems.placement.exact import Refinement
from dlsched.problems.placement.exact.relaxation_tree import RelaxationTree
from dlsched.problems.placement.programs.cell_bound import least_cost
from dlsched.problems.placement.programs.coefficients import Shares
from dlsched.problems.placement.programs.forms import POINT_BITS, estimate
from dlsched.problems.placement.programs.gpu_cells import (
    Cell,
    cells_of,
    traffic_of,
    unplaced,
    weights_of,
    whole_cells_of,
)
from dlsched.problems.placement.programs.indivisible_bounds import cell_bound, gpu_bound
from dlsched.problems.placement.programs.rounding import sigmoid_below
from dlsched.problems.placement.programs.subset_sums import Sums
from dlsched.proofs.check import InvalidProof
from dlsched.proofs.document import proof_from_data
from dlsched.proofs.forms.form import Form
from dlsched.proofs.prove import prove_solution
from dlsched.proofs.relaxation import Relaxation
from dlsched.results.result import Termination
from dlsched.run import Run
from dlsched.solvers import highs
from dlsched.solvers.outcome import Outcome
from dlsched.solvers.standard_form import StandardForm
from dlsched.testing import oracles, strategies
from drawing import drawn


def exact_cost(shares: Shares, key: tuple[int, int], homes: tuple[int, ...]) -> Fraction:
    """Return the cost of a cell by its weight, each group with all of its bytes, in fractions."""
    k, _ = key
    load = [-row[k] for row in shares.supply]
    paid, bytes_ = Fraction(0), traffic_of(shares)
    for g, part in shares.demand[key].items():
        _, at, jobs = shares.groups[g]
        home = {f"t{t}": homes[t] for t in at}
        region = shares.instance.region_of(shares.instance.jobs[jobs[0]], home)
        if region is None:
            paid += bytes_[g]
        else:
            load[region] += part
    return sum((d**2 for d in load), Fraction(0)) + paid / weights_of(shares)[key]


@drawn(10, strategies.placement(max_jobs=6, scales=True), quick=3)
def test_no_cell_costs_less_than_its_bound(instance: Instance) -> None:
    """By enumeration in fractions, with and without homes given, and however short the search."""
    shares = Shares(instance)
    regions = range(len(instance.regions))
    placements = list(product(regions, repeat=len(instance.tables)))
    given = np.array([t % (len(regions) + 1) - 1 for t in range(len(instance.tables))])
    for key, (cell, _) in whole_cells_of(shares).items():
        costs = {homes: exact_cost(shares, key, homes) for homes in placements}
        agreeing = [
            cost for homes, cost in costs.items()
            if all(r in (-1, h) for r, h in zip(given.tolist(), homes, strict=True))
        ]  # fmt: skip
        for nodes in (0, 2, 2000):
            assert least_cost(cell, unplaced(cell), nodes) <= min(costs.values())
            assert least_cost(cell, given[cell.names], nodes) <= min(agreeing)


@drawn(8, strategies.placement(max_jobs=6, scales=True))
def test_cells_that_share_a_group_share_its_bytes(instance: Instance) -> None:
    """Added up over the cells, the penalties of a group are at most its bytes."""
    shares = Shares(instance)
    whole = sum(map(float, traffic_of(shares)))
    weights = weights_of(shares)
    paid = sum(
        float(weights[key]) * float(penalty)
        for key, cell in cells_of(shares).items()
        for penalty in cell.penalty if np.isfinite(penalty)
    )  # fmt: skip
    assert paid <= whole * (1 + 1e-9)
    optimum = oracles.placement(instance)
    if optimum is not None:
        assert gpu_bound(shares) <= optimum.cost
        for limits in ({"nodes": 40}, {"tables": 2, "nodes": 3, "job_nodes": 0}):
            tree = dlsched.bound(instance, "home_tree", **limits)
            assert tree.cost.kind == "certified"
            assert tree.cost.value <= optimum.cost


def test_the_tree_charges_tables_apart() -> None:
    """With room for one table in each region, a job of two pays its bytes, or those elsewhere."""
    plain = dlsched.load("mast-two-regions").model_dump() | {"at_home_threshold": 0}
    parts = {
        "regions": [dict(row, storage_capacity=10) for row in plain["regions"]],
        "tables": [table("a", 9), table("b", 8)],
        "weights": {"traffic": 1, "gpu": 0, "storage": 0},
    }
    for kind, paid in (("ml", 1.0), ("spark", 8 / 17)):
        jobs = [job("j", "ab", {"A100": 5}, kind)]
        made = Instance.model_validate(plain | parts | {"jobs": jobs})
        assert float(dlsched.bound(made, "home_tree").cost.value) == pytest.approx(paid)
        assert float(dlsched.solve(made).objective.cost) == pytest.approx(paid)
        assert float(dlsched.bound(made, "indivisible_bound").cost.value) == 0


def test_the_move_quota_keeps_tables_at_home() -> None:
    """A tree of tables that may not move has one leaf, whose bound is the traffic of today."""
    made = dlsched.generate(
        "placement", 2, tables=8, regions=3, jobs=12, largest=0.4, move_share=0.0
    )
    today = dlsched.solve(made, "no_moves")
    none = {"gpu": 0, "storage": 0, "traffic": 1}
    only = made.model_copy(update={"weights": type(made.weights)(**none)})
    bound = dlsched.bound(only, "home_tree")
    assert 0 < float(bound.cost.value) <= float(today.details["traffic"])


def test_interior_point_gives_the_bound_of_the_simplex_method(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Both bounds of the relaxation are certified, near each other, and below the optimum."""
    made = dlsched.generate("placement", 3, tables=10, regions=3, jobs=14, largest=0.4)
    simplex = dlsched.bound(made, "relaxation").cost
    monkeypatch.setattr(exact, "_LARGE_NONZEROS", 0)
    interior = dlsched.bound(made, "relaxation").cost
    assert simplex.kind == interior.kind == "certified"
    assert interior.method == "duals of the relaxation"
    assert float(interior.value) == pytest.approx(float(simplex.value), rel=2e-3)
    assert interior.value <= dlsched.solve(made).objective.cost


def test_the_tree_of_relaxations_is_below_the_optimum_and_above_the_relaxation() -> None:
    """With homes for all tables or for few, each bound is certified, and none is above the cost."""
    for seed in range(2):
        made = dlsched.generate("placement", seed, tables=6, regions=2, jobs=9, largest=0.4)
        optimum = oracles.placement(made)
        root = dlsched.bound(made, "relaxation").cost
        assert optimum is not None
        found = [root.value]
        for nodes in (0, 40):
            bound = dlsched.bound(made, "relaxation_tree", nodes=nodes, tables=6).cost
            assert bound.kind == "certified"
            found.append(bound.value)
        assert found == sorted(found)
        assert found[-1] <= optimum.cost
        assert found[-1] > found[0] or found[0] >= float(optimum.cost) * (1 - 1e-6)
        assert dlsched.bound(made, "relaxation_tree", nodes=40, tables=6, threads=2)[0] == bound


@pytest.mark.parametrize("duals", [None, np.array([np.nan])])
def test_a_node_without_useful_duals_keeps_the_bound_above_it(
    duals: np.ndarray | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A node that the solver calls infeasible, or of which it has no duals, raises nothing."""
    made = dlsched.generate("placement", 1, tables=6, regions=2, jobs=9, largest=0.4)
    root = dlsched.bound(made, "relaxation_tree", nodes=0).cost.value

    def solved(form: StandardForm, level: int, run: Run, threads: int = 1) -> Outcome:
        rows = None if duals is None else np.repeat(duals, form.shape[0])
        return Outcome("HiGHS", Termination.INFEASIBLE, "", None, None, None, rows)

    monkeypatch.setattr(highs, "interior_point", solved)
    bound = dlsched.bound(made, "relaxation_tree", nodes=20).cost
    assert bound.value == root


@pytest.mark.slow
def test_more_nodes_raise_the_bound() -> None:
    """The tree begins with `indivisible_bound` and rises with its nodes."""
    made = dlsched.generate("placement", 2, tables=30, regions=4, jobs=60)
    first = dlsched.bound(made, "indivisible_bound").cost.value
    found = [dlsched.bound(made, "home_tree", nodes=n).cost.value for n in (0, 20, 100)]
    assert found[0] == pytest.approx(first)
    assert found == sorted(found)
    assert found[2] > first


def lone_cell(penalty: float, share: list[float], target: list[float]) -> Cell:
    """Return a cell with items of two tables each and one penalty by share."""
    n = len(share)
    return Cell(
        np.array(share), penalty * np.array(share), np.zeros(n, dtype=np.int64),
        np.arange(0, 2 * n + 1, 2), np.arange(2 * n), np.arange(2 * n), np.arange(n), np.arange(n),
        np.array(target), np.array([target.index(part) for part in target]),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("penalty", "share", "target", "expected"),
    [
        (9.0, [1.0], [0.5, 0.5], 0.5),  # in one region: 2 * 0.5 ** 2
        (0.1, [1.0], [0.25, 0.75], 0.125),  # there: 2 * 0.25 ** 2; nowhere: 0.625 + 0.1
        (0.1, [1.0], [0.2, 0.2, 0.2, 0.2, 0.2], 0.3),  # there: 0.8; nowhere: 0.2 + 0.1
        (0.0, [0.5, 0.5], [0.5, 0.5], 0.0),
        (9.0, [0.4, 0.3, 0.3], [0.5, 0.5], 0.02),  # 0.6 and 0.4
    ],
)
def test_cells_by_hand(
    penalty: float, share: list[float], target: list[float], expected: float
) -> None:
    """The search that ends is exact; with tables in two regions the item pays."""
    cell = lone_cell(penalty, share, target)
    assert least_cost(cell, unplaced(cell), 500) == pytest.approx(expected, abs=1e-12)
    apart = np.arange(2 * len(share)) % 2
    nowhere = sum(part**2 for part in target) + penalty * sum(share)
    assert least_cost(cell, apart, 0) == pytest.approx(nowhere)


def test_a_job_that_must_run_counts() -> None:
    """A job of one table, or of Spark, has no way out; one with two tables pays its bytes."""
    plain = dlsched.load("mast-two-regions")
    hours = {"A100": 5}
    jobs = [
        job("one", ["clicks"], hours),
        job("two", ["users", "ads"], hours, "spark"),
        job("three", ["users", "ads"], hours),
    ]
    found = []
    for row in jobs:
        only = Instance.model_validate(plain.model_dump() | {"jobs": [row]})
        (cell,) = cells_of(Shares(only)).values()
        found.append(cell_bound(cell))
    must = 2 * 0.5**2
    assert found[:2] == pytest.approx([must, must], abs=1e-12)
    assert found[2] == pytest.approx(must, abs=1e-12)  # its bytes, 1, are dearer


@pytest.mark.parametrize("name", ["relaxation", "relaxation_tree", "home_tree", "milp"])
def test_terms_that_cancel(name: str) -> None:
    """One region has every share, so the cost is 0; with weights of 1e9 terms round to 1e-7."""
    # The duals of the relaxation said 1.5e-9, of model coefficients that had been rounded.
    made = instance(
        [region("r", 0.001, {"A": 6, "B": 5})],
        [table("t0", 3.3333333333333335e-05, "r"), table("t1", 0.0001666666666666667)],
        [
            job("j0", ["t0", "t1"], {"B": 1, "A": 4}, "presto", app="x", cpu_hours=1e9),
            job("j1", ["t0"], 4, priority=2),
            job("j2", ["t0"], {"B": 6, "A": 4}, priority=2, time_sensitive=True),
        ],
        version="v1", weights={"traffic": 5e8, "gpu": 1e9, "storage": 1e9},
        priority_weights={"2": 0.5}, overload_slope=1, at_home_threshold=0,
    )  # fmt: skip
    result = dlsched.solve(made, name)
    assert result.bound[0].value <= 0
    if result.solution is not None:
        assert result.objective[0] == 0


INSTANCES = st.one_of(strategies.placement(), strategies.placement(scales=True))
DRAWN = settings(deadline=None, derandomize=True, database=None, phases=[Phase.generate])
"""What the property tests with two numbers of examples have in common."""


def _at(form: Form, lp: Relaxation, instance: Instance, homes: list[int]) -> float:
    """Return the least value of the form with these homes; its first columns are the homes."""
    for t, home in enumerate(homes):
        for r in range(len(instance.regions)):
            lp.program.set_bounds(t * len(instance.regions) + r, int(r == home), int(r == home))
    solved = lp.solve()
    assert solved is not None
    return float(form.goals[0].unit) * solved.value


@pytest.mark.parametrize("examples", [20, pytest.param(300, marks=pytest.mark.slow)])
def test_any_parameters_give_a_lower_bound_at_every_placement(examples: int) -> None:
    """With any points, the form has every feasible placement, and costs no more than it does."""

    @given(st.data())
    @settings(DRAWN, max_examples=examples)
    def run(data: st.DataObject) -> None:
        instance = data.draw(INSTANCES)
        if not instance.tables or not instance.regions:
            return
        regions = st.integers(0, len(instance.regions) - 1)
        kinds, priorities = len(instance.kinds), len(instance.priorities)
        points = st.lists(st.integers(0, 2**POINT_BITS), max_size=6)

        def lists(*most: int) -> list[list[int]]:
            positions = st.tuples(*(st.integers(0, n) for n in most))
            drawn = st.dictionaries(positions, points, max_size=12)
            return [[*at, *found] for at, found in data.draw(drawn).items()]

        r = len(instance.regions) - 1
        form = estimate(
            instance,
            {"squares": lists(r, kinds, priorities), "stored": lists(r), "steps": lists(r, kinds)},
        )
        lp = Relaxation(form, form.rows, form.goals[0].costs, Run())
        for _ in range(4):
            homes = [data.draw(regions) for _ in instance.tables]
            names = [instance.regions[h].id for h in homes]
            tables = [table.id for table in instance.tables]
            report = check(instance, Solution(home=dict(zip(tables, names, strict=True))))
            if report.feasible and report.objective:
                cost = float(report.objective.cost)
                assert _at(form, lp, instance, homes) <= cost * (1 + 1e-9) + 1e-12

    run()


@pytest.mark.parametrize("examples", [3, pytest.param(150, marks=pytest.mark.slow)])
def test_the_optimum_of_brute_force_is_proved(examples: int) -> None:
    """In any units, the optimum of full enumeration has a valid proof to nine digits."""

    @given(INSTANCES)
    @settings(DRAWN, max_examples=examples)
    def run(instance: Instance) -> None:
        optimum = oracles.placement(instance)
        if optimum is None:
            return
        best = dlsched.solve(instance).solution
        assert best is not None
        proof = prove_solution(instance, best, Run())
        (level,) = dlsched.check_proof(instance, proof).levels
        assert level.kind == "certified to nine digits"
        assert float(level.value) == pytest.approx(float(optimum.cost), rel=1e-9, abs=0)

    run()


@pytest.fixture(scope="module")
def good() -> dict[str, Any]:
    """The data of a proof."""
    return dlsched.prove("placement-small-02").to_data()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda p: p.__setitem__("prices", [1]), "no parameter prices"),
        (lambda p: p.__setitem__("steps", 7), "lists of integers"),
        (lambda p: p["steps"].append("text"), "lists of integers"),
        (lambda p: p["steps"].append([0, 0, 0.5]), "lists of integers"),
        (lambda p: p["stored"].append([0, True]), "lists of integers"),
        (lambda p: p["stored"].append([0, -1]), "between 0 and 1"),
        (lambda p: p["stored"].append([0, 2**POINT_BITS + 1]), "between 0 and 1"),
        (lambda p: p["squares"].pop(), "digest"),
        (lambda p: p["stored"].append([0, 1]), "digest"),
    ],
)
def test_damaged_parameters_are_refused(
    good: dict[str, Any], change: Callable[[Any], object], message: str
) -> None:
    """Parameters that the form does not have, and those of another form, are an error."""
    assert dlsched.check_proof("placement-small-02", proof_from_data(good, "good"))
    damaged = copy.deepcopy(good)
    change(damaged["levels"][0]["parameters"])
    with pytest.raises(InvalidProof, match=message):
        dlsched.check_proof("placement-small-02", proof_from_data(damaged, "damaged"))


@drawn(50, st.lists(st.fractions(0, 9, max_denominator=4), max_size=6), st.fractions(-1, 60))
def test_sums_are_those_of_all_subsets(amounts: list[Fraction], point: Fraction) -> None:
    """The sums around a point are neighbours among those of every subset."""
    every = {sum(part) for n in range(len(amounts) + 1) for part in combinations(amounts, n)}
    below, above = ([s for s in every if (s > point) == side] for side in (False, True))
    found = Sums(amounts).around(point)
    assert found == ((max(below), min(above)) if below and above else None)


def test_sums_of_too_many_units_are_not_enumerated() -> None:
    """A point then stands for itself."""
    amounts = [Fraction(1), Fraction(10**9 + 1, 10**9)]
    assert Sums(amounts).around(Fraction(1, 2)) == (Fraction(1, 2), Fraction(1, 2))


@drawn(60, st.fractions(0, 60), st.fractions(0, 1))
def test_the_sigmoid_is_rounded_down(x: Fraction, more: Fraction) -> None:
    """It is within 5e-18 below the function, and does not fall."""
    with localcontext() as context:
        context.prec = 60
        exact = 1 / (1 + (-Decimal(x.numerator) / Decimal(x.denominator)).exp())
        value = sigmoid_below(x)
        given_ = Decimal(value.numerator) / Decimal(value.denominator)
        assert exact - Decimal("5e-18") < given_ <= exact
    assert sigmoid_below(x + more) >= value


def test_the_form_of_the_relaxation_keeps_its_names() -> None:
    """Its model may not be collected: the columns of homes were found only by chance."""
    made = dlsched.generate("placement", 3, tables=10, regions=3, jobs=14, largest=0.4)
    refinement = Refinement(made, Run())
    refinement.relax(1)
    gc.collect()
    assert refinement.built is None
    assert refinement.relaxed is not None
    assert RelaxationTree(made, refinement.relaxed, 0.0, 4).columns.shape == (4, 3)
