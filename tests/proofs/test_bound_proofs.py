"""Proofs of bounds: made for values above and below optima, and damaged ones refused."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from proof_cases import put

import dlsched
from calls import data, run
from dlsched.proofs.bounds import CheckedBound
from dlsched.proofs.check import InvalidProof
from dlsched.proofs.document import write_proof
from dlsched.proofs.prove import ProofFailed

NAME = "utility-small-06"
OPTIMUM = Fraction(96947, 1440)


def test_any_solution_will_do() -> None:
    """A poor one gives the same proof of what is better than the optimum, and none of the rest."""
    known = dlsched.solve(NAME, "tiresias").solution
    proof = dlsched.prove_bound(NAME, OPTIMUM + Fraction(1, 8), known)
    checked = dlsched.check_bound(NAME, proof)
    assert checked == CheckedBound(NAME, "utility", OPTIMUM + Fraction(1, 8), proof.proof.leaves)
    for start, said in ((known, "a point of the form seems to be better"), (None, "a solution of")):
        with pytest.raises(ProofFailed, match=said):
            dlsched.prove_bound(NAME, OPTIMUM - Fraction(1, 1000), start)


@pytest.fixture(scope="module")
def good() -> dict[str, Any]:
    """Return the data of the proof of an optimum as a bound."""
    data = dlsched.prove_bound(NAME, OPTIMUM).to_data()
    assert len(data["proof"]["tree"]) > 1
    return data


FOREIGN = f"the proof is for another instance than {NAME}"
DAMAGE: list[tuple[Callable[[Any], object], str]] = [
    (put("problem", to="workers"), FOREIGN),
    (put("instance_sha256", to="0" * 64), FOREIGN),
    (put("variant", to={"name": "v", "sha256": ""}), "the proof is of the variant v, not of util"),
    (put("proof", "level", to="other"), "the proof must be of the level utility, the first"),
    (put("proof", "kind", to="certified to nine digits"), "utility: a bound has the kind cert"),
    (put("proof", "target", to=str(OPTIMUM - Fraction(1, 10**6))), "utility: node 2: its"),
    (put("proof", "digest", to="0" * 64), "utility: the digest is not that of the form runs"),
    (put("proof", "parameters", to={"prices": []}), "utility: the form of prices needs the para"),
    (put("proof", "tree", to=[[0, 0, [], []]]), "utility: node 0: its multipliers do not prove"),
]


@pytest.mark.parametrize(("change", "said"), DAMAGE)
def test_damaged_proofs_are_refused(
    good: dict[str, Any], change: Callable[[Any], object], said: str, tmp_path: Path
) -> None:
    """What is of another instance, level, kind, value, form or tree is no proof."""
    damaged = copy.deepcopy(good)
    change(damaged)
    (tmp_path / "b.json").write_text(json.dumps(damaged))
    with pytest.raises(InvalidProof) as error:
        dlsched.check_bound(NAME, tmp_path / "b.json")
    assert said in str(error.value)


def test_a_bound_is_no_proof_of_optimality(good: dict[str, Any], tmp_path: Path) -> None:
    """Neither check accepts what is for the other one."""
    (tmp_path / "b.json").write_text(json.dumps(good))
    with pytest.raises(dlsched.InstanceError, match="dlsched_proof"):
        dlsched.check_proof(NAME, tmp_path / "b.json")
    write_proof(dlsched.prove(NAME), tmp_path / "p.json")
    with pytest.raises(dlsched.InstanceError, match="dlsched_bound"):
        dlsched.check_bound(NAME, tmp_path / "p.json")
    (tmp_path / "renamed.json").write_text(json.dumps(good | {"dlsched_proof": 1}))
    with pytest.raises(dlsched.InstanceError, match="solution"):
        dlsched.check_proof(NAME, tmp_path / "renamed.json")


@pytest.mark.parametrize("value", ["1e9", "nan", "1/0", "", "x", float("inf"), float("nan")])
def test_a_bound_is_a_finite_number(value: object) -> None:
    """Anything else is refused, and so is what would be too long to compute with."""
    with pytest.raises(dlsched.OptionError, match="must be a number"):
        dlsched.prove_bound(NAME, value)


def test_commands(tmp_path: Path) -> None:
    """A bound is proved and checked by a command each; the wrong check is an error."""
    file, value = tmp_path / "b.json", OPTIMUM + 1
    made = run("prove", NAME, "--bound", value, "-o", file).stdout
    assert "check-proof --bound" in " ".join(made.split())
    assert "no solution of" in run("check-proof", "--bound", NAME, file).stdout
    stated = data("check-proof", "--bound", NAME, file)
    assert stated["valid"] and stated["bound"]["kind"] == "certified"
    run("check-proof", NAME, file, status=2)
    refused = run("prove", NAME, "--bound", "0", "-o", file, status=1)
    assert "no proof" in refused.stdout
