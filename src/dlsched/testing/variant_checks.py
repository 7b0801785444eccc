"""The checks of `check_problem` for variants: random changes against solutions of the brute force.

A problem's brute force evaluates solutions by ``check``. Those that it looks at are kept, and each
is evaluated for the variant. `exact` must be as good as the best of them, its own solution being
checked as all are; so what it returns is the variant's optimum, where the brute force looks at
every solution. Where it leaves some out, or evaluates by something else, this is one side of the
comparison only: the solutions of the problem's methods are then what there is. A module ``oracle``
with a function ``solutions(instance)`` yields all of them by itself.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from dlsched import api
from dlsched.errors import OptionError, SolverDisagreement
from dlsched.registry import Kind
from dlsched.results.objective import TOLERANCE, Objective, relative_gap
from dlsched.results.result import Status
from dlsched.schema.envelope import Instance
from dlsched.schema.solution import Solution
from dlsched.testing.search import Finding
from dlsched.testing.subject import NothingToCheck, Subject, enumerated, require
from dlsched.variants import Level, Variant, VariantProblem, changed_problem
from dlsched.variants.names import Names

_REMEDY = "NAMEABLE of the module model lists the variables that a solution determines"
_EXAMPLES = 20
"""Of each kind of change, at most."""
_COEFFICIENTS = ("-3", "-1", "1", "2", "0.1", "0.3", "2.5")
_LIMITS = ("-0.1", "0", "0.3", "1", "2")
_POWERS = ("e0", "e0", "e-9", "e9")
Random = np.random.Generator


def variant_rows(subject: Subject) -> Finding | None:
    """`exact` finds the optimum with random constraints on the variables that may be named."""
    return _each(subject, _rows)


def variant_fixings(subject: Subject) -> Finding | None:
    """`exact` finds the optimum where a variable is fixed, and says where there is none."""
    return _each(subject, _fixing)


def variant_levels(subject: Subject) -> Finding | None:
    """`exact` finds the optimum of a random level before the problem's own."""
    return _each(subject, _levels)


def _each(
    subject: Subject, draw: Callable[[Instance, Sequence[str], Random], Variant]
) -> Finding | None:
    """Return the smallest drawn instance on which a drawn change has another optimum."""
    if not getattr(subject.problem.module("model"), "NAMEABLE", True):
        raise NothingToCheck

    def compare(instance: Instance) -> None:
        known = _solutions(subject, instance)
        random = np.random.default_rng(int(instance.sha256[:12], 16))
        names = _names(instance)
        if names:
            _compare(instance, draw(instance, names, random), known)

    _require_named(subject.example())
    return replace(subject, examples=min(_EXAMPLES, subject.examples)).each(compare)


def _require_named(instance: Instance) -> None:
    """Require that ``NAMEABLE`` names variables of the model, or of what names them on demand."""
    import pyomo.core as pyo

    plain = changed_problem(Variant(instance.problem, "plain")).model
    known = {v.local_name for v in plain.build(instance).component_objects(pyo.Var)}
    unknown = sorted(set(getattr(plain.module, "NAMEABLE", ())) - known)
    message = f"NAMEABLE has {', '.join(unknown)}, the model's variables are {sorted(known)}"
    require(not unknown or hasattr(plain.whole, "state_named"), message)


def _names(instance: Instance) -> list[str]:
    """Return the names of the variables that a variant may name."""
    plain = changed_problem(Variant(instance.problem, "plain"))
    model = plain.model.build(instance)
    components = [model.component(name) for name in plain.model.nameable(model)]
    return [v.name for component in components for v in component.values()]


def _solutions(subject: Subject, instance: Instance) -> list[Solution]:
    """Return the solutions that the brute force looks at by `check`, and those of the methods."""
    if hasattr(subject.problem.module("oracle"), "solutions"):
        return enumerated(subject, instance) or []
    results = subject.solve(instance, Kind.EXACT, Kind.HEURISTIC, Kind.BASELINE)
    found = [result.solution for result in results if result.solution is not None]
    return (enumerated(subject, instance) or []) + found


