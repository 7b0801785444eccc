"""``dlsched simulate``, and commands as processes: pipes, Ctrl-C, progress, where words go."""

import contextlib
import json
import logging
import os
import pty
import re
import select
import shlex
import signal
import sqlite3
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import dlsched
from calls import FIG5, MAIN, PATIENCE, python, refusal, run, started, suite_text
from dlsched.sweeps import Store

TRACE = ("simulate", "sample-philly", "--servers", "4")
SYNERGY = "--policy synergy --profiles synergy"


def data(*arguments: str) -> Any:
    """Return what a command writes with --json, whatever it notes beside it."""
    return json.loads(run(*arguments, "--json").stdout)


def test_jobs_together_wait_longer() -> None:
    """With --together all jobs are there from the start, so the makespan is no longer."""
    apart = data(*TRACE, "--policy", "fifo")
    together = data(*TRACE, "--policy", "fifo", "--together")
    assert together["makespan"] < apart["makespan"]
    assert together["mean_queueing"] > apart["mean_queueing"]


def test_profile_options() -> None:
    """With as many CPUs as the jobs want they are faster than in proportion, by their models.

    A limit of the policy's method is an option of the policy.
    """
    sized = (*TRACE, *SYNERGY.split(), "--cpus", "24", "--memory", "500", "--limit", "12")
    images = ("--profile-option", "split=1/0/0", "--profile-option", "cpus_per_gpu=3")
    tuned = data(*sized, *images, "--set", "time_limit=60")
    fair = data(*sized, *images, "--method", "proportional")
    language = data(*sized, "--profile-option", "split=0/1/0")
    assert tuned["violations"] == fair["violations"] == 0 and tuned["completed"] == 12
    assert tuned["mean_jct"] < fair["mean_jct"] == language["mean_jct"]


def test_a_log_is_complete_and_not_overwritten(tmp_path: Path) -> None:
    """A second run refuses the first one's log; with --resume it reads it, unless it is damaged."""
    log = tmp_path / "run.sqlite"
    logged = (*TRACE, "--policy", "srtf", "--log", str(log))
    first = data(*logged)
    rows = sqlite3.connect(log).execute("SELECT count(*) FROM completions").fetchone()
    assert rows == (38,)
    assert "is there already" in refusal(*logged)
    assert data(*logged, "--resume") == first
    other = refusal(*TRACE, "--policy", "srsf", "--log", str(log), "--resume")
    assert "of another simulation: policy differs" in other
    content = bytearray(log.read_bytes())
    content[5000:35_000] = b"x" * 30_000
    log.write_bytes(content)
    damaged = refusal(*logged, "--resume")
    assert "cannot be read (database disk image is malformed); name another file" in damaged


def options_of(policy: str) -> list[str]:
    """Return the options of a policy, as the refusal of an unknown one lists them."""
    said = refusal(*TRACE, "--policy", policy, "--set", "unknown=1")
    return re.findall(r"\w+", said.partition("it has:")[2].partition(";")[0])


def test_options_of_a_policy_are_those_of_its_parents_and_its_solver() -> None:
    """Options that a class passes on can be set where they end; others cannot."""
    solving = {"time_limit", "gap", "threads", "solver"}
    assert set(options_of("synergy")) == {"order", "interval"} | solving
    assert options_of("afs") == options_of("lyra") and "elastic" in options_of("lyra")
    assert options_of("local") == options_of("mast") and "gap" not in options_of("mast")


def test_interrupt(tmp_path: Path) -> None:
    """A simulation that is interrupted has a log, and can go on."""
    log = tmp_path / "log"
    long = ["simulate", "synthetic-1", "--servers", "64", "--policy", "srtf", "--log", str(log)]
    process = started(MAIN, *long, "--quiet")
    while not log.exists():
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert "go on with --resume" in " ".join(said.split())


HEADER = "JobID|User|Partition|State|Submit|Start|End|Elapsed|Timelimit|NodeList|AllocTRES|JobName"


ROWS = [
    "1|a|gpu|COMPLETED|2026-01-08T10:00:00|2026-01-08T10:00:00|2026-01-08T11:00:00|01:00:00|"
    "02:00:00|n1|gres/gpu=4|x",
    "2|b|gpu|COMPLETED|2026-01-08T10:10:00|2026-01-08T11:00:00|2026-01-08T11:30:00|00:30:00|"
    "02:00:00|n1|gres/gpu=1|y|z",
]
"""A record of two jobs on one node of 4 GPUs, of which the second waits."""


def test_a_record_is_found_out_and_simulated(tmp_path: Path) -> None:
    """Jobs, nodes and waits are those of the record; what is assumed is noted."""
    path = tmp_path / "sacct.txt"
    path.write_text("\n".join([HEADER, *ROWS]))
    found = data("simulate", str(path), "--policy", "recorded")
    assert (found["jobs"], found["mean_queueing"], found["violations"]) == (2, 1500, 0)
    said = run("simulate", path, "--policy", "backfill", "--timezone", "Europe/Berlin").stderr
    assert "4 on the nodes" in said and "taken as UTC" not in said
    refused = refusal("simulate", path, "--policy", "fifo", "--servers", "4")
    assert "--servers does not belong to a scheduler's record" in refused


