"""What has to be proved of each level: shared by those who prove and by those who check."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from dlsched.proofs.forms.form import ROUNDING, Form, Goal, Row
from dlsched.results.proof import KINDS, Kind
from dlsched.schema.quantities import Number

NINE_DIGITS = Fraction(1, 10**9)
"""How much of a target is left unproved at most, where it is certified to nine digits."""


@dataclass(frozen=True)
class Aim:
    """``goal.costs`` is at least ``least`` in every point of the rows; more than it, if strict."""

    goal: Goal
    rows: Sequence[Row]
    least: Fraction
    strict: bool


def kind_of(form: Form, level: int) -> Kind:
    """Return how well a form can prove a level."""
    return KINDS[0] if form.goals[level].exact else KINDS[1]


def aim(form: Form, level: int, targets: Sequence[Number], kind: Kind) -> Aim:
    """Return what proves that no solution is better at a level, given the earlier ones.

    Parameters
    ----------
    targets
        The objective of the solution, by level. The rows that earlier levels have these values are
        added: a solution that is better at this level only matters if it is as good at those.

    Raises
    ------
    ValueError
        If the form does not have the level exactly, and the kind says so.
    """
    goal = form.goals[level]
    value = Fraction(targets[level])
    steps = goal.steps(value)
    rows = list(form.rows)
    for held, target in zip(form.goals[:level], targets, strict=False):
        rows.append(held.row(target, form.whole(held.costs)))
    if kind == KINDS[1]:
        unproved = (NINE_DIGITS - ROUNDING) * abs(value) / goal.unit
        return Aim(goal, rows, steps - unproved, False)
    if not goal.exact:
        raise ValueError(f"the form {form.name} has {goal.name} rounded, which proves nine digits")
    return _exactly(form, goal, rows, steps)


def _exactly(form: Form, goal: Goal, rows: Sequence[Row], steps: Fraction) -> Aim:
    """Return the aim of proving a number of steps; whole ones are better by one at least."""
    if form.whole(goal.costs):
        return Aim(goal, rows, Fraction(math.ceil(steps) - 1), True)
    return Aim(goal, rows, steps, False)


def none_aim(form: Form) -> Aim:
    """Return what proves that a form has no point: costs of 0 are at least 1.

    A multiplier is of one side of a row: where the sides, or a column's bounds, contradict each
    other, one of them is a row of its own.
    """
    rows = list(form.rows)
    for i, row in enumerate(form.rows):
        if row.low is not None and row.high is not None and row.low > row.high:
            rows[i] = replace(row, high=None)
            rows.append(replace(row, low=None))
    ends = enumerate(zip(form.lower, form.upper, strict=True))
    rows += [Row({j: 1}, low, None) for j, (low, high) in ends if low > high]
    return Aim(Goal("", 1, {}, 0, Fraction(1), True), rows, Fraction(1), False)


def bound_aim(form: Form, target: Fraction) -> Aim:
    """Return what proves that no solution is better than a target at the first level.

    Rounded costs are no better than the form has them but for `ROUNDING`, so that much more has to
    be proved. The target need not be the value of a solution. If all costs are of integer columns,
    they are whole at every solution, and what is better than the target costs less than its steps,
    rounded up.
    """
    goal = form.goals[0]
    steps = goal.steps(target)
    if not goal.exact:
        rounding = ROUNDING * abs(target) / goal.unit
        return Aim(goal, form.rows, steps + rounding, False)
    return _exactly(form, goal, form.rows, steps)
