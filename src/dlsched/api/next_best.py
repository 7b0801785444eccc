"""The best distinct solutions, each proved to be the next best."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from dlsched.api.loading import InstanceLike, load
from dlsched.api.solving import solve
from dlsched.errors import OptionError, spelled
from dlsched.results.objective import relative_gap
from dlsched.results.result import Result, Status
from dlsched.schema.envelope import Instance
from dlsched.variants import Variant, VariantLike, VariantProblem, variant_of
from dlsched.variants.definition import extended
from dlsched.variants.names import Names, add_beside, named_later
from dlsched.variants.owner import changed_problem_of

Distinct = Literal["variables", "objective"]


def best_solutions(
    instance: InstanceLike,
    count: int,
    *,
    gap: float | None = None,
    distinct: Distinct = "variables",
    variant: VariantLike = None,
    **solve_options: Any,
) -> list[Result]:
    """Return the best distinct solutions, the best first, each proved to be the next best.

    Parameters
    ----------
    count
        How many, at most: fewer if there are no more.
    gap
        The largest relative distance from the optimum at the first level; None for any.
    distinct
        What makes two solutions different: the objective, or the values of the variables that
        variants may name. Those that are there only where a variant names them do not count.

    Returns
    -------
    list of Result
        Each is the optimum of a variant without the better ones; where a limit strikes, the last
        is not proved, and its status says so.
    """
    if isinstance(count, bool) or not isinstance(count, int) or count < 1:
        raise OptionError(f"count={spelled(count)} must be a whole number of solutions, at least 1")
    if distinct not in ("variables", "objective"):
        raise OptionError(f"distinct={spelled(distinct)} must be variables or objective")
    if gap is not None and not (isinstance(gap, int | float) and gap >= 0):
        raise OptionError(f"gap={spelled(gap)} must be a number from 0, or None")
    inst, variant = load(instance), variant_of(variant)
    results: list[Result] = []
    passed: list[Result] = []
    while len(results) < count:
        result = _next_point(inst, variant, passed, distinct, solve_options)
        if result is None:
            break
        if result.objective is None:
            results += [result] if result.status is not Status.INFEASIBLE else []
            break
        passed.append(result)
        same = bool(results) and result.objective == results[-1].objective
        if same and distinct == "objective" and result.status is Status.OPTIMAL:
            continue
        first = results[0].objective[0] if results else result.objective[0]
        if gap is not None and relative_gap(result.objective[0], first) > gap:
            break
        results.append(result)
        if result.status is not Status.OPTIMAL:
            break
    return results


def _next_point(
    instance: Instance,
    variant: Variant | None,
    better: Sequence[Result],
    distinct: Distinct,
    options: Mapping[str, Any],
) -> Result | None:
    """Return the best solution that differs from all better ones; ``None`` if none can."""
    by_objective = distinct == "objective"
    add = _name_all if by_objective else None
    owner = changed_problem_of(instance, extended(instance, variant, "all", add))
    points = [_point(instance, owner, result.solution, by_objective) for result in better]
    if not all(points):
        return None

    def exclude(m: Any, _: Any) -> None:
        import pyomo.core as pyo

        different, beyond = pyo.ConstraintList(), pyo.VarList(domain=pyo.Binary)
        add_beside(m, "different", different)
        add_beside(m, "beyond", beyond)
        names = Names(m)
        for point in points:
            different.add(_differs(different, beyond, names, point) >= 1)

    label = f"without-{len(points)}-better"
    changed = extended(instance, variant, label, exclude if points else None)
    return solve(instance, variant=changed, **options)


def _name_all(m: Any, _: Any) -> None:
    """Name the variables that are there only where they are named."""
    import pyomo.core as pyo

    add_beside(m, "named", pyo.ConstraintList())  # a function of a variant must add something
    for name, limits in named_later(m).items():
        component = m.component(name)
        for key in component.index_set():
            if limits(*key)[1] > 0:
                component[key]


def _point(
    instance: Instance, owner: VariantProblem, solution: Any, by_objective: bool
) -> dict[str, int]:
    """Return the values of the variables that make solutions different, by Pyomo's names.

    These are the variables that variants may name, unless they can have only one value. Solutions
    of different objectives differ in a variable of a level: where variants may name all of these,
    no others are needed.
    """
    import pyomo.core as pyo
    from pyomo.core.expr.visitor import identify_variables

    model = owner.model.build(instance)
    owner.model.assign(instance, model, solution)
    components = [model.component(name) for name in owner.model.nameable(model)]
    named = {v.name: v for c in components if c is not None for v in c.values()}
    if by_objective:
        levels = model.component_data_objects(pyo.Objective)
        of_levels = {v.name: v for level in levels for v in identify_variables(level.expr)}
        if of_levels.keys() <= named.keys():
            named = of_levels
        else:
            later = named_later(model)
            named = {
                name: v
                for name, v in named.items()
                if name in of_levels or v.parent_component().local_name not in later
            }
    return {name: round(v.value) for name, v in named.items() if v.lb != v.ub}


def _differs(different: Any, beyond: Any, names: Names, point: Mapping[str, int]) -> Any:
    """Return an expression that is at least 1 only where some variable differs from a point.

    Its rows and its added variables are added to `different` and `beyond`.
    """
    terms: list[Any] = []
    for name, value in point.items():
        variable = names.find(name)
        low, high = (int(bound) for bound in variable.bounds)
        if (low, high) == (0, 1):
            terms.append(1 - variable if value else variable)
            continue
        for sign, room in ((1, high - value), (-1, value - low)):
            if room > 0:
                is_so = beyond.add()
                other = high - low - room
                different.add(sign * (variable - value) >= 1 - (other + 1) * (1 - is_so))
                terms.append(is_so)
    return sum(terms)
