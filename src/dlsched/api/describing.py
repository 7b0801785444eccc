"""What there is, and what an instance looks like in numbers, for the selection of algorithms."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from types import UnionType
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, get_args, get_origin

import numpy as np

from dlsched import library, registry
from dlsched.api.loading import InstanceLike, load
from dlsched.schema.document import Document

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


_ENVELOPE = ("dlsched", "problem", "name", "source", "notes")


def features(instance: InstanceLike) -> dict[str, float]:
    """Return numbers that describe an instance, under the names of its fields.

    A field that stands once has its value; yes is 1. Of a list or a table, ``.count`` is the number
    of entries, in the mean if there are several lists. Numbers in its entries have ``.mean`` and
    ``.cv``, the standard deviation by the mean; yes-or-no fields have ``.share``, that of yes.
    Where no entry states a number, they are NaN; a list without entries has its count alone. Texts
    have no features. What a field means, and its unit, is on the problem's page.

    Parameters
    ----------
    instance
        An instance of any problem, a library name, or a path.

    Examples
    --------
    >>> import dlsched
    >>> dlsched.features("lyra-fig5")["servers.gpus.mean"]
    8.0
    """
    found, document = _Found(), load(instance)
    for name in type(document).model_fields:
        if name not in _ENVELOPE:
            found.add_field(document, name, "", listed=False)
    return dict(sorted(found.features()))


@dataclass
class _Found:
    """The numbers of an instance by the path of their field."""

    once: dict[str, Any] = field(default_factory=dict)
    lists: dict[str, list[int]] = field(default_factory=dict)
    entries: dict[str, list[Any]] = field(default_factory=dict)

    def add_field(self, owner: Document, name: str, above: str, listed: bool) -> None:
        """Collect the numbers of a field and below, unless it is a text."""
        if not _is_text(type(owner).model_fields[name].annotation):
            self._add(getattr(owner, name), f"{above}{name}", listed)

    def _add(self, value: Any, path: str, listed: bool) -> None:
        if isinstance(value, Document):
            for name in type(value).model_fields:
                self.add_field(value, name, f"{path}.", listed)
        elif value is None or isinstance(value, int | float | Fraction):
            if listed:
                self.entries.setdefault(path, []).append(value)
            else:
                self.once[path] = value
        elif not isinstance(value, str):
            self.lists.setdefault(path, []).append(len(value))
            for entry in value.values() if isinstance(value, Mapping) else value:
                self._add(entry, path, listed=True)

    def features(self) -> Iterator[tuple[str, float]]:
        """Yield names and numbers."""
        for path, value in self.once.items():
            yield path, np.nan if value is None else float(value)
        for path, lengths in self.lists.items():
            yield f"{path}.count", float(np.mean(lengths))
        for path, values in self.entries.items():
            known = [float(value) for value in values if value is not None]
            mean = float(np.mean(known)) if known else np.nan
            if any(isinstance(value, bool) for value in values):
                yield f"{path}.share", mean
                continue
            yield f"{path}.mean", mean
            deviation = float(np.std(known)) if known else np.nan
            yield f"{path}.cv", deviation / mean if deviation else 0.0


def _is_text(annotation: Any) -> bool:
    """Return whether a field may be a text."""
    if get_origin(annotation) in (Annotated, Literal, Union, UnionType):
        return any(_is_text(part) for part in get_args(annotation))
    return annotation is str or isinstance(annotation, str)
