"""What a command is doing, on stderr: live lines on a terminal, plain lines elsewhere.

A `Display` listens to the log of ``dlsched``: stages of a run, and points of its search. Commands
that make many runs count them with `count`. A terminal shows the present state; into a file or a
pipe goes a line after 2 seconds, and then one whenever the time has doubled.
"""

from __future__ import annotations

import logging
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from dlsched.cli.exits import clearing
from dlsched.cli.text import wrapped
from dlsched.results.result import Point
from dlsched.run import Stage, describe_point
from dlsched.text.figures import printable

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.live import Live

LIVE_AFTER = 0.5
"""Seconds of work after which a terminal shows what is done."""
LINE_AFTER = 2.0
"""Seconds after which a file or a pipe gets the first line."""
_LONGEST_PAUSE = 60.0
_TICK = 0.1
_MOST_LINES = 4
_BAR = 20
_now = time.monotonic
_log = logging.getLogger("dlsched.cli")


class Display(logging.Handler):
    """Shows what is being done; a context manager.

    Attributes
    ----------
    done, total, label
        Runs made, and runs altogether, 0 if the command makes one only; the name of this run.
    lines
        What is being done, by worker; one entry for a command without workers.
    """

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self.done, self.total, self.label = 0, 0, ""
        self.lines: dict[object, str] = {}
        self.point = ""
        self.began = self.shown_from = _now()
        self.due = LINE_AFTER
        self.live: Live | None = None
        self.ended = threading.Event()
        self.guard = threading.RLock()
        self.terminal = bool(sys.stderr and sys.stderr.isatty())

    def __enter__(self) -> Display:
        """Begin to listen."""
        self.logger = logging.getLogger("dlsched")
        self.level_before = self.logger.level
        self.logger.addHandler(self)
        self.logger.setLevel(logging.INFO)
        threading.Thread(target=self._watch, daemon=True, name="progress").start()
        return self

    def __exit__(self, *error: object) -> None:
        """Remove what is shown, and listen no more."""
        self.logger.removeHandler(self)
        self.logger.setLevel(self.level_before)
        self.ended.set()
        self.clear()

    def emit(self, record: logging.LogRecord) -> None:
        """Take note of a stage or a point; print what a sweep says of its workers."""
        text = printable(record.getMessage())
        if hasattr(record, "notice"):
            self.print_notice(text)
        if not hasattr(record, "stage"):
            return
        with self.guard:
            if hasattr(record, "point"):
                self.point = text
            else:
                self.lines[None] = f"{self.label}: {text}" if self.label else text
                if record.stage not in (Stage.BUILDING, Stage.SEARCHING) or " level " in text:
                    self.point = ""  # another level has other values

    def print_notice(self, text: str) -> None:
        """Write a line that stays, above what is shown."""
        with self.guard:
            if self.live is not None:
                self.live.stop()
                self.live = None
            if sys.stderr is not None:
                print(text, file=sys.stderr, flush=True)

    def clear(self) -> None:
        """Remove what is shown, as something else is going to be written."""
        with self.guard:
            if self.live is not None:
                self.live.stop()
            self.live, self.lines, self.point = None, {}, ""
            self.done, self.total, self.label = 0, 0, ""
            self.shown_from = _now()

    def _watch(self) -> None:
        while not self.ended.wait(_TICK):
            self.show()

    def show(self) -> None:
        """Bring the terminal up to date, or write a line if it is time for one."""
        with self.guard:
            if self.ended.is_set() or not (self.lines or self.total):
                return
            if self.terminal:
                self._refresh()
            elif self.elapsed() >= self.due:
                self._print()
                self.due = self.elapsed() + min(self.elapsed(), _LONGEST_PAUSE)

    def elapsed(self) -> float:
        """Seconds since the command began."""
        return _now() - self.began

    def _refresh(self) -> None:
        if self.live is None:
            if _now() < self.shown_from + LIVE_AFTER:
                return
            from rich.console import Console
            from rich.live import Live

            self.live = Live(
                console=Console(stderr=True),
                auto_refresh=False,
                transient=True,
                redirect_stdout=False,
                redirect_stderr=False,
            )
            self.live.start()
        self.live.update(self.rendered(self.live.console.width), refresh=True)

    def rendered(self, width: int) -> RenderableType:
        """Return the present state for a terminal of this width."""
        from rich.console import Group
        from rich.progress_bar import ProgressBar
        from rich.table import Table
        from rich.text import Text

        clock = f"{_clock(self.elapsed())}  "
        parts: list[RenderableType] = []
        texts = [text for text in self.lines.values() if text][:_MOST_LINES]
        if self.total:
            words = f"{self.done:,} of {self.total:,} runs  {clock}{self._left()}".rstrip()
            row = Table.grid(padding=(0, 1))
            bar = ProgressBar(total=self.total, completed=self.done, width=_BAR)
            if len(words) + _BAR < width:
                row.add_row(bar, words)
            else:
                row.add_row(words)
            parts.append(row)
            clock = "  "
        for text in [*texts, *([self.point] if self.point else [])]:
            first, *rest = wrapped(text, max(1, width - len(clock) - 1))
            margin = " " * len(clock)
            parts += [Text(clock + first), *(Text(margin + line) for line in rest)]
            clock = margin
        return Group(*parts)

    def _left(self) -> str:
        """Return the time that the remaining runs take if they are like those made."""
        if not self.done:
            return ""
        return f"about {_clock(self.elapsed() / self.done * (self.total - self.done))} left"

    def _print(self) -> None:
        words = [f"{self.done:,} of {self.total:,} runs"] if self.total else []
        words += [text for text in (*self.lines.values(), self.point) if text][:_MOST_LINES]
        if sys.stderr is not None:
            print(f"[{self.elapsed():.0f} s]", "; ".join(words), file=sys.stderr, flush=True)


_displays: list[Display] = []
"""The display of the command that runs, if it has one."""


@contextmanager
def shown(quiet: bool = False) -> Iterator[None]:
    """Show on stderr what the block is doing, unless it is to be quiet."""
    if _displays:
        yield
        return
    if quiet:
        logger = logging.getLogger("dlsched")
        before = logger.level
        logger.setLevel(logging.ERROR)
        try:
            yield
        finally:
            logger.setLevel(before)
        return
    display = Display()
    _displays.append(display)
    clearing.append(display.clear)
    try:
        with display:
            yield
    finally:
        clearing.remove(display.clear)
        _displays.remove(display)


def hide() -> None:
    """Show nothing more, as a solver writes its own log."""
    for display in _displays:
        display.ended.set()
        display.clear()


def say(stage: Stage, detail: str) -> None:
    """Announce what a command does outside a run."""
    _log.info("%s %s", stage, detail, extra={"stage": str(stage)})


def count(done: int, total: int, label: str = "") -> None:
    """State how many runs are made, and the name of the next one."""
    for display in _displays:
        with display.guard:
            display.done, display.total, display.label = done, total, printable(label)
            display.lines.pop(None, None)


def point(found: Point) -> None:
    """Show how far a search is; the log has one point a second only."""
    for display in _displays:
        with display.guard:
            display.point = f"{Stage.SEARCHING}: {describe_point(found)}"


def note(worker: object, text: str | None) -> None:
    """State what a worker does; ``None`` if it does nothing."""
    for display in _displays:
        with display.guard:
            display.lines[worker] = printable(text or "")


def _clock(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes}:{rest:02}"
