"""A small simulator that shares no code with the library's: slow, and easy to see through.

Times are fractions of seconds. Jobs run at speed 1 on as many GPUs as they ask for, wherever these
are; only how many are free matters. Every rule is that of the policy's docstring.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction

Time = Fraction
ZERO = Time(0)


@dataclass
class Task:
    """A job: what it asks for, and what has become of it."""

    number: int
    submit: Time
    gpus: int
    left: Time
    restart: Time
    total: Time
    checkpoints: bool = True
    service: Time = ZERO
    runs: bool = False
    ready: Time = ZERO
    end: Time | None = None
    preemptions: int = 0
    held: list[tuple[Time, Time]] = field(default_factory=list)
    """From when to when it held its GPUs, one entry per piece of time."""

    def pass_time(self, start: Time, end: Time) -> None:
        """Hold the GPUs from a time to another, and work after the restart overhead."""
        if not self.runs:
            return
        if end > start:
            self.held.append((start, end))
        self.service += (end - start) * self.gpus
        self.left -= max(Time(0), end - max(start, self.ready))


Key = Callable[[Task], tuple[Time, int]]

KEYS: dict[str, Key] = {
    "fifo": lambda task: (task.submit, task.number),
    "srtf": lambda task: (task.left, task.number),
    "srsf": lambda task: (task.left * task.gpus, task.number),
    "las": lambda task: (task.service, task.number),
    "tiresias": lambda task: (Time((task.service >= 3250) + (task.service >= 7200)), task.number),
}


def choose(policy: str, tasks: list[Task], gpus: int) -> list[Task]:
    """Return the jobs that run from now on."""
    order = sorted(tasks, key=KEYS[policy])
    if policy == "fifo":
        # Without preemption; the first that does not fit stops those behind it.
        order = [task for task in order if task.runs] + [task for task in order if not task.runs]
    chosen = []
    for task in order:
        if task.gpus <= gpus:
            chosen.append(task)
            gpus -= task.gpus
        elif policy == "fifo":
            break
    return chosen


def next_time(policy: str, now: Time, tasks: list[Task], present: list[Task]) -> Time:
    """Return when something happens next: an arrival, an end, a round, a limit reached."""
    times = [task.submit for task in tasks if task.submit > now and task.end is None]
    times += [max(now, task.ready) + task.left for task in present if task.runs]
    if policy == "las":
        first = min((task.submit for task in tasks if task.end is None), default=now)
        start = now if present else first
        round_ = -(-start // 300) * 300
        times.append(Time(round_ if round_ > now else round_ + 300))
    if policy == "tiresias":
        for task in present:
            limit = next((limit for limit in (3250, 7200) if task.service < limit), None)
            if task.runs and limit is not None:
                # The clock has whole microseconds.
                wait = -((task.service - limit) * 10**6 // task.gpus)
                times.append(now + Time(wait, 10**6))
    return min(times)


def simulate(policy: str, tasks: list[Task], gpus: int) -> int:
    """Simulate until all jobs have ended; return the number of decisions."""
    now, decisions = Time(-1), 0
    while any(task.end is None for task in tasks):
        present = [task for task in tasks if task.submit <= now and task.end is None]
        later = next_time(policy, now, tasks, present)
        for task in present:
            task.pass_time(now, later)
        changed = any(task.submit == later for task in tasks)
        for task in present:
            if task.runs and task.left == 0 and task.ready <= later:
                task.end, task.runs, changed = later, False, True
        now = later
        decisions += decide(policy, tasks, gpus, now, changed)
    return decisions


def decide(policy: str, tasks: list[Task], gpus: int, now: Time, changed: bool) -> int:
    """Decide at a time, and again whenever a job without work or overhead ends at once."""
    count = 0
    due = now % 300 == 0 if policy == "las" else True
    while True:
        present = [task for task in tasks if task.submit <= now and task.end is None]
        if not present or not due:
            return count
        count += 1
        chosen = choose(policy, present, gpus)
        for task in present:
            if task.runs and task not in chosen:
                task.runs = False
                task.preemptions += 1
                task.left = task.left if task.checkpoints else task.total
            elif task in chosen and not task.runs:
                task.runs, task.ready = True, now + task.restart
        over = [task for task in chosen if task.left == 0 and task.ready <= now]
        if not over:
            return count
        for task in over:
            task.end, task.runs = now, False
        # Rounds alone decide under las; the others decide at completions.
        due = policy != "las"
