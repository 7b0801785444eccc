"""``dlsched doctor``: whether dlsched works here, and with which versions, solvers and caches."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from dlsched.cli.exits import Exit
from dlsched.cli.flags import Json
from dlsched.cli.output import Column, fields, put_json, put_line, put_table, stdout_for_answers
from dlsched.cli.progress import say
from dlsched.doctor import (
    EXAMPLE,
    CompiledLoops,
    Examination,
    Package,
    SolverState,
    compile_loops,
    examine,
)
from dlsched.run import Stage

Compile = Annotated[
    bool, typer.Option("--compile", help="Compile all loops now, so that nothing waits for it.")
]


def doctor(as_json: Json = False, compiled: Compile = False) -> None:
    """Show versions, solvers and the cache of compiled loops; try the core.

    Exit status 1 if the core does not work.
    """
    with stdout_for_answers():  # solvers print
        if compiled:
            compile_loops(lambda module: say(Stage.COMPILING, module))
        examination = examine(lambda part: say(Stage.CHECKING, part))
    if as_json:
        put_json(examination.to_data())
    else:
        _put(examination)
    raise typer.Exit(Exit.OK if examination.ok else Exit.NEGATIVE)


def _put(found: Examination) -> None:
    python = f"{found.python}, {found.executable}"
    fields({"dlsched": f"{found.version}, {found.folder}", "python": python})
    if found.packages:  # else nothing is declared
        put_table(
            ["package", "extra", "installed", "needed", "state"],
            (
                [p.name, p.extra or None, p.installed, f">= {p.floor}", _package(p)]
                for p in found.packages
            ),
        )
    put_table(
        ["solver", "version", "state", Column("install", wraps=True)],
        ([s.name, s.version, _solver(s), None if s.works else s.install] for s in found.solvers),
    )
    solved = f"{EXAMPLE} solved and verified in {found.seconds:.2f} s"
    fields(
        {
            "compiled loops": _compiled(found.compiled),
            "instances": f"{found.instances}; {'failed' if found.example else solved}",
        }
    )
    put_line("")
    for line in found.problems:
        put_line(f"problem: {line}", indent=2)
    put_line("the core works" if found.ok else "the core does not work")


def _package(package: Package) -> str:
    if package.ok:
        return "ok"
    if package.installed is None:
        return "missing"
    return "cannot be imported" if package.failure else "too old"


def _solver(solver: SolverState) -> str:
    return ("ok" if solver.works else "failed") if solver.installed else "not installed"


def _compiled(loops: CompiledLoops) -> str:
    if loops.interpreted:
        return "run as Python, which is slow on large instances: pip install 'dlsched[fast]'"
    if loops.failure:
        return "failed"
    cached = "an unknown number" if loops.cached is None else str(loops.cached)
    state = "writable" if loops.writable else "not writable: set NUMBA_CACHE_DIR"
    return (
        f"{cached} of {loops.total} in the cache of this version; {state}, {_common(loops.folders)}"
    )


def _common(folders: tuple[str, ...]) -> str:
    """Return the folders, or the one that they are in and what tells them apart."""
    if len(folders) < 2:
        return "".join(folders)
    top = os.path.commonpath(folders)
    return f"{top}: {', '.join(os.path.relpath(folder, top) for folder in folders)}"
