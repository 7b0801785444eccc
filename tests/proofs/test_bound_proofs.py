"""Proofs of bounds: made for values above and below optima, and damaged ones refused."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from proof_cases import drawn

import dlsched
from calls import data, run
from dlsched import InstanceError, Run
from dlsched.doctor import library
from dlsched.proofs.bounds import BoundProof, read_bound, write_bound
from dlsched.proofs.check import InvalidProof
from dlsched.proofs.document import Leaf
from dlsched.proofs.prove import ProofFailed, prove_bound
from dlsched.schema import Instance
from dlsched.testing import strategies

SMALL = ["reclaiming-small-10", "interleaving-small-01", "utility-small-06"]
SMALL += ["sensitivity-small-03", "workers-small-03"]
NAME = "utility-small-06"


def _optimum(name: str) -> Fraction:
    known = library.best_objective(dlsched.load(name).sha256)
    assert known is not None
    return Fraction(known[0])


@pytest.fixture(scope="module")
def found() -> BoundProof:
    """Return the proof of an optimum as a bound."""
    return dlsched.prove_bound(NAME, _optimum(NAME))


@pytest.mark.parametrize("name", SMALL)
def test_values_better_than_the_optimum_are_bounds(name: str, tmp_path: Path) -> None:
    """A value that no solution has is proved, and accepted when read back; a worse one is not."""
    level = dlsched.registry.problem(dlsched.load(name).problem).levels[0]
    optimum, by = _optimum(name), Fraction(1 if level.sense == "max" else -1, 8)
    step = 8 * by if name.startswith("sensitivity") else by  # its values are multiples of a unit
    proof = dlsched.prove_bound(name, optimum + step)
    write_bound(proof, tmp_path / "b.json.gz")
    checked = dlsched.check_bound(name, tmp_path / "b.json.gz")
    assert (checked.level, checked.value) == (level.name, optimum + step)
    assert read_bound(tmp_path / "b.json.gz") == proof
    with pytest.raises(ProofFailed, match="a solution of"):
        dlsched.prove_bound(name, optimum - step)


WORSE = {"utility": "srtf", "reclaiming": "random", "interleaving": "muri_worst_order"}


@pytest.mark.parametrize("examples", [6, pytest.param(150, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", WORSE)
def test_what_a_solution_beats_is_not_proved(name: str, examples: int) -> None:
    """From any solution that is known, values up to the optimum have no proof; others may."""

    @settings(drawn, max_examples=examples)
    @given(getattr(strategies, name)(), st.integers(1, 4))
    def run(instance: Instance, part: int) -> None:
        best, worse = dlsched.solve(instance), dlsched.solve(instance, WORSE[name])
        if best.objective is None or worse.objective is None:
            return
        optimum, known = Fraction(best.objective[0]), Fraction(worse.objective[0])
        distance = optimum - known
        above = optimum + (distance or Fraction(1 if name != "reclaiming" else -1)) / part
        proof = prove_bound(instance, above, worse.solution, Run())
        assert dlsched.check_bound(instance, proof).value == above
        below = optimum - distance / (part + 1)
        if abs(distance) > Fraction(1, 10**6) * abs(optimum):
            with pytest.raises(ProofFailed):
                prove_bound(instance, below, worse.solution, Run())
            false = replace(proof, proof=replace(proof.proof, target=below))
            with pytest.raises(InvalidProof):
                dlsched.check_bound(instance, false)

    run()


DAMAGE: list[dict[str, Any]] = [
    {"level": "other"},
    {"kind": "certified to nine digits"},
    {"target": _optimum(NAME) - Fraction(1, 10**6)},
    {"digest": "0" * 64},
    {"form": "model", "parameters": {}},
    {"form": "unknown"},
    {"nodes": []},
    {"nodes": [Leaf(0, {})]},
    {"nodes": [Leaf(0, {0: 1}, empty=True)]},
    {"nodes": "one more"},
    {"parameters": {"prices": []}},
]


@pytest.mark.parametrize("change", DAMAGE, ids=str)
def test_damaged_proofs_are_refused(found: BoundProof, change: dict[str, Any]) -> None:
    """What is of another level, kind, value, form or tree is no proof."""
    if change.get("nodes") == "one more":
        change = {"nodes": [*found.proof.nodes, Leaf(0, {})]}
    with pytest.raises(InvalidProof):
        dlsched.check_bound(NAME, replace(found, proof=replace(found.proof, **change)))


@pytest.mark.parametrize("change", [{"problem": "workers"}, {"instance_sha256": "0" * 64}])
def test_proofs_of_other_instances_are_refused(found: BoundProof, change: dict[str, Any]) -> None:
    """A proof is of one instance."""
    with pytest.raises(InvalidProof):
        dlsched.check_bound(NAME, replace(found, **change))


def test_a_bound_is_no_proof_of_optimality(found: BoundProof, tmp_path: Path) -> None:
    """Neither check accepts what is for the other one."""
    write_bound(found, tmp_path / "b.json")
    with pytest.raises(InstanceError, match="dlsched_proof"):
        dlsched.check_proof(NAME, tmp_path / "b.json")
    with pytest.raises(InstanceError, match="dlsched_bound"):
        dlsched.check_bound(NAME, library.proof_file(NAME))
    content = json.loads((tmp_path / "b.json").read_text())
    (tmp_path / "renamed.json").write_text(json.dumps(content | {"dlsched_proof": 1}))
    with pytest.raises(InstanceError, match="solution"):
        dlsched.check_proof(NAME, tmp_path / "renamed.json")


@pytest.mark.parametrize("value", ["1e9", "nan", "1/0", "", "x", float("inf"), float("nan")])
def test_a_bound_is_a_finite_number(value: object) -> None:
    """Anything else is refused, and so is what would be too long to compute with."""
    with pytest.raises(dlsched.OptionError, match="must be a number"):
        dlsched.prove_bound(NAME, value)


def test_commands(tmp_path: Path) -> None:
    """A bound is proved and checked by a command each; the wrong check is an error."""
    file, value = tmp_path / "b.json", _optimum(NAME) + 1
    made = run("prove", NAME, "--bound", value, "-o", file).stdout
    assert "check-proof --bound" in " ".join(made.split())
    assert "no solution of" in run("check-proof", "--bound", NAME, file).stdout
    stated = data("check-proof", "--bound", NAME, file)
    assert stated["valid"] and stated["bound"]["kind"] == "certified"
    run("check-proof", NAME, file, status=2)
    refused = run("prove", NAME, "--bound", "0", "-o", file, status=1)
    assert "no proof" in refused.stdout
