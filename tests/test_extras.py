"""Optional libraries: the hint when one is missing, and its extra in pyproject.toml."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

import pytest

import dlsched
from calls import FIG5, MAIN, python, refusal, suite_text
from dlsched import testing

PROJECT = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
CORE = {re.split(r"[<>=\[]", entry)[0].lower() for entry in PROJECT["dependencies"]}


SWEEP = ["bench", "suite.toml", "-o", "out"]
PLOT = ["plot", "lyra-fig5", "-o", "fig5.png"]
COMMANDS = {
    "filelock": ("bench", SWEEP),
    "psutil": ("bench", SWEEP),
    "distributed": ("dask", [*SWEEP, "--dask", "tcp://127.0.0.1:9"]),
    "jinja2": ("bench", ["report", "out"]),
    "matplotlib": ("plot", PLOT),
    "cvxpy": ("cvxpy", ["solve", "sensitivity-small-01", "-m", "synergy_opt"]),
}
"""By library that may be missing: its extra, and a command that needs it."""


@pytest.mark.parametrize("library", COMMANDS)
def test_a_command_says_what_to_install(
    library: str, monkeypatch: pytest.MonkeyPatch, workdir: Path
) -> None:
    """A command without its library ends with status 2 and one line, and writes nothing.

    The extra that the line names has the library, and the core has it not.
    """
    extra, command = COMMANDS[library]
    (workdir / "suite.toml").write_text(suite_text(FIG5, "lyra"))
    monkeypatch.setitem(sys.modules, library, None)
    assert f"needs {library}: pip install 'dlsched[{extra}]'" in refusal(*command)
    assert [file.name for file in workdir.iterdir()] == ["suite.toml"]
    listed = PROJECT["optional-dependencies"][extra]
    assert library in {re.split(r"[<>=\[]", entry)[0].lower() for entry in listed} - CORE


def test_a_broken_library_is_named_so(workdir: Path) -> None:
    """If an installed library lacks one of its own, the message says which."""
    (workdir / "matplotlib.py").write_text("import not_there\n")
    ran = python(MAIN, *PLOT, check=False, cwd=workdir)
    assert ran.returncode == 2
    assert re.search(r"matplotlib, which cannot .*not_there.*dlsched\[plot\]", ran.stderr)


def test_testing_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """Property tests without Hypothesis name the extra; a picture is skipped without matplotlib."""
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    found = testing.check_problem("reclaiming", checks=["picture"])
    assert (found.skipped, found.findings) == (["picture"], [])
    assert "needs matplotlib: pip install 'dlsched[plot]'" in str(found)
    monkeypatch.setitem(sys.modules, "hypothesis", None)
    with pytest.raises(dlsched.ExtraMissing, match=r"pip install 'dlsched\[testing\]'"):
        from dlsched.testing import check_heuristic  # noqa: F401
