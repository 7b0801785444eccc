"""What a variant's `allow` says of sensitivity: which jobs may be on one server."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias

from dlsched.errors import OptionError
from dlsched.problems.sensitivity.definition.schema import Instance, Solution
from dlsched.results.result import Violation

Held: TypeAlias = Mapping[str, int]
"""GPUs of each job on a server, by the job's id."""
Allow: TypeAlias = Callable[[Instance, Held], bool]
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
