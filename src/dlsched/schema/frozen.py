"""Values that cannot be changed, and properties derived from them."""

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, TypeVar, cast

K = TypeVar("K")
V = TypeVar("V")
T = TypeVar("T")


class FrozenDict(dict[K, V]):
    """A mapping that cannot be changed; `copy` returns a plain dict, which can.

    Its values must be frozen already: `freeze` takes them as they are.
    """

    def _raise_frozen(self, *_args: Any, **_kwargs: Any) -> Any:
        raise TypeError("the data of an instance cannot be changed; change a copy: dict(...)")

    __setitem__ = __delitem__ = __ior__ = _raise_frozen
    clear = pop = popitem = setdefault = update = _raise_frozen

    def __hash__(self) -> int:  # type: ignore[override]
        """Hash the items in their order; the values must be hashable."""
        return hash(tuple(self.items()))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by way of a plain dict, as items cannot be set one by one."""
        return type(self), (dict(self),)


def freeze(value: Any) -> Any:
    """Return a value with its mappings and lists, at any depth, replaced by read-only ones."""
    if type(value) is FrozenDict:
        return value
    if isinstance(value, Mapping):
        return FrozenDict({key: freeze(entry) for key, entry in value.items()})
    if type(value) in (list, tuple):
        return tuple(freeze(entry) for entry in value)
    return frozenset(value) if isinstance(value, set) else value


class derived(cached_property[T]):
    """A property that is computed once from a document's fields, and frozen like these."""

    def __init__(self, function: Callable[[Any], T]) -> None:
        super().__init__(lambda document: cast(T, freeze(function(document))))
        self.__doc__ = function.__doc__
