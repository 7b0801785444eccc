"""The declarative model of utility; components are named as on models/utility.md."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pyomo.environ as pyo

from dlsched.errors import OptionError
from dlsched.problems.utility.gangs import Gangs
from dlsched.problems.utility.schema import Held, Instance, Job, Solution
from dlsched.schema import Number, grid

MOST_VARIABLES = 200_000
"""The model has one for every job, slot and speed, and refuses to have more."""
_FINEST_GRID = 1e-7
_MOST_UNITS = 10_000
"""Beyond so many units of work, whole numbers strain a solver's tolerances more than decimals."""


def build(instance: Instance) -> Any:
    """Return the Pyomo model: when each job runs, at which speed, and when it is complete.

    For a forking instance a run is a copy on a machine instead, see the card.

    Raises
    ------
    OptionError
        If there are more than `MOST_VARIABLES` of job, slot and speed.
    """
    copies = _copies(instance) if instance.forking else _speeds(instance)
    total = sum(len(rows) * (instance.slots - job.arrival + 1)
                for job, rows in zip(instance.jobs, copies.values(), strict=True))  # fmt: skip
    if total > MOST_VARIABLES:
        raise OptionError(
            f"the model of {instance.name} would have {total} variables for runs, the most is "
            f"{MOST_VARIABLES}; use dantzig_wolfe"
        )
    jobs = {job.id: job for job in instance.jobs}
    runs = [
        (j, t, v)
        for j, rows in copies.items()
        for t in range(jobs[j].arrival, instance.slots + 1)
        for v in range(len(rows))
    ]
    gain = {(j, v): row for j, rows in copies.items() for v, row in enumerate(rows)}
    ends = [(j, f) for j, rows in copies.items() for f in _ends(instance, jobs[j], rows)]

    m = pyo.ConcreteModel(instance.name)
    m.JOBS = pyo.Set(initialize=list(jobs))
    m.RUNS = pyo.Set(initialize=runs, dimen=3)
    m.ENDS = pyo.Set(initialize=ends, dimen=2)
    m.z = pyo.Var(m.RUNS, domain=pyo.Binary)
    m.c = pyo.Var(m.ENDS, domain=pyo.Binary)

    worth = {(j, f): instance.worth(jobs[j], f - jobs[j].arrival + 1) for j, f in ends}
    m.utility = pyo.Objective(
        expr=pyo.quicksum(float(u) * m.c[key] for key, u in worth.items()), sense=pyo.maximize
    )
    # Every value is a multiple of this, so bounds may be rounded to one; 0 for no such number.
    step = grid(worth.values())
    m.GRID = {"utility": step if step > _FINEST_GRID else 0}

    ending = {j: [f for i, f in ends if i == j] for j in jobs}
    at: dict[tuple[str, int], list[int]] = {}
    for j, t, v in runs:
        at.setdefault((j, t), []).append(v)

    def completion(m: Any, j: str) -> Any:
        if not ending[j]:
            return pyo.Constraint.Infeasible if instance.must_finish else pyo.Constraint.Feasible
        total = pyo.quicksum(m.c[j, f] for f in ending[j])
        return total == 1 if instance.must_finish else total <= 1

    m.completion = pyo.Constraint(m.JOBS, rule=completion)
    most = 1 if not instance.forking else None
    keys = list(at)
    m.SLOTS_OF = pyo.Set(initialize=keys, dimen=2)

    def running(m: Any, j: str, t: int) -> Any:
        later = pyo.quicksum(m.c[j, f] for f in ending[j] if f >= t)
        held = pyo.quicksum(m.z[j, t, v] for v in at[j, t])
        return held <= (most or len(at[j, t])) * later

    m.running = pyo.Constraint(m.SLOTS_OF, rule=running)

    def last(m: Any, j: str, f: int) -> Any:
        return m.c[j, f] <= pyo.quicksum(m.z[j, f, v] for v in at[j, f])

    m.last = pyo.Constraint(m.ENDS, rule=last)

    scale = {j: _scale(rows, jobs[j].iterations) for j, rows in copies.items()}

    def cumulative(m: Any, j: str, f: int) -> Any:
        unit, need = scale[j]
        done = pyo.quicksum(
            float(gain[j, v] / unit) * m.z[j, t, v]
            for t in range(jobs[j].arrival, f + 1)
            for v in at[j, t]
        )
        return done >= need * pyo.quicksum(m.c[j, g] for g in ending[j] if g <= f)

    m.cumulative = pyo.Constraint(m.ENDS, rule=cumulative)
    _capacity(instance, m, runs)
    return m


