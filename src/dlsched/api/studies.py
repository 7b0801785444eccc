"""Studies of one instance: what a decision costs, the best solutions, the trade of two levels."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from dlsched.api.loading import InstanceLike, load
from dlsched.api.proving import spread_of
from dlsched.api.solving import solve
from dlsched.errors import OptionError
from dlsched.proofs.subtrees import Place
from dlsched.results.objective import Bound, relative_gap
from dlsched.results.result import Result, Status
from dlsched.schema.envelope import Instance
from dlsched.solvers.earlier import Earlier
from dlsched.variants import (
    Level,
    Variant,
    VariantLike,
    VariantProblem,
    find_variant,
    owner_of,
)
from dlsched.variants.exact_values import exact
from dlsched.variants.names import Names, variables_by_name
from dlsched.variants.rows import step_of

if TYPE_CHECKING:
    import pandas

Distinct = Literal["variables", "objective"]
_STEP = Fraction(1, 10**5)
"""Where a level's values have no common step, the next point is better by this part at least."""
_FINEST = Fraction(1, 10**9)
"""A common step that is a smaller part of a value is none: solvers cannot tell the two apart."""
_LEAST = Fraction(1, 10**9)
"""The least value of which that part is taken."""
_PARTS = 8
"""Parts of `what_if` on other processes: each solves the undecided problem anew **(D)**."""


def extended(
    instance: Instance,
    variant: Variant | None,
    label: str,
    add: Callable[[Any, Any], None] | None = None,
    *,
    levels: Sequence[str | Level] | None = None,
    fix: Mapping[str, float] | None = None,
) -> Variant:
    """Return a variant with more constraints, other levels, more fixed variables.

    Parameters
    ----------
    label
        What is added to the variant's name.
    add
        As `Variant.constrain`, after that of the variant.
    """
    base = variant or Variant(instance.problem, "problem")
    first = base.constrain

    def constrain(m: Any, given: Any) -> None:
        for function in (first, add):
            if function is not None:
                function(m, given)

    changes = constrain if first or add else None
    fixed = dict(base.fix) | dict(fix or {})
    for name, value in base.fix.items():
        if fixed[name] != value:
            raise OptionError(
                f"{base} fixes {name} at {value:g}, so it cannot be fixed at {fixed[name]:g}; "
                f"leave that out, or take a variant that does not fix it"
            )
    name = f"{base.name}-{label}"[:80]
    return Variant(base.problem, name, changes, levels or base.levels, fixed, base.allow)


