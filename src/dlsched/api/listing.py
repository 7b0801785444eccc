"""What there is: problems, methods, instances."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dlsched import library, registry

if TYPE_CHECKING:
    import pandas


def list_problems() -> list[str]:
    """Return the names of the problems."""
    return registry.problem_names()


def list_methods(problem: str) -> pandas.DataFrame:
    """Return the methods of a problem as a table: name, kind, summary, options.

    Raises
    ------
    UnknownName
        If there is no such problem.
    """
    import pandas as pd

    rows = [
        (m.name, str(m.kind), m.summary, m.options)
        for m in registry.problem(problem).methods.values()
    ]
    return pd.DataFrame(rows, columns=["method", "kind", "summary", "options"])


def list_instances(problem: str | None = None) -> list[str]:
    """Return the names of the shipped instances, of one problem or of all."""
    return library.names(problem)
