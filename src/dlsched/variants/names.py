"""The variables of a model by name: Pyomo's names, and those without quotation marks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import product
from typing import Any

from dlsched.errors import OptionError

NAMED_LATER = "NAMED_LATER"
"""Attribute of a model: of variables that are there only where they are named, the limits.

Their first index is a job; ``limits(*index)`` is the lower and the upper bound.
"""


def named_later(model: Any) -> dict[str, Any]:
    """Return the limits of the variables that are there only where they are named, by name."""
    return dict(getattr(model, NAMED_LATER, {}))


def named_jobs(model: Any, expressions: Iterable[Any]) -> list[Any]:
    """Return the jobs of which such a variable was named, in the model's order.

    All, if one of some expressions has the model's expression that the attribute `NAMES_ALL` names.
    """
    found = {key[0] for name in named_later(model) for key in model.component(name)}
    whole = getattr(model, "NAMES_ALL", None)
    if whole is not None:
        used = {c.local_name for e in expressions for c in _named_expressions(e)}
        if whole in used:
            return list(model.JOBS)
    return [job for job in model.JOBS if job in found] if found else []


def _named_expressions(expression: Any) -> Iterator[Any]:
    """Yield the named expressions within an expression, itself included."""
    stack = [expression]
    while stack:
        node = stack.pop()
        if hasattr(node, "is_expression_type") and node.is_expression_type():
            if node.is_named_expression_type():
                yield node
            stack += node.args


def add_beside(model: Any, name: str, component: Any) -> None:
    """Add a component of the library's own, under another name if a variant has one of this."""
    from pyomo.common.modeling import unique_component_name

    model.add_component(unique_component_name(model, name), component)


class Names:
    """Finds a model's variables by name.

    A name is Pyomo's, as ``x['a,b',1]``, or the same without quotation marks, as ``x[a,b,1]``,
    where only one variable has it.
    """

    def __init__(self, model: Any) -> None:
        self.model = model
        self._of: dict[str, dict[str, list[Any]]] = {}

    def find(self, name: str) -> Any:
        """Return a variable; ``None`` if there is none of this name.

        Raises
        ------
        OptionError
            If the name is that of several without quotation marks.
        """
        import pyomo.core as pyo

        component = self.model.component(name.partition("[")[0])
        if component is None or component.ctype is not pyo.Var:
            return None
        if component.local_name in named_later(self.model):
            first, *others = component.index_set().subsets()
            begin = len(component.local_name) + 1
            jobs = [j for j in first if name.startswith((f"{j},", f"'{j}',", f'"{j}",'), begin)]
            label = f"{component.local_name}{jobs}"
            if label not in self._of:
                self._of[label] = _by_name(component, product(jobs, *others))
            return self._one(component, self._of[label], name)
        if component.local_name not in self._of:
            self._of[component.local_name] = _by_name(component, component.keys())
        return self._one(component, self._of[component.local_name], name)

    def _one(self, component: Any, keys_of: dict[str, list[Any]], name: str) -> Any:
        keys = keys_of.get(name, [])
        exact = [key for key in keys if _quoted(component, key) == name]
        if len(keys) > 1 and not exact:
            full = " or ".join(_quoted(component, key) for key in keys[:2])
            raise OptionError(f"{name} is the name of several variables; write {full}")
        return component[(exact or keys)[0]] if keys else None


def variables_by_name(model: Any) -> dict[str, Any]:
    """Return the variables that are there by all their names, but for those of several."""
    import pyomo.core as pyo

    known: dict[str, Any] = {}
    for component in model.component_objects(pyo.Var):
        for name, keys in _by_name(component, component.keys()).items():
            exact = [key for key in keys if _quoted(component, key) == name]
            if exact or len(keys) == 1:
                known[name] = component[(exact or keys)[0]]
    return known


def _by_name(component: Any, keys: Iterable[Any]) -> dict[str, list[Any]]:
    """Return the indices by both names; an index has its quoted name first."""
    known: dict[str, list[Any]] = {}
    for key in keys:
        for name in dict.fromkeys((_quoted(component, key), _plain(component, key))):
            known.setdefault(name, []).append(key)
    return known


def _quoted(component: Any, key: Any) -> str:
    """Return Pyomo's name."""
    from pyomo.core.base.component_namer import index_repr

    name: str = component.local_name
    return name if key is None else name + index_repr(key)


def _plain(component: Any, key: Any) -> str:
    """Return the name without quotation marks."""
    name: str = component.local_name
    parts = key if isinstance(key, tuple) else (key,)
    return name if key is None else f"{name}[{','.join(map(str, parts))}]"
