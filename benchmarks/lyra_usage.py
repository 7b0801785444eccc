"""GPU time that the jobs of one of Lyra's simulations hold, by cluster."""

import json
from collections import defaultdict

import numpy as np

from dlsched.simulation import Simulation
from dlsched.simulation.workload.cluster import LOAN
from dlsched.simulation.workload.generators import inference_load

DAY = 86_400
TICKS = 1_000_000


def usage(
    run: Simulation, days: float, training: int, inference: int, seed: int
) -> dict[str, float]:
    """Return shares of GPU time held, in %, in the days of arrivals.

    Of training, of what is lent, of the servers on loan that hold a job at the time, of those on
    the day when it is least, and of both clusters together: inference requests use what the load
    says, and a job on loan what it holds of its servers. A server that is to go back counts as lent
    until the loan falls.
    """
    end = days * DAY * TICKS
    held = {"t": 0.0, "i": 0.0}
    spans: dict[str, list[tuple[float, float, int]]] = defaultdict(list)
    for row in run.log.rows("segments"):
        start, stop = row[1], min(row[2], end)
        if stop <= start:
            continue
        for server, gpus, *_ in json.loads(row[4]):
            held[server[0]] += (stop - start) * gpus
            if server[0] == "i":
                spans[server].append((start, stop, gpus))
    loans = run.cluster.loans
    size = next((s.gpus for s in run.cluster.servers if s.pool == LOAN), 1)
    lent = 0.0
    changes = [float(loan.time) * TICKS for loan in loans]
    for start, stop, loan in zip(changes, [*changes[1:], end], loans, strict=False):
        lent += max(0.0, min(stop, end) - start) * loan.servers * size
    borrowed, used = _by_day(spans, days, size)
    requests = float(inference_load(days, seed=seed).mean())
    both = held["t"] / (8 * end) + held["i"] / (size * end) + requests * inference
    least = min((used[borrowed > 0] / borrowed[borrowed > 0]).tolist(), default=0)
    return {
        "training in use, %": 100 * held["t"] / (8 * training * end),
        "loan in use, %": 100 * held["i"] / lent if lent else 0.0,
        "borrowed in use, %": 100 * float(used.sum() / borrowed.sum()) if borrowed.sum() else 0.0,
        "borrowed in use on the least day, %": 100 * least,
        "both in use, %": 100 * both / (training + inference),
    }


def _by_day(
    spans: dict[str, list[tuple[float, float, int]]], days: float, size: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return by day the GPU time of servers on loan while they hold a job, and what jobs hold."""
    borrowed, used = np.zeros(max(1, round(days))), np.zeros(max(1, round(days)))

    def add(total: np.ndarray, start: float, stop: float, gpus: int) -> None:
        for day in range(len(total)):
            first, last = day * DAY * TICKS, (day + 1) * DAY * TICKS
            total[day] += gpus * max(0.0, min(stop, last) - max(start, first))

    for rows in spans.values():
        covered = 0.0
        for start, stop, gpus in sorted(rows):
            add(used, start, stop, gpus)
            if stop > covered:
                add(borrowed, max(start, covered), stop, size)
                covered = stop
    return borrowed, used
