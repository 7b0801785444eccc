"""The progress of one job: what is done, what it holds, and when it will end; in whole ticks."""

from __future__ import annotations

from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any

from dlsched.schema import Number
from dlsched.simulation.engine.decision import Allocation, Share


@dataclass(slots=True)
class Progress:
    """The state of a job that was submitted and is not complete. Times are in microseconds.

    A stretch of time in which allocation and speed do not change does ``floor(time x speed)`` of
    work, so that work stays whole **(D)**: less than a microsecond is lost at each change.

    Attributes
    ----------
    left
        Work left when the present stretch began.
    attained, service
        Time that it held GPUs before the present stretch; the same times the GPUs held.
    since, working
        When the present stretch began, and when the job makes progress in it.
    version
        Counts stretches, so that a completion foreseen for an earlier one is known as outdated.
    least
        Least work that was left when a preemption lost what was done; all of it if none did.
    """

    left: int
    attained: int = 0
    service: int = 0
    since: int = 0
    working: int = 0
    version: int = 0
    first_start: int | None = None
    preemptions: int = 0
    allocation: Allocation | None = None
    speed: Fraction = Fraction(0)
    gpus: int = 0
    least: int = 0

    def done(self, now: int) -> int:
        """Return the work done in the present stretch."""
        if self.allocation is None or now <= self.working:
            return 0
        return min(self.left, (now - self.working) * self.speed.numerator // self.speed.denominator)

    def end(self) -> int | None:
        """Return when the job will be complete; None at speed 0."""
        if not self.speed:
            return None
        return self.working - (-self.left * self.speed.denominator // self.speed.numerator)

    def close(self, now: int) -> int:
        """End the present stretch, and return the work done in it."""
        work = self.done(now)
        self.left -= work
        self.attained += now - self.since
        self.service += (now - self.since) * self.gpus
        # What is left of an overhead is still to come in the next stretch.
        self.working = max(self.working, now)
        self.since = now
        self.version += 1
        return work

    def to_data(self) -> list[Any]:
        """Return the fields as JSON values."""
        return [_plain(getattr(self, field.name)) for field in fields(self)]

    @classmethod
    def from_data(cls, data: list[Any]) -> Progress:
        """Return the progress that `to_data` made the values of."""
        progress = cls(*data)
        progress.speed = Fraction(progress.speed)
        if progress.allocation is not None:
            shares, group, stated = progress.allocation
            progress.allocation = Allocation(tuple(map(_share, shares)), group, _exact(stated))
        return progress


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return list(map(_plain, value))
    return str(value) if isinstance(value, Fraction) else value


def _exact(value: Any) -> Number | None:
    return Fraction(value) if isinstance(value, str) else value


def _share(data: Any) -> Share:
    server, gpus, cpus, memory = data
    return Share(server, gpus, _exact(cpus), _exact(memory))
