"""Variants by name: in a file or module, or an entry point of another package."""

import hashlib
import importlib
import os
import sys
import threading
from pathlib import Path
from types import ModuleType

from dlsched.errors import OptionError, UnknownName, describe
from dlsched.registry.names import entries
from dlsched.variants.definition import Variant

_LOADING = threading.RLock()
"""Held while a file is loaded: a module is known before it has run, to other threads, too."""
VARIANTS_GROUP = "dlsched.variants"
"""The entry-point group: objects of type `Variant` by name."""


def find_variant(name: str) -> Variant:
    """Return the variant that a text means.

    Parameters
    ----------
    name
        ``file.py:few``, relative to the working directory, which may import files beside it;
        ``module:few``, which is looked for in the working directory first; or the name of an entry
        point of the group ``dlsched.variants``.

    Raises
    ------
    OptionError
        If it cannot be loaded, or is no variant.
    UnknownName
        If no entry point has the name.
    """
    place, _, attribute = name.rpartition(":")
    try:
        found = getattr(_module(place), attribute) if place else _entry(name)
    except UnknownName:
        raise
    except (Exception, SystemExit) as error:  # importing runs the user's code
        raise OptionError(f"variant {name}: cannot be loaded: {describe(error)}") from error
    if not isinstance(found, Variant):
        raise OptionError(
            f"variant {name}: is a {type(found).__qualname__}, no dlsched.Variant; write "
            f"file.py:name of one"
        )
    return found


def _entry(name: str) -> object:
    known = {entry.name: entry for entry in entries(VARIANTS_GROUP)}
    if name not in known:
        raise UnknownName("variant", name, [*known, "file.py:name"])
    return known[name].load()


def _module(place: str) -> ModuleType:
    """Import a file, or a module by name; the working directory is searched first."""
    if not place.endswith(".py"):
        if os.getcwd() not in sys.path:
            sys.path.insert(0, os.getcwd())
        return importlib.import_module(place)
    path = Path(place).resolve()
    if str(path.parent) not in sys.path:
        sys.path.append(str(path.parent))  # what the file imports may stand beside it
    text = path.read_bytes()
    content = hashlib.sha256(text).hexdigest()[:12]  # a changed file is read anew
    label = f"dlsched_variants_of_{path.stem}_{abs(hash(str(path)))}_{content}"
    with _LOADING:
        if label not in sys.modules:
            module = ModuleType(label)
            module.__file__ = str(path)
            sys.modules[label] = module
            try:  # Python's cache of compiled files may have the text of a second before
                exec(compile(text, path, "exec", dont_inherit=True), vars(module))
            except BaseException:
                del sys.modules[label]
                raise
        return sys.modules[label]
