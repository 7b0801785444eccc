"""The Pyomo model of utility; components are named as on models/utility.md."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import count
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from dlsched.errors import OptionError
from dlsched.problems.utility.definition.allow import Allow, require_form
from dlsched.problems.utility.definition.check import completions
from dlsched.problems.utility.definition.schema import Held, Instance, Job, Solution
from dlsched.problems.utility.structures.gangs import Gangs, Stop, levels_of, require
from dlsched.problems.utility.structures.machines import Divide, solution_of
from dlsched.problems.utility.structures.work_units import units
from dlsched.schema import granularity

Run: TypeAlias = tuple[str, int, int]
"""Job, slot and speed; of a forking instance the number of the copy instead of the speed."""
Limit: TypeAlias = tuple[int, str]
"""Slot and label of a row of GPUs."""

NAMEABLE = {
    "z": "z[j,t,v]: job j runs in slot t at its v-th fastest speed; for copies, its v-th place"
}
"""The variables that a variant may name."""
MOST_VARIABLES = 200_000
"""The most variables of job, slot and speed."""
_FINEST = 1e-7
"""Bounds are not rounded to a granularity below this share of the largest utility."""
_BLOCK = 32
"""Slots over which work is summed in a row; rows of all slots before would be too long."""
_ROWS = 200
"""The limits are checked each time after this many rows."""


class Part(NamedTuple):
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


def build(instance: Instance, stop: Stop = lambda: None, part: Part | None = None) -> Any:
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
        If there are more than `MOST_VARIABLES` of job, slot and speed.
    Stopped
        If there is a reason to stop.
    """
    import pyomo.core as pyo

    watch = _watch(stop)
    gains = gains_of(instance)
    total = sum(len(gains[job.id]) * (instance.slots - job.arrival + 1) for job in instance.jobs)
    if total > MOST_VARIABLES:
        raise OptionError(
            f"the model of {instance.name} would have {total} variables for runs, the most is "
            f"{MOST_VARIABLES}; use dantzig_wolfe"
        )
    jobs = {job.id: job for job in instance.jobs}
    slots_of = {j: range(job.arrival, instance.slots + 1) for j, job in jobs.items()}
    runs = [(j, t, v) for j, slots in slots_of.items() for t in slots for v in range(len(gains[j]))]
    ends = ends_of(instance) if part is None else part.ends
    certain = set(jobs) if instance.must_finish else set()
    if part is not None:
        certain = part.certain
        runs = [(j, t, v) for j, t, v in runs if (t, v) in part.runs[j]]
    speeds: dict[tuple[str, int], list[int]] = {}
    for j, t, v in runs:
        speeds.setdefault((j, t), []).append(v)

    m = pyo.ConcreteModel(instance.name)
    m.JOBS = pyo.Set(initialize=list(jobs))
    m.RUNS = pyo.Set(initialize=runs, dimen=3)
    m.ENDS = pyo.Set(initialize=[(j, f) for j, slots in ends.items() for f in slots], dimen=2)
    m.SLOTS_OF = pyo.Set(initialize=list(speeds), dimen=2)
    m.z = pyo.Var(m.RUNS, domain=pyo.Binary)
    m.done = pyo.Var(m.ENDS, domain=pyo.Binary)
    require(stop)

    worth = {(j, f): Fraction(instance.worth(jobs[j], f - jobs[j].arrival + 1)) for j, f in m.ENDS}
    lost = {(j, f): float(u - worth.get((j, f + 1), Fraction(0))) for (j, f), u in worth.items()}
    m.utility = pyo.Objective(
        expr=pyo.quicksum(value * m.done[end] for end, value in lost.items()), sense=pyo.maximize
    )
    # All values are multiples of this, so bounds may be rounded to one; 0 means no such number.
    step = granularity(worth.values())
    coarse = step > _FINEST * max(worth.values(), default=Fraction(0))
    m.GRANULARITY = {"utility": step if coarse else 0}
    require(stop)

    _finishing(instance, m, gains, speeds, ends, certain, watch)
    _work(instance, m, gains, speeds, ends, watch)
    _capacity(instance, m, runs, watch)
    return m


