"""One job of a trace."""

from typing import Any, Final

from dlsched.schema.document import Document
from dlsched.schema.fields import Amount, Count, Id, PositiveCount

RECORD: Final = (
    *("eligible", "start", "user", "account", "partition", "gpu_type", "limit", "nodes", "state"),
    *("cpus", "memory"),
)
"""The fields of a job that say what a scheduler did with it."""


class TraceJob(Document):
    """One job of a trace. All times are in seconds, exact as the file's decimals.

    Attributes
    ----------
    gpus
        GPUs that the job holds while it runs; 0 for a job that needs none.
    submit
        Time of its submission, from any origin.
    duration
        Running time with those GPUs.
    interval
        As recorded and not used: traces differ in which interval it is.
    iteration_time, stages
        Seconds per iteration, in total and by resource. The stages need not add up to the total.
    eligible, start
        When it could have started, and when it did start for the first time, by the clock of
        `submit`; None if not recorded.
    user, account, partition
        Who submitted it, what it was charged to, and the partition, queue or virtual cluster.
    gpu_type
        Type of its GPUs; ``A100|H100`` if it may have either, ``a100+v100`` if it held both.
    features
        What it needs of its nodes, all of it; ``a|b`` is one of two.
    qos
        Its quality of service, as the scheduler calls it.
    cpus, memory
        CPUs and GB of memory, in total.
    limit
        Time limit; None if it has none, or none is recorded.
    nodes
        The nodes that it held, and how many GPUs on each, for its first start.
    state
        How it ended, as the record spells it.
    """

    id: Id
    gpus: Count
    submit: Amount
    duration: Amount
    iterations: Count | None = None
    model: str | None = None
    batch_size: Count | None = None
    interval: Amount | None = None
    iteration_time: Amount | None = None
    stages: tuple[Amount, ...] = ()
    priority: Amount | None = None
    eligible: Amount | None = None
    start: Amount | None = None
    user: str | None = None
    account: str | None = None
    partition: str | None = None
    gpu_type: str | None = None
    limit: Amount | None = None
    nodes: tuple[tuple[Id, PositiveCount], ...] = ()
    state: str | None = None
    features: tuple[str, ...] = ()
    qos: str | None = None
    cpus: Amount | None = None
    memory: Amount | None = None

    @property
    def record(self) -> dict[str, Any]:
        """The fields of the record that are known, by name."""
        return {name: value for name in RECORD if (value := getattr(self, name)) not in (None, ())}
