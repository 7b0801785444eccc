"""The command line as a process: start-up, closed pipes, interrupts, where words go."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import dlsched
from dlsched.bench import Store

COMMAND = [sys.executable, "-c", "from dlsched.cli import main; main()"]


@pytest.fixture(scope="module")
def hard(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give an instance that takes longer than any test waits."""
    path = tmp_path_factory.mktemp("hard") / "hard.json"
    made = dlsched.generate("reclaiming", seed=1, servers=1500, demand=600, spread=0.9)
    dlsched.save(made, path)
    return path


def test_help_is_quick() -> None:
    """Help does not import what it does not need: no pandas, scipy, Pyomo or solver."""
    heavy = "pandas scipy pyomo highspy matplotlib"
    code = (
        "import sys; from dlsched.cli import app\n"
        "try: app(['--help'])\n"
        "except SystemExit: pass\n"
        f"print([m for m in '{heavy}'.split() if m in sys.modules], file=sys.stderr)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stderr == "[]\n"


def test_reader_goes_away() -> None:
    """A closed pipe ends the command without a traceback, as it does other programs."""
    reader, writer = os.pipe()
    os.close(reader)
    ran = subprocess.run(
        [*COMMAND, "show", "reclaiming"], stdout=writer, stderr=subprocess.PIPE, check=False
    )
    os.close(writer)
    assert (ran.returncode, ran.stderr) == (141, b"")


def test_missing_solver(tmp_path: Path) -> None:
    """A solver that is not installed is unusable input, and the line says how to get it."""
    dlsched.save(dlsched.generate("reclaiming", servers=3), tmp_path / "small.json")
    ran = subprocess.run(
        [*COMMAND, "solve", str(tmp_path / "small.json"), "--solver", "cbc"],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PATH": str(tmp_path)},
    )
    assert (ran.returncode, ran.stdout) == (2, "")
    assert "not installed" in ran.stderr and "coinor-cbc" in ran.stderr
    assert ran.stderr.count("\n") == 1


def test_full_disk() -> None:
    """What cannot be written is an error in one line."""
    if not os.path.exists("/dev/full"):
        pytest.skip("there is no /dev/full here")
    with open("/dev/full", "w") as full:
        ran = subprocess.run(
            [*COMMAND, "show", "reclaiming"], stdout=full, stderr=subprocess.PIPE, check=False
        )
    assert (ran.returncode, ran.stderr) == (2, b"error: no space left on device\n")


def start(*arguments: str, ready: str, cwd: Path) -> subprocess.Popen[str]:
    """Start a command and return it once it has written a line with `ready` to stderr."""
    process = subprocess.Popen(
        [*COMMAND, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=cwd,
    )
    assert process.stderr is not None
    while ready not in process.stderr.readline():
        assert process.poll() is None
    return process


def test_interrupt_shows_what_there_is(hard: Path, tmp_path: Path) -> None:
    """The first Ctrl-C ends the search; the solution at hand is shown, written and right."""
    flags = ["--json", "--log", "-o", "hard.sol.json"]
    process = start("solve", str(hard), *flags, ready="BestSol", cwd=tmp_path)
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=20)
    result = json.loads(out)
    assert result["reason"].startswith("interrupted")
    assert (result["status"], process.returncode) == ("feasible", 0)
    assert dlsched.verify(hard, tmp_path / "hard.sol.json").feasible


OWN = """
import pathlib, sys, time
from dlsched import Claim, Status
def patient(instance, run):
    pathlib.Path("ready").touch()
    while not run.stop_reason():
        time.sleep(0.01)
    return Claim(status=Status.NO_SOLUTION, reason=run.stop_reason())
def deaf(instance, rng):
    pathlib.Path("ready").touch()
    time.sleep(60)
"""


@pytest.mark.parametrize("method", ["patient", "deaf"])
@pytest.mark.parametrize("command", ["compare", "bench"])
def test_interrupt_ends_many_runs(command: str, method: str, tmp_path: Path) -> None:
    """Ctrl-C ends a comparison or a suite as a whole, whether or not the method minds it."""
    (tmp_path / "own.py").write_text(OWN)
    made = dlsched.generate("reclaiming", servers=3)
    dlsched.save(made, tmp_path / "small.json")
    (tmp_path / "suite.toml").write_text(
        'name = "x"\n[[instances]]\nfiles = "small.json"\n[[methods]]\nname = "lyra"\n'
        f'[[methods]]\nname = "own:{method}"\nseeds = [0, 1]\n'
    )
    arguments = {
        "compare": ["small.json", "small.json", "-m", "lyra", "-m", f"own:{method}"],
        "bench": ["suite.toml", "-o", "out"],
    }
    process = subprocess.Popen(
        [*COMMAND, command, *arguments[command]],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
    )
    while not (tmp_path / "ready").exists():
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=20)
    assert (process.returncode, out, err) == (130, "", "error: interrupted\n")
    if command == "bench":  # the run that had finished is kept, the one that was cut is not
        with Store(tmp_path / "out") as store:
            assert [row["method"] for row in store.rows()] == ["lyra"]


def test_log_goes_to_stderr(hard: Path) -> None:
    """The solver's log never mixes with the answer."""
    ran = subprocess.run(
        [*COMMAND, "solve", str(hard), "--log", "--json", "--time-limit", "1"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode in (0, 1)
    assert json.loads(ran.stdout)["method"] == "milp"
    assert "HiGHS" in ran.stderr


def test_progress_only_on_a_terminal(hard: Path) -> None:
    """Incumbents and bounds are shown on stderr if that is a terminal, and not otherwise."""
    command = [*COMMAND, "solve", str(hard), "--json", "--time-limit"]
    main, terminal = pty.openpty()
    process = subprocess.Popen([*command, "4"], stdout=subprocess.PIPE, stderr=terminal, text=True)
    os.close(terminal)
    shown = b""
    try:
        while block := os.read(main, 65536):
            shown += block
    except OSError:  # how a terminal says that the other side has closed
        pass
    out, _ = process.communicate(timeout=20)
    os.close(main)
    json.loads(out)
    assert b"incumbent" in shown
    quiet = subprocess.run([*command, "1"], capture_output=True, text=True, check=False)
    assert quiet.stderr == ""
