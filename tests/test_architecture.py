"""What may import what, what proofs share with their check, and that `import dlsched` is light."""

import ast
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any, NamedTuple

import networkx as nx
import pytest

import dlsched
from calls import python
from dlsched import Run, library, registry
from dlsched.proofs.document import read_proof
from dlsched.sweeps import read_suite
from import_graph import CORE, MODULES, SRC, graph, package_of, packages, targets, tree

PROBLEMS = set(dlsched.list_problems())
DEFINITION = ("schema", "check", "oracle")
PAGE = Path(__file__).parents[1] / "docs" / "architecture.md"


def test_imports_go_down() -> None:
    """Neither modules nor packages import each other in a circle, problems no other problem."""
    for imports in (graph(), packages()):
        assert [part for part in nx.strongly_connected_components(imports) if len(part) > 1] == []
    owners = [[n.split(".")[1] for n in edge if n.split(".")[1:2] and n.split(".")[1] in PROBLEMS]
              for edge in graph().edges]  # fmt: skip
    assert [found for found in owners if len(set(found)) > 1] == []


def test_the_core_imports_nothing_else() -> None:
    """What solves, verifies and proves could be installed alone."""
    assert set(packages()) >= CORE
    assert {(a, b) for a, b in packages().edges if a in CORE and b not in CORE} == set()


ALONE = """
import importlib, sys

class Missing:
    def find_spec(name, path=None, target=None):
        if name.startswith("dlsched.") and name.split(".")[1] not in {core!r}:
            raise ImportError(name)

sys.meta_path.insert(0, Missing)
for module in {modules!r}:
    importlib.import_module(f"dlsched.{{module}}")

import dlsched
for problem in dlsched.list_problems():
    instance = dlsched.load({examples!r}[problem])
    best = dlsched.solve(instance)
    repr(best), best._repr_html_()
    assert best.status == "optimal" and dlsched.verify(instance, best.solution).feasible
    assert len(dlsched.check_proof(instance, dlsched.prove(instance, best.solution)).levels)
    assert dlsched.bound(instance) and dlsched.generate(problem, 1)
    dlsched.plot(best)
assert len(dlsched.compare(["lyra-fig5"], ["exact", "lyra"])) == 2
"""


def test_the_core_works_alone() -> None:
    """So it does where the rest cannot be imported: by no statement, no name and no entry point."""
    modules = sorted(name for name in MODULES if package_of(name) in CORE)
    examples = {
        name: registry.problem(name).module("generate").examples()[0].name for name in PROBLEMS
    }
    code = ALONE.format(core=CORE, modules=modules, examples=examples)
    python(code, env={"MPLBACKEND": "Agg"})


def test_records_are_data() -> None:
    """What reads records knows neither the simulator nor what stands on it."""
    upper = {"simulation", "sweeps", "studies", "cli"}
    assert not upper & nx.descendants(packages(), "records")


def test_the_root_has_six_modules_at_most() -> None:
    """A reader sees at the root only what the library consists of."""
    modules = {path.stem for path in SRC.glob("*.py")}
    assert len(modules - {"__init__", "__main__"}) <= 6


SIMULATION = ["kernels", "workload", "log", "measures", "engine", "policies", "bounds", "audit"]
"""Folders of the simulator: none imports one that stands after it; what is left stands last."""


def test_the_simulator_has_layers() -> None:
    """Folders of the simulator import those below them alone."""

    def number(name: str) -> int:
        part = name.split(".")[1]
        return SIMULATION.index(part) if part in SIMULATION else len(SIMULATION)

    inside = [edge for edge in graph().edges
              if all(name.startswith("simulation.") for name in edge)]  # fmt: skip
    assert [edge for edge in inside if number(edge[1]) > number(edge[0])] == []


def test_the_check_of_proofs_imports_no_search() -> None:
    """What has to be trusted when a proof is checked has nothing of what made the proof."""
    checks = ("proofs.check", "proofs.bounds")
    used = set().union(*(nx.descendants(graph(), check) for check in checks))
    search = {f"proofs.{part}" for part in ("search", "relaxation", "sum_search", "prove")}
    assert search <= set(MODULES) and not used & search


