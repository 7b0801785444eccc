"""The identity of the code that makes a run: digests of source files, and versions.

`code_of` is the one notion of it. The plan of a sweep computes it from the files as they are, and
it is part of a run's key; a worker computes it from what it has imported (`recorder`), and the
runner refuses a row whose code is not the planned one.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from dlsched import registry
from dlsched.errors import UnknownName
from dlsched.execution import sources
from dlsched.registry.methods import Options
from dlsched.simulation.policies import find_policy
from dlsched.solvers import highs
from dlsched.solvers.pyomo_backend import PyomoBackend
from dlsched.sweeps.machine import installed_version, versions
from dlsched.sweeps.workload_spec import BOUND, SIMULATION

Code = Mapping[str, str]
"""Digests and versions by name: ``python``, ``numpy``, ``code of dlsched``, ``module mine``."""

LIBRARY = "code of dlsched"
_HARMLESS = (
    *("sweeps/", "cli/", "display/", "problems/", "testing/"),
    *("api/records.py", "results/performance_profiles.py"),
)
"""How the files begin that no result depends on, but for those of `_OF_ROWS` and of a problem."""
_NOT_OF_PROBLEMS = ("simulation/", "records/traces/")
"""Parts that stand above the problems, on which only simulations depend."""
_OF_ROWS = (
    *(
        f"sweeps/{name}.py"
        for name in ("execution", "instance_spec", "simulations", "workload_spec")
    ),
    *("display/__init__.py", "display/table.py", "problems/__init__.py"),
)
"""Files in those folders that make the rows, or their instances."""
_OF_SOLVERS = ("cvxopt", "pyscipopt")
"""Packages that other solvers come with."""
_SHOWN = 12
"""Characters of a digest in messages."""


def code_of(
    problem: str, method: str, options: Options, folder: str, solver: str = highs.NAME
) -> Code:
    """Return the identity of the code that a run depends on.

    Parameters
    ----------
    problem
        A problem's name, or `SIMULATION`.
    method, options
        Those of the task; a policy for a simulation.
    folder
        Where the user's own modules are looked for first.
    solver
        As for `dlsched.solve`; the version of another one than HiGHS is part of the code.

    Raises
    ------
    DlschedError
        If the problem or the solver is not installed here.
    """
    return _code(problem, users_modules(problem, method, options), folder, solver)


def users_modules(problem: str, method: str, options: Options) -> tuple[str, ...]:
    """Return the modules that a run names and that are not dlsched's, sorted."""
    named = {m for m in homes(problem, method, options) if m.partition(".")[0] != "dlsched"}
    return tuple(sorted(named))


@cache
def _code(problem: str, own: Sequence[str], folder: str, solver: str) -> Code:
    code = dict(versions()) | {LIBRARY: library_digest(problem)}
    code |= {name: installed_version(name) for name in _OF_SOLVERS}
    if solver != highs.NAME:
        code[f"solver {solver}"] = PyomoBackend(solver).version
    for module in own:
        code |= sources.modules_of(module, folder)
    return code


def has_own_modules(code: Code) -> bool:
    """Whether modules of the user are part of the code."""
    return any(name.startswith(sources.MODULE) for name in code)


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


def forget() -> None:
    """Clear the caches, since files may have changed; only where a sweep is planned."""
    sources.forget()
    _code.cache_clear()
    library_digest.cache_clear()


@cache
def library_digest(problem: str) -> str:
    """Return the digest of dlsched's own code that a result of this problem depends on."""
    root = Path(__file__).parents[1]
    total = hashlib.sha256()
    for file in sorted(_library_files(root, problem)):
        name = ".".join(("dlsched", *file.relative_to(root).with_suffix("").parts))
        name = name.removesuffix(".__init__")
        total.update(name.encode() + b"\0" + sources.digest_of_file(name, file).encode())
    return total.hexdigest()


def _library_files(root: Path, problem: str) -> Iterator[Path]:
    simulated = problem == SIMULATION
    harmless = _HARMLESS if simulated else (*_HARMLESS, *_NOT_OF_PROBLEMS)
    counted = (*_OF_ROWS, "problems/" if simulated else f"problems/{problem}/")
    for file in root.rglob("*.py"):
        name = file.relative_to(root).as_posix()
        if name.startswith(counted) or not name.startswith(harmless):
            yield file


def homes(problem: str, method: str, options: Options) -> Iterator[str]:
    """Yield the modules that the code of a run comes from, those of dlsched among them."""
    if problem == SIMULATION and method == BOUND:
        return
    with contextlib.suppress(UnknownName):  # the run fails with it
        if problem == SIMULATION:
            yield from _homes_of_policy(method, options.get("method"))
        else:
            yield from _homes_of_method(problem, method)
    for name in (method, *_texts(options.values())):
        module, colon, attribute = name.partition(":")
        if colon and attribute.isidentifier():
            yield module


def _homes_of_method(problem: str, method: str) -> Iterator[str]:
    owner = registry.problem(problem)
    yield f"{owner.package}.*"
    if ":" not in method:
        yield owner.method(method).home


def _homes_of_policy(policy: str, method: str | None) -> Iterator[str]:
    if ":" in policy:
        return
    kind = find_policy(policy)
    yield kind.__module__
    if kind.problem is not None and method is not None and ":" not in method:
        yield from _homes_of_method(kind.problem, method)


def _texts(values: Iterable[Any]) -> Iterator[str]:
    """Yield the texts among options, which may name functions."""
    for value in values:
        if isinstance(value, str):
            yield value
        elif isinstance(value, Mapping):
            yield from _texts(value.values())
        elif isinstance(value, list | tuple):
            yield from _texts(value)
