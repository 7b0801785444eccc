"""Progress on stderr: live on a terminal, lines elsewhere, nothing with --quiet."""

from __future__ import annotations

import contextlib
import io
import json
import logging
import os
import pty
import re
import select
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.console import Console

import dlsched
from calls import FIG5, MAIN, PATIENCE, started, suite_text
from dlsched import Run, Stage
from dlsched.cli import progress
from dlsched.results.result import Point

OWN = """
import time
def sleeps(instance, rng):
    time.sleep(600)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a folder with an instance, and a method, that take longer than any test waits."""
    folder = tmp_path_factory.mktemp("progress")
    dlsched.save(dlsched.load("reclaiming-open-520-scattered"), folder / "hard.json")
    (folder / "own_methods.py").write_text(OWN)
    (folder / "suite.toml").write_text(suite_text(FIG5, "own_methods:sleeps"))
    return folder


def terminal(
    folder: Path, *arguments: str, answers: bool = False
) -> tuple[subprocess.Popen[str], int]:
    """Start a command with a terminal as stderr, and as stdout if it is to show answers, too.

    Return the process and the other end of the terminal.
    """
    main, other = pty.openpty()
    streams = {"stdout": other, "stderr": other} if answers else {"stderr": other}
    wide = {"COLUMNS": "100", "TERM": "xterm"}
    process = started(MAIN, *arguments, cwd=folder, env=wide, **streams)
    os.close(other)
    return process, main


def read_until(main: int, *words: str) -> str:
    """Read from a terminal until all words were shown, in this order."""
    shown = ""
    for word in words:
        while word not in shown:
            ready, _, _ = select.select([main], [], [], PATIENCE)
            assert ready, f"nothing more is shown; {word} was not in {shown!r}"
            shown += os.read(main, 65536).decode(errors="replace")
        shown = shown.partition(word)[2]
    return shown


def stop(process: subprocess.Popen[str], main: int) -> str:
    """Press Ctrl-C, wait for the end, and return what is on stdout."""
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=PATIENCE)
    os.close(main)
    return out


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "words"),
    [
        pytest.param(
            "compare lyra-fig5 hard.json -m milp",
            ["1 of 2 runs", ": searching", "incumbent"],
            marks=pytest.mark.slow,
        ),
        pytest.param(
            "bench suite.toml -o results",
            ["0 of 1 runs", "lyra-fig5 own_methods:sleeps: searching with sleeps"],
            marks=pytest.mark.slow,
        ),
        ("solve hard.json -m milp --json", ["searching preempted, level 1 of 2", "incumbent"]),
    ],
)
def test_commands_on_a_terminal(folder: Path, command: str, words: list[str]) -> None:
    """A terminal shows how many runs are made, and the run's search, a worker's, too."""
    process, main = terminal(folder, *command.split())
    read_until(main, *words)
    out = stop(process, main)
    if "--json" in command:
        assert json.loads(out)["status"] == "feasible"
    else:
        assert (out, process.returncode) == ("", 130)


@pytest.mark.slow
def test_solve_into_a_pipe(folder: Path) -> None:
    """Without a terminal stderr gets plain lines, with the seconds gone by."""
    process = started(MAIN, "solve", "hard.json", "-m", "milp", cwd=folder)
    assert process.stderr is not None
    lines = [process.stderr.readline()]
    while "searching" not in lines[-1]:
        lines.append(process.stderr.readline())
        assert lines[-1]
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=PATIENCE)
    assert all(re.match(r"\[\d+ s\] \w+ing \w", line) for line in lines)


