"""Answers checked: a solution by the definition, a result's optimum by a proof made for it."""

import logging
import os
from dataclasses import replace

from dlsched import library
from dlsched.api.loading import InstanceLike, SolutionLike, load, load_solution
from dlsched.errors import DlschedError, InstanceError, describe
from dlsched.proofs.check import CheckedProof, check_proof
from dlsched.proofs.prove import prove_infeasible, prove_solution
from dlsched.registry import Problem
from dlsched.results.claims import beaten_level, refutation
from dlsched.results.objective import Bound, Bounds, ByLevel, gap, strongest
from dlsched.results.proof import Proof
from dlsched.results.result import Report, Result, Status, Termination, default_termination
from dlsched.run import Run
from dlsched.schema.envelope import Instance
from dlsched.variants import VariantLike, owner_of


def verify(
    instance: InstanceLike,
    solution: SolutionLike,
    *,
    bound: Bounds | None = None,
    variant: VariantLike = None,
) -> Report:
    """Check a solution against the problem's definition; no solver is involved.

    Parameters
    ----------
    instance, solution
        Anything that `load` and `load_solution` take.
    bound
        What to state the gap to; by default the library's bound, if the instance is in it.
    variant
        A change of the problem: its constraints and levels are evaluated in exact arithmetic.

    Raises
    ------
    InstanceError
        If either cannot be used, or the solution is of another problem or instance.
    """
    inst = load(instance)
    owner = owner_of(inst, variant)
    sol = load_solution(solution, inst.problem)
    if sol.instance_sha256 not in (None, inst.sha256):
        named = isinstance(solution, (str, os.PathLike))
        raise InstanceError(
            str(solution) if named else "the solution",
            "instance_sha256",
            f"is not the digest of {inst.name}",
            "verify it against the instance it was made for, or drop the field",
        )
    report = owner.check(inst, sol)
    if bound is None and variant is None:
        bound = library.best_bounds(inst.sha256)
    if bound is not None and report.feasible and report.objective is not None:
        report = replace(report, gap=gap(report.objective, bound))
    return report


logger = logging.getLogger(__name__)


def certified(result: Result, instance: Instance, run: Run, owner: Problem | None = None) -> Result:
    """Return an optimal or infeasible result with a checked proof, made in the run's time left.

    Bounds are then those of the proof, unless one was certified already. If no proof is found, the
    result is as it was, and its reason says why, whatever happened: the solution was found before,
    so neither Ctrl-C, nor a solver that fails, nor a form too large for the memory may lose it. A
    result that decides nothing is returned as it is.
    """
    if result.status not in (Status.OPTIMAL, Status.INFEASIBLE):
        return result
    try:
        proof, checked = _proof(result, instance, run, owner)
    except KeyboardInterrupt:
        changed = _unproved(result, "interrupted")
    except DlschedError as error:
        changed = _unproved(result, str(error))
    except MemoryError:
        changed = _unproved(result, "out of memory")
    except Exception as error:  # a defect, here or in another package's form
        logger.exception("no proof of %s", result.instance)
        changed = _unproved(result, describe(error))
    else:
        changed = result.replaced(proof=proof)
        if result.solution is not None:
            bounds = _raised(result.bound, checked)
            certain = _raised(result.certified, checked)
            gaps = gap(result.objective, bounds)
            changed = changed.replaced(bound=bounds, certified=certain, gap=gaps)
        if result.termination in (Termination.GAP_REACHED, Termination.CLAIMED):
            proved = default_termination(result.status)
            why = result.reason.removeprefix(Termination.CLAIMED.sentence).lstrip("; ")
            reason = proved.sentence if result.solution is not None else why or proved.sentence
            changed = changed.replaced(termination=proved, reason=reason)
    return changed.replaced(seconds=result.seconds._replace(total=run.elapsed()))


def _proof(
    result: Result, instance: Instance, run: Run, owner: Problem | None
) -> tuple[Proof, CheckedProof]:
    """Return a proof that a result is right, and what its check says; the check has no limit.

    `DlschedError` is raised if there is none: `ProofFailed`, `InvalidProof`, or `SolverFailure`.
    """
    with run.interruptible():
        if result.solution is None:
            proof = prove_infeasible(instance, run, owner)
        else:
            unnamed = result.solution.model_copy(update={"instance": "", "instance_sha256": None})
            proof = prove_solution(instance, unnamed, run, owner)
    return proof, check_proof(instance, proof, owner)


def _unproved(result: Result, why: str) -> Result:
    return result.replaced(reason=f"{result.reason}; no proof to check: {why}")


def contested(result: Result, rival: Result) -> Result:
    """Return a claimed result as refuted, if the checked solution of a rival refutes the claim.

    It keeps its solution, but not its status; of its bounds it keeps those before the beaten one.

    `rival`: a result for the same instance, of a method of this library.
    """
    if rival.objective is None:
        return result
    why = refutation(result.method, result, [(rival.method, rival.objective)])
    if not why:
        return result
    beaten = beaten_level(result.bound, rival.objective)
    standing = 0 if beaten is None else result.bound.levels.index(beaten[0])
    kept = [bound if i < standing else None for i, bound in enumerate(result.bound)]
    bounds = ByLevel(result.bound.levels, kept)
    solved = result.objective is not None
    return result.replaced(
        status=Status.FEASIBLE if solved else Status.NO_SOLUTION,
        termination=Termination.REFUTED,
        reason=f"{Termination.REFUTED.sentence}: {why}",
        bound=bounds,
        gap=gap(result.objective, bounds) if solved else bounds.map(lambda _: None),
    )


def _raised(bounds: Bounds, checked: CheckedProof) -> Bounds:
    """Return the stronger of each bound and what is proved."""
    raised = []
    for (level, known), proved in zip(bounds.pairs(), checked.levels, strict=True):
        assert proved.value is not None
        raised.append(strongest(level, [known, Bound(proved.value, proved.kind, "proof")]))
    return ByLevel(bounds.levels, raised)
