"""The check of a proof: no solver, and nothing of the search."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

from dlsched.errors import DlschedError
from dlsched.proofs.available import Forms
from dlsched.proofs.forms.form import Form
from dlsched.proofs.levels import Aim, aim, none_aim
from dlsched.proofs.sums import InvalidSum, with_sums
from dlsched.proofs.tree import InvalidTree, check_tree
from dlsched.registry import Problem
from dlsched.results.proof import KINDS, Kind, LevelProof, Proof
from dlsched.results.result import VariantLabel
from dlsched.schema.envelope import Instance
from dlsched.schema.quantities import Number
from dlsched.variants import owner_of


class InvalidProof(DlschedError):
    """A proof that does not prove its claim; the message says where it fails."""


@dataclass(frozen=True)
class CheckedLevel:
    """A level whose optimum is proved: its value, how exactly, and the leaves of the tree.

    The value is ``None`` if it is proved that there is no solution.
    """

    level: str
    value: Number | None
    kind: Kind
    leaves: int


@dataclass(frozen=True)
class CheckedProof:
    """What a proof proves: that a solution is optimal, level by level, or that there is none."""

    instance: str
    levels: Sequence[CheckedLevel]


def check_proof(instance: Instance, proof: Proof, owner: Problem | None = None) -> CheckedProof:
    """Check that a proof's solution is optimal for an instance, or that this has no solution.

    The solution's objective is recomputed by the problem's checker, and every form is built again
    from the instance; of the proof's own figures only the multipliers, the sums, the splits and
    the parameters of the forms are used, and these cannot make a false proof valid.
    Of a variant the added variables have the values that the check of solutions chooses.

    Parameters
    ----------
    owner
        The variant that the proof has to be about; by default the instance's problem.

    Raises
    ------
    InvalidProof
        If something does not agree, or a leaf does not prove what it has to.
    InstanceError
        If the solution cannot be read.
    """
    if proof.problem != instance.problem or proof.instance_sha256 != instance.sha256:
        raise InvalidProof(f"the proof is for another instance than {instance.name}")
    owner = owner or owner_of(instance)
    validate_label(owner, proof.variant)
    names = [level.name for level in owner.levels]
    if proof.solution is None:
        return CheckedProof(instance.name, [_check_none(Forms(instance, [], owner), proof.levels)])
    targets = _objective(owner, instance, proof.solution)
    if [level.level for level in proof.levels] != names:
        raise InvalidProof(f"the proof must have the levels {', '.join(names)}, in this order")
    forms = Forms(instance, targets, owner)
    checked = []
    for i, level in enumerate(proof.levels):
        if level.target != Fraction(targets[i]):
            raise InvalidProof(
                f"{level.level}: the proof's target is {level.target}, the solution's {targets[i]}"
            )
        aim_of = partial(aim, level=i, targets=targets, kind=level.kind)
        leaves = check_level(forms, level, i, aim_of)
        checked.append(CheckedLevel(level.level, targets[i], level.kind, leaves))
    return CheckedProof(instance.name, checked)


def validate_label(owner: Problem, stated: VariantLabel | None) -> None:
    """Raise `InvalidProof` if a proof is about a variant of another name, or none, or about one.

    Whether one of this name is the same, whatever its identity, the digests of the forms decide.
    """
    if stated is None and owner.label is not None:
        raise InvalidProof(f"the proof is of {owner.name} itself, not of a variant")
    if stated is not None and owner.label is None:
        remedy = "give the variant: variant=, or --variant FILE:NAME"
        what = f"the variant {stated.name}, not of {owner.name} itself"
        raise InvalidProof(f"the proof is of {what}; {remedy}")
    if stated is not None and owner.label is not None and stated.name != owner.label.name:
        raise InvalidProof(f"the proof is of the variant {stated.name}, not of {owner.label.name}")


def _check_none(forms: Forms, levels: Sequence[LevelProof]) -> CheckedLevel:
    """Check that a form that every solution satisfies has no point."""
    first = forms.owner.levels[0].name
    stated = [(level.level, level.target, level.kind) for level in levels]
    if stated != [(first, None, KINDS[0])]:
        raise InvalidProof(f"without a solution it must have the level {first} alone, without one")
    return CheckedLevel(first, None, KINDS[0], check_level(forms, levels[0], 0, none_aim))


def _objective(owner: Problem, instance: Instance, stated: Mapping[str, Any]) -> Sequence[Number]:
    """Return the objective of the proof's solution, by the problem's checker."""
    solution = owner.solution.parse(dict(stated), "the solution of the proof")
    report = owner.check(instance, solution)
    if not report.feasible or report.objective is None:
        raise InvalidProof(f"its solution is infeasible: {report.violations[0].message}")
    return report.objective


def check_level(forms: Forms, level: LevelProof, number: int, aim_of: Callable[[Form], Aim]) -> int:
    """Check the tree of a level against its form, built anew; return the number of leaves.

    Parameters
    ----------
    aim_of
        Returns what a form has to prove.

    Raises
    ------
    InvalidProof
        If the form is another one, or the tree does not prove this.
    """
    try:
        form = forms.build(level.form, level.parameters, number)
        wanted = aim_of(form)
    except (ValueError, DlschedError) as error:
        raise InvalidProof(f"{level.level}: {error}") from None
    if form.digest != level.digest:
        other = ", since the variant says something else here" if forms.owner.label else ""
        message = f"the digest is not that of the form {level.form}{other}"
        raise InvalidProof(f"{level.level}: {message}")
    try:
        wider, rows = with_sums(form, wanted.rows, level.sums)
        return check_tree(wider, rows, wanted.goal.costs, level.nodes, wanted.least, wanted.strict)
    except (InvalidSum, InvalidTree) as error:
        raise InvalidProof(f"{level.level}: {error}") from None