def test_quiet(folder: Path) -> None:
    """With --quiet stderr stays empty, on a terminal as well."""
    process, main = terminal(
        folder, "solve", "reclaiming-open-100-scattered", "--time-limit", "0.1", "--quiet"
    )
    out, _ = process.communicate(timeout=PATIENCE)
    assert "time limit" in out
    with contextlib.suppress(OSError):  # nobody has the terminal open any more
        assert os.read(main, 100) == b""
    os.close(main)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Replace the clock of the display by a list, whose last entry is the time."""
    times = [0.0]
    monkeypatch.setattr(progress, "LINE_AFTER", 2.0)
    monkeypatch.setattr(progress, "_now", lambda: times[-1])
    return times


@pytest.fixture
def display(clock: list[float], monkeypatch: pytest.MonkeyPatch) -> Iterator[progress.Display]:
    """Give a display that listens, without the thread that shows it: a test does that instead."""
    monkeypatch.setattr(progress.Display, "_watch", lambda self: None)
    with progress.Display() as display:
        yield display


def test_lines_become_rarer(
    display: progress.Display, clock: list[float], capsys: pytest.CaptureFixture[str]
) -> None:
    """The first line comes after 2 seconds, the next ones whenever the time has doubled."""
    Run().announce(Stage.SEARCHING, "for an hour")
    for second in range(400):
        clock.append(float(second))
        display.show()
    lines = capsys.readouterr().err.splitlines()
    times = [2, 4, 8, 16, 32, 64, 124, 184, 244, 304, 364]
    assert lines == [f"[{t} s] searching for an hour" for t in times]


def test_point_belongs_to_its_level(display: progress.Display) -> None:
    """A level's incumbent is not shown for the next level."""
    run = Run()
    run.announce(Stage.SEARCHING, "preempted, level 1 of 2")
    run.record(14, 12)
    assert "incumbent 14, bound 12, gap 14.29 %" in display.point
    run.announce(Stage.SEARCHING, "collateral, level 2 of 2")
    assert display.point == "" and "level 2" in display.lines[None]


@pytest.mark.parametrize("width", [40, 80, 160])
def test_live_lines_fit(display: progress.Display, width: int) -> None:
    """Live lines are wrapped to the terminal, and every digit is there."""
    run = Run()
    with progress.shown():  # a second display takes over neither the log nor the terminal
        display.done, display.total = 1234, 5678
        run.announce(Stage.SEARCHING, "with highs, 123,456 constraints, 7,654,321 variables")
        run._log(Point(12.5, 987_654_321.0, 123_456_789.0))
    out = io.StringIO()
    console = Console(file=out, width=width)
    console.print(display.rendered(width))
    lines = out.getvalue().splitlines()
    assert max(map(len, lines)) <= width
    words = " ".join(out.getvalue().split())
    for text in ("1,234 of 5,678 runs", "123,456 constraints", "987,654,321,", "gap 87.50 %"):
        assert text in words


def test_names_cannot_write_to_the_terminal(display: progress.Display) -> None:
    """Control characters of a name are escaped."""
    Run().announce(Stage.BUILDING, "the model of \x1b[2Jevil")
    assert display.lines[None] == "building the model of \\x1b[2Jevil"


def test_log_is_left_as_it_was() -> None:
    """After a command the logger has its level and its handlers again."""
    logger = logging.getLogger("dlsched")
    before = logger.level, list(logger.handlers)
    with progress.shown():
        assert logger.isEnabledFor(logging.INFO)
    assert (logger.level, logger.handlers) == before


@pytest.mark.slow
def test_nothing_remains_on_the_terminal(folder: Path) -> None:
    """What was shown live is removed before the answer is written."""
    process, main = terminal(folder, "solve", "hard.json", "-m", "milp", answers=True)
    read_until(main, "searching")
    process.send_signal(signal.SIGINT)
    shown = ""
    while "seconds" not in shown:
        shown += os.read(main, 65536).decode(errors="replace")
    process.wait(PATIENCE)
    os.close(main)
    before, _, after = shown.partition("instance  ")
    assert "\x1b[2K" in before and "\x1b[2K" not in after and "searching" not in after


def test_a_worker_that_is_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    """What a sweep says of its workers is a line on stderr that stays."""
    with progress.shown():
        extra = {"notice": True}
        logging.getLogger("dlsched").warning("%s is left out", "Dask worker 3", extra=extra)
    assert capsys.readouterr().err == "Dask worker 3 is left out\n"
