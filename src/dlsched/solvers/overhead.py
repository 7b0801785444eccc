"""Work without garbage collection, and imports without parts of libraries that nothing here uses.

In the places of these parts stand empty modules, removed afterwards: whoever imports one of them
later gets the real one. Modules that are loaded already are left alone.
"""

import gc
import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any


class Placeholder(ModuleType):
    """An empty module, for which the real one is imported if anybody needs a name of it.

    The library that imports it needs none; another thread might, meanwhile.
    """

    def __getattr__(self, name: str) -> Any:
        """Return a name of the real module."""
        remove(self)
        return getattr(importlib.import_module(self.__name__), name)


def place(placeholder: Placeholder) -> None:
    """Put a placeholder among the loaded modules, and into the package that it is part of."""
    sys.modules[placeholder.__name__] = placeholder
    _of_package(placeholder)[placeholder.__name__.rpartition(".")[2]] = placeholder


def remove(placeholder: Placeholder) -> None:
    """Remove a placeholder, wherever it is still."""
    child = placeholder.__name__.rpartition(".")[2]
    for names, name in ((sys.modules, placeholder.__name__), (_of_package(placeholder), child)):
        if names.get(name) is placeholder:
            del names[name]


def _of_package(placeholder: Placeholder) -> dict[str, Any]:
    """Return the names of the package, which is loaded."""
    return vars(importlib.import_module(placeholder.__name__.rpartition(".")[0]))


@contextmanager
def left_out(*names: str) -> Iterator[None]:
    """Have placeholders for modules that are not loaded, within the block."""
    placeholders = [Placeholder(name) for name in names if name not in sys.modules]
    for placeholder in placeholders:
        place(placeholder)
    try:
        yield
    finally:
        for placeholder in placeholders:
            remove(placeholder)


@contextmanager
def no_collection() -> Iterator[None]:
    """Suspend garbage collection within the block.

    It doubles the time to build a model or to read a large file, takes a fifth of that to simulate
    and audit ten thousand jobs, and frees nothing.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
