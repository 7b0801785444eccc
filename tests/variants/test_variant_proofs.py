"""Proofs of variants: made, checked, of one variant only, and none of a solution that is worse."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyomo.environ as pyo
import pytest

import dlsched
from dlsched import Level, Variant
from dlsched.proofs.check import InvalidProof
from dlsched.proofs.document import write_proof
from dlsched.proofs.prove import ProofFailed

NAME = "reclaiming-small-04"
KINDS = ("certified", "certified to nine digits")


def few(m: Any, instance: Any) -> None:
    """At most one of the first three servers, of which two count half."""
    first = [server.id for server in instance.servers[:3]]
    m.few = pyo.Constraint(expr=m.x[first[0]] + 0.5 * (m.x[first[1]] + m.x[first[2]]) <= 1.2)


def racks(m: Any, instance: Any) -> None:
    """Count racks of three servers, and half an hour for each but the first."""
    m.touched = pyo.Var(range(len(instance.servers)), domain=pyo.Binary)
    m.hours = pyo.Var(bounds=(0, 9.5))
    m.touch = pyo.ConstraintList()
    for i, server in enumerate(instance.servers):
        m.touch.add(m.touched[i // 3] >= m.x[server.id])
    m.work = pyo.Constraint(expr=m.hours >= 0.5 * sum(m.touched.values()) - 0.5)


LABOUR = Level("labour", "minimize", lambda m, _: 0.1 * m.hours)
FEW = Variant("reclaiming", "few", few)
RACKS = Variant("reclaiming", "racks", racks, levels=["preempted", LABOUR, "collateral"])


@pytest.mark.parametrize("variant", [FEW, RACKS], ids=str)
def test_a_proof_holds_for_its_variant_alone(variant: Variant, tmp_path: Path) -> None:
    """Read back it has the optimum of `exact`; the problem and other variants refuse it."""
    result = dlsched.solve(NAME, variant=variant)
    write_proof(dlsched.prove(NAME, variant=variant), tmp_path / "a.proof.json")
    checked = dlsched.check_proof(NAME, tmp_path / "a.proof.json", variant=variant)
    assert [float(level.value) for level in checked.levels] == list(map(float, result.objective))
    other = Variant("reclaiming", variant.name, fix={"x[s1]": 0})
    else_said = "must have the levels" if variant.levels else "the variant says something else here"
    for given_variant, said in ((None, "give the variant"), (other, else_said)):
        with pytest.raises(InvalidProof, match=said):
            dlsched.check_proof(NAME, tmp_path / "a.proof.json", variant=given_variant)
    with pytest.raises(InvalidProof) as error:
        dlsched.check_proof(NAME, dlsched.prove(NAME), variant=variant)
    assert str(error.value) == "the proof is of reclaiming itself, not of a variant"


def test_a_level_of_continuous_variables_is_proved_to_nine_digits() -> None:
    """The multipliers of a tree are rounded; `certify` has the same proof in the result."""
    kinds = {level.level: level.kind for level in dlsched.prove(NAME, variant=RACKS).levels}
    assert kinds == {"preempted": KINDS[0], "labour": KINDS[1], "collateral": KINDS[0]}
    result = dlsched.solve(NAME, variant=RACKS, certify=True)
    assert result.proof is not None, result.reason
    assert result.proof.variant.name == "racks"
    assert all(bound.kind in KINDS for bound in result.certified)


def test_values_of_added_variables_in_a_document_count_for_nothing(tmp_path: Path) -> None:
    """A solution that no values fit exactly is refused, whatever values the document states."""
    instance = dlsched.load("reclaiming-small-10")
    best = dlsched.solve(instance).solution

    def constrain(m: Any, _: Any) -> None:
        m.t = pyo.Var(bounds=(1, 1))
        m.large = pyo.Constraint(expr=1e9 * m.t + m.x["s2"] <= 1e9)

    variant = Variant("reclaiming", "large", constrain)
    assert "s2" in best.returned
    assert not dlsched.verify(instance, best, variant=variant).feasible
    proof = dlsched.prove(instance, variant=variant)
    assert [level.value for level in dlsched.check_proof(instance, proof, variant=variant).levels]
    forged = proof.to_data()
    forged["solution"]["returned"] = [*best.returned]
    forged["variant"]["values"] = {"t": 1}
    (tmp_path / "forged.proof.json").write_text(json.dumps(forged))
    with pytest.raises(InvalidProof, match="infeasible"):
        dlsched.check_proof(instance, tmp_path / "forged.proof.json", variant=variant)


def test_a_bound_of_a_variant_is_proved() -> None:
    """For the variant alone."""
    best = dlsched.solve(NAME, variant=FEW).objective
    bound = dlsched.prove_bound(NAME, best.preempted, variant=FEW)
    assert dlsched.check_bound(NAME, bound, variant=FEW).value == best.preempted
    with pytest.raises(InvalidProof, match="give the variant"):
        dlsched.check_bound(NAME, bound)
    with pytest.raises(ProofFailed):
        dlsched.prove_bound(NAME, best.preempted + 1, variant=FEW)
