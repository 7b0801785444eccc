"""``certify=True``: results that carry a checked proof, or say why there is none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import dlsched
from calls import refusal, run
from dlsched import Bound, Claim, StageEvent, Status, Termination

NAME = "reclaiming-small-10"


@pytest.mark.parametrize("name", [NAME, "interleaving-small-01"])
def test_a_certified_result_has_its_proof(name: str) -> None:
    """No bound is claimed, and all else is as without it; JSON keeps it."""
    plain, result = dlsched.solve(name), dlsched.solve(name, certify=True)
    assert plain.proof is None and dict(result.solution) == dict(plain.solution)
    for before, bound in zip(plain.bound, result.bound, strict=True):
        assert bound == before if before.kind == "certified" else bound.method == "proof"
    assert any(bound.method == "proof" for bound in result.bound)
    assert result.certified == result.bound and set(result.gap) == {0}
    assert (result.status, result.reason) == (plain.status, plain.reason)
    assert dlsched.read_result(result.to_json()) == result


def boastful(instance: Any, rng: Any) -> Claim:
    """Return a poor solution, called optimal and certified."""
    worse = dlsched.solve(instance, "random", seed=1)
    bounds = [[Bound(value, "certified", "boast")] for value in worse.objective]
    reason = "proved optimal"
    return Claim(worse.solution, status=Status.OPTIMAL, bounds=bounds, reason=reason)


def test_a_refuted_claim_ends_as_such() -> None:
    """It loses its status and the bounds that are false, and its reason says what refutes it."""
    result = dlsched.solve(NAME, boastful, certify=True)
    assert (result.status, result.termination) == (Status.FEASIBLE, Termination.REFUTED)
    assert set(result.bound) == set(result.gap) == {None} and result.proof is None
    assert "better than preempted = 10 (claimed, boast); milp found 2" in result.reason
    assert "not proved optimal" in result.summary() and "is refuted" in result.summary()
    assert dlsched.read_result(result.to_json()) == result
    (row,) = dlsched.compare([NAME], [boastful], certify=True).to_dict("records")
    assert row["refuted"] == result.reason and row["termination"] == "refuted"


def test_a_refuted_claim_of_infeasibility() -> None:
    """A method that calls a feasible instance infeasible ends as one that found no solution."""

    def gives_up(instance: Any, rng: Any) -> Claim:
        return Claim(status=Status.INFEASIBLE, reason="I say so")

    said = dlsched.solve(NAME, gives_up)
    assert (said.status, said.termination) == (Status.INFEASIBLE, Termination.CLAIMED)
    assert "Claimed by the method, not proved: the instance has no solution" in said.summary()
    refuted = dlsched.solve(NAME, gives_up, certify=True)
    assert (refuted.status, refuted.termination) == (Status.NO_SOLUTION, Termination.REFUTED)
    assert "infeasible; milp found a solution" in refuted.reason


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (dlsched.SolverFailure("HiGHS rejected the form"), "preempted: HiGHS rejected the form"),
        (MemoryError(), "out of memory"),
        (KeyboardInterrupt(), "interrupted"),
        (RecursionError("deep"), "RecursionError: deep"),
    ],
)
def test_no_failure_of_the_proof_loses_the_result(error: BaseException, said: str) -> None:
    """Whatever is raised while the proof is made, the solved result has it as its reason."""

    def fail(event: StageEvent) -> None:
        if event.detail.startswith("a proof of"):
            raise error

    result = dlsched.solve(NAME, certify=True, on_stage=fail)
    assert result.status is Status.OPTIMAL and result.proof is None
    assert result.reason == f"proved optimal; no proof to check: {said}"


def test_a_proof_closes_the_gap() -> None:
    """An optimum that a method has within a gap is proved, with a gap of 0."""
    best = dlsched.solve(NAME)

    def loose(instance: Any, rng: Any) -> Claim:
        bounds = [[Bound(value / 2, "claimed", "half")] for value in best.objective]
        return Claim(best.solution.to_data(), status=Status.OPTIMAL, bounds=bounds)

    before = dlsched.solve(NAME, loose, gap=0.5)
    after = dlsched.solve(NAME, loose, gap=0.5, certify=True)
    assert (before.termination, after.termination) == (Termination.CLAIMED, Termination.PROVED)
    assert "better by more than the gap" in before.summary()
    assert before.gap[0] == 0.5 and set(after.gap) == {0} and after.reason == "proved optimal"
    assert {bound.method for bound in after.bound} == {"proof"}


def test_command(tmp_path: Path) -> None:
    """JSON has the proof; with --proof it is a file that check-proof accepts."""
    file = tmp_path / "p.json"
    shown = json.loads(run("solve", NAME, "--certify", "--json").stdout)
    assert "certified, proof" in run("solve", NAME, "--proof", file).stdout
    assert shown["proof"]["levels"] == json.loads(file.read_text())["levels"]
    run("check-proof", NAME, file)


def test_files_that_cannot_be_written(workdir: Path) -> None:
    """They are refused before the search, and nothing is written, neither here nor elsewhere.

    A proof would replace the solution, however the file is spelled; of several certificates none
    is written if one cannot be; an instance's name may be none of a file.
    """
    Path("sub").mkdir()
    said = refusal("solve", NAME, "--output", "a.json", "--proof", "sub/../a.json")
    assert "both --output and --proof" in said
    for taken in (f"{NAME}.proof.json.gz", f"{NAME}.collateral.vipr"):
        Path(taken).mkdir()
    for command in (["prove", NAME, "--limit", "0"], ["export", NAME, "--format", "vipr"]):
        assert "it is a directory" in run(*command, status=2).stderr
    for name in ("../../x", "/x", "a\nb", "a\0b", "x" * 300, "a\\b"):
        named = dlsched.load(NAME).model_copy(update={"name": name})
        Path("i.json").write_text(json.dumps(named.to_data()))
        for command in (["prove", "i.json"], ["export", "i.json", "--format", "vipr"]):
            assert "name the file" in run(*command, status=2).stderr
    assert [path.name for path in workdir.rglob("*") if path.is_file()] == ["i.json"]


@pytest.mark.parametrize("phase", ["prove_solution", "check_proof"])
def test_interrupt_keeps_solution(
    phase: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C while the proof is searched or checked leaves the solution, and writes no proof."""

    def interrupted(*arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(f"dlsched.api.certifying.{phase}", interrupted)
    solution, proof = tmp_path / "solution.json", tmp_path / "proof.json"
    ran = run("solve", NAME, "--json", "--output", solution, "--proof", proof)
    result = dlsched.read_result(ran.stdout)
    assert (result.status, result.proof) == (Status.OPTIMAL, None)
    assert result.reason.endswith("; no proof to check: interrupted")
    assert dlsched.verify(NAME, solution).feasible and not proof.exists()
