"""A heuristic of this library: even demands on every server, then a knapsack on each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dlsched.problems.sensitivity.definition.schema import Choice, Instance, Job, Solution
from dlsched.problems.sensitivity.heuristics.spreading import Exchanges, Wanted, spread
from dlsched.problems.sensitivity.heuristics.upgrading import upgrade
from dlsched.problems.sensitivity.programs.pooled import Targets, pooled_targets
from dlsched.problems.sensitivity.structures.free_resources import Cluster, Placed, solution_of
from dlsched.problems.sensitivity.structures.server_knapsack import Knapsack, Part, least_choices
from dlsched.problems.sensitivity.structures.server_patterns import Item, TooManyStates
from dlsched.registry.own import method
from dlsched.results.result import Claim, Status, Termination
from dlsched.run import Run
from dlsched.schema import Id


@method("sensitivity", kind="heuristic", preload=("highspy", "scipy.sparse"))
def balance(instance: Instance, run: Run) -> Claim:
    """Even demands on every server, then the best choices of its jobs by a knapsack (ours).

    (1) The relaxation of Synergy's stage one gives every job a target choice, and prices to CPUs
    and memory. (2) Jobs are placed, most GPUs first, then the largest target first, on the server
    with the least load that has the GPUs free. The load is that of the targets, CPUs and memory
    weighted by their prices. (3) Jobs with equal GPUs are exchanged between servers above and
    below their capacity. (4) The jobs of a server get the choices of the largest sum of
    throughput, by a dynamic program. Jobs on several servers keep the fastest choice within the
    proportional share, and are upgraded at the end where there is room.

    There is no solution if a job that may neither wait nor be split finds no server with enough
    free GPUs.
    """
    solution = balanced(instance, run)
    if solution is not None:
        return Claim(solution=solution)
    reason = "no server has the free GPUs of a job that may not be split"
    return Claim(status=Status.NO_SOLUTION, termination=Termination.FINISHED, reason=reason)


def balanced(instance: Instance, run: Run) -> Solution | None:
    """Return the solution of `balance`; ``None`` if a job that may not wait has no place.

    If a limit strikes before there are targets, they are the shares.
    """
    least = least_choices(instance)
    targets = pooled_targets(instance, run)
    if targets is None:
        targets = Targets({job.id: least[job.profile] for job in instance.jobs}, (0.5, 0.5))
    wanted = _wanted(instance, targets, least)
    placed = spread(instance, wanted)
    if placed is None:
        return None
    Exchanges(wanted, placed, instance.servers.count).run()
    pairs = [(job, where) for job, where in zip(instance.jobs, placed, strict=True) if where]
    try:
        given = best_choices(instance, pairs, {job.id: least[job.profile] for job, _ in pairs})
        upgraded = [job for job, where in pairs if len(where) > 1]
    except TooManyStates:
        given = {job.id: (least[job.profile], where) for job, where in pairs}
        upgraded = [job for job, _ in pairs]
    if upgraded:
        cluster = Cluster(instance)
        for job, where in pairs:
            cluster.place(job, given[job.id][0], where)
        upgrade(cluster, upgraded)
        given = cluster.given
    return solution_of(instance, given)


def _wanted(instance: Instance, targets: Targets, least: Mapping[Id, Choice]) -> list[Wanted]:
    """Return the GPUs and the load of each job; those that would wait come late."""
    servers = instance.servers
    (cpu, memory) = targets.weights
    cpu = cpu / float(servers.cpus)
    memory = memory / float(servers.memory)
    wanted = []
    for job in instance.jobs:
        choice = targets.choices.get(job.id, least[job.profile])
        load = cpu * float(choice.cpus) + memory * float(choice.memory)
        late = job.id not in targets.choices
        wanted.append(Wanted(instance.profile(job).gpus, load, late))
    return wanted


def best_choices(
    instance: Instance, pairs: Sequence[tuple[Job, Placed]], known: Mapping[Id, Choice]
) -> dict[Id, tuple[Choice, Placed]]:
    """Return the choices and places of placed jobs, by a knapsack on each server.

    Jobs on several servers keep the choice that is known by their id.

    Raises
    ------
    TooManyStates
        If choices have too many different sums of CPUs or memory.
    """
    hosts: list[list[tuple[Job, Placed, Part]]] = [[] for _ in range(instance.servers.count)]
    for job, where in pairs:
        for s, gpus in where.items():
            hosts[s].append((job, where, (job.profile, gpus)))
    knapsack = Knapsack(instance, sorted({part for here in hosts for _, _, part in here}))
    given: dict[Id, tuple[Choice, Placed]] = {}
    for here in hosts:
        used = []
        for job, where, (_, gpus) in here:
            if len(where) > 1:
                choice = known[job.id]
                given[job.id] = choice, where
                used.append(Item(gpus, choice.cpus, choice.memory))
        whole = [(job, where, part) for job, where, part in here if len(where) == 1]
        choices = knapsack.solve([part for _, _, part in whole], used)
        for (job, where, _), choice in zip(whole, choices, strict=True):
            given[job.id] = choice, where
    return given
