"""The proof of a level as a VIPR certificate, which public programs check: see ``docs/proofs.md``.

The format is that of Cheung, Gleixner and Steffy, "Verifying integer programming results", IPCO
2017. A certificate states the form's rows, what is minimized, and the bound to prove; each further
line is an assumption, a sum of earlier lines, or what follows from both sides of a split.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from fractions import Fraction

from dlsched.errors import OptionError, plain
from dlsched.proofs.available import Forms
from dlsched.proofs.forms.form import Form, Row
from dlsched.proofs.levels import Aim, aim, none_aim
from dlsched.proofs.sums import with_sums
from dlsched.registry import Problem
from dlsched.results.proof import Leaf, LevelProof, Proof, Split
from dlsched.schema.envelope import Instance
from dlsched.schema.quantities import Number

MOST_NUMBERS = 5_000_000
"""The most coefficients and multipliers of a certificate, some 50 MB of text."""
_WRITTEN = {"level", "target", "kind", "form", "digest", "nodes", "parameters", "sums"}
"""The parts of a level's proof that a certificate has; another one that is not empty is refused."""


@dataclass(frozen=True)
class _Side:
    """One side of a row, or a bound of a column: the constraint that states it, and its value."""

    constraint: int
    value: int


@dataclass
class _Branch:
    """A split on the way to a node: the column's bounds before it, and how far it is derived."""

    split: Split
    lower: _Side
    upper: _Side
    assumption: int
    first: tuple[int, int] | None = None
    """The line that the first child proves, and its assumption."""


def certificates(
    instance: Instance,
    proof: Proof,
    targets: Sequence[Number],
    only: str | None = None,
    owner: Problem | None = None,
) -> Iterator[tuple[str, str]]:
    """Yield the levels of a proof that was checked, each with its certificate.

    Parameters
    ----------
    targets
        The objective of the proof's solution, by level; empty without one.
    only
        The level to write; by default all.
    owner
        The variant that the proof is about; by default the instance's problem.

    Raises
    ------
    OptionError
        If a certificate would be too large, or the proof has a part that is not known here.
    """
    built = Forms(instance, targets, owner)
    for number, level in enumerate(proof.levels):
        if only in (None, level.level):
            form = built.build(level.form, level.parameters, number)
            none = level.target is None
            wanted = none_aim(form) if none else aim(form, number, targets, level.kind)
            yield level.level, _header(instance, level, wanted) + _Writer(level, wanted, form).text


