"""A Pyomo model as arrays, which all back ends and the certificates use."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dlsched.schema.quantities import Number
from dlsched.solvers.outcome import Vector

if TYPE_CHECKING:
    from scipy import sparse

INF = float("inf")
COMPILED = "COMPILED"
"""Attribute of a model that has been compiled, where only rows have been added to it since."""
_EPS = float(np.finfo(float).eps)
_HALF_ULP = Fraction(1, 2**53)
_INEXACT = 2.0**53
"""Integers from here on may be rounded in a double."""
_LARGEST_SCALED = 1e9
"""Costs are not scaled to integers above this, which exceed a solver's range of tolerances."""
_LARGEST_INTEGER = 2.0**20
"""Costs scaled to integers up to this are passed to a solver unchanged."""
_EXPONENT = 13
"""The largest of other costs is passed to a solver as about two to this power, so that its absolute
tolerance of 1e-7 on reduced costs is about 1e-11 of the largest cost."""


class ScaledLevel(NamedTuple):
    """One level's costs and offset in a unit."""

    unit: Fraction
    costs: Vector
    offset: float


@dataclass(frozen=True)
class StandardForm:
    """Rows ``row_lower <= A x <= row_upper``, columns ``lower <= x <= upper``, some integer.

    ``costs[l]``, ``offsets[l]``, ``senses[l]`` and ``level_names[l]`` belong to level ``l`` of the
    objective; all its values are multiples of ``granularities[l]``, unless that is 0. ``variables``
    and ``constraints`` are Pyomo's, of the columns and rows; a held level's row has its name, and
    columns that a method adds at the end have no variable.
    ``offset_errors`` says by how much offsets may differ from the costs of fixed columns that they
    stand for, by level; not at all where it is empty. ``units`` are those of a variant's columns,
    powers of two: the value of a variable is its column's times the unit.
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
    offset_errors: tuple[float, ...] = ()
    units: Vector | None = None

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
        granularity: Fraction = Fraction(0),
    ) -> StandardForm:
        """Return an integer program of one level with lower bounds of 0 and without names."""
        columns = A.shape[1]
        return cls(
            A,
            row_lower,
            row_upper,
            lower=np.zeros(columns),
            upper=upper,
            integer=np.ones(columns, dtype=bool),
            costs=(costs,),
            offsets=(0.0,),
            senses=(sense,),
            granularities=(granularity,),
        )

    @property
    def shape(self) -> tuple[int, int]:
        """Rows, columns."""
        return self.A.shape[0], self.A.shape[1]

    @property
    def size(self) -> str:
        """The number of rows and columns, in words."""
        rows, columns = self.shape
        return f"{rows:,} constraints, {columns:,} variables"

    @cached_property
    def column_names(self) -> list[str]:
        """The variables' names, valid in an MPS file."""
        return _names([v.name for v in self.variables])

    @cached_property
    def row_names(self) -> list[str]:
        """The constraints' names, valid in an MPS file."""
        return _names([c if isinstance(c, str) else c.name for c in self.constraints])

    def value(self, level: int, x: Vector) -> float:
        """Return the objective of one level at a point, whatever its terms cancel."""
        unit, costs, offset = self.scaled(level)
        terms = costs * x
        if not np.isfinite(terms).all():
            return float(self.costs[level] @ x) + self.offsets[level]
        return float(unit * Fraction(math.fsum([*terms[terms != 0].tolist(), offset])))

    def offset_error(self, level: int) -> float:
        """Return by how much a level's offset may be off."""
        return self.offset_errors[level] if self.offset_errors else 0.0

    def counted(self, level: int) -> bool:
        """Whether a level's costs are held exactly, as whole numbers of its granularity."""
        granularity = self.granularities[level]
        counted = bool(granularity) and self.scaled(level).unit == granularity
        return counted and not self.offset_error(level)

    def offset_doubt(self, level: int) -> Fraction:
        """Return by how much a level's offset may be off, with the rounding of the constant."""
        offset = self.offsets[level]
        whole = self.granularities[level].denominator == 1 and abs(offset) < _INEXACT
        if self.counted(level) or (whole and offset.is_integer()):
            return Fraction(self.offset_error(level))
        return Fraction(self.offset_error(level)) + abs(Fraction(offset)) * _HALF_ULP

    def sign(self, level: int) -> Literal[1, -1]:
        """Return 1 for a level that is minimized, -1 for one that is maximized."""
        return 1 if self.senses[level] == "min" else -1

    def sides(self, multipliers: Vector) -> Vector:
        """Return the side of each row that the sign of its multiplier chooses, 0 for none."""
        high = np.where(multipliers < 0, self.row_upper, 0.0)
        return np.where(multipliers > 0, self.row_lower, high)

    def usable(self, multipliers: Vector) -> Vector:
        """Return multipliers with 0 where the row has no side for their sign."""
        return np.where(np.isinf(self.sides(multipliers)), 0.0, multipliers)

    def scaled(self, level: int) -> ScaledLevel:
        """Return one level with its granularity as the unit.

        The costs are then integers, so certificates need no fractions. The unit is 1 for a level
        without a granularity, or whose costs are not multiples of it or exceed 1e9 units.
        """
        granularity = self.granularities[level]
        offset = self.offsets[level]
        values = np.append(self.costs[level], offset)
        if granularity and np.abs(values).max() <= 2 * _LARGEST_SCALED * granularity:
            quotients = values / float(granularity)
            integers = np.rint(quotients)
            distances = np.abs(quotients - integers)
            near = distances <= 4 * _EPS * np.abs(quotients)
            if near.all() and np.abs(integers).max() <= _LARGEST_SCALED:
                return ScaledLevel(granularity, integers[:-1], float(integers[-1]))
        return ScaledLevel(Fraction(1), self.costs[level], offset)

    def conditioned(self, level: int) -> ScaledLevel:
        """Return one level in the unit in which solvers see it.

        Solvers' tolerances are absolute: costs of 1e-9 would be within them, and costs of 1e15
        could not be solved to them. The unit is that of `scaled` if its costs are integers of
        moderate size; otherwise it is that times a power of two, so that no cost is rounded.
        """
        scaled = self.scaled(level)
        largest = float(np.abs(scaled.costs).max(initial=0.0))
        counted = scaled.unit == self.granularities[level]
        if largest == 0.0 or (counted and largest <= _LARGEST_INTEGER):
            return scaled
        _, exponent = math.frexp(largest)
        power = exponent - _EXPONENT
        return ScaledLevel(
            scaled.unit * Fraction(2) ** power,
            np.ldexp(scaled.costs, -power),
            math.ldexp(scaled.offset, -power),
        )

    def held(self, level: int, value: Number | float) -> StandardForm:
        """Return the form with one more row: the level is no worse than `value`.

        The row is in the unit of `conditioned`.
        """
        from scipy import sparse

        unit, costs, offset = self.conditioned(level)
        exact = Fraction(value)
        granularity = self.granularities[level]
        if granularity and self.scaled(level)[0] == granularity:
            exact = round(exact / granularity) * granularity
        minimized = self.sign(level) == 1
        doubt = self.offset_doubt(level) / unit
        limit = float(exact / unit - Fraction(offset) + (doubt if minimized else -doubt))
        row = sparse.csc_array(costs.reshape(1, -1))
        return replace(
            self,
            A=sparse.csc_array(sparse.vstack([self.A, row], format="csc")),
            row_lower=np.append(self.row_lower, -INF if minimized else limit),
            row_upper=np.append(self.row_upper, limit if minimized else INF),
            constraints=[*self.constraints, f"hold_{self.level_names[level]}"],
        )

    def in_units_of_variables(self) -> StandardForm:
        """Return the form with the variables' own values as columns, as files have it.

        The smallest coefficient of a row with other units becomes about 1, since readers of files
        take those below 1e-9 for 0.
        """
        from scipy import sparse

        if self.units is None:
            return self
        rows = sparse.csr_array(self.A)
        units = self.units[rows.indices]
        rows.data = rows.data / units
        factors = np.ones(self.shape[0])
        for i in np.unique(np.repeat(np.arange(self.shape[0]), np.diff(rows.indptr))[units != 1]):
            smallest = np.abs(rows.data[rows.indptr[i] : rows.indptr[i + 1]]).min()
            factors[i] = 2.0 ** -round(math.log2(smallest))
        rows.data *= np.repeat(factors, np.diff(rows.indptr))
        return replace(
            self,
            A=sparse.csc_array(rows),
            row_lower=self.row_lower * factors,
            row_upper=self.row_upper * factors,
            lower=self.lower * self.units,
            upper=self.upper * self.units,
            costs=tuple(costs / self.units for costs in self.costs),
            units=None,
        )

    def load(self, x: Vector) -> None:
        """Set the Pyomo variables to a point, integer ones rounded."""
        rounded = np.where(self.integer, np.rint(x), x)
        if self.units is not None:
            rounded = rounded * self.units
        for variable, value in zip(self.variables, rounded.tolist(), strict=True):
            variable.set_value(value, skip_validation=True)

    def point(self) -> Vector | None:
        """Return the Pyomo variables' values; ``None`` if one has none."""
        values = [v.value for v in self.variables]
        if None in values:
            return None
        point = np.array(values, dtype=float)
        return point if self.units is None else point / self.units


