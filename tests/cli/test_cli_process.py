"""The command line as a process: start-up, closed pipes, interrupts, where words go."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import dlsched
from calls import FIG5, MAIN, PATIENCE, python, started, suite_text
from dlsched.sweeps import Store

LIST = ["list", "problems", "--problem", "reclaiming"]


def test_reader_goes_away() -> None:
    """A closed pipe ends the command without a traceback, as it does other programs."""
    reader, writer = os.pipe()
    os.close(reader)
    ran = python(MAIN, *LIST, "-q", stdout=writer, check=False)
    os.close(writer)
    assert (ran.returncode, ran.stderr) == (141, "")


@pytest.mark.skipif(os.name == "nt", reason="needs a shell that closes stdout")
@pytest.mark.parametrize(
    "command",
    [
        pytest.param("list problems", marks=pytest.mark.slow),
        "solve lyra-fig5 -o made.json",
        "--help",
    ],
)
def test_stdout_closed_from_the_start(command: str, tmp_path: Path) -> None:
    """Without a stdout there is one error, and nothing is done: no file is written."""
    called = f"{shlex.join([sys.executable, '-c', MAIN])} {command} >&-"
    ran = subprocess.run(
        ["sh", "-c", called], cwd=tmp_path, stderr=subprocess.PIPE, text=True, check=False
    )
    assert ran.returncode == 2
    assert ran.stderr == "error: stdout is closed; send it to a file or to /dev/null\n"
    assert not list(tmp_path.iterdir())


def named(name: str, folder: Path) -> Path:
    """Return a file with an instance of this name."""
    made = dlsched.generate("reclaiming", servers=3).model_copy(update={"name": name})
    dlsched.save(made, folder / "x.json")
    return folder / "x.json"


@pytest.mark.parametrize("encoding", ["ascii", pytest.param("cp1252", marks=pytest.mark.slow)])
def test_letters_that_stdout_does_not_have(encoding: str, tmp_path: Path) -> None:
    """They are spelled out, in texts and tables; nothing ends the command."""
    file = named("caf\N{LATIN SMALL LETTER E WITH ACUTE} \N{CJK UNIFIED IDEOGRAPH-4ED5}", tmp_path)
    shown = "caf\\xe9" if encoding == "ascii" else "caf\xe9"
    for command, *flags in (["show"], ["compare", "-m", "lyra"]):
        set_to = {"PYTHONIOENCODING": encoding}
        ran = python(MAIN, command, file, *flags, env=set_to, encoding=encoding)
        assert f"{shown} \\u4ed5" in ran.stdout


def test_letters_that_the_font_does_not_have(tmp_path: Path) -> None:
    """A picture names them in one line, instead of a warning of matplotlib for each."""
    name = "\N{CJK UNIFIED IDEOGRAPH-4ED5}\N{CJK UNIFIED IDEOGRAPH-4E8B}"
    settings = {"MATPLOTLIBRC": str(tmp_path), "PYTHONIOENCODING": "utf-8"}
    (tmp_path / "matplotlibrc").write_text("font.family: DejaVu Sans\n", encoding="utf-8")
    plot = ["plot", named(name, tmp_path), "-o", tmp_path / "x.png", "--quiet"]
    ran = python(MAIN, *plot, env=settings, encoding="utf-8")
    assert ran.stderr.startswith(f"note: the font has no picture of {name[0]} {name[1]}: name")
    assert ran.stderr.count("\n") == 1


def test_missing_solver(tmp_path: Path) -> None:
    """A solver that is not installed is unusable input, and the line says how to get it."""
    command = ["solve", "lyra-fig5", "--solver", "cbc", "--quiet"]
    ran = python(MAIN, *command, env={"PATH": str(tmp_path)}, check=False)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert "not installed" in ran.stderr and "coinor-cbc" in ran.stderr
    assert ran.stderr.count("\n") == 1


def test_full_disk() -> None:
    """What cannot be written is an error in one line."""
    if not os.path.exists("/dev/full"):
        pytest.skip("there is no /dev/full here")
    with open("/dev/full", "w") as full:
        ran = python(MAIN, *LIST, "-q", stdout=full, check=False)
    assert (ran.returncode, ran.stderr) == (2, "error: no space left on device\n")


def test_interrupt_shows_what_there_is(tmp_path: Path) -> None:
    """Ctrl-C ends the search; the incumbent is shown and written, the log is on stderr only."""
    flags = ["--json", "--log", "-o", "hard.sol.json"]
    hard = "reclaiming-open-100-scattered"
    process = started(MAIN, "solve", hard, *flags, cwd=tmp_path)
    assert process.stderr is not None
    log = ""
    while not re.search(r"BestSol(.*\n)+? +[A-Z] ", log):  # the first incumbent
        log += process.stderr.readline()
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=PATIENCE)
    result = json.loads(out)
    assert (result["method"], result["termination"]) == ("milp", "interrupted")
    assert (result["status"], process.returncode) == ("feasible", 130)
    assert dlsched.verify(hard, tmp_path / "hard.sol.json").feasible
    assert "HiGHS" in log


def test_interrupt_of_a_proof(tmp_path: Path) -> None:
    """Ctrl-C while HiGHS solves one relaxation after another ends a proof, and no file is made."""
    flags = ["-o", "out.proof.json"]
    process = started(MAIN, "prove", "placement-15x4x20-v2-3", *flags, cwd=tmp_path)
    assert process.stderr is not None
    while "a proof of" not in process.stderr.readline():
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, out) == (130, "") and err.endswith("error: interrupted\n")
    assert not list(tmp_path.iterdir())


IMPORTING = """
import os, runpy, signal, sys
interrupted = sys.argv[1]
class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == interrupted:
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Interrupting())
sys.argv[1:] = ["solve", "lyra-fig5", "-q"]
runpy.run_module("dlsched", run_name="__main__")
"""


@pytest.mark.skipif(os.name == "nt", reason="Ctrl-C is no signal there")
@pytest.mark.parametrize("module", ["numpy", "typer", "pydantic", "highspy"])
def test_interrupt_while_modules_are_imported(module: str) -> None:
    """Ctrl-C is one line and its exit status, whichever module is being imported."""
    ran = python(IMPORTING, module, check=False)
    assert (ran.returncode, ran.stdout, ran.stderr) == (130, "", "error: interrupted\n")


OWN = """
import pathlib, time
from dlsched import Claim, Status
def stops(instance, run):
    pathlib.Path("ready").touch()
    while not run.stop_reason():
        time.sleep(0.01)
    return Claim(status=Status.NO_SOLUTION)
