"""The dynamic program on two pools."""

from __future__ import annotations

import time

from dlsched.problems.elastic.knapsack_pools import PoolItems, allocation, items_of
from dlsched.problems.elastic.pools import gpus_of
from dlsched.problems.elastic.schema import Instance, Solution
from dlsched.problems.elastic.search_pools import PoolSearch
from dlsched.result import Claim, Start
from dlsched.run import Run, Stage


def dynamic_program(instance: Instance, run: Run, memory_gib: float) -> Claim:
    """Return what `dp` does, for an instance with two pools; see there."""
    run.announce(Stage.BUILDING, f"the knapsack of {instance.name}")
    began = time.perf_counter()
    items = items_of(instance)
    search = PoolSearch(items, run, memory_gib)
    built = time.perf_counter() - began
    start = None
    if isinstance(run.start, Solution):
        search.offer(_items_within(instance, items, run.start))
        start = Start(True, "the first incumbent")
    run.announce(Stage.SEARCHING, f"a table of {len(items.starts):,} jobs over the GPUs")
    search.solve()
    assert search.incumbent is not None
    return Claim(
        solution=allocation(instance, items, search.incumbent),
        status=search.status,
        termination=search.termination,
        reason=search.reason,
        objective=[search.launched, items.seconds(search.value)],
        bounds=search.bounds,
        build_seconds=built,
        start=start,
    )


def _items_within(instance: Instance, items: PoolItems, solution: Solution) -> list[int]:
    """Return for each job its best item that takes no more GPUs than the solution gives it."""
    best: dict[int, int] = {}
    for i, (j, gpus) in enumerate(zip(items.job.tolist(), items.gpus.tolist(), strict=True)):
        job = instance.jobs[j]
        given = solution.split(job.id)
        if any(given):
            most = gpus_of(instance, job, given)
            fits = gpus[0] <= most[0] and gpus[1] <= most[1]
            if fits and (j not in best or items.value[i] > items.value[best[j]]):
                best[j] = i
    return list(best.values())