@pytest.mark.parametrize("part", DEFINITION)
@pytest.mark.parametrize("name", dlsched.list_problems())
def test_the_definition_stands_alone(name: str, part: str) -> None:
    """Schema, checker and brute force share no code with the methods that they test."""
    package = f"problems.{name}"
    used = nx.descendants(graph(), f"{package}.definition.{part}")
    own = {module for module in used if module.startswith(f"{package}.")}
    assert not {module for module in own if module.split(".")[2] != "definition"}
    assert not any(module.startswith("solvers") for module in used)


def test_the_auditor_stands_alone() -> None:
    """The auditor of simulations shares no code with what simulates, decides or summarizes."""
    used = nx.descendants(graph(), "simulation.audit")
    shared = {"audit", "clock", "cluster", "job", "log", "profiles", "workload"}
    inside = {name.split(".")[1] for name in used if name.startswith("simulation.")}
    assert inside <= shared


def test_lazy_imports_are_of_other_libraries() -> None:
    """Import statements inside functions are of third-party libraries only."""
    own = [
        (name, ast.unparse(node))
        for name in MODULES
        for function in ast.walk(tree(name))
        if isinstance(function, ast.FunctionDef)
        for node in ast.walk(function)
        if isinstance(node, ast.Import | ast.ImportFrom) and list(targets(node))
    ]
    assert own == []


PROVED = [
    "lyra-fig5", "lyra-fig6", "lyra-fig6-loan", "workers-two-readings", "muri-fig4",
    "interleaving-24", "hadar-section2", "utility-8x20", "utility-small-06", "synergy-two-servers",
    "mast-two-regions", "placement-small-03", "mast-ten-gpus",
]  # fmt: skip
"""Instances whose shipped proofs have the forms of all problems."""


class Row(NamedTuple):
    """A line of the page's table: names of modules, packages or functions, and the reason."""

    names: tuple[str, ...]
    users: str
    reason: str

    def has(self, function: str) -> bool:
        """Whether a function, or a module, is one of these, or in one of them."""
        return any(_within(function, name) for name in self.names)


def _within(function: str, name: str) -> bool:
    """Whether a function or module is the one of a name, or in it; ``*`` stands for any part."""
    pattern = name.replace(".", r"\.").replace("*", r"\w+") + r"(\..*)?"
    return re.fullmatch(pattern, function) is not None


@cache
def tables() -> tuple[list[Row], list[Row]]:
    """Return the rows of what is shared, and of what the check alone has."""
    text = (PAGE.parent / "proofs.md").read_text(encoding="utf-8")
    section = text.split("### What finding and checking share")[1].split("\n## ")[0]
    found = []
    for line in section.splitlines():
        if line.startswith("| `"):
            first, users, reason = (cell.strip() for cell in line.strip("|").split("|"))
            found.append(Row(tuple(re.findall("`([^`]+)`", first)), users, reason))
    return [r for r in found if r.users != "the check"], [
        r for r in found if r.users == "the check"
    ]


