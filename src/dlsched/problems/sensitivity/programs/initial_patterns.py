"""The first patterns of a master problem: of a packing, or of a solution."""

from __future__ import annotations

from dlsched.problems.sensitivity.definition.schema import Choice, Solution
from dlsched.problems.sensitivity.programs.pattern_program import Program
from dlsched.problems.sensitivity.structures.server_knapsack import least_choices
from dlsched.problems.sensitivity.structures.server_patterns import Item, Pattern
from dlsched.schema import Number


def packing(program: Program) -> list[Pattern]:
    """Return patterns of servers on which jobs have no more than their proportional share.

    First fit decreasing by GPUs; jobs that do not fit whole are then split where they may be.
    """
    instance = program.instance
    least, most = least_choices(instance), instance.servers.gpus
    free, first = [most] * instance.servers.count, 0
    patterns = [[0] * len(program.items) for _ in free]

    def fill(item: int, gpus: int, left: int) -> int:
        """Place as many of `left` items as fit; return how many are left over."""
        nonlocal first
        while first < len(free) and not free[first]:
            first += 1
        for s in range(first, len(free)):
            if not left:
                break
            taken = min(left, free[s] // gpus)
            if taken:
                patterns[s][item] += taken
                free[s] -= taken * gpus
                left -= taken
        return left

    needed: dict[str, dict[int, int]] = {}
    for option in program.options:
        if option.choice == least[option.profile]:
            needed.setdefault(option.profile, {})[option.amount] = option.item
    rest = []
    for name in sorted(needed, key=lambda name: -instance.profiles[name].gpus):
        gpus, items = instance.profiles[name].gpus, needed[name]
        left = program.counts[name]
        if 1 in items:
            left = fill(items[1], gpus, left)
        if left and gpus in items:
            rest.append((items[gpus], left * gpus))
    for item, left in rest:
        fill(item, 1, left)
    return [tuple(pattern) for pattern in patterns]


def patterns_of(program: Program, solution: Solution) -> list[Pattern]:
    """Return the patterns of a solution's servers, for initial columns of a program.

    Raises
    ------
    KeyError
        If the solution splits a job that the program keeps together.
    """
    instance, index = program.instance, program.index
    servers: dict[str, list[int]] = {}
    better: dict[tuple[str, Number, Number], Choice] = {}
    for job in instance.jobs:
        given = solution.allocation.get(job.id)
        if given is None:
            continue
        key = job.profile, given.cpus, given.memory
        if key not in better:
            better[key] = instance.replacement(*key)
        choice, gpus = better[key], instance.profile(job).gpus
        together = Item(gpus, choice.cpus, choice.memory)
        for server, count in given.gpus.items():
            row = servers.setdefault(server, [0] * len(index))
            if count == gpus and together in index:
                row[index[together]] += 1
            else:
                row[index[Item(1, choice.cpus, choice.memory)]] += count
    return [tuple(row) for row in servers.values()]
