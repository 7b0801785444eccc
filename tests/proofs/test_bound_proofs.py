"""Proofs of bounds: made for values above and below optima, and damaged ones refused."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from proof_cases import put

import dlsched
from calls import data, run
from dlsched.proofs.bounds import CheckedBound, read_bound, write_bound
from dlsched.proofs.check import InvalidProof
from dlsched.proofs.document import write_proof
from dlsched.proofs.prove import ProofFailed
from dlsched.testing import strategies

SMALL = ["reclaiming-small-10", "interleaving-small-01", "utility-small-06"]
SMALL += ["sensitivity-small-03", "workers-small-03"]
NAME = "utility-small-06"
OPTIMUM = Fraction(96947, 1440)


@pytest.mark.parametrize("name", SMALL)
def test_values_better_than_the_optimum_are_bounds(name: str, tmp_path: Path) -> None:
    """A value that no solution has is proved, and accepted when read back; a worse one is not."""
    level = dlsched.registry.problem(dlsched.load(name).problem).levels[0]
    optimum = Fraction(dlsched.solve(name).objective[0])
    by = Fraction(1 if level.sense == "max" else -1, 8)
    step = 8 * by if name.startswith("sensitivity") else by  # its values are multiples of a unit
    proof = dlsched.prove_bound(name, optimum + step)
    write_bound(proof, tmp_path / "b.json.gz")
    checked = dlsched.check_bound(name, tmp_path / "b.json.gz")
    assert checked == CheckedBound(name, level.name, optimum + step, proof.proof.leaves)
    assert read_bound(tmp_path / "b.json.gz") == proof
    with pytest.raises(ProofFailed, match="a solution of"):
        dlsched.prove_bound(name, optimum - step)


WORSE = {"utility": "srtf", "reclaiming": "random", "interleaving": "muri_worst_order"}


@pytest.mark.parametrize("examples", [6, pytest.param(150, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", WORSE)
def test_what_a_solution_beats_is_not_proved(name: str, examples: int, tmp_path: Path) -> None:
    """From any solution that is known, values up to the optimum have no proof; others may."""

    @settings(
        derandomize=True,
        deadline=None,
        database=None,
        max_examples=examples,
        suppress_health_check=list(HealthCheck),
    )
    @given(getattr(strategies, name)(), st.integers(1, 4))
    def run(instance: dlsched.Instance, part: int) -> None:
        best, worse = dlsched.solve(instance), dlsched.solve(instance, WORSE[name])
        if best.objective is None or worse.objective is None:
            return
        optimum, known = Fraction(best.objective[0]), Fraction(worse.objective[0])
        distance = optimum - known
        above = optimum + (distance or Fraction(1 if name != "reclaiming" else -1)) / part
        proof = dlsched.prove_bound(instance, above, worse.solution)
        assert dlsched.check_bound(instance, proof).value == above
        below = optimum - distance / (part + 1)
        if abs(distance) > Fraction(1, 10**6) * abs(optimum):
            with pytest.raises(ProofFailed):
                dlsched.prove_bound(instance, below, worse.solution)
            false = proof.to_data()
            false["proof"]["target"] = str(below)
            (tmp_path / "false.json").write_text(json.dumps(false))
            with pytest.raises(InvalidProof):
                dlsched.check_bound(instance, tmp_path / "false.json")

    run()


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
