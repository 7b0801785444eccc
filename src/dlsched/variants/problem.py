"""A variant as a problem, which is solved and checked as any other."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, TypeAlias

from dlsched import registry
from dlsched.errors import OptionError
from dlsched.registry import Kind, Method, Problem
from dlsched.registry.trusted import trust
from dlsched.results.objective import ByLevel
from dlsched.results.objective import Level as ObjectiveLevel
from dlsched.results.result import Claim, Report, Status, VariantLabel, Violation
from dlsched.run import Run
from dlsched.schema import Number
from dlsched.schema.envelope import Instance
from dlsched.schema.solution import Solution
from dlsched.solvers.earlier import Earlier
from dlsched.solvers.levels import SOLVER_LIBRARIES, relax_first_level, solve_levels
from dlsched.variants.allowing import Rule
from dlsched.variants.changed_model import Change, change_model
from dlsched.variants.definition import Level, Variant
from dlsched.variants.estimated_levels import EstimatedLevels
from dlsched.variants.evaluation import Evaluation, describe
from dlsched.variants.exact_values import exact
from dlsched.variants.lookup import find_variant
from dlsched.variants.refixing import may_refix, refix
from dlsched.variants.search import Search

EXACT = "whole_model"
"""The exact method of all variants."""
BOUND = "relaxation"
"""The bound method of all variants."""
SEARCH = "search"
"""The heuristic of all variants."""
COLUMNS = "columns"
"""The exact method of variants that only allow less: the problem's for large instances."""


class VariantModel:
    """The module ``model`` of a variant: the problem's, changed. One model for each instance."""

    def __init__(self, variant: Variant, base: Problem) -> None:
        self.variant, self.module = variant, base.module("model")
        self.has_form = base.has_module("allow")
        has_whole = base.has_module("whole_model")
        self.whole = base.module("whole_model") if has_whole else self.module
        self._changes: dict[str, Change] = {}

    def change(self, instance: Instance) -> Change:
        """Return the changed model of an instance."""
        if instance.sha256 not in self._changes:
            self._changes[instance.sha256] = self.adapt(instance)(self._built(instance))
        return self._changes[instance.sha256]

    def _built(self, instance: Instance) -> Any:
        """Return the problem's model; what it refuses has another remedy for a variant."""
        try:
            return self.module.build(instance)
        except OptionError as error:
            rule = "state it by allow alone, or " if self.has_form else ""
            raise OptionError(
                f"{self.variant}: {str(error).partition(';')[0]}; {rule}take a smaller instance: "
                f"the problem's other exact methods do not know what is changed"
            ) from error

    def take_over(self, other: Change, instance: Instance) -> None:
        """Use the model of a variant of the same rows and levels, with what is fixed here."""
        if may_refix(self.variant, other):
            self._changes[instance.sha256] = refix(self.variant, other)

    def nameable(self, model: Any) -> list[str]:
        """Return the names of the integer variables that a variant may name."""
        import pyomo.core as pyo

        components = model.component_objects(pyo.Var)
        known = [c for c in components if all(v.is_integer() or v.is_binary() for v in c.values())]
        named = getattr(self.module, "NAMEABLE", None)
        return [c.local_name for c in known if named is None or c.local_name in named]

    def adapt(self, instance: Instance) -> Callable[[Any], Change]:
        """Return what changes a model of an instance in place."""

        def apply(model: Any) -> Change:
            self.variant.validate_unchanged()
            if hasattr(self.whole, "complete"):
                self.whole.complete(model, instance)
            named = getattr(self.module, "NAMEABLE", None)
            allowed = None if named is None else set(named)
            if self.variant.rule is not None:
                self._forbid(model, instance, self.variant.rule)
            state_named = getattr(self.whole, "state_named", None)
            made = change_model(self.variant, model, instance, allowed, state_named)
            self.variant.validate_unchanged()
            return made

        return apply

    def _forbid(self, model: Any, instance: Instance, rule: Rule) -> None:
        """State what is not allowed: these expressions are at most 0."""
        import pyomo.core as pyo

        if not hasattr(self.module, "forbidden"):
            raise OptionError(
                f"{self.variant}: the model of {self.variant.problem} cannot state allow, so that "
                f"it has no proof; leave out constrain, levels and fix, and use exact, which needs "
                f"no model"
            )
        model.not_allowed = pyo.ConstraintList()
        try:
            for expression in self.module.forbidden(instance, model, rule):
                model.not_allowed.add(expression <= 0)
        except OptionError as error:
            raise self.named(error) from error

    def named(self, error: OptionError) -> OptionError:
        """Return an error about a rule with the variant's name."""
        known = str(error).startswith(str(self.variant))
        return OptionError(str(error) if known else f"{self.variant}: {error}")

    def build(self, instance: Instance) -> Any:
        """Return the changed Pyomo model."""
        return self.change(instance).model

    def read(self, instance: Instance, model: Any) -> Solution:
        """Return the problem's solution that the model's variables hold."""
        read = getattr(self.whole, "read_complete", self.module.read)
        solution: Solution = read(instance, model)
        return solution

    def assign(self, instance: Instance, model: Any, solution: Solution) -> None:
        """Set every variable to its value in a solution; added ones to the best that fit it."""
        self.set_values(instance, self.change(instance), solution)

    def set_values(self, instance: Instance, change: Change, solution: Solution) -> None:
        """Do as `assign` with a model that was changed."""
        self._assign_problem(instance, change, solution)
        if change.variables:
            list(Evaluation(change).violations())

    def assign_problem(self, instance: Instance, model: Any, solution: Solution) -> None:
        """Set the problem's variables to their values in a solution, and added ones to none."""
        self._assign_problem(instance, replace(self.change(instance), model=model), solution)

    def _assign_problem(self, instance: Instance, change: Change, solution: Solution) -> None:
        assign = getattr(self.whole, "assign_complete", self.module.assign)
        for variable in change.variables:
            variable.set_value(None, skip_validation=True)
        assign(instance, change.model, solution)


