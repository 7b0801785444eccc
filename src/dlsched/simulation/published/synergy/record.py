"""The log of Synergy's public simulator: one segment for rounds in which nothing changes."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TypeAlias

from dlsched.simulation.log import DecisionRow, Ending, Log, Segment
from dlsched.simulation.published.synergy.jobs import SimulatedJob

Held: TypeAlias = tuple[tuple[tuple[int, int], ...], float, float, int]
"""GPUs by server, CPUs and memory in total, iterations per round."""


@dataclass(slots=True)
class _Open:
    """A segment that may go on: what the job holds, its iterations per round, and its start."""

    held: Held
    gpus: int
    start: float
    work: int = 0

    @property
    def iterations(self) -> int:
        return self.held[-1]


class Record:
    """Writes segments, completions and decisions.

    Work is in iterations. A job does the same whole number of them in every round of a segment, so
    that its speed is that number over the seconds of a round, as a fraction. In a job's last round
    what is left takes less; the rest of the round counts as overhead.

    Parameters
    ----------
    servers
        Names of the servers, in order.
    interval
        Seconds of a round.
    pooled
        Whether shares are of GPUs alone, as the mechanism gives no CPUs and memory on servers.
    """

    def __init__(self, log: Log, servers: list[str], interval: int, pooled: bool) -> None:
        self.log, self.servers, self.interval, self.pooled = log, servers, interval, pooled
        self.running: dict[int, _Open] = {}
        self.decisions = 0

    def round(
        self, time: float, waiting: int, jobs: list[SimulatedJob], seconds: float, solved: str
    ) -> None:
        """Log a decision: these jobs run from now on, all others wait."""
        before = set(self.running)
        now = {job.index: job for job in jobs}
        stopped = before - set(now)
        for index in sorted(stopped):
            self._close(index, time, Ending.PREEMPTED)
        started = 0
        for index, job in now.items():
            iterations = job.progress(self.interval)
            held = (tuple(job.shares.items()), job.cpus, job.memory, iterations)
            known = self.running.get(index)
            if known is not None and known.held == held:
                continue
            if known is not None:
                self._close(index, time, Ending.CHANGED)
            self.running[index] = _Open(held, job.gpus, time)
            started += 1
        counts = (waiting, len(before), started, len(stopped))
        self.log.add("timings", (self.decisions, seconds))
        self.log.add("decisions", tuple(DecisionRow(time, "round", *counts, solved)))
        self.decisions += 1

    def work(self, index: int, iterations: int) -> None:
        """Add what a job did in the round."""
        self.running[index].work += iterations

    def complete(self, job: SimulatedJob, time: float) -> None:
        """Log the end of a job."""
        self._close(job.index, time, Ending.COMPLETED)
        self.log.add("completions", (job.index, time))

    def _shares(self, known: _Open) -> str:
        rows: list[list[object]] = []
        shares, cpus, memory, _ = known.held
        for s, count in shares:
            amounts = [cpus * count / known.gpus, memory * count / known.gpus]
            rows.append([self.servers[s], count, *([] if self.pooled else amounts)])
        return json.dumps(rows)

    def _close(self, index: int, time: float, ending: Ending) -> None:
        known = self.running.pop(index)
        rounds = round((time - known.start) / self.interval)
        idle = 0.0
        if known.work < rounds * known.iterations:
            idle = time - known.start - known.work * self.interval / known.iterations
        speed = f"{known.iterations}/{self.interval}"
        self.log.add(
            "segments",
            tuple(
                Segment(
                    index, known.start, time, known.gpus, self._shares(known), None, speed, idle,
                    known.work, 0, ending,
                )
            ),
        )  # fmt: skip
