"""Build the loops in the folders ``kernels`` with the package; by itself, in the tree.

They are Python that Cython translates to C. Where that fails, as without a compiler, the
installation goes on, and the same files run as Python.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ROOT = Path(__file__).parent
DIRECTIVES = {
    "boundscheck": False,
    "wraparound": False,
    "initializedcheck": False,
    "cdivision": True,
    "infer_types": True,
}
"""What makes a loop of C of a loop of Python; nothing changes the order of operations."""
ARGUMENTS = [] if os.name == "nt" else ["-O3", "-g0", "-ffp-contract=off"]


def build() -> list[Path]:
    """Build what is older than its source, beside it; return the files that there are."""
    from Cython.Build import cythonize
    from setuptools import Distribution, Extension

    source = ROOT / "src"
    extensions = []
    for path in sorted(source.glob("dlsched/**/kernels/*.py")):
        if path.stem != "__init__":
            name = ".".join(path.relative_to(source).with_suffix("").parts)
            file = str(path.relative_to(ROOT))
            made = Extension(name, [file], extra_compile_args=ARGUMENTS, optional=True)
            extensions.append(made)
    os.chdir(ROOT)
    translated = cythonize(
        extensions,
        build_dir="build/kernels",
        compiler_directives=DIRECTIVES,
        language_level=3,
        nthreads=os.cpu_count() or 1,
        quiet=True,
    )
    distribution = Distribution({"ext_modules": translated, "package_dir": {"": "src"}})
    command: Any = distribution.get_command_obj("build_ext")
    command.inplace, command.parallel = True, os.cpu_count()
    command.ensure_finalized()
    command.run()
    built = (ROOT / command.get_ext_fullpath(made.name) for made in extensions)
    return [path for path in built if path.exists()]


class Kernels(BuildHookInterface[Any]):
    """The hook that pip's build calls, for a wheel and for an editable installation."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build, and add what was built to the wheel."""
        try:
            built = build()
        except Exception as error:  # whatever is missing here, Python runs the same files
            self.app.display_warning(f"loops will run as Python, many times slower: {error}")
            return
        if built:
            build_data["artifacts"] += [path.relative_to(ROOT).as_posix() for path in built]
            build_data["pure_python"], build_data["infer_tag"] = False, True


if __name__ == "__main__":
    sys.exit(not build())
