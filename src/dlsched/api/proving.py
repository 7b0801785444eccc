"""Proofs of optimality and of bounds: made by a search, and checked without one."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from dlsched import library
from dlsched.api.loading import InstanceLike, SolutionLike, load, load_solution
from dlsched.api.solving import solve
from dlsched.errors import InstanceError, OptionError
from dlsched.execution.executors import run_all, validate_executor
from dlsched.proofs import bounds
from dlsched.proofs.bounds import BoundProof, CheckedBound
from dlsched.proofs.check import CheckedProof
from dlsched.proofs.check import check_proof as check
from dlsched.proofs.document import read_proof
from dlsched.proofs.prove import ProofFailed, prove_infeasible, prove_solution
from dlsched.proofs.prove import prove_bound as search_bound
from dlsched.proofs.subtrees import Spread
from dlsched.proofs.vipr import certificates
from dlsched.registry import Problem
from dlsched.results.proof import Proof
from dlsched.results.status import Status, Termination
from dlsched.run import Run, StageListener
from dlsched.schema.envelope import Instance
from dlsched.schema.quantities import Number
from dlsched.schema.solution import Solution
from dlsched.variants import VariantLike, VariantProblem, owner_of

T = TypeVar("T")
_NUMBER = re.compile(r"-?[0-9]{1,300}([./][0-9]{1,300})?", re.ASCII)
ProofLike: TypeAlias = Proof | str | Path
"""A proof, or its file."""
BoundLike: TypeAlias = BoundProof | str | Path
"""A proof of a bound, or its file."""


def prove(
    instance: InstanceLike,
    solution: SolutionLike | None = None,
    *,
    time_limit: float | None = None,
    on_stage: StageListener | None = None,
    variant: VariantLike = None,
    on: Any = None,
) -> Proof:
    """Prove that a solution is optimal, or that there is none; no solver checks the proof.

    Parameters
    ----------
    solution
        Anything that `load_solution` takes; by default the library's best known one, else that of
        the exact method; if that finds that there is none, this is proved. The search only proves
        that nothing is better.
    time_limit
        Wall-clock seconds for the search.
    variant
        A change of the problem, for which the solution is proved optimal. The proof says which.
    on
        Where the subtrees of a tree of more than 200 nodes are searched, each as a task of its own:
        ``dlsched.execution.Local(jobs)``, another executor of `concurrent.futures`, or a cluster of
        Dask. The tree is the same whichever it is, but not that of ``on=None``, which is searched
        as one.

    Raises
    ------
    ProofFailed
        If the solution is infeasible or not optimal, the limit struck, or the instance has no form
        for proofs, as when its model would be too large.
    """
    inst = load(instance)
    owner = owner_of(inst, variant)
    run = _run(owner, time_limit, on_stage)
    known = _known(inst, solution, run, owner)
    if known is None:
        return prove_infeasible(inst, run, owner, spread_of(on))
    return prove_solution(inst, known, run, owner, spread_of(on))


def prove_bound(
    instance: InstanceLike,
    value: Number | str,
    solution: SolutionLike | None = None,
    *,
    time_limit: float | None = None,
    on_stage: StageListener | None = None,
    variant: VariantLike = None,
    on: Any = None,
) -> BoundProof:
    """Prove that no solution is better than a value at the first level.

    This is for instances whose optimum is not known. The proof can be checked without a solver, by
    `check_bound`. That a solution has the value is not proved, and need not be so.

    Parameters
    ----------
    value
        Of the first level, in its unit; a text may be a decimal or ``p/q``.
    solution
        Anything that `load_solution` takes, a good one, from which forms for the proof are chosen;
        by default the library's best known one, else that of the exact method.
    variant
        A change of the problem, whose solutions have the bound.

    Raises
    ------
    OptionError
        If the value is no number.
    ProofFailed
        If the solution is infeasible or better, the limit struck, or no form proves the value.
    """
    try:
        if isinstance(value, str) and not _NUMBER.fullmatch(value):
            raise ValueError
        target = Fraction(value)
    except (ValueError, ZeroDivisionError, OverflowError):
        raise OptionError(f"the bound must be a number as 209.5 or 419/2, not {value}") from None
    inst = load(instance)
    owner = owner_of(inst, variant)
    run = _run(owner, time_limit, on_stage)
    known = _known(inst, solution, run, owner)
    if known is None:
        raise ProofFailed("there is no solution, which dlsched.prove proves")
    return search_bound(inst, target, known, run, owner, spread_of(on))


def spread_of(on: Any) -> Spread | None:
    """Return what makes independent calls there; raise `OptionError` if it is no executor."""
    if on is None:
        return None
    if hasattr(on, "independent"):
        calls: Spread = on.independent
        return calls
    validate_executor(on)

    def spread(
        function: Callable[[Any, Any], Any],
        shared: Any,
        items: Sequence[Any],
        stop: Callable[[], object],
    ) -> list[Any] | None:
        return run_all(partial(function, shared), items, on=on, stop=stop)

    return spread


def _run(owner: Problem, time_limit: float | None, on_stage: StageListener | None) -> Run:
    """Return a run that knows what is feasible in a variant, which needs an identity for proofs."""
    check = owner.check if owner.label and owner.label.to_data() else None
    return Run(time_limit=time_limit, on_stage=on_stage, check=check)


def _known(
    instance: Instance, solution: SolutionLike | None, run: Run, owner: Problem
) -> Solution | None:
    """Return a solution without labels: by default the library's, else the exact method's.

    It is ``None`` if that finds that there is none.
    """
    if solution is None:
        name = library.name_of(instance.sha256) if owner.label is None else None
        if name is not None:
            solution = library.solution_file(name)
        else:
            limit = run.time_limit
            variant = owner if isinstance(owner, VariantProblem) else None
            answer = solve(instance, time_limit=limit, on_stage=run.on_stage, variant=variant)
            if answer.termination is Termination.INTERRUPTED:
                raise KeyboardInterrupt
            if answer.status is Status.INFEASIBLE:
                return None
            if answer.solution is None:
                raise ProofFailed(f"there is no solution to prove optimal: {answer.reason}")
            solution = answer.solution
    loaded = load_solution(solution, instance.problem)
    return loaded.model_copy(update={"instance": "", "instance_sha256": None})


def check_proof(
    instance: InstanceLike, proof: ProofLike | None = None, *, variant: VariantLike = None
) -> CheckedProof:
    """Check a proof in integer arithmetic, without a solver: see ``docs/proofs.md``.

    Parameters
    ----------
    proof
        A proof, or its file; by default the library's, if the instance is in it.
    variant
        The change of the problem that the proof has to be about; another one's proof is refused,
        and so is the problem's.

    Raises
    ------
    InvalidProof
        If it does not prove that its solution is optimal.
    InstanceError
        If it cannot be read, or there is none.
    """
    inst = load(instance)
    owner = owner_of(inst, variant)
    return check(inst, _proof(inst, proof, owner), owner)


def check_bound(
    instance: InstanceLike, proof: BoundLike | None = None, *, variant: VariantLike = None
) -> CheckedBound:
    """Check a proof of a bound as `check_proof` does one of optimality, in integers.

    Parameters
    ----------
    proof
        A proof of a bound, or its file; by default the library's, if it has one.

    Raises
    ------
    InvalidProof
        If it does not prove that no solution is better than its value.
    InstanceError
        If it cannot be read, or there is none.
    """
    inst = load(instance)
    owner = owner_of(inst, variant)
    bound_proof = _found(inst, proof, library.bound_file, bounds.read_bound, owner)
    return bounds.check_bound(inst, bound_proof, owner)


def vipr_texts(
    instance: InstanceLike,
    proof: ProofLike | None = None,
    *,
    level: str | None = None,
    variant: VariantLike = None,
) -> dict[str, str]:
    """Return VIPR certificates of a proof, by level: of one level, or of all.

    The proof is checked first. See `dlsched.export`, which writes them.

    `InvalidProof` or `InstanceError` is raised, as `check_proof` does; `OptionError` if there is no
    such level, or a certificate would be too large.
    """
    inst = load(instance)
    owner = owner_of(inst, variant)
    levels = [entry.name for entry in owner.levels]
    if level is not None and level not in levels:
        raise OptionError(f"{inst.problem} has no level {level!r}; it has: {', '.join(levels)}")
    known = _proof(inst, proof, owner)
    values = [checked.value for checked in check(inst, known, owner).levels]
    targets = [value for value in values if value is not None]
    return dict(certificates(inst, known, targets, level, owner))


def _proof(instance: Instance, proof: ProofLike | None, owner: Problem) -> Proof:
    """Return a proof, that of a file, or by default the library's."""
    return _found(instance, proof, library.proof_file, read_proof, owner)


def _found(
    instance: Instance,
    proof: T | str | Path | None,
    file_of: Callable[[str], Path],
    read: Callable[[str | Path], T],
    owner: Problem,
) -> T:
    if proof is None and owner.label is not None:
        remedy = "make it: dlsched prove --variant FILE:NAME INSTANCE -o FILE"
        raise InstanceError(
            instance.name, "", f"the library has no proof of the variant {owner.label.name}", remedy
        )
    if proof is None:
        name = library.name_of(instance.sha256)
        proof = file_of(name) if name is not None else None
        if not isinstance(proof, Path) or not proof.exists():
            remedy = f"make it: dlsched prove {instance.name} -o FILE"
            raise InstanceError(instance.name, "", "the library has no proof for it", remedy)
    if not isinstance(proof, (str, Path, Proof, BoundProof)):
        raise InstanceError("the proof", "", f"is a {type(proof).__name__}", "give its file's path")
    return read(proof) if isinstance(proof, (str, Path)) else proof
