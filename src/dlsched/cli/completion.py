"""What the shell offers for an argument that is not complete: names that the library knows.

`dlsched --install-completion` switches it on. An error here must not disturb a command line that is
being typed, so that names of what cannot be loaded are left out.
"""

import os
from collections.abc import Callable, Iterable
from glob import escape, glob

from dlsched import library, registry
from dlsched.errors import DlschedError
from dlsched.records import FORMATS
from dlsched.records.readers.opening import SHIPPED
from dlsched.simulation.policies import list_policies


def names(kind: str, begun: str) -> list[str]:
    """Return the names of a kind that begin so."""
    if kind == "files":
        return sorted(glob(f"{escape(begun)}*"))
    try:
        return [name for name in _KNOWN[kind]() if name.startswith(begun)]
    except DlschedError:
        return []


def _methods() -> list[str]:
    """Return the methods of the problem of the instance on the line, or of all problems.

    The line is read from where the shell put it: before an option has its value, nothing is parsed.
    """
    line = os.environ.get("_TYPER_COMPLETE_ARGS") or os.environ.get("COMP_WORDS", "")
    shipped = library.index()
    wanted = [shipped[word]["problem"] for word in line.split() if word in shipped]
    owners = [o for o in registry.usable_problems() if not wanted or o.name == wanted[0]]
    return sorted({"exact", *(name for owner in owners for name in owner.methods)})


_KNOWN: dict[str, Callable[[], Iterable[str]]] = {
    "problems": registry.problem_names,
    "instances": library.index,
    "methods": _methods,
    "policies": list_policies,
    "traces": lambda: SHIPPED,
    "formats of traces": lambda: ["auto", *FORMATS],
    "formats of records": lambda: [name for name, layout in FORMATS.items() if layout.record],
}
