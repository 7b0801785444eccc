"""check_heuristic catches planted bugs, each with a small counterexample, and passes our own."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dlsched
from dlsched.problems.placement import Instance as Placement
from dlsched.problems.placement import Solution as PlacementSolution
from dlsched.problems.reclaiming import Solution as ReclaimingSolution
from dlsched.results.result import Claim
from dlsched.schema import Instance
from dlsched.testing import check_heuristic, worst_case

CALLS = itertools.count()


def emptiest(instance: Any, count: int) -> list[str]:
    """Return the servers with fewest GPUs in use, as many as asked for; ties by the file."""
    load = {server.id: 0 for server in instance.servers}
    for job in instance.jobs:
        for worker in job.workers:
            load[worker.server] += worker.gpus
    order = {server.id: i for i, server in enumerate(instance.servers)}
    return sorted(load, key=lambda s: (load[s], order[s]))[:count]


def one_short(instance: Any, rng: np.random.Generator) -> dict[str, Any]:
    """Off by one: it returns a server too few."""
    return {"returned": emptiest(instance, instance.demand - 1)}


def twice_the_same(instance: Any, rng: np.random.Generator) -> dict[str, Any]:
    """A forgotten update: the emptiest server is chosen again and again."""
    return {"returned": emptiest(instance, 1) * instance.demand}


def needs_jobs(instance: Any, rng: np.random.Generator) -> dict[str, Any]:
    """It divides by the number of workers."""
    workers = sum(len(job.workers) for job in instance.jobs)
    return {"returned": emptiest(instance, instance.demand * workers // workers)}


def forgetful(instance: Any, rng: np.random.Generator) -> dict[str, Any]:
    """It keeps a state from one call to the next."""
    found = emptiest(instance, len(instance.servers))
    turn = next(CALLS) % len(found)
    return {"returned": (found[turn:] + found[:turn])[: instance.demand]}


def by_name(instance: Any, rng: np.random.Generator) -> dict[str, Any]:
    """A wrong tie: it sorts servers by their names."""
    return {"returned": sorted(s.id for s in instance.servers)[: instance.demand]}


def boasting(instance: Any, rng: np.random.Generator) -> Claim:
    """It claims that nothing is preempted."""
    returned = tuple(emptiest(instance, instance.demand))
    solution = ReclaimingSolution(instance=instance.name, returned=returned)
    return Claim(solution=solution, objective=[0, 0])


def wrong_thing(instance: Any, rng: np.random.Generator) -> Claim:
    """It answers another problem."""
    return Claim(solution=PlacementSolution(instance=instance.name, home={}))


def everyone_most(instance: Any, rng: np.random.Generator) -> dict[str, Any]:
    """It ignores the capacity."""
    return {"workers": {job.id: job.max_workers for job in instance.jobs}}


def only_pending(instance: Any, rng: np.random.Generator) -> dict[str, Any]:
    """It forgets that running jobs go on."""
    return {"workers": {}}


def last_left_out(instance: Any, rng: np.random.Generator) -> Any:
    """An off-by-one in a loop: the last group is dropped."""
    solution = dlsched.solve(instance, "greedy").solution
    return solution.model_copy(update={"groups": solution.groups[:-1]})


def wherever(instance: Any, gpus: Callable[[Any], int]) -> Any:
    """Give each job so many GPUs of a kind that has them, whoever else is given these."""
    schedule = {}
    for job in instance.jobs:
        for machine in instance.machines:
            for kind, count in machine.gpus.items():
                if count >= gpus(job) > 0 and instance.rate(job, kind):
                    held = {machine.id: {kind: gpus(job)}}
                    schedule[job.id] = [{"slot": job.arrival, "gpus": held}]
    return {"schedule": schedule}


def gangs_one_short(instance: Any, rng: np.random.Generator) -> Any:
    """It ignores the gang rule: a job starts with a GPU too few."""
    return wherever(instance, lambda job: job.workers - 1)


def same_gpu_for_all(instance: Any, rng: np.random.Generator) -> Any:
    """A forgotten update: GPUs that were given are still free."""
    return wherever(instance, lambda job: job.workers)


def first_region(instance: Placement, rng: np.random.Generator) -> dict[str, Any]:
    """It ignores what a region can store."""
    return {"home": {table.id: instance.regions[0].id for table in instance.tables}}


def items(instance: Instance) -> int:
    """Return how many things an instance has that a reader must understand."""
    names = ("servers", "jobs", "machines", "tables")
    found = (getattr(instance, name, ()) for name in names)
    return sum(len(part) for part in found if isinstance(part, tuple))


@pytest.mark.parametrize(
    ("problem", "bug", "kind"),
    [
        ("reclaiming", one_short, "infeasible"),
        ("reclaiming", twice_the_same, "infeasible"),
        ("reclaiming", needs_jobs, "crash"),
        ("reclaiming", forgetful, "not_deterministic"),
        ("reclaiming", by_name, "depends_on_names"),
        ("reclaiming", boasting, "wrong_claim"),
        ("reclaiming", wrong_thing, "no_solution_object"),
        ("elastic", everyone_most, "infeasible"),
        ("elastic", only_pending, "infeasible"),
        ("interleaving", last_left_out, "infeasible"),
        ("utility", gangs_one_short, "infeasible"),
        ("utility", same_gpu_for_all, "infeasible"),
        ("placement", first_region, "infeasible"),
    ],
)
def test_planted_bugs_are_caught(problem: str, bug: Any, kind: str) -> None:
    """Each bug is named by its kind, with an instance of at most four items."""
    found = check_heuristic(problem, bug, examples=60)
    assert not found
    assert kind in {finding.kind for finding in found.findings}
    finding = next(f for f in found.findings if f.kind == kind)
    assert items(finding.instance) <= 4, finding
    assert finding.kind in str(found)
    with pytest.raises(AssertionError, match=kind):
        found.raise_if_any()


def test_a_registered_heuristic_holds_every_property() -> None:
    """A method's name is accepted, and the report has the figures of its runs."""
    found = check_heuristic("reclaiming", "lyra", examples=40)
    assert found, str(found)
    assert found.solved > 0
    assert found.worst_gap is not None
    assert "every property holds" in str(found)


def test_order_is_asked_on_demand() -> None:
    """first come first served depends on the order of the file, which is found if asked for."""
    found = check_heuristic("elastic", "fifo", examples=100, invariant=("order",))
    assert [finding.kind for finding in found.findings] == ["depends_on_order"]
    with pytest.raises(dlsched.OptionError):
        check_heuristic("elastic", "fifo", invariant=("colour",))


def test_getting_stuck_is_a_fault_on_demand() -> None:
    """Only with `complete` must a heuristic find what there is; what finds nothing has no gap."""

    def lazy(instance: Any, rng: np.random.Generator) -> Claim:
        return Claim(status=dlsched.Status.NO_SOLUTION, reason="too hot today")

    assert check_heuristic("reclaiming", lazy, examples=20)
    found = check_heuristic("reclaiming", lazy, examples=20, complete=True)
    assert [finding.kind for finding in found.findings] == ["stuck"]
    assert worst_case("reclaiming", lazy, 10) is None


def test_without_an_oracle_nothing_is_said_of_gaps() -> None:
    """No brute force, no gap; the other properties are still tested."""
    found = check_heuristic("reclaiming", "scf", examples=20, oracle=False)
    assert found and found.worst_gap is None and "gap" not in str(found)