def what_if(
    instance: InstanceLike,
    fixes: Sequence[Mapping[str, float]],
    *,
    variant: VariantLike = None,
    on: Place | None = None,
    **solve_options: Any,
) -> pandas.DataFrame:
    """Return what it costs to insist on decisions.

    Parameters
    ----------
    instance
        Anything that `load` takes.
    fixes
        For each row the values of some variables, by name, as ``{"x[s1]": 1}``.
    variant
        A change of the problem on which the decisions are made.
    on
        Where parts of `fixes` are solved independently, as ``Local(jobs=2)`` of `dlsched.bench`;
        by default here, one after the other. The optima are the same; which one of several
        solutions is found, and how tight a bound of an unproved row is, may differ.
    **solve_options
        Passed on to `solve`.

    Returns
    -------
    pandas.DataFrame
        A first row for no decision, then one for each of `fixes`: ``fix``, ``status``, ``reason``;
        for each level its value, its bound (``_bound``), and by how much the value is worse than
        without the decision (``_cost``). Later levels are compared although earlier ones differ.

    Raises
    ------
    OptionError
        If a variable is not there, or the variant cannot be sent to other processes.
    """
    import pandas

    inst = load(instance)
    spread = spread_of(on)
    if spread is None or not fixes:
        return pandas.DataFrame(_rows(inst, fixes, variant, solve_options))
    try:
        pickle.dumps((variant, solve_options))
    except Exception as error:
        raise OptionError(
            f"on= sends the variant and the options to other processes, and this is impossible: "
            f"{error}; write the variant's function into a file, and give variant='file.py:name'"
        ) from error
    length = -(-len(fixes) // _PARTS)
    parts = [fixes[i : i + length] for i in range(0, len(fixes), length)]
    shared = _Task(inst, variant, solve_options)
    made = spread(_rows_of_part, shared, parts, lambda: None) or []
    return pandas.DataFrame(made[0][:1] + [row for part in made for row in part[1:]])


class _Task(NamedTuple):
    """What the parts of `what_if` have in common."""

    instance: Instance
    variant: VariantLike
    options: Mapping[str, Any]


def _rows_of_part(task: _Task, fixes: Sequence[Mapping[str, float]]) -> list[dict[str, Any]]:
    return _rows(task.instance, fixes, task.variant, task.options)


def _rows(
    inst: Instance,
    fixes: Sequence[Mapping[str, float]],
    change: VariantLike,
    solve_options: Mapping[str, Any],
) -> list[dict[str, Any]]:
    variant = _variant(change)
    owner = replace(_changed_problem(inst, extended(inst, variant, "free")), earlier=Earlier())
    free = solve(inst, variant=owner, **solve_options)
    rows = [_row({}, free, free)]
    pool = _Pool(inst, owner, {name for fix in fixes for name in fix})
    pool.add(owner, free)
    for fix in fixes:
        first = pool.best(fix)
        changed = extended(inst, variant, "fixed", fix=fix)
        fixed = owner.fixed(changed, inst, first.solution if first else None)
        if first is free and free.status is Status.OPTIMAL:
            result = free
        else:
            result = solve(inst, variant=fixed, **solve_options)
            pool.add(fixed, result)
        rows.append(_row(fix, result, free))
    return rows


class _Pool:
    """Solutions of one changed model, and what they decide.

    Parameters
    ----------
    names
        Of the variables whose values are asked for.
    """

    def __init__(self, instance: Instance, owner: VariantProblem, names: set[str]) -> None:
        self.instance = instance
        self.model = owner.model.build(instance)
        known = variables_by_name(self.model)
        self.variables = {name: known[name] for name in names if name in known}
        self.members: list[tuple[dict[str, float], Result]] = []

    def add(self, owner: VariantProblem, result: Result) -> None:
        """Add the solution of a variant of the model, unless it had to have a model of its own."""
        if result.solution is None or owner.model.build(self.instance) is not self.model:
            return
        owner.model.assign(self.instance, self.model, result.solution)
        values = {name: variable.value for name, variable in self.variables.items()}
        self.members.append((values, result))

    def best(self, fix: Mapping[str, float]) -> Result | None:
        """Return the first one of the best results that have what is to be fixed."""
        best: Result | None = None
        for values, result in self.members:
            if any(values.get(name) != value for name, value in fix.items()):
                continue
            if best is None or result.objective.better_than(best.objective):
                best = result
        return best


def _variant(variant: VariantLike) -> Variant | None:
    """Return what a text means, and a problem is of."""
    if isinstance(variant, VariantProblem):
        return variant.variant
    return find_variant(variant) if isinstance(variant, str) else variant


def _changed_problem(instance: Instance, variant: Variant) -> VariantProblem:
    owner = owner_of(instance, variant)
    assert isinstance(owner, VariantProblem)
    return owner


def _row(fix: Mapping[str, float], result: Result, free: Result) -> dict[str, Any]:
    """Return a row of `what_if`."""
    said = ", ".join(f"{name} = {value:g}" for name, value in fix.items())
    row: dict[str, Any] = {"fix": said or "-", "status": str(result.status)}
    for i, level in enumerate(result.bound.levels):
        value = None if result.objective is None else result.objective[i]
        before = None if free.objective is None else free.objective[i]
        bound: Bound | None = result.bound[i]
        row[level.name] = None if value is None else float(value)
        row[f"{level.name}_bound"] = None if bound is None else float(bound.value)
        worse = None
        if value is not None and before is not None:
            worse = float(value - before if level.sense == "min" else before - value)
        row[f"{level.name}_cost"] = worse
    return row | {"reason": result.reason}


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
    instance
        Anything that `load` takes.
    count
        How many, at most: fewer if there are no more.
    gap
        The largest relative distance from the optimum at the first level; None for any.
    distinct
        What makes two solutions different: the values of the variables that variants may name, or
        the objective.
    variant
        A change of the problem.
    **solve_options
        Passed on to `solve`.

    Returns
    -------
    list of Result
        Each is the optimum of a variant without the better ones; where a limit strikes, the last
        is not proved, and its status says so.
    """
    if isinstance(count, bool) or not isinstance(count, int) or count < 1:
        raise OptionError(f"count={count!r:.40} must be a whole number of solutions, at least 1")
    if distinct not in ("variables", "objective"):
        raise OptionError(f"distinct={distinct!r:.40} must be variables or objective")
    if gap is not None and not (isinstance(gap, int | float) and gap >= 0):
        raise OptionError(f"gap={gap!r:.40} must be a number from 0, or None")
    inst, variant = load(instance), _variant(variant)
    results: list[Result] = []
    passed: list[Result] = []
    while len(results) < count:
        result = _next_point(inst, variant, passed, solve_options)
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
    options: Mapping[str, Any],
) -> Result:
    """Return the best solution that differs from all better ones in a variable."""
    owner = _changed_problem(instance, extended(instance, variant, "all"))
    points = [_point(instance, owner, result.solution) for result in better]

    def exclude(m: Any, _: Any) -> None:
        import pyomo.core as pyo

        m.different = pyo.ConstraintList()
        m.beyond = pyo.VarList(domain=pyo.Binary)
        names = Names(m)
        for point in points:
            m.different.add(_differs(m, names, point) >= 1)

    label = f"without-{len(points)}-better"
    changed = extended(instance, variant, label, exclude if points else None)
    return solve(instance, variant=changed, **options)


def _point(instance: Instance, owner: VariantProblem, solution: Any) -> dict[str, int]:
    """Return the values of the variables that variants may name, by Pyomo's names."""
    model = owner.model.build(instance)
    owner.model.assign(instance, model, solution)
    components = [model.component(name) for name in owner.model.nameable(model)]
    return {v.name: round(v.value) for c in components if c is not None for v in c.values()}


def _differs(m: Any, names: Names, point: Mapping[str, int]) -> Any:
    """Return an expression that is at least 1 only where some variable differs from a point."""
    terms: list[Any] = []
    for name, value in point.items():
        variable = names.find(name)
        low, high = (int(bound) for bound in variable.bounds)
        if (low, high) == (0, 1):
            terms.append(1 - variable if value else variable)
            continue
        for sign, room in ((1, high - value), (-1, value - low)):
            if room > 0:
                beyond = m.beyond.add()
                other = high - low - room
                m.different.add(sign * (variable - value) >= 1 - (other + 1) * (1 - beyond))
                terms.append(beyond)
    return sum(terms)


class _LevelRow(NamedTuple):
    """Limits of a level's value, which it must be `beyond` or may attain."""

    level: int
    low: float | None
    high: float | None
    beyond: bool = False

    @classmethod
    def better(cls, level: int, values: Any) -> _LevelRow:
        """Return what a value must be to be better than that of a level."""
        value = float(values[level])
        if values.levels[level].sense == "min":
            return cls(level, None, value, True)
        return cls(level, value, None, True)


def _limited(
    variant: Variant | None, rows: Sequence[_LevelRow], levels: Sequence[str | Level] | None = None
) -> Callable[[Any, Any], None]:
    """Return a function that adds limits on the values of levels."""

    def limit(m: Any, instance: Any) -> None:
        import pyomo.core as pyo

        chosen = levels or (variant.levels if variant else None)
        names: Sequence[str | Level] = chosen or [
            o.name for o in m.component_objects(pyo.Objective)
        ]
        m.level_limits = pyo.ConstraintList()
        for row in rows:
            level = names[row.level]
            if isinstance(level, Level):
                expression = level.expr(m, instance)
            else:
                expression = m.component(level).expr
            size = max(abs(exact(row.low or row.high or 0)), _LEAST)
            step = step_of(expression)
            if step < _FINEST * size:
                step = _STEP * size
            step = step if row.beyond else Fraction(0)
            if row.low is not None:
                _state(m, expression >= float(exact(row.low) + step))
            if row.high is not None:
                _state(m, expression <= float(exact(row.high) - step))

    return limit


def _state(m: Any, row: Any) -> None:
    """Add a row to the limits of levels; that of a constant level is true or false."""
    import pyomo.core as pyo

    if not isinstance(row, bool | np.bool_):
        m.level_limits.add(row)
    elif not row:
        if m.component("constant_level") is None:
            m.constant_level = pyo.Var(bounds=(0, 0))
        m.level_limits.add(m.constant_level >= 1)


def frontier(
    instance: InstanceLike,
    levels: tuple[str | Level, str | Level],
    *,
    variant: VariantLike = None,
    **solve_options: Any,
) -> pandas.DataFrame:
    """Return every nondominated point of two levels, each proved to be one.

    Parameters
    ----------
    instance
        Anything that `load` takes.
    levels
        Names of two of the problem's levels, or levels of one's own.
    variant
        A change of the problem; its own levels are not looked at.
    **solve_options
        Passed on to `solve`.

    Returns
    -------
    pandas.DataFrame
        Columns named as the levels, from the best value of the first to the best of the second;
        ``status`` of each point, which a limit may leave unproved. Where the values of a level have
        no common step of a billionth of them at least, points that differ by less than 1e-5 of them
        are one. Where a search ends without a point and without a proof that there is none, the
        last row has only its status.
    """
    import pandas

    if len(levels) != 2:
        raise OptionError(f"a frontier has two levels, not {len(levels)}")
    inst, variant = load(instance), _variant(variant)
    pair = list(levels)
    first = _changed_problem(inst, extended(inst, variant, "both", levels=pair))
    steps = [step_of(o.expr) for o in first.model.build(inst).component_objects(ctype=_objective())]
    # The limit is on the level with fewer values: it takes them one after the other.
    turned = steps[0] > steps[1]
    order = pair[::-1] if turned else pair
    rows: list[dict[str, Any]] = []
    unfinished = False
    limit: list[_LevelRow] = []
    while True:
        add = _limited(None, limit, order) if limit else None
        changed = extended(inst, variant, f"point-{len(rows) + 1}", add, levels=order)
        result = solve(inst, variant=changed, **solve_options)
        if result.objective is None:
            unfinished = result.status is not Status.INFEASIBLE
            break
        rows.append(result.objective.map(float).as_dict() | {"status": str(result.status)})
        if result.status is not Status.OPTIMAL:
            break
        limit = [_LevelRow.better(1, result.objective)]
    names = [level if isinstance(level, str) else level.name for level in pair]
    rows = rows[::-1] if turned else rows
    rows += [{"status": str(result.status)}] if unfinished else []
    frame = pandas.DataFrame(rows, columns=[*names, "status"])
    return frame


def _objective() -> Any:
    from pyomo.core import Objective

    return Objective
