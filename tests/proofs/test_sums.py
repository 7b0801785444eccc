"""Proofs with sums: found where trees are large, and refused when they are damaged."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from proof_cases import assert_no_proof, checked, satisfies, set_item

import dlsched
from dlsched import Run
from dlsched.proofs.check import Form, InvalidProof, InvalidSum, aim, check_tree, with_sums
from dlsched.proofs.document import proof_from_data, read_proof, write_proof
from dlsched.proofs.forms.form import Goal, Row
from dlsched.proofs.prove import prove_solution
from dlsched.proofs.search import TreeSearch
from dlsched.proofs.sum_search import only_split, useful_sums
from dlsched.schema import Instance
from dlsched.testing import strategies
from drawing import draws

NAME = "interleaving-small-04"
"""Without sums, its tree has 29 nodes."""
PROBLEMS = ["elastic", "interleaving", "sensitivity", "workers", "dispatch"]
"""Of these, some of the drawn instances have sums that help."""
SMALL = st.integers(-3, 3)


@given(st.data())
@checked
def test_points_remain(data: st.DataObject) -> None:
    """Every point of a form, with what the sums are at it, is one of the form with sums."""
    draw = data.draw
    columns = draw(st.integers(1, 3))
    lower = [draw(SMALL) for _ in range(columns)]
    upper = [low + draw(st.integers(0, 2)) for low in lower]
    form = Form("drawn", lower, upper, [True] * columns, [], [])
    sums = [{j: draw(SMALL) for j in range(columns)} for _ in range(draw(st.integers(0, 3)))]
    given_row = Row({0: 1}, None, None)
    wider, rows = with_sums(form, [given_row], sums)
    assert rows[0] is given_row and len(rows) == len(sums) + 1
    assert all(wider.integer) and wider.first == frozenset(range(columns, columns + len(sums)))
    box = (range(a, b + 1) for a, b in zip(lower, upper, strict=True))
    for x in itertools.product(*box):
        point = [*x, *(sum(a * x[j] for j, a in entries.items()) for entries in sums)]
        assert all(satisfies(row, point) for row in rows)
        ends = zip(wider.lower, point, wider.upper, strict=True)
        assert all(low <= v <= high for low, v, high in ends)


@pytest.mark.parametrize("column", [1, 2, -1])
def test_sums_are_of_integer_columns(column: int) -> None:
    """A column that is no integer, an earlier sum, and one that is not there are refused."""
    form = Form("made", [0, 0], [3, 3], [True, False], [], [])
    with pytest.raises(InvalidSum):
        with_sums(form, [], [{0: 2}, {0: 1, column: 1}])


def test_a_sum_proves_what_columns_need_many_splits_for() -> None:
    """Twice the columns' sum is 9: one split of the sum, where columns give 2**4 leaves."""
    n = 8
    goal = Goal("level", 1, {}, 0, Fraction(1), True)
    form = Form(
        "made", [0] * n, [1] * n, [True] * n, [Row(dict.fromkeys(range(n), 2), 9, 9)], [goal]
    )
    wanted = aim(form, 0, [1], "certified")
    sums = useful_sums(form, wanted, Run())
    assert sums
    wider, rows = with_sums(form, wanted.rows, sums)
    nodes = TreeSearch(wider, replace(wanted, rows=rows), Run()).nodes(3)
    tree, kept = only_split(form, wanted, sums, nodes)
    assert len(tree) == 3 and len(kept) == 1
    wider, rows = with_sums(form, wanted.rows, kept)
    assert check_tree(wider, rows, {}, tree, wanted.least, wanted.strict) == 2


@pytest.fixture(scope="module")
def good() -> dict[str, Any]:
    """The data of a proof with sums."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dlsched.proofs.prove.FEW", 0)
        data = dlsched.prove(NAME).to_data()
    assert data["levels"][0]["sums"]
    return data


def test_proofs_with_sums_hold(good: dict[str, Any], tmp_path: Path) -> None:
    """The file has the sums, with which the tree is smaller; a small tree has none."""
    proof = proof_from_data(good, "good")
    [checked_level] = dlsched.check_proof(NAME, proof).levels
    write_proof(proof, tmp_path / "p.json")
    assert read_proof(tmp_path / "p.json").levels == proof.levels
    without = dlsched.prove(NAME)
    assert without.leaves > checked_level.leaves and not without.levels[0].sums
    assert "sums" not in without.to_data()["levels"][0]


@pytest.mark.slow
@pytest.mark.parametrize("problem", PROBLEMS)
def test_optima_are_proved_with_sums(problem: str) -> None:
    """Proofs of drawn instances hold if sums are tried for every tree of several nodes."""
    numbers = []

    @settings(
        derandomize=True, deadline=None, max_examples=draws(150), database=None,
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(getattr(strategies, problem)())
    def run(instance: Instance) -> None:
        best = dlsched.solve(instance)
        if best.solution is None:
            return
        proof = prove_solution(instance, best.solution, Run())
        assert [c.value for c in dlsched.check_proof(instance, proof).levels] == [*best.objective]
        numbers.append(sum(len(level.sums) for level in proof.levels))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dlsched.proofs.prove.FEW", 0)
        run()
    assert any(numbers)


DAMAGE: dict[str, Callable[[list[Any]], object]] = {
    "no sums": lambda sums: sums.clear(),
    "a sum dropped": lambda sums: sums.pop(),
    "another column": lambda sums: sums[-1][0].__setitem__(0, 1 + max(sums[-1][0])),
    "a column that is not there": set_item(0, 0, 0, to=10**6),
    "a negative column": set_item(0, 0, 0, to=-1),
    "another coefficient": lambda sums: sums[-1][1].__setitem__(0, 9 * sums[-1][1][0]),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_damaged_sums_are_refused(good: dict[str, Any], damage: str) -> None:
    """Each kind of damage is noticed, by the sum or by the tree that splits it."""
    data = copy.deepcopy(good)
    DAMAGE[damage](data["levels"][0]["sums"])
    with pytest.raises(InvalidProof):
        dlsched.check_proof(NAME, proof_from_data(data, "damaged"))


@pytest.mark.parametrize(
    ("path", "sums"),
    [
        ("sums", {}),
        ("sums[0]", [[[0]]]),
        ("sums[0]", [[[0], [0.5]]]),
        ("sums[0]", [[[0, 0], [1, 1]]]),
        ("sums[0]", [[[0], [1, 1]]]),
        ("sums[0]", [[[0], [True]]]),
        ("sums[0]", [[7, [1]]]),
    ],
)
def test_files_whose_sums_cannot_be_read(good: dict[str, Any], path: str, sums: Any) -> None:
    """The error names the sum."""
    damaged = copy.deepcopy(good)
    damaged["levels"][0]["sums"] = sums
    assert_no_proof(damaged, f"levels[0].{path}")


def test_cuts_of_earlier_files_are_refused(good: dict[str, Any]) -> None:
    """A proof with cuts, which there are no more, has to be made again."""
    level = good["levels"][0] | {"cuts": [[2, [0], [1], []]]}
    with pytest.raises(dlsched.InstanceError, match="no cuts any more"):
        proof_from_data(good | {"levels": [level]}, "earlier")
