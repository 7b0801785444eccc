"""``certify=True``, and certificates read by an evaluator that shares nothing with their writer."""

import json
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import pyomo.environ as pyo
import pytest

import dlsched
from calls import refusal, run
from dlsched import Bound, Claim, OptionError, StageEvent, Status, Termination
from dlsched.proofs.check import InvalidProof
from dlsched.proofs.document import read_proof
from dlsched.results.proof import Proof

SENSES = {"G": 1, "L": -1, "E": 0}


class Line(NamedTuple):
    """A constraint, and the assumptions that it depends on."""

    sense: int
    side: Fraction
    coefficients: dict[int, Fraction]
    assumptions: frozenset[int] = frozenset()

    def implies(self, other: "Line") -> bool:
        """Whether a point that satisfies this one satisfies the other, by the format's rules."""
        if not self.coefficients and self.sense * self.side > 0:
            return True
        right = other.sense == self.sense and other.sense * (self.side - other.side) >= 0
        return right and self.coefficients == other.coefficients


class Certificate:
    """Reads a certificate and evaluates every line of it."""

    def __init__(self, text: str) -> None:
        self.tokens = iter(re.sub(r"^%.*\n", "", text, flags=re.M).split())
        assert (self.next(), self.next()) == ("VER", "1.0")
        self.columns = [self.next() for _ in range(self.section("VAR"))]
        self.integer = {int(self.next()) for _ in range(self.section("INT"))}
        assert (self.next(), self.next()) == ("OBJ", "min")
        self.costs = self.sparse(int(self.next()))
        stated, self.bounds = self.section("CON"), int(self.next())
        self.lines = [self.line() for _ in range(stated)]
        assert (self.next(), self.next()) == ("RTP", "range")
        self.least, end = Fraction(self.next()), self.next()
        assert end == "inf" and self.section("SOL") == 0
        for _ in range(self.section("DER")):
            self.derive()
        assert next(self.tokens, None) is None

    def next(self) -> str:
        """Return the next token."""
        return next(self.tokens)

    def section(self, name: str) -> int:
        """Return the number at the head of a section."""
        assert self.next() == name
        return int(self.next())

    def pairs(self, count: int) -> Iterator[tuple[int, Fraction]]:
        """Yield pairs of an index and a number."""
        for _ in range(count):
            yield int(self.next()), Fraction(self.next())

    def sparse(self, count: int) -> dict[int, Fraction]:
        """Return coefficients by column."""
        return {j: a for j, a in self.pairs(count) if 0 <= j < len(self.columns) and a}

    def line(self) -> Line:
        """Return a constraint as it is stated."""
        self.next()
        sense, side, count = SENSES[self.next()], Fraction(self.next()), self.next()
        return Line(sense, side, self.costs if count == "OBJ" else self.sparse(int(count)))

    def derive(self) -> None:
        """Add a constraint if its reason holds."""
        wanted, opened, reason = self.line(), self.next(), self.next()
        assert opened == "{" and reason in ("asm", "lin", "rnd", "uns")
        if reason == "asm":
            proved = wanted._replace(assumptions=frozenset([len(self.lines)]))
        elif reason == "uns":
            proved = self.unsplit(wanted, *(int(self.next()) for _ in range(4)))
        else:
            proved = self.sum(int(self.next()), wanted.sense)
            if reason == "rnd":
                self.assert_whole(proved)
                rounded = wanted.sense * math.ceil(wanted.sense * proved.side)
                proved = proved._replace(side=Fraction(rounded))
        assert proved.implies(wanted)
        self.lines.append(wanted._replace(assumptions=proved.assumptions))
        assert (self.next(), self.next()) == ("}", "-1")

    def assert_whole(self, line: Line) -> None:
        """Assert that the left side of a line is a whole number."""
        assert set(line.coefficients) <= self.integer
        assert all(a.denominator == 1 for a in line.coefficients.values())

    def sum(self, count: int, sense: int) -> Line:
        """Return the sum of lines with multipliers."""
        total: dict[int, Fraction] = {}
        side, assumptions, senses = Fraction(0), frozenset[int](), set()
        for i, y in self.pairs(count):
            assert i >= 0 and y
            line = self.lines[i]
            senses.add(line.sense * (1 if y > 0 else -1))
            side += y * line.side
            assumptions |= line.assumptions
            for j, a in line.coefficients.items():
                total[j] = total.get(j, Fraction(0)) + y * a
        assert senses <= {0, sense}
        return Line(sense, side, {j: a for j, a in total.items() if a}, assumptions)

    def unsplit(self, wanted: Line, one: int, below: int, two: int, above: int) -> Line:
        """Return what both sides of a split of a whole number imply."""
        low, high = self.lines[below], self.lines[above]
        assert low.coefficients == high.coefficients
        self.assert_whole(low)
        assert (low.sense, high.sense, low.side + 1) == (-1, 1, high.side)
        assert low.side.denominator == 1
        assert (low.assumptions, high.assumptions) == ({below}, {above})
        first, second = self.lines[one], self.lines[two]
        assert first.implies(wanted) and second.implies(wanted)
        assumptions = (first.assumptions - {below}) | (second.assumptions - {above})
        return wanted._replace(assumptions=assumptions)

    @property
    def proved(self) -> bool:
        """Whether the last line is the bound, without assumptions."""
        last = self.lines[-1]
        bound = Line(1, self.least, self.costs)
        return last.implies(bound) and last.coefficients == self.costs and not last.assumptions


