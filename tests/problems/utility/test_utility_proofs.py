"""Proofs by prices: which forms prove, and that damaged prices are refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from refusals import changed

import dlsched
from dlsched.proofs.check import InvalidProof
from utility_instances import instance, job

ONE_LEAF = "utility-20x40-table-2"
"""A library instance whose proof is the prices."""


@pytest.mark.parametrize(
    ("name", "form", "leaves"),
    [("utility-20x40-effective-1", "finishes", 1), ("utility-10x25", "runs", None)],
)
def test_prices_are_the_proof(name: str, form: str, leaves: int | None) -> None:
    """An instance that the model cannot prove has one leaf; else runs decide; both exactly."""
    proof = dlsched.prove(name)
    (level,) = dlsched.check_proof(name, proof).levels
    assert (proof.levels[0].form, level.kind) == (form, "certified")
    assert leaves in (None, level.leaves)


DAMAGE: dict[str, tuple[str, Any]] = {
    "a slot too few": ("prices[0].V100", [1] * 39),
    "an unknown type": ("prices[0].T9", [0] * 40),
    "prices of floats": ("prices[0].V100", [0.5] * 40),
    "prices that are no list": ("prices[0].V100", 1),
    "a vector that is no mapping": ("prices[0]", [1]),
    "a vector more": ("prices", [{"P100": [3] * 40}] * 2),
    "prices of more than 64 bits": ("prices[0].V100", [2**80] * 40),
    "a huge exponent": ("exponent", 10**9),
    "an unknown parameter": ("more", 1),
    "a rounded goal": ("rounded", True),
}


def test_damaged_prices_are_refused(tmp_path: Path) -> None:
    """Prices that are none are an error, and a proof with other prices than its own is invalid."""
    good = dlsched.prove(ONE_LEAF).to_data()
    path = tmp_path / "proof.json"
    path.write_text(json.dumps(good))
    assert dlsched.check_proof(ONE_LEAF, path).levels
    for place, value in DAMAGE.values():
        path.write_text(json.dumps(changed(good, f"levels[0].parameters.{place}", value)))
        with pytest.raises(InvalidProof):
            dlsched.check_proof(ONE_LEAF, path)


def test_jobs_that_cannot_run() -> None:
    """Where no job can run, not running is proved optimal."""
    none = instance([job(workers=2)], {"A": 1}, slots=2)
    (level,) = dlsched.check_proof(none, dlsched.prove(none)).levels
    assert (level.value, level.kind) == (0, "certified")
