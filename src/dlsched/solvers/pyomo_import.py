"""Import Pyomo without the parts of SciPy that it imports and that nothing here uses.

Where SciPy is loaded, Pyomo imports `scipy.stats`, `scipy.integrate` and `scipy.spatial` at once,
which took a third of the processor time of a first solve. While Pyomo is being imported, empty
modules stand in their places, and are removed afterwards: whoever imports one of them later gets
the real one. Modules that are loaded already are left alone. Importing this module does it.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

UNUSED = ("scipy.stats", "scipy.integrate", "scipy.spatial")


class Placeholder(ModuleType):
    """An empty module, for which the real one is imported if anybody needs a name of it.

    Pyomo needs none; another thread might, while Pyomo is being imported.
    """

    def __getattr__(self, name: str) -> Any:
        """Return a name of the real module."""
        remove(self)
        return getattr(importlib.import_module(self.__name__), name)


def remove(placeholder: Placeholder) -> None:
    """Remove a placeholder, if it is still there."""
    if sys.modules.get(placeholder.__name__) is placeholder:
        del sys.modules[placeholder.__name__]


@contextmanager
def left_out(*names: str) -> Iterator[None]:
    """Have placeholders for modules that are not loaded, within the block."""
    importlib.import_module("scipy")
    placeholders = [Placeholder(name) for name in names if name not in sys.modules]
    for placeholder in placeholders:
        sys.modules[placeholder.__name__] = placeholder
    try:
        yield
    finally:
        for placeholder in placeholders:
            remove(placeholder)


with left_out(*UNUSED):
    importlib.import_module("pyomo.environ")
