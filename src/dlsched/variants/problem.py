"""What a variant makes of a problem: another model, other levels, another check."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from dlsched import registry
from dlsched.errors import OptionError
from dlsched.registry import Problem
from dlsched.results.objective import ByLevel
from dlsched.results.result import UNDECIDED, Report, VariantLabel, Violation
from dlsched.schema.envelope import Instance
from dlsched.schema.solution import Solution
from dlsched.solvers.earlier import Earlier
from dlsched.solvers.row_scale import RowScale
from dlsched.solvers.standard_form import COMPILED, StandardForm, compile_model
from dlsched.variants.changed_model import FIXED, Change, change_model, fix_variables
from dlsched.variants.definition import Rule, Variant
from dlsched.variants.evaluation import Evaluation
from dlsched.variants.names import Names, named_later
from dlsched.variants.rows import row_scale


class VariantModel:
    """The module ``model`` of a variant: the problem's, changed. One model for each instance."""

    def __init__(self, variant: Variant, base: Problem) -> None:
        self.variant, self.module = variant, base.module("model")
        self.has_form = base.has_module("allow")
        homes = [base.module("allow"), self.module] if self.has_form else [self.module]
        self.forbidden = next((h.forbidden for h in homes if hasattr(h, "forbidden")), None)
        self.whole = base.module("whole_model" if base.has_module("whole_model") else "model")
        named = getattr(self.module, "NAMEABLE", None)
        self.named = None if named is None else set(named)
        self._changes: dict[str, Change] = {}

    def change(self, instance: Instance) -> Change:
        """Return the changed model of an instance."""
        if instance.sha256 not in self._changes:
            self._changes[instance.sha256] = self.adapt(instance)(self._built(instance))
        return self._changes[instance.sha256]

    def digest(self, instance: Instance) -> str | None:
        """Return the digest of what the functions added; ``None`` where no model was built."""
        change = self._changes.get(instance.sha256)
        called = self.variant.constrain is not None or self.variant.own_levels
        return change.digest if change is not None and called else None

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
        change = refix(self.variant, other)
        if change is not None:
            self._changes[instance.sha256] = change

    def nameable(self, model: Any) -> list[str]:
        """Return the names of the integer variables that a variant may name."""
        import pyomo.core as pyo

        components = model.component_objects(pyo.Var)
        known = [c for c in components if all(v.is_integer() or v.is_binary() for v in c.values())]
        return [c.local_name for c in known if self.named is None or c.local_name in self.named]

    def adapt(self, instance: Instance) -> Callable[[Any], Change]:
        """Return what changes a model of an instance in place."""

        def apply(model: Any) -> Change:
            if hasattr(self.whole, "complete"):
                self.whole.complete(model, instance)
            if self.variant.rule is not None:
                self._forbid(model, instance, self.variant.rule)
            state_named = getattr(self.whole, "state_named", None)
            return change_model(self.variant, model, instance, self.named, state_named)

        return apply

    def _forbid(self, model: Any, instance: Instance, rule: Rule) -> None:
        """State what is not allowed: these expressions are at most 0."""
        import pyomo.core as pyo

        if self.forbidden is None:
            raise OptionError(
                f"{self.variant}: the model of {self.variant.problem} cannot state allow, so that "
                f"it has no proof; leave out constrain, levels and fix, and use exact, which needs "
                f"no model"
            )
        model.not_allowed = pyo.ConstraintList()
        try:
            for expression in self.forbidden(instance, model, rule):
                model.not_allowed.add(expression <= 0)
        except OptionError as error:
            raise self.with_name(error) from error

    def with_name(self, error: OptionError) -> OptionError:
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
        self.set_problem(instance, change, solution)
        if change.variables:
            list(Evaluation(change).violations())

    def set_problem(self, instance: Instance, change: Change, solution: Solution) -> None:
        """Set the problem's variables to their values in a solution, and added ones to none."""
        assign = getattr(self.whole, "assign_complete", self.module.assign)
        for variable in change.variables:
            variable.set_value(None, skip_validation=True)
        assign(instance, change.model, solution)


