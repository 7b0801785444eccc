"""The context of one run of a method: limits, seed, progress, and the solvers called.

What happens during a call of `dlsched.solve` is announced to two listeners: ``on_stage`` is told
what is being done (`Stage`), ``on_progress`` how far the search is (`Point`). Both are also logged
at level INFO by the logger ``dlsched.run``.
"""

from __future__ import annotations

import logging
import math
import numbers
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from types import FrameType
from typing import Any, ClassVar, NamedTuple, TypeAlias

import numpy as np

from dlsched.errors import OptionError, spelled
from dlsched.results.objective import Bound, relative_gap
from dlsched.results.result import Point, Report, Termination
from dlsched.schema.solution import Solution
from dlsched.text.figures import display, percent

logger = logging.getLogger(__name__)

LOG_SECONDS = 1.0
"""Points of a search are logged only if at least this many seconds lie between them."""


class Stage(StrEnum):
    """What a call of `dlsched.solve` is doing; each may be announced more than once."""

    LOADING = "loading"
    """Reading the instance, importing the method and the libraries that it uses."""
    BUILDING = "building"
    """Building a model, or the tables that a method works on."""
    SEARCHING = "searching"
    """Running the method or a solver; the detail names the method or the level."""
    CHECKING = "checking"
    """Checking the answer by the problem's definition."""


class StageEvent(NamedTuple):
    """The beginning of a stage; ``detail`` says in words what is loaded, built or searched."""

    stage: Stage
    detail: str


StageListener: TypeAlias = Callable[[StageEvent], None]


def announce(listener: StageListener | None, stage: Stage, detail: str) -> None:
    """Log the beginning of a stage, and tell the listener if there is one."""
    logger.info("%s %s", stage, detail, extra={"stage": str(stage)})
    if listener is not None:
        listener(StageEvent(stage, detail))


def validated_seed(seed: Any) -> int:
    """Return a seed; raise `OptionError` unless it is a whole number from 0 below 2**128."""
    whole = isinstance(seed, numbers.Integral) and not isinstance(seed, bool)
    number = int(seed) if whole else -1
    if not 0 <= number < 2**128:
        raise OptionError(f"seed={spelled(seed)} must be a whole number from 0, below 2**128")
    return number


def is_usable(value: object) -> bool:
    """Whether a value is not NaN, nor a finite number so large that no double is near it."""
    if not isinstance(value, numbers.Real):
        return True
    size: Any = abs(value)
    return bool(size <= sys.float_info.max or size == math.inf)


