"""What a simulation is given, checked: jobs, what a policy returns, whether that leads anywhere."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from numbers import Integral
from typing import Any, Final

from dlsched.errors import DlschedError, InstanceError, describe, plain, spelled
from dlsched.run import Run
from dlsched.schema import Flaw, Number, exact
from dlsched.simulation.engine.decision import Allocation, Decision, Share
from dlsched.simulation.engine.policy import Policy, PolicyError, interval_ticks
from dlsched.simulation.engine.state import State
from dlsched.simulation.workload.clock import HORIZON, TICKS, ticks
from dlsched.simulation.workload.cluster import Cluster
from dlsched.simulation.workload.eligibility import Eligibility, eligibility, require_places
from dlsched.simulation.workload.job import Job
from dlsched.simulation.workload.workload import Workload

SEQUENCE: Final = (list, tuple, Sequence)
"""The abstract class behind the usual ones, which are found in a fraction of the time."""
STUCK_AFTER: Final = 5000
"""Decisions that lead nowhere, with no other event between them, until a policy is stuck."""


def require_possible(workload: Workload, cluster: Cluster, policy: Policy) -> Eligibility:
    """Return where the jobs may run; refuse what cannot be simulated, before anything is written.

    Raises
    ------
    InstanceError
        If a job needs more GPUs than there are, or its times are too long.
    OptionError
        If a job may run nowhere, or the policy's interval is not above 0; whatever the policy's own
        check raises.
    """
    for j, job in enumerate(workload.jobs):
        check_job(job, f"jobs[{j}]", workload.name, cluster.gpus)
    where = eligibility(workload, cluster)
    require_places(workload, cluster, where)
    interval_ticks(policy)
    check = getattr(policy, "check", None)
    if callable(check):
        check(workload, cluster)
    return where


def check_job(job: Job, path: str, workload: str, gpus: int) -> None:
    """Refuse a job that needs more GPUs than there are, or whose times do not fit into 64 bits.

    Raises
    ------
    InstanceError
        Naming the workload and the field, which is below `path`.
    """
    if job.min_gpus > gpus:
        problem = f"job {job.id} needs {job.min_gpus} GPUs, the cluster has {gpus}"
        remedy = "leave the job out, or take a larger cluster"
        raise InstanceError(f"workload {workload}", f"{path}.gpus", problem, remedy)
    latest = HORIZON // gpus
    for name in ("submit", "work", "restart", "startup"):
        value = getattr(job, name)
        if value and ticks(value) >= latest:
            problem = f"job {job.id} has {name} = {float(getattr(job, name)):g} s"
            remedy = (
                f"the clock ends at {latest / TICKS:.3g} s with {gpus} GPUs; count in seconds, "
                "from a later time"
            )
            raise InstanceError(f"workload {workload}", f"{path}.{name}", problem, remedy)


def decide(policy: Policy, state: State) -> Decision:
    """Return a policy's decision, with parts of the right types.

    Raises
    ------
    PolicyError
        If the policy raises an error that is not dlsched's, or returns something else.
    KeyboardInterrupt
        Also if Ctrl-C has cut short what the policy solved: the decision would be another one.
    """
    interrupts = Run.interrupts
    try:
        decision = policy.decide(state)
    except DlschedError:
        raise
    except Exception as error:
        raise PolicyError(f"it raised {describe(error)}") from error
    if Run.interrupts > interrupts:
        raise KeyboardInterrupt
    if not isinstance(decision, Decision):
        raise PolicyError(f"it returned {spelled(decision)}; return a dlsched.simulation.Decision")
    # The first test is that of nearly all decisions.
    start, overhead = decision.start, decision.overhead
    for what, value, remedy in (
        ("start", start, "ids and allocations"),
        ("overhead", overhead, "ids, seconds"),
        ("solved", decision.solved, "names and values"),
    ):
        if type(value) is not dict and not isinstance(value, Mapping):
            raise PolicyError(f"{what} is {spelled(value)}; write {remedy}")
    for name, allocation in start.items():
        _check_allocation(name, allocation)
    for what, names in (("preempt", decision.preempt), ("returned", decision.returned)):
        if names != () and not _are_names(names):
            raise PolicyError(f"{what} is {spelled(names)}; write a list of ids")
    unknown = [name for name in overhead if name not in start]
    if unknown:
        job = spelled(unknown[0])
        raise PolicyError(f"overhead is stated for job {job}, which is not in start")
    return decision


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
    for share in shares:
        gpus: Any = share.gpus
        if type(gpus) is not int and (not isinstance(gpus, Integral) or isinstance(gpus, bool)):
            raise PolicyError(
                f"job {name}: {spelled(gpus)} GPUs on {share.server}; write a whole number"
            )


def wake_ticks(wake: Number | float | None, now: int) -> int | None:
    """Return when a policy asks to decide again.

    Raises
    ------
    PolicyError
        If that is no time, or not to come.
    """
    if wake is None:
        return None
    try:
        asked = ticks(exact(wake) if not hasattr(wake, "denominator") else wake)
        # Long beyond the end of the clock; more digits could not be stored as JSON.
        asked = min(asked, HORIZON**2)
    except Flaw as flaw:
        raise PolicyError(f"wake: {flaw}") from None
    if asked <= now:
        raise PolicyError(
            f"it asks to decide again at {float(wake):.15g} s, a time that is not to come"
        )
    return asked


def to_json(value: object, what: str) -> str:
    """Return JSON of what a policy gives for the log.

    Raises
    ------
    PolicyError
        If it is not of JSON values, from which the same can be read again.
    """
    if isinstance(value, dict) and not value:
        return "{}"
    try:
        _require_json(value)
        return json.dumps(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise PolicyError(
            f"its {what} cannot be stored in the log ({plain(str(error))}); use JSON values"
        ) from None


def _require_json(value: object) -> None:
    """Refuse keys that would come back as texts."""
    if isinstance(value, dict):
        for key, entry in value.items():
            if not isinstance(key, str):
                raise TypeError(f"{spelled(key)} as a key, which is no text")
            _require_json(entry)
    elif isinstance(value, list | tuple):
        for entry in value:
            _require_json(entry)


class Watch:
    """Whether the decisions lead somewhere: else a simulation would go on for ever.

    A decision leads nowhere for itself if it preempts or moves jobs, or if no job can be complete
    after it. That goes on for ever only if the least work that was ever left, of all jobs present
    together, does not fall. It is compared after every `limit` such decisions; arrivals,
    completions and changes of the loan, of which there are finitely many, begin anew.

    Attributes
    ----------
    count
        Decisions that led nowhere since then, or since the last comparison.
    mark
        The work left at the last comparison; None if there was none.
    """

    def __init__(self, limit: int) -> None:
        self.limit, self.count = limit, 0
        self.mark: int | None = None

    def begin(self) -> None:
        """Begin anew."""
        self.count, self.mark = 0, None

    def stuck(self, left: Callable[[], int]) -> bool:
        """Count a decision that led nowhere; return whether it is certain that none will.

        Parameters
        ----------
        left
            Returns the least work that was ever left, of all jobs present.
        """
        self.count += 1
        if self.count < self.limit:
            return False
        before, self.mark, self.count = self.mark, left(), 0
        return before == self.mark