@contextmanager
def recording(seen: set[str]) -> Iterator[None]:
    """Add the functions of dlsched that are called within the block, without its own name."""

    def note(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(str(SRC)):
            module = ".".join(Path(code.co_filename).relative_to(SRC).with_suffix("").parts)
            if not module.endswith("__init__") and code.co_qualname != "<module>":
                seen.add(f"{module}.{code.co_qualname}")

    sys.setprofile(note)
    try:
        yield
    finally:
        sys.setprofile(None)


@cache
def checking() -> frozenset[str]:
    """Return the functions called while proofs are checked."""
    seen: set[str] = set()
    for name in PROVED:
        instance, file = dlsched.load(name), library.proof_file(name)
        assert file is not None
        proof = read_proof(file)
        with recording(seen):
            dlsched.check_proof(instance, proof)
    return frozenset(seen)


@cache
def finding() -> frozenset[str]:
    """Return the functions called by all methods, and by what chooses forms for proofs.

    A form that a search for a proof has built, and what it is to prove, are the check's by design.
    """
    seen: set[str] = set()
    for name in PROVED:
        instance = dlsched.load(name)
        owner = registry.problem(instance.problem)
        best = dlsched.solve(instance).solution
        for method in owner.methods:
            with recording(seen), suppress(dlsched.DlschedError):
                dlsched.solve(instance, method, time_limit=5)
        for place in filter(owner.has_module, ("form_choices", "exact")):
            choices = getattr(owner.module(place), "choices", lambda *_: ())
            for level in range(len(owner.levels)):
                with recording(seen):
                    list(choices(instance, best, level, Run()))
    return frozenset(seen)


def _unlisted(functions: set[str], rows: list[Row]) -> list[str]:
    return sorted({f for f in functions if not any(row.has(f) for row in rows)})


def test_what_the_check_calls_is_listed() -> None:
    """Every function that a check calls is in a row; a row has a user, a reason, known modules."""
    shared, own = tables()
    assert _unlisted(set(checking()), [*shared, *own]) == []
    shared, own = tables()
    assert len(shared) > 10 and own
    for row in [*shared, *own]:
        assert row.names and row.users and row.reason
        for name in row.names:
            assert any(_within(m, name) or _within(name, m) for m in MODULES), name


def imported(name: str) -> list[str]:
    """Return the modules of a problem that its forms and its model reach by imports."""
    package = f"problems.{name}."
    tops = [
        f"{package}{part}" for part in ("programs.forms", "model") if f"{package}{part}" in MODULES
    ]
    reached = set(tops).union(*(nx.descendants(graph(), top) for top in tops))
    return sorted(module for module in reached if module.startswith(package))


@pytest.mark.parametrize("name", dlsched.list_problems())
def test_what_forms_import_is_listed(name: str) -> None:
    """So is every module of the problem that its forms and its model reach by imports."""
    names = [name for rows in tables() for row in rows for name in row.names]
    missing = [m for m in imported(name) if not any(_within(m, n) or _within(n, m) for n in names)]
    assert missing == []


@pytest.mark.slow
def test_what_is_shared_is_listed() -> None:
    """What finding calls, too, is in a row of what is shared; no row is without such a function.

    A module that a problem's forms or model only import may have a row, too.
    """
    shared, own = tables()
    both = set(checking() & finding())
    assert _unlisted(both, shared) == []
    used = both.union(*map(imported, dlsched.list_problems()))
    assert [row.names for row in shared if not any(map(row.has, used))] == []
    alone = {f for f in finding() if any(row.has(f) for row in own)}
    assert _unlisted(alone, shared) == []


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
    seen = {}
    for node in imports:
        module = f"{node.module}"
        names = [alias.name for alias in node.names]
        seen |= dict.fromkeys(import_module(module).__all__ if names == ["*"] else names, module)
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
from dlsched.cli import app

for arguments in (["--help"], ["list", "problems"], ["verify", "lyra-fig5"], ["doctor"]):
    answer = CliRunner().invoke(app, arguments)
    print(arguments[0], answer.exit_code, type(answer.exception).__name__)
"""


def test_no_module_needs_what_only_unix_has() -> None:
    """Modules that Windows does not have are imported in functions, where it can be said."""
    for path in (Path(dlsched.__file__).parent).rglob("*.py"):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.Import | ast.ImportFrom):
                names = {alias.name for alias in node.names} | {getattr(node, "module", None)}
                assert not names & {"resource", "fcntl", "pwd", "grp", "termios"}, path


@pytest.mark.slow
def test_a_system_without_unix_has_the_command_line() -> None:
    """All modules import, and commands run."""
    lines = python(CHILD).stdout.splitlines()
    assert [line.split()[:2] for line in lines[:2]] == [["--help", "0"], ["list", "0"]]
    assert all(line.split()[2] in ("NoneType", "SystemExit") for line in lines), lines
