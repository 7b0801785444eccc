"""From a cluster's state to the problem of its jobs from then on, and back (Hadar, section III)."""

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, Final

from dlsched.errors import OptionError
from dlsched.problems.utility.definition.schema import Instance
from dlsched.problems.utility.instances.generate import HEAD, KINDS, MODELS
from dlsched.problems.utility.structures.slot_simulation import Rounds
from dlsched.registry.cluster_state import ClusterState, JobState, Server, uniform
from dlsched.schema import Id, Number

SERVERS = 15

UTILITIES: Final = ("effective_throughput", "normalized_throughput", "inverse_time", "linear")
"""Utilities of a job's completion: all its iterations over the time from submission to completion
(section III-A); the same over its rate on its fastest type, which does not depend on the unit of
its iterations; 1 over that time; the slots of the horizon that are left."""
_LEAST = Fraction(1, 1_000_000)
"""Seconds of work that are left of a job that is not complete, at least."""


def instance(
    state: ClusterState,
    *,
    slots: int | None = None,
    slot_seconds: Number = 360,
    utility: str = "effective_throughput",
) -> Instance:
    """Return the jobs present, with what is left of them, from this moment on.

    Every job that runs or waits may be given other GPUs. Servers without types of GPUs have V100,
    P100 and K80 in turn; a job without rates then has a model that its id decides.

    Parameters
    ----------
    slots
        Slots to come; None for as many as `horizon` says.
    slot_seconds
        Seconds of a slot, or round.
    utility
        One of `UTILITIES`. All but ``"linear"`` become a table, as part of the time from submission
        to completion has passed.

    Raises
    ------
    OptionError
        If some servers have types of GPUs and others have none, or there is no such utility.
    """
    rounds = moment(state, slot_seconds=slot_seconds, utility=utility)
    whole = rounds.instance
    left = whole.slots - (rounds.slot - 1) if slots is None else slots
    kind = "linear" if utility == "linear" else "table"
    rows = []
    parts = zip(whole.jobs, rounds.left, factors(whole, utility), strict=True)
    for job, remaining, factor in parts:
        before = rounds.slot - job.arrival
        unit = factor * Fraction(job.iterations) / Fraction(slot_seconds)
        row = {"id": job.id, "arrival": 1, "workers": job.workers, "rates": job.rates}
        row["iterations"] = float(remaining)
        if kind == "table":
            row["utilities"] = [float(unit / (before + c)) for c in range(1, left + 1)]
        rows.append(row)
    machines = [machine.model_dump() for machine in whole.machines]
    return _parsed(machines, rows, left, slot_seconds, kind)


def moment(
    state: ClusterState,
    *,
    slots: int | None = None,
    slot_seconds: Number = 360,
    utility: str = "effective_throughput",
) -> Rounds:
    """Return the state on which policies that decide slot by slot decide, as in `Rounds`.

    Slot 1 begins at 0; a job arrives in the first slot that begins at its submission or later.

    Parameters
    ----------
    slots
        Slots from 0 on, at least those until this moment; None for those and `horizon`.
    utility
        One of `UTILITIES`. ``"normalized_throughput"`` and ``"inverse_time"`` are effective
        throughput times the `factors` of the jobs, which the instance does not have.
    """
    if utility not in UTILITIES:
        raise OptionError(f"utility={utility!r} is none of {', '.join(UTILITIES)}")
    kind = "linear" if utility == "linear" else "effective_throughput"
    types = _types(state.servers)
    rates = _rates(state, set(types.values()))
    machines = [
        {"id": server.id, "gpus": {types[server.id]: server.gpus}} for server in state.servers
    ]
    slot = int(state.time // slot_seconds) + 1
    rows = []
    left = []
    for job in sorted((*state.running, *state.waiting), key=lambda job: job.submit):
        base = job.rates.get(job.gpu_type or "", 1)
        work = job.remaining + job.attained if job.work is None else job.work
        remaining = max(_LEAST, Fraction(job.remaining)) * Fraction(base)
        left.append(remaining)
        arrival = min(slot, math.ceil(job.submit / slot_seconds) + 1)
        row = {"id": job.id, "arrival": arrival, "workers": job.gpus, "rates": rates[job.id]}
        row["iterations"] = float(max(remaining, Fraction(work) * Fraction(base)))
        rows.append(row)
    if slots is None:
        slots = slot - 1 + horizon(left, rows, state.gpus, slot_seconds)
    rounds = Rounds(_parsed(machines, rows, slots, slot_seconds, kind))
    rounds.slot = slot
    rounds.left = list(left)
    return rounds


def factors(instance: Instance, utility: str) -> list[Fraction]:
    """Return what the effective throughput of each job is multiplied by, for one of `UTILITIES`."""
    if utility == "normalized_throughput":
        best = (max(job.rates.values(), default=1) for job in instance.jobs)
        return [Fraction(1) / Fraction(rate or 1) for rate in best]
    if utility == "inverse_time":
        return [Fraction(1) / Fraction(job.iterations) for job in instance.jobs]
    return [Fraction(1)] * len(instance.jobs)


def horizon(
    left: Sequence[Number], rows: Sequence[Mapping[str, Any]], gpus: int, slot_seconds: Number
) -> int:
    """Return a number of slots within which jobs can be done **(D)**; the paper states no T.

    Their GPU slots, each at its slowest type, over all GPUs; plus the slots of the longest job.
    """
    slots = [
        math.ceil(remaining / (min(row["rates"].values()) * slot_seconds)) if row["rates"] else 0
        for remaining, row in zip(left, rows, strict=True)
    ]
    area = sum(n * int(row["workers"]) for n, row in zip(slots, rows, strict=True))
    return max(1, math.ceil(area / max(1, gpus)) + max(slots, default=0))


def _parsed(machines: Any, jobs: Any, slots: int, slot_seconds: Number, kind: str) -> Instance:
    time = {"slots": slots, "slot_seconds": slot_seconds, "utility": {"kind": kind}}
    data = {**HEAD, **time, "machines": machines, "jobs": jobs}
    return Instance.parse(data, "the cluster's state")


def _types(servers: Sequence[Server]) -> dict[Id, str]:
    """Return the type of each server's GPUs; three types in turn if none has any."""
    typed = [server for server in servers if server.gpu_type is not None]
    if typed and len(typed) < len(servers):
        missing = next(server.id for server in servers if server.gpu_type is None)
        raise OptionError(f"server {missing} has no type of GPUs, others have; state all or none")
    if typed:
        return {server.id: server.gpu_type or "" for server in servers}
    return {server.id: KINDS[i % len(KINDS)] for i, server in enumerate(servers)}


def _rates(state: ClusterState, present: set[str]) -> dict[Id, dict[str, Number]]:
    """Return each job's rates on the types of the state's servers."""
    drawn = not any(server.gpu_type is not None for server in state.servers)

    def rates(job: JobState) -> dict[str, Number]:
        if job.rates:
            return {kind: rate for kind, rate in job.rates.items() if kind in present}
        if not drawn:
            return dict.fromkeys(sorted(present), 1)
        chosen = list(MODELS.values())[int(uniform(f"model:{job.id}", 0) * len(MODELS))]
        speeds = {kind: Fraction(repr(v)) for kind, v in zip(KINDS, chosen, strict=True)}
        return {kind: speed for kind, speed in speeds.items() if kind in present}

    return {job.id: rates(job) for job in (*state.running, *state.waiting)}
