"""Proofs of optimality: made by a search, and checked without one."""

from __future__ import annotations

from pathlib import Path
from typing import TypeAlias

from dlsched import library
from dlsched.api.loading import InstanceLike, SolutionLike, load, load_solution
from dlsched.api.solving import solve
from dlsched.errors import InstanceError, OptionError
from dlsched.proofs.check import CheckedProof
from dlsched.proofs.check import check_proof as check
from dlsched.proofs.document import Proof, read_proof
from dlsched.proofs.prove import ProofFailed, prove_solution
from dlsched.proofs.vipr import certificates
from dlsched.registry import problem
from dlsched.run import Run, StageListener
from dlsched.schema.envelope import Instance

ProofLike: TypeAlias = Proof | str | Path
"""A proof, or its file."""


def prove(
    instance: InstanceLike,
    solution: SolutionLike | None = None,
    *,
    time_limit: float | None = None,
    on_stage: StageListener | None = None,
) -> Proof:
    """Prove that a solution is optimal; the proof can be checked without a solver.

    Parameters
    ----------
    instance
        Anything that `load` takes.
    solution
        Anything that `load_solution` takes; by default the library's best known one, else that of
        the exact method. The search only proves that nothing is better.
    time_limit
        Wall-clock seconds for the search.

    Raises
    ------
    ProofFailed
        If the solution is infeasible or not optimal, the limit struck, or the instance has no form
        for proofs, as when its model would be too large.
    """
    inst = load(instance)
    run = Run(time_limit=time_limit, on_stage=on_stage)
    if solution is None:
        name = library.name_of(inst.sha256)
        if name is not None:
            solution = library.solution_file(name)
        else:
            answer = solve(inst, time_limit=time_limit, on_stage=on_stage)
            if answer.solution is None:
                raise ProofFailed(f"there is no solution to prove optimal: {answer.reason}")
            solution = answer.solution
    found = load_solution(solution, inst.problem)
    return prove_solution(
        inst, found.model_copy(update={"instance": "", "instance_sha256": None}), run
    )


def check_proof(instance: InstanceLike, proof: ProofLike | None = None) -> CheckedProof:
    """Check a proof in integer arithmetic, without a solver: see ``docs/proofs.md``.

    Parameters
    ----------
    instance
        Anything that `load` takes.
    proof
        A proof, or its file; by default the library's, if the instance is in it.

    Raises
    ------
    InvalidProof
        If it does not prove that its solution is optimal.
    InstanceError
        If it cannot be read, or there is none.
    """
    inst = load(instance)
    return check(inst, _proof(inst, proof))


def vipr_texts(
    instance: InstanceLike, proof: ProofLike | None = None, *, level: str | None = None
) -> dict[str, str]:
    """Return VIPR certificates of a proof, by level: of one level, or of all.

    The proof is checked first. See `dlsched.export`, which writes them.

    Raises
    ------
    InvalidProof, InstanceError
        As `check_proof` does.
    OptionError
        If there is no such level, or a certificate would be too large.
    """
    inst = load(instance)
    levels = [entry.name for entry in problem(inst.problem).levels]
    if level is not None and level not in levels:
        raise OptionError(f"{inst.problem} has no level {level!r}; it has: {', '.join(levels)}")
    found = _proof(inst, proof)
    targets = [checked.value for checked in check(inst, found).levels]
    return dict(certificates(inst, found, targets, level))


def _proof(instance: Instance, proof: ProofLike | None) -> Proof:
    """Return a proof, that of a file, or by default the library's."""
    if isinstance(proof, Proof):
        return proof
    if proof is None:
        name = library.name_of(instance.sha256)
        proof = library.proof_file(name) if name is not None else None
        if proof is None or not proof.exists():
            remedy = f"make it: dlsched prove {instance.name} -o FILE"
            raise InstanceError(instance.name, "", "the library has no proof for it", remedy)
    return read_proof(proof)
