"""The definition of reclaiming: the violations and the objective of a set of returned servers."""

from collections.abc import Iterable

from dlsched.problems.reclaiming.definition.schema import Instance, Solution
from dlsched.results.objective import ByLevel, Level
from dlsched.results.result import Report, Violation
from dlsched.schema import Number

LEVELS = (Level("preempted", "min", "jobs"), Level("collateral", "min", "GPUs"))


def check(instance: Instance, solution: Solution) -> Report:
    """Return the violations and the objective of a solution.

    Kinds of violations: ``unknown_server``, ``repeated_server``, ``too_few_servers``,
    ``too_many_servers``. ``details`` has ``gpus_returned``, the GPUs of the returned servers, and
    ``collateral_fraction``, the collateral GPUs divided by these.
    """
    index = instance.server_index
    returned = {index[s] for s in solution.returned if s in index}
    objective = evaluate(instance, returned)
    gpus = sum(instance.servers[s].gpus for s in returned)
    details = {"gpus_returned": gpus, "collateral_fraction": objective[1] / gpus if gpus else 0}
    return Report(tuple(_violations(instance, solution)), objective, details)


def _violations(instance: Instance, solution: Solution) -> Iterable[Violation]:
    seen: set[str] = set()
    for i, server in enumerate(solution.returned):
        where = f"returned[{i}]"
        if server not in instance.server_index:
            yield Violation("unknown_server", where, f'there is no server "{server}"')
        elif server in seen:
            yield Violation("repeated_server", where, f'server "{server}" is returned twice')
        seen.add(server)
    count = len(seen & instance.server_index.keys())
    if count != instance.demand:
        kind = "too_few_servers" if count < instance.demand else "too_many_servers"
        message = f"demand {instance.demand} servers, {count} are returned"
        yield Violation(kind, "returned", message, abs(count - instance.demand))


def evaluate(instance: Instance, returned: set[int]) -> ByLevel[Number]:
    """Return (preempted weight, collateral GPUs) if the servers at these positions are returned.

    A job is preempted if one of its base workers is on a returned server; it then loses all its
    workers. The GPUs of those on other servers are the collateral damage.
    """
    preempted: Number = 0
    collateral = 0
    for job, base, held in zip(instance.jobs, instance.base_servers, instance.held, strict=True):
        if not base.isdisjoint(returned):
            preempted += job.weight
            collateral += sum(gpus for server, gpus in held.items() if server not in returned)
    return ByLevel(LEVELS, (preempted, collateral))


def explain(instance: Instance) -> str:
    """Return why no solution exists; an empty string if one does."""
    if instance.demand > len(instance.servers):
        return f"demand {instance.demand} servers, {len(instance.servers)} exist"
    return ""
