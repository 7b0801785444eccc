"""A variant by name and as a problem, with methods of its own, solved and checked as any other."""

from __future__ import annotations

import hashlib
import importlib
import os
import sys
import threading
from dataclasses import dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import TypeAlias

from dlsched import registry
from dlsched.errors import OptionError, UnknownName, describe, spelled
from dlsched.registry import Kind, Method, Problem
from dlsched.registry.methods import trust
from dlsched.registry.names import entries
from dlsched.results.objective import Level as ObjectiveLevel
from dlsched.results.result import Claim, Status
from dlsched.run import Run
from dlsched.schema.envelope import Instance
from dlsched.schema.solution import Solution
from dlsched.solvers.levels import SOLVER_LIBRARIES, relax_first_level
from dlsched.variants.decision import decide
from dlsched.variants.definition import Variant
from dlsched.variants.estimated_levels import EstimatedLevels
from dlsched.variants.evaluation import first_of
from dlsched.variants.problem import ChangedProblem

EXACT = "whole_model"
"""The exact method of all variants."""
BOUND = "relaxation"
"""The bound method of all variants."""
COLUMNS = "columns"
"""The exact method of variants that only allow less: the problem's for large instances."""


@dataclass(frozen=True)
class VariantProblem(ChangedProblem):
    """A variant's problem with its methods.

    They are `EXACT`, `BOUND`, and the problem's heuristics and baselines, which know nothing of
    the variant: what they return is checked.
    """

    def fixed(
        self, variant: Variant, instance: Instance, first: Solution | None = None
    ) -> VariantProblem:
        """Return the problem of a variant that fixes more; its model is this one's, changed.

        So only one of the two can be used at a time.
        """
        other = replace(self, variant=variant, first=first)
        other.model.take_over(self.model.change(instance), instance)
        return other

    @cached_property
    def methods(self) -> dict[str, Method]:
        """The variant's own methods, and the problem's heuristics and baselines."""
        base, name = self.base, self.name

        def whole_model(instance: Instance, run: Run) -> Claim:
            """Integer program of the problem's whole model with the variant's changes.

            Exact because every solution of the problem is a point of the whole model, and the
            variant's constraints and levels are stated there.
            """
            if self.refined:
                return EstimatedLevels(self, instance, run).solve()
            run.known = _better(self, instance, run.known)
            return decide(self, instance, run)

        def relaxation(instance: Instance, run: Run) -> Claim:
            """Bound of the first level by the duals of the whole model's linear relaxation."""
            if self.refined:
                return EstimatedLevels(self, instance, run).bound()
            return relax_first_level(instance, run, self.model)

        trust(whole_model, name)
        trust(relaxation, name)
        preload = base.methods[base.exact].preload if self.refined else SOLVER_LIBRARIES
        exact = Method(EXACT, name, Kind.EXACT, whole_model, preload, BOUND)
        bound = Method(BOUND, name, Kind.BOUND, relaxation, preload)
        kinds = (Kind.HEURISTIC, Kind.BASELINE)
        heuristics = {key: method for key, method in base.methods.items() if method.kind in kinds}
        if not self.variant.only_allows:
            return {EXACT: exact, BOUND: bound, **heuristics}
        whole = {EXACT: exact} if self.model.forbidden else {}
        return {**_with_rule(self), **whole, **heuristics}

    def admit(self, claim: Claim, method: Method, instance: Instance) -> Claim:
        """Return the claim of a method that does not know the variant.

        Its bounds and levels are the problem's; a solution that violates the variant is none.
        """
        if method.name in (EXACT, BOUND, COLUMNS) and method.own:
            return claim
        claim = replace(claim, objective=None, bounds=())
        known = isinstance(claim.solution, self.solution)
        if not known or not self.base.check(instance, claim.solution).feasible:
            return claim
        report = self.check(instance, claim.solution)
        if report.feasible:
            status = Status.FEASIBLE if claim.status is Status.OPTIMAL else claim.status
            return replace(claim, status=status, termination=None)
        reason = f"{method.name} does not know the {self.variant}: {first_of(report.violations)}"
        status = Status.NO_SOLUTION
        return replace(claim, solution=None, status=status, termination=None, reason=reason)


VariantLike: TypeAlias = "Variant | str | VariantProblem | None"
"""A variant, the text that means one (`find_variant`), or its problem; ``None`` for no change."""


def owner_of(instance: Instance, variant: VariantLike = None) -> Problem:
    """Return the problem of an instance, or the variant of it.

    Raises
    ------
    OptionError
        If the variant is another problem's, or none.
    """
    base = registry.problem(instance.problem)
    if isinstance(variant, VariantProblem):
        return variant
    found = variant_of(variant)
    if found is None:
        return base
    if found.problem != base.name:
        raise OptionError(f"{found} is for {found.problem}; {instance.name} is of {base.name}")
    return changed_problem(found)


def variant_of(variant: VariantLike) -> Variant | None:
    """Return what a text means, and a problem is of.

    Raises
    ------
    OptionError
        If it is none.
    """
    if isinstance(variant, VariantProblem):
        return variant.variant
    found = find_variant(variant) if isinstance(variant, str) else variant
    if not isinstance(found, Variant | None):
        said = "is no dlsched.Variant, nor a text as file.py:name that means one"
        raise OptionError(f"variant={spelled(found)} {said}")
    return found


