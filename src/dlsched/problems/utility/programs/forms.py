"""The forms of finishes and of runs, for proofs: in integers, without a solver.

A column of both says that a job has finished by a slot; see `finish_form`. Whether gangs fit is
asked by prices only in the first. The second has the runs of the model as well: when each job runs,
at which speed. It says for each job and vector of prices that its runs cost at least what its work
costs up to its finish. Its relaxation is at least as tight as the bound of any of the prices.
"""

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from dlsched.problems.utility.definition.schema import Instance
from dlsched.problems.utility.programs.finish_costs import ROUNDING, units_of
from dlsched.problems.utility.programs.finish_form import Finishes, priced_row
from dlsched.problems.utility.structures.gangs import MOST_SETS
from dlsched.proofs.forms.form import Form, Restricted, Row
from dlsched.proofs.forms.limit import poll
from dlsched.proofs.forms.parameters import require_keys, whole, wholes
from dlsched.schema import Number

_KEYS = ("exponent", "prices")


def finishes(
    instance: Instance, parameters: Mapping[str, Any], level: int, targets: Sequence[Number]
) -> Form:
    """Return the program of finishes, with a row for each vector of prices.

    Parameters
    ----------
    parameters
        ``prices``: vectors, each with the price of a GPU of each type in every slot (a type left
        out costs nothing), in multiples of two to the power ``exponent``; any prices are valid.
        ``rounded``: whether utilities are rounded up, whose common unit may be tiny.
    """
    found, n = _finishes(instance, parameters, targets)
    goal = found.goal(bool(parameters.get("rounded")))
    return Form("finishes", found.lower, [1] * n, [True] * n, found.rows(), [goal])


def runs(
    instance: Instance, parameters: Mapping[str, Any], level: int, targets: Sequence[Number]
) -> Form:
    """Return the program of finishes and runs; parameters as of `finishes`."""
    found, n = _finishes(instance, parameters, targets)
    most = len(runs_of(found))
    if most > ROUNDING.runs:
        raise ValueError(f"there are more than {ROUNDING.runs:,} runs")
    rows = [*found.rows(), *rows_of_runs(found, n)]
    goal, every = found.goal(bool(parameters.get("rounded"))), n + most
    lower = [*found.lower, *[0] * most]
    return Form("runs", lower, [1] * every, [True] * every, rows, [goal], frozenset(range(n)))


FORMS = {"finishes": Restricted(finishes), "runs": Restricted(runs)}


def _finishes(
    instance: Instance, parameters: Mapping[str, Any], targets: Sequence[Number]
) -> tuple[Finishes, int]:
    """Return the finishes that matter at the prices of the parameters, and their number."""
    require_keys("of prices", parameters, _KEYS, ["rounded"])
    exponent, stated = parameters["exponent"], parameters["prices"]
    if not (whole(exponent) and isinstance(stated, list)):
        raise ValueError("the exponent must be an integer, and prices a list")
    found = Finishes(instance, exponent, Fraction(targets[0]))
    for each in stated:
        if not (isinstance(each, dict) and all(map(wholes, each.values()))):
            raise ValueError("prices must be lists of integers, by type")
        found.add(each)
    return found, len(found.columns)


class JobAtSpeed(NamedTuple):
    """A run of a job in a slot, counted from 0, at the speed of this index."""

    job: int
    slot: int
    speed: int


def runs_of(found: Finishes) -> list[JobAtSpeed]:
    """Return the runs of jobs, up to their last finish that may matter."""
    inst = found.instance
    return [
        JobAtSpeed(j, t, v)
        for j, (job, row) in enumerate(zip(inst.jobs, found.worth, strict=True))
        for t in range(job.arrival - 1, max(row, default=-1) + 1)
        for v in range(len(inst.speeds[j]))
    ]


def rows_of_runs(found: Finishes, first: int) -> Iterator[Row]:
    """Yield the rows; the columns of finishes are followed by those of runs, from `first` on."""
    column = {run: first + c for c, run in enumerate(runs_of(found))}
    for j, row in enumerate(found.worth):
        if row:
            yield from _work_rows(found, j, column)
            yield from _cost_rows(found, j, column)
    yield from _capacity(found, column)


