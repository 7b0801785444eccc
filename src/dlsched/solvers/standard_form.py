"""A Pyomo model as arrays: the one form that every back end and the certificates share."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dlsched.solvers.outcome import Vector

if TYPE_CHECKING:
    from scipy import sparse

INF = float("inf")
_EPS = float(np.finfo(float).eps)
_LARGEST_COUNT = 1e9
"""Beyond this, costs counted in units would strain a solver's tolerances more than decimals do."""
_LARGEST_WHOLE = 2.0**20
"""Costs that are whole numbers up to this are handed to a solver as they are."""
_SCALE = 13
"""Other costs are scaled so that the largest is about two to this power: a reduced cost within a
solver's absolute tolerance of 1e-7 is then about 1e-11 of the largest cost."""


@dataclass(frozen=True)
class StandardForm:
    """Rows ``row_lower <= A x <= row_upper``, columns ``lower <= x <= upper``, some integer.

    ``costs[l]``, ``offsets[l]`` and ``senses[l]`` belong to level ``l`` of the objective; all its
    values are multiples of ``granularities[l]``, unless that is 0.
    """

    A: sparse.csc_array
    row_lower: Vector
    row_upper: Vector
    lower: Vector
    upper: Vector
    integer: NDArray[np.bool_]
    costs: tuple[Vector, ...]
    offsets: tuple[float, ...]
    senses: tuple[str, ...]
    granularities: tuple[Fraction, ...]
    level_names: tuple[str, ...] = ("objective",)
    variables: Sequence[Any] = field(default=(), repr=False)
    constraints: Sequence[Any] = field(default=(), repr=False)

    @classmethod
    def of(
        cls,
        A: sparse.csc_array,
        row_lower: Vector,
        row_upper: Vector,
        upper: Vector,
        costs: Vector,
        *,
        sense: str,
        grid: Fraction = Fraction(0),
    ) -> StandardForm:
        """Return an integer program of one level over columns from 0, without names."""
        return cls(
            A=A,
            row_lower=row_lower,
            row_upper=row_upper,
            lower=np.zeros(A.shape[1]),
            upper=upper,
            integer=np.ones(A.shape[1], dtype=bool),
            costs=(costs,),
            offsets=(0.0,),
            senses=(sense,),
            granularities=(grid,),
        )

    @property
    def shape(self) -> tuple[int, int]:
        """Rows, columns."""
        return self.A.shape[0], self.A.shape[1]

    @cached_property
    def column_names(self) -> list[str]:
        """The variables' names, fit for an MPS file."""
        return _names([v.name for v in self.variables])

    @cached_property
    def row_names(self) -> list[str]:
        """The constraints' names, fit for an MPS file."""
        return _names([c if isinstance(c, str) else c.name for c in self.constraints])

    def value(self, level: int, x: Vector) -> float:
        """Return the objective of one level at a point."""
        return float(self.costs[level] @ x) + self.offsets[level]

    def scaled(self, level: int) -> tuple[Fraction, Vector, float]:
        """Return (unit, costs, offset): one level counted in units of its grid.

        The costs are then whole numbers, so a solver's absolute tolerances mean the same whatever
        unit the instance chose, and certificates need no fractions. A level without a grid, or
        whose costs are not multiples of it, is counted in ones.
        """
        grid, offset = self.granularities[level], self.offsets[level]
        values = np.append(self.costs[level], offset)
        if grid and np.abs(values).max() <= 2 * _LARGEST_COUNT * grid:
            counts = values / float(grid)
            whole = np.rint(counts)
            off = np.abs(counts - whole) > 4 * _EPS * np.abs(counts)
            if not off.any() and np.abs(whole).max() <= _LARGEST_COUNT:
                return grid, whole[:-1], float(whole[-1])
        return Fraction(1), self.costs[level], offset

    def conditioned(self, level: int) -> tuple[Fraction, Vector, float]:
        """Return (unit, costs, offset): one level in the unit that suits a solver's tolerances.

        These are absolute, so costs of 1e-9 would be lost in them and costs of 1e15 would never
        meet them. The unit is that of `scaled`, unless its costs are not whole or too large; then
        it is a power of two more or less, so that no cost is rounded.
        """
        unit, costs, offset = self.scaled(level)
        largest = float(np.abs(costs).max(initial=0.0))
        whole = self.granularities[level] and unit == self.granularities[level]
        if largest == 0.0 or (whole and largest <= _LARGEST_WHOLE):
            return unit, costs, offset
        power = math.frexp(largest)[1] - _SCALE
        factor = Fraction(2) ** power
        return unit * factor, np.ldexp(costs, -power), math.ldexp(offset, -power)

    def held(self, level: int, value: float) -> StandardForm:
        """Return the form with one more row: this level is no worse than `value`.

        The row is in the unit of `conditioned`.
        """
        from scipy import sparse

        unit, costs, offset = self.conditioned(level)
        granularity = self.granularities[level]
        if granularity and self.scaled(level)[0] == granularity:
            steps = round(Fraction(value) / granularity)
            limit = float(steps * granularity / unit) - offset
        else:
            limit = float(Fraction(value) / unit) - offset
        low, high = (-INF, limit) if self.senses[level] == "min" else (limit, INF)
        row = sparse.csc_array(costs.reshape(1, -1))
        return replace(
            self,
            A=sparse.csc_array(sparse.vstack([self.A, row], format="csc")),
            row_lower=np.append(self.row_lower, low),
            row_upper=np.append(self.row_upper, high),
            constraints=[*self.constraints, f"hold_{self.level_names[level]}"],
        )

    def load(self, x: Vector) -> None:
        """Put a point into the Pyomo variables, integer ones rounded."""
        rounded = np.where(self.integer, np.rint(x), x)
        for variable, value in zip(self.variables, rounded.tolist(), strict=True):
            variable.set_value(value, skip_validation=True)

    def point(self) -> Vector | None:
        """Return the Pyomo variables' values; ``None`` if one has none."""
        values = [v.value for v in self.variables]
        return None if None in values else np.array(values, dtype=float)


