"""Libraries that `pip install dlsched` leaves out, and what is said when one is missing."""

import importlib
from typing import Any

from dlsched.errors import ExtraMissing, describe

EXTRAS = {
    "bokeh": "interactive",
    "cvxpy": "cvxpy",
    "distributed": "dask",
    "filelock": "bench",
    "gymnasium": "gymnasium",
    "hypothesis": "testing",
    "itables": "bench",
    "jinja2": "bench",
    "matplotlib": "plot",
    "networkx": "networkx",
    "psutil": "bench",
    "pyarrow": "report",
    "pytest": "testing",
    "yaml": "kueue",
}
"""Per library that dlsched imports and may be missing: the extra of pyproject.toml that has it."""


def require(module: str, purpose: str) -> Any:
    """Import and return a module of an optional library.

    ``plt = require("matplotlib.pyplot", "drawing")`` stands where ``import matplotlib.pyplot as
    plt`` would, inside the function that needs it. `ExtraMissing` is raised if the library cannot
    be imported: ``drawing needs matplotlib: pip install 'dlsched[plot]'``.
    """
    library = module.partition(".")[0]
    remedy = f"pip install 'dlsched[{EXTRAS[library]}]'"
    try:
        return importlib.import_module(module)
    except ImportError as error:
        if isinstance(error, ModuleNotFoundError) and error.name == library:
            raise ExtraMissing(f"{purpose} needs {library}: {remedy}") from None
        problem = f"{purpose} needs {library}, which cannot be imported here ({describe(error)})"
        raise ExtraMissing(f"{problem}: {remedy}") from error
