"""The event loop that the policies of the published simulator share."""

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from operator import itemgetter

from dlsched.simulation.engine.decision import PolicyError
from published.muri.jobs import JobState
from published.muri.recorder import Held, Recorder

SAME = 1e-9
"""Times within this share of each other are one event, at the time of the first listed."""
_WINDOW = 1e-6
"""Ends that are later than the earliest by more than this share are in no event with it."""


class Policy(ABC):
    """What differs between the policies; the loop calls the methods in this order.

    Attributes
    ----------
    joins_ends
        Whether ends within `SAME` are one event; otherwise only exactly equal ones.
    arrival_slack
        Seconds within which the earliest end and the next arrival are one event, at the arrival's
        time (or within `SAME`); None if only exactly equal times are.
    cause
        What a decision at the time of `wake` is called in the log.
    """

    joins_ends = True
    arrival_slack: float | None = None
    cause = "round"

    def __init__(self) -> None:
        self.jobs: list[JobState] = []
        self.running: list[JobState] = []

    def leave(self, ended: Sequence[JobState]) -> None:
        """Take jobs off the list."""
        gone = {job.index for job in ended}
        self.jobs = [job for job in self.jobs if job.index not in gone]

    def arrive(self, job: JobState) -> None:
        """Append a job to the list."""
        self.jobs.append(job)

    def updated(self, job: JobState) -> None:  # noqa: B027 (not all policies have a key)
        """Update the sort key of a job that has run through an event."""

    @abstractmethod
    def decide(self, now: float) -> dict[int, Held]:
        """Choose what runs; set `running`, in the order of the list, and return what they hold."""

    def wake(self, now: float) -> float:
        """Return the time of a further event before which no job ends or arrives."""
        return math.inf


def replay(
    jobs: Sequence[JobState],
    policy: Policy,
    recorder: Recorder,
) -> float:
    """Run the jobs to their ends; return the time of the last event.

    Raises
    ------
    PolicyError
        If jobs wait that fit nowhere.
    """
    arrivals = _arrivals(jobs)
    passed = 0
    completed = 0
    last = 0.0
    end = math.inf
    due: list[JobState] = []
    wake = math.inf
    while completed < len(jobs):
        arrival, arriving = arrivals[passed] if passed < len(arrivals) else (math.inf, [])
        # Where nothing runs, a round decides as the one before.
        if end == arrival == math.inf:
            raise PolicyError(
                f"{len(policy.jobs)} jobs wait and none can run; give the cluster larger servers"
            )
        together = end == arrival or _near(end, arrival, policy.arrival_slack)
        now = arrival if together else min(end, arrival)
        ended = due if together or end < arrival else []
        arrived = arriving if together or arrival < end else []
        if now > wake:
            now = wake
            ended = []
            arrived = []
        for job in ended:
            recorder.complete_all(job, now)
            job.running = False
        if ended:
            policy.leave(ended)
            completed += len(ended)
        for job in arrived:
            policy.arrive(job)
        passed += bool(arrived)
        for job in policy.running:
            if job.running:
                recorder.progress(job, *job.advance(now, last))
                policy.updated(job)
        waiting = len(policy.jobs) - len(policy.running) + len(ended)
        began = time.perf_counter()
        held = policy.decide(now)
        seconds = time.perf_counter() - began
        cause = "+".join(["completion"] * bool(ended) + ["arrival"] * bool(arrived)) or policy.cause
        recorder.record(now, cause, waiting, held, seconds)
        last = now
        ends = [(now + job.left * job.iteration, job) for job in policy.running]
        end, due = _first(ends, SAME if policy.joins_ends else 0.0)
        wake = policy.wake(now)
    return last


def _near(end: float, arrival: float, slack: float | None) -> bool:
    """Return whether an end and an arrival are one event."""
    if slack is None or math.inf in (end, arrival):
        return False
    return math.isclose(end, arrival, rel_tol=SAME, abs_tol=slack)


def _arrivals(jobs: Sequence[JobState]) -> list[tuple[float, list[JobState]]]:
    """Return the arrivals by time, each at the time of its first job; `jobs` are in that order."""
    events: list[tuple[float, list[JobState]]] = []
    for job in jobs:
        if events and math.isclose(events[-1][0], job.submit, rel_tol=SAME):
            events[-1][1].append(job)
        else:
            events.append((job.submit, [job]))
    return events


def _first(ends: list[tuple[float, JobState]], share: float) -> tuple[float, list[JobState]]:
    """Return the earliest of the events that jobs' ends form.

    An end joins the first listed event that is near; an event has the time of its first job.
    """
    if not ends:
        return math.inf, []
    earliest = min(end for end, _ in ends)
    if not share:
        return earliest, [job for end, job in ends if end == earliest]
    events: list[tuple[float, list[JobState]]] = []
    for end, job in ends:
        if end > earliest * (1 + _WINDOW):
            continue
        for first, due in events:
            if math.isclose(first, end, rel_tol=share):
                due.append(job)
                break
        else:
            events.append((end, [job]))
    return min(events, key=itemgetter(0))
