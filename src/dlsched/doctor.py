"""Whether dlsched works on this machine: versions, solvers, the cache of compiled loops."""

from __future__ import annotations

import importlib
import os
import platform
import re
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from importlib.metadata import (
    PackageNotFoundError,
    packages_distributions,
    requires,
    version,
)
from pathlib import Path

import dlsched
from dlsched import api
from dlsched.errors import SolverMissing, describe
from dlsched.problems import library
from dlsched.registry import BUILT_IN, problem
from dlsched.results.result import Status, Termination
from dlsched.run import Run
from dlsched.schema.files import JsonObject
from dlsched.solvers import highs
from dlsched.solvers.backend import find_backend
from dlsched.solvers.compilation import can_compile, entries, modules_with_entries
from dlsched.solvers.preparation import prepare
from dlsched.solvers.pyomo_backend import INTERFACES
from dlsched.solvers.standard_form import StandardForm

DEVELOPERS = frozenset({"all", "dev", "docs", "peers"})
"""Extras that are not reported: the sum of the others, and those for work on dlsched itself."""
EXAMPLE, METHOD = "lyra-fig5", "milp"
"""The instance of the library that is solved, and how."""
OTHERS = ("dlsched.simulation.bounds.relaxation",)
"""The modules with loops that no method preloads."""
_REQUIREMENT = re.compile(
    r"(?P<name>[\w.-]+)(\[[^]]*])?>=(?P<floor>[\w.]+)(; extra == '(?P<extra>[\w-]+)')?"
)
_OPTIMUM = 7
"""Of the integer program on which a solver is tried."""


@dataclass(frozen=True)
class Package:
    """A package, the extra that needs it (or nothing), the least version, and the one installed.

    ``failure`` is why it cannot be imported, or nothing.
    """

    name: str
    extra: str
    floor: str
    installed: str | None
    failure: str = ""

    @property
    def ok(self) -> bool:
        """Whether it is recent enough, and can be imported."""
        recent = self.installed is not None and release(self.installed) >= release(self.floor)
        return recent and not self.failure


@dataclass(frozen=True)
class SolverState:
    """A solver: its version, whether it is here and solves, how to get it, why it fails."""

    name: str
    installed: bool
    works: bool
    version: str | None = None
    install: str = ""
    failure: str = ""


@dataclass(frozen=True)
class CompiledLoops:
    """The cache of compiled loops.

    Attributes
    ----------
    folders, writable
        Where numba keeps them, and whether all these can be written to.
    cached, total
        How many of all the loops are in the cache for this version of dlsched, numba, Python and
        processor; ``cached`` is ``None`` if this version of numba does not tell.
    failure
        Why the modules with loops cannot be imported, or nothing.
    interpreted
        Whether numba is not installed, so that loops run as Python.
    """

    folders: tuple[str, ...] = ()
    writable: bool = False
    cached: int | None = None
    total: int = 0
    failure: str = ""
    interpreted: bool = False


@dataclass(frozen=True)
class Examination:
    """The state of an installation on this machine.

    Attributes
    ----------
    version, folder, python, executable
        Of dlsched and of the interpreter.
    packages
        Those that dlsched needs or can use; none if it is only found on the path.
    solvers, compiled
        The solvers, each tried, and the cache of compiled loops.
    instances, example, seconds
        Instances of the library; why the example is not solved to the known optimum, or nothing;
        how long that took.
    """

    version: str
    folder: str
    python: str
    executable: str
    packages: tuple[Package, ...]
    solvers: tuple[SolverState, ...]
    compiled: CompiledLoops
    instances: int
    example: str
    seconds: float

    @property
    def problems(self) -> list[str]:
        """What keeps the core from working, each with a remedy."""
        return list(self._problems())

    def _problems(self) -> Iterator[str]:
        for package in self.packages:
            if not package.ok and not package.extra:
                state = package.failure or package.installed or "missing"
                wanted = f"'{package.name}>={package.floor}'"
                yield f"{package.name}: {state}; python -m pip install --force-reinstall {wanted}"
        for solver in self.solvers:
            if solver.name == highs.NAME and not solver.works:
                yield f"the solver {solver.name} does not work: {solver.failure}; {solver.install}"
        if self.compiled.failure:
            remedy = "set NUMBA_CACHE_DIR to a folder that can be written to"
            yield f"modules with compiled loops fail: {self.compiled.failure}; {remedy}"
        if self.example:
            yield f"{EXAMPLE} is not solved: {self.example}; install dlsched again"

    @property
    def ok(self) -> bool:
        """Whether the core works."""
        return not self.problems

    def to_data(self) -> JsonObject:
        """Return plain JSON data."""
        return {"ok": self.ok, "problems": self.problems, **asdict(self)}


def examine(on_part: Callable[[str], None] = lambda part: None) -> Examination:
    """Examine this installation; it takes a few seconds, and nothing is compiled or written.

    Parameters
    ----------
    on_part
        Called with what is examined next.
    """
    on_part("packages")
    packages = tuple(found_packages())
    on_part("solvers, each on a small integer program")
    solvers = tuple(try_solver(name) for name in (highs.NAME, *INTERFACES))
    on_part("the core, on an instance of the library")
    began = time.perf_counter()
    instances, failure = _core()
    seconds = time.perf_counter() - began
    on_part("compiled loops")
    return Examination(
        version=dlsched.__version__,
        folder=str(Path(dlsched.__file__).parent),
        python=f"{platform.python_version()}, {platform.python_implementation()}",
        executable=sys.executable,
        packages=packages,
        solvers=solvers,
        compiled=compiled_loops(),
        instances=instances,
        example=failure,
        seconds=seconds,
    )


