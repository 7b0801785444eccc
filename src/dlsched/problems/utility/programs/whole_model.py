"""What the model leaves out of solutions, for variants: unfinished runs, speeds as they are."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dlsched.problems.utility.definition.check import progress
from dlsched.problems.utility.definition.schema import Held, Instance, Solution
from dlsched.problems.utility.model import assign, gains_of, places, read_copies, work_units
from dlsched.problems.utility.structures.machines import RunningGang, place


def complete(m: Any, instance: Instance) -> None:
    """State all that solutions can be: jobs that run without finishing, speeds as they are.

    A gang's speed is that of its slowest GPU, so a run at a speed needs a GPU of just that speed.
    """
    import pyomo.core as pyo

    jobs = {job.id: job for job in instance.jobs}
    copies = gains_of(instance)
    runs: dict[tuple[str, int], list[Any]] = {}
    for j, t, v in m.RUNS:
        runs.setdefault((j, t), []).append(m.z[j, t, v])

    def unfinished(m: Any, j: str, t: int) -> Any:
        before = m.done[j, t - 1] if (j, t - 1) in m.ENDS else 0
        return sum(runs[j, t]) <= (len(copies[j]) if instance.forking else 1) * (1 - before)

    m.running.deactivate()
    m.unfinished = pyo.Constraint(m.SLOTS_OF, rule=unfinished)
    m.finished = pyo.Constraint(m.ENDS)
    can_finish = {j for j, _ in m.ENDS}
    for j, job in jobs.items():
        if j not in can_finish:
            continue
        gains, need = work_units(instance, job, copies[j])
        if not all(gain.is_integer() for gain in gains):
            continue  # rounded: the work done cannot be told from a little less
        most = 0.0
        for t in range(job.arrival, instance.slots + 1):
            most += sum(gains) if instance.forking else max(gains, default=0.0)
            if (j, t) in m.ENDS and most >= need:
                work = m.cumulative[j, t].body + need * m.done[j, t]
                m.finished.add((j, t), work <= need - 1 + (most - need + 1) * m.done[j, t])
    if not instance.forking:
        m.capacity.deactivate()
        _state_capacity(instance, m)


def _state_capacity(instance: Instance, m: Any) -> None:
    """State Hall's condition for gangs of which one GPU has just the speed of the run."""
    import pyomo.core as pyo

    kinds = list(instance.supply)
    jobs = {job.id: job for job in instance.jobs}
    usable = {j: _types_by_speed(instance, i) for i, j in enumerate(jobs)}
    m.TYPES = pyo.Set(initialize=range(1, 2 ** len(kinds)))
    m.SLOTS = pyo.Set(initialize=range(1, instance.slots + 1))
    by_slot: dict[int, list[tuple[str, int]]] = {t: [] for t in m.SLOTS}
    for j, t, v in m.RUNS:
        by_slot[t].append((j, v))
    m.repeated = pyo.Constraint(
        m.RUNS,
        rule=lambda m, j, t, v: (
            pyo.Constraint.Feasible if usable[j][v].exact else m.z[j, t, v] == 0
        ),
    )

    def fits(m: Any, t: int, mask: int) -> Any:
        chosen = frozenset(kind for i, kind in enumerate(kinds) if mask >> i & 1)
        held = []
        for j, v in by_slot[t]:
            types, workers = usable[j][v], jobs[j].workers
            if types.exact:
                inside = (types.exact <= chosen) + (workers - 1) * (types.all <= chosen)
                held += [inside * m.z[j, t, v]] if inside else []
        supply = sum(instance.supply[kind] for kind in chosen)
        return pyo.quicksum(held) <= supply if held else pyo.Constraint.Feasible

    m.gang_capacity = pyo.Constraint(m.SLOTS, m.TYPES, rule=fits)


class _Types(NamedTuple):
    """The GPU types that a gang may hold at a speed, and those of just this speed."""

    all: frozenset[str]
    exact: frozenset[str]


def _types_by_speed(instance: Instance, number: int) -> list[_Types]:
    """Return them by speed of a job; of several speeds with one gain all count as the first."""
    job, speeds = instance.jobs[number], instance.speeds[number]
    gains = {kind: instance.gain(job, instance.rate(job, kind)) for kind in instance.supply}
    rows, known = [], set()
    for speed in speeds:
        exact = frozenset(kind for kind in instance.supply if gains[kind] == speed.gain)
        usable = frozenset(kind for kind in instance.supply if gains[kind] >= speed.gain)
        rows.append(_Types(usable, frozenset() if speed.gain in known else exact))
        known.add(speed.gain)
    return rows


def read_complete(instance: Instance, m: Any) -> Solution:
    """Return the solution of the variables' values, each gang with a GPU of just its speed."""
    if instance.forking:
        return read_copies(instance, m)
    schedule: dict[str, list[Held]] = {job.id: [] for job in instance.jobs}
    index = {job.id: i for i, job in enumerate(instance.jobs)}
    running: dict[int, list[RunningGang]] = {}
    for j, t, v in m.RUNS:
        if round(m.z[j, t, v].value or 0) == 1:
            running.setdefault(t, []).append(RunningGang(index[j], v))
    for t, gangs in sorted(running.items()):
        counts = _counts(instance, gangs)
        for j, gpus in place(instance, counts).items():
            schedule[instance.jobs[j].id].append(Held(slot=t, gpus=gpus))
    return Solution(schedule={name: tuple(rows) for name, rows in schedule.items() if rows})


def _counts(instance: Instance, gangs: list[RunningGang]) -> dict[int, dict[str, int]]:
    """Return the GPUs of each type that every gang of a slot gets: a matching."""
    from scipy import sparse
    from scipy.sparse.csgraph import maximum_bipartite_matching

    gpus = [kind for kind, count in instance.supply.items() for _ in range(count)]
    wanted: list[tuple[int, frozenset[str]]] = []
    for number, speed in gangs:
        types = _types_by_speed(instance, number)[speed]
        others = instance.jobs[number].workers - 1
        wanted += [(number, types.exact), *[(number, types.all)] * others]
    may = np.array([[kind in types for kind in gpus] for _, types in wanted], dtype=bool)
    matched = maximum_bipartite_matching(sparse.csr_array(may), perm_type="column")
    counts: dict[int, dict[str, int]] = {}
    for (number, _), gpu in zip(wanted, matched.tolist(), strict=True):
        row = counts.setdefault(number, {})
        if gpu >= 0:
            row[gpus[gpu]] = row.get(gpus[gpu], 0) + 1
    return counts


def assign_complete(instance: Instance, m: Any, solution: Solution) -> None:
    """Set every variable to its value in a solution, unfinished jobs as they run."""
    import pyomo.core as pyo

    assign(instance, m, solution)
    if instance.forking:
        _show_copies(instance, m, solution)
    else:
        for j, job in enumerate(instance.jobs):
            gains = [speed.gain for speed in instance.speeds[j]]
            for held in solution.schedule.get(job.id, ()):
                v = gains.index(progress(instance, job, held))
                m.z[job.id, held.slot, v].set_value(1, skip_validation=True)
    for key in m.BLOCKS:
        m.work[key].set_value(abs(pyo.value(m.block[key].body)), skip_validation=True)


def _show_copies(instance: Instance, m: Any, solution: Solution) -> None:
    for job in instance.jobs:
        spots = places(instance, job)
        for held in solution.schedule.get(job.id, ()):
            for name, kinds in held.gpus.items():
                v = spots.index((name, next(iter(kinds))))
                m.z[job.id, held.slot, v].set_value(1, skip_validation=True)
