"""Making a proof: the form of each level, and the search for its tree."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial

from dlsched.errors import DlschedError, OptionError, SolverFailure
from dlsched.proofs.available import MODEL, Forms, builders, form_choices
from dlsched.proofs.bounds import BoundProof
from dlsched.proofs.forms.form import Form, FormChoice, Restricted
from dlsched.proofs.forms.limit import Unbuilt, until
from dlsched.proofs.levels import Aim, aim, bound_aim, kind_of, none_aim
from dlsched.proofs.search import Stopped, TooManyNodes, TreeSearch, Unproved
from dlsched.proofs.subtrees import Spread, search_spread
from dlsched.proofs.sum_search import only_split, useful_sums
from dlsched.proofs.sums import with_sums
from dlsched.registry import Problem
from dlsched.results.proof import KINDS, Kind, LevelProof, Node, Proof, Sum
from dlsched.run import Run, Stage
from dlsched.schema.envelope import Instance
from dlsched.schema.solution import Solution
from dlsched.variants import VariantProblem, owner_of

FEW = 200
"""A tree of more nodes is searched again, with sums."""


class ProofFailed(DlschedError):
    """No proof was made; the message says at which level, and why."""


def prove_solution(
    instance: Instance,
    solution: Solution,
    run: Run,
    owner: Problem | None = None,
    spread: Spread | None = None,
) -> Proof:
    """Return a proof that a solution is optimal.

    Parameters
    ----------
    owner
        The problem, or the variant of it; by default the instance's problem.
    spread
        What makes independent calls, for the subtrees of a large tree.

    Raises
    ------
    ProofFailed
        If the solution is infeasible or not optimal, a limit struck, or the instance has no form
        that the search can prove it with.
    """
    owner = owner or owner_of(instance)
    report = owner.check(instance, solution)
    if not report.feasible or report.objective is None:
        raise ProofFailed(f"the solution is infeasible: {report.violations[0].message}")
    forms = Forms(instance, report.objective, owner)
    levels = []
    for number in range(len(report.objective)):
        choices = _choices(owner, instance, solution, number, run)
        wanted = partial(_optimum_aim, forms, number)
        levels.append(_first_proof(forms, choices, wanted, number, run, spread))
    labels = {"instance": instance.name, "instance_sha256": instance.sha256}
    data = solution.model_copy(update=labels).to_data()
    return Proof(instance.problem, instance.name, instance.sha256, data, levels, owner.label)


def prove_infeasible(
    instance: Instance, run: Run, owner: Problem | None = None, spread: Spread | None = None
) -> Proof:
    """Return a proof that an instance has no solution, from the forms that leave none out.

    Parameters
    ----------
    owner, spread
        As for `prove_solution`.

    Raises
    ------
    ProofFailed
        If a limit struck, or no form is known to have no point.
    """
    owner = owner or owner_of(instance)
    complete = [name for name, b in builders(owner).items() if not isinstance(b, Restricted)]
    choices = map(FormChoice, reversed(complete))  # relaxations before the model

    def wanted(form: Form) -> tuple[Kind, Aim]:
        return KINDS[0], none_aim(form)

    level = _first_proof(Forms(instance, [], owner), choices, wanted, 0, run, spread)
    return Proof(instance.problem, instance.name, instance.sha256, None, [level], owner.label)


def prove_bound(
    instance: Instance,
    target: Fraction,
    known: Solution,
    run: Run,
    owner: Problem | None = None,
    spread: Spread | None = None,
) -> BoundProof:
    """Return a proof that no solution is better than a target at the first level.

    Parameters
    ----------
    known
        A good solution, from which forms are chosen.
    owner
        The problem, or the variant of it; by default the instance's problem.
    spread
        What makes independent calls, for the subtrees of a large tree.

    Raises
    ------
    ProofFailed
        If there is a better solution, a limit struck, or the instance has no form that the search
        can prove it with.
    """
    owner = owner or owner_of(instance)
    report = owner.check(instance, known)
    first = owner.levels[0]
    if not report.feasible or report.objective is None:
        raise ProofFailed(f"the solution is infeasible: {report.violations[0].message}")
    if first.better(report.objective[0], target):
        raise ProofFailed(f"{first.name}: a solution of {report.objective[0]} is known")
    choices = _choices(owner, instance, known, 0, run)
    if owner.label is None:
        bound_choices = getattr(form_choices(owner), "bound_choices", None)
        choices = bound_choices(instance, known, target, run) if bound_choices else choices

    def wanted(form: Form) -> tuple[Kind, Aim]:
        return KINDS[0], bound_aim(form, target)

    level = _first_proof(Forms(instance, [target], owner), choices, wanted, 0, run, spread)
    return BoundProof(instance.problem, instance.name, instance.sha256, level, owner.label)


def _optimum_aim(forms: Forms, number: int, form: Form) -> tuple[Kind, Aim]:
    """Return how well a form can prove a level, and what it has to prove."""
    kind = kind_of(form, number)
    return kind, aim(form, number, forms.targets, kind)


def _first_proof(
    forms: Forms,
    choices: Iterable[FormChoice],
    wanted_of: Callable[[Form], tuple[Kind, Aim]],
    number: int,
    run: Run,
    spread: Spread | None,
) -> LevelProof:
    """Return the proof of a level, from the first of the forms with which there is one."""
    instance = forms.instance
    target = Fraction(forms.targets[number]) if forms.targets else None
    name = forms.owner.levels[number].name
    reason = ""
    remaining = iter(choices)
    try:
        while (choice := _next(remaining, run)) is not None:
            chosen, parameters, most = choice
            run.announce(Stage.BUILDING, f"the form {chosen} of {instance.name} for {name}")
            try:
                with until(run.stop_reason, f"the form {chosen} was built"):
                    form = forms.build(chosen, parameters, number)
                kind, wanted = wanted_of(form)
                what = "that there is no solution" if target is None else f"of {name}, {target}"
                run.announce(Stage.SEARCHING, f"a proof {what}")
                nodes, sums = _tree(form, wanted, run, most, spread)
            except (ValueError, OptionError, SolverFailure, Unproved) as error:
                reason = reason or str(error)
            else:
                return LevelProof(name, target, kind, chosen, form.digest, nodes, parameters, sums)
    except (Stopped, Unbuilt) as error:
        reason = str(error)
    raise ProofFailed(f"{name}: {reason}")


def _next(choices: Iterator[FormChoice], run: Run) -> FormChoice | None:
    """Return the next form to try, which may take a search of its own; None if there is none."""
    with until(run.stop_reason, "a form was chosen"):
        return next(choices, None)


def _tree(
    form: Form, wanted: Aim, run: Run, most: int, spread: Spread | None
) -> tuple[list[Node], Sequence[Sum]]:
    """Return a tree and the sums that it splits, which are tried if it is large without them."""
    try:
        return TreeSearch(form, wanted, run).nodes(min(most, FEW)), []
    except TooManyNodes:
        sums = useful_sums(form, wanted, run)
    wider, rows = with_sums(form, wanted.rows, sums)
    aim_with_sums = replace(wanted, rows=rows)
    if spread is None:
        nodes = TreeSearch(wider, aim_with_sums, run).nodes(most)
    else:
        nodes = search_spread(wider, aim_with_sums, run, most, spread)
    return only_split(form, wanted, sums, nodes)


def _choices(
    owner: Problem, instance: Instance, solution: Solution, level: int, run: Run
) -> Iterable[FormChoice]:
    """Return the forms to try for a level, each with its parameters, the most promising first."""
    module = form_choices(owner)
    if module is None:
        return [FormChoice(MODEL)]
    choices: Iterable[FormChoice]
    if not isinstance(owner, VariantProblem):
        choices = module.choices(instance, solution, level, run)
    elif owner.refined:
        adapt = owner.model.adapt(instance)

        def accept(found: Solution) -> bool:
            return owner.check(instance, found).feasible

        choices = module.changed_choices(instance, solution, run, adapt, accept)
    else:
        choices = [FormChoice(MODEL)]
    return choices
