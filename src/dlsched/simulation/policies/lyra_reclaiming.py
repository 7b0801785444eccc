"""Lyra's orchestrator: which servers go back when the loan shrinks (sections 4 and 5.3)."""

from collections.abc import Mapping, Sequence
from typing import Any

from dlsched.api import solve
from dlsched.problems.reclaiming.instances import state as adapter
from dlsched.schema import Id
from dlsched.simulation.policies.lyra_draft import Draft
from dlsched.simulation.policies.solving import solved_by


def reclaim(draft: Draft, method: Any, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return servers until no more are in use than the loan has.

    Empty servers go first; then those with flexible workers only, whose jobs scale in, those with
    the fewest GPUs in use first **(D)**; what is still missing is the problem ``reclaiming`` on the
    other servers.

    Parameters
    ----------
    draft
        The decision in the making; it is changed.
    method, options
        For `dlsched.solve`.

    Returns
    -------
    dict
        For the log, empty if nothing is due: ``demand``, ``empty``, ``flexible`` and ``chosen``
        (servers in all, and those of each kind), ``on_loan`` (jobs on servers on loan before),
        ``preempted``, ``collateral`` (GPUs vacated on servers that stay), ``gpus`` (of the servers
        returned), ``scaled_in`` (jobs that lost flexible workers only), and if the problem was
        solved its ``method``, ``status``, ``objective`` and ``bound``.
    """
    lent = draft.lent
    due = len(lent) - draft.state.loan
    if due <= 0:
        return {}
    here = set(lent)
    tenants = [name for name, held in draft.held.items() if not here.isdisjoint(held)]
    scaled: set[Id] = set()
    empty = [server for server in lent if draft.empty(server)][:due]
    draft.give_back(empty)
    based = {s for name in tenants for s in draft.base(name)}
    flexible = [s for s in lent if s not in based and s not in set(empty) and not draft.empty(s)]
    flexible.sort(key=lambda s: draft.servers[s].gpus - draft.free[s])
    flexible = flexible[: due - len(empty)]
    scaled |= scale_in(draft, tenants, flexible)
    draft.give_back(flexible)
    missing = due - len(empty) - len(flexible)
    log: dict[str, Any] = {
        "demand": due,
        "empty": len(empty),
        "flexible": len(flexible),
        "chosen": missing,
        "on_loan": len(tenants),
        "gpus": 0,
        "preempted": 0,
        "collateral": 0,
    }
    if missing:
        log |= _solve(draft, tenants, missing, method, options, scaled)
    log["gpus"] = sum(draft.servers[s].gpus for s in draft.returned)
    return log | {"scaled_in": len(scaled)}


def _solve(
    draft: Draft,
    tenants: Sequence[Id],
    demand: int,
    method: Any,
    options: Mapping[str, Any],
    scaled: set[Id],
) -> dict[str, Any]:
    """Choose the servers to return among those with base workers."""
    servers = draft.lent
    instance = adapter.instance(draft.snapshot(tenants, servers=servers), demand=demand)
    result = solve(instance, method, seed=draft.state.seed, **options)
    assert result.solution is not None, "as many servers as the demand exist"
    chosen = list(result.solution.returned)
    preempted, collateral = vacate(draft, tenants, chosen)
    stopped = set(draft.preempted)
    scaled |= scale_in(draft, [name for name in tenants if name not in stopped], chosen)
    draft.give_back(chosen)
    return {"preempted": preempted, "collateral": collateral} | solved_by(result)


def vacate(draft: Draft, tenants: Sequence[Id], servers: Sequence[Id]) -> tuple[int, int]:
    """Preempt the jobs with a base worker on servers; return their number and the collateral."""
    going, count, collateral = set(servers), 0, 0
    for name in tenants:
        if going.isdisjoint(draft.base(name)):
            continue
        held = draft.held[name]
        collateral += sum(gpus for server, gpus in held.items() if server not in going)
        draft.preempt(name)
        count += 1
    return count, collateral


def scale_in(draft: Draft, jobs: Sequence[Id], servers: Sequence[Id]) -> set[Id]:
    """Take the flexible workers from servers; return the jobs that lost some."""
    if not servers:
        return set()
    return {name for name in jobs if draft.shrink(name, draft.state.cluster.gpus, servers)}
