"""Where a system has less than Linux, what it has works, and a sweep says what it cannot limit."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import dlsched
from calls import FIG5, python, suite_text

CHILD = """
import os, select, signal, sys

# Other libraries find out for themselves what a system has.
import highspy, numpy, pandas, psutil, pydantic, pyomo.environ, rich, scipy.optimize, typer
import hypothesis, subprocess, tempfile, multiprocessing, asyncio, socket, filelock, rustworkx

for module in ("resource", "fcntl", "pwd", "grp", "termios", "posix"):
    sys.modules[module] = None
for module, names in {
    signal: ("SIGKILL", "SIGHUP", "SIGUSR1", "SIGUSR2", "SIGALRM", "SIGQUIT", "SIGCHLD", "SIGPIPE"),
    os: ("killpg", "getpgid", "setsid", "fork", "sysconf", "sched_getaffinity", "getloadavg",
         "uname", "set_blocking", "getuid", "WNOHANG"),
    select: ("poll", "epoll"),
}.items():
    for name in names:
        if hasattr(module, name):
            delattr(module, name)

import importlib, pkgutil
import dlsched

for found in pkgutil.walk_packages(dlsched.__path__, "dlsched."):
    if not found.name.endswith("__main__"):
        importlib.import_module(found.name)

from typer.testing import CliRunner
from dlsched.sweeps import run_suite
from dlsched.cli import app

for arguments in (["--help"], ["list", "problems"], ["verify", "lyra-fig5"], ["doctor"]):
    answer = CliRunner().invoke(app, arguments)
    print(arguments[0], answer.exit_code, type(answer.exception).__name__)
try:
    run_suite(sys.argv[1], sys.argv[2])
except dlsched.OptionError as error:
    print(error)
"""


def test_no_module_needs_what_only_unix_has() -> None:
    """Modules that Windows does not have are imported in functions, where it can be said."""
    for path in (Path(dlsched.__file__).parent).rglob("*.py"):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.Import | ast.ImportFrom):
                names = {alias.name for alias in node.names} | {getattr(node, "module", None)}
                assert not names & {"resource", "fcntl", "pwd", "grp", "termios"}, path


@pytest.mark.slow
def test_a_system_without_unix_has_the_command_line(tmp_path: Path) -> None:
    """All modules import and commands run; a sweep ends before it writes anything."""
    suite, out = tmp_path / "tiny.toml", tmp_path / "out"
    suite.write_text(suite_text(FIG5, "lyra"))
    lines = python(CHILD, suite, out).stdout.splitlines()
    assert [line.split()[:2] for line in lines[:2]] == [["--help", "0"], ["list", "0"]]
    assert all(line.split()[2] in ("NoneType", "SystemExit") for line in lines[:4]), lines
    assert "cannot limit the time and memory of runs here" in lines[4]
    assert "Dask cluster" in lines[4]
    assert not out.exists()
