"""Which jobs run in the order of a key, found without going through that order job by job.

The running jobs are sorted, the waiting ones are in lines by their number of GPUs, and only those
whose turn changes something are looked at: each job in turn runs if it fits what is left.
"""

from bisect import bisect_left, insort
from heapq import merge
from itertools import repeat

from dlsched.simulation.engine.jobs import Arrays, Entry, LinesByGpus, Vector


class _Running:
    """The running jobs in order, with the GPUs that they hold.

    Attributes
    ----------
    total
        GPUs of each job and of all before it.
    limit
        The value of `total` up to which all running jobs whose turn is to come fit: it falls by the
        GPUs of a job that starts, and rises by those of one that stops, which `total` still counts.
    slack
        GPUs left if all whose turn is to come run on; negative if they do not all fit.
    """

    def __init__(self, jobs: Arrays, keys: Vector, room: int) -> None:
        order = keys.argsort(kind="stable")
        self.jobs, self.keys = jobs.job[order], keys[order]
        self.total = jobs.gpus[order].cumsum()
        held = int(self.total[-1]) if len(order) else 0
        self.limit, self.slack = held + room, room
        self.last: Entry | None = self.entry(-1) if len(order) else None

    def entry(self, i: int) -> Entry:
        return self.keys[i].item(), int(self.jobs[i])

    def has_room(self, gpus: int, entry: Entry) -> bool:
        """Return whether a waiting job fits, if no other one starts or stops before it."""
        if gpus <= self.slack:
            return True
        if self.last is None or entry > self.last or gpus > self.limit:
            return False
        return entry < self.entry(int(self.total.searchsorted(self.limit - gpus, "right")))

    def take(self, gpus: int) -> None:
        """Take the GPUs of a job that starts; those of one that stops are negative."""
        self.limit -= gpus
        self.slack -= gpus

    def excess(self) -> int:
        """Return the place of the next job that does not fit, if no other one starts before it."""
        return int(self.total.searchsorted(self.limit, "right"))

    def stop(self, place: int) -> int:
        """Give back the GPUs of a job at a place; return its position in the workload."""
        self.take(int(self.total[place - 1] if place else 0) - int(self.total[place]))
        return int(self.jobs[place])


class _Queue:
    """The first job of each line that may still start, with its GPUs; least first.

    Of a line only the first job may fit: those behind it ask for as many GPUs, and by their turn no
    more are left. So may no job of a line whose first job's turn is over.
    """

    def __init__(self, lines: LinesByGpus) -> None:
        self._rest = {gpus: iter(line) for gpus, line in lines.items()}
        self.heads: list[tuple[Entry, int]] = sorted((next(r), g) for g, r in self._rest.items())

    def pop(self, i: int) -> None:
        """Remove the i-th head, and the lines of those before it: their turn is over."""
        gpus = self.heads[i][1]
        del self.heads[: i + 1]
        entry = next(self._rest[gpus], None)
        if entry is not None:
            insort(self.heads, (entry, gpus))

    def pass_over(self, turn: Entry) -> None:
        """Remove the lines whose first job comes before a turn."""
        del self.heads[: bisect_left(self.heads, (turn, 0))]


def choose(
    running: Arrays, keys: Vector, lines: LinesByGpus, room: int
) -> tuple[list[int], list[int]]:
    """Return the waiting jobs that start, in order, and the running ones that stop, ascending.

    Both are positions in the workload. Jobs that do not fit are skipped.

    Parameters
    ----------
    running, keys
        The jobs that may be stopped, in the order of submission, and their keys.
    lines
        The jobs that wait.
    room
        Free GPUs beside those that `running` hold.
    """
    queue = _Queue(lines)
    ahead = len(keys) and queue.heads and queue.heads[0][0][0] <= keys.max()
    if not ahead and min(lines, default=room + 1) > room:
        return [], []
    order = _Running(running, keys, room)
    start: list[int] = []
    stop: list[int] = []
    while True:
        for i, (entry, gpus) in enumerate(queue.heads):
            if order.has_room(gpus, entry):
                order.take(gpus)
                start.append(entry[1])
                queue.pop(i)
                break
        else:
            if order.slack >= 0:
                return start, sorted(stop)
            place = order.excess()
            queue.pass_over(order.entry(place))
            stop.append(order.stop(place))


def first_that_fit(lines: LinesByGpus, room: int) -> list[int]:
    """Return the waiting jobs that start if nothing does behind one that does not fit, in order."""
    start: list[int] = []
    for (_, job), gpus in merge(*(zip(line, repeat(gpus)) for gpus, line in lines.items())):
        if gpus > room:
            break
        start.append(job)
        room -= gpus
    return start
