"""The Pyomo model of utility; components are named as on models/utility.md."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from dlsched.errors import OptionError
from dlsched.problems.utility.definition.check import completions, progress
from dlsched.problems.utility.definition.schema import Held, Instance, Job, Solution
from dlsched.problems.utility.structures.gangs import Gangs, Stop, require
from dlsched.problems.utility.structures.machines import Divide, solution_of
from dlsched.problems.utility.structures.work_units import in_steps
from dlsched.schema import granularity

NAMEABLE = {
    "z": "z[j,t,v]: job j runs in slot t at its v-th fastest speed; for copies, its v-th place"
}
"""The variables that a variant may name."""
_FINEST = 1e-7
"""Bounds are not rounded to a granularity below this share of the largest utility."""


@dataclass(frozen=True)
class Tunables:
    """Tunables of `milp`, chosen by hand; no figure compares other values."""

    most_variables: int = 200_000
    """The most variables of job, slot and speed."""
    block: int = 32
    """Slots over which work is summed in a row; rows of all slots before would be too long."""
    most_steps: int = 1_000_000
    """The most whole steps of work in a row; of more, one is within solvers' tolerances."""
    checked_rows: int = 200
    """The limits are checked each time after this many rows."""
    compiling: float = 1.0
    """Pyomo's time to turn a model into arrays, as a share of the time to build it."""


TUNABLES = Tunables()


class Restriction(NamedTuple):
    """A part of an instance's schedules, by job id.

    Attributes
    ----------
    runs
        The slots, from 1, and speeds in which a job may run.
    ends
        The slots in which it may finish.
    certain
        The jobs that finish in all of these schedules.
    """

    runs: dict[str, set[tuple[int, int]]]
    ends: dict[str, range]
    certain: set[str]


def build(instance: Instance, stop: Stop = lambda: None, part: Restriction | None = None) -> Any:
    """Return the Pyomo model: when each job runs, at which speed, and when it is complete.

    For a forking instance a run is a copy on a machine instead, see the card.

    Parameters
    ----------
    stop
        Called repeatedly; building ends when it returns a reason.
    part
        The runs and finish slots to which the model is restricted, for gangs; all by default.

    Raises
    ------
    OptionError
        If there are too many variables of job, slot and speed.
    Stopped
        If there is a reason to stop.
    """
    import pyomo.core as pyo

    rows = _Rows(instance, pyo.ConcreteModel(instance.name), stop)
    rows.sets(part or whole(instance))
    rows.variables()
    rows.utility()
    rows.add("order", rows.m.ENDS, rows.order)
    rows.add("completion", rows.m.JOBS, rows.completion)
    rows.add("running", rows.m.SLOTS_OF, rows.running)
    rows.add("last", rows.m.ENDS, rows.last)
    rows.add("block", rows.m.BLOCKS, rows.block)
    rows.add("cumulative", rows.m.ENDS, rows.cumulative)
    rows.capacity()
    return rows.m


def whole(instance: Instance) -> Restriction:
    """Return all schedules of an instance; raise `OptionError` as `build` does."""
    gains = gains_of(instance)
    slots = {job.id: range(job.arrival, instance.slots + 1) for job in instance.jobs}
    total = sum(len(gains[j]) * len(slots[j]) for j in slots)
    if total > TUNABLES.most_variables:
        raise OptionError(
            f"the model of {instance.name} would have {total} variables for runs, the most is "
            f"{TUNABLES.most_variables}; use dantzig_wolfe"
        )
    runs = {j: {(t, v) for t in slots[j] for v in range(len(gains[j]))} for j in slots}
    ends = {
        job.id: slots[job.id][fewest - 1 :] if fewest else range(0)
        for job, fewest in zip(instance.jobs, instance.fewest, strict=True)
    }
    return Restriction(runs, ends, set(slots) if instance.must_finish else set())


