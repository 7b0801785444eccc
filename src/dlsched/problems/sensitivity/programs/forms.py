"""The form of choices and server patterns, for proofs: in integers, without a solver.

Its columns are the options, taken by jobs, and the patterns of single servers. Patterns and
options are left out only if their reduced costs at the proof's prices are too large, see
`form_columns`. All patterns that remain are enumerated. Nothing is shared with the methods that
find solutions and proofs but the instance's own data (its undominated choices) and `granularity`.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

from dlsched.problems.sensitivity.definition.schema import Instance
from dlsched.problems.sensitivity.programs.form_columns import (
    LIMITS,
    FormColumns,
    FormPrices,
    columns_of,
    limit_of,
    maximal_patterns,
)
from dlsched.proofs.forms.form import Form, Goal, Restricted, Row
from dlsched.proofs.forms.parameters import ratio, require_keys, wholes
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
    if level == 0:
        limits = [limit_of(columns, stated, floor)]
    else:
        held = _prices(columns, parameters["held"])
        split = limit_of(columns, stated, floor, int(targets[1]))
        limits = [split, limit_of(columns, held, floor)]
    every = maximal_patterns(columns, limits, LIMITS.patterns)
    allowed = [all(marks) for marks in zip(*(limit.options for limit in limits), strict=True)]
    most = [jobs * ok for jobs, ok in zip(_of_profile(columns), allowed, strict=True)]
    rows = [*_choices(columns), *_pooled(instance, columns), *_supplied(columns, every)]
    return _form("patterns", columns, rows, [*most, *[columns.servers] * len(every)], level)


def pooled(instance: Instance, parameters: Mapping[str, Any]) -> Form:
    """Return the program of the options alone, with the CPUs and memory of all servers together.

    It is a relaxation: a server may have room for none of the options chosen.
    """
    if parameters:
        raise ValueError("the form pooled has no parameters")
    columns = columns_of(instance, whole=True, units=True)
    rows = [*_choices(columns), *_pooled(instance, columns)]
    return _form("pooled", columns, rows, _of_profile(columns), level=1)


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
    name: str, columns: FormColumns, rows: Sequence[Row], most: Sequence[int], level: int
) -> Form:
    """Return the form with these rows: options, each up to `most` jobs, then patterns if any."""
    options = columns.options
    throughput = {c: -value for c, value in enumerate(columns.values) if value}
    goals = [Goal("throughput", -1, throughput, 0, columns.granularity, True)]
    if level == 1:
        split = {c: 1 for c, option in enumerate(options) if option.split}
        goals.append(Goal("split", 1, split, 0, Fraction(1), True))
    width = len(most)
    first = frozenset(range(len(options)))
    return Form(name, [0] * width, list(most), [True] * width, list(rows), goals, first)


def _of_profile(columns: FormColumns) -> list[int]:
    """Return for each option how many jobs there are that can take it."""
    return [columns.counts[option.profile] for option in columns.options]


def _choices(columns: FormColumns) -> Iterator[Row]:
    """Yield that the jobs of a profile, or fewer if they may wait, take one option each."""
    for profile, jobs in columns.counts.items():
        cells = {c: 1 for c, option in enumerate(columns.options) if option.profile == profile}
        yield Row(cells, columns.least_jobs * jobs, jobs)


def _supplied(columns: FormColumns, every: Sequence[Sequence[int]]) -> Iterator[Row]:
    """Yield that patterns supply the items of options, and that there is a server for each."""
    n = len(columns.options)
    for i in range(len(columns.items)):
        cells = {c: option.amount for c, option in enumerate(columns.options) if option.item == i}
        cells |= {n + p: -pattern[i] for p, pattern in enumerate(every) if pattern[i]}
        yield Row(cells, None, 0)
    yield Row({n + p: 1 for p in range(len(every))}, None, columns.servers)


def _pooled(instance: Instance, columns: FormColumns) -> Iterator[Row]:
    """Yield that all jobs together need no more of a resource than all servers have."""
    servers = instance.servers
    gpus = [instance.profiles[option.profile].gpus for option in columns.options]
    choices = [option.choice for option in columns.options]
    for capacity, per_gpu in (
        (servers.gpus, [1] * len(choices)),
        (servers.cpus, [choice.cpus for choice in choices]),
        (servers.memory, [choice.memory for choice in choices]),
    ):
        needs = [Fraction(g * amount) for g, amount in zip(gpus, per_gpu, strict=True)]
        total = Fraction(servers.count * capacity)
        unit = granularity([total, *needs]) or Fraction(1)
        cells = {c: int(need / unit) for c, need in enumerate(needs) if need}
        yield Row(cells, None, int(total / unit))
