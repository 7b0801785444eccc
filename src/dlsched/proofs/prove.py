"""Making a proof: the form of each level, and the search for its tree."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from fractions import Fraction

from dlsched import registry
from dlsched.errors import DlschedError, OptionError
from dlsched.forms.choice import FormChoice
from dlsched.forms.form import Form
from dlsched.proofs.available import MODEL, Forms
from dlsched.proofs.cuts import Cut, with_cuts
from dlsched.proofs.document import LevelProof, Proof
from dlsched.proofs.levels import Aim, aim, kind_of
from dlsched.proofs.search import Search, Stopped, TooManyNodes, Unproved
from dlsched.proofs.separation import keep, renumbered, separate
from dlsched.proofs.tree import Leaf, Node, Split
from dlsched.run import Run, Stage
from dlsched.schema.envelope import Instance
from dlsched.schema.solution import Solution

FEW = 200
"""A tree of more nodes is searched again, with cuts."""


class ProofFailed(DlschedError):
    """No proof was made; the message says at which level, and why."""


def prove_solution(instance: Instance, solution: Solution, run: Run) -> Proof:
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
    built = Forms(instance, report.objective)
    levels = [_prove_level(built, solution, number, run) for number in range(len(report.objective))]
    labels = {"instance": instance.name, "instance_sha256": instance.sha256}
    data = solution.model_copy(update=labels).to_data()
    return Proof(instance.problem, instance.name, instance.sha256, data, levels)


def _prove_level(built: Forms, solution: Solution, number: int, run: Run) -> LevelProof:
    """Return the proof of a level, from the first of the forms with which there is one."""
    instance, targets = built.instance, built.targets
    name = registry.problem(instance.problem).levels[number].name
    reason = ""
    for chosen, parameters, most in _choices(instance, solution, number, run):
        run.announce(Stage.BUILDING, f"the form {chosen} of {instance.name} for {name}")
        try:
            form = built.build(chosen, parameters, number)
            kind = kind_of(form, number)
            wanted = aim(form, number, targets, kind)
            run.announce(Stage.SEARCHING, f"a proof of {name} = {targets[number]}")
            nodes, cuts = _tree(form, wanted, run, most)
        except (ValueError, OptionError, Unproved) as error:
            reason = reason or str(error)
        except Stopped as error:
            reason = str(error)
            break
        else:
            value = Fraction(targets[number])
            return LevelProof(name, value, kind, chosen, form.digest, nodes, parameters, cuts)
    raise ProofFailed(f"{name}: {reason}")


def _tree(form: Form, wanted: Aim, run: Run, most: int) -> tuple[list[Node], list[Cut]]:
    """Return a tree and the cuts that it uses, which are tried if it is large without them."""
    try:
        return Search(form, wanted, run).nodes(min(most, FEW)), []
    except TooManyNodes:
        cuts = separate(form, wanted, run)
    rows = with_cuts(form, wanted.rows, cuts)
    nodes = Search(form, replace(wanted, rows=rows), run).nodes(most)
    leaves = [node for node in nodes if isinstance(node, Leaf)]
    kept, numbers = keep(cuts, len(wanted.rows), {i for leaf in leaves for i in leaf.multipliers})
    return [_renumbered(node, numbers) for node in nodes], kept


def _renumbered(node: Node, numbers: Mapping[int, int]) -> Node:
    if isinstance(node, Split):
        return node
    return replace(node, multipliers=renumbered(node.multipliers, numbers))


def _choices(instance: Instance, solution: Solution, level: int, run: Run) -> Iterable[FormChoice]:
    """Return the forms to try for a level, each with its parameters, the most promising first."""
    owner = registry.problem(instance.problem)
    if not owner.has_module("form_choices"):
        return [FormChoice(MODEL)]
    found: Iterable[FormChoice] = owner.module("form_choices").choices(
        instance, solution, level, run
    )
    return found
