"""Progress on stderr: live on a terminal, lines elsewhere, nothing with --quiet."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import pty
import re
import select
import signal
import subprocess
from itertools import pairwise
from pathlib import Path

import pytest

import dlsched
from calls import FIG5, MAIN, PATIENCE, run, started, suite_text

OWN = """
import logging, pathlib, time
from dlsched import Claim, Stage, Status
def sleeps(instance, run):
    run.announce(Stage.SEARCHING, "for an hour")
    while not run.stop_reason():
        time.sleep(0.01)
    return Claim(status=Status.NO_SOLUTION)
def levels(instance, run):
    run.announce(Stage.SEARCHING, "\\x1b[2Jevil, level 1 of 2, 123,456 constraints, 7,654,321 more")
    run.record(987_654_321, 123_456_789)
    while not pathlib.Path("go on").exists():
        time.sleep(0.01)
    run.announce(Stage.SEARCHING, "collateral, level 2 of 2")
    return sleeps(instance, run)
def notices(instance, rng):
    extra = {"notice": True}
    logging.getLogger("dlsched").warning("%s is left out", "Dask worker 3", extra=extra)
    return {"returned": ["1", "2"]}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a folder with an instance, and methods, that take longer than any test waits."""
    folder = tmp_path_factory.mktemp("progress")
    dlsched.save(dlsched.load("reclaiming-open-520-scattered"), folder / "hard.json")
    (folder / "slow_methods.py").write_text(OWN)
    (folder / "suite.toml").write_text(suite_text(FIG5, "slow_methods:sleeps"))
    return folder


def terminal(
    folder: Path, *arguments: str, answers: bool = False, columns: int = 100
) -> tuple[subprocess.Popen[str], int]:
    """Start a command with a terminal as stderr, and as stdout if it is to show answers, too.

    Return the process and the other end of the terminal.
    """
    main, other = pty.openpty()
    streams = {"stdout": other, "stderr": other} if answers else {"stderr": other}
    wide = {"COLUMNS": str(columns), "TERM": "xterm"}
    process = started(MAIN, *arguments, cwd=folder, env=wide, **streams)
    os.close(other)
    return process, main


def read_until(main: int, *words: str) -> str:
    """Read from a terminal until all words were shown, in this order; return all that was."""
    shown, at = "", 0
    for word in words:
        while (place := shown.find(word, at)) < 0:
            ready, _, _ = select.select([main], [], [], PATIENCE)
            assert ready, f"nothing more is shown; {word} was not in {shown!r}"
            shown += os.read(main, 65536).decode(errors="replace")
        at = place + len(word)
    return shown


def stop(process: subprocess.Popen[str], main: int) -> str:
    """Press Ctrl-C, wait for the end, and return what is on stdout."""
    process.send_signal(signal.SIGINT)
    with contextlib.suppress(OSError):  # nobody has the terminal open any more
        while os.read(main, 65536):  # a full terminal would stop the command
            pass
    out, _ = process.communicate(timeout=PATIENCE)
    os.close(main)
    return out


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("compare lyra-fig5 hard.json -m milp", ["1 of 2 runs", ": searching", "incumbent"]),
        (
            "bench suite.toml -o results",
            ["0 of 1 runs", "lyra-fig5 slow_methods:sleeps: searching for an hour"],
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


def test_quiet(folder: Path) -> None:
    """With --quiet stderr stays empty, on a terminal as well."""
    flags = ["--time-limit", "0.6", "--quiet"]
    process, main = terminal(folder, "solve", "reclaiming-open-100-scattered", *flags)
    out, _ = process.communicate(timeout=PATIENCE)
    assert "time limit" in out
    with contextlib.suppress(OSError):  # nobody has the terminal open any more
        assert os.read(main, 100) == b""
    os.close(main)


FAST = "import time; true = time.monotonic; time.monotonic = lambda: 300 * true(); "
"""A clock on which an hour passes in 12 seconds."""


def test_lines_become_rarer(folder: Path) -> None:
    """The first line comes after 2 seconds, the next when the time has doubled, or in a minute."""
    process = started(FAST + MAIN, "solve", "lyra-fig5", "-m", "slow_methods:sleeps", cwd=folder)
    assert process.stderr is not None
    lines = [process.stderr.readline() for _ in range(5)]
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=PATIENCE)
    found = [re.fullmatch(r"\[(\d+) s\] (\w+ing \S.*)\n", line) for line in lines]
    times = [int(line[1]) for line in found if line]
    assert len(times) == 5 and times[0] >= 2
    assert all(b - a >= min(a, 60) - 1 for a, b in pairwise(times))
    assert found[-1] and found[-1][2] == "searching for an hour"


@pytest.mark.parametrize("columns", [40, 160])
def test_live_lines(columns: int, tmp_path: Path) -> None:
    """Lines are wrapped to the terminal with every digit; control characters are escaped.

    A level's incumbent is not shown for the next level.
    """
    (tmp_path / "slow_methods.py").write_text(OWN)
    command = ["compare", "lyra-fig5", "muri-fig4", "-m", "slow_methods:levels"]
    process, main = terminal(tmp_path, *command, columns=columns)
    shown = read_until(main, "0 of 2 runs", "evil", "7,654,321", "123,456,789", "87.50")
    (tmp_path / "go on").touch()
    after = read_until(main, "for an hour", "\x1b[2K").partition("for an hour")[2]
    assert stop(process, main) == "" and "incumbent" not in after
    assert "\x1b[2J" not in shown and "\\x1b[2Jevil" in shown
    texts = re.sub(r"\x1b\[[\d;?]*[A-Za-z]", "", shown)
    assert max(map(len, re.split(r"[\r\n]+", texts))) <= columns
    assert "123,456 constraints" in re.sub(r"\s+", " ", texts) and "987,654,321," in texts


@pytest.mark.slow
def test_nothing_remains_on_the_terminal(folder: Path) -> None:
    """What was shown live is removed before the answer is written."""
    process, main = terminal(folder, "solve", "hard.json", "-m", "milp", answers=True)
    read_until(main, "searching")
    process.send_signal(signal.SIGINT)
    shown = read_until(main, "seconds")
    process.wait(PATIENCE)
    os.close(main)
    before, _, after = shown.partition("instance  ")
    assert "\x1b[2K" in before and "\x1b[2K" not in after and "searching" not in after


def test_the_log_in_one_process(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a sweep says of its workers is a line that stays; the logger is then as it was."""
    monkeypatch.syspath_prepend(folder)
    logger = logging.getLogger("dlsched")
    before = logger.level, list(logger.handlers)
    said = run("solve", "lyra-fig5", "-m", "slow_methods:notices").stderr
    assert said == "Dask worker 3 is left out\n"
    assert (logger.level, logger.handlers) == before
