"""What a policy is: anything with a method `decide`."""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, ClassVar, Final, Protocol, runtime_checkable

from dlsched.errors import OptionError
from dlsched.schema import Flaw, Number, exact
from dlsched.simulation.engine.decision import Decision
from dlsched.simulation.engine.state import State
from dlsched.simulation.workload.clock import ticks
from dlsched.simulation.workload.cluster import Cluster
from dlsched.simulation.workload.workload import Workload


@runtime_checkable
class Policy(Protocol):
    """A scheduling policy. The rest of what `BasePolicy` has is optional."""

    def decide(self, state: State) -> Decision:
        """Return what changes at this moment."""


class BasePolicy(ABC):
    """What the simulator asks of a policy, with the defaults; derive from it to change them.

    Attributes
    ----------
    name
        Name in tables and logs.
    interval
        Seconds between two rounds; None for none.
    on_events
        Whether it also decides when jobs arrive or complete, or the loan changes. A policy that
        does neither decides when it asks for it only (`Decision.wake`), and at the first arrival.
        Every policy decides when the loan shrinks below the servers of its pool that are in use: it
        has to return some.
    problem
        Name of the problem that it solves to decide; None if there is none.
    own_methods
        Whether it has methods although it solves no problem, as the programs of Gavel.
    method
        Method for that problem, as in `dlsched.solve`; None for the paper's own.
    preemptive
        Whether it may stop a running job, or move it.
    keeps_to
        Of what says where a job may run (`Obstacle.what`), that which it keeps to by itself; None
        for all. If there is more, it decides for each class of jobs apart, on the servers where
        these may run: see `dlsched.simulation.policies.divided`.
    own_estimates
        Whether it makes its own use of `Job.estimate`: then the remaining times that it sees are
        the true ones.
    memory
        What it remembers from one decision to the next: JSON values, stored in the log, so that an
        interrupted simulation goes on. Anything else that it keeps must follow from its options.
        After a simulation it is what it was before, so that every simulation begins alike.
    """

    name: ClassVar[str] = "policy"
    problem: ClassVar[str | None] = None
    own_methods: ClassVar[bool] = False
    own_estimates: ClassVar[bool] = False
    preemptive: bool = True
    keeps_to: frozenset[str] | None = None
    interval: Number | None = None
    on_events: bool = True

    def __init__(self, method: Any = None, **options: Any) -> None:
        self.method = method
        self.options = options
        self.memory: dict[str, Any] = {}

    def check(self, workload: Workload, cluster: Cluster) -> None:
        """Refuse a workload or a cluster that it cannot take, before the simulation begins.

        Raises
        ------
        DlschedError
            Naming the job, and the remedy.
        """
        return

    @abstractmethod
    def decide(self, state: State) -> Decision:
        """Return what changes at this moment."""


STATED: Final = (
    *("name", "problem", "own_estimates", "own_methods", "interval", "on_events", "preemptive"),
)
"""What a policy that passes on to another one states as that does."""


def policy_name(policy: object) -> str:
    """Return a policy's name in tables, logs and messages: its own, or that of its class."""
    kind: Any = policy if hasattr(policy, "__qualname__") else type(policy)
    return str(getattr(policy, "name", None) or f"{kind.__module__}:{kind.__qualname__}")


def refuse_unused(options: Iterable[str], whose: str) -> None:
    """Refuse options of other methods that a policy's own method would not use.

    A time limit is allowed: a method that needs none keeps it.

    Raises
    ------
    OptionError
        Naming the first.
    """
    unused = [name for name in options if name != "time_limit"]
    if unused:
        raise OptionError(
            f"{whose} has no option {unused[0]!r}; leave it out, or take a method that has it"
        )


def interval_ticks(policy: Policy) -> int | None:
    """Return the time between two rounds of a policy in microseconds; None for no rounds.

    Raises
    ------
    OptionError
        If it is not above 0.
    """
    interval = getattr(policy, "interval", None)
    if interval is None:
        return None
    try:
        value = exact(interval)
    except Flaw as flaw:
        raise OptionError(f"policy {policy_name(policy)}: interval {flaw}") from None
    if value <= 0:
        raise OptionError(
            f"policy {policy_name(policy)}: interval is {interval}; give seconds above 0, or None"
        )
    return ticks(value)
