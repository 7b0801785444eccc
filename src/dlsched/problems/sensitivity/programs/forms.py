"""The form of choices and server patterns, for proofs: in integers, without a solver.

Its columns are the options, taken by jobs, and the patterns of single servers. Patterns and
options are left out only if their reduced costs at the proof's prices are too large, see
`form_columns`. All patterns that remain are enumerated. Nothing is shared with the methods that
find solutions and proofs but the instance's own data (its undominated choices) and `granularity`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from dlsched.problems.sensitivity.definition.schema import Instance
from dlsched.problems.sensitivity.programs.form_columns import (
    FormColumns,
    FormPrices,
    Limit,
    columns_of,
    split_limit,
    throughput_limit,
)
from dlsched.problems.sensitivity.programs.form_patterns import LIMITS, dearest, maximal_patterns
from dlsched.proofs.forms.form import Form, Goal, Row
from dlsched.proofs.forms.parameters import ratio, require_keys, wholes
from dlsched.proofs.forms.restricted import Restricted
from dlsched.schema import Number, granularity

_OF_PRICES = ("items", "factor", "split", "throughput")


def patterns(
    instance: Instance, parameters: Mapping[str, Any], level: int, targets: Sequence[Number]
) -> Form:
    """Return the program over all patterns and options that matter.

    Parameters
    ----------
    parameters
        ``prices``: of items, and of what `Lagrangian` has beside them, for this level; ``held``, at
        level 2: prices for level 1, whose target is held; ``together``: whether jobs of several
        GPUs may be on one server, which then is not counted as a split. At level 1 all jobs of
        several GPUs may be divided freely, unless ``together`` says that none are.
    """
    needed = ("prices", "held")[: level + 1]
    require_keys("patterns", parameters, needed, ("held", "together"))
    together = bool(parameters.get("together"))
    if level == 0 and together and instance.allow_split:
        raise ValueError("jobs may be divided, so their items are single GPUs")
    columns = columns_of(instance, whole=level == 1 or together, units=level == 1 or not together)
    throughput = Fraction(targets[0]) / columns.granularity
    if throughput.denominator > 1:
        raise ValueError("no choices have this throughput")
    if columns.room.gpus > LIMITS.gpus:
        raise ValueError(f"servers have more than {LIMITS.gpus} GPUs")
    floor = int(throughput)
    stated = _prices(columns, parameters["prices"])
    best = dearest(columns, stated.items)(columns.room)
    if level == 0:
        limits = [throughput_limit(columns, stated, best, floor)]
    else:
        held = _prices(columns, parameters["held"])
        best_held = dearest(columns, held.items)(columns.room)
        limits = [
            split_limit(columns, stated, best, floor, int(targets[1])),
            throughput_limit(columns, held, best_held, floor),
        ]
    every = maximal_patterns(columns, limits, LIMITS.patterns)
    return _form("patterns", instance, columns, every, limits, level)


def pooled(instance: Instance, parameters: Mapping[str, Any]) -> Form:
    """Return the program of the options alone, with the CPUs and memory of all servers together.

    It is a relaxation: a server may have room for none of the options chosen.
    """
    if parameters:
        raise ValueError("the form pooled has no parameters")
    return _form("pooled", instance, columns_of(instance, whole=True, units=True), None, (), 1)


FORMS: dict[str, Restricted | Callable[[Instance, Mapping[str, Any]], Form]] = {
    "patterns": Restricted(patterns),
    "pooled": pooled,
}


def _prices(columns: FormColumns, data: object) -> FormPrices:
    """Return the prices that a proof states; any are valid."""
    if not isinstance(data, Mapping):
        raise ValueError(f"prices must be an object of {', '.join(_OF_PRICES)}")
    require_keys("patterns", data, _OF_PRICES)
    items = data["items"]
    if not wholes(items) or len(items) != len(columns.items) or min(items, default=0) < 0:
        raise ValueError("the prices are not of this form's items")
    factor, split, throughput = (ratio(data[key]) for key in _OF_PRICES[1:])
    if factor <= 0 or split <= 0 or throughput < 0:
        raise ValueError("the units of prices must be positive")
    return FormPrices(list(items), factor, split, throughput)


def _form(
    name: str,
    instance: Instance,
    columns: FormColumns,
    every: Sequence[Sequence[int]] | None,
    limits: Sequence[Limit],
    level: int,
) -> Form:
    """Return the form: options of jobs, then patterns of servers if there are any."""
    options = columns.options
    counts = columns.counts
    n = len(columns.options)
    count = columns.servers
    allowed = [all(limit.options[c] for limit in limits) for c in range(n)]
    upper = [counts[o.profile] * ok for o, ok in zip(options, allowed, strict=True)]
    rows = [
        Row(
            {c: 1 for c, o in enumerate(options) if o.profile == profile},
            columns.least_jobs * jobs,
            jobs,
        )
        for profile, jobs in counts.items()
    ]
    rows += _pooled(instance, columns)
    if every is not None:
        for i in range(len(columns.items)):
            cells = {c: o.amount for c, o in enumerate(options) if o.item == i}
            cells |= {n + p: -pattern[i] for p, pattern in enumerate(every) if pattern[i]}
            rows.append(Row(cells, None, 0))
        rows.append(Row({n + p: 1 for p in range(len(every))}, None, count))
    goals = [
        Goal(
            "throughput", -1, {c: -v for c, v in enumerate(columns.values) if v}, 0,
            columns.granularity, True,
        )
    ]  # fmt: skip
    if level == 1:
        split = {c: 1 for c, o in enumerate(options) if o.split}
        goals.append(Goal("split", 1, split, 0, Fraction(1), True))
    width = n + len(every or ())
    return Form(
        name, [0] * width, [*upper, *[count] * (width - n)], [True] * width, rows, goals,
        frozenset(range(n)),
    )  # fmt: skip


def _pooled(instance: Instance, columns: FormColumns) -> list[Row]:
    """Return that all jobs together need no more of a resource than all servers have."""
    servers = instance.servers
    profiles = instance.profiles
    rows = []
    for name in ("gpus", "cpus", "memory"):
        needs = [
            Fraction(profiles[o.profile].gpus * (1 if name == "gpus" else getattr(o.choice, name)))
            for o in columns.options
        ]
        total = Fraction(servers.count * getattr(servers, name))
        unit = granularity([total, *needs]) or Fraction(1)
        cells = {c: int(need / unit) for c, need in enumerate(needs) if need}
        rows.append(Row(cells, None, int(total / unit)))
    return rows