@dataclass(frozen=True)
class VariantProblem(Problem):
    """A problem with a variant's levels, check, model and methods.

    Its methods are `EXACT`, `BOUND`, `SEARCH`, and the problem's heuristics and baselines, which
    know nothing of the variant: what they return is checked.

    Attributes
    ----------
    values
        Of the added variables, by name, which `check` takes instead of choosing them, if given.
    earlier
        What is known of the whole model with less fixed, which its first solution states.
    first
        A solution, which is where `EXACT` begins if it is better than the heuristics'.
    """

    variant: Variant = field(kw_only=True)
    values: Mapping[str, Number] | None = field(default=None, kw_only=True)
    earlier: Earlier | None = field(default=None, kw_only=True, compare=False)
    first: Solution | None = field(default=None, kw_only=True, compare=False)

    @property
    def label(self) -> VariantLabel:
        """What results say of the variant."""
        return VariantLabel(self.variant.name, self.variant.sha256)

    @cached_property
    def base(self) -> Problem:
        """The problem that is changed."""
        return registry.problem(self.variant.problem)

    @cached_property
    def model(self) -> VariantModel:
        """The variant's model."""
        return VariantModel(self.variant, self.base)

    def module(self, name: str) -> Any:
        """Return a module of the problem's package; ``model`` is the variant's."""
        return self.model if name == "model" else self.base.module(name)

    def check(self, instance: Instance, solution: Solution) -> Report:
        """Check a solution against the problem's definition, then against the variant."""
        report = self.base.check(instance, solution)
        if not report.feasible or report.objective is None:
            return replace(report, objective=None)
        violations: tuple[Violation, ...] = ()
        known = report.objective.as_dict()
        if self.variant.rule is not None:
            allow = self.base.module("allow")
            violations = tuple(allow.violations(instance, solution, self.variant.rule))
        if self.variant.states_rows:
            changed = self.model.change(instance)
            self.model.assign_problem(instance, changed.model, solution)
            evaluation = Evaluation(changed, self.values)
            violations += tuple(evaluation.violations())
            if not any(v.kind == "variables" for v in violations):
                known |= evaluation.levels()
        complete = all(level.name in known for level in self.levels)
        values = [known[level.name] for level in self.levels] if complete else None
        objective = None if values is None else ByLevel(self.levels, values)
        return replace(report, violations=violations, objective=objective)

    def values_at(self, instance: Instance, solution: Solution) -> dict[str, Number]:
        """Return the values of the added variables at a solution, by name."""
        changed = self.model.change(instance)
        if changed.variables:
            self.model.assign(instance, changed.model, solution)
        whole = {v.name: v.is_integer() or v.is_binary() for v in changed.variables}
        return {
            v.name: round(v.value) if whole[v.name] else exact(v.value)
            for v in changed.variables
            if not v.fixed and v.value is not None
        }

    @property
    def refined(self) -> bool:
        """Whether the problem's model only estimates a level, and its own method refines it."""
        return bool(self._estimated)

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
    def _methods(self) -> dict[str, Method]:
        loops = self.base.methods[self.base.exact] if self._estimated else None
        preload, small = (loops.preload, loops.small) if loops else (SOLVER_LIBRARIES, None)
        exact = Method(EXACT, self.name, Kind.EXACT, self._exact(), preload, small)
        bound = Method(BOUND, self.name, Kind.BOUND, self._bound(), preload, small)
        heuristics = {
            name: method
            for name, method in self.base.methods.items()
            if method.kind in (Kind.HEURISTIC, Kind.BASELINE)
        }
        search = Method(SEARCH, self.name, Kind.HEURISTIC, self._search(), preload, small)
        if not self.variant.only_allows:
            return {EXACT: exact, BOUND: bound, SEARCH: search, **heuristics}
        stated = hasattr(self.base.module("model"), "forbidden")
        whole = {EXACT: exact, SEARCH: search} if stated else {}
        return {**self._with_rule(), **whole, **heuristics}

    def _with_rule(self) -> dict[str, Method]:
        """Return the problem's structured methods, under the variant's rule."""
        allowed = self.base.module("allowed")
        rule = self.variant.rule

        def columns(instance: Instance, run: Run) -> Claim:
            self.variant.validate_unchanged()
            try:
                claim: Claim = allowed.solve_allowed(instance, run, rule)
            except OptionError as error:
                raise self.model.named(error) from error
            return claim

        def relaxation(instance: Instance, run: Run) -> Claim:
            self.variant.validate_unchanged()
            claim: Claim = allowed.bound_allowed(instance, run, rule)
            return claim

        columns.__doc__ = allowed.solve_allowed.__doc__
        relaxation.__doc__ = allowed.bound_allowed.__doc__
        methods = {}
        for name, kind, function in (
            (COLUMNS, Kind.EXACT, columns),
            (BOUND, Kind.BOUND, relaxation),
        ):
            trust(function, self.name)
            methods[name] = Method(name, self.name, kind, function, allowed.PRELOAD, allowed.small)
        return methods

    @property
    def methods(self) -> dict[str, Method]:
        """The variant's own methods, and the problem's heuristics and baselines."""
        return self._methods

    @property
    def _estimated(self) -> tuple[str, ...]:
        """The problem's levels of which its model has only an estimate, which its method refines.

        So `solve_levels` would not be exact.
        """
        return getattr(self.base.module("model"), "ESTIMATED", ())

    def _by_estimates(self, instance: Instance, run: Run) -> EstimatedLevels:
        """Return the search for variants of a problem whose model is refined."""
        exact = self.base.module("exact")

        def assign(change: Change, solution: Solution) -> None:
            self.model.set_values(instance, change, solution)

        return EstimatedLevels(
            self,
            instance,
            run,
            refinable=lambda adapt, accept: exact.refinable(instance, run, adapt, accept),
            adapt=self.model.adapt(instance),
            read=lambda built: self.model.read(instance, built),
            assign=assign,
            estimated=self._estimated,
        )

    def _exact(self) -> Callable[..., Claim]:
        def whole_model(instance: Instance, run: Run) -> Claim:
            """Integer program of the problem's whole model with the variant's changes.

            Exact because every solution of the problem is a point of the whole model, and the
            variant's constraints and levels are stated there.
            """
            if self._estimated:
                return self._by_estimates(instance, run).solve()
            run.known = self._better(instance, run.known, self.first)
            return solve_levels(instance, run, self.model, earlier=self.earlier)

        trust(whole_model, self.name)
        return whole_model

    def _better(
        self, instance: Instance, known: Solution | None, other: Solution | None
    ) -> Solution | None:
        """Return the better one of a known solution and one that may be none of the variant."""
        if other is None:
            return known
        report = self.check(instance, other)
        if not report.feasible or report.objective is None:
            return known
        before = None if known is None else self.check(instance, known).objective
        return other if before is None or report.objective.better_than(before) else known

    def _search(self) -> Callable[..., Claim]:
        def search(instance: Instance, run: Run) -> Claim:
            """Neighbourhood search by integer programs, from the problem's heuristics.

            A start that violates the variant is repaired. Neighbourhoods are drawn by the model's
            index sets and rows; every solution is checked.
            """
            return Search(instance, run, self).claim()

        trust(search, self.name)
        return search

    def _bound(self) -> Callable[..., Claim]:
        def relaxation(instance: Instance, run: Run) -> Claim:
            """Bound of the first level by the duals of the whole model's linear relaxation."""
            if self._estimated:
                return self._by_estimates(instance, run).bound()
            return relax_first_level(instance, run, self.model)

        trust(relaxation, self.name)
        return relaxation

    def admit(self, claim: Claim, method: Method, instance: Instance) -> Claim:
        """Return the claim of a method that does not know the variant.

        Its bounds and levels are the problem's; a solution that violates the variant is none.
        """
        if method.name in (EXACT, BOUND, COLUMNS, SEARCH) and method.own:
            return claim
        if not isinstance(claim.solution, self.solution):
            return replace(claim, objective=None, bounds=())
        if not self.base.check(instance, claim.solution).feasible:
            return replace(claim, objective=None, bounds=())
        status = Status.FEASIBLE if claim.status is Status.OPTIMAL else claim.status
        claim = replace(claim, status=status, termination=None, objective=None, bounds=())
        report = self.check(instance, claim.solution)
        if report.feasible:
            return claim
        return replace(
            claim,
            solution=None,
            status=Status.NO_SOLUTION,
            reason=f"{method.name} does not know the {self.variant}: {describe(report.violations)}",
        )


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
    if variant is None:
        return base
    if isinstance(variant, VariantProblem):
        return variant
    if isinstance(variant, str):
        variant = find_variant(variant)
    if not isinstance(variant, Variant):
        raise no_variant(variant)
    if variant.problem != base.name:
        raise OptionError(f"{variant} is for {variant.problem}; {instance.name} is of {base.name}")
    return changed_problem(variant)


def no_variant(given: object) -> OptionError:
    """Return the error that something is no variant."""
    return OptionError(
        f"variant={given!r:.60} is no dlsched.Variant, nor a text as file.py:name that means one"
    )


def changed_problem(variant: Variant) -> VariantProblem:
    """Return the problem that a variant makes."""
    base = registry.problem(variant.problem)
    variant.validate_unchanged()
    known = {level.name: level for level in base.levels}
    levels = [
        known[level] if isinstance(level, str) else _objective_level(level)
        for level in variant.levels or known
    ]
    values = {entry.name: getattr(base, entry.name) for entry in fields(Problem)}
    values |= {
        "levels": tuple(levels),
        "exact": COLUMNS if variant.only_allows else EXACT,
        "bound": BOUND,
        "choose": None,
    }
    return VariantProblem(**values, variant=variant)


def _objective_level(level: Level) -> ObjectiveLevel:
    return ObjectiveLevel(level.name, "min" if level.sense == "minimize" else "max", "")
