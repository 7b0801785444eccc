"""Certificates: read by an evaluator of the format that shares nothing with what writes them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import dlsched
from dlsched import OptionError
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

    def implies(self, other: Line) -> bool:
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
