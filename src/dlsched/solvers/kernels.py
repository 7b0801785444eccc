"""Whether the loops in the folders ``kernels`` are built, or run as Python."""

import warnings
from functools import cache
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

_PACKAGE = Path(__file__).parents[1]


@cache
def kernels() -> dict[str, bool]:
    """Return the modules of kernels, and whether each is built."""
    found = {}
    for file in sorted(_PACKAGE.glob("**/kernels/*.py")):
        if file.stem != "__init__":
            name = ".".join(("dlsched", *file.relative_to(_PACKAGE).with_suffix("").parts))
            built = any(file.with_suffix(suffix).exists() for suffix in EXTENSION_SUFFIXES)
            found[name] = built
    return found


@cache
def warn_if_slow() -> None:
    """Warn, once in a process, that loops are not built."""
    slow = sum(not built for built in kernels().values())
    if slow:
        message = (
            f"{slow} of {len(kernels())} modules of loops are not built: they run as Python, with "
            "the same results, many times slower; install a C compiler, then dlsched again"
        )
        warnings.warn(message, RuntimeWarning, stacklevel=3)
