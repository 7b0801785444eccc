"""From solutions to counts by block, and back: which machine gets which task."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from dlsched.problems.dispatch.definition.schema import Placed, Solution, Started
from dlsched.problems.dispatch.programs.block_program import Counts
from dlsched.problems.dispatch.programs.loads import Load, Weights, capacity, full_loads, loads_of
from dlsched.problems.dispatch.structures.blocks import Shape, shape_of
from dlsched.problems.dispatch.structures.fleet import fits
from dlsched.problems.dispatch.structures.victims import Amounts
from dlsched.run import Run
from dlsched.solvers import highs
from dlsched.solvers.outcome import Vector
from dlsched.solvers.standard_form import INF, StandardForm


def point_of(program: Counts, solution: Solution) -> Vector:
    """Return the point of a program that is a feasible solution's."""
    fleet = program.fleet
    instance = fleet.instance
    x = np.zeros(len(program.top))
    block = {(own.site, m): b for b, own in enumerate(program.blocks) for m in own.machines}
    region = {region.id: r for r, region in enumerate(instance.regions)}
    used: set[tuple[int, int]] = set()
    for name in solution.preempt:
        x[program.victim[instance.running_index[name]]] = 1
    for ranked in program.batch.ranking:
        w = ranked.position
        started = solution.start.get(ranked.workload)
        if started is None:
            continue
        x[program.region[w, region[started.region]]] = 1
        for j, job in enumerate(instance.pending[w].jobs):
            placed = started.jobs[job.id]
            s = fleet.site_index[placed.cluster]
            x[program.cluster[w, j, s]] = 1
            for name, tasks in placed.on.items():
                m = fleet.position(s, name)
                x[program.tasks[block[s, m], shape_of(fleet.requests[w][j])]] += tasks
                used.add((s, m))
    for s, m in used:
        x[program.machines[block[s, m]]] += 1
        rack = (s, int(fleet.sites[s].rack[m]))
        if rack in program.rack:
            x[program.rack[rack]] = 1
    return x


class Slot(NamedTuple):
    """Room for some tasks of a shape on a machine of a cluster."""

    machine: int
    tasks: int


class Placement(NamedTuple):
    """What became of the counts of a point.

    Attributes
    ----------
    solution
        A solution with these counts, if one was found.
    failed
        The blocks on which none was found.
    cuts
        Weights that the counts violate there, if there are such.
    """

    solution: Solution | None
    failed: set[int]
    cuts: list[Weights]


def place(program: Counts, values: Vector, few: bool, run: Run) -> Placement:
    """Place the counts of a point on single machines.

    Parameters
    ----------
    few
        Whether only as many machines may be used as the point says.
    """
    gone = {v for v, column in program.victim.items() if values[column]}
    shapes_on: dict[int, list[Shape]] = defaultdict(list)
    for (b, shape), column in program.tasks.items():
        if values[column]:
            shapes_on[b].append(shape)
    failed: set[int] = set()
    cuts: list[Weights] = []
    slots: dict[tuple[int, Shape], list[Slot]] = defaultdict(list)
    for b, shapes in shapes_on.items():
        block = program.blocks[b]
        shapes.sort(key=lambda shape: sorted(shape.need, reverse=True), reverse=True)
        counts = [int(values[program.tasks[b, shape]]) for shape in shapes]
        machines = int(values[program.machines[b]]) if few else len(block.machines)
        have = block.after(gone)
        loads = Packing([shape.need for shape in shapes], have).fill(tuple(counts), machines)
        if loads is None:
            failed.add(b)
            weights = violated(shapes, counts, [Room(machines, have)], run)
            cuts += [] if weights is None else [weights]
        for machine, load in zip(block.machines, loads or (), strict=False):
            for shape, tasks in zip(shapes, load, strict=True):
                slots[block.site, shape] += [Slot(machine, tasks)] if tasks else []
    solution = None if failed else _solution(program, values, gone, slots)
    return Placement(solution, failed, cuts)


def _solution(
    program: Counts, values: Vector, gone: set[int], slots: dict[tuple[int, Shape], list[Slot]]
) -> Solution:
    """Distribute tasks of equal shape in a cluster to the jobs there, in any order."""
    fleet = program.fleet
    instance = fleet.instance
    regions = {w: r for (w, r), column in program.region.items() if values[column]}
    sites = {
        (w, j): s
        for (w, j, s), column in program.cluster.items()
        if values[column] and fleet.sites[s].region == regions.get(w)
    }
    start: dict[str, Started] = {}
    for ranked in program.batch.ranking:
        w = ranked.position
        if w not in regions:
            continue
        jobs: dict[str, Placed] = {}
        for j, request in enumerate(fleet.requests[w]):
            s = sites[w, j]
            machines = _take(slots[s, shape_of(request)], request.tasks)
            on = {fleet.name(s, machine): tasks for machine, tasks in machines.items()}
            job = instance.pending[w].jobs[j]
            jobs[job.id] = Placed(cluster=fleet.sites[s].name, on=on)
        start[ranked.workload] = Started(region=instance.regions[regions[w]].id, jobs=jobs)
    preempt = tuple(instance.running[v].id for v in sorted(gone))
    return Solution(start=start, preempt=preempt)