def changed_problem_of(instance: Instance, variant: Variant) -> VariantProblem:
    """Return the problem that a variant makes of an instance's."""
    owner = owner_of(instance, variant)
    assert isinstance(owner, VariantProblem)
    return owner


def changed_problem(variant: Variant) -> VariantProblem:
    """Return the problem that a variant makes."""
    base = registry.problem(variant.problem)
    if not getattr(base.module("model"), "NAMEABLE", True):
        raise OptionError(f"{base.name} has no variants: they could name no variable of its model")
    known = {level.name: level for level in base.levels}
    levels = [
        known[level]
        if isinstance(level, str)
        else ObjectiveLevel(level.name, "min" if level.sense == "minimize" else "max", "")
        for level in variant.levels or known
    ]
    values = {entry.name: getattr(base, entry.name) for entry in fields(Problem)}
    exact = COLUMNS if variant.only_allows else EXACT
    values |= {"levels": tuple(levels), "exact": exact, "bound": BOUND, "choose": None}
    return VariantProblem(**values, variant=variant)


def _better(problem: ChangedProblem, instance: Instance, known: Solution | None) -> Solution | None:
    """Return the better one of a known solution and `first`, which may be none of the variant."""
    other = problem.first
    if other is None:
        return known
    report = problem.check(instance, other)
    if not report.feasible or report.objective is None:
        return known
    before = None if known is None else problem.check(instance, known).objective
    return other if before is None or report.objective.better_than(before) else known


def _with_rule(problem: ChangedProblem) -> dict[str, Method]:
    """Return the problem's structured methods, under the variant's rule."""
    allowed = problem.base.module("allowed")
    rule = problem.variant.rule

    def columns(instance: Instance, run: Run) -> Claim:
        try:
            claim: Claim = allowed.solve_allowed(instance, run, rule)
        except OptionError as error:
            raise problem.model.with_name(error) from error
        return claim

    def relaxation(instance: Instance, run: Run) -> Claim:
        claim: Claim = allowed.bound_allowed(instance, run, rule)
        return claim

    columns.__doc__ = allowed.solve_allowed.__doc__
    relaxation.__doc__ = allowed.bound_allowed.__doc__
    base = problem.base
    first = BOUND if base.methods[base.exact].begins_with == base.bound else ""
    methods = (
        Method(COLUMNS, problem.name, Kind.EXACT, columns, allowed.PRELOAD, first),
        Method(BOUND, problem.name, Kind.BOUND, relaxation, allowed.PRELOAD),
    )
    for method in methods:
        trust(method.function, problem.name)
    return {method.name: method for method in methods}


_LOADING = threading.RLock()
"""Held while a file is loaded: a module is known before it has run, to other threads, too."""
VARIANTS_GROUP = "dlsched.variants"
"""The entry-point group: objects of type `Variant` by name."""


def find_variant(name: str) -> Variant:
    """Return the variant that a text means.

    Parameters
    ----------
    name
        ``file.py:few``, relative to the working directory, which may import files beside it;
        ``module:few``, which is looked for in the working directory first; or the name of an entry
        point of the group ``dlsched.variants``.

    Raises
    ------
    OptionError
        If it cannot be loaded, or is no variant.
    UnknownName
        If no entry point has the name.
    """
    place, _, attribute = name.rpartition(":")
    try:
        found = getattr(_module(place), attribute) if place else _entry(name)
    except UnknownName:
        raise
    except (Exception, SystemExit) as error:  # importing runs the user's code
        raise OptionError(f"variant {name}: cannot be loaded: {describe(error)}") from error
    if not isinstance(found, Variant):
        raise OptionError(
            f"variant {name}: is a {type(found).__qualname__}, no dlsched.Variant; write "
            f"file.py:name of one"
        )
    return found


def _entry(name: str) -> object:
    known = {entry.name: entry for entry in entries(VARIANTS_GROUP)}
    if name not in known:
        raise UnknownName("variant", name, [*known, "file.py:name"])
    return known[name].load()


def _module(place: str) -> ModuleType:
    """Import a file, or a module by name; the working directory is searched first."""
    if not place.endswith(".py"):
        if os.getcwd() not in sys.path:
            sys.path.insert(0, os.getcwd())
        return importlib.import_module(place)
    path = Path(place).resolve()
    if str(path.parent) not in sys.path:
        sys.path.append(str(path.parent))  # what the file imports may stand beside it
    text = path.read_bytes()
    content = hashlib.sha256(text).hexdigest()[:12]  # a changed file is read anew
    label = f"dlsched_variants_of_{path.stem}_{abs(hash(str(path)))}_{content}"
    with _LOADING:
        if label not in sys.modules:
            module = ModuleType(label)
            module.__file__ = str(path)
            sys.modules[label] = module
            try:  # Python's cache of compiled files may have the text of a second before
                exec(compile(text, path, "exec", dont_inherit=True), vars(module))
            except BaseException:
                del sys.modules[label]
                raise
        return sys.modules[label]