class _Rows:
    """What the rows of a model are written from.

    Attributes
    ----------
    m
        The Pyomo model.
    gains
        By job, the iterations done in a slot, by speed; see `gains_of`.
    speeds, ends, certain
        The speeds by job and slot, and what else is stated by `Restriction`.
    units, need
        By job: the units of work that a slot does, by speed, and those to be done.
    gained
        By job and slot: the units that it does there, a term for each speed.
    """

    def __init__(self, instance: Instance, m: Any, stop: Stop) -> None:
        self.instance = instance
        self.jobs = {job.id: job for job in instance.jobs}
        self.m = m
        self.stop = stop
        self.gains = gains_of(instance)

    def sets(self, part: Restriction) -> None:
        """Add the sets of the card's tables."""
        import pyomo.core as pyo

        m = self.m
        self.ends, self.certain = part.ends, part.certain
        runs = [(j, t, v) for j in self.jobs for t, v in sorted(part.runs[j])]
        self.speeds: dict[tuple[str, int], list[int]] = {}
        for j, t, v in runs:
            self.speeds.setdefault((j, t), []).append(v)
        ends = [(j, f) for j in self.jobs for f in part.ends[j]]
        m.JOBS = pyo.Set(initialize=list(self.jobs))
        m.RUNS = pyo.Set(initialize=runs, dimen=3)
        m.ENDS = pyo.Set(initialize=ends, dimen=2)
        m.SLOTS_OF = pyo.Set(initialize=list(self.speeds), dimen=2)
        blocks = [(j, b) for j in self.jobs if part.ends[j] for b in self.blocks(j)]
        m.BLOCKS = pyo.Set(initialize=blocks, dimen=2)
        self.units, self.need = {}, {}
        for j in (j for j in self.jobs if part.ends[j]):
            require(self.stop)
            work = work_units(self.jobs[j], self.gains[j])
            self.units[j], self.need[j] = work

    def blocks(self, j: str) -> range:
        """Return the last slots of a job's blocks; work is summed up to each of them."""
        return range(self.jobs[j].arrival + TUNABLES.block - 1, self.ends[j][-1], TUNABLES.block)

    def variables(self) -> None:
        """Add runs, finishes, and the work done by the ends of blocks."""
        import pyomo.core as pyo

        m = self.m
        m.z = pyo.Var(m.RUNS, domain=pyo.Binary)
        m.done = pyo.Var(m.ENDS, domain=pyo.Binary)
        m.work = pyo.Var(m.BLOCKS, domain=pyo.NonNegativeReals)
        self.gained = {
            (j, t): [self.units[j][v] * m.z[j, t, v] for v in speeds if self.units[j][v]]
            for (j, t), speeds in self.speeds.items()
            if j in self.units
        }
        require(self.stop)

    def utility(self) -> None:
        """Add the objective: what a job is worth at its finish, and no more one slot later."""
        import pyomo.core as pyo

        m, jobs = self.m, self.jobs
        worth = {
            (j, f): Fraction(self.instance.worth(jobs[j], f - jobs[j].arrival + 1))
            for j, f in m.ENDS
        }
        lost = {(j, f): float(u - worth.get((j, f + 1), 0)) for (j, f), u in worth.items()}
        expr = pyo.quicksum(value * m.done[end] for end, value in lost.items())
        m.utility = pyo.Objective(expr=expr, sense=pyo.maximize)
        # All values are multiples of this, so bounds may be rounded to one; 0 means no such number.
        step = granularity(worth.values())
        coarse = step > _FINEST * max(worth.values(), default=Fraction(0))
        m.GRANULARITY = {"utility": step if coarse else 0}
        require(self.stop)

    def add(self, name: str, index: Iterable[Any], row: Callable[..., Any]) -> None:
        """Add the row of each index that has one; the limits are checked in between."""
        import pyomo.core as pyo

        rows = pyo.Constraint(index)
        self.m.add_component(name, rows)
        for number, key in enumerate(index, start=1):
            if number % TUNABLES.checked_rows == 0:
                require(self.stop)
            expression = row(*key) if isinstance(key, tuple) else row(key)
            if expression is not None:
                rows.add(key, expression)

    def before(self, j: str, f: int) -> Any:
        """Return the variable of having finished before slot f, 0 where that cannot be."""
        return self.m.done[j, f - 1] if f - 1 in self.ends[j] else 0

    def order(self, j: str, f: int) -> Any:
        """What has finished stays finished."""
        return self.before(j, f) <= self.m.done[j, f] if f - 1 in self.ends[j] else None

    def completion(self, j: str) -> Any:
        """Every job finishes that must."""
        import pyomo.core as pyo

        ends = self.ends[j]
        if j not in self.certain:
            return None
        return self.m.done[j, ends[-1]] == 1 if ends else pyo.Constraint.Infeasible

    def running(self, j: str, t: int) -> Any:
        """A job runs at one speed, not after its finish, and only if it finishes."""
        m, ends = self.m, self.ends[j]
        most = len(self.gains[j]) if self.instance.forking else 1
        finished = m.done[j, ends[-1]] if ends else 0
        held = sum(m.z[j, t, v] for v in self.speeds[j, t])
        return held <= most * (finished - self.before(j, t))

    def last(self, j: str, f: int) -> Any:
        """A job runs in the slot in which it finishes."""
        held = sum(self.m.z[j, f, v] for v in self.speeds.get((j, f), ()))
        return self.m.done[j, f] - self.before(j, f) <= held

    def block(self, j: str, b: int) -> Any:
        """The work done by the end of a block is that of the block before, and that of 32 slots."""
        return self.m.work[j, b] == self.work(j, b)

    def cumulative(self, j: str, f: int) -> Any:
        """A job has done its units by the slot in which it has finished."""
        return self.work(j, f) >= self.need[j] * self.m.done[j, f]

    def work(self, j: str, t: int) -> Any:
        """Return the units done by the end of slot t: of the blocks before it, and since then."""
        import pyomo.core as pyo

        arrival = self.jobs[j].arrival
        since = arrival + (t - arrival) // TUNABLES.block * TUNABLES.block
        before = self.m.work[j, since - 1] if since > arrival else 0
        gained = (self.gained.get((j, s), ()) for s in range(since, t + 1))
        return before + pyo.quicksum(chain.from_iterable(gained))

    def capacity(self) -> None:
        """Add the rows of Hall's condition, or of machines and types, that can be violated."""
        import pyomo.core as pyo

        m, limits = self.m, _limits(self.instance)
        used: dict[tuple[int, str], list[tuple[int, Any]]] = {}
        free: dict[str, int] = {}
        for j, t, v in m.RUNS:
            for limit in limits[j, v]:
                used.setdefault((t, limit.label), []).append((limit.gpus, m.z[j, t, v]))
                free[limit.label] = limit.capacity
        require(self.stop)
        tight = [key for key, runs in used.items() if sum(g for g, _ in runs) > free[key[1]]]
        m.LIMITS = pyo.Set(initialize=sorted(tight), dimen=2)

        def row(t: int, label: str) -> Any:
            return pyo.quicksum(gpus * z for gpus, z in used[t, label]) <= free[label]

        self.add("capacity", m.LIMITS, row)