def _names(names: list[str]) -> list[str]:
    """Make names unique and free of blanks, keeping them recognisable."""
    seen: set[str] = set()
    result = []
    for name in names:
        text = "_".join(name.split()) or "_"
        while text in seen:
            text += "_"
        seen.add(text)
        result.append(text)
    return result


def compile_model(model: Any) -> StandardForm:
    """Compile a Pyomo model whose objectives are its levels, in their order.

    Parameters
    ----------
    model
        A linear ``pyomo.environ.ConcreteModel`` with all its objectives active. Its attribute
        ``GRANULARITY``, if any, maps names of objectives to the grid that their values lie on.

    Raises
    ------
    ValueError
        If a variable's domain has gaps that are not those of the whole numbers.
    """
    import pyomo.environ as pyo
    from pyomo.repn.plugins.standard_form import LinearStandardFormCompiler
    from scipy import sparse

    columns = list(model.component_data_objects(pyo.Var, descend_into=True))
    info = LinearStandardFormCompiler().write(
        model, mixed_form=True, set_sense=None, column_order=columns
    )
    for v in info.columns:
        if not (v.is_continuous() or v.is_integer()):
            raise ValueError(f"the domain of {v.name} is neither an interval nor whole numbers")
    rhs = np.array([float(b) for b in info.rhs])
    kind = np.array([row.bound_type for row in info.rows], dtype=int)
    bounds = [v.bounds for v in info.columns]
    costs = info.c.toarray()
    senses = tuple("min" if o.sense == pyo.minimize else "max" for o in info.objectives)
    declared = getattr(model, "GRANULARITY", {})
    grids = tuple(Fraction(declared.get(o.name, 0)) for o in info.objectives)
    return StandardForm(
        A=sparse.csc_array(info.A),
        row_lower=np.where(kind == 1, -INF, rhs),
        row_upper=np.where(kind == -1, INF, rhs),
        lower=np.array([-INF if low is None else low for low, _ in bounds], dtype=float),
        upper=np.array([INF if high is None else high for _, high in bounds], dtype=float),
        integer=np.array([v.is_integer() or v.is_binary() for v in info.columns], dtype=bool),
        costs=tuple(costs),
        offsets=tuple(float(offset) for offset in info.c_offset),
        senses=senses,
        granularities=grids,
        level_names=tuple(o.name for o in info.objectives),
        variables=info.columns,
        constraints=[row.constraint for row in info.rows],
    )
