"""Kernels as Python: the same files, whether they are built or not."""

from functools import cache
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import ModuleType

import dlsched


@cache
def as_python(name: str) -> ModuleType:
    """Return a module of kernels, run by Python; ``problems.reclaiming.kernels.densest``."""
    path = Path(dlsched.__file__).parent.joinpath(*name.split(".")).with_suffix(".py")
    full = f"dlsched.{name}"
    spec = spec_from_loader(full, SourceFileLoader(full, str(path)))
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
