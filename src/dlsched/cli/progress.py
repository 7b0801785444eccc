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
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING

from dlsched.cli.exits import clearing
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
_logger = logging.getLogger("dlsched")


class Display(logging.Handler):
    """Shows what is being done while it listens, which is within ``with display:``.

    Attributes
    ----------
    done, total, label
        Runs made, and runs altogether, 0 if the command makes one only; the name of this run.
    lines
        What is being done, by worker; one entry for a command without workers.
    point
        How far the search is.
    verbose
        Whether each record is a line, instead of all this.
    """

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self.live: Live | None = None
        self.ended = threading.Event()
        self.guard = threading.RLock()
        self.listens = self.verbose = False
        self.clear()

    def __enter__(self) -> None:
        """Begin to listen."""
        self.began, self.due = _now(), LINE_AFTER
        self.terminal = bool(sys.stderr and sys.stderr.isatty())
        self.level_before = _logger.level
        _logger.addHandler(self)
        _logger.setLevel(logging.INFO)
        self.listens, self.ended = True, threading.Event()
        threading.Thread(target=self._watch, args=[self.ended], daemon=True).start()

    def __exit__(self, *error: object) -> None:
        """Remove what is shown, and listen no more."""
        _logger.removeHandler(self)
        _logger.setLevel(self.level_before)
        self.listens = False
        self.hide()

    def hide(self) -> None:
        """Show nothing more, as a solver writes its own log."""
        self.ended.set()
        self.clear()

    def emit(self, record: logging.LogRecord) -> None:
        """Take note of a stage or a point; print what a sweep says of its workers."""
        text = printable(record.getMessage())
        with self.guard:
            if self.verbose:
                print(f"[{self.elapsed():.1f} s] {text}", file=sys.stderr, flush=True)
            elif hasattr(record, "notice"):
                self._remove_live()
                if sys.stderr is not None:
                    print(text, file=sys.stderr, flush=True)
            if hasattr(record, "point"):
                self.point = text
            elif hasattr(record, "stage"):
                self.lines[None] = f"{self.label}: {text}" if self.label else text
                if record.stage not in (Stage.BUILDING, Stage.SEARCHING) or " level " in text:
                    self.point = ""  # another level has other values

    def count(self, done: int, total: int, label: str = "") -> None:
        """State how many runs are made, and the name of the next one."""
        with self.guard:
            self.done, self.total, self.label = done, total, printable(label)
            self.lines.pop(None, None)

    def note(self, worker: object, text: str | None) -> None:
        """State what a worker does; ``None`` if it does nothing."""
        with self.guard:
            self.lines[worker] = printable(text or "")

    def show_point(self, found: Point) -> None:
        """Show how far a search is; the log has one point a second only."""
        with self.guard:
            self.point = f"{Stage.SEARCHING}: {describe_point(found)}"

    def clear(self) -> None:
        """Remove what is shown, as something else is going to be written."""
        with self.guard:
            self._remove_live()
            self.done, self.total, self.label = 0, 0, ""
            self.lines: dict[object, str] = {}
            self.point = ""
            self.shown_from = _now() + LIVE_AFTER

    def _remove_live(self) -> None:
        if self.live is not None:
            self.live.stop()
        self.live = None

    def _watch(self, ended: threading.Event) -> None:
        while not ended.wait(_TICK):
            with self.guard:
                self._show()

    def _show(self) -> None:
        """Bring the terminal up to date, or write a line if it is time for one."""
        if self.ended.is_set() or self.verbose or not (self.lines or self.total):
            return
        if self.terminal:
            if _now() >= self.shown_from:
                self._refresh()
        elif self.elapsed() >= self.due:
            if sys.stderr is not None:
                said = "; ".join(self._texts())
                print(f"[{self.elapsed():.0f} s]", said, file=sys.stderr, flush=True)
            self.due = self.elapsed() + min(self.elapsed(), _LONGEST_PAUSE)

    def elapsed(self) -> float:
        """Seconds since the command began."""
        return _now() - self.began

    def _texts(self) -> list[str]:
        """Return how many runs are made, and what is being done."""
        made = [f"{self.done:,} of {self.total:,} runs"] if self.total else []
        return made + [text for text in (*self.lines.values(), self.point) if text][:_MOST_LINES]

    def _refresh(self) -> None:
        from rich.console import Console
        from rich.live import Live

        if self.live is None:
            self.live = Live(
                console=Console(stderr=True),
                auto_refresh=False,
                transient=True,
                redirect_stdout=False,
                redirect_stderr=False,
            )
            self.live.start()
        self.live.update(self._rendered(), refresh=True)

    def _rendered(self) -> RenderableType:
        """Return the present state: the clock, and beside it a line or more for each text."""
        from rich.progress_bar import ProgressBar
        from rich.table import Table
        from rich.text import Text

        grid = Table.grid(padding=(0, 2, 0, 0))
        clock = _clock(self.elapsed())
        for text in self._texts():
            grid.add_row(clock, Text(text))
            clock = ""
        if self.total:
            grid.add_row("", ProgressBar(total=self.total, completed=self.done, width=_BAR))
        if self.done:
            left = self.elapsed() / self.done * (self.total - self.done)
            grid.add_row("", f"about {_clock(left)} left")
        return grid


_display = Display()
clearing.append(_display.clear)
count, hide, note, point = _display.count, _display.hide, _display.note, _display.show_point


@contextmanager
def shown(quiet: bool = False, verbose: bool = False) -> Iterator[None]:
    """Show on stderr what the block is doing: nothing if quiet, each step on a line if verbose."""
    if quiet:
        before = _logger.level
        _logger.setLevel(logging.ERROR)
        try:
            yield
        finally:
            _logger.setLevel(before)
        return
    _display.verbose = verbose
    with nullcontext() if _display.listens else _display:
        yield


def say(stage: Stage, detail: str) -> None:
    """Announce what a command does outside a run."""
    logging.getLogger("dlsched.cli").info("%s %s", stage, detail, extra={"stage": str(stage)})


def _clock(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes}:{rest:02}"
