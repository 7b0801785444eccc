"""How well ``time_limit=1`` and Ctrl-C hold: wall-clock seconds of one call, as a table.

Run ``python benchmarks/limits.py``. Every job sits on 4 servers drawn at random, which no solver
proves within minutes; the last rows are as large as instances come.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from fractions import Fraction

import dlsched
from dlsched.schema import Instance


def hard(servers: int, jobs: int, demand: int, weights: tuple[str, ...] = ("1",)) -> Instance:
    """Return jobs with a base worker of 1 GPU on each of 4 random servers."""
    made = dlsched.generate(
        "reclaiming", 0, servers=servers, gpus=64, jobs=jobs, demand=demand, scattered=4
    )
    weighted = [
        job.model_copy(update={"weight": Fraction(weights[j % len(weights)])})
        for j, job in enumerate(made.jobs)
    ]
    return made.model_copy(update={"jobs": tuple(weighted)})


def timed(instance: Instance, interrupt: bool) -> str:
    """Solve with a limit of a second, or with a Ctrl-C after one, and return a line."""
    timer = threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT))
    began = time.perf_counter()
    if interrupt:
        timer.start()
    result = dlsched.solve(instance, time_limit=None if interrupt else 1.0)
    seconds = time.perf_counter() - began
    timer.cancel()
    size = f"{len(instance.servers)} servers, {len(instance.jobs)} jobs"
    bound = result.bound[0] and float(result.bound[0].value)
    how = "Ctrl-C" if interrupt else "limit"
    return (
        f"{size:28} {how:8} {seconds:8.2f} {result.seconds.build:8.2f}  {result.status!s:12} "
        f"{result.objective and float(result.objective[0])!s:>9} {bound!s:>9}"
    )


def main() -> None:
    """Print the table."""
    dlsched.solve(hard(8, 8, 2))  # import everything
    print(
        f"{'instance':28} {'stopped':8} {'seconds':>8} {'build':>8}  "
        f"{'status':12} {'objective':>9} {'bound':>9}"
    )
    for servers, jobs, demand, weights in (
        (120, 400, 40, ("1",)),
        (120, 400, 40, ("0.3", "0.7", "1.25")),
        (520, 2000, 130, ("1",)),
        (1000, 4000, 300, ("1",)),
        (5000, 7000, 500, ("1",)),
        (5000, 7000, 500, ("0.3", "0.7")),
    ):
        instance = hard(servers, jobs, demand, weights)
        for interrupt in (False, True):
            print(timed(instance, interrupt), flush=True)


if __name__ == "__main__":
    main()