def work_units(job: Job, gains: list[Fraction]) -> tuple[list[float], int]:
    """Return the gains of runs in units of work, and the units to be done.

    Units are steps of the gains, or shares of the iterations if these are too many steps.
    """
    iterations = Fraction(job.iterations)
    whole, need = in_steps(gains, iterations)
    if need <= TUNABLES.most_steps:
        return [float(gain) for gain in whole], need
    return [float(min(gain / iterations, Fraction(1))) for gain in gains], 1


def gains_of(instance: Instance) -> dict[str, list[Fraction]]:
    """Return each job's gains by speed; by copy, one for each of its `places`, if jobs fork."""
    gains: dict[str, list[Fraction]] = {}
    for job, speeds in zip(instance.jobs, instance.speeds, strict=True):
        of_job = [speed.gain for speed in speeds]
        if instance.forking:
            rates = [instance.rate(job, kind) for _, kind in places(instance, job)]
            of_job = [instance.gain(job, rate) for rate in rates]
        gains[job.id] = [Fraction(gain) for gain in of_job]
    return gains


def places(instance: Instance, job: Job) -> list[tuple[str, str]]:
    """Return the machines and types on which a copy of a forking job can run."""
    return [
        (machine.id, kind)
        for machine in instance.machines
        for kind, count in machine.gpus.items()
        if count and instance.rate(job, kind)
    ]


