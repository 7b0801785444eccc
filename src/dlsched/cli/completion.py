"""What the shell offers for an argument that is not complete: names that the library knows.

`dlsched --install-completion` switches it on. An error here must not disturb a command line that is
being typed, so that names of what cannot be loaded are left out.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from glob import escape, glob

import typer

from dlsched import library, registry
from dlsched.errors import DlschedError
from dlsched.records import FORMATS, MAPPINGS
from dlsched.records.traces.reader import SHIPPED
from dlsched.simulation.policies import list_policies


def problems(_context: typer.Context, begun: str) -> list[str]:
    """Return the problems whose names begin so."""
    return _beginning(registry.problem_names(), begun)


def instances(_context: typer.Context, begun: str) -> list[str]:
    """Return the shipped instances and the files whose names begin so."""
    files = [path for path in glob(f"{escape(begun)}*") if path.endswith((".json", ".json.gz"))]
    return _beginning(library.index(), begun) + sorted(files)


def problems_and_instances(context: typer.Context, begun: str) -> list[str]:
    """Return what `dlsched show` takes."""
    return problems(context, begun) + instances(context, begun)


def methods(_context: typer.Context, begun: str) -> list[str]:
    """Return the methods whose names begin so: of the instance on the line, or of all problems."""
    wanted = _wanted()
    names = {"exact"}
    for owner in registry.usable_problems():
        if wanted in (None, owner.name):
            names.update(owner.methods)
    return _beginning(sorted(names), begun)


def policies(_context: typer.Context, begun: str) -> list[str]:
    """Return the policies whose names begin so."""
    return _beginning(list_policies(), begun)


def traces(_context: typer.Context, begun: str) -> list[str]:
    """Return the shipped traces and the files whose names begin so."""
    return _beginning(SHIPPED, begun) + sorted(glob(f"{escape(begun)}*"))


def trace_formats(_context: typer.Context, begun: str) -> list[str]:
    """Return the formats of traces whose names begin so."""
    return _beginning(["auto", *FORMATS, *MAPPINGS], begun)


def record_formats(_context: typer.Context, begun: str) -> list[str]:
    """Return the formats of traces and of schedulers' records whose names begin so."""
    return _beginning(["auto", *FORMATS, *MAPPINGS, "sacct", "swf", "kueue", "csv"], begun)


def _wanted() -> str | None:
    """Return the problem of the instance that stands on the line already; None if none does.

    The line is read from where the shell put it: before an option has its value, nothing is parsed.
    """
    line = os.environ.get("_TYPER_COMPLETE_ARGS") or os.environ.get("COMP_WORDS", "")
    shipped = library.index()
    for name in line.split():
        entry = shipped.get(name)
        if entry is not None:
            return str(entry["problem"])
    return None


def _beginning(names: Iterable[str], begun: str) -> list[str]:
    try:
        return [name for name in names if name.startswith(begun)]
    except DlschedError:
        return []
