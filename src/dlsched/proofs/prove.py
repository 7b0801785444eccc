"""Making a proof: the form of each level, and the search for its tree."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from dlsched import registry
from dlsched.errors import DlschedError
from dlsched.proofs import forms
from dlsched.proofs.document import LevelProof, Proof
from dlsched.proofs.levels import aim, kind_of
from dlsched.proofs.search import Refuted, Search, Stopped
from dlsched.run import Run, Stage
from dlsched.schema.envelope import Instance
from dlsched.schema.quantities import Number
from dlsched.schema.solution import Solution


class ProofFailed(DlschedError):
    """No proof was made; the message says at which level, and why."""


def prove(instance: Instance, solution: Solution, run: Run) -> Proof:
    """Return a proof that a solution is optimal.

    Raises
    ------
    ProofFailed
        If the solution is infeasible or not optimal, a limit struck, or the instance has no form
        that the search can prove it with.
    """
    report = registry.problem(instance.problem).check(instance, solution)
    if not report.feasible or report.objective is None:
        raise ProofFailed(f"the solution is infeasible: {report.violations[0].message}")
    levels = [
        _prove_level(instance, number, report.objective, run)
        for number in range(len(report.objective))
    ]
    labels = {"instance": instance.name, "instance_sha256": instance.sha256}
    data = solution.model_copy(update=labels).to_data()
    return Proof(instance.problem, instance.name, instance.sha256, data, levels)


def _prove_level(
    instance: Instance, number: int, targets: Sequence[Number], run: Run
) -> LevelProof:
    name = registry.problem(instance.problem).levels[number].name
    run.announce(Stage.BUILDING, f"the form of {instance.name} for {name}")
    parameters: dict[str, object] = {}
    try:
        form = forms.build(instance, forms.MODEL, parameters)
        kind = kind_of(form, number)
        wanted = aim(form, number, targets, kind)
    except (ValueError, DlschedError) as error:
        raise ProofFailed(f"{name}: {error}") from None
    run.announce(Stage.SEARCHING, f"a proof of {name} = {targets[number]}")
    try:
        nodes = Search(form, wanted, run).nodes()
    except (Stopped, Refuted) as error:
        raise ProofFailed(f"{name}: {error}") from None
    return LevelProof(
        name, Fraction(targets[number]), kind, forms.MODEL, form.digest, nodes, parameters
    )
