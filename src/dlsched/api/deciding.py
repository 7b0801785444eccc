"""What decisions cost: optima with some variables fixed."""

from __future__ import annotations

import pickle
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dlsched.api.loading import InstanceLike, load
from dlsched.api.proving import spread_of
from dlsched.api.solving import solve
from dlsched.errors import OptionError
from dlsched.results.objective import Bound
from dlsched.results.result import Result, Status
from dlsched.schema.envelope import Instance
from dlsched.solvers.earlier import Earlier
from dlsched.variants import VariantLike, VariantProblem, variant_of
from dlsched.variants.definition import extended
from dlsched.variants.names import variables_by_name
from dlsched.variants.owner import changed_problem_of

if TYPE_CHECKING:
    import pandas

_PARTS = 8
"""Parts of `what_if` on other processes: each solves the undecided problem anew **(D)**."""


def what_if(
    instance: InstanceLike,
    fixes: Sequence[Mapping[str, float]],
    *,
    variant: VariantLike = None,
    on: Any = None,
    **solve_options: Any,
) -> pandas.DataFrame:
    """Return what it costs to insist on decisions.

    Parameters
    ----------
    fixes
        For each row the values of some variables, by name, as ``{"x[s1]": 1}``.
    variant
        A change of the problem on which the decisions are made.
    on
        Where parts of `fixes` are solved independently, as ``dlsched.execution.Local(jobs=2)``;
        by default here, one after the other. The optima are the same; which one of several
        solutions is found, and how tight a bound of an unproved row is, may differ.

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
    if isinstance(fixes, str | Mapping) or not all(isinstance(fix, Mapping) for fix in fixes):
        raise OptionError('fixes must be a list of decisions, as [{"x[s1]": 1}, {"x[s2]": 0}]')
    spread = spread_of(on)
    shared = inst, variant, solve_options
    if spread is None or not fixes:
        return pandas.DataFrame(_rows(shared, fixes))
    try:
        pickle.dumps(shared)
    except Exception as error:
        raise OptionError(
            f"on= sends the variant and the options to other processes, and this is impossible: "
            f"{error}; write the variant's function into a file, and give variant='file.py:name'"
        ) from error
    length = -(-len(fixes) // _PARTS)
    parts = [fixes[i : i + length] for i in range(0, len(fixes), length)]
    made = spread(_rows, shared, parts, lambda: None) or []
    return pandas.DataFrame(made[0][:1] + [row for part in made for row in part[1:]])


def _rows(
    shared: tuple[Instance, VariantLike, Mapping[str, Any]], fixes: Sequence[Mapping[str, float]]
) -> list[dict[str, Any]]:
    inst, change, solve_options = shared
    variant = variant_of(change)
    owner = replace(changed_problem_of(inst, extended(inst, variant, "free")), earlier=Earlier())
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

    `names`: of the variables whose values are asked for.
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
