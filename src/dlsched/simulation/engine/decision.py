"""What a policy decides: which jobs start where, and which stop."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any, Final, NamedTuple

from dlsched.errors import DlschedError, spelled
from dlsched.schema import Id, Number

SEQUENCE: Final = (list, tuple, Sequence)
"""The abstract class behind the usual ones, which are found in a fraction of the time."""


class PolicyError(DlschedError):
    """A policy decided something that the cluster cannot do, or leaves jobs waiting for ever."""


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
        shares = self.shares
        return shares[0].gpus if len(shares) == 1 else sum(share.gpus for share in shares)


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

    Raises
    ------
    PolicyError
        If a part is of another type.
    """

    start: Mapping[Id, Allocation] = field(default_factory=dict)
    preempt: Sequence[Id] = ()
    returned: Sequence[Id] = ()
    overhead: Mapping[Id, Number] = field(default_factory=dict)
    wake: Number | None = None
    solved: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse parts of other types."""
        # The first tests are those of nearly all decisions.
        for what, value, remedy in (
            ("start", self.start, "ids and allocations"),
            ("overhead", self.overhead, "ids, seconds"),
            ("solved", self.solved, "names and values"),
        ):
            if type(value) is not dict and not isinstance(value, Mapping):
                raise PolicyError(f"{what} is {spelled(value)}; write {remedy}")
        for name, allocation in self.start.items():
            _check_allocation(name, allocation)
        for what, names in (("preempt", self.preempt), ("returned", self.returned)):
            if names not in ((), []) and not _are_names(names):
                raise PolicyError(f"{what} is {spelled(names)}; write a list of ids")
        if self.overhead and (unknown := [n for n in self.overhead if n not in self.start]):
            job = spelled(unknown[0])
            raise PolicyError(f"overhead is stated for job {job}, which is not in start")


def _are_names(names: Any) -> bool:
    """Return whether this is a sequence of texts."""
    listed = isinstance(names, SEQUENCE) and not isinstance(names, str)
    return listed and all(isinstance(name, str) for name in names)


def _check_allocation(name: object, allocation: object) -> None:
    if not isinstance(name, str) or not isinstance(allocation, Allocation):
        raise PolicyError(
            f"start has {spelled(allocation)} for job {spelled(name)}; "
            "write an Allocation for an id"
        )
    if not isinstance(allocation.group, str | None):
        raise PolicyError(f"job {name}: group is {spelled(allocation.group)}; write a text or None")
    shares: Any = allocation.shares
    if not isinstance(shares, SEQUENCE) or not all(isinstance(share, Share) for share in shares):
        raise PolicyError(f"job {name}: shares are {spelled(shares)}; write a tuple of Share")
    for server, gpus, *_ in shares:
        if type(gpus) is not int and (not isinstance(gpus, Integral) or isinstance(gpus, bool)):
            raise PolicyError(f"job {name}: {spelled(gpus)} GPUs on {server}; write a whole number")
