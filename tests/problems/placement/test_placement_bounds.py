"""Bounds by trees of homes and of relaxations: certified, below the optimum, tight enough."""

from __future__ import annotations

import gc

import numpy as np
import pytest
from placement_instances import instance, job, region, table

import dlsched
from dlsched import Run
from dlsched.doctor import StandardForm, highs
from dlsched.problems.placement import Instance
from dlsched.problems.placement.exact import Refinement, spreading_rounds
from dlsched.problems.placement.exact.relaxation_tree import RelaxationTree
from dlsched.results.result import Termination
from dlsched.solvers.outcome import Outcome
from dlsched.testing import oracles


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
    """Both bounds of the relaxation are certified and near each other; with spreading rows, which
    depend on the optimum that each method finds, both are below the cost."""
    made = dlsched.generate("placement", 3, tables=10, regions=3, jobs=14, largest=0.4)
    simplex = dlsched.bound(made, "relaxation", spreading=0).cost
    spread = [dlsched.bound(made, "relaxation").cost]
    monkeypatch.setattr(spreading_rounds, "_LARGE_NONZEROS", 0)
    interior = dlsched.bound(made, "relaxation", spreading=0).cost
    spread.append(dlsched.bound(made, "relaxation").cost)
    assert simplex.kind == interior.kind == "certified"
    assert interior.method == "duals of the relaxation"
    assert float(interior.value) == pytest.approx(float(simplex.value), rel=1e-4)
    optimum = dlsched.solve(made).objective.cost
    for bound in spread:
        assert bound.kind == "certified"
        assert 1.01 * float(interior.value) < float(bound.value) <= float(optimum)


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

    def solved(form: StandardForm, level: int, run: Run, **how: object) -> Outcome:
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


def test_the_form_of_the_relaxation_keeps_its_names() -> None:
    """Its model may not be collected: the columns of homes were found only by chance."""
    made = dlsched.generate("placement", 3, tables=10, regions=3, jobs=14, largest=0.4)
    refinement = Refinement(made, Run())
    refinement.relax(1)
    gc.collect()
    assert refinement.built is None
    assert refinement.relaxed is not None
    assert RelaxationTree(made, refinement.relaxed, 0.0, 4).columns.shape == (4, 3)
