"""The definition of configurations: the violations and the objective of a round."""

from collections import defaultdict
from collections.abc import Iterator, Mapping

from dlsched.problems.configurations.definition.costs import Costs, in_units
from dlsched.problems.configurations.definition.schema import Configuration, Gpu, Instance, Solution
from dlsched.results.objective import ByLevel, Level
from dlsched.results.result import Report, Violation
from dlsched.schema import Id

LEVELS = (Level("cost", "min", ""), Level("moved", "min", "jobs"))


def check(instance: Instance, solution: Solution) -> Report:
    """Return the violations and the objective of a solution.

    Kinds of violations: ``unknown_job``, ``unknown_configuration``, ``unusable`` (the job has no
    goodput there), ``over_capacity`` (of a type's GPUs), ``unplaceable`` (the GPUs are there, but
    not the nodes). ``details`` has how many jobs wait, and by type the GPUs that are given.
    """
    chosen, costs = solution.configurations, Costs(instance)
    given = {job: instance.by_id[c] for job, c in chosen.items() if c in instance.by_id}
    total, moved, without, unusable = 0, 0, 0, []
    for job in instance.jobs:
        units = costs.of(job).get(given[job.id].id) if job.id in given else None
        unusable += [job.id] * (units is None and job.id in given)
        total += costs.waiting if units is None else units
        without += units is None
        moved += job.present is not None and chosen.get(job.id) != job.present
    gpus: dict[Id, int] = dict.fromkeys(instance.type_of, 0)
    for one in given.values():
        gpus[one.type] += one.gpus
    violations = (
        *_misnamed(instance, chosen),
        *(Violation("unusable", f"configurations.{job}", "no goodput there") for job in unusable),
        *_unplaced(instance, given, gpus),
    )
    details = {"waiting": without} | {f"gpus_{kind}": count for kind, count in gpus.items()}
    return Report(violations, ByLevel(LEVELS, (in_units(total), moved)), details)


def _misnamed(instance: Instance, chosen: Mapping[Id, Id]) -> Iterator[Violation]:
    known = {job.id for job in instance.jobs}
    for job, name in chosen.items():
        if job not in known:
            yield Violation("unknown_job", f"configurations.{job}", f'there is no job "{job}"')
        if name not in instance.by_id:
            yield Violation("unknown_configuration", f"configurations.{job}", f'no "{name}"')


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


def place(kind: Gpu, given: Mapping[Id, Configuration]) -> tuple[list[list[tuple[Id, int]]], int]:
    """Place jobs on the nodes of a type: by node its jobs with their GPUs, and the jobs left over.

    Whole nodes take empty ones; the others follow from the largest to the smallest, each where it
    leaves the fewest GPUs. As each size divides the larger ones, this fits whatever can fit.
    """
    whole, left = kind.gpus_per_node, 0
    nodes: list[list[tuple[Id, int]]] = [[] for _ in range(kind.nodes)]
    free = defaultdict[int, list[int]](list, {whole: list(reversed(range(kind.nodes)))})
    mine = [(one.gpus, job, one) for job, one in given.items() if one.type == kind.id]
    for gpus, job, one in sorted(mine, key=lambda entry: -entry[0]):
        each = min(gpus, whole)
        for _ in range(one.nodes):
            room = next((size for size in range(each, whole + 1) if free[size]), None)
            if room is None:
                left += 1
                break
            node = free[room].pop()
            nodes[node].append((job, each))
            free[room - each].append(node)
    return nodes, left
