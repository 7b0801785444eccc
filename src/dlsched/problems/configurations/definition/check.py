"""The definition of configurations: the violations and the objective of a round."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping

from dlsched.problems.configurations.definition.costs import Costs, in_units
from dlsched.problems.configurations.definition.schema import (
    Configuration,
    Instance,
    Solution,
    Type,
)
from dlsched.results.objective import ByLevel, Level
from dlsched.results.result import Report, Violation
from dlsched.schema import Id

LEVELS = (Level("cost", "min", ""), Level("moved", "min", "jobs"))


def check(instance: Instance, solution: Solution) -> Report:
    """Return the violations and the objective of a solution.

    Kinds of violations: ``unknown_job``, ``unknown_configuration``, ``unusable`` (the job has no
    goodput there), ``over_capacity`` (of a type's GPUs), ``unplaceable`` (the GPUs are there, but
    not the nodes). ``details`` has the jobs that are ``waiting``, and by type the GPUs given, as ``gpus_TYPE``.
    """
    given = {
        job: instance.by_id[name]
        for job, name in solution.configurations.items()
        if name in instance.by_id
    }
    costs, known = Costs(instance), {job.id for job in instance.jobs}
    total, moved, waiting, unusable = 0, 0, 0, []
    for job in instance.jobs:
        units = None
        if job.id in given:
            units = costs.of(job).get(given[job.id].id)
            unusable += [job.id] * (units is None)
        total += costs.waiting if units is None else units
        waiting += units is None
        moved += job.present is not None and solution.configurations.get(job.id) != job.present
    gpus: dict[Id, int] = dict.fromkeys(instance.type_of, 0)
    for one in given.values():
        gpus[one.type] += one.gpus
    violations = [
        *_unknown(solution, known, given),
        *(
            Violation("unusable", f"configurations.{job}", f'"{job}" has no goodput there')
            for job in unusable
        ),
        *_unplaced(instance, given, gpus),
    ]
    details = {"waiting": waiting} | {f"gpus_{kind}": given for kind, given in gpus.items()}
    return Report(tuple(violations), ByLevel(LEVELS, (in_units(total), moved)), details)


def _unknown(
    solution: Solution, known: set[Id], given: Mapping[Id, Configuration]
) -> Iterator[Violation]:
    for job, name in solution.configurations.items():
        where = f"configurations.{job}"
        if job not in known:
            yield Violation("unknown_job", where, f'there is no job "{job}"')
        if job not in given:
            message = f'there is no configuration "{name}"'
            yield Violation("unknown_configuration", where, message)


def _unplaced(
    instance: Instance, given: Mapping[Id, Configuration], gpus: Mapping[Id, int]
) -> Iterator[Violation]:
    for kind in instance.types:
        there = kind.nodes * kind.gpus_per_node
        if gpus[kind.id] > there:
            message = f'{gpus[kind.id]} GPUs of "{kind.id}" are given, there are {there}'
            yield Violation("over_capacity", "configurations", message, gpus[kind.id] - there)
        elif (left := place(kind, given)[1]) > 0:
            message = f'{left} jobs on "{kind.id}" do not fit into its {kind.nodes} nodes'
            yield Violation("unplaceable", "configurations", message, left)


def place(kind: Type, given: Mapping[Id, Configuration]) -> tuple[list[list[tuple[Id, int]]], int]:
    """Place jobs on the nodes of a type: by node its jobs with their GPUs, and the jobs left over.

    Whole nodes take empty ones; the others follow from the largest to the smallest, each where it
    leaves the fewest GPUs. As each size divides the larger ones, this fits whatever can fit.
    """
    whole = kind.gpus_per_node
    nodes: list[list[tuple[Id, int]]] = [[] for _ in range(kind.nodes)]
    free = defaultdict[int, list[int]](list, {whole: list(reversed(range(kind.nodes)))})
    mine = [(one.gpus, job, one) for job, one in given.items() if one.type == kind.id]
    left = 0
    for gpus, job, one in sorted(mine, key=lambda entry: -entry[0]):
        each = whole if gpus >= whole else gpus
        for _ in range(one.nodes):
            room = next((size for size in range(each, whole + 1) if free[size]), None)
            if room is None:
                left += 1
                break
            node = free[room].pop()
            nodes[node].append((job, each))
            free[room - each].append(node)
    return nodes, left


def explain(instance: Instance) -> str:
    """Return an empty string: there is a solution, as every job may wait."""
    return ""
