"""What a variant's `allow` says of sensitivity: which jobs may be on one server."""

from collections.abc import Iterator
from typing import Any

from dlsched.errors import OptionError
from dlsched.problems.sensitivity.definition.schema import Instance, Solution
from dlsched.problems.sensitivity.variant.forbidden_sets import (
    Allow,
    Presence,
    merged,
    smallest_forbidden,
)
from dlsched.results.result import Violation

MEANING = (
    "allow(instance, held): a server may hold these GPUs of each job, {job id: GPUs}; what it "
    "allows it must allow with fewer jobs or GPUs, too"
)


def held_by_server(solution: Solution) -> dict[str, dict[str, int]]:
    """Return the GPUs of each job on every server that is used."""
    servers: dict[str, dict[str, int]] = {}
    for job, given in solution.allocation.items():
        for server, gpus in given.gpus.items():
            servers.setdefault(server, {})[job] = gpus
    return servers


def violations(instance: Instance, solution: Solution, allow: Allow) -> Iterator[Violation]:
    """Yield the servers whose jobs may not be together."""
    for server, held in sorted(held_by_server(solution).items()):
        if not allow(instance, held):
            jobs = ", ".join(held)
            message = f"server {server} holds jobs {jobs}, which is not allowed"
            yield Violation("allow", f"servers[{server}]", message)


def require_downward(instance: Instance, solution: Solution, allow: Allow) -> None:
    """Raise `OptionError` if a server's jobs are allowed, and not all but one of them."""
    for held in held_by_server(solution).values():
        for job in held:
            fewer = {other: gpus for other, gpus in held.items() if other != job}
            if fewer and not allow(instance, fewer):
                raise OptionError(
                    f"allow admits jobs {', '.join(held)} on one server, but not without {job}; "
                    f"what it allows it must allow with fewer jobs"
                )


def forbidden(instance: Instance, m: Any, allow: Allow) -> Iterator[Any]:
    """Yield expressions that are at most 0 where the rule allows every server.

    Of jobs that may be split, binary variables `at_least` say that they have several GPUs on a
    server; they may be 1 without that.
    """
    import pyomo.core as pyo

    rows = list(merged(smallest_forbidden(instance, allow)))
    named = {part for parts, _ in rows for part in parts}
    several = {part for part in named if part.gpus > 1 and instance.allow_split}
    m.PARTS = pyo.Set(initialize=sorted(several), dimen=2)
    m.at_least = pyo.Var(m.PARTS, m.SERVERS, domain=pyo.Binary)

    most_of = {job.id: instance.profile(job).gpus for job in instance.jobs}

    def gpus(j: str, s: int) -> Any:
        return pyo.quicksum(m.y[j, c, s] for c in m.CHOICES_OF[j])

    def there(part: Presence, s: int) -> Any:
        if part in several:
            return m.at_least[part.job, part.gpus, s]
        return m.z[part.job, s] if part.job in m.SEVERAL else gpus(part.job, s)

    for j, count in m.PARTS:
        more = min(most_of[j], instance.servers.gpus) - count + 1
        for s in m.SERVERS:
            yield gpus(j, s) - more * m.at_least[j, count, s] - (count - 1)
    for s in m.SERVERS:
        for parts, most in rows:
            yield pyo.quicksum(there(part, s) for part in sorted(parts)) - most


def assign_parts(m: Any, solution: Solution) -> None:
    """Set the variables of parts to their values in a solution, if there are any."""
    if m.component("at_least") is None:
        return
    for (j, count, s), variable in m.at_least.items():
        given = solution.allocation.get(j)
        held = 0 if given is None else given.gpus.get(str(s), 0)
        variable.set_value(int(held >= count), skip_validation=True)
