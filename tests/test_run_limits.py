"""Runs: seeds, time limits, Ctrl-C, numbers of threads that change."""

from __future__ import annotations

import os
import signal
from concurrent.futures import ThreadPoolExecutor

import pytest

import dlsched
from dlsched import Run
from dlsched.problems.reclaiming import Instance, Solution
from dlsched.results.result import Point, Status


def hard() -> Instance:
    """Return jobs on 4 random servers each, which take minutes to solve."""
    options = {"servers": 120, "gpus": 64, "jobs": 400, "demand": 40}
    return dlsched.generate("reclaiming", 0, scattered=4, **options)


def interrupt() -> None:
    """Send Ctrl-C to this process."""
    os.kill(os.getpid(), signal.SIGINT)


def test_interrupt_reaches_the_outer_run() -> None:
    """If a method calls `dlsched.solve`, Ctrl-C interrupts both runs."""

    def outer(instance: Instance, run: Run) -> Solution:
        def listen(point: Point) -> None:
            if point.objective is not None and not run.interrupted:
                interrupt()

        inner = dlsched.solve(instance, on_progress=listen)
        assert run.interrupted and isinstance(inner.solution, Solution)
        return inner.solution

    assert dlsched.solve(hard(), outer).status is Status.FEASIBLE


def test_handlers_of_interrupts() -> None:
    """A second Ctrl-C raises; the handler is restored after an error; what is ignored stays so."""
    run = Run()
    with pytest.raises(KeyboardInterrupt), run.interruptible():
        interrupt()
        interrupt()
    assert run.interrupted
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(ZeroDivisionError), Run().interruptible():
        raise ZeroDivisionError
    assert signal.getsignal(signal.SIGINT) is before
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        run = Run()
        with run.interruptible():
            interrupt()
        assert not run.interrupted
        assert signal.getsignal(signal.SIGINT) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


def test_other_threads_than_the_main_one() -> None:
    """Outside the main thread, which receives no signals, results are the same."""
    instance = dlsched.generate("reclaiming", servers=20, demand=6)
    here = dlsched.solve(instance).objective
    with ThreadPoolExecutor(3) as pool:
        answers = list(pool.map(lambda _: dlsched.solve(instance).objective, range(6)))
    assert answers == [here] * 6