def ends_of(instance: Instance) -> dict[str, range]:
    """Return the slots in which each job may finish."""
    return {
        job.id: range(job.arrival + fewest - 1, instance.slots + 1) if fewest else range(0)
        for job, fewest in zip(instance.jobs, instance.fewest, strict=True)
    }


def _finishing(
    instance: Instance,
    m: Any,
    gains: dict[str, list[Fraction]],
    speeds: dict[tuple[str, int], list[int]],
    ends: dict[str, range],
    certain: set[str],
    watch: Callable[[], None],
) -> None:
    """Add the rows of finishing: once, in a slot with a run, and no run after it."""
    import pyomo.core as pyo

    m.order = pyo.Constraint(m.ENDS)
    m.completion = pyo.Constraint(m.JOBS)
    m.running = pyo.Constraint(m.SLOTS_OF)
    m.last = pyo.Constraint(m.ENDS)
    for job in instance.jobs:
        j = job.id
        slots = ends[j]
        most = len(gains[j]) if instance.forking else 1
        finished = m.done[j, slots[-1]] if slots else 0
        if j in certain:
            m.completion.add(j, finished == 1 if slots else pyo.Constraint.Infeasible)
        for t in range(job.arrival, instance.slots + 1):
            watch()
            held = pyo.quicksum(m.z[j, t, v] for v in speeds.get((j, t), ()))
            before = m.done[j, t - 1] if t - 1 in slots else 0
            if (j, t) in speeds:
                m.running.add((j, t), held <= most * (finished - before))
            if t in slots:
                m.last.add((j, t), m.done[j, t] - before <= held)
                if t - 1 in slots:
                    m.order.add((j, t), before <= m.done[j, t])


def _watch(stop: Stop) -> Callable[[], None]:
    """Return what checks the limits once in `_ROWS` calls, while a model is built."""
    calls = count(1)

    def watch() -> None:
        if next(calls) % _ROWS == 0:
            require(stop)

    return watch


def _work(
    instance: Instance,
    m: Any,
    gains: dict[str, list[Fraction]],
    speeds: dict[tuple[str, int], list[int]],
    ends: dict[str, range],
    watch: Callable[[], None],
) -> None:
    """Add the rows of progress: a job that has finished by a slot has done its work by then."""
    import pyomo.core as pyo

    blocks = {
        job.id: range(job.arrival + _BLOCK - 1, ends[job.id][-1], _BLOCK)
        for job in instance.jobs
        if ends[job.id]
    }
    m.BLOCKS = pyo.Set(initialize=[(j, t) for j, slots in blocks.items() for t in slots], dimen=2)
    m.work = pyo.Var(m.BLOCKS, domain=pyo.NonNegativeReals)
    m.block = pyo.Constraint(m.BLOCKS)
    m.cumulative = pyo.Constraint(m.ENDS)
    for job in instance.jobs:
        j = job.id
        if j not in blocks:
            continue
        units_of_speed, need = work_units(instance, job, gains[j])
        since: Any = 0
        terms: list[Any] = []
        for t in range(job.arrival, ends[j][-1] + 1):
            watch()
            for v in speeds.get((j, t), ()):
                if units_of_speed[v]:
                    terms.append(units_of_speed[v] * m.z[j, t, v])
            if t in ends[j]:
                m.cumulative.add((j, t), since + pyo.quicksum(terms) >= need * m.done[j, t])
            if t in blocks[j]:
                m.block.add((j, t), m.work[j, t] == since + pyo.quicksum(terms))
                since = m.work[j, t]
                terms = []


def work_units(instance: Instance, job: Job, gains: list[Fraction]) -> tuple[list[float], int]:
    """Return the gains of runs in units of work, and the units to be done.

    Whole numbers where small ones are exact, which tightens the relaxation; otherwise shares of
    the iterations.
    """
    iterations = Fraction(job.iterations)
    distinct = sorted(set(gains), reverse=True)
    slots = (instance.slots - job.arrival + 1) * (len(gains) if instance.forking else 1)
    whole = units(distinct, iterations, slots, up=True)
    if whole.exact:
        units_of_gain = dict(zip(distinct, whole.gains, strict=True))
        return [float(units_of_gain[gain]) for gain in gains], whole.need
    return [float(min(gain / iterations, Fraction(1))) for gain in gains], 1


