"""Optional libraries: the hint when one is missing, and its extra in pyproject.toml."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

import pytest

import dlsched
from dlsched.extras import EXTRAS, require

PROJECT = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
CORE = {re.split(r"[<>=\[]", entry)[0].lower() for entry in PROJECT["dependencies"]}


def test_the_library_is_returned() -> None:
    """What is installed is imported, submodules too."""
    assert require("matplotlib.figure", "drawing") is sys.modules["matplotlib.figure"]


def test_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """A missing library gives one line with its extra; it is an ImportError as well."""
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(dlsched.ExtraMissing) as found:
        require("matplotlib", "drawing")
    assert str(found.value) == "drawing needs matplotlib: pip install 'dlsched[plot]'"
    assert isinstance(found.value, ImportError)


def test_a_broken_library_is_not_called_missing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """If an installed library lacks one of its own, the message says which."""
    (tmp_path / "half_there.py").write_text("import not_there\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(EXTRAS, "half_there", "plot")
    with pytest.raises(dlsched.ExtraMissing, match=r"half_there, which cannot .*not_there.*plot"):
        require("half_there", "drawing")


@pytest.mark.parametrize("library", EXTRAS)
def test_the_named_extra_has_the_library(library: str) -> None:
    """Each optional library is in the extra that its hint names, and not in the core."""
    assert library not in CORE
    listed = PROJECT["optional-dependencies"][EXTRAS[library]]
    assert library in {re.split(r"[<>=\[]", entry)[0].lower() for entry in listed}
