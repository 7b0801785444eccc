"""The first program of a worker process: it notes the digest of every module's source it imports.

``python -P recorder.py MARK`` begins before anything of dlsched is imported, and then calls
`dlsched.sweeps.worker.main`. So it imports nothing of dlsched itself. Code of installed packages is
not noted: it is known by the packages' versions.
"""

from __future__ import annotations

import gc
import hashlib
import importlib
import os
import sys
from importlib import machinery
from importlib.util import cache_from_source
from pathlib import Path
from types import CodeType

_INSTALLED = ("site-packages", "dist-packages")


class Recorder:
    """What is known of the sources of modules.

    Attributes
    ----------
    seen
        SHA-256 of the source, by the module's full name. A module that has an entry, because its
        file has been looked at, is imported with this very source or not at all.
    refused
        The modules that were not imported for this reason.
    """

    def __init__(self) -> None:
        self.seen: dict[str, str] = {}
        self.refused: list[str] = []

    def begin(self) -> None:
        """Note all modules that are imported from now on."""
        seen, refused = self.seen, self.refused

        class Loader(machinery.SourceFileLoader):
            """Imports a module from the source whose digest it notes."""

            def get_code(self, fullname: str) -> CodeType | None:
                """Return the module's code, from bytecode only if that is surely newer."""
                if not _is_noted(fullname, self.path):
                    return super().get_code(fullname)
                bytecode_is_newer = _bytecode_is_newer(fullname, self.path)
                source = self.get_data(self.path)
                digest = hashlib.sha256(source).hexdigest()
                if seen.setdefault(fullname, digest) != digest:
                    refused.append(fullname)
                    raise ImportError(f"{self.path} has changed since it was looked at")
                if bytecode_is_newer:
                    return super().get_code(fullname)
                code: CodeType = self.source_to_code(source, self.path)
                return code

        kinds = (
            (machinery.ExtensionFileLoader, machinery.EXTENSION_SUFFIXES),
            (Loader, machinery.SOURCE_SUFFIXES),
            (machinery.SourcelessFileLoader, machinery.BYTECODE_SUFFIXES),
        )
        sys.path_hooks.insert(0, machinery.FileFinder.path_hook(*kinds))
        sys.path_importer_cache.clear()


def _bytecode_is_newer(name: str, path: str) -> bool:
    """Whether there is bytecode of dlsched written after the source's last change of any kind.

    Python itself compares size and whole seconds of the modification time only, which a quick
    edit, or a copy that keeps times, can leave as they were. The user's own modules are few, and
    compiled in any case.
    """
    if name.partition(".")[0] != "dlsched":
        return False
    try:
        return os.stat(cache_from_source(path)).st_mtime_ns > os.stat(path).st_ctime_ns
    except OSError:
        return False


def _is_noted(name: str, path: str) -> bool:
    """Whether a module is dlsched's or the user's own, and not one of an installed package."""
    top = name.partition(".")[0]
    installed = set(_INSTALLED) & set(Path(path).parts)
    return top == "dlsched" or not (installed or top in sys.stdlib_module_names)


if __name__ == "__main__":
    recorder = Recorder()
    recorder.begin()
    sys.path.insert(0, os.getcwd())
    gc.disable()  # next to nothing that is imported is garbage: a tenth of the time
    worker = importlib.import_module("dlsched.sweeps.worker")
    gc.freeze()
    gc.enable()
    worker.main(recorder.seen, recorder.refused)
