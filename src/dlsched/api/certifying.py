"""A result's optimum proved and the proof checked, so that no bound is a solver's word."""

from __future__ import annotations

from dataclasses import replace

from dlsched.objective import Bound, Bounds, gap, stronger
from dlsched.proofs.check import CheckedProof, InvalidProof, check_proof
from dlsched.proofs.prove import ProofFailed, prove_solution
from dlsched.result import Result, Status, Termination
from dlsched.run import Run
from dlsched.schema.envelope import Instance
from dlsched.schema.link import link_instance


def certified(result: Result, instance: Instance, run: Run) -> Result:
    """Return an optimal result with a checked proof, made in what is left of the run's time.

    Bounds are then those of the proof, unless one was certified already. If no proof is found, the
    result is as it was, and its reason says why: also if Ctrl-C ends the search or the check. A
    result that is not optimal is returned as it is.
    """
    if result.status is not Status.OPTIMAL:
        return result
    unnamed = result.solution.model_copy(update={"instance": "", "instance_sha256": None})
    try:
        with run.interruptible():
            proof = prove_solution(instance, unnamed, run)
        checked = check_proof(instance, proof)
    except (ProofFailed, InvalidProof, KeyboardInterrupt) as error:
        # The solution was found before: an interrupt must not lose it. The check polls no run.
        why = "interrupted" if isinstance(error, KeyboardInterrupt) else str(error)
        changed = replace(result, reason=f"{result.reason}; no proof to check: {why}")
    else:
        bounds = _raised(result.bound, checked)
        gaps = gap(result.objective, bounds)
        changed = replace(
            result,
            bound=bounds,
            certified=_raised(result.certified, checked),
            gap=gaps,
            proof=proof,
        )
        if result.termination is Termination.GAP_REACHED:
            reason = Termination.PROVED.sentence
            changed = replace(changed, termination=Termination.PROVED, reason=reason)
    changed = replace(changed, seconds=result.seconds._replace(total=run.elapsed()))
    link_instance(changed, instance)
    return changed


def _raised(bounds: Bounds, checked: CheckedProof) -> Bounds:
    """Return the stronger of each bound and what is proved."""
    found: list[Bound] = []
    for (level, known), proved in zip(bounds.pairs(), checked.levels, strict=True):
        bound = Bound(proved.value, proved.kind, "proof")
        kept = known is not None and not stronger(level, bound, known)
        found.append(known if known is not None and kept else bound)
    return type(bounds)(bounds.levels, found)