def sleeps(instance, rng):
    pathlib.Path("ready").touch()
    time.sleep(600)
"""


@pytest.mark.parametrize(
    ("command", "method"),
    [
        pytest.param("compare", "stops", marks=pytest.mark.slow),
        ("compare", "sleeps"),
        pytest.param("bench", "sleeps", marks=pytest.mark.slow),
    ],
)
def test_interrupt_ends_many_runs(command: str, method: str, tmp_path: Path) -> None:
    """Ctrl-C ends a comparison or a suite as a whole, whether or not the method stops by itself."""
    (tmp_path / "own.py").write_text(OWN)
    suite = suite_text(FIG5, "lyra", f"own:{method}; seeds = [0, 1]")
    (tmp_path / "suite.toml").write_text(suite)
    arguments = {
        "compare": ["lyra-fig5", "lyra-fig5", "-m", "lyra", "-m", f"own:{method}"],
        "bench": ["suite.toml", "-o", "out"],
    }
    process = started(MAIN, command, *arguments[command], "--quiet", cwd=tmp_path)
    while not (tmp_path / "ready").exists():
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, out, err) == (130, "", "error: interrupted\n")
    if command == "bench":  # the run that had finished is kept, the one that was cut is not
        with Store(tmp_path / "out") as store:
            assert [row["method"] for row in store.rows()] == ["lyra"]


CAPTURED = """
import logging, os, sys
from pyomo.common.log import LogStream
from pyomo.common.tee import TeeStream, capture_output
def captured(instance, rng):
    logging.basicConfig()
    stream = LogStream(level=logging.WARNING, logger=logging.getLogger("solver"))
    with capture_output(output=TeeStream(stream, sys.stdout), capture_fd=True):
        os.write(1, b"from C\\n")
        print("from Python", flush=True)
    print("after it")
    return {"returned": ["1", "2"]}
"""


def test_what_solvers_and_methods_print(tmp_path: Path) -> None:
    """It goes to stderr, also if Pyomo captures it, and the command does not wait for ever."""
    (tmp_path / "own.py").write_text(CAPTURED)
    command = ["solve", "lyra-fig5", "-m", "own:captured", "--json", "--quiet"]
    ran = python(MAIN, *command, cwd=tmp_path)
    assert json.loads(ran.stdout)["status"] == "feasible"
    warned = ["WARNING:solver:from C", "WARNING:solver:from Python"]
    assert {*ran.stderr.splitlines()} >= {*warned, "after it", "from C", "from Python"}


@pytest.mark.slow
def test_a_solver_that_pyomo_calls_in_process() -> None:
    """Pyomo's own interface of HiGHS solves on the command line, too."""
    command = ["solve", "lyra-fig5", "--method", "milp", "--solver", "appsi_highs", "--json"]
    assert json.loads(python(MAIN, *command).stdout)["status"] == "optimal"