@dataclass(frozen=True)
class ChangedProblem(Problem):
    """A problem with a variant's levels, check and model.

    Attributes
    ----------
    earlier
        What is known of the whole model with less fixed, which its first solution states.
    first
        A solution, which is where the exact method begins if it is better than the heuristics'.
    """

    variant: Variant = field(kw_only=True)
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
            self.model.set_problem(instance, changed, solution)
            evaluation = Evaluation(changed)
            violations += tuple(evaluation.violations())
            if not any(v.kind in ("variables", UNDECIDED) for v in violations):
                known |= evaluation.levels()
        complete = all(level.name in known for level in self.levels)
        values = [known[level.name] for level in self.levels] if complete else None
        objective = None if values is None else ByLevel(self.levels, values)
        return replace(report, violations=violations, objective=objective)

    @property
    def estimated(self) -> tuple[str, ...]:
        """The problem's levels of which its model has only an estimate, which its method refines.

        So `solve_levels` would not be exact.
        """
        return getattr(self.base.module("model"), "ESTIMATED", ())

    @property
    def refined(self) -> bool:
        """Whether the problem's model only estimates a level, and its own method refines it."""
        return bool(self.estimated)


class _Unfixed(NamedTuple):
    """What of a model is the same whatever is fixed; no form if it cannot be compiled.

    It is the model's attribute ``UNFIXED``.
    """

    form: StandardForm | None
    names: Names
    scales: dict[str, RowScale]


def refix(variant: Variant, other: Change) -> Change | None:
    """Return a change of the same model with other variables fixed, which replace those before.

    ``None`` if the variant fixes variables that are there only once they are named.
    """
    model = other.model
    if any(name.partition("[")[0] in named_later(model) for name in variant.fix):
        return None
    if model.component(FIXED) is not None:
        model.del_component(FIXED)
    parents = (getattr(row.parent_component(), "local_name", FIXED) for row in other.constraints)
    rows = [r for r, parent in zip(other.constraints, parents, strict=True) if parent != FIXED]
    if not hasattr(model, "UNFIXED"):
        model.UNFIXED = _unfixed(model)
    unfixed: _Unfixed = model.UNFIXED
    fix_variables(variant, model, unfixed.names)
    fixed = list(model.component(FIXED).values()) if variant.fix else []
    scales = {row.name: row_scale(row) for row in fixed}
    model.ROW_SCALES = unfixed.scales | scales
    setattr(model, COMPILED, unfixed.form and _with_rows(unfixed.form, fixed, scales))
    return replace(other, constraints=rows + fixed)


def _unfixed(model: Any) -> _Unfixed:
    """Compile a model without what is fixed."""
    from pyomo.common.errors import InfeasibleConstraintException

    setattr(model, COMPILED, None)
    form: StandardForm | None = None
    with suppress(InfeasibleConstraintException):  # which its solution says
        form = compile_model(model)
    scales = {n: s for n, s in model.ROW_SCALES.items() if not n.startswith(f"{FIXED}[")}
    return _Unfixed(form, Names(model), scales)


def _with_rows(
    form: StandardForm, rows: Sequence[Any], scales: Mapping[str, RowScale]
) -> StandardForm | None:
    """Return a form with rows that fix variables; None if the model is to be compiled anew."""
    from scipy import sparse

    columns = {id(variable): j for j, variable in enumerate(form.variables)}
    added = sparse.lil_array((len(rows), form.shape[1]))
    limits = []
    for i, row in enumerate(rows):
        scale = scales[row.name]
        [(key, coefficient)] = scale.row.terms.items()
        if key not in columns:
            return None
        unit = 1.0 if form.units is None else form.units[columns[key]]
        added[i, columns[key]] = float(coefficient * scale.factor) * unit
        limits.append(scale.limit(0))
    return replace(
        form,
        A=sparse.csc_array(sparse.vstack([form.A, added], format="csc")),
        row_lower=np.append(form.row_lower, limits),
        row_upper=np.append(form.row_upper, limits),
        constraints=[*form.constraints, *rows],
    )
