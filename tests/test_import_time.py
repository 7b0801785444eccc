"""``import dlsched`` is light, and needs nothing that only Unix has."""

from __future__ import annotations

import ast
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

import dlsched
from calls import FIG5, python, suite_text
from dlsched.sweeps import read_suite

HEAVY = ["pyomo", "highspy", "pandas", "matplotlib", "scipy", "hypothesis", "networkx"]
HEAVY += ["cvxpy", "rustworkx", "rich", "typer"]


def loaded(code: str) -> set[str]:
    """Return which heavy libraries a fresh interpreter holds after running some code."""
    report = f"{code}\nimport sys\nprint()\nprint(*[m for m in {HEAVY} if m in sys.modules])"
    return set(python(report).stdout.splitlines()[-1].split())


def test_import_is_light() -> None:
    """Importing, loading and checking need neither a solver nor a modelling language."""
    assert loaded("import dlsched") == set()
    envelope = {"dlsched": 1, "problem": "reclaiming"}
    data = envelope | {"name": "t", "demand": 0, "servers": [], "jobs": []}
    solution = envelope | {"instance": "t", "returned": []}
    code = f"import dlsched; assert dlsched.verify({data}, {solution}).feasible"
    assert not loaded(code) & {"pyomo", "highspy", "pandas", "matplotlib", "hypothesis"}


FIRST_CALLS = """
import os, sys, dlsched
from dlsched import registry
for name, asked in {calls!r}:
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        instance = dlsched.load(name)
        owner = registry.problem(instance.problem)
        method = owner.resolve(asked, instance)
        method.load()
        before = set(sys.modules)
        dlsched.solve(instance, method, time_limit=60)
        # Kernels that are built register a module of types that they share, which is no import.
        for module in sorted(m for m in set(sys.modules) - before if not m.startswith("_cython")):
            print(name, asked, module, flush=True)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
"""


def test_a_first_call_imports_nothing() -> None:
    """What a method needs is imported before its clock starts, also that of NumPy and of texts."""
    calls = [("lyra-fig5", "lyra"), ("lyra-table2", "lyra"), ("lyra-fig5", "milp")]
    assert python(FIRST_CALLS.format(calls=calls)).stdout == ""


@pytest.mark.slow
def test_no_first_call_imports_anything() -> None:
    """So it is of each method of the demo."""
    tasks = read_suite(Path(__file__).parents[1] / "benchmarks" / "suites" / "demo.toml").tasks()
    first = {(task.instance.problem, task.method): task.instance.name for task in tasks}
    calls = [(name, method) for (_, method), name in first.items()]
    assert len(calls) > 30
    assert python(FIRST_CALLS.format(calls=calls)).stdout == ""


@pytest.mark.parametrize("package", [dlsched, dlsched.records])
def test_public_names_are_those_that_type_checkers_see(package: ModuleType) -> None:
    """What is imported at first use is what type checkers see; modules are attributes."""
    source = ast.parse(Path(str(package.__file__)).read_text())
    block = next(node for node in source.body if isinstance(node, ast.If))
    imports = [node for node in block.body if isinstance(node, ast.ImportFrom)]
    seen = {alias.name: f"{node.module}" for node in imports for alias in node.names}
    assert {*seen} <= {*package.__all__, *dir(package)}
    for name, module in seen.items():
        there = getattr(import_module(module), name, None) or import_module(f"{module}.{name}")
        assert getattr(package, name) is there
    assert all(getattr(package, name) is not None for name in package.__all__)
    code = "import dlsched; dlsched.simulation.simulate; assert not hasattr(dlsched, 'no_such')"
    python(code)


def test_help_imports_no_command() -> None:
    """The list of commands needs no library but that of the command line."""
    code = "import sys; sys.argv = ['dlsched', '--help']\nfrom dlsched.cli import main\n"
    code += "try: main()\nexcept SystemExit: pass\nprint()\n"
    code += "assert not {'dlsched.cli.solve', 'dlsched.api', 'numpy', 'pydantic'} & {*sys.modules}"
    assert not loaded(code) & (set(HEAVY) - {"rich", "typer"})


def test_pyomo_is_imported_without_what_it_does_not_need() -> None:
    """A first solve leaves out parts of libraries, and afterwards they are the real ones."""
    code = """
import sys, dlsched
dlsched.solve("lyra-fig5")
assert "pyomo.core" in sys.modules
assert not {"pyomo.environ", "scipy.stats", "numpy.f2py"} & {*sys.modules}
from scipy.stats.distributions import norm
import numpy, scipy, scipy.spatial
assert norm.cdf(0.0) == 0.5 and scipy.stats.norm is norm and scipy.spatial.distance
assert callable(numpy.f2py.run_main)
import pyomo.environ
assert "gurobi" in pyomo.environ.SolverFactory and "scipy.stats" in sys.modules
"""
    python(code)


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
