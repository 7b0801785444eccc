"""Variants against enumeration: every solution checked, the added constraints evaluated at each."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from changes import assert_not_beaten, changes
from enumerations import DRAWN, SIZES, best_of, instances, solutions
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import dlsched
from dlsched.proofs.check import InvalidProof
from dlsched.proofs.prove import ProofFailed


@pytest.mark.parametrize("draws", [4, pytest.param(300, marks=pytest.mark.slow)])
@pytest.mark.parametrize("problem", sorted(SIZES))
def test_exact_equals_enumeration(problem: str, draws: int, tmp_path: Path) -> None:
    """Objective, infeasibility, bounds and proofs: for rows, fixings and levels drawn at random."""

    @settings(DRAWN, max_examples=draws)
    @given(st.data())
    def agree(data: st.DataObject) -> None:
        instance = data.draw(instances(problem))
        known = solutions(instance)
        assume(known)
        variant = data.draw(changes(instance, levels=True))
        reports = [(s, dlsched.verify(instance, s, variant=variant)) for s in known or ()]
        best = best_of([report for _, report in reports])
        result = dlsched.solve(instance, variant=variant)
        if best is None:
            assert result.status == "infeasible", result.reason
            return
        assert result.status == "optimal", result.reason
        assert list(result.objective) == pytest.approx(list(map(float, best)), rel=1e-6, abs=1e-12)
        assert_not_beaten(result.certified, best)
        assert_not_beaten(dlsched.bound(instance, variant=variant), best)
        assert dlsched.verify(instance, result.solution, variant=variant).feasible
        if problem != "placement" or not variant.levels:
            proof = dlsched.prove(instance, result.solution, variant=variant)
            levels = dlsched.check_proof(instance, proof, variant=variant).levels
            assert [float(level.value) for level in levels] == list(map(float, result.objective))
            refuse_worse(instance, variant, proof, result.objective, reports)

    def refuse_worse(instance: Any, variant: Any, proof: Any, best: Any, reports: Any) -> None:
        """Assert that a solution that is worse has no proof, forged or not."""
        for solution, report in reports:
            if report.feasible and worse(best, report.objective):
                with pytest.raises(ProofFailed):
                    dlsched.prove(instance, solution, variant=variant)
                labels = {"instance": instance.name, "instance_sha256": instance.sha256}
                forged = proof.to_data() | {"solution": solution.to_data() | labels}
                for level, value in zip(forged["levels"], report.objective, strict=True):
                    level["target"] = str(value)
                (tmp_path / "forged.json").write_text(json.dumps(forged))
                with pytest.raises(InvalidProof):
                    dlsched.check_proof(instance, tmp_path / "forged.json", variant=variant)
                break

    agree()


def worse(best: Any, other: Any) -> bool:
    """Return whether an objective is worse by more than what nine digits leave open."""
    pairs = [(float(a), float(b)) for a, b in zip(best, other, strict=True)]
    first = next(((a, b) for a, b in pairs if a != b), (0.0, 0.0))
    return abs(first[0] - first[1]) > 1e-6 * max(map(abs, first))
