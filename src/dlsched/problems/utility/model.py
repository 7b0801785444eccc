"""The Pyomo model of utility; components are named as on models/utility.md."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from dlsched.errors import OptionError
from dlsched.problems.utility.definition.check import completions
from dlsched.problems.utility.definition.schema import Held, Instance, Job, Solution
from dlsched.problems.utility.structures.gangs import Gangs, Stop, levels_of, require
from dlsched.problems.utility.structures.machines import solution_of
from dlsched.problems.utility.structures.work_units import units
from dlsched.schema import granularity

if TYPE_CHECKING:
    from dlsched.problems.utility.programs.reduced_cost_fixing import Part

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
    import pyomo.environ as pyo

    watch = _Watch(stop)
    copies = gains_of(instance)
    total = sum(len(rows) * (instance.slots - job.arrival + 1)
                for job, rows in zip(instance.jobs, copies.values(), strict=True))  # fmt: skip
    if total > MOST_VARIABLES:
        raise OptionError(
            f"the model of {instance.name} would have {total} variables for runs, the most is "
            f"{MOST_VARIABLES}; use dantzig_wolfe"
        )
    jobs = {job.id: job for job in instance.jobs}
    slots_of = {j: range(job.arrival, instance.slots + 1) for j, job in jobs.items()}
    ends = {
        job.id: range(job.arrival + n - 1, instance.slots + 1) if n else range(0)
        for job, n in zip(instance.jobs, instance.fewest, strict=True)
    }
    runs = [(j, t, v) for j, rows in copies.items() for t in slots_of[j] for v in range(len(rows))]
    certain = set(jobs) if instance.must_finish else set()
    if part is not None:
        ends, certain = part.ends, part.certain
        runs = [(j, t, v) for j, t, v in runs if (t, v) in part.runs[j]]
    speeds: dict[tuple[str, int], list[int]] = {}
    for j, t, v in runs:
        speeds.setdefault((j, t), []).append(v)

    m = pyo.ConcreteModel(instance.name)
    m.JOBS = pyo.Set(initialize=list(jobs))
    m.RUNS = pyo.Set(initialize=runs, dimen=3)
    m.ENDS = pyo.Set(initialize=[(j, f) for j, each in ends.items() for f in each], dimen=2)
    m.SLOTS_OF = pyo.Set(initialize=list(speeds), dimen=2)
    m.z = pyo.Var(m.RUNS, domain=pyo.Binary)
    m.done = pyo.Var(m.ENDS, domain=pyo.Binary)
    require(stop)

    worth = {(j, f): Fraction(instance.worth(jobs[j], f - jobs[j].arrival + 1)) for j, f in m.ENDS}
    m.utility = pyo.Objective(
        expr=pyo.quicksum(
            float(u - worth.get((j, f + 1), Fraction(0))) * m.done[j, f]
            for (j, f), u in worth.items()
        ),
        sense=pyo.maximize,
    )
    # All values are multiples of this, so bounds may be rounded to one; 0 means no such number.
    step = granularity(worth.values())
    m.GRANULARITY = {
        "utility": step if step > _FINEST * max(worth.values(), default=Fraction(0)) else 0
    }
    require(stop)

    m.order = pyo.Constraint(m.ENDS)
    m.completion = pyo.Constraint(m.JOBS)
    m.running = pyo.Constraint(m.SLOTS_OF)
    m.last = pyo.Constraint(m.ENDS)
    for j, each in ends.items():
        most = len(copies[j]) if instance.forking else 1
        if j in certain:
            sure = m.done[j, each[-1]] == 1 if each else pyo.Constraint.Infeasible
            m.completion.add(j, sure)
        for t in slots_of[j]:
            watch()
            held = pyo.quicksum(m.z[j, t, v] for v in speeds.get((j, t), ()))
            before = m.done[j, t - 1] if t - 1 in each else 0
            if (j, t) in speeds:
                able = m.done[j, each[-1]] - before if each else 0
                m.running.add((j, t), held <= most * able)
            if t in each:
                m.last.add((j, t), m.done[j, t] - before <= held)
                if t - 1 in each:
                    m.order.add((j, t), before <= m.done[j, t])
    _work(instance, m, copies, speeds, ends, watch)
    _capacity(instance, m, runs, watch)
    return m


class _Watch:
    """Checks the limits, once in `_ROWS` calls, while a model is built."""

    def __init__(self, stop: Stop) -> None:
        self.stop, self.count = stop, 0

    def __call__(self) -> None:
        self.count += 1
        if self.count % _ROWS == 0:
            require(self.stop)


def _work(
    instance: Instance,
    m: Any,
    copies: dict[str, list[Any]],
    speeds: dict[tuple[str, int], list[int]],
    ends: dict[str, range],
    watch: _Watch,
) -> None:
    """Add the rows of progress: a job that has finished by a slot has done its work by then."""
    import pyomo.environ as pyo

    jobs = {job.id: job for job in instance.jobs}
    blocks = {
        j: range(jobs[j].arrival + _BLOCK - 1, each[-1], _BLOCK) for j, each in ends.items() if each
    }
    keys = [(j, t) for j, each in blocks.items() for t in each]
    m.BLOCKS = pyo.Set(initialize=keys, dimen=2)
    m.work = pyo.Var(m.BLOCKS, domain=pyo.NonNegativeReals)
    m.block = pyo.Constraint(m.BLOCKS)
    m.cumulative = pyo.Constraint(m.ENDS)
    for j, block in blocks.items():
        gains, need = work_units(instance, jobs[j], copies[j])
        since, terms = 0, []
        for t in range(jobs[j].arrival, ends[j][-1] + 1):
            watch()
            terms += [gains[v] * m.z[j, t, v] for v in speeds.get((j, t), ()) if gains[v]]
            if t in ends[j]:
                m.cumulative.add((j, t), since + pyo.quicksum(terms) >= need * m.done[j, t])
            if t in block:
                m.block.add((j, t), m.work[j, t] == since + pyo.quicksum(terms))
                since, terms = m.work[j, t], []


def work_units(instance: Instance, job: Job, gains: list[Any]) -> tuple[list[float], int]:
    """Return the gains of runs in units of work, and the units to be done.

    Whole numbers where small ones are exact, which tightens the relaxation; otherwise shares of
    the iterations.
    """
    each: list[Fraction] = sorted({Fraction(g) for g in gains}, reverse=True)
    slots = (instance.slots - job.arrival + 1) * (len(gains) if instance.forking else 1)
    found = units(each, Fraction(job.iterations), slots, up=True)
    if found.exact:
        row = dict(zip(each, found.gains, strict=True))
        return [float(row[Fraction(g)]) for g in gains], found.need
    shares = [Fraction(g) / Fraction(job.iterations) for g in gains]
    return [1.0 if share > 1 else float(share) for share in shares], 1


def gains_of(instance: Instance) -> dict[str, list[Any]]:
    """Return each job's gains by speed; by copy, one for each of its `places`, if jobs fork."""
    if instance.forking:
        return {
            job.id: [instance.gain(job, instance.rate(job, k)) for _, k in places(instance, job)]
            for job in instance.jobs
        }
    pairs = zip(instance.jobs, instance.speeds, strict=True)
    return {job.id: [speed.gain for speed in speeds] for job, speeds in pairs}


