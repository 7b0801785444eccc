"""One run of a method: its limits, its seed, its progress, and the solvers that it used."""

from __future__ import annotations

import numbers
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType

import numpy as np

from dlsched.errors import OptionError
from dlsched.result import Point, Termination
from dlsched.schema import Solution


@dataclass
class Run:
    """What a method may use and must respect; the second argument of methods that ask for ``run``.

    Attributes
    ----------
    time_limit
        Wall-clock seconds for everything, building included; ``None`` for no limit.
    gap
        Relative gap at which a proof is good enough.
    threads, seed, solver, log
        As given to `dlsched.solve`. The same seed gives the same answer on one thread.
    start
        A checked solution to start from, or ``None``.
    rng
        Seeded generator.
    trajectory
        The points recorded so far.
    solvers
        The solvers that were called so far, with their versions.
    """

    time_limit: float | None = None
    gap: float = 0.0
    threads: int = 1
    seed: int = 0
    solver: str = "highs"
    start: Solution | None = None
    log: bool = False
    on_progress: Callable[[Point], None] | None = None
    trajectory: list[Point] = field(default_factory=list)
    solvers: dict[str, str | None] = field(default_factory=dict)
    interrupted: bool = False
    began: float = field(default_factory=time.perf_counter)

    def __post_init__(self) -> None:
        """Seed the generator.

        Raises
        ------
        OptionError
            If the seed is not a whole number from 0.
        """
        if not isinstance(self.seed, numbers.Integral) or self.seed < 0:
            raise OptionError(f"seed={self.seed!r} must be a whole number from 0")
        self.seed = int(self.seed)
        self.rng: np.random.Generator = np.random.default_rng(self.seed)

    def elapsed(self) -> float:
        """Seconds since the run began."""
        return time.perf_counter() - self.began

    def remaining(self) -> float:
        """Seconds left; infinite without a limit, never below 0."""
        if self.time_limit is None:
            return float("inf")
        return max(0.0, self.time_limit - self.elapsed())

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Do not count the time of the block against the run."""
        paused = time.perf_counter()
        try:
            yield
        finally:
            self.began += time.perf_counter() - paused

    def stop_reason(self) -> Termination | None:
        """Return why to stop now, ``INTERRUPTED`` or ``TIME_LIMIT``; ``None`` to go on."""
        if self.interrupted:
            return Termination.INTERRUPTED
        return Termination.TIME_LIMIT if self.remaining() == 0 else None

    def record_solver(self, name: str, version: str | None) -> None:
        """State that a solver was called; the result names the one asked for, else the first."""
        self.solvers.setdefault(name, version)

    def record(self, objective: float | None, bound: float | None) -> None:
        """Add a point to the trajectory and pass it to the listener."""
        point = Point(self.elapsed(), objective, bound)
        self.trajectory.append(point)
        if self.on_progress:
            self.on_progress(point)

    def nested(self, seconds: float = float("inf"), gap: float = 0.0) -> Run:
        """Return a run for a part of the work: it ends after so many seconds, and with this one.

        It has the same seed and is interrupted with this one; it has a gap of its own, and its
        progress is not reported.
        """
        return _Nested(self, seconds, gap)

    @contextmanager
    def interruptible(self) -> Iterator[None]:
        """Turn the first Ctrl-C into ``interrupted``; a second one raises as usual.

        Python delivers signals to the main thread only; elsewhere this does nothing, nor where the
        process was told to ignore Ctrl-C. A method that calls `dlsched.solve` is told as well.
        """
        before = signal.getsignal(signal.SIGINT)
        main = threading.current_thread() is threading.main_thread()
        if not main or before in (signal.SIG_IGN, None):
            yield
            return

        def note(number: int, frame: FrameType | None) -> None:
            if self.interrupted:
                raise KeyboardInterrupt
            self.interrupted = True
            if callable(before) and hasattr(before, "run"):
                before(number, frame)

        note.run = self  # type: ignore[attr-defined]
        signal.signal(signal.SIGINT, note)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)


class _Nested(Run):
    def __init__(self, parent: Run, seconds: float, gap: float) -> None:
        self.parent = parent
        left = min(seconds, parent.remaining())
        limit = left if left < float("inf") else None
        super().__init__(limit, gap, parent.threads, parent.seed, parent.solver)
        self.solvers = parent.solvers

    @property
    def interrupted(self) -> bool:
        return self.parent.interrupted

    @interrupted.setter
    def interrupted(self, value: bool) -> None:
        """Ignore the dataclass's own False; a run is interrupted as a whole."""
