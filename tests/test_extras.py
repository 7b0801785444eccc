"""Optional libraries, the core without any, and what ``dlsched doctor`` finds."""

import json
import os
import re
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest

import dlsched
from calls import FIG5, MAIN, data, install, python, refusal, run, suite_text
from dlsched import testing

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
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
    monkeypatch.delitem(vars(testing), "check_heuristic", raising=False)  # as it was at first
    with pytest.raises(dlsched.ExtraMissing, match=r"pip install 'dlsched\[testing\]'"):
        from dlsched.testing import check_heuristic  # noqa: F401


IN_CORE = """
import contextlib, io, json, sys

class Absent:
    '''Finds no package of an extra, as if it were not installed.'''

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in absent:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return None

absent, blocks, commands = json.loads(sys.argv[1])
sys.meta_path.insert(0, Absent())
from dlsched.cli import app
from dlsched import ExtraMissing

said, space = [], {"__name__": "readme"}
for block in blocks:
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            exec(compile(block, "README.md", "exec", dont_inherit=True), space)
        said.append("works")
    except ExtraMissing as error:
        said.append(str(error))
for command in commands:
    errors = io.StringIO()
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(errors):
            app(command)
    except SystemExit as stopped:
        said.append("works" if not stopped.code else f"{stopped.code} {errors.getvalue()}")
print(json.dumps(said))
"""
CORE_COMMANDS = {
    "list instances": "works",
    "show lyra-fig5": "works",
    "solve lyra-fig5 -o best.json": "works",
    "verify lyra-fig5 best.json": "works",
    "compare lyra-fig5 -m exact -m lyra": "works",
    "generate elastic -o made.json": "works",
    "export lyra-fig5 model.mps": "works",
    "plot lyra-fig5 -o a.png": "2 error: drawing needs matplotlib: pip install 'dlsched[plot]'\n",
}
"""Commands, and what they come to without the extras."""


def normal(name: str) -> str:
    """Return a distribution's name as package indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def core_packages() -> set[str]:
    """Return the distributions that the dependencies bring, and theirs, and so on."""
    found: set[str] = set()
    left = list(PROJECT["dependencies"])
    while left:
        name, _, marker = left.pop().partition(";")
        name = normal(re.split(r"[^\w.-]", name.strip())[0])
        if name not in found and "extra" not in marker:
            found.add(name)
            try:
                left += metadata.requires(name) or []
            except metadata.PackageNotFoundError:  # for another platform
                continue
    return found


def absent() -> list[str]:
    """Return the modules that the core would not have."""
    kept = core_packages() | {"dlsched"}
    owners = metadata.packages_distributions()
    return [module for module, names in owners.items() if not kept & set(map(normal, names))]


def test_readme_and_commands_in_the_core_install(tmp_path: Path) -> None:
    """Each block of README and each command works, or says in one line what to install."""
    gone = absent()
    assert {"matplotlib", "hypothesis", "networkx", "cvxpy"} <= set(gone)
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.S)
    asked = json.dumps([gone, blocks, [command.split() for command in CORE_COMMANDS]])
    ran = python(IN_CORE, asked, cwd=tmp_path, env={"COLUMNS": "100"})
    said = json.loads(ran.stdout.splitlines()[-1])
    hypothesis = "needs hypothesis: pip install 'dlsched[testing]'"
    for found in said[: len(blocks)]:
        assert found == "works" or found.endswith(hypothesis)
    assert said.count("works") >= 2 + sum(status == "works" for status in CORE_COMMANDS.values())
    assert dict(zip(CORE_COMMANDS, said[len(blocks) :], strict=True)) == CORE_COMMANDS


def test_this_installation_works() -> None:
    """The core works where the tests pass: versions, HiGHS and loops are there."""
    said = data("doctor")
    assert said["ok"] and said["version"] == dlsched.__version__
    needed = [package for package in said["packages"] if not package["extra"]]
    assert len(needed) > 5 and all(package["installed"] for package in needed)
    highs = said["solvers"][0]
    assert (highs["name"], highs["state"]) == ("highs", "ok") and highs["version"]
    assert said["kernels"] and all(said["kernels"].values())


def test_what_the_command_says(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines fit 80 columns, but for paths; the last is the verdict."""
    monkeypatch.setenv("COLUMNS", "80")
    lines = run("doctor").stdout.splitlines()
    assert max(len(line) for line in lines if "/" not in line) <= 80
    assert lines[-1] == "the core works" and "modules built" in " ".join(lines)
    assert any(line.split()[:1] == ["highspy"] for line in lines)


REQUIRED = [
    "numpy>=99.5", "no-such-package>=1.0", "rich[jupyter]>=0.1", "older>=1.10",
    "cvxopt-none>=1.3; extra == 'glpk'", "ruff>=999; extra == 'dev'",
]  # fmt: skip
"""What the dlsched that is installed in the next test needs."""


def test_packages_and_solvers_that_are_broken(tmp_path: Path) -> None:
    """Versions stand beside what is needed; a solver that raises or fails does not work.

    Without HiGHS the exit status is 1.
    """
    required = "".join(f"Requires-Dist: {entry}\n" for entry in REQUIRED)
    install(tmp_path, "dlsched", dlsched.__version__, required)
    install(tmp_path, "older", "1.9", older="")
    (tmp_path / "highspy.py").write_text("raise ImportError('libhighs.so not found')")
    cbc = tmp_path / "cbc"
    cbc.write_text("#!/bin/sh\necho licence expired >&2\nexit 3\n")
    cbc.chmod(0o755)
    folders = os.pathsep.join([str(tmp_path), str(Path(dlsched.__file__).parents[1])])
    paths = {"PATH": str(tmp_path), "PYTHONPATH": folders}
    ran = python(MAIN, "doctor", "--json", env=paths, check=False)
    said = json.loads(ran.stdout, parse_constant=pytest.fail)
    packages = {p["name"]: (p["installed"], p["needed"], p["extra"]) for p in said["packages"]}
    assert packages == {
        "numpy": (metadata.version("numpy"), ">=99.5", None),
        "no-such-package": (None, ">=1.0", None),
        "rich": (metadata.version("rich"), ">=0.1", None),
        "older": ("1.9", ">=1.10", None),
        "cvxopt-none": (None, ">=1.3", "glpk"),
    }
    solvers = {solver["name"]: solver for solver in said["solvers"]}
    assert "libhighs.so not found" in solvers["highs"]["state"]
    assert solvers["cbc"]["state"].startswith("failed: ")
    missing = [s["install"] for s in solvers.values() if s["state"] == "not installed"]
    assert missing and all(missing)
    assert (ran.returncode, said["ok"]) == (1, False)