def places(instance: Instance, job: Job) -> list[tuple[str, str]]:
    """Return the machines and types on which a copy of a forking job can run."""
    return [
        (machine.id, kind)
        for machine in instance.machines
        for kind, count in machine.gpus.items()
        if count and instance.rate(job, kind)
    ]


def _capacity(instance: Instance, m: Any, runs: list[tuple[str, int, int]], watch: _Watch) -> None:
    """Add the rows of Hall's condition, or of machines and types for copies."""
    import pyomo.environ as pyo

    users: dict[Any, list[tuple[tuple[str, int, int], int]]] = {}
    limit: dict[Any, int] = {}
    if instance.forking:
        where = {job.id: places(instance, job) for job in instance.jobs}
        counts = {machine.id: machine.gpus for machine in instance.machines}
        for j, t, v in runs:
            watch()
            machine, kind = where[j][v]
            users.setdefault((t, f"{machine}:{kind}"), []).append(((j, t, v), 1))
            limit[t, f"{machine}:{kind}"] = counts[machine][kind]
            users.setdefault((t, f"{machine}:{j}"), []).append(((j, t, v), 1))
            limit[t, f"{machine}:{j}"] = 1
    else:
        gangs = Gangs(instance)
        index = {job.id: i for i, job in enumerate(instance.jobs)}
        labels = ["+".join(k for i, k in enumerate(gangs.kinds) if s >> i & 1) for s in gangs.sets]
        for j, t, v in runs:
            watch()
            i = index[j]
            for s in gangs.within[gangs.mask_of_speed[i, v]].nonzero()[0].tolist():
                users.setdefault((t, labels[s]), []).append(((j, t, v), int(gangs.workers[i])))
                limit[t, labels[s]] = int(gangs.capacity[s])
    # Rows that no assignment violates are left out.
    tight = [key for key, rows in users.items() if sum(w for _, w in rows) > limit[key]]
    m.LIMITS = pyo.Set(initialize=sorted(tight), dimen=2)
    m.capacity = pyo.Constraint(m.LIMITS)
    for t, s in tight:
        watch()
        m.capacity.add((t, s), pyo.quicksum(w * m.z[k] for k, w in users[t, s]) <= limit[t, s])


def read(instance: Instance, m: Any) -> Solution:
    """Return the solution of the model's variables, assigned to machines."""
    if instance.forking:
        return read_copies(instance, m)
    levels = np.full((len(instance.jobs), instance.slots), -1, dtype=np.int8)
    index = {job.id: i for i, job in enumerate(instance.jobs)}
    for j, t, v in m.RUNS:
        if round(m.z[j, t, v].value or 0) == 1:
            levels[index[j], t - 1] = v
    return solution_of(instance, levels)


def read_copies(instance: Instance, m: Any) -> Solution:
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


def assign(instance: Instance, m: Any, solution: Solution) -> None:
    """Set every variable to its value in a solution; unfinished jobs do not run.

    Where the model is restricted, a run at a speed that it has not is one at the next slower one.
    """
    import pyomo.environ as pyo

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
        spots = places(instance, job)
        for held in solution.schedule[job.id]:
            if levels is None:
                runs = [spots.index((name, next(iter(kinds)))) for name, kinds in held.gpus.items()]
            else:
                slower = range(int(levels[j, held.slot - 1]), len(instance.speeds[j]))
                runs = [v for v in slower if (job.id, held.slot, v) in m.z][:1]
            for v in runs:
                m.z[job.id, held.slot, v].set_value(1, skip_validation=True)
    for key in m.BLOCKS:  # in the order of slots: each sums up those before
        m.work[key].set_value(abs(pyo.value(m.block[key].body)), skip_validation=True)
