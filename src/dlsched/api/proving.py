"""Proofs of optimality: made by a search, and checked without one."""

from __future__ import annotations

from pathlib import Path

from dlsched import library
from dlsched.api.loading import InstanceLike, SolutionLike, load, load_solution
from dlsched.api.solving import solve
from dlsched.errors import InstanceError
from dlsched.proofs.check import CheckedProof
from dlsched.proofs.check import check_proof as check
from dlsched.proofs.document import Proof, read_proof
from dlsched.proofs.prove import ProofFailed, prove_solution
from dlsched.run import Run, StageListener


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


def check_proof(instance: InstanceLike, proof: Proof | str | Path | None = None) -> CheckedProof:
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
    if proof is None:
        name = library.name_of(inst.sha256)
        proof = library.proof_file(name) if name is not None else None
        if proof is None or not proof.exists():
            remedy = f"make it: dlsched prove {inst.name} -o FILE"
            raise InstanceError(inst.name, "", "the library has no proof for it", remedy)
    return check(inst, proof if isinstance(proof, Proof) else read_proof(proof))