def _compare(instance: Instance, variant: Variant, known: Sequence[Solution]) -> None:
    owner = changed_problem(variant)
    best = _best(owner, instance, known)
    try:
        result = api.solve(instance, variant=owner)
    except SolverDisagreement as error:
        require(False, f"{_said(variant)}: {error}; {_REMEDY}")
        return
    except OptionError as error:
        require(False, f"{_said(variant)}: {error}")
        return
    if best is None:
        return
    require(
        result.objective is not None,
        f"{_said(variant)}: exact says {result.status} ({result.reason}), a solution has {best}",
    )
    assert result.objective is not None
    if result.status is not Status.OPTIMAL:
        why = f"{_said(variant)}: exact ends as {result.status} ({result.reason})"
        require(owner.refined, f"{why}; {_REMEDY}")
        return
    for (level, value), mine in zip(best.pairs(), result.objective, strict=True):
        close = relative_gap(value, mine) <= TOLERANCE
        require(
            close or level.better(mine, value),
            f"{_said(variant)}: exact finds {result.objective}, the optimum is {best}",
        )
        if not close:
            return


def _best(owner: VariantProblem, instance: Instance, known: Sequence[Solution]) -> Objective | None:
    best: Objective | None = None
    for solution in known:
        report = owner.check(instance, solution)
        if report.objective is None or not report.feasible:
            continue
        if best is None or report.objective.better_than(best):
            best = report.objective
    return best


def _said(variant: Variant) -> str:
    """Return what a drawn variant changes."""
    fixed = ", ".join(f"{name} = {value:g}" for name, value in variant.fix.items())
    stated = variant.constrain and variant.constrain.__doc__
    return f"with {fixed or stated or variant.name}"


def _terms(names: Sequence[str], random: Random) -> dict[str, str]:
    count = int(random.integers(1, min(4, len(names)) + 1))
    chosen = random.choice(len(names), count, replace=False).tolist()
    power = _POWERS[int(random.integers(len(_POWERS)))]
    return {names[i]: f"{random.choice(_COEFFICIENTS)}{power}" for i in chosen}


def _sum_of(model: Any, terms: dict[str, str]) -> Any:
    found = Names(model)
    return sum(float(coefficient) * found.find(name) for name, coefficient in terms.items())


def _rows(instance: Instance, names: Sequence[str], random: Random) -> Variant:
    """Return a variant with one or two random rows."""
    rows = []
    for _ in range(int(random.integers(1, 3))):
        terms = _terms(names, random)
        power = next(iter(terms.values())).partition("e")[2]
        relation = str(random.choice(("<=", ">=", "==")))
        rows.append((terms, relation, f"{random.choice(_LIMITS)}e{power}"))

    def constrain(m: Any, _: Any) -> None:
        import pyomo.core as pyo

        m.drawn = pyo.ConstraintList()
        for terms, relation, limit in rows:
            total, side = _sum_of(m, terms), float(limit)
            m.drawn.add({"<=": total <= side, ">=": total >= side}.get(relation, total == side))

    said = "; ".join(
        f"{' + '.join(f'{c} {n}' for n, c in terms.items())} {relation} {limit}"
        for terms, relation, limit in rows
    )
    constrain.__doc__ = said
    return Variant(instance.problem, "drawn-rows", constrain)


def _fixing(instance: Instance, names: Sequence[str], random: Random) -> Variant:
    """Return a variant with one variable at 0 or 1."""
    name = names[int(random.integers(len(names)))]
    return Variant(instance.problem, "drawn-fixing", fix={name: int(random.integers(2))})


def _levels(instance: Instance, names: Sequence[str], random: Random) -> Variant:
    """Return a variant with a random level before the problem's."""
    terms = _terms(names, random)
    sense: Literal["minimize", "maximize"] = "minimize" if random.integers(2) else "maximize"

    def expression(m: Any, _: Any) -> Any:
        return _sum_of(m, terms)

    own = Level("drawn_level", sense, expression)
    base = [level.name for level in changed_problem(Variant(instance.problem, "plain")).levels]
    return Variant(instance.problem, "drawn-level", levels=[own, *base])
