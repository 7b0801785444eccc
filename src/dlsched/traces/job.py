"""One job of a trace."""

from __future__ import annotations

from dlsched.schema.document import Document
from dlsched.schema.fields import Amount, Count, Id


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
