"""The work of each stretch, what is lost, and that a job is complete exactly when it is done."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from dlsched.simulation.audit.findings import at
from dlsched.simulation.audit.holdings import Held
from dlsched.simulation.audit.record import Record, Stretch
from dlsched.simulation.log import Ending


def check_work(record: Record, held: list[list[Held]]) -> None:
    """Check work, loss and completion of all jobs."""
    for j, stretches in enumerate(held):
        total = record.jobs[j].work_ticks
        remaining = total
        for entry in stretches:
            stretch = entry.stretch
            _check_stretch(record, stretch, remaining)
            before = remaining
            remaining -= stretch.work
            lost = 0
            if stretch.ending is Ending.PREEMPTED and not record.jobs[j].checkpoints:
                lost = total - remaining
            if stretch.lost != lost:
                message = (
                    f"job {record.name(j)} loses {stretch.lost} of its work at {at(stretch.end)}; "
                    f"it is {lost}"
                )
                record.wrong("lost", stretch, message, abs(stretch.lost - lost))
            remaining += stretch.lost
            if stretch.ending is Ending.COMPLETED and remaining:
                message = (
                    f"job {record.name(j)} is complete at {at(stretch.end)}; of its work of "
                    f"{total} there were {before} left, and {stretch.work} is done then"
                )
                record.wrong("unfinished", stretch, message, abs(remaining))


def _check_stretch(record: Record, stretch: Stretch, left: int) -> None:
    """The work is the floor of time times speed, and the rest in a job's last stretch."""
    time = stretch.end - stretch.start - stretch.overhead
    speed: Fraction = stretch.speed
    work = max(0, time) * speed.numerator // speed.denominator
    needed = None if not speed else -(-left * speed.denominator // speed.numerator)
    name = record.name(stretch.job)
    completed = stretch.ending is Ending.COMPLETED
    if completed:
        if needed is None or time < needed:
            message = (
                f"job {name} is complete at {at(stretch.end)}; in {at(time)} at speed {speed} it "
                f"does {work} of the {left} that were left"
            )
            record.wrong("unfinished", stretch, message, abs(left - work))
        work = min(work, left)
    # A job whose work is done is complete at once: another stretch ends before that.
    if needed is not None and time >= (needed + 1 if completed else max(1, needed)):
        message = (
            f"job {name} is done at {at(stretch.start + stretch.overhead + needed)}, but runs on "
            f"until {at(stretch.end)}"
        )
        record.wrong("late", stretch, message, time - needed)
        work = min(work, left)
    if stretch.work != work:
        _wrong_work(record, stretch, time, work)


def _wrong_work(record: Record, stretch: Stretch, time: Any, work: Any) -> None:
    message = (
        f"job {record.name(stretch.job)} does {stretch.work} from {at(stretch.start)} to "
        f"{at(stretch.end)}; {at(time)} at speed {stretch.speed} are {work}"
    )
    record.wrong("work", stretch, message, abs(stretch.work - work))
