"""Optional libraries: the hint when one is missing, and its extra in pyproject.toml."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

import pytest

import dlsched
from calls import FIG5, suite_text
from dlsched import testing
from dlsched.cli import app
from dlsched.extras import EXTRAS, require

PROJECT = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
CORE = {re.split(r"[<>=\[]", entry)[0].lower() for entry in PROJECT["dependencies"]}


def test_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """A missing library gives one line with its extra; one that is there is imported."""
    assert require("matplotlib.figure", "drawing") is sys.modules["matplotlib.figure"]
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(dlsched.ExtraMissing) as found:
        require("matplotlib", "drawing")
    assert str(found.value) == "drawing needs matplotlib: pip install 'dlsched[plot]'"
    assert isinstance(found.value, ImportError)


def test_a_broken_library_is_named_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
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


COMMANDS = {
    "filelock": ["bench", "suite.toml", "-o", "out"],
    "psutil": ["bench", "suite.toml", "-o", "out"],
    "distributed": ["bench", "suite.toml", "-o", "out", "--dask", "tcp://127.0.0.1:9"],
    "jinja2": ["report", "out"],
    "matplotlib": ["plot", "lyra-fig5", "-o", "fig5.png"],
    "cvxpy": ["solve", "sensitivity-small-01", "-m", "synergy_opt"],
}
"""A command for each library that the command line may miss."""


@pytest.mark.parametrize("library", COMMANDS)
def test_a_command_says_what_to_install(
    library: str,
    monkeypatch: pytest.MonkeyPatch,
    workdir: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A command without its library ends with status 2 and one line, and writes nothing."""
    (workdir / "suite.toml").write_text(suite_text(FIG5, "lyra"))
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(SystemExit) as stopped:
        app(COMMANDS[library])
    assert stopped.value.code == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert f"needs {library}: pip install 'dlsched[{EXTRAS[library]}]'" in said
    assert [file.name for file in workdir.iterdir()] == ["suite.toml"]


def test_testing_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """Property tests without Hypothesis name the extra; a picture is skipped without matplotlib."""
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    found = testing.check_problem("reclaiming", checks=["picture"])
    assert (found.skipped, found.findings) == (["picture"], [])
    assert "needs matplotlib: pip install 'dlsched[plot]'" in str(found)
    monkeypatch.setitem(sys.modules, "hypothesis", None)
    with pytest.raises(dlsched.ExtraMissing, match=r"pip install 'dlsched\[testing\]'"):
        from dlsched.testing import check_heuristic  # noqa: F401
