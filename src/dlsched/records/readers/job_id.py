"""Slurm's job ids: ``123``, ``123_4``, ``123_[5-9%2]``, ``123+0``, ``123.batch``.

::

    id    = number ("_" (number | "[" tasks ("%" number)? "]"))? ("+" number)? ("." step)?
    tasks = range ("," range)*
    range = number ("-" number (":" number)?)?

``_4`` is a task of an array, ``_[5-9%2]`` those of its tasks that have not started, of which two
may run at the same time; ``+0`` is a component of a heterogeneous job; ``.batch`` is a step.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from dlsched.errors import OptionError
from dlsched.schema import brief

_ID = re.compile(
    r"(\d{1,18})"
    r"(?:_(?:(\d{1,9})|\[([\d,\-:]+)(?:%(\d{1,9}))?\]))?"
    r"(?:\+(\d{1,9}))?"
    r"(?:\.(\S+))?",
    re.ASCII,
)
"""Number, task, open tasks, most at once, component, step."""
_RANGE = re.compile(r"(\d{1,9})(?:-(\d{1,9})(?::(\d{1,9}))?)?", re.ASCII)
_MOST_TASKS = 5_000_000


class JobId(NamedTuple):
    """The parts of a job's id.

    Attributes
    ----------
    number
        The job's number, or that of its array or heterogeneous job.
    tasks
        The tasks of the array that it is, or stands for; empty if it is no array.
    is_open
        Whether it stands for tasks that have not started.
    most
        How many of these may run at once; None if there is no limit.
    component
        Component of a heterogeneous job, from 0; None if it is none.
    step
        Name of the step; None for the job itself.
    """

    number: int
    tasks: tuple[int, ...] = ()
    is_open: bool = False
    most: int | None = None
    component: int | None = None
    step: str | None = None


def parse_job_id(text: str) -> JobId:
    """Return the parts of an id.

    Raises
    ------
    OptionError
        If it is none.
    """
    match = _ID.fullmatch(text)
    if match is None:
        raise OptionError(f"{brief(text)!r} is no job id of Slurm, as 123, 123_4 or 123_[5-9%2]")
    number, task, listed, most, component, step = match.groups()
    tasks = (int(task),) if task is not None else _tasks(listed, text) if listed else ()
    return JobId(int(number), tasks, listed is not None, _int(most), _int(component), step)


def _int(digits: str | None) -> int | None:
    return None if digits is None else int(digits)


def _tasks(listed: str, text: str) -> tuple[int, ...]:
    tasks: list[int] = []
    for entry in listed.split(","):
        match = _RANGE.fullmatch(entry)
        first, last, step = match.groups() if match else ("1", "0", None)
        span = range(int(first), int(last or first) + 1, int(step or 1) or 1)
        if not span or len(span) > _MOST_TASKS:
            raise OptionError(f"{brief(text)!r} lists no tasks of an array, as 123_[5-9%2]")
        tasks += span
    return tuple(tasks)
