"""Proofs of bounds: that no solution is better than a value at the first level.

Where no optimum is known, the same forms, trees and leaves prove what a solution cannot beat. Such
a proof has no solution and one level only: what a later one can be depends on the first one's
optimum. It is a file of its own kind, so that none is taken for a proof of optimality, and
`check_bound` is all that accepts it. As the other check, it has no solver and nothing of a search.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from dlsched.errors import InstanceError
from dlsched.proofs.available import Forms
from dlsched.proofs.check import InvalidProof, check_level, validate_label
from dlsched.proofs.document import label_of, level_from_data, text_of
from dlsched.proofs.levels import bound_aim
from dlsched.registry import Problem
from dlsched.results.proof import KINDS, LevelProof
from dlsched.results.result import VariantLabel
from dlsched.schema.envelope import Instance
from dlsched.schema.files import JsonObject, read_json, write_json
from dlsched.variants import owner_of

VERSION = 1
_REMEDY = "make it again: dlsched prove INSTANCE --bound VALUE"


@dataclass(frozen=True)
class BoundProof:
    """That no solution of an instance is better than ``proof.target`` at the first level."""

    problem: str
    instance: str
    instance_sha256: str
    proof: LevelProof
    variant: VariantLabel | None = None

    def to_data(self) -> JsonObject:
        """Return plain JSON data; only a proof of a variant has a field for it."""
        changed = {"variant": self.variant.to_data()} if self.variant else {}
        return {
            "dlsched_bound": VERSION,
            "problem": self.problem,
            **changed,
            "instance": self.instance,
            "instance_sha256": self.instance_sha256,
            "proof": self.proof.to_data(),
        }


@dataclass(frozen=True)
class CheckedBound:
    """A value that no solution of an instance beats at its first level, and the tree's leaves."""

    instance: str
    level: str
    value: Fraction
    leaves: int


def check_bound(
    instance: Instance, proof: BoundProof, owner: Problem | None = None
) -> CheckedBound:
    """Check that no solution of an instance is better than a value; that one has it is not proved.

    The form is built again from the instance. The value is the proof's claim, and what restricted
    forms may leave out follows from it: only what no solution uses that is as good.

    Parameters
    ----------
    owner
        The variant that the proof has to be about; by default the instance's problem.

    Raises
    ------
    InvalidProof
        If something does not agree, or a leaf does not prove what it has to.
    """
    if proof.problem != instance.problem or proof.instance_sha256 != instance.sha256:
        raise InvalidProof(f"the proof is for another instance than {instance.name}")
    owner = owner or owner_of(instance)
    validate_label(owner, proof.variant)
    first = owner.levels[0].name
    level = proof.proof
    if level.level != first:
        raise InvalidProof(f"the proof must be of the level {first}, the first")
    target = level.target
    if target is None or level.kind != KINDS[0]:
        raise InvalidProof(f"{first}: a bound has the kind {KINDS[0]}, and a target")
    forms = Forms(instance, [target], owner)
    leaves = check_level(forms, level, 0, lambda form: bound_aim(form, target))
    return CheckedBound(instance.name, first, target, leaves)


def write_bound(proof: BoundProof, path: str | Path) -> None:
    """Write a proof of a bound; gzipped if the name ends in ``.gz``."""
    write_json(Path(path), proof.to_data())


def read_bound(path: str | Path) -> BoundProof:
    """Read a proof of a bound; that it holds is not checked.

    Raises
    ------
    InstanceError
        If it cannot be read, or is none.
    """
    return bound_from_data(read_json(Path(path)), str(path))


def bound_from_data(data: Mapping[str, Any], where: str) -> BoundProof:
    """Return the proof of a bound that JSON data describe.

    Raises
    ------
    InstanceError
        If they describe none.
    """
    if data.get("dlsched_bound") != VERSION:
        raise InstanceError(where, "dlsched_bound", f"must be {VERSION}", _REMEDY)
    return BoundProof(
        text_of(data, "problem", where),
        text_of(data, "instance", where),
        text_of(data, "instance_sha256", where),
        level_from_data(data.get("proof"), "proof", where),
        label_of(data, where),
    )