def _speeds(instance: Instance) -> dict[str, list[Any]]:
    """Return each job's gains by speed."""
    return {
        job.id: [s.gain for s in speeds]
        for job, speeds in zip(instance.jobs, instance.speeds, strict=True)
    }


def _copies(instance: Instance) -> dict[str, list[Any]]:
    """Return each forking job's gains by copy: one for each machine and type that it can use."""
    return {
        job.id: [instance.gain(job, instance.rate(job, k)) for _, k in places(instance, job)]
        for job in instance.jobs
    }


def places(instance: Instance, job: Job) -> list[tuple[str, str]]:
    """Return the machines and types on which a copy of a forking job can run."""
    return [
        (machine.id, kind)
        for machine in instance.machines
        for kind, count in machine.gpus.items()
        if count and instance.rate(job, kind)
    ]


def _ends(instance: Instance, job: Job, gains: list[Any]) -> range:
    """Return the slots in which a job can finish: not before it could at its fastest."""
    if not gains:
        return range(0)
    best = max(gains)
    if instance.forking:
        per_machine: dict[str, Any] = {}
        for (machine, _), gain in zip(places(instance, job), gains, strict=True):
            per_machine[machine] = max(per_machine.get(machine, 0), gain)
        best = sum(per_machine.values())
    least = -(-job.iterations // best)
    return range(job.arrival + int(least) - 1, instance.slots + 1)


def _scale(gains: list[Any], iterations: Number) -> tuple[Fraction, int]:
    """Return a unit of work, and the iterations in it: whole numbers if they are not too large."""
    step = grid(gains) or Fraction(1)
    need = -(-iterations // step)
    return (step, int(need)) if need <= _MOST_UNITS else (Fraction(iterations), 1)


def _capacity(instance: Instance, m: Any, runs: list[tuple[str, int, int]]) -> None:
    """Add the rows of Hall's condition, or of machines and types for copies."""
    users: dict[Any, list[tuple[tuple[str, int, int], int]]] = {}
    limit: dict[Any, int] = {}
    if instance.forking:
        where = {job.id: places(instance, job) for job in instance.jobs}
        counts = {machine.id: machine.gpus for machine in instance.machines}
        for j, t, v in runs:
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
            i = index[j]
            for s in gangs.within[gangs.of[i][v]].nonzero()[0].tolist():
                users.setdefault((t, labels[s]), []).append(((j, t, v), int(gangs.workers[i])))
                limit[t, labels[s]] = int(gangs.capacity[s])
    # Rows that cannot be broken say nothing.
    tight = [key for key, rows in users.items() if sum(w for _, w in rows) > limit[key]]
    m.LIMITS = pyo.Set(initialize=sorted(tight), dimen=2)
    m.capacity = pyo.Constraint(
        m.LIMITS,
        rule=lambda m, t, s: pyo.quicksum(w * m.z[key] for key, w in users[t, s]) <= limit[t, s],
    )


def read(instance: Instance, m: Any) -> Solution:
    """Return the solution that the model's variables hold, given out to machines."""
    if instance.forking:
        return _read_copies(instance, m)
    import numpy as np

    levels = np.full((len(instance.jobs), instance.slots), -1, dtype=np.int8)
    index = {job.id: i for i, job in enumerate(instance.jobs)}
    for j, t, v in m.RUNS:
        if round(m.z[j, t, v].value or 0) == 1:
            levels[index[j], t - 1] = v
    return Gangs(instance).solution(levels, "milp")


def _read_copies(instance: Instance, m: Any) -> Solution:
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
    return Solution(
        instance=instance.name,
        instance_sha256=instance.sha256,
        method="milp",
        schedule=rows,
    )


def assign(instance: Instance, m: Any, solution: Solution) -> None:
    """Set every variable to the value that the solution gives it; unfinished jobs do not run."""
    from dlsched.problems.utility.check import completions

    done = completions(instance, solution.schedule)
    for var in (m.z, m.c):
        for key in var:
            var[key].set_value(0, skip_validation=True)
    for j, job in enumerate(instance.jobs):
        if job.id not in done:
            continue
        m.c[job.id, job.arrival + done[job.id] - 1].set_value(1, skip_validation=True)
        for held in solution.schedule[job.id]:
            if instance.forking:
                spots = places(instance, job)
                for machine, kinds in held.gpus.items():
                    v = spots.index((machine, next(iter(kinds))))
                    m.z[job.id, held.slot, v].set_value(1, skip_validation=True)
            else:
                slowest = min(instance.rate(job, k) for ks in held.gpus.values() for k in ks)
                gains = [s.gain for s in instance.speeds[j]]
                v = gains.index(instance.gain(job, slowest))
                m.z[job.id, held.slot, v].set_value(1, skip_validation=True)