def release(text: str) -> tuple[int, ...]:
    """Return a version's leading numbers, without zeros at the end: ``2.0rc1`` is ``(2,)``."""
    leading = re.match(r"\d+(\.\d+)*", text)
    numbers = [int(part) for part in leading[0].split(".")] if leading else []
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)


def found_packages() -> Iterator[Package]:
    """Yield the packages that the installed dlsched declares, each imported."""
    try:
        declared = requires("dlsched") or []
    except PackageNotFoundError:
        return
    modules: dict[str, str] = {}
    for module, names in sorted(packages_distributions().items()):
        for name in map(_plain, names):
            if not module.startswith("_") and (name not in modules or _plain(module) == name):
                modules[name] = module
    for line in declared:
        match = _REQUIREMENT.fullmatch(line)
        if match and match["name"] != "dlsched" and match["extra"] not in DEVELOPERS:
            name, installed, failure = match["name"], None, ""
            try:
                installed = version(name)
                importlib.import_module(modules.get(_plain(name), "dlsched"))
            except PackageNotFoundError:
                pass
            except Exception as error:  # a broken installation may raise anything
                failure = f"{installed} cannot be imported ({describe(error)})"
            yield Package(name, match["extra"] or "", match["floor"], installed, failure)


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def try_solver(name: str) -> SolverState:
    """Maximize ``x + 2 y`` with ``x + y <= 4`` and integers up to 3: 7 by ``x = 1, y = 3``."""
    import numpy as np
    from scipy import sparse

    form = StandardForm.of(
        sparse.csc_array(np.array([[1.0, 1.0]])),
        np.array([-np.inf]),
        np.array([4.0]),
        np.array([3.0, 3.0]),
        np.array([1.0, 2.0]),
        sense="max",
    )
    install = INTERFACES[name].install if name in INTERFACES else "pip install highspy"
    run = Run(solver=name)
    try:
        outcome = find_backend(name).solve(form, 0, run, quiet=True)
    except SolverMissing:
        return SolverState(name, False, False, None, install, "it is not installed")
    except Exception as error:  # whatever a solver's interface raises is the answer
        return SolverState(name, True, False, run.solvers.get(name), install, describe(error))
    works = outcome.termination is Termination.PROVED and outcome.objective == _OPTIMUM
    failure = "" if works else f"{outcome.message}, objective {outcome.objective}"
    return SolverState(name, True, works, run.solvers.get(name), install, failure)


def _core() -> tuple[int, str]:
    """Return the number of instances in the library, and why one is not solved, or nothing."""
    count = 0
    try:
        names = library.names()
        count = len(names)
        files = (f for n in names for f in (library.instance_file(n), library.solution_file(n)))
        missing = sum(not file.exists() for file in files)
        if missing:
            return count, f"{missing} files of the library are missing"
        result = api.solve(EXAMPLE, METHOD)
        best = library.best_objective(api.load(EXAMPLE).sha256)
    except Exception as error:  # anything may be broken here
        return count, describe(error)
    solved = result.status is Status.OPTIMAL and result.objective == best
    return count, "" if solved else f"{result.status}, {result.objective} where {best} is known"


def compile_loops(on_compile: Callable[[str], None] | None = None) -> CompiledLoops:
    """Compile every loop of the library that is not in numba's cache yet, on all cores.

    Without it each problem compiles what it needs when it is first used.

    Parameters
    ----------
    on_compile
        Called with the name of each module that has such loops.
    """
    prepare(*_preloaded(), *OTHERS, package="dlsched", on_compile=on_compile)
    return compiled_loops()


def _preloaded() -> list[str]:
    """Return the modules of the problems' packages that methods preload."""
    owners = map(problem, BUILT_IN)
    parts = ((o.package, part) for o in owners for m in o.methods.values() for part in m.preload)
    return sorted({package + part for package, part in parts if part.startswith(".")})


def compiled_loops() -> CompiledLoops:
    """Import the modules with loops, and look their signatures up in numba's cache."""
    if not can_compile():
        return CompiledLoops(interpreted=True)
    try:
        for module in (*_preloaded(), *OTHERS):
            importlib.import_module(module)
        modules = [m for m in modules_with_entries() if m.partition(".")[0] == "dlsched"]
        loops = [entry for module in sorted(modules) for entry in entries(module)]
        states = [loop.is_cached(known) for loop in loops for known in loop.signatures]
        folders = {str(loop.compiled.stats.cache_path) for loop in loops}
    except Exception as error:  # numba raises errors of several kinds
        return CompiledLoops(failure=describe(error))
    cached = None if None in states else sum(map(bool, states))
    return CompiledLoops(
        tuple(sorted(folders)), all(map(_is_writable, folders)), cached, len(states)
    )


def _is_writable(folder: str) -> bool:
    """Whether a folder, or the nearest folder above it that exists, can be written to."""
    path = Path(folder)
    while not path.exists() and path != path.parent:
        path = path.parent
    return os.access(path, os.W_OK)