class _Limit(NamedTuple):
    """A limit of GPUs in every slot, and how many of them a run takes."""

    label: str
    gpus: int
    capacity: int


def _limits(instance: Instance) -> dict[tuple[str, int], list[_Limit]]:
    """Return what limits the runs of a job at a speed: sets of types that contain those of it.

    Copies are limited by the GPUs of their type on the machine, and to one on each machine.
    """
    if instance.forking:
        counts = {machine.id: machine.gpus for machine in instance.machines}
        return {
            (job.id, v): [_Limit(f"{m}:{kind}", 1, counts[m][kind]), _Limit(f"{m}:{job.id}", 1, 1)]
            for job in instance.jobs
            for v, (m, kind) in enumerate(places(instance, job))
        }
    gangs = Gangs(instance)
    labels = ["+".join(k for i, k in enumerate(gangs.kinds) if s >> i & 1) for s in gangs.sets]
    of_mask = [np.flatnonzero(row).tolist() for row in gangs.within]
    return {
        (job.id, v): [
            _Limit(labels[s], job.workers, int(gangs.capacity[s]))
            for s in of_mask[gangs.mask_of_speed[j, v]]
        ]
        for j, job in enumerate(instance.jobs)
        for v in range(len(instance.speeds[j]))
    }


def read(instance: Instance, m: Any, divide: Divide | None = None) -> Solution:
    """Return the solution of the model's variables, assigned to machines as by `solution_of`."""
    if instance.forking:
        return _read_copies(instance, m)
    levels = np.full((len(instance.jobs), instance.slots), -1, dtype=np.int8)
    index = {job.id: i for i, job in enumerate(instance.jobs)}
    for j, t, v in m.RUNS:
        if round(m.z[j, t, v].value or 0) == 1:
            levels[index[j], t - 1] = v
    return solution_of(instance, levels, divide)


def _read_copies(instance: Instance, m: Any) -> Solution:
    """Return the solution of a forking instance's variables."""
    schedule: dict[str, dict[int, dict[str, dict[str, int]]]] = {}
    where = {job.id: places(instance, job) for job in instance.jobs}
    for j, t, v in m.RUNS:
        if round(m.z[j, t, v].value or 0) == 1:
            machine, kind = where[j][v]
            schedule.setdefault(j, {}).setdefault(t, {})[machine] = {kind: 1}
    rows = {
        j: tuple(Held(slot=t, gpus=gpus) for t, gpus in sorted(slots.items()))
        for j, slots in schedule.items()
    }
    return Solution(schedule=rows)


def assign(instance: Instance, m: Any, solution: Solution, unfinished: bool = False) -> None:
    """Set every variable to its value in a solution.

    Where the model is restricted, a run at a speed that it has not is one at the next slower one.

    Parameters
    ----------
    unfinished
        Whether jobs run that do not finish.
    """
    import pyomo.core as pyo

    done = completions(instance, solution.schedule)
    for var in (m.z, m.done, m.work):
        for key in var:
            var[key].set_value(0, skip_validation=True)
    for j, job in enumerate(instance.jobs):
        finish = job.arrival + done[job.id] - 1 if job.id in done else instance.slots + 1
        for f in range(finish, instance.slots + 1):
            if (job.id, f) in m.done:
                m.done[job.id, f].set_value(1, skip_validation=True)
        for held in solution.schedule.get(job.id, ()) if unfinished or job.id in done else ():
            for v in _runs(instance, m, j, held):
                m.z[job.id, held.slot, v].set_value(1, skip_validation=True)
    for key in m.BLOCKS:  # in the order of slots: each sums up those before
        m.work[key].set_value(abs(pyo.value(m.block[key].body)), skip_validation=True)


def _runs(instance: Instance, m: Any, j: int, held: Held) -> list[int]:
    """Return the speeds at which a job runs in a slot, or the numbers of its copies."""
    job = instance.jobs[j]
    if instance.forking:
        spots = places(instance, job)
        return [spots.index((name, next(iter(kinds)))) for name, kinds in held.gpus.items()]
    gains = [speed.gain for speed in instance.speeds[j]]
    slower = range(gains.index(progress(instance, job, held)), len(gains))
    return [v for v in slower if (job.id, held.slot, v) in m.z][:1]
