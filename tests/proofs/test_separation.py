"""Proofs with cuts: found where trees are large, and refused when they are damaged."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from proof_cases import assert_no_proof, set_item

import dlsched
from dlsched.proofs.check import InvalidProof
from dlsched.proofs.document import proof_from_data, read_proof, write_proof
from dlsched.proofs.prove import prove_solution
from dlsched.proofs.separation import keep
from dlsched.results.proof import Cut
from dlsched.run import Run
from dlsched.schema import Instance
from dlsched.testing import strategies
from drawing import draws

NAME = "interleaving-small-04"
"""Without cuts, its tree has 29 nodes."""
PROBLEMS = ["elastic", "interleaving", "sensitivity", "workers", "dispatch"]
"""Of these, some of the drawn instances have cuts that help."""


@pytest.fixture(scope="module")
def good() -> dict[str, Any]:
    """The data of a proof with cuts, the last of which uses an earlier one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dlsched.proofs.prove.FEW", 0)
        data = dlsched.prove(NAME).to_data()
    cuts = data["levels"][0]["cuts"]
    assert len(cuts) > 2 and max(cuts[-1][1]) > max(cuts[0][1])
    return data


def test_proofs_with_cuts_hold(good: dict[str, Any], tmp_path: Path) -> None:
    """They need no branching here, and the file has the cuts; a small tree has none."""
    proof = proof_from_data(good, "good")
    assert [level.leaves for level in dlsched.check_proof(NAME, proof).levels] == [1]
    write_proof(proof, tmp_path / "p.json")
    assert read_proof(tmp_path / "p.json").levels == proof.levels
    data = dlsched.prove(NAME).to_data()
    assert len(data["levels"][0]["tree"]) > 1 and "cuts" not in data["levels"][0]


@pytest.mark.slow
@pytest.mark.parametrize("problem", PROBLEMS)
def test_optima_are_proved_with_cuts(problem: str) -> None:
    """Proofs of drawn instances hold if cuts are tried for every tree of several nodes."""
    numbers = []

    @settings(
        derandomize=True, deadline=None, max_examples=draws(60), database=None,
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(getattr(strategies, problem)())
    def run(instance: Instance) -> None:
        best = dlsched.solve(instance)
        if best.solution is None:
            return
        proof = prove_solution(instance, best.solution, Run())
        assert [c.value for c in dlsched.check_proof(instance, proof).levels] == [*best.objective]
        numbers.append(sum(len(level.cuts) for level in proof.levels))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dlsched.proofs.prove.FEW", 0)
        run()
    assert any(numbers)


DAMAGE: dict[str, Callable[[list[Any]], object]] = {
    "no cuts": lambda cuts: cuts.clear(),
    "the first cut dropped": lambda cuts: cuts.pop(0),
    "the last cut dropped": lambda cuts: cuts.pop(),
    "another order": lambda cuts: cuts.reverse(),
    "a changed multiplier": lambda cuts: cuts[0][2].__setitem__(0, 5 * cuts[0][2][0]),
    "multipliers of the other sign": lambda cuts: cuts[-1].__setitem__(
        2, [-y for y in cuts[-1][2]]
    ),
    "another row": set_item(0, 1, 0, to=0),
    "a row that is not there": set_item(0, 1, 0, to=10**6),
    "a negative row": set_item(0, 1, 0, to=-1),
    "a later cut": lambda cuts: cuts[0][1].__setitem__(0, max(cuts[-1][1])),
    "itself": lambda cuts: cuts[-1][1].__setitem__(0, max(cuts[-1][1]) + 1),
    "another denominator": lambda cuts: cuts[0].__setitem__(0, 2 * cuts[0][0] + 1),
    "the denominator 1": set_item(0, 0, to=1),
    "the denominator 0": set_item(0, 0, to=0),
    "a negative denominator": lambda cuts: cuts[0].__setitem__(0, -cuts[0][0]),
    "upper bounds of all columns": set_item(0, 3, to=list(range(20))),
    "a column that is not there": set_item(0, 3, to=[10**6]),
    "a cut twice": lambda cuts: cuts.insert(0, cuts[0]),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_damaged_cuts_are_refused(good: dict[str, Any], damage: str) -> None:
    """Each kind of damage is noticed, by the cut or by the leaf that uses it."""
    data = copy.deepcopy(good)
    DAMAGE[damage](data["levels"][0]["cuts"])
    with pytest.raises(InvalidProof):
        dlsched.check_proof(NAME, proof_from_data(data, "damaged"))


@pytest.mark.parametrize(
    ("path", "cuts"),
    [
        ("cuts", {}),
        ("cuts[0]", [[2, [0], [1]]]),
        ("cuts[0]", [[0.5, [0], [1], []]]),
        ("cuts[0]", [[2, [0], [0.5], []]]),
        ("cuts[0]", [[2, [0, 0], [1, 1], []]]),
        ("cuts[0]", [[2, [0], [1, 1], []]]),
        ("cuts[0]", [[2, [0], [1], [True]]]),
        ("cuts[0]", [[2, [0], [1], 7]]),
    ],
)
def test_files_whose_cuts_cannot_be_read(good: dict[str, Any], path: str, cuts: Any) -> None:
    """The error names the cut."""
    damaged = copy.deepcopy(good)
    damaged["levels"][0]["cuts"] = cuts
    assert_no_proof(damaged, f"levels[0].{path}")


def test_cuts_that_nothing_needs_are_left_out() -> None:
    """What is kept is what rows need, directly or by way of other cuts, with new numbers."""
    cuts = [Cut(2, {0: 1}), Cut(2, {1: 1}), Cut(3, {2: 1, 5: 2}), Cut(2, {6: 1, 7: 1})]
    kept, numbers = keep(cuts, 5, [3, 7])
    assert kept == [cuts[0], cuts[2]] and numbers == {5: 5, 7: 6}
    assert keep(cuts, 5, [8])[0] == [cuts[0], cuts[1], cuts[2], Cut(2, {6: 1, 7: 1})]
    kept, numbers = keep([*cuts[:2], Cut(3, {6: 2})], 5, [7])
    assert kept == [cuts[1], Cut(3, {5: 2})] and numbers == {6: 5, 7: 6}