def _work_rows(found: Finishes, j: int, column: Mapping[JobAtSpeed, int]) -> Iterator[Row]:
    """Yield that a job runs until it finishes, in the slot of its finish, and does its work.

    By slot t: at most one run if it finishes in t or later, at least one if it finishes in t, and
    the units done by t are those needed if it finishes by t.
    """
    first, last = found.instance.jobs[j].arrival - 1, max(found.worth[j])
    gains, need = units_of(found.instance, j)
    done: dict[int, int] = {}

    def finished(value: int, low: int, high: int) -> dict[int, int]:
        """Return the cells of a number times the finishes from a slot to another."""
        return found.by_column({(j, f): value for f in found.worth[j] if low <= f <= high})

    for t in range(first, last + 1):
        poll()
        runs = [column[JobAtSpeed(j, t, v)] for v in range(len(gains))]
        done |= {c: gain for c, gain in zip(runs, gains, strict=True) if gain}
        yield Row(dict.fromkeys(runs, 1) | finished(-1, t, last), None, 0)
        if t in found.worth[j]:
            yield Row(dict.fromkeys(runs, 1) | finished(-1, t, t), 0, None)
            yield Row(done | finished(-need, 0, t), 0, None)


def _cost_rows(found: Finishes, j: int, column: Mapping[JobAtSpeed, int]) -> Iterator[Row]:
    """Yield for each vector of prices that a job's runs cost what its work costs at least."""
    job = found.instance.jobs[j]
    free = [0] * found.instance.slots
    for priced in found.priced:
        cells = found.by_column({(j, f): priced.least[j][f] for f in found.worth[j]})
        for v, speed in enumerate(found.instance.speeds[j]):
            prices = [priced.prices.get(kind, free) for kind in speed.types]
            cheapest = [min(row) for row in zip(*prices, strict=True)]
            for t in range(job.arrival - 1, max(found.worth[j]) + 1):
                if cheapest[t]:
                    cells[column[JobAtSpeed(j, t, v)]] = -job.workers * cheapest[t]
        if cells:
            yield priced_row(cells, 0)


def _capacity(found: Finishes, column: Mapping[JobAtSpeed, int]) -> Iterator[Row]:
    """Yield Hall's condition in every slot, for every union of sets of types that a speed may use.

    Gangs that can use only the types of a set have no more GPUs than these.
    """
    inst = found.instance
    bit = {kind: 1 << k for k, kind in enumerate(inst.supply)}
    types = [[sum(bit[kind] for kind in s.types) for s in speeds] for speeds in inst.speeds]
    unions = _unions({mask for row in types for mask in row})
    users: dict[tuple[int, int], dict[int, dict[int, int]]] = {}
    for (j, t, v), c in column.items():
        for union in unions:
            if types[j][v] & ~union == 0:
                cells = users.setdefault((t, union), {}).setdefault(j, {})
                cells[c] = inst.jobs[j].workers
    for (_, union), jobs in sorted(users.items()):
        poll()
        capacity = sum(inst.supply[kind] for kind in bit if bit[kind] & union)
        cells = {c: n for runs in jobs.values() for c, n in runs.items()}
        if sum(cells.values()) > capacity:
            yield Row(cells, None, capacity)
            yield from _whole_gangs(inst, jobs, capacity)


def _unions(sets: set[int]) -> list[int]:
    """Return all unions of sets, which are bit masks.

    Raises
    ------
    ValueError
        If they are too many.
    """
    found = set(sets)
    new = found
    while new:
        new = {a | b for a in new for b in sets} - found
        found |= new
        if len(found) > MOST_SETS:
            raise ValueError(f"there are more than {MOST_SETS} sets of types")
    return sorted(found)


def _whole_gangs(
    instance: Instance, jobs: dict[int, dict[int, int]], capacity: int
) -> Iterator[Row]:
    """Yield rows of gangs in whole blocks of some size, each with one smaller gang i if that helps.

    A gang has as many blocks as fit in its GPUs, and all gangs at most as many as the capacity has,
    or, if i runs, as are left beside it.
    """
    need = {j: instance.jobs[j].workers for j in jobs}
    for size in sorted(set(need.values())):
        most = capacity // size
        blocks = {c: need[j] // size for j, own in jobs.items() for c in own if need[j] >= size}
        total = sum(n // size for n in need.values())
        lifted = {i: most - (capacity - n) // size for i, n in need.items() if n < size}
        helpful = [i for i, n in lifted.items() if n and total + n > most]
        for i in helpful:
            yield Row(blocks | dict.fromkeys(jobs[i], lifted[i]), None, most)
        if size > 1 and total > most and not helpful:
            yield Row(blocks, None, most)