DRAWN: dict[str, tuple[int, dict[str, int]]] = {
    "reclaiming": (5, {"servers": 16, "demand": 5}),
    "elastic": (2, {"jobs": 8}),
    "workers": (3, {"training": 3, "loan": 3, "jobs": 6}),
    "sensitivity": (1, {}),
    "interleaving": (4, {"jobs": 6}),
}
"""Seeds and parameters of small instances that are not shipped; some proofs have splits."""


@pytest.fixture(scope="module")
def proofs() -> Sequence[tuple[dlsched.Instance, Proof]]:
    """The drawn instances with their proofs."""
    instances = (dlsched.generate(name, seed, **extra) for name, (seed, extra) in DRAWN.items())
    return [(instance, dlsched.prove(instance)) for instance in instances]


def exported(folder: Path, instance: Any, proof: Any, level: str | None = None) -> str:
    """Return the certificate of a level, of the first one by default."""
    dlsched.export(instance, folder / "a.vipr", proof=proof, level=level)
    return (folder / "a.vipr").read_text()


def test_certificates_prove_their_bounds(proofs: Any, tmp_path: Path) -> None:
    """Every line holds, the last is the bound without assumptions, and the bound is the optimum."""
    splits = 0
    for instance, proof in proofs:
        for level in proof.levels:
            text = exported(tmp_path, instance, proof, level.level)
            read = Certificate(text)
            assert read.proved and read.bounds == 2 * len(read.columns)
            unit_and_offset = r"(.*)\((\S+)\) \* \(OBJ \+ \((\S+)\)\)"
            found = re.search(rf"^% {level.level} is {unit_and_offset}", text, re.M)
            assert found is not None
            value = Fraction(found[2]) * (read.least + Fraction(found[3]))
            exact = level.kind == "certified"
            assert value == level.target if exact else abs(value / level.target - 1) < 2e-9
            splits += text.count("{ uns ")
        assert exported(tmp_path, instance, proof) == exported(
            tmp_path, instance, proof, proof.levels[0].level
        )
    assert splits > 0