@dataclass
class Run:
    """Limits and services for a method whose second parameter is ``run``.

    Nothing interrupts a method: it asks `stop_reason` from time to time. Solvers are told what
    remains by `solvers.session` and `solvers.backend`, scipy's by
    `problems.elastic.programs.lagrangian`, cvxpy's by
    `problems.sensitivity.programs.cvxpy_reference`. Only sweeps end a process
    (`sweeps.worker_process`).

    Attributes
    ----------
    interrupts
        How many runs of this process Ctrl-C has ended.
    time_limit
        Wall-clock seconds for the whole run, building included; ``None`` for no limit.
    gap
        Relative gap within which a solution counts as optimal.
    threads, seed, solver, log
        As given to `dlsched.solve`. The same seed gives the same answer on one thread.
    start
        A checked solution to start from, or ``None``.
    check
        The problem's definition, if the method may look whether a solution is feasible.
    known, found
        The best checked solution of the problem's heuristics, found in the run's time, or ``None``;
        all of them, in the order in which they were found.
    known_bounds
        By level the bounds that came with these, or from the problem's bound method.
    on_progress, on_stage
        Listeners: called with each `Point` and with each `StageEvent`, or ``None``.
    rng
        Random generator with this seed.
    solver_options, options_used
        What the caller passes to the solver of the whole model, by the solver's own names; whether
        it was passed to one.
    trajectory, solvers
        The points recorded so far; the versions of the solvers called so far, by name.
    spent
        Seconds by stage, where a problem's exact method is called; see `solvers.division`.
    """

    interrupts: ClassVar[int] = 0
    time_limit: float | None = None
    gap: float = 0.0
    threads: int = 1
    seed: int = 0
    solver: str = "highs"
    start: Solution | None = None
    log: bool = False
    on_progress: Callable[[Point], None] | None = None
    on_stage: StageListener | None = None
    trajectory: list[Point] = field(default_factory=list, repr=False)
    solvers: dict[str, str | None] = field(default_factory=dict)
    interrupted: bool = False
    known: Solution | None = None
    found: Sequence[Solution] = ()
    known_bounds: Sequence[Sequence[Bound]] = ()
    began: float = field(default_factory=lambda: time.perf_counter())  # noqa: PLW0108 - tests replace `time`
    check: Callable[[Any, Any], Report] | None = field(default=None, repr=False)
    solver_options: Mapping[str, Any] = field(default_factory=dict)
    options_used: bool = False
    spent: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Seed the generator; raise `OptionError` if the seed is not an integer from 0."""
        self.seed = validated_seed(self.seed)
        self.rng: np.random.Generator = np.random.default_rng(self.seed)
        self._logged: Point | None = None
        self._built: float = 0.0
        self._building: float | None = None

    def elapsed(self) -> float:
        """Seconds since the run began."""
        return time.perf_counter() - self.began

    def remaining(self) -> float:
        """Seconds left; infinite without a limit, never below 0."""
        if self.time_limit is None:
            return float("inf")
        return max(0.0, self.time_limit - self.elapsed())

    @property
    def built(self) -> float:
        """Seconds of the stages that were announced as building."""
        return self._built + (0.0 if self._building is None else self.elapsed() - self._building)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Exclude the time of the block from the run."""
        paused = time.perf_counter()
        try:
            yield
        finally:
            self.began += time.perf_counter() - paused

    @contextmanager
    def limits_kept(self) -> Iterator[None]:
        """Undo what the block changes of limits, seed and clock: results state those asked for."""
        asked = self.time_limit, self.gap, self.threads, self.seed, self.solver, self.began
        try:
            yield
        finally:
            self.time_limit, self.gap, self.threads, self.seed, self.solver, self.began = asked

    def stop_reason(self) -> Termination | None:
        """Return ``INTERRUPTED`` or ``TIME_LIMIT`` if the method must stop now, else ``None``."""
        if self.interrupted:
            return Termination.INTERRUPTED
        return Termination.TIME_LIMIT if self.remaining() == 0 else None

    def record_solver(self, name: str, version: str | None) -> None:
        """Record a call of a solver. The result names the one asked for, otherwise the first."""
        self.solvers.setdefault(name, version)

    def announce(self, stage: Stage, detail: str) -> None:
        """Announce the beginning of a stage to the log and to ``on_stage``."""
        self._logged = None
        self._built = self.built
        self._building = self.elapsed() if stage is Stage.BUILDING else None
        announce(self.on_stage, stage, detail)

    def record(self, objective: float | None, bound: float | None) -> None:
        """Add a point to the trajectory, log it, and pass it to ``on_progress``.

        Solvers say with infinities that there is none yet; a value that is not finite is ``None``.
        """
        point = Point(self.elapsed(), _finite(objective), _finite(bound))
        self.trajectory.append(point)
        self._log(point)
        if self.on_progress:
            self.on_progress(point)

    def _log(self, point: Point) -> None:
        """Log a point unless another one of the stage was logged less than a second before."""
        last = self._logged
        if last is not None and point.seconds < last.seconds + LOG_SECONDS:
            return
        self._logged = point
        extra = {"stage": str(Stage.SEARCHING), "point": point}
        logger.info("searching: %s", describe_point(point), extra=extra)

    def nested(self, seconds: float = float("inf"), gap: float = 0.0, least: float = 0.0) -> Run:
        """Return a run for a subproblem: a new limit within this one's, and another gap.

        Seed, solver and interrupts are this run's. Its stages and progress are not reported.

        Parameters
        ----------
        least
            Seconds that the subproblem has even if less is left, where this run has a limit.
        """
        return _Nested(self, seconds, gap, least)

    @contextmanager
    def interruptible(self) -> Iterator[None]:
        """Set ``interrupted`` at the first Ctrl-C; a second one raises `KeyboardInterrupt`.

        It does nothing outside the main thread, where Python delivers no signals, or if the process
        ignores Ctrl-C. If runs are nested through `dlsched.solve`, all of them are interrupted.
        """
        before = signal.getsignal(signal.SIGINT)
        main = threading.current_thread() is threading.main_thread()
        if not main or before in (signal.SIG_IGN, None):
            yield
            return
        signal.signal(signal.SIGINT, _Handler(self, before))
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)


@dataclass(frozen=True)
class _Handler:
    """Handles Ctrl-C for a run and for the runs that it is nested in.

    Its ``repr`` is short: `signal.signal` computes that of the handler which it replaces.
    """

    run: Run = field(repr=False)
    before: object = field(repr=False)

    def __call__(self, number: int, frame: FrameType | None) -> None:
        if self.run.interrupted:
            raise KeyboardInterrupt
        Run.interrupts += 1
        self.run.interrupted = True
        if isinstance(self.before, _Handler):
            self.before(number, frame)


class _Nested(Run):
    def __init__(self, parent: Run, seconds: float, gap: float, least: float) -> None:
        self.parent = parent
        seconds_left = max(least, min(seconds, parent.remaining()))
        limit = seconds_left if seconds_left < float("inf") else None
        super().__init__(limit, gap, parent.threads, parent.seed, parent.solver)
        self.solvers, self.check = parent.solvers, parent.check

    @property
    def interrupted(self) -> bool:
        return self.parent.interrupted

    @interrupted.setter
    def interrupted(self, value: bool) -> None:
        """Ignore the assignment of the dataclass's default."""

    def announce(self, stage: Stage, detail: str) -> None:
        """Do nothing: the stage is a part of one of the parent's."""

    def _log(self, point: Point) -> None:
        """Do nothing: the values are those of a subproblem."""


def describe_point(point: Point) -> str:
    """Return a point in words, as ``3.2 s, incumbent 14, bound 12, gap 14.29 %``."""
    words = [f"{point.seconds:.1f} s"]
    if point.objective is not None:
        words.append(f"incumbent {display(point.objective)}")
    if point.bound is not None:
        words.append(f"bound {display(point.bound)}")
    if point.objective is not None and point.bound is not None:
        words.append(f"gap {percent(relative_gap(point.objective, point.bound))}")
    return ", ".join(words)


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
