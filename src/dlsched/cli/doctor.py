"""``dlsched doctor``: whether dlsched works here, and with which versions and solvers."""

from __future__ import annotations

import typer

from dlsched.cli.exits import Exit
from dlsched.cli.flags import Json
from dlsched.cli.output import Column, fields, put_json, put_line, put_table, stdout_for_answers
from dlsched.cli.progress import say
from dlsched.doctor import EXAMPLE, Examination, Package, SolverState, examine
from dlsched.run import Stage


def doctor(as_json: Json = False) -> None:
    """Show versions, solvers and built loops; try the core.

    Exit status 1 if the core does not work.
    """
    with stdout_for_answers():  # solvers print
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
            "loops": _built(found.kernels),
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


def _built(kernels: dict[str, bool]) -> str:
    slow = [name for name, built in kernels.items() if not built]
    if not slow:
        return f"all {len(kernels)} modules built"
    return (
        f"{len(slow)} of {len(kernels)} modules not built, many times slower as Python; "
        "install a C compiler, then dlsched again"
    )
