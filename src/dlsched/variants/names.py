"""The variables of a model by name: Pyomo's names, and those without quotation marks."""

from collections import defaultdict
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
    used = {c.local_name for e in expressions for c in _named_expressions(e)}
    if getattr(model, "NAMES_ALL", None) in used:
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
        self._known: dict[str, dict[str, list[Any]]] = {}

    def find(self, name: str) -> Any:
        """Return a variable; ``None`` if there is none of this name.

        `OptionError` is raised if the name is that of several without quotation marks.
        """
        import pyomo.core as pyo

        label = name.partition("[")[0]
        component = self.model.component(label)
        if component is None or component.ctype is not pyo.Var:
            return None
        indices = component.keys()
        if label in named_later(self.model):
            first, *others = component.index_set().subsets()
            begin = len(label) + 1
            jobs = [j for j in first if name.startswith((f"{j},", f"'{j}',", f'"{j}",'), begin)]
            label, indices = f"{label}{jobs}", product(jobs, *others)
        if label not in self._known:
            self._known[label] = _by_name(component, indices)
        keys = self._known[label].get(name, [])
        if len(keys) > 1:
            full = " or ".join(_quoted(component, key) for key in keys[:2])
            raise OptionError(f"{name} is the name of several variables; write {full}")
        return component[keys[0]] if keys else None


def variables_by_name(model: Any) -> dict[str, Any]:
    """Return the variables that are there by all their names, but for those of several."""
    import pyomo.core as pyo

    return {
        name: component[keys[0]]
        for component in model.component_objects(pyo.Var)
        for name, keys in _by_name(component, component.keys()).items()
        if len(keys) == 1
    }


def _by_name(component: Any, indices: Iterable[Any]) -> dict[str, list[Any]]:
    """Return the indices by both names; the quoted one is that of its index alone."""
    plain: dict[str, list[Any]] = defaultdict(list)
    quoted = {}
    for key in indices:
        parts = key if isinstance(key, tuple) else (key,)
        inside = "" if key is None else f"[{','.join(map(str, parts))}]"
        plain[f"{component.local_name}{inside}"].append(key)
        quoted[_quoted(component, key)] = [key]
    return plain | quoted


def _quoted(component: Any, key: Any) -> str:
    """Return Pyomo's name."""
    from pyomo.core.base.component_namer import index_repr

    return f"{component.local_name}{'' if key is None else index_repr(key)}"
