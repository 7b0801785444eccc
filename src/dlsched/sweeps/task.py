"""A task: one run of a sweep as plain data, its key, and the identity of the code that makes it."""

import contextlib
import hashlib
import json
import logging
import os
import platform
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache, cached_property
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from dlsched import registry
from dlsched.errors import InstanceError, UnknownName
from dlsched.execution import sources
from dlsched.registry.methods import Options
from dlsched.schema.files import replace_file
from dlsched.simulation.policies import find_policy
from dlsched.solvers import highs
from dlsched.solvers.backend import PyomoBackend
from dlsched.sweeps.specs import BOUND, SIMULATION, InstanceSpec, WorkloadSpec

Code = Mapping[str, str]
"""Digests and versions by name: ``python``, ``numpy``, ``code of dlsched``, ``module mine``."""
LIBRARY = "code of dlsched"
PACKAGES = ("dlsched", "highspy", "pyomo", "numpy", "scipy", "rustworkx", "cvxpy")
"""Packages that results and times depend on."""
_OF_SOLVERS = ("cvxopt", "pyscipopt")
"""Packages that other solvers come with."""
_SHOWN = 12
"""Characters of a digest in messages."""
MOST_DATA = 16 * 2**20
"""Bytes of a data file that is copied."""
_CODE = (".py", ".pyc", ".pyi", ".so", ".pyd")
_logger = logging.getLogger("dlsched")


@dataclass(frozen=True)
class Limits:
    """Limits of a run.

    Attributes
    ----------
    time_limit
        Seconds for the method, which ends by itself.
    wall_limit
        Seconds after which the run's process is killed. Making the instance and loading the method
        do not count.
    memory_limit_gib
        GiB of resident memory at which the process is killed; by default the run's share of what
        there is, see `dlsched.sweeps.work.memory_share`.
    gap, threads, solver
        As for `dlsched.solve`.
    """

    time_limit: float | None = None
    wall_limit: float = 3600.0
    memory_limit_gib: float | None = None
    gap: float = 0.0
    threads: int = 1
    solver: str = "highs"

    def for_solve(self) -> dict[str, Any]:
        """Return the keyword arguments for `dlsched.solve`."""
        names = ("time_limit", "gap", "threads", "solver")
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True)
class Task:
    """One run: an instance, a method with options and seed, limits; ``repetition`` counts from 0.

    A simulation has a workload as its instance and a policy as its method; its options are the
    keyword arguments of `dlsched.simulation.simulate`, ``method`` and ``variant`` among them.
    ``folder`` is where the user's own modules are looked for. ``code`` is the identity of the code
    that the run was planned with.
    """

    instance: InstanceSpec | WorkloadSpec
    method: str
    options: Options
    seed: int
    repetition: int
    limits: Limits
    folder: str
    code: Code

    @cached_property
    def key(self) -> str:
        """Digest of everything that the row depends on, planned code and versions included."""
        whole = {
            "problem": self.instance.problem,
            "instance": self.instance.identity,
            "method": self.method,
            "options": dict(self.options),
            "seed": self.seed,
            "repetition": self.repetition,
            "limits": asdict(self.limits),
            "code": dict(self.code),
        }
        return hashlib.sha256(json.dumps(whole, sort_keys=True, default=repr).encode()).hexdigest()

    def code_here(self, age: float = 0.0) -> Code:
        """Return the identity of the code that this process would make the run with.

        What is known of the library may be some seconds old.
        """
        own = users_modules(self.instance.problem, self.method, self.options)
        return _code(own, self.folder, self.limits.solver, sources.library_identity(age))


def planned(tasks: Iterable[Task]) -> Iterator[Task]:
    """Yield tasks that are to be made by the code as it is now; equal codes are one object.

    Raises
    ------
    DlschedError
        If a problem or solver is not installed here.
    """
    sources.forget()
    library, known = sources.library_identity(), dict[Any, Code]()
    for task in tasks:
        own = users_modules(task.instance.problem, task.method, task.options)
        place = own, task.folder, task.limits.solver
        if place not in known:
            known[place] = _code(*place, library)
        yield replace(task, code=known[place])


def _code(own: Sequence[str], folder: str, solver: str, library: str) -> Code:
    code = {**versions(), LIBRARY: library}
    code |= {name: installed_version(name) for name in _OF_SOLVERS}
    if solver != highs.NAME:
        code[f"solver {solver}"] = PyomoBackend(solver).version
    for module in own:
        code |= sources.modules_of(module, folder)
    return code


def differences(planned: Code, found: Code) -> str:
    """Return what differs from the plan, in words; an empty text if nothing does."""
    told = []
    for name in sorted({*planned, *found}):
        if planned.get(name) != found.get(name):
            told.append(f"{name} is {_brief(found, name)}, planned is {_brief(planned, name)}")
    return "; ".join(told)


def _brief(code: Code, name: str) -> str:
    digest = name == LIBRARY or name.startswith(sources.MODULE)
    return code.get(name, "not there")[: _SHOWN if digest and name in code else None]


