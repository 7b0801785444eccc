"""From a placement to the instance of reclaiming: which loan servers can then be returned."""

from collections.abc import Iterable, Mapping
from typing import Any

from dlsched import schema
from dlsched.errors import OptionError
from dlsched.problems.workers.definition.check import check
from dlsched.problems.workers.definition.schema import KINDS, Instance, Server, Solution
from dlsched.registry import problem


def to_reclaiming(
    instance: Instance, solution: Solution, demand: int, tenants: Iterable[Mapping[str, Any]]
) -> schema.Instance:
    """Return the reclaiming instance of the loan servers after a placement (Lyra, section 4).

    Parameters
    ----------
    instance, solution
        Servers and jobs, and where the workers of the jobs are.
    demand
        Loan servers to return.
    tenants
        The jobs that run already, as in a reclaiming instance: ``id``, ``workers`` with
        ``server``, ``gpus`` and ``flexible``, and a ``weight`` if it is not 1. Their workers on
        training servers are left out.

    Returns
    -------
    dlsched.schema.Instance
        An instance of reclaiming. A worker of it is all that a job has of one kind on a server.

    Raises
    ------
    OptionError
        If the solution is not feasible; if tenants do not hold the GPUs of a loan server that are
        not free, or workers of the other kind than its group; if a tenant has the id of a job.
    InstanceError
        If tenants or demand are not as a reclaiming instance has them.
    """
    report = check(instance, solution)
    if not report.feasible:
        raise OptionError(f"the solution is not feasible: {report.violations[0].message}")
    loan = {server.id: server for server in instance.servers if server.pool == "loan"}
    training = {server.id for server in instance.servers} - set(loan)
    running = []
    for job in map(dict, tenants):
        if job.get("id") in instance.job_index:
            raise OptionError(f"tenant {job['id']!r} has the id of a job; rename one of them")
        workers = [w for w in job.get("workers", ()) if w.get("server") not in training]
        running.append({**job, "workers": workers})
    data: dict[str, Any] = {
        "dlsched": 1,
        "problem": "reclaiming",
        "name": f"{instance.name}-reclaiming",
        "source": f"loan servers of {instance.name} after a placement",
        "demand": demand,
        "servers": [{"id": server.id, "gpus": server.gpus} for server in loan.values()],
        "jobs": running,
    }
    target = problem("reclaiming").instance
    _require_tenants(instance, loan, target.parse(data, "the tenants"))
    data["jobs"] = [*running, *_placed(instance, solution, loan)]
    parsed: schema.Instance = target.parse(data, "the placement")
    return parsed


def _require_tenants(instance: Instance, loan: Mapping[str, Server], before: Any) -> None:
    """Refuse tenants that do not hold what the servers say."""
    held: dict[str, int] = dict.fromkeys(loan, 0)
    for job in before.jobs:
        for worker in job.workers:
            held[worker.server] += worker.gpus
            group = loan[worker.server].group if instance.separate_groups else None
            if group and worker.flexible != (group == "flexible"):
                raise OptionError(
                    f"tenant {job.id!r} has a {KINDS[worker.flexible]} worker on "
                    f"{worker.server!r}, of the {group} group"
                )
    for name, server in loan.items():
        if held[name] != server.gpus - server.free:
            raise OptionError(
                f"tenants hold {held[name]} GPUs on {name!r}, "
                f"its gpus less its free ones are {server.gpus - server.free}"
            )


def _placed(
    instance: Instance, solution: Solution, loan: Mapping[str, Server]
) -> Iterable[dict[str, Any]]:
    """Yield the placed jobs with workers on loan servers."""
    for name, placed in solution.placement.items():
        size = instance.jobs[instance.job_index[name]].gpus_per_worker
        workers = [
            {"server": server, "gpus": count * size, "flexible": kind == "flexible"}
            for kind in KINDS
            for server, count in placed.counts(kind).items()
            if server in loan
        ]
        if workers:
            yield {"id": name, "workers": workers}
