"""The first patterns of a master problem: of a packing, or of a solution."""

import contextlib
from collections.abc import Iterable, Mapping

import numpy as np

from dlsched.problems.sensitivity.definition.schema import Choice, Instance, Solution
from dlsched.problems.sensitivity.programs.pattern_program import Program
from dlsched.problems.sensitivity.structures.server_patterns import Item, Pattern
from dlsched.schema import Id, Number


def packing(program: Program) -> list[Pattern]:
    """Return patterns of servers on which jobs have no more than their proportional share.

    First fit decreasing by GPUs; jobs that do not fit whole are then split where they may be.
    """
    profiles = program.instance.profiles
    least = _least_choices(program.instance)
    items: dict[str, dict[int, int]] = {}  # of each profile, by how many of them a job needs
    for option in program.options:
        if option.choice == least[option.profile]:
            items.setdefault(option.profile, {})[option.amount] = option.item
    servers = program.instance.servers
    free = np.full(servers.count, servers.gpus)
    patterns = np.zeros((servers.count, len(program.items)), dtype=np.int64)

    def fill(item: int, gpus: int, rest: int) -> int:
        """Place as many of `rest` items as fit; return how many are left over."""
        room = free // gpus
        placed = np.clip(rest - np.cumsum(room) + room, 0, room)
        patterns[:, item] += placed
        free[:] -= placed * gpus
        return rest - int(placed.sum())

    rest = []
    for name in sorted(items, key=lambda name: -profiles[name].gpus):
        gpus = profiles[name].gpus
        waiting = program.counts[name]
        if 1 in items[name]:
            waiting = fill(items[name][1], gpus, waiting)
        if waiting and gpus in items[name]:
            rest.append((items[name][gpus], waiting * gpus))
    for item, waiting in rest:
        fill(item, 1, waiting)
    return [tuple(pattern) for pattern in patterns.tolist()]


def _least_choices(instance: Instance) -> Mapping[Id, Choice]:
    """Return for each profile the fastest choice within the proportional share, of these the least.

    Jobs with these choices fit wherever their GPUs do.
    """
    cpus, memory = instance.servers.proportional
    return {
        name: max((c for c in choices if c.cpus <= cpus and c.memory <= memory), key=Choice.rank)
        for name, choices in instance.undominated.items()
    }


def add_known(program: Program, solutions: Iterable[Solution]) -> None:
    """Add the patterns of solutions, and for each item a server full of it."""
    for solution in solutions:
        with contextlib.suppress(KeyError):  # it splits a job that the program does not
            program.add(_patterns_of(program, solution))
    program.add([program.server.full(i) for i in range(len(program.items))])


def _patterns_of(program: Program, solution: Solution) -> list[Pattern]:
    """Return the patterns of a solution's servers; `KeyError` if the program lacks an item."""
    instance = program.instance
    index = program.index
    servers: dict[str, list[int]] = {}
    better: dict[tuple[str, Number, Number], Choice] = {}
    for job in instance.jobs:
        given = solution.allocation.get(job.id)
        if given is None:
            continue
        key = job.profile, given.cpus, given.memory
        if key not in better:
            better[key] = instance.replacement(*key)
        choice = better[key]
        gpus = instance.profile(job).gpus
        together = Item(gpus, choice.cpus, choice.memory)
        for server, count in given.gpus.items():
            row = servers.setdefault(server, [0] * len(index))
            if count == gpus and together in index:
                row[index[together]] += 1
            else:
                row[index[Item(1, choice.cpus, choice.memory)]] += count
    return [tuple(row) for row in servers.values()]
