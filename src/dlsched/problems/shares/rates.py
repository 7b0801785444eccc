"""Iterations per second of each model on each type of GPU, alone and beside another job."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias

from dlsched.errors import InstanceError
from dlsched.problems.shares.jobs import converted
from dlsched.schema.quantities import Number, exact, shown, simplify, whole

if TYPE_CHECKING:
    import pandas

Alone: TypeAlias = "Mapping[Any, Mapping[str, float]] | pandas.DataFrame"
Pairs: TypeAlias = "Mapping[tuple[Any, ...], tuple[float, float]] | pandas.DataFrame"
_KEY = "use a model's name, or (model, scale)"
_PAIR = "use (model, other, gpu) or (model, other, scale, gpu)"


@dataclass(frozen=True)
class Rates:
    """Rates as exact numbers.

    Attributes
    ----------
    alone
        ``alone[model, scale][gpu]``; a scale of ``None`` stands for every scale that has no rates
        of its own. A rate of 0, or none, means that the job does not run there.
    beside
        ``beside[model, other, scale, gpu]`` is the rate of the first beside the second. Both orders
        are there.
    """

    alone: Mapping[tuple[str, int | None], Mapping[str, Number]]
    beside: Mapping[tuple[str, str, int | None, str], Number] = field(default_factory=dict)

    @classmethod
    def of(cls, rates: Rates | Alone, pairs: Pairs | None = None) -> Rates:
        """Return rates from mappings or tables.

        Parameters
        ----------
        rates
            ``{model: {gpu: rate}}`` or ``{(model, scale): {gpu: rate}}``, or a table with one
            column per type of GPU, whose index (or columns ``model`` and, if any, ``scale``)
            names the model. NaN means that the rate was not measured.
        pairs
            ``{(model, other, gpu): (rate, rate_of_other)}``, or with the scale before the type of
            GPU; or a table with columns ``model, other, gpu, rate, rate_of_other`` and, if any,
            ``scale``. One order of a pair is enough. What is missing is not shared.

        Raises
        ------
        InstanceError
            If a key or a rate cannot be used, or the two orders of a pair disagree.
        """
        if isinstance(rates, Rates):
            if pairs is not None:
                return cls(rates.alone, _pairs(pairs, rates.alone))
            return rates
        alone = _alone(rates)
        return cls(alone, {} if pairs is None else _pairs(pairs, alone))

    def knows(self, model: str, scale: int) -> bool:
        """Whether there are rates for jobs of this model and scale."""
        return (model, scale) in self.alone or (model, None) in self.alone

    def rate(self, model: str, scale: int, gpu: str) -> Number:
        """Return the rate of a job alone; 0 where it was not measured."""
        known = self.alone.get((model, scale))
        if known is None:
            known = self.alone.get((model, None), {})
        return known.get(gpu, 0)

    def pair(self, model: str, other: str, scale: int, gpu: str) -> tuple[Number, Number] | None:
        """Return the rates of two jobs on the same GPUs; ``None`` if they cannot share them.

        A pair in which one rate is 0 did not run together, and is not shared **(D)**.
        """
        for key in (scale, None):
            first = self.beside.get((model, other, key, gpu))
            if first is not None:
                second = self.beside[other, model, key, gpu]
                return (first, second) if first and second else None
        return None


def _alone(rates: Alone) -> dict[tuple[str, int | None], dict[str, Number]]:
    if hasattr(rates, "columns") and hasattr(rates, "reset_index"):
        rates = _from_table(rates)
    if not isinstance(rates, Mapping):
        raise InstanceError("rates", "", f"is {shown(rates)}", "give {model: {gpu: rate}}")
    alone: dict[tuple[str, int | None], dict[str, Number]] = {}
    for key, row in rates.items():
        where = f"[{key!r}]"
        model, scale = key if isinstance(key, tuple) and len(key) == 2 else (key, None)
        if not isinstance(model, str) or not model:
            raise InstanceError("rates", where, "names no model", _KEY)
        if not isinstance(row, Mapping):
            raise InstanceError("rates", where, f"is {shown(row)}", "give {gpu: rate}")
        alone[model, _scale(scale, where, "rates")] = {
            str(gpu): _rate(rate, f"{where}.{gpu}", "rates") for gpu, rate in row.items()
        }
    if not alone:
        raise InstanceError("rates", "", "is empty", "give {model: {gpu: rate}}")
    return alone


def _from_table(table: Any) -> dict[Any, dict[str, Any]]:
    """Return a table of rates as a mapping by model, or by model and scale."""
    if "model" not in table.columns:
        names = ["model", "scale"][: table.index.nlevels]
        table = table.rename_axis(index=names).reset_index()
    by = ["model", "scale"] if "scale" in table.columns else ["model"]
    rates: dict[Any, dict[str, Any]] = {}
    for row in table.astype(object).where(table.notna(), 0).to_dict("records"):
        values = tuple(row.pop(name) for name in by)
        key = values if len(values) > 1 else values[0]
        _require_new(key, rates, "rates")
        rates[key] = row
    return rates


def _require_new(key: object, known: Mapping[Any, object], where: str) -> None:
    if key in known:
        raise InstanceError(where, f"[{key!r}]", "stands twice", "keep one of the two")


def _pairs(
    pairs: Pairs, alone: Mapping[tuple[str, int | None], Any]
) -> dict[tuple[str, str, int | None, str], Number]:
    if hasattr(pairs, "columns") and hasattr(pairs, "to_dict"):
        pairs = _pairs_of_table(pairs)
    if not isinstance(pairs, Mapping):
        remedy = "give {(model, other, gpu): (rate, rate_of_other)}"
        raise InstanceError("pairs", "", f"is {shown(pairs)}", remedy)
    models = {model for model, _ in alone}
    beside: dict[tuple[str, str, int | None, str], Number] = {}
    for key, rates in pairs.items():
        where = f"[{key!r}]"
        if not isinstance(key, tuple) or len(key) not in (3, 4):
            raise InstanceError("pairs", where, "names no pair", _PAIR)
        *models_of_pair, gpu = key
        scale = _scale(models_of_pair.pop() if len(key) == 4 else None, where, "pairs")
        for name in models_of_pair:
            if name not in models:
                raise InstanceError("pairs", where, f"{name!r} has no rates alone", "add them")
        if not isinstance(rates, (tuple, list)) or len(rates) != 2:
            raise InstanceError("pairs", where, f"is {shown(rates)}", "give both jobs' rates")
        both = [_rate(rate, where, "pairs") for rate in rates]
        first, second = models_of_pair
        if first == second:  # the two jobs take turns as the first and the second
            both = [simplify(Fraction(sum(both)) / 2) if all(both) else 0] * 2
        for model, other, rate in zip((first, second), (second, first), both, strict=True):
            known = beside.setdefault((model, other, scale, str(gpu)), rate)
            if known != rate:
                problem = f"{model!r} has {float(rate):g} here, {float(known):g} in the other order"
                raise InstanceError("pairs", where, problem, "keep one of the two orders")
    return beside


def _pairs_of_table(table: Any) -> dict[tuple[Any, ...], tuple[Any, Any]]:
    needed = ["model", "other", "gpu", "rate", "rate_of_other"]
    for name in needed:
        if name not in table.columns:
            raise InstanceError("pairs", name, "is no column", f"give columns {', '.join(needed)}")
    by = ["model", "other", "scale", "gpu"] if "scale" in table.columns else needed[:3]
    pairs: dict[tuple[Any, ...], tuple[Any, Any]] = {}
    for row in table.to_dict("records"):
        key = tuple(row[name] for name in by)
        _require_new(key, pairs, "pairs")
        pairs[key] = (row["rate"], row["rate_of_other"])
    return pairs


def _scale(scale: object, path: str, where: str) -> int | None:
    if scale is None:
        return None
    number = converted(scale, whole, where, path)
    if number < 1:
        raise InstanceError(where, path, f"{number} is no number of GPUs", "use one from 1")
    return number


def _rate(rate: object, path: str, where: str) -> Number:
    number = converted(rate, exact, where, path)
    if number < 0:
        raise InstanceError(where, path, f"{shown(rate)} is negative", "use 0 where it cannot run")
    return number