def _names(names: list[str]) -> list[str]:
    """Return the names without blanks, and with underscores appended until they are unique."""
    seen: dict[str, None] = {}
    for name in names:
        text = "_".join(name.split()) or "_"
        while text in seen:
            text += "_"
        seen[text] = None
    return list(seen)


def compile_model(model: Any) -> StandardForm:
    """Compile a Pyomo model whose objectives are its levels, in their order.

    Parameters
    ----------
    model
        A linear ``pyomo.environ.ConcreteModel`` with all its objectives active. Its attribute
        ``GRANULARITY``, if any, maps names of objectives to a number that divides all their values;
        ``ROW_SCALES`` maps names of constraints to their `RowScale`, ``UNITS`` ids of variables to
        the units of their columns. `COMPILED`, if it is there and not ``None``, is what the model
        compiles to.

    Raises
    ------
    ValueError
        If a variable's domain is neither an interval nor the integers of one.
    """
    import pyomo.core as pyo
    from pyomo.repn.plugins.standard_form import LinearStandardFormCompiler

    compiled: StandardForm | None = getattr(model, COMPILED, None)
    if compiled is not None:
        return compiled
    from scipy import sparse

    columns = list(model.component_data_objects(pyo.Var, descend_into=True))
    info = LinearStandardFormCompiler().write(
        model, mixed_form=True, set_sense=None, column_order=columns
    )
    for v in info.columns:
        if not (v.is_continuous() or v.is_integer()):
            raise ValueError(
                f"the domain of {v.name} is neither an interval nor a range of integers"
            )
    A, costs = sparse.csr_array(info.A), info.c.toarray()
    rhs = np.array([float(b) for b in info.rhs])
    scales = getattr(model, "ROW_SCALES", {})
    for i, row in enumerate(info.rows if scales else ()):
        scale = scales.get(row.constraint.name)
        if scale is not None:
            entries = slice(A.indptr[i], A.indptr[i + 1])
            A.data[entries] = [scale.coefficient(info.columns[j]) for j in A.indices[entries]]
            rhs[i] = scale.limit(row.bound_type)
    kind = np.array([row.bound_type for row in info.rows], dtype=int)
    bounds = [v.bounds for v in info.columns]
    lower = np.array([-INF if low is None else low for low, _ in bounds], dtype=float)
    upper = np.array([INF if high is None else high for _, high in bounds], dtype=float)
    units = None
    if hasattr(model, "UNITS"):
        units = np.array([model.UNITS.get(id(v), 1.0) for v in info.columns])
        A.data *= units[A.indices]
        costs, lower, upper = costs * units, lower / units, upper / units
    declared = getattr(model, "GRANULARITY", {})
    return StandardForm(
        A=sparse.csc_array(A),
        row_lower=np.where(kind == 1, -INF, rhs),
        row_upper=np.where(kind == -1, INF, rhs),
        lower=lower,
        upper=upper,
        integer=np.array([v.is_integer() or v.is_binary() for v in info.columns], dtype=bool),
        costs=tuple(costs),
        offsets=tuple(float(offset) for offset in info.c_offset),
        senses=tuple("min" if o.sense == pyo.minimize else "max" for o in info.objectives),
        granularities=tuple(Fraction(declared.get(o.name, 0)) for o in info.objectives),
        level_names=tuple(o.name for o in info.objectives),
        variables=info.columns,
        constraints=[row.constraint for row in info.rows],
        units=units,
    )
