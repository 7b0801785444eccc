"""From solutions to counts by block, and back: which machine gets which task."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from dlsched.problems.dispatch.definition.schema import Placed, Solution, Started
from dlsched.problems.dispatch.programs.block_program import Counts
from dlsched.problems.dispatch.programs.loads import Weights
from dlsched.problems.dispatch.programs.machine_cuts import violated
from dlsched.problems.dispatch.programs.packing import pack
from dlsched.problems.dispatch.structures.blocks import Shape, shape_of
from dlsched.run import Run
from dlsched.solvers.outcome import Vector

Slots: TypeAlias = dict[tuple[int, Shape], list[tuple[int, int]]]
"""By cluster and shape: machines, and how many tasks of that shape are on each."""


def point_of(program: Counts, solution: Solution) -> Vector:
    """Return the point of a program that is a feasible solution's."""
    fleet, instance = program.fleet, program.fleet.instance
    x = np.zeros(len(program.top))
    block = {(own.site, m): b for b, own in enumerate(program.blocks) for m in own.machines}
    site = {at.name: s for s, at in enumerate(fleet.sites)}
    region = {own.id: r for r, own in enumerate(instance.regions)}
    used = set()
    for name in solution.preempt:
        x[program.victim[instance.running_index[name]]] = 1
    for ranked in program.ranking:
        w, started = ranked.position, solution.start.get(ranked.workload)
        if started is None:
            continue
        x[program.region[w, region[started.region]]] = 1
        for j, job in enumerate(instance.pending[w].jobs):
            placed = started.jobs[job.id]
            s = site[placed.cluster]
            x[program.cluster[w, j, s]] = 1
            for name, tasks in placed.on.items():
                number = instance.machine_number(name)
                assert number is not None
                m = number - fleet.sites[s].machines.start
                x[program.tasks[block[s, m], shape_of(fleet.requests[w][j])]] += tasks
                used.add((s, m))
    for s, m in used:
        x[program.machines[block[s, m]]] += 1
        rack = (s, int(fleet.sites[s].rack[m]))
        if rack in program.rack:
            x[program.rack[rack]] = 1
    return x


def place(
    program: Counts, values: Vector, few: bool, run: Run
) -> tuple[Solution | None, set[int], list[Weights]]:
    """Return the solution with the counts of a point, or the blocks on which none is found.

    The weights returned last are violated there, if there are such.

    Parameters
    ----------
    few
        Whether only as many machines may be used as the point says.
    """
    gone = {v for v, column in program.victim.items() if values[column]}
    shapes: dict[int, list[Shape]] = {}
    for (b, shape), column in program.tasks.items():
        if values[column]:
            shapes.setdefault(b, []).append(shape)
    failed: set[int] = set()
    cuts: list[Weights] = []
    slots: Slots = {}
    for b, some in shapes.items():
        block = program.blocks[b]
        some.sort(key=lambda shape: sorted(shape.need, reverse=True), reverse=True)
        counts = [int(values[program.tasks[b, shape]]) for shape in some]
        n = int(values[program.machines[b]]) if few else len(block.machines)
        have = block.after(gone)
        placed = pack(counts, [shape.need for shape in some], have, n)
        if placed is None:
            failed.add(b)
            weights = violated(some, counts, have, n, run)
            cuts += [] if weights is None else [weights]
            continue
        for m, row in zip(block.machines, placed, strict=False):
            for shape, tasks in zip(some, row, strict=True):
                if tasks:
                    slots.setdefault((block.site, shape), []).append((m, tasks))
    if failed:
        return None, failed, cuts
    return _solution(program, values, gone, slots), failed, cuts


def _solution(program: Counts, values: Vector, gone: set[int], slots: Slots) -> Solution:
    """Distribute tasks of equal shape in a cluster to the jobs there, in any order."""
    fleet, instance = program.fleet, program.fleet.instance
    regions = {w: r for (w, r), column in program.region.items() if values[column]}
    sites = {
        (w, j): s
        for (w, j, s), column in program.cluster.items()
        if values[column] and fleet.sites[s].region == regions.get(w)
    }
    start = {}
    for ranked in program.ranking:
        w = ranked.position
        if w in regions:
            jobs = {}
            for j, job in enumerate(instance.pending[w].jobs):
                request, s = fleet.requests[w][j], sites[w, j]
                on = _take(slots[s, shape_of(request)], request.tasks)
                first = fleet.sites[s].machines.start
                names = {instance.machine_name(first + m): tasks for m, tasks in on.items()}
                jobs[job.id] = Placed(cluster=fleet.sites[s].name, on=names)
            start[ranked.workload] = Started(region=instance.regions[regions[w]].id, jobs=jobs)
    preempt = tuple(instance.running[v].id for v in sorted(gone))
    return Solution(start=start, preempt=preempt)


def _take(slots: list[tuple[int, int]], tasks: int) -> dict[int, int]:
    """Take places for a job's tasks from the end of a list of (machine, tasks)."""
    found: dict[int, int] = {}
    while tasks:
        m, have = slots.pop()
        some = min(have, tasks)
        found[m] = found.get(m, 0) + some
        tasks -= some
        if have > some:
            slots.append((m, have - some))
    return found
