"""The packages that dlsched needs and may use, with the versions that are installed."""

from __future__ import annotations

import importlib
import platform
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import (
    PackageNotFoundError,
    metadata,
    packages_distributions,
    requires,
    version,
)
from pathlib import Path

import dlsched
from dlsched.doctor.finding import Finding
from dlsched.errors import describe

OWN = "dlsched"
DEVELOPERS = frozenset({"all", "dev", "docs", "peers"})
"""Extras that are not reported: the sum of the others, and those for work on dlsched itself."""
_REQUIREMENT = re.compile(
    r"(?P<name>[\w.-]+)(\[[^]]*])?>=(?P<floor>[\w.]+)(; extra == '(?P<extra>[\w-]+)')?"
)


@dataclass(frozen=True)
class Package:
    """A package of the index, the least version that dlsched takes, and the one installed.

    ``failure`` is why it cannot be imported, or nothing.
    """

    name: str
    floor: str
    installed: str | None
    failure: str = ""

    @property
    def recent(self) -> bool:
        """Whether it is installed and recent enough."""
        return self.installed is not None and release(self.installed) >= release(self.floor)

    @property
    def ok(self) -> bool:
        """Whether it is recent enough, and can be imported."""
        return self.recent and not self.failure

    def finding(self, fatal: bool) -> Finding | None:
        """Return what is wrong with it."""
        if self.ok:
            return None
        wanted = f"'{self.name}>={self.floor}'"
        if self.recent:
            what = f"{self.name} {self.installed} cannot be imported ({self.failure})"
            return Finding(what, f"python -m pip install --force-reinstall {wanted}", fatal)
        state = "missing" if self.installed is None else f"{self.installed}, too old"
        return Finding(f"{self.name} is {state}", f"python -m pip install {wanted}", fatal)


@dataclass(frozen=True)
class Extra:
    """An optional part of dlsched: what it needs, and which of that is missing, too old or broken.

    ``broken`` are those that are recent enough, but cannot be imported.
    """

    name: str
    packages: tuple[str, ...]
    missing: tuple[str, ...]
    install: str
    broken: tuple[Package, ...] = ()


@dataclass(frozen=True)
class Installation:
    """dlsched, the interpreter, the needed packages and the extras.

    Attributes
    ----------
    version, folder
        Of dlsched.
    python, implementation, executable
        Of the interpreter.
    least_python, tested_pythons
        The least version that dlsched takes, and those that it is tested with.
    packages, extras
        Empty if dlsched is not installed but only found on the path, as then nothing is declared.
    """

    version: str
    folder: str
    python: str
    implementation: str
    executable: str
    least_python: str
    tested_pythons: tuple[str, ...]
    packages: tuple[Package, ...]
    extras: tuple[Extra, ...]

    def findings(self) -> Iterator[Finding]:
        """Yield what is too old, missing or untested."""
        if not self.least_python:
            what = "dlsched is not installed here, so that its needs are unknown"
            yield Finding(what, f"python -m pip install {Path(self.folder).parents[1]}", False)
            return
        if release(self.python) < release(self.least_python):
            what = f"Python {self.python} is older than {self.least_python}"
            yield Finding(what, "make an environment with a newer Python", True)
        elif ".".join(self.python.split(".")[:2]) not in self.tested_pythons:
            what = f"dlsched is not tested with Python {self.python}"
            yield Finding(what, f"it is with: {', '.join(self.tested_pythons)}", False)
        yield from filter(None, (package.finding(fatal=True) for package in self.packages))
        broken = {package.name: package for extra in self.extras for package in extra.broken}
        yield from filter(None, (package.finding(fatal=False) for package in broken.values()))


def installation() -> Installation:
    """Compare what is installed with what the installed dlsched declares, and import it."""
    try:
        declared, stated = requires(OWN) or [], metadata(OWN)
        least = str(stated["Requires-Python"]).removeprefix(">=")
        topics = stated.get_all("Classifier") or []
    except PackageNotFoundError:
        declared, least, topics = [], "", []
    tested = (re.fullmatch(r"Programming Language :: Python :: (\d+\.\d+)", t) for t in topics)
    groups: dict[str, list[Package]] = {"": []}
    for extra, package in _parsed(declared):
        groups.setdefault(extra, []).append(package)
    return Installation(
        version=dlsched.__version__,
        folder=str(Path(dlsched.__file__).parent),
        python=platform.python_version(),
        implementation=platform.python_implementation(),
        executable=sys.executable,
        least_python=least,
        tested_pythons=tuple(match[1] for match in tested if match),
        packages=tuple(groups.pop("")),
        extras=tuple(_extra(name, parts) for name, parts in sorted(groups.items())),
    )


def release(text: str) -> tuple[int, ...]:
    """Return a version's leading numbers, without zeros at the end: ``2.0rc1`` is ``(2,)``."""
    leading = re.match(r"\d+(\.\d+)*", text)
    numbers = [int(part) for part in leading[0].split(".")] if leading else []
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)


def _parsed(lines: Iterable[str]) -> Iterator[tuple[str, Package]]:
    """Yield the extra, or an empty text, and the package of each requirement."""
    modules = _modules()
    for line in lines:
        match = _REQUIREMENT.fullmatch(line)
        if match and match["name"] != OWN and match["extra"] not in DEVELOPERS:
            name, installed = match["name"], _installed(match["name"])
            failure = "" if installed is None else _failure(modules.get(_plain(name)))
            yield match["extra"] or "", Package(name, match["floor"], installed, failure)


def _modules() -> Mapping[str, str]:
    """Return the module to import of each installed package: of its own name, if there is one."""
    found: dict[str, str] = {}
    for module, names in sorted(packages_distributions().items()):
        for name in map(_plain, names):
            if not module.startswith("_") and (name not in found or _plain(module) == name):
                found[name] = module
    return found


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _failure(module: str | None) -> str:
    """Import a module; return why that fails, or nothing."""
    try:
        if module is not None:
            importlib.import_module(module)
    except Exception as error:  # a broken installation may raise anything
        return describe(error)
    return ""


def _installed(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _extra(name: str, packages: Iterable[Package]) -> Extra:
    known = sorted(packages, key=lambda package: package.name)
    missing = tuple(package.name for package in known if not package.ok)
    broken = tuple(package for package in known if package.recent and package.failure)
    names = tuple(package.name for package in known)
    return Extra(name, names, missing, f"pip install '{OWN}[{name}]'", broken)