def _take(slots: list[Slot], tasks: int) -> dict[int, int]:
    """Take places for a job's tasks from the end of a list, and return them by machine."""
    places: dict[int, int] = {}
    while tasks:
        slot = slots.pop()
        some = min(slot.tasks, tasks)
        places[slot.machine] = places.get(slot.machine, 0) + some
        tasks -= some
        if slot.tasks > some:
            slots.append(Slot(slot.machine, slot.tasks - some))
    return places


@dataclass
class Packing:
    """The search for a packing of tasks on machines with equal room.

    Machine after machine is filled with a maximal choice of tasks, those with more of the earlier
    shapes first. On one machine nothing is missed; on several it gives up after `most` filled.

    Attributes
    ----------
    needs, have
        What a task needs, by shape, and what each machine has.
    """

    needs: Sequence[Amounts]
    have: Amounts
    most: int = 500
    steps: int = 0
    failed: set[tuple[Load, int]] = field(default_factory=set)

    def fill(self, counts: Load, machines: int) -> list[Load] | None:
        """Return what to put on each of some machines; ``None`` if nothing is found.

        As many as can be are filled equally. `counts` are tasks by shape.
        """
        if not any(counts):
            return []
        if (counts, machines) in self.failed or not self.in_total(counts, machines):
            return None
        for load in filter(any, full_loads(self.needs, self.have, counts)):
            self.steps += 1
            if self.steps > self.most:
                return None
            often = min(machines, *(a // b for a, b in zip(counts, load, strict=True) if b))
            for times in sorted({often, 1}, reverse=True):
                waiting = tuple(a - times * b for a, b in zip(counts, load, strict=True))
                rest = self.fill(waiting, machines - times)
                if rest is not None:
                    return [load] * times + rest
        self.failed.add((counts, machines))
        return None

    def in_total(self, counts: Load, machines: int) -> bool:
        """Whether the machines have room enough, taken as one."""
        for free, *needed in zip(self.have, *self.needs, strict=True):
            if sum(n * need for n, need in zip(counts, needed, strict=True)) > machines * free:
                return False
        return True


class Room(NamedTuple):
    """Machines with equal room: how many there are, and what is free on each."""

    machines: float
    have: Amounts


_SURE = 0.97
"""Part of a fractional point's counts that must violate an inequality as well."""


def separated(program: Counts, values: Vector, run: Run) -> list[Weights]:
    """Return weights that the counts of a fractional point violate, by block.

    A part of a block's machines, as large as the sum of its victims, is as if all of these stop.
    None exist where there are enough machines for each shape to have its own.
    """
    cuts: dict[Weights | None, None] = {}
    few = 1 - _SURE  # counts as none
    for b, possible in program.shapes_on.items():
        block = program.blocks[b]
        count = {s: _SURE * float(values[program.tasks[b, s]]) for s in possible}
        shapes = [s for s in possible if count[s] > few]
        stopping = min(1.0, sum(float(values[program.victim[v]]) for v, _ in block.occupants))
        n = len(block.machines)
        rooms = [Room(n * (1 - stopping), block.after(())), Room(n * stopping, block.after())]
        rooms = [room for room in rooms if room.machines > few]
        own = sum(count[s] / (fits(rooms[0].have, s.need) or few) for s in shapes)
        if own > rooms[0].machines:
            cuts[violated(shapes, [count[s] for s in shapes], rooms, run)] = None
    return [weights for weights in cuts if weights is not None]


_SCALES = (2520, 2520 * 2**20)
"""Weights are rounded to whole parts of the first that will do; 2520 has all divisors up to ten."""


def violated(
    shapes: Sequence[Shape], counts: Sequence[float], rooms: Sequence[Room], run: Run
) -> Weights | None:
    """Return weights of which the counts have more than all machines can; ``None`` if none exist.

    The weights and what one machine of each room can have are the duals of a fractional bin
    packing of the counts, which have the most that is possible. Rounding them costs no validity, as
    `capacity` computes anew what a machine can have.

    Parameters
    ----------
    shapes, counts
        Tasks by shape.
    """
    from scipy import sparse

    machines = [room.machines for room in rooms]
    rows = [[0.0] * len(shapes) + machines]
    for room, own in zip(rooms, np.eye(len(rooms)).tolist(), strict=True):
        loads = loads_of(tuple(shapes), room.have)
        if loads is None:
            return None
        rows += [[*load, *(-one for one in own)] for load in loads]
    form = StandardForm.of(
        sparse.csc_array(np.array(rows)),
        np.full(len(rows), -INF),
        np.array([sum(machines)] + [0.0] * (len(rows) - 1)),
        np.array([1.0] * len(shapes) + [INF] * len(rooms)),
        np.array([*counts, *[0.0] * len(rooms)]),
        sense="max",
    )
    outcome = highs.solve(form, 0, run, relax=True)
    if outcome.values is None:
        return None
    duals = np.maximum(outcome.values[: len(shapes)], 0.0)
    for scale in _SCALES:
        parts = np.rint(scale * duals).astype(int).tolist()
        weights = tuple((shape, part) for shape, part in zip(shapes, parts, strict=True) if part)
        total = sum(part * count for part, count in zip(parts, counts, strict=True))
        most = [capacity(weights, room.have) for room in rooms if weights]
        known = [a * n for a, n in zip(most, machines, strict=False) if a is not None]
        if len(known) == len(rooms) and total > sum(known):
            return weights
    return None
