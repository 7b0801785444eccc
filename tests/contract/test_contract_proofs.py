"""Proofs of every problem: accepted for what is true, refused or harmless once tampered with."""

import json
import random
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import dlsched
from contract import (
    drawn,
    every_problem,
    examples,
    instances,
    methods,
    optimum,
    places,
    solved,
    widely,
    with_value,
)
from dlsched.proofs.bounds import read_bound, write_bound
from dlsched.proofs.check import InvalidProof
from dlsched.proofs.document import read_proof, write_proof
from dlsched.proofs.prove import ProofFailed
from dlsched.registry import Kind

REFUSED = (InvalidProof, dlsched.InstanceError)
STATED = ("problem", "instance_sha256", "level", "target", "kind", "form", "digest")
"""Fields that must be as they are; multipliers, splits and parameters may be others that prove."""


@cache
def proved(instance: Any) -> dict[str, Any]:
    """Return the data of a proof of an instance's optimum."""
    solution = dlsched.solve(instance).solution
    assert solution is not None
    data: dict[str, Any] = dlsched.prove(instance, solution).to_data()
    return data


def checked(instance: Any, data: Any, folder: Path) -> Any:
    """Return what a proof's data prove, read from a file."""
    file = folder / "proof.json"
    file.write_text(json.dumps(data))
    return dlsched.check_proof(instance, file)


@every_problem
@widely(3, 25)
def test_optima_are_proved(name: str, count: int, tmp_path: Path) -> None:
    """The proof of an optimum is accepted, has it at every level, and is the same when written."""
    for instance in instances(name, count):
        best = optimum(instance)
        if best is None:
            continue
        try:
            data = proved(instance)
        except ProofFailed:
            assert instance not in examples(name), "an example has no proof"
            continue
        levels = checked(instance, data, tmp_path).levels
        assert [level.level for level in levels] == [level.name for level, _ in best.pairs()]
        for level, value in zip(levels, best, strict=True):
            slack = 0 if level.kind == "certified" else Fraction(1, 10**9)
            assert abs(level.value - value) <= slack * abs(value)
        write_proof(read_proof(tmp_path / "proof.json"), tmp_path / "again.json")
        assert json.loads((tmp_path / "again.json").read_text()) == json.loads(json.dumps(data))
        other = next(i for i in drawn(name, 30) if i.sha256 != instance.sha256)
        with pytest.raises(InvalidProof, match="another instance"):
            dlsched.check_proof(other, tmp_path / "again.json")


def damaged(data: Any, rng: random.Random) -> list[tuple[Any, Any]]:
    """Return names of fields and copies of JSON data with one number, text or list changed."""
    copies = []
    for path, value in places(data):
        if path[0] == "solution" and path[1:2] not in ((), ("instance_sha256",)):
            others: list[Any] = []  # another solution is another claim; see below
        elif type(value) in (int, float):
            others = [value + 1, value - 1, -value or 7, value * 2 + 3, value + 10**9, value + 0.5]
        elif isinstance(value, str) and value.replace("/", "").lstrip("-").isdigit():
            others = [str(Fraction(value) + 1), str(Fraction(value) - 1), "0", "1/0"]
        elif isinstance(value, str):
            others = ["", "0" * 64, "certified" if path[-1] == "kind" else "model"]
        elif isinstance(value, list) and value:
            others = [value[:-1], value[1:], [*value, value[-1]], value[::-1], []]
        else:
            others = [None]
        copies += [(path[-1], with_value(data, path, o)) for o in others if o != value]
    rng.shuffle(copies)
    return copies


@every_problem
@widely(25, 500)
def test_a_tampered_proof_proves_nothing_else(name: str, count: int, tmp_path: Path) -> None:
    """Whatever is changed in its document, it is refused, or proves what it proved."""
    refused = 0
    for instance in [*examples(name)[:2], *drawn(name, 12)[-2:]]:
        if optimum(instance) is None:
            continue
        try:
            data = json.loads(json.dumps(proved(instance)))
        except ProofFailed:
            continue
        true = [(level.level, level.value) for level in checked(instance, data, tmp_path).levels]
        kinds = [level["kind"] for level in data["levels"]]
        copies = damaged(data, random.Random(name))
        stated = [pair for pair in copies if pair[0] in STATED]
        for changed, copy in [*stated[:count], *copies[:count]]:
            try:
                found = checked(instance, copy, tmp_path)
            except REFUSED:
                refused += 1
                continue
            assert changed not in STATED
            assert [(level.level, level.value) for level in found.levels] == true
            assert [level.kind for level in found.levels] == kinds
    assert refused