def gains_of(instance: Instance) -> dict[str, list[Fraction]]:
    """Return each job's gains by speed; by copy, one for each of its `places`, if jobs fork."""
    if instance.forking:
        return {
            job.id: [
                Fraction(instance.gain(job, instance.rate(job, kind)))
                for _, kind in places(instance, job)
            ]
            for job in instance.jobs
        }
    return {
        job.id: [Fraction(speed.gain) for speed in speeds]
        for job, speeds in zip(instance.jobs, instance.speeds, strict=True)
    }


def places(instance: Instance, job: Job) -> list[tuple[str, str]]:
    """Return the machines and types on which a copy of a forking job can run."""
    return [
        (machine.id, kind)
        for machine in instance.machines
        for kind, count in machine.gpus.items()
        if count and instance.rate(job, kind)
    ]


def _capacity(instance: Instance, m: Any, runs: list[Run], watch: Callable[[], None]) -> None:
    """Add the rows of Hall's condition, or of machines and types for copies."""
    import pyomo.core as pyo

    users: dict[Limit, dict[Run, int]] = {}
    free: dict[Limit, int] = {}
    limits = _limits(instance)
    for run in runs:
        watch()
        job, slot, v = run
        for limit in limits[job, v]:
            key = (slot, limit.label)
            users.setdefault(key, {})[run] = limit.gpus
            free[key] = limit.capacity
    # Rows that no assignment violates are left out.
    tight = [key for key, gpus in users.items() if sum(gpus.values()) > free[key]]
    m.LIMITS = pyo.Set(initialize=sorted(tight), dimen=2)
    m.capacity = pyo.Constraint(m.LIMITS)
    for key in tight:
        watch()
        used = pyo.quicksum(gpus * m.z[run] for run, gpus in users[key].items())
        m.capacity.add(key, used <= free[key])


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


def forbidden(instance: Instance, m: Any, allow: Allow) -> Iterator[Any]:
    """Yield the variables of runs that are not allowed."""
    require_form(instance)
    index = {job.id: j for j, job in enumerate(instance.jobs)}
    for j, t, v in m.RUNS:
        number = index[j]
        if not allow(instance, instance.jobs[number], t, instance.speeds[number][v]):
            yield m.z[j, t, v]


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


def copies_of(instance: Instance, job: Job, held: Held) -> list[int]:
    """Return the numbers of the copies of a forking job that run in a slot."""
    spots = places(instance, job)
    return [spots.index((name, next(iter(kinds)))) for name, kinds in held.gpus.items()]


def assign(instance: Instance, m: Any, solution: Solution) -> None:
    """Set every variable to its value in a solution; unfinished jobs do not run.

    Where the model is restricted, a run at a speed that it has not is one at the next slower one.
    """
    import pyomo.core as pyo

    done = completions(instance, solution.schedule)
    for var in (m.z, m.done, m.work):
        for key in var:
            var[key].set_value(0, skip_validation=True)
    levels = None if instance.forking else levels_of(instance, solution)
    for j, job in enumerate(instance.jobs):
        if job.id not in done:
            continue
        for f in range(job.arrival + done[job.id] - 1, instance.slots + 1):
            if (job.id, f) in m.done:
                m.done[job.id, f].set_value(1, skip_validation=True)
        for held in solution.schedule[job.id]:
            if levels is None:
                runs = copies_of(instance, job, held)
            else:
                slower = range(int(levels[j, held.slot - 1]), len(instance.speeds[j]))
                runs = [v for v in slower if (job.id, held.slot, v) in m.z][:1]
            for v in runs:
                m.z[job.id, held.slot, v].set_value(1, skip_validation=True)
    for key in m.BLOCKS:  # in the order of slots: each sums up those before
        m.work[key].set_value(abs(pyo.value(m.block[key].body)), skip_validation=True)
