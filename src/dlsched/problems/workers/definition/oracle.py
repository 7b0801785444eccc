"""Brute force for workers."""

from collections.abc import Iterator, Mapping
from itertools import product

from dlsched.problems.workers.definition.check import check, gpus_by_server
from dlsched.problems.workers.definition.schema import Instance, Job, Kind, Placed, Solution
from dlsched.results.objective import Objective

_Held = tuple[tuple[tuple[int, Kind], int], ...]


def brute_force(instance: Instance) -> Objective:
    """Return the optimum over every placement.

    Jobs are added one after the other, in every way that `check` accepts for the job alone. Of
    partial placements with the same GPUs of each kind on each server, the one with the best
    objective is kept: which further jobs fit, and what levels 1 to 3 gain by them, does not depend
    on which jobs hold these GPUs, and level 4 is the same.
    """
    partial: dict[_Held, tuple[Objective, Mapping[str, Placed]]] = {}
    start = check(instance, Solution(placement={})).objective
    assert start is not None
    partial[()] = (start, {})
    for job in instance.jobs:
        alone = [
            placed
            for placed in _ways(instance, job)
            if check(instance, Solution(placement={job.id: placed})).feasible
        ]
        grown = dict(partial)
        for (_, placement), placed in product(list(partial.values()), alone):
            solution = Solution(placement={**placement, job.id: placed})
            report = check(instance, solution)
            if not report.feasible:
                continue
            assert report.objective is not None
            held = tuple(sorted(gpus_by_server(instance, solution).items()))
            if held not in grown or report.objective.better_than(grown[held][0]):
                grown[held] = (report.objective, solution.placement)
        partial = grown
    best = start
    for objective, _ in partial.values():
        if objective.better_than(best):
            best = objective
    return best


def _ways(instance: Instance, job: Job) -> Iterator[Placed]:
    """Yield every distribution of all base workers and 0 to all flexible ones over the servers."""
    room = [(server.id, server.free // job.gpus_per_worker) for server in instance.servers]
    flexible = [way for count in range(job.flexible + 1) for way in _spread(room, count)]
    for base, more in product(_spread(room, job.base), flexible):
        yield Placed(base=base, flexible=more)


def _spread(room: list[tuple[str, int]], count: int) -> Iterator[dict[str, int]]:
    """Yield every distribution of a number of workers over servers, each within its room."""
    if not room:
        if not count:
            yield {}
        return
    (name, most) = room[0]
    rest = room[1:]
    for here in range(min(most, count) + 1):
        for others in _spread(rest, count - here):
            yield ({name: here} if here else {}) | others
