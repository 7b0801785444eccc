"""What a simulation is given, checked: jobs, what a policy stores, whether it leads anywhere."""

import json
from collections.abc import Callable
from typing import Final

from dlsched.errors import InstanceError, plain, spelled
from dlsched.schema import Flaw, Number, exact
from dlsched.simulation.engine.decision import PolicyError
from dlsched.simulation.engine.policy import Policy, interval_ticks
from dlsched.simulation.workload.clock import HORIZON, TICKS, ticks
from dlsched.simulation.workload.cluster import Cluster
from dlsched.simulation.workload.eligibility import Eligibility, eligibility, require_places
from dlsched.simulation.workload.job import Job
from dlsched.simulation.workload.workload import Workload

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


def wake_ticks(wake: Number | float, now: int) -> int:
    """Return when a policy asks to decide again.

    Raises
    ------
    PolicyError
        If that is no time, or not to come.
    """
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

        `left` returns the least work that was ever left, of all jobs present.
        """
        self.count += 1
        if self.count < self.limit:
            return False
        before, self.mark, self.count = self.mark, left(), 0
        return before == self.mark