@every_problem
def test_a_worse_solution_is_not_proved(name: str, tmp_path: Path) -> None:
    """Neither by `prove` nor by the optimum's proof with its solution and targets exchanged."""
    tried = 0
    for instance in instances(name, 25):
        best = optimum(instance)
        if best is None or tried == 3:
            continue
        for method in methods(name, Kind.HEURISTIC, Kind.BASELINE):
            worse = solved(instance, method)
            if worse is None or worse.objective is None or not best.better_than(worse.objective):
                continue
            with pytest.raises(ProofFailed):
                dlsched.prove(instance, worse.solution)
            data = json.loads(json.dumps(proved(instance)))
            data["solution"] = worse.solution.to_data()
            for level, value in zip(data["levels"], worse.objective, strict=True):
                level["target"] = str(Fraction(value))
            with pytest.raises(InvalidProof):
                checked(instance, data, tmp_path)
            tried += 1
            break
    assert tried


@every_problem
def test_bounds_are_proved_and_no_better_ones(name: str, tmp_path: Path) -> None:
    """A bound at the optimum is certified; one beyond it is not, nor is a tampered document."""
    file, rng = tmp_path / "bound.json", random.Random(name)
    for instance in [examples(name)[0], *drawn(name, 12)[-2:]]:
        best = optimum(instance)
        if best is None:
            continue
        (level, value), *_ = best.pairs()
        sign = 1 if level.sense == "max" else -1
        step = max(abs(Fraction(value)), Fraction(1)) / 100
        with pytest.raises((ProofFailed, dlsched.OptionError)):
            dlsched.prove_bound(instance, Fraction(value) - sign * step)
        try:
            proof = dlsched.prove_bound(instance, Fraction(value) + sign * step)
        except (ProofFailed, dlsched.OptionError):
            assert instance not in examples(name)
            continue
        write_bound(proof, file)
        found = dlsched.check_bound(instance, file)
        assert not level.better(value, found.value)
        write_bound(read_bound(file), tmp_path / "again.json")
        assert (tmp_path / "again.json").read_bytes() == file.read_bytes()
        for _, copy in damaged(json.loads(file.read_text()), rng)[:30]:
            file.write_text(json.dumps(copy))
            try:
                other = dlsched.check_bound(instance, file)
            except REFUSED:
                continue
            assert not level.better(value, other.value)


@every_problem
def test_that_there_is_no_solution_is_proved_where_there_is_none(name: str, tmp_path: Path) -> None:
    """A tampered proof is refused, and one of another instance, whatever its document says."""
    none = [instance for instance in instances(name, 40) if optimum(instance) is None]
    for instance in none[:3]:
        result = dlsched.solve(instance, certify=True)
        assert result.status == result.termination == "infeasible" and result.proof is not None
        data = json.loads(json.dumps(dlsched.prove(instance).to_data()))
        (true,) = checked(instance, data, tmp_path).levels
        assert (true.value, true.kind) == (None, "certified")
        for changed, copy in damaged(data, random.Random(name))[:60]:
            try:
                assert checked(instance, copy, tmp_path).levels[0].value is None
            except REFUSED:
                continue
            assert changed not in STATED
        for other in examples(name):
            forged = data | {"instance_sha256": other.sha256}
            for digest in {level["digest"] for level in proved(other)["levels"]}:
                forged["levels"] = [data["levels"][0] | {"digest": digest}]
                with pytest.raises(InvalidProof):
                    checked(other, forged, tmp_path)
    for instance in examples(name)[:2]:  # which have solutions: their proofs prove nothing else
        data = json.loads(json.dumps(proved(instance)))
        for level in data["levels"]:
            first = level | {"level": data["levels"][0]["level"], "target": None}
            forged = data | {"solution": None, "levels": [first | {"kind": "certified"}]}
            with pytest.raises(InvalidProof):
                checked(instance, forged, tmp_path)


@every_problem
def test_a_certified_result_has_a_proof(name: str) -> None:
    """`solve(certify=True)` proves what it calls optimal, and its bounds have the proof's kinds."""
    for instance in examples(name)[:2]:
        result = dlsched.solve(instance, certify=True)
        assert result.proof is not None, result.reason
        assert [bound.kind for bound in result.bound] == [
            level.kind for level in result.proof.levels
        ]
