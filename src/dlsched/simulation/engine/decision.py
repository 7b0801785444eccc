"""What a policy decides: which jobs start where, and which stop."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from dlsched.schema import Id, Number


class Share(NamedTuple):
    """What a job holds on one server.

    ``cpus`` and ``memory`` (GB) are None where the policy does not assign them; a job with a matrix
    of throughput then holds what `Matrix.proportional` says.
    """

    server: Id
    gpus: int
    cpus: Number | None = None
    memory: Number | None = None


class Allocation(NamedTuple):
    """What a job holds: a share of each of its servers, in the order of placement.

    Jobs with the same ``group`` hold the same GPUs together and take turns on them; None for a job
    that has its GPUs for itself. ``speed`` is None where the simulator computes it from the job's
    profile; a policy whose problem defines another speed states it (work done per second).
    """

    shares: tuple[Share, ...]
    group: Id | None = None
    speed: Number | None = None

    @property
    def gpus(self) -> int:
        """GPUs on all servers."""
        return sum(share.gpus for share in self.shares)


@dataclass(frozen=True, slots=True)
class Decision:
    """Changes to what runs; a running job that is not named keeps what it holds.

    Attributes
    ----------
    start
        Jobs that start, or run on with another allocation, and what they hold from now on.
    preempt
        Running jobs that stop. This comes before `start`.
    returned
        Servers of the loan pool that go back, empty after `preempt` and `start`.
    overhead
        Seconds without progress of jobs in `start`, where they are not `Job.restart`.
    wake
        Seconds on the simulation's clock at which to decide again, whatever happens until then;
        None for no such time.
    solved
        How the decision was found, for the log: method, status, objective, bound. JSON values.
    """

    start: Mapping[Id, Allocation] = field(default_factory=dict)
    preempt: Sequence[Id] = ()
    returned: Sequence[Id] = ()
    overhead: Mapping[Id, Number] = field(default_factory=dict)
    wake: Number | None = None
    solved: Mapping[str, Any] = field(default_factory=dict)