def freeze(tasks: Sequence[Task], target: Path) -> list[Task]:
    """Copy the user's modules that tasks name, with all that these import; return the tasks there.

    The copies are in a folder under `target` that is named after the modules' digest. Of packages
    it has the data files as well, as they were when it was made. A warning names what these modules
    may read and is not copied.

    Raises
    ------
    InstanceError
        If a module has changed since the tasks were planned.
    """
    files: dict[str, Path] = {}
    digests: dict[str, str] = {}
    for task in {id(task.code): task for task in tasks}.values():
        for module in users_modules(task.instance.problem, task.method, task.options):
            files |= sources.own_files(module, task.folder)
        digests |= {n: d for n, d in task.code.items() if n.startswith(sources.MODULE)}
    if not files:
        return list(tasks)
    name = hashlib.sha256(json.dumps(digests, sort_keys=True).encode()).hexdigest()[:_SHOWN]
    folder = target.resolve() / name
    for module, path in files.items():
        content = path.read_bytes()
        if hashlib.sha256(content).hexdigest() != digests[f"{sources.MODULE}{module}"]:
            raise InstanceError(str(path), "", "changed while it was planned", "begin again")
        place = folder.joinpath(*module.split("."))
        if path.stem == "__init__":
            _copy(content, place / path.name)
            for data in _data_of(path.parent):
                if not (copy := place / data.relative_to(path.parent)).exists():
                    _copy(data.read_bytes(), copy)
            continue
        _copy(content, place.with_name(place.name + path.name[path.name.index(".") :]))
        if "." not in module and b"__file__" in content:
            notice(
                f"{path} has __file__ and is in no package: files beside it are not copied into "
                "the sweep's folder, where its runs would look for them"
            )
    return [replace(task, folder=str(folder)) for task in tasks]


def _copy(content: bytes, file: Path) -> None:
    if not file.exists() or file.read_bytes() != content:
        file.parent.mkdir(parents=True, exist_ok=True)
        replace_file(file, content)


def _data_of(package: Path) -> Iterator[Path]:
    """Yield the data files of a package: no code, no results of sweeps, nothing hidden."""
    for entry in sorted(package.iterdir()):
        if entry.name.startswith((".", "__pycache__")) or entry.suffix in _CODE:
            continue
        if entry.is_dir():
            if not any((entry / name).exists() for name in ("__init__.py", "results.sqlite")):
                yield from _data_of(entry)
        elif entry.stat().st_size <= MOST_DATA:
            yield entry
        else:
            notice(f"{entry} is larger than {MOST_DATA >> 20} MiB: runs do not have it")


def notice(text: str) -> None:
    """Log a warning, which the command line shows."""
    _logger.warning("%s", text, extra={"notice": True})


def users_modules(problem: str, method: str, options: Options) -> tuple[str, ...]:
    """Return the modules that a run names and that are not dlsched's, sorted."""
    return _users_modules(problem, method, tuple(_texts([options])))


@cache
def _users_modules(problem: str, method: str, texts: tuple[str, ...]) -> tuple[str, ...]:
    named = {m for m in _homes(problem, method, texts) if m.partition(".")[0] != "dlsched"}
    return tuple(sorted(named))


def _homes(problem: str, method: str, texts: tuple[str, ...]) -> Iterator[str]:
    """Yield the modules that the code of a run comes from, those of dlsched among them."""
    if problem == SIMULATION and method == BOUND:
        return
    with contextlib.suppress(UnknownName):  # the run fails with it
        if problem != SIMULATION:
            yield from _homes_of_method(problem, method)
        elif ":" not in method:
            kind = find_policy(method)
            yield kind.__module__
            for solver in texts if kind.problem is not None else ():
                with contextlib.suppress(UnknownName):
                    yield from _homes_of_method(kind.problem, solver)
    for name in (method, *texts):
        module, colon, attribute = name.partition(":")
        if colon and attribute.isidentifier():
            yield module


def _homes_of_method(problem: str, method: str) -> Iterator[str]:
    owner = registry.problem(problem)
    yield f"{owner.package}.*"
    if ":" not in method:
        yield owner.method(method).home


def _texts(values: Iterable[Any]) -> Iterator[str]:
    """Yield the texts among options, which may name functions."""
    for value in values:
        if isinstance(value, str):
            yield value
        elif isinstance(value, Mapping):
            yield from _texts(value.values())
        elif isinstance(value, list | tuple):
            yield from _texts(value)


@cache
def versions() -> Mapping[str, str]:
    """Return the versions of Python and of the packages that results depend on."""
    installed = {name: installed_version(name) for name in PACKAGES}
    return {"python": platform.python_version(), **installed}


@cache
def installed_version(package: str) -> str:
    """Return the version of an installed package, or that it is not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


@cache
def machine() -> str:
    """Return the processor, its cores, and the operating system."""
    return f"{processor()}, {os.cpu_count()} cores, {platform.system()}"


def processor() -> str:
    """Return the processor's name."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()
