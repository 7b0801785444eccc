"""The packages that dlsched needs and may use, with the versions that are installed."""

from __future__ import annotations

import platform
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, metadata, requires, version
from pathlib import Path

import dlsched
from dlsched.doctor.finding import Finding

OWN = "dlsched"
DEVELOPERS = frozenset({"all", "dev", "docs", "peers"})
"""Extras that are not reported: the sum of the others, and those for work on dlsched itself."""
_REQUIREMENT = re.compile(
    r"(?P<name>[\w.-]+)(\[[^]]*])?>=(?P<floor>[\w.]+)(; extra == '(?P<extra>[\w-]+)')?"
)


@dataclass(frozen=True)
class Package:
    """A package of the index, the least version that dlsched takes, and the one installed."""

    name: str
    floor: str
    installed: str | None

    @property
    def ok(self) -> bool:
        """Whether it is installed and recent enough."""
        return self.installed is not None and release(self.installed) >= release(self.floor)


@dataclass(frozen=True)
class Extra:
    """An optional part of dlsched: what it needs, and which of that is missing or too old."""

    name: str
    packages: tuple[str, ...]
    missing: tuple[str, ...]
    install: str


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
        for package in self.packages:
            if not package.ok:
                state = "missing" if package.installed is None else f"{package.installed}, too old"
                remedy = f"python -m pip install '{package.name}>={package.floor}'"
                yield Finding(f"{package.name} is {state}", remedy, True)


def installation() -> Installation:
    """Compare what is installed with what the installed dlsched declares."""
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
    for line in lines:
        match = _REQUIREMENT.fullmatch(line)
        if match and match["name"] != OWN and match["extra"] not in DEVELOPERS:
            package = Package(match["name"], match["floor"], _installed(match["name"]))
            yield match["extra"] or "", package


def _installed(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _extra(name: str, packages: Iterable[Package]) -> Extra:
    known = sorted(packages, key=lambda package: package.name)
    missing = tuple(package.name for package in known if not package.ok)
    names = tuple(package.name for package in known)
    return Extra(name, names, missing, f"pip install '{OWN}[{name}]'")