class _Writer:
    """Writes one certificate. Constraints are counted from 0, those that are derived included."""

    def __init__(self, level: LevelProof, wanted: Aim, form: Form) -> None:
        self.level = level
        self.wanted = wanted
        self._numbers = 0
        for part in fields(level):
            if part.name not in _WRITTEN and getattr(level, part.name):
                raise self._error(f"{part.name} cannot be written in a certificate")
        self.least = wanted.least + 1 if wanted.strict else wanted.least
        self._lines: list[str] = []
        form, self.rows = with_sums(form, wanted.rows, level.sums)
        self.lower = self._bounds("G", form.lower)
        self.upper = self._bounds("L", form.upper)
        self.sides = [self._row(row) for row in self.rows]
        stated = len(self._lines)
        self._derive()
        columns = len(form.integer)
        whole = [str(j) for j, flag in enumerate(form.integer) if flag]
        sections = [
            f"VAR {columns}",
            " ".join(f"x{j}" for j in range(columns)),
            f"INT {len(whole)}",
            " ".join(whole),
            f"OBJ min {_sparse(wanted.goal.costs)}",
            f"CON {stated} {2 * columns}",
            *self._lines[:stated],
            f"RTP range {self.least} inf",
            "SOL 0",
            f"DER {len(self._lines) - stated}",
            *self._lines[stated:],
        ]
        self.text = "\n".join(sections) + "\n"

    def _error(self, problem: str) -> OptionError:
        return OptionError(f"{self.level.level}: {problem}; dlsched check-proof checks the proof")

    def _count(self, numbers: int) -> None:
        self._numbers += numbers
        if self._numbers > MOST_NUMBERS:
            raise self._error(f"a certificate of more than {MOST_NUMBERS:,} numbers is not written")

    def _add(self, line: str) -> int:
        self._lines.append(f"c{len(self._lines)} {line}")
        return len(self._lines) - 1

    def _state(self, line: str, value: int) -> _Side:
        return _Side(self._add(line), value)

    def _bounds(self, sense: str, bounds: Sequence[int]) -> list[_Side]:
        return [self._state(f"{sense} {v} 1 {j} 1", v) for j, v in enumerate(bounds)]

    def _row(self, row: Row) -> tuple[_Side | None, _Side | None]:
        self._count(2 * len(row.coefficients))
        entries = _sparse(row.coefficients)
        low = None
        high = None
        if row.low is not None:
            low = self._state(f"G {row.low} {entries}", row.low)
        if row.high is not None:
            high = self._state(f"L {row.high} {entries}", row.high)
        return low, high

    def _derive(self) -> None:
        """Add the lines of all nodes; the last one is the bound, without assumptions."""
        path: list[_Branch] = []
        for node in self.level.nodes:
            if isinstance(node, Split):
                path.append(self._branch(node))
                continue
            line = self._leaf(node)
            while path and path[-1].first is not None:
                line = self._unsplit(path.pop(), path_line=line)
            if path:
                self._turn(path[-1], line)

    def _branch(self, split: Split) -> _Branch:
        """Enter the first child of a split."""
        j = split.column
        below = self._assume("L", j, split.at)
        branch = _Branch(split, self.lower[j], self.upper[j], below.constraint)
        self.upper[j] = below
        return branch

    def _turn(self, branch: _Branch, line: int) -> None:
        """Go on to the second child; a line has proved the first."""
        j = branch.split.column
        above = self._assume("G", j, branch.split.at + 1)
        self.lower[j] = above
        self.upper[j] = branch.upper
        branch.first = (line, branch.assumption)
        branch.assumption = above.constraint

    def _unsplit(self, branch: _Branch, path_line: int) -> int:
        """Leave a split; a line has proved its second child."""
        j = branch.split.column
        self.lower[j] = branch.lower
        self.upper[j] = branch.upper
        first, assumption = branch.first or (-1, -1)
        return self._prove(f"uns {first} {assumption} {path_line} {branch.assumption}")

    def _assume(self, sense: str, column: int, value: int) -> _Side:
        return self._state(f"{sense} {value} 1 {column} 1 {{ asm }} -1", value)

    def _prove(self, reason: str) -> int:
        """Add the bound; the sum that shows a node to be empty implies it, too."""
        return self._add(f"G {self.least} OBJ {{ {reason} }} -1")

    def _leaf(self, leaf: Leaf) -> int:
        strict = leaf.empty or self.wanted.strict
        scale = 0 if leaf.empty else 1 << leaf.bits
        total, terms = self._sum(self.wanted.goal.costs, scale, leaf.multipliers)
        needed = self.wanted.least * scale
        if total < needed or (strict and total == needed):
            raise self._error("a leaf does not prove the bound")
        # With costs that are whole, what is above the whole number `wanted.least` is rounded up.
        reason = "rnd" if strict and not leaf.empty else "lin"
        return self._prove(f"{reason} {terms}")

    def _sum(
        self, coefficients: Mapping[int, int], scale: int, multipliers: Mapping[int, int]
    ) -> tuple[int, str]:
        """Return a sum of constraints whose left side is ``scale * coefficients``.

        It has the multipliers of the rows, and of the columns' bounds at the node what is missing
        then. The right side is returned, and the terms, divided by the scale unless that is 0.
        """
        missing = {j: scale * c for j, c in coefficients.items()}
        used: list[tuple[_Side, int]] = []
        for i, y in multipliers.items():
            side = None
            if 0 <= i < len(self.sides):
                low, high = self.sides[i]
                side = low if y > 0 else high
            if side is None:
                raise self._error(f"a leaf has row {i}, which the form does not have")
            used.append((side, y))
            for j, a in self.rows[i].coefficients.items():
                missing[j] = missing.get(j, 0) - y * a
        for j, d in missing.items():
            if d:
                used.append((self.lower[j] if d > 0 else self.upper[j], d))
        used = [(side, y) for side, y in used if y]
        self._count(2 * len(used))
        terms = [f"{side.constraint} {Fraction(y, scale or 1)}" for side, y in used]
        total = sum(side.value * y for side, y in used)
        return total, " ".join([str(len(used)), *terms])


def _sparse(coefficients: Mapping[int, int]) -> str:
    """Return coefficients as a certificate has them: their number, then columns and values."""
    entries = [f"{j} {a}" for j, a in sorted(coefficients.items()) if a]
    return " ".join([str(len(entries)), *entries])


def _header(instance: Instance, level: LevelProof, wanted: Aim) -> str:
    """Return comments that say what is proved, and the format's version."""
    goal = wanted.goal
    name = " ".join(plain(instance.name).split())
    relation = "is at least" if goal.sign == 1 else "is at most"
    if goal.exact:
        relation = "is"
    value = f"({goal.sign * goal.unit}) * (OBJ + ({goal.offset}))"
    proved = f"{level.level} {relation} {value}; the optimum is {level.target}, {level.kind}"
    if level.target is None:
        proved = "there is no solution: OBJ, which is 0, is at least 1"
    comments = [
        f"{instance.problem} {name}, sha256 {instance.sha256}",
        f"form {level.form}, sha256 {level.digest}",
        proved,
    ]
    return "".join(f"% {line}\n" for line in comments) + "VER 1.0\n"