def test_that_there_is_no_solution(tmp_path: Path) -> None:
    """Of three servers half of each would do: the certificate says that 0 is at least 1."""
    instance = dlsched.generate("reclaiming", seed=2, servers=5, jobs=4, demand=2)

    def halves(m: Any, _: Any) -> None:
        m.first = pyo.Constraint(expr=m.x["s2"] + m.x["s3"] == 1)
        m.second = pyo.Constraint(expr=m.x["s3"] + m.x["s4"] == 1)
        m.third = pyo.Constraint(expr=m.x["s2"] + m.x["s4"] == 1 - m.x["s1"])

    variant = dlsched.Variant("reclaiming", "halves", halves, version="1")
    blocked = dlsched.Variant("reclaiming", "blocked", halves, fix={"x[s1]": 0}, version="1")
    assert dlsched.prove(instance, variant=variant).solution is not None
    proof = dlsched.prove(instance, variant=blocked)
    assert proof.solution is None and proof.leaves > 1
    dlsched.export(instance, tmp_path / "a.vipr", proof=proof, variant=blocked)
    read = Certificate((tmp_path / "a.vipr").read_text())
    assert read.proved and read.least == 1 and not any(read.costs.values())
    forged = replace(proof, variant=dlsched.prove(instance, variant=variant).variant)
    with pytest.raises(InvalidProof, match="the variant says something else here"):
        dlsched.check_proof(instance, forged, variant=variant)


def test_sums(tmp_path: Path) -> None:
    """A sum is a column that a row defines, and is split as the others are."""
    name = "interleaving-1000-25"
    file = Path(__file__).parents[2] / "instances" / "interleaving" / "proofs" / f"{name}.json.gz"
    [level] = read_proof(file).levels
    text = exported(tmp_path, name, None)
    read = Certificate(text)
    assert read.proved and level.sums
    known = [(line.coefficients, line.side) for line in read.lines]
    for column, entries in enumerate(level.sums, len(read.columns) - len(level.sums)):
        assert known.count(({**entries, column: -1}, 0)) == 2
        assert f" 1 {column} 1 {{ asm }}" in text


def test_damage_is_noticed(proofs: Any, tmp_path: Path) -> None:
    """The evaluator refuses a higher bound, another multiplier, and a missing side of a split."""
    instance, proof = next(p for p in proofs if any(len(level.nodes) > 1 for level in p[1].levels))
    level = next(level for level in proof.levels if len(level.nodes) > 1)
    text = exported(tmp_path, instance, proof, level.level)
    assert Certificate(text).proved
    higher = re.sub(r"range (-?\d+)", lambda m: f"range {int(m[1]) + 1}", text)
    assert not Certificate(higher).proved
    with pytest.raises(AssertionError):
        Certificate(re.sub(r"(\{ (?:lin|rnd) .*) \}", r"\g<1>7 }", text, count=1))
    with pytest.raises(AssertionError):
        Certificate(re.sub(r"\{ uns (\d+) (\d+) .* \}", r"{ uns \1 \2 \1 \2 }", text, count=1))


def test_what_cannot_be_written_is_refused(proofs: Any, tmp_path: Path) -> None:
    """No level of that name, no proof at all, and one that does not hold."""
    instance, proof = proofs[0]
    with pytest.raises(OptionError, match="no level 'cost'"):
        exported(tmp_path, instance, proof, "cost")
    with pytest.raises(dlsched.InstanceError, match="dlsched prove"):
        exported(tmp_path, instance, None)
    with pytest.raises(InvalidProof):
        exported(tmp_path, instance, replace(proof, levels=proof.levels[:1]))
    assert not list(tmp_path.iterdir())


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
    assert "certified: proof" in run("solve", NAME, "--proof", file).stdout
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

    monkeypatch.setattr(f"dlsched.api.checking.{phase}", interrupted)
    solution, proof = tmp_path / "solution.json", tmp_path / "proof.json"
    ran = run("solve", NAME, "--json", "--output", solution, "--proof", proof)
    result = dlsched.read_result(ran.stdout)
    assert (result.status, result.proof) == (Status.OPTIMAL, None)
    assert result.reason.endswith("; no proof to check: interrupted")
    assert dlsched.verify(NAME, solution).feasible and not proof.exists()
