"""A proof that a solution is optimal, or that there is none, as data: trees, sums, their form.

What makes proofs and what checks them is `dlsched.proofs`; results only carry them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal, NamedTuple, TypeAlias

from dlsched.errors import OptionError
from dlsched.schema.files import JsonObject
from dlsched.schema.quantities import to_json
from dlsched.text.figures import shorten
from dlsched.text.rendering import Rendered

VERSION = 1
Kind = Literal["certified", "certified to nine digits"]
KINDS: tuple[Kind, Kind] = ("certified", "certified to nine digits")
_LONGEST_REPR = 300
"""Characters of a proof's ``repr``."""


class VariantLabel(NamedTuple):
    """The change of the problem that was solved: name, identity, digest of what it added."""

    name: str
    sha256: str | None
    model_sha256: str | None = None

    def to_data(self) -> JsonObject:
        """Return name and identity; without one it is an `OptionError`."""
        if self.sha256 is None:
            why = "a function of it is in no file, or was given what cannot be pickled"
            raise OptionError(f'variant {self.name} has no identity: {why}; state version="1"')
        return {"name": self.name, "sha256": self.sha256}


@dataclass(frozen=True)
class Split:
    """A node with two children: first ``x[column] <= at``, then ``x[column] >= at + 1``."""

    column: int
    at: int

    def to_data(self) -> list[int]:
        """Return plain JSON data."""
        return [self.column, self.at]


@dataclass(frozen=True)
class Leaf:
    """A node without children.

    Attributes
    ----------
    bits
        The multipliers are of the rows' integers, times ``2**bits``.
    multipliers
        ``{row: integer}``; other rows have 0.
    empty
        Whether they prove that the node has no point; otherwise, that none reaches the target.
    """

    bits: int
    multipliers: Mapping[int, int]
    empty: bool = False

    def to_data(self) -> list[int | list[int]]:
        """Return plain JSON data."""
        return [
            self.bits,
            int(self.empty),
            list(self.multipliers),
            list(self.multipliers.values()),
        ]


Node = Split | Leaf
Sum: TypeAlias = Mapping[int, int]
"""``{column: integer}``, of integer columns of a form."""


@dataclass(frozen=True)
class LevelProof:
    """The proof of one level.

    Attributes
    ----------
    level, target
        The level's name; the value of the solution, which is proved to be optimal, or ``None`` if
        it is proved that there is no solution.
    kind
        Whether the target itself is proved, or all but a billionth of it.
    form, parameters, digest
        Name of the form, what it is derived from beside the instance, and its digest.
    nodes
        The tree in preorder.
    sums
        Of columns of the form; the tree splits them, too.
    """

    level: str
    target: Fraction | None
    kind: Kind
    form: str
    digest: str
    nodes: Sequence[Node]
    parameters: Mapping[str, Any] = field(default_factory=dict)
    sums: Sequence[Sum] = ()

    @property
    def leaves(self) -> int:
        """The number of leaves of the tree."""
        return sum(isinstance(node, Leaf) for node in self.nodes)

    @property
    def shown(self) -> str:
        """The target as text."""
        return "no solution" if self.target is None else str(self.target)

    def __repr__(self) -> str:
        """Return the level, the form, and the size of the tree."""
        return (
            f"<proof of {self.level}={shorten(self.shown, 20)} ({self.kind}) by the form "
            f"{self.form}: {len(self.nodes):,} nodes, {len(self.sums):,} sums>"
        )

    def to_data(self) -> JsonObject:
        """Return plain JSON data; without sums there is no field for them."""
        listed = [[list(entries), list(entries.values())] for entries in self.sums]
        sums = {"sums": listed} if listed else {}
        return {
            "level": self.level,
            "target": None if self.target is None else str(self.target),
            "kind": self.kind,
            "form": self.form,
            "parameters": dict(self.parameters),
            "digest": self.digest,
            **sums,
            "tree": [node.to_data() for node in self.nodes],
        }


@dataclass(frozen=True)
class Proof(Rendered):
    """That a solution of an instance is optimal, level by level: of its problem or a variant.

    Where `solution` is ``None``, that there is none; the one level is then the first.
    """

    problem: str
    instance: str
    instance_sha256: str
    solution: Mapping[str, Any] | None
    levels: Sequence[LevelProof]
    variant: VariantLabel | None = None

    def __repr__(self) -> str:
        """Return the instance, the levels with what they are proved to be, and the trees' size."""
        targets = ", ".join(f"{level.level}={shorten(level.shown, 20)}" for level in self.levels)
        return shorten(
            f"<proof for {self.problem} instance {self.instance!r}: {targets}; "
            f"{self.leaves:,} leaves>",
            _LONGEST_REPR,
        )

    @property
    def leaves(self) -> int:
        """The number of leaves of all trees."""
        return sum(level.leaves for level in self.levels)

    @property
    def exact(self) -> bool:
        """Whether every level is proved exactly."""
        return all(level.kind == KINDS[0] for level in self.levels)

    def to_data(self) -> JsonObject:
        """Return plain JSON data; only a proof of a variant has a field for it."""
        changed = {"variant": self.variant.to_data()} if self.variant else {}
        return {
            "dlsched_proof": VERSION,
            "problem": self.problem,
            **changed,
            "instance": self.instance,
            "instance_sha256": self.instance_sha256,
            "solution": _plain(self.solution),
            "levels": [level.to_data() for level in self.levels],
        }


def _plain(value: Any) -> Any:
    """Return data as JSON has them: reading a file makes fractions of decimals."""
    if isinstance(value, Mapping):
        return {key: _plain(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_plain(part) for part in value]
    return to_json(value) if isinstance(value, Fraction) else value
