"""The state of a job in the published simulator, in its own units."""

from dlsched.simulation.workload.job import Job
from dlsched.simulation.workload.workload import Workload

SLOWER = 1.015
"""Factor of every recorded iteration time, for a job alone (public code)."""


class JobState:
    """A job of the published simulator: seconds as floats, work in iterations.

    Attributes
    ----------
    index
        Position in the workload.
    gpus, restart, submit, priority
        As in `Job`.
    duration
        The trace's running time; Muri-S orders by it until the job's first event after its start.
    tau
        Seconds of an iteration alone: the recorded time, `SLOWER`.
    stages
        Seconds of an iteration's recorded stages: loading, GPU, network.
    left
        Iterations to go; slightly negative if the job ran on after its end was due.
    attained
        Seconds since its first start in which it ran, overhead and shared time in full.
    key
        What the policy sorts by.
    running
        Whether it runs.
    iteration, overhead
        Seconds of an iteration at present, and seconds without progress after every event that it
        runs through.
    """

    __slots__ = (
        "attained",
        "duration",
        "gpus",
        "index",
        "iteration",
        "key",
        "left",
        "overhead",
        "priority",
        "restart",
        "running",
        "stages",
        "submit",
        "tau",
    )

    def __init__(self, index: int, job: Job) -> None:
        # Recorded times are whole milliseconds; the published code scales, then divides.
        milliseconds = float((job.iteration_time or 0) * 1000)
        self.index = index
        self.gpus = job.gpus
        self.restart = float(job.restart)
        self.submit = float(job.submit)
        self.duration = float(job.work)
        self.priority = int(job.priority or 0)
        self.tau = milliseconds * SLOWER / 1000
        self.stages = tuple(float(stage * 1000) / 1000 for stage in job.stages)
        self.left = float(job.iterations or 0)
        self.attained = 0.0
        self.key = 0.0
        self.running = False
        self.iteration = self.tau
        self.overhead = self.restart

    def advance(self, now: float, last: float) -> tuple[float, float]:
        """Account for running from an event to the next; return seconds of overhead and work.

        The order of operations is the published one, on which the last digits depend.
        """
        useful = max(now - last - self.overhead, 0)
        work = useful / self.iteration
        self.left -= work
        self.attained = self.attained + now - last
        return now - last - useful, work


def states(workload: Workload) -> list[JobState]:
    """Return the jobs in the order of submission."""
    return [JobState(index, job) for index, job in enumerate(workload.jobs)]
