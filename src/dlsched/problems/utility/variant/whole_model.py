"""What the model leaves out of solutions, for variants: unfinished runs, speeds as they are."""

from collections.abc import Sequence
from typing import Any

from dlsched.problems.utility.definition.schema import Instance, Solution
from dlsched.problems.utility.model import assign, gains_of, read, work_units
from dlsched.problems.utility.structures.machines import RunningGang, by_flow


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
    units = {j: work_units(jobs[j], copies[j]) for j in {j for j, _ in m.ENDS}}
    for j, t in m.ENDS:
        gains, need = units[j]
        most = (sum(gains) if instance.forking else max(gains)) * (t - jobs[j].arrival + 1)
        # Where gains are rounded, the work done cannot be told from a little less.
        if most >= need and all(gain.is_integer() for gain in gains):
            work = m.cumulative[j, t].body + need * m.done[j, t]
            m.finished.add((j, t), work <= need - 1 + (most - need + 1) * m.done[j, t])
    if not instance.forking:
        m.capacity.deactivate()
        _state_capacity(instance, m)


def _state_capacity(instance: Instance, m: Any) -> None:
    """State Hall's condition for gangs of which one GPU has just the speed of the run."""
    import pyomo.core as pyo

    kinds = list(instance.supply)
    index = {job.id: j for j, job in enumerate(instance.jobs)}
    types = {(j, v): _types(instance, index[j], v) for j, _, v in m.RUNS}
    m.TYPES = pyo.Set(initialize=range(1, 2 ** len(kinds)))
    m.SLOTS = pyo.Set(initialize=range(1, instance.slots + 1))
    by_slot: dict[int, list[tuple[str, int]]] = {t: [] for t in m.SLOTS}
    for j, t, v in m.RUNS:
        by_slot[t].append((j, v))

    def fits(m: Any, t: int, mask: int) -> Any:
        chosen = frozenset(kind for i, kind in enumerate(kinds) if mask >> i & 1)
        held = []
        for j, v in by_slot[t]:
            usable, exact = types[j, v]
            others = instance.jobs[index[j]].workers - 1
            inside = (exact <= chosen) + others * (usable <= chosen)
            held += [inside * m.z[j, t, v]] if inside else []
        supply = sum(instance.supply[kind] for kind in chosen)
        return pyo.quicksum(held) <= supply if held else pyo.Constraint.Feasible

    m.gang_capacity = pyo.Constraint(m.SLOTS, m.TYPES, rule=fits)


def _types(instance: Instance, j: int, v: int) -> tuple[frozenset[str], frozenset[str]]:
    """Return the GPU types that a gang may hold at a speed, and those of just this speed."""
    job, speed = instance.jobs[j], instance.speeds[j][v]
    gains = {kind: instance.gain(job, instance.rate(job, kind)) for kind in speed.types}
    return speed.types, frozenset(kind for kind in speed.types if gains[kind] == speed.gain)


def read_complete(instance: Instance, m: Any) -> Solution:
    """Return the solution of the variables' values, each gang with a GPU of just its speed."""
    return read(instance, m, _counts)


def _counts(instance: Instance, gangs: Sequence[RunningGang]) -> dict[int, dict[str, int]]:
    """Return the GPUs of each type that every gang of a slot gets, one of just its speed."""
    needs = []
    for j, v in gangs:
        usable, exact = _types(instance, j, v)
        needs += [(j, exact, 1), (j, usable, instance.jobs[j].workers - 1)]
    return by_flow(instance, needs)


def assign_complete(instance: Instance, m: Any, solution: Solution) -> None:
    """Set every variable to its value in a solution, unfinished jobs as they run."""
    assign(instance, m, solution, unfinished=True)
