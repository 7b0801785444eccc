"""Calls that are refused, and with which words: lines of a file, read by tests of several folders.

A line is a call in Python; the line below it, indented, is the error. One that ends with three dots
is how the error begins, where later words are those of another library or depend on the place.
"""

from pathlib import Path
from typing import Any

import dlsched


def reports(file: Path) -> dict[str, list[str]]:
    """Return the lines of a file with the indented ones that are below each."""
    found: dict[str, list[str]] = {}
    for line in file.read_text(encoding="utf-8").splitlines():
        if line.startswith("    "):
            found[list(found)[-1]].append(line.strip())
        elif line and line[0] != "#":
            assert line not in found, line
            found[line] = []
    return found


def assert_refused(call: str, expected: list[str], *known: Any) -> None:
    """Assert that a call raises an error of dlsched with these words; modules have its names."""
    names: dict[str, Any] = {"dlsched": dlsched}
    for place in known:
        listed = getattr(place, "__all__", dir(place))
        names |= place if isinstance(place, dict) else {n: getattr(place, n) for n in listed}
    try:
        returned = eval(call, names)
    except dlsched.DlschedError as error:
        said = f"{type(error).__name__}: {error}"
    else:
        raise AssertionError(f"{call} returned {returned!r:.200}")
    begun, dots, _ = expected[0].partition("...")
    assert said.startswith(begun) if dots and expected[0].endswith("...") else [said] == expected
