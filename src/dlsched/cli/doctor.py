"""``dlsched doctor``: whether dlsched works here, and what it has to work with."""

from __future__ import annotations

import os
from dataclasses import replace

import typer

from dlsched.cli.exits import Exit
from dlsched.cli.flags import Json
from dlsched.cli.output import Column, fields, put_json, put_line, put_table, stdout_for_answers
from dlsched.cli.progress import say
from dlsched.doctor import Examination, examine
from dlsched.doctor.compiled import CompiledLoops
from dlsched.doctor.core import Core
from dlsched.doctor.machine import Machine, this_machine
from dlsched.doctor.packages import Extra, Installation
from dlsched.doctor.solvers import SolverState
from dlsched.run import Stage


def doctor(as_json: Json = False) -> None:
    """Show versions, extras, solvers, the compiled cache and resources; try the core.

    Exit status 1 if the core does not work.
    """
    machine = this_machine()  # before stdout is another
    with stdout_for_answers():  # solvers print
        found = replace(examine(lambda part: say(Stage.CHECKING, part)), machine=machine)
    if as_json:
        put_json(found.to_data())
    else:
        _put(found)
    raise typer.Exit(Exit.OK if found.ok else Exit.NEGATIVE)


def _put(found: Examination) -> None:
    here = found.installation
    python = f"{here.python}, {here.implementation}, {here.executable}"
    fields({"dlsched": f"{here.version}, {here.folder}", "python": python})
    if here.packages:  # else nothing is declared
        _put_packages(here)
    _put_solvers(found.solvers)
    fields(
        _machine(found.machine)
        | {"compiled loops": _compiled(found.compiled), "instances": _core(found.core)}
    )
    put_line("")
    for finding in found.findings:
        kind = "problem" if finding.fatal else "note"
        put_line(f"{kind}: {finding.what}; {finding.remedy}", indent=2)
    put_line("the core works" if found.ok else "the core does not work")


def _put_packages(here: Installation) -> None:
    put_table(
        ["package", "installed", "needed", "state"],
        ([p.name, p.installed, f">= {p.floor}", "ok" if p.ok else "failed"] for p in here.packages),
    )
    put_table(
        ["extra", "state", Column("missing", wraps=True), "install"],
        (
            [
                e.name,
                "incomplete" if e.missing else "ok",
                ", ".join(_lack(e, name) for name in e.missing),
                e.install if e.missing else None,
            ]
            for e in here.extras
        ),
    )


def _lack(extra: Extra, name: str) -> str:
    broken = any(package.name == name for package in extra.broken)
    return f"{name} (cannot be imported)" if broken else name


def _put_solvers(solvers: tuple[SolverState, ...]) -> None:
    put_table(
        ["solver", "version", "state", "seconds>", Column("install", wraps=True)],
        (
            [
                s.name,
                s.version,
                ("ok" if s.works else "failed") if s.installed else "not installed",
                None if s.seconds is None else f"{s.seconds:.2f}",
                None if s.works else s.install,
            ]
            for s in solvers
        ),
    )


def _machine(here: Machine) -> dict[str, str | None]:
    memory = None
    if here.memory_gib is not None:
        memory = f"{here.memory_gib:.1f} GiB"
    if here.available_gib is not None:
        memory = f"{memory}, {here.available_gib:.1f} GiB available"
    kind = "terminal" if here.on_terminal else "no terminal"
    return {
        "machine": f"{here.processor}, {here.system}",
        "cores": f"{here.usable_cores:g} of {here.cores} usable",
        "memory": memory,
        "output": f"{kind}, {here.columns} columns, {here.encoding}, locale {here.locale}",
    }


def _compiled(loops: CompiledLoops) -> str:
    if loops.failure:
        return "failed"
    cached = "an unknown number" if loops.cached is None else str(loops.cached)
    state = "writable" if loops.writable else "not writable"
    return (
        f"{cached} of {loops.total} in the cache of this version; {state}, {_common(loops.folders)}"
    )


def _common(folders: tuple[str, ...]) -> str:
    """Return the folders, or the one that they are in and what tells them apart."""
    if len(folders) < 2:
        return "".join(folders)
    top = os.path.commonpath(folders)
    return f"{top}: {', '.join(os.path.relpath(folder, top) for folder in folders)}"


def _core(core: Core) -> str:
    solved = (
        f"{core.example} solved and verified in {core.seconds:.2f} s" if core.works else "failed"
    )
    return f"{core.instances}, {core.folder}; {solved}"
