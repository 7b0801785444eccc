"""Which forms to try for the proof of the utility."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from dlsched.errors import OptionError
from dlsched.problems.utility.definition.check import evaluate
from dlsched.problems.utility.definition.schema import Instance, Solution, Utility
from dlsched.problems.utility.exact.schedule_columns import ScheduleSearch
from dlsched.problems.utility.heuristics.insertion import Insertion
from dlsched.problems.utility.programs.finish_form import Finishes
from dlsched.problems.utility.structures.gangs import levels_of
from dlsched.proofs.forms.form import MOST_NODES, FormChoice
from dlsched.run import Run
from dlsched.solvers import highs
from dlsched.solvers.arrays import Floats
from dlsched.solvers.column_generation import CLOSE
from dlsched.solvers.standard_form import StandardForm


@dataclass(frozen=True)
class Tunables:
    """Tunables of the search for prices of a proof, chosen by hand on the library's instances."""

    bits: int = 36
    """Prices are multiples of two to minus this, if the largest utility is 1."""
    fewest_bits: tuple[int, ...] = (0, 1, 2, 3, 4, 5, 6, 8, 10, 13, 16, 20, 25, 30)
    """Numbers of bits that are tried for prices at which finishes cost too much."""
    vectors: int = 100
    """The most vectors of prices."""
    share: float = 0.5
    """The most time for prices, as a share of the limit."""
    steps: int = 2**40
    """With a larger target, in the utilities' own unit, a search in floats may not tell it and the
    next value apart: after a few nodes, utilities are rounded."""
    nodes: int = 2000
    """These few nodes."""


TUNABLES = Tunables()


def choices(instance: Instance, solution: Solution, level: int, run: Run) -> Iterator[FormChoice]:
    """Yield the forms to try, the most promising first."""
    target = Fraction(evaluate(instance, solution.schedule)[0])
    return bound_choices(instance, solution, target, run)


def bound_choices(
    instance: Instance, solution: Solution, target: Fraction, run: Run
) -> Iterator[FormChoice]:
    """Yield the forms to try for a proof that no schedule is worth more than a target."""
    if instance.jobs and not instance.forking:
        try:
            search = ScheduleSearch(instance, run)
        except OptionError:  # too many sets of types
            search = None
        if search is not None:
            search.propose(Insertion(search.gangs, levels_of(instance, solution)))
            yield from _priced(search, target, run)
    yield FormChoice("model")


def _priced(search: ScheduleSearch, target: Fraction, run: Run) -> Iterator[FormChoice]:
    """Yield the forms with prices.

    The first prices are those of the relaxation. Then, while some finishes within the rows known
    are better than the target, prices are added at which these cost more than all GPUs. If there
    are none, runs decide.
    """
    exponent = search.gangs.exponent - TUNABLES.bits
    found = Finishes(search.instance, exponent, target)
    part = run.nested(TUNABLES.share * run.remaining())
    added = None
    if not found.full:
        search.bound_by_prices(part)
        added = _rounded(search, search.prices, TUNABLES.bits)
    form = "runs"
    every = []
    while added is not None:
        found.add(added)
        every.append(added)
        better = _better(found, part)
        if part.stop_reason():
            break
        if better is None:
            form = "finishes"
            break
        if found.full or len(every) == TUNABLES.vectors:
            break
        added = _excluding(found, better, part)
    if not every:
        return
    parameters = {"exponent": exponent, "prices": every}
    steps = target / found.goal(rounded=False).unit
    few_steps = steps < TUNABLES.steps
    if form == "finishes" or few_steps:
        yield FormChoice(form, parameters, nodes=MOST_NODES if few_steps else TUNABLES.nodes)
    if not few_steps:
        yield FormChoice(form, parameters | {"rounded": True})


def _rounded(search: ScheduleSearch, prices: Floats, bits: int) -> dict[str, list[int]]:
    """Return prices in multiples of two to minus `bits`."""
    table = np.rint(np.ldexp(prices.T, bits)).astype(np.int64).tolist()
    return {kind: row for kind, row in zip(search.gangs.kinds, table, strict=True) if any(row)}


def _excluding(found: Finishes, better: Mapping[int, int], run: Run) -> dict[str, list[int]] | None:
    """Return prices at which finishes, by job, cost more than all GPUs; None if none are found.

    They have as few bits as are enough: large numbers make the relaxation harder to solve.
    """
    search = ScheduleSearch(_only(found.instance, better), run)
    search.bound_by_prices(run)
    table = search.prices
    if search.bound is None or search.bound >= len(better):
        return None
    for bits in TUNABLES.fewest_bits:
        prices = _rounded(search, table / max(table.max(), CLOSE), bits)
        _, capacity, least = found.price(prices)
        if sum(least[j][f] for j, f in better.items()) > capacity:
            return prices
    return None


def _better(found: Finishes, run: Run) -> dict[int, int] | None:
    """Return finishes, by job, of a larger utility than the target; None if there are none."""
    from scipy import sparse

    rows = found.rows()
    columns = found.columns
    if not columns:
        return None
    scales = np.array([2.0**-row.bits for row in rows])
    entries = sparse.lil_array((len(rows), len(columns)))
    for i, row in enumerate(rows):
        for c, coefficient in row.coefficients.items():
            entries[i, c] = coefficient * scales[i]
    goal = found.goal(rounded=True)
    costs = [goal.costs.get(c, 0) for c in range(len(columns))]
    worth = np.array([float(-cost * goal.unit) for cost in costs])
    program = StandardForm.of(
        sparse.csc_array(entries),
        np.array([-np.inf if row.low is None else float(row.low) for row in rows]),
        np.array([np.inf if row.high is None else float(row.high) for row in rows]) * scales,
        np.ones(len(worth)),
        worth,
        sense="max",
    )
    program = replace(program, lower=np.array(found.lower, dtype=float))
    outcome = highs.solve(program, 0, run, quiet=True)
    if outcome.values is None or worth @ outcome.values <= float(found.target) * (1 + CLOSE):
        return None
    better: dict[int, int] = {}
    for (j, f), x in zip(columns, outcome.values, strict=True):
        if x > 0.5:
            better.setdefault(j, f)
    return better


def _only(instance: Instance, finishes: Mapping[int, int]) -> Instance:
    """Return the instance in which only these finishes, or earlier ones, have a utility, of 1."""
    jobs = []
    for j, f in finishes.items():
        job = instance.jobs[j]
        worth = tuple(int(t <= f) for t in range(job.arrival - 1, instance.slots))
        jobs.append(job.model_copy(update={"utilities": worth}))
    changed = {"utility": Utility(kind="table"), "must_finish": False, "jobs": jobs}
    return instance.model_copy(update=changed)
