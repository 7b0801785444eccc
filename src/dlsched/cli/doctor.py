"""``dlsched doctor``: the versions, solvers and built loops that dlsched has here."""

import platform
import re
import sys
from collections.abc import Iterator
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from dlsched.cli.exits import Exit
from dlsched.cli.output import Answer, fields, put_line, stdout_for_answers
from dlsched.cli.progress import say
from dlsched.cli.tables import put_table
from dlsched.errors import SolverMissing, describe
from dlsched.names import VERSION
from dlsched.results.result import Termination
from dlsched.run import Run, Stage
from dlsched.schema.files import JsonObject
from dlsched.solvers.backend import BUILT_IN, INTERFACES, find_backend
from dlsched.solvers.kernels import kernels
from dlsched.solvers.standard_form import StandardForm

_DEVELOPERS = {"all", "dev", "docs", "peers"}
"""Extras that are not shown: the sum of the others, and those for work on dlsched itself."""
_REQUIREMENT = re.compile(r"^([\w.-]+)(?:\[.*])?([^;\n]*)(?:;.*extra == '([\w-]+)')?", re.M)


def doctor() -> Answer:
    """Show versions, solvers and built loops.

    Exit status 1 if HiGHS, the solver that comes with dlsched, does not solve.
    """
    say(Stage.CHECKING, "solvers, each on a small integer program")
    with stdout_for_answers():  # solvers print
        solvers = [_tried(name) for name in (*BUILT_IN, *INTERFACES)]
    found = {
        "ok": solvers[0]["state"] == "ok",
        "version": VERSION,
        "folder": str(Path(__file__).parents[1]),
        "python": f"{platform.python_version()}, {platform.python_implementation()}",
        "executable": sys.executable,
        "packages": list(_packages()),
        "solvers": solvers,
        "kernels": kernels(),
    }
    return Answer(found, partial(_put, found), Exit.OK if found["ok"] else Exit.NEGATIVE)


def _packages() -> Iterator[JsonObject]:
    """Yield what the installed dlsched declares, and the version that is here."""
    try:
        declared = metadata.requires("dlsched") or []
    except metadata.PackageNotFoundError:  # it is only found on the path
        return
    for name, needed, extra in _REQUIREMENT.findall("\n".join(declared)):
        if name != "dlsched" and extra not in _DEVELOPERS:
            installed = next((d.version for d in metadata.distributions(name=name)), None)
            yield {"name": name, "extra": extra or None, "installed": installed, "needed": needed}


def _tried(name: str) -> JsonObject:
    """Maximize ``x + 2 y`` with ``x + y <= 4`` and integers up to 3: 7 by ``x = 1, y = 3``."""
    form = StandardForm.of(
        sparse.csc_array(np.array([[1.0, 1.0]])),
        np.array([-np.inf]),
        np.array([4.0]),
        np.array([3.0, 3.0]),
        np.array([1.0, 2.0]),
        sense="max",
    )
    run = Run(solver=name)
    try:
        outcome = find_backend(name).solve(form, 0, run, quiet=True)
        solved = outcome.termination is Termination.PROVED and outcome.objective == 7
        state = "ok" if solved else f"failed: {outcome.message}, objective {outcome.objective}"
    except SolverMissing:
        state = "not installed"
    except Exception as error:  # whatever a solver's interface raises is the answer
        state = f"failed: {describe(error)}"
    install = INTERFACES[name].install if name in INTERFACES else BUILT_IN[name]
    return {"name": name, "version": run.solvers.get(name), "state": state, "install": install}


def _put(found: dict[str, Any]) -> None:
    python = f"{found['python']}, {found['executable']}"
    fields({"dlsched": f"{found['version']}, {found['folder']}", "python": python})
    if found["packages"]:
        put_table(
            ["package", "extra", "installed", "needed"],
            (
                [p["name"], p["extra"], p["installed"] or "missing", p["needed"]]
                for p in found["packages"]
            ),
        )
    put_table(
        ["solver", "version", "state~", "install~"],
        (
            [s["name"], s["version"], s["state"], None if s["state"] == "ok" else s["install"]]
            for s in found["solvers"]
        ),
    )
    count = len(found["kernels"])
    slow = count - sum(found["kernels"].values())
    built = f"all {count} modules built"
    if slow:
        built = f"{slow} of {count} modules not built, many times slower; a C compiler builds them"
    fields({"loops": built})
    put_line("the core works" if found["ok"] else "the core does not work")
