"""The form of choices and server patterns, for proofs: in integers, without a solver.

Its columns are the options, taken by jobs, and the patterns of single servers. Patterns and options
are left out only if their reduced costs at the proof's prices are too large: see
`Lagrangian.cutoff`. All patterns that remain are enumerated by the table of one server.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from dlsched.forms.form import Form, Goal, Row
from dlsched.forms.parameters import ratio, require_keys, wholes
from dlsched.forms.restricted import Restricted
from dlsched.problems.sensitivity.enumeration import maximal
from dlsched.problems.sensitivity.lagrangian import Cutoff, Prices
from dlsched.problems.sensitivity.packing import Pattern
from dlsched.problems.sensitivity.program import Program
from dlsched.problems.sensitivity.schema import Instance
from dlsched.schema import Number, granularity

MOST_PATTERNS = 50_000
"""A form with more is refused."""
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
    program = program_of(instance, level, bool(parameters.get("together")))
    throughput = Fraction(targets[0]) / program.granularity
    if throughput.denominator > 1:
        raise ValueError("no choices have this throughput")
    floor = int(throughput)
    if level == 0:
        cutoffs = [program.lagrangian(_prices(program, parameters["prices"])).cutoff(floor)]
    else:
        split = program.lagrangian(_prices(program, parameters["prices"]), floor)
        held = program.lagrangian(_prices(program, parameters["held"]))
        cutoffs = [split.split_cutoff(int(targets[1])), held.cutoff(floor)]
    every = maximal(program.server, MOST_PATTERNS, [cutoff.floor for cutoff in cutoffs])
    if every is None:
        raise ValueError(f"more than {MOST_PATTERNS:,} patterns matter at these prices")
    return _form("patterns", program, every, cutoffs, level)


def pooled(instance: Instance, parameters: Mapping[str, Any]) -> Form:
    """Return the program of the options alone, with the CPUs and memory of all servers together.

    It is a relaxation: a server may have room for none of the options chosen.
    """
    if parameters:
        raise ValueError("the form pooled has no parameters")
    return _form("pooled", Program(instance, whole=True, units=True), None, (), 1)


FORMS: dict[str, Restricted | Callable[[Instance, Mapping[str, Any]], Form]] = {
    "patterns": Restricted(patterns),
    "pooled": pooled,
}


def program_of(instance: Instance, level: int, together: bool) -> Program:
    """Return the program whose columns the form has.

    Raises
    ------
    ValueError
        If jobs that may be divided would have to stay together.
    """
    if level == 1:
        return Program(instance, whole=True, units=True)
    if together and instance.allow_split:
        raise ValueError("jobs may be divided, so their items are single GPUs")
    return Program(instance, whole=together, units=not together)


def _prices(program: Program, data: object) -> Prices:
    """Return the prices that a proof states; any are valid."""
    if not isinstance(data, Mapping):
        raise ValueError(f"prices must be an object of {', '.join(_OF_PRICES)}")
    require_keys("patterns", data, _OF_PRICES)
    items = data["items"]
    if not wholes(items) or len(items) != len(program.items) or min(items, default=0) < 0:
        raise ValueError("the prices are not of this form's items")
    factor, split, throughput = (ratio(data[key]) for key in _OF_PRICES[1:])
    if factor <= 0 or split <= 0 or throughput < 0:
        raise ValueError("the units of prices must be positive")
    return Prices(list(items), 0.0, factor, split, throughput, program.server.table(items))


def _form(
    name: str,
    program: Program,
    every: Sequence[Pattern] | None,
    cutoffs: Sequence[Cutoff],
    level: int,
) -> Form:
    """Return the form: options of jobs, then patterns of servers if there are any."""
    options, counts, n = program.options, program.counts, len(program.options)
    count = program.instance.servers.count
    allowed = [
        all(cut.largest[o.profile] - cut.surplus[c] <= cut.allowance for cut in cutoffs)
        for c, o in enumerate(options)
    ]
    upper = [counts[o.profile] * ok for o, ok in zip(options, allowed, strict=True)]
    rows = [
        Row(
            {c: 1 for c, o in enumerate(options) if o.profile == profile},
            program.least_jobs * jobs,
            jobs,
        )
        for profile, jobs in counts.items()
    ]
    rows += _pooled(program)
    if every is not None:
        for i in range(len(program.items)):
            cells = {c: o.amount for c, o in enumerate(options) if o.item == i}
            cells |= {n + p: -pattern[i] for p, pattern in enumerate(every) if pattern[i]}
            rows.append(Row(cells, None, 0))
        rows.append(Row({n + p: 1 for p in range(len(every))}, None, count))
    goals = [
        Goal(
            "throughput", -1, {c: -v for c, v in enumerate(program.values) if v}, 0,
            program.granularity, True,
        )
    ]  # fmt: skip
    if level == 1:
        split = {c: 1 for c, o in enumerate(options) if o.split}
        goals.append(Goal("split", 1, split, 0, Fraction(1), True))
    columns = n + len(every or ())
    return Form(
        name, [0] * columns, [*upper, *[count] * (columns - n)], [True] * columns, rows, goals,
        frozenset(range(n)),
    )  # fmt: skip


def _pooled(program: Program) -> list[Row]:
    """Return that all jobs together need no more of a resource than all servers have."""
    servers, profiles, rows = program.instance.servers, program.instance.profiles, []
    for name in ("gpus", "cpus", "memory"):
        needs = [
            Fraction(profiles[o.profile].gpus * (1 if name == "gpus" else getattr(o.choice, name)))
            for o in program.options
        ]
        total = Fraction(servers.count * getattr(servers, name))
        unit = granularity([total, *needs]) or Fraction(1)
        cells = {c: int(need / unit) for c, need in enumerate(needs) if need}
        rows.append(Row(cells, None, int(total / unit)))
    return rows