def test_columns_of_a_trace_are_named(tmp_path: Path) -> None:
    """As for generate, a table of jobs is read by its columns; too large jobs are left out."""
    path = tmp_path / "jobs.csv"
    path.write_text("job,n,at,run\na,1,0,10\nb,99,0,10\n")
    named = ("id=job", "gpus=n", "submit=at", "duration=run")
    flags = [part for pair in named for part in ("--column", pair)]
    finished = run("simulate", str(path), "--policy", "fifo", "--servers", "1", *flags, "--json")
    assert json.loads(finished.stdout)["jobs"] == 1
    assert "1 job larger than the cluster's 8 GPUs: left out" in finished.stderr


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


STOPPING = """
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
    (tmp_path / "own.py").write_text(STOPPING)
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


SLOW = """
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
def slow_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a folder with an instance, and methods, that take longer than any test waits."""
    slow_folder = tmp_path_factory.mktemp("progress")
    dlsched.save(dlsched.load("reclaiming-open-520-scattered"), slow_folder / "hard.json")
    (slow_folder / "slow_methods.py").write_text(SLOW)
    (slow_folder / "suite.toml").write_text(suite_text(FIG5, "slow_methods:sleeps"))
    return slow_folder


def terminal(
    slow_folder: Path, *arguments: str, answers: bool = False, columns: int = 100, **env: str
) -> tuple[subprocess.Popen[str], int]:
    """Start a command with a terminal as stderr, and as stdout if it is to show answers, too.

    Return the process and the other end of the terminal.
    """
    main, other = pty.openpty()
    streams = {"stdout": other, "stderr": other} if answers else {"stderr": other}
    wide = {"COLUMNS": str(columns), "TERM": "xterm"} | env
    process = started(MAIN, *arguments, cwd=slow_folder, env=wide, **streams)
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
        ("bench suite.toml -o results", ["0 of 1 runs", "lyra-fig5 slow_methods:sleeps"]),
        ("solve hard.json -m milp --json", ["searching preempted, level 1 of 2", "incumbent"]),
    ],
)
def test_commands_on_a_terminal(slow_folder: Path, command: str, words: list[str]) -> None:
    """A terminal shows how many runs are made, and the search, or which run a worker makes."""
    process, main = terminal(slow_folder, *command.split())
    read_until(main, *words)
    out = stop(process, main)
    if "--json" in command:
        assert json.loads(out)["status"] == "feasible"
    else:
        assert (out, process.returncode) == ("", 130)


def test_quiet(slow_folder: Path) -> None:
    """With --quiet stderr stays empty, on a terminal as well."""
    flags = ["--time-limit", "0.6", "--quiet"]
    process, main = terminal(slow_folder, "solve", "reclaiming-open-100-scattered", *flags)
    out, _ = process.communicate(timeout=PATIENCE)
    assert "time limit" in out
    with contextlib.suppress(OSError):  # nobody has the terminal open any more
        assert os.read(main, 100) == b""
    os.close(main)


FAST = "import time; true = time.monotonic; time.monotonic = lambda: 300 * true(); "
"""A clock on which an hour passes in 12 seconds."""


def test_lines_become_rarer(slow_folder: Path) -> None:
    """The first line comes after 2 seconds, the next when the time has doubled, or in a minute."""
    process = started(
        FAST + MAIN, "solve", "lyra-fig5", "-m", "slow_methods:sleeps", cwd=slow_folder
    )
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
    (tmp_path / "slow_methods.py").write_text(SLOW)
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
def test_nothing_remains_on_the_terminal(slow_folder: Path) -> None:
    """What was shown live is removed before the answer is written."""
    process, main = terminal(slow_folder, "solve", "hard.json", "-m", "milp", answers=True)
    read_until(main, "searching")
    process.send_signal(signal.SIGINT)
    shown = read_until(main, "seconds")
    process.wait(PATIENCE)
    os.close(main)
    before, _, after = shown.partition("instance  ")
    assert "\x1b[2K" in before and "\x1b[2K" not in after and "searching" not in after


@pytest.mark.parametrize(
    ("env", "coloured"), [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)]
)
def test_colours(env: dict[str, str], coloured: bool, tmp_path: Path) -> None:
    """A terminal shows a status in its colour, unless it has none or they are not wanted."""
    command = ["compare", "lyra-fig5", "-m", "lyra", "--quiet"]
    process, main = terminal(tmp_path, *command, answers=True, **env)
    shown = read_until(main, "feasible", "left out", "shows them")
    process.wait(PATIENCE)
    os.close(main)
    assert ("\x1b[33mfeasible" in shown) is coloured and ("\x1b" in shown) is coloured


def test_the_log_in_one_process(slow_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a sweep says of its workers is a line that stays; the logger is then as it was."""
    monkeypatch.syspath_prepend(slow_folder)
    logger = logging.getLogger("dlsched")
    before = logger.level, list(logger.handlers)
    said = run("solve", "lyra-fig5", "-m", "slow_methods:notices").stderr
    assert said == "Dask worker 3 is left out\n"
    assert (logger.level, logger.handlers) == before
