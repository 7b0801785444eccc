"""`dlsched doctor`: what it finds here, and what it says when something is broken."""

from __future__ import annotations

import dataclasses
import json
import os
from pathlib import Path

import pytest

import dlsched
from calls import MAIN, install, python, run
from dlsched.doctor import Examination, examine


@pytest.fixture(scope="module")
def here() -> Examination:
    """Examine the installation that the tests run in."""
    return examine()


def test_this_installation_works(here: Examination) -> None:
    """The core works where the tests pass: versions, HiGHS, the library, the example, loops."""
    assert here.ok and here.problems == []
    assert here.version == dlsched.__version__
    needed = [package for package in here.packages if not package.extra]
    assert len(needed) > 5 and all(package.ok for package in needed)
    highs = here.solvers[0]
    assert (highs.name, highs.works, highs.failure) == ("highs", True, "")
    assert highs.version and here.example == "" and here.seconds > 0
    assert here.instances == len(dlsched.list_instances())
    assert here.kernels and all(here.kernels.values())


def test_what_the_command_says(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines fit 80 columns, but for paths; the last is the verdict. JSON has all of it."""
    monkeypatch.setenv("COLUMNS", "80")
    lines = run("doctor").stdout.splitlines()
    assert max(len(line) for line in lines if "/" not in line) <= 80
    assert lines[-1] == "the core works" and "modules built" in " ".join(lines)
    assert any(line.split()[:1] == ["highspy"] for line in lines)
    said = json.loads(run("doctor", "--json").stdout, parse_constant=pytest.fail)
    assert said["ok"] is True and said["problems"] == []
    assert {field.name for field in dataclasses.fields(Examination)} < set(said)


REQUIRED = [
    "numpy>=99.5",
    "no-such-package>=1.0",
    "rich[jupyter]>=0.1",
    "broken-one>=1.0",
    "older>=1.10",
    "candidate>=2.0.1",
    "newer>=2024.8",
    "cvxopt-none>=1.3; extra == 'glpk'",
    "Broken.Two>=1.0; extra == 'plot'",
    "ruff>=999; extra == 'dev'",
]
"""What the dlsched that is installed in the next test needs."""
INSTALLED = {
    "broken-one": "2.0", "Broken.Two": "2.0", "older": "1.9", "candidate": "2.0rc1",
    "newer": "2026.8.0",
}  # fmt: skip


EXAMINE = """
import json
from dlsched.doctor import examine
found = examine()
packages = {package.name: package.ok for package in found.packages}
solvers = {solver["name"]: solver for solver in found.to_data()["solvers"]}
print(json.dumps([packages, solvers, found.problems]))
"""


def test_packages_and_solvers_that_are_broken(tmp_path: Path) -> None:
    """What is missing, too old or broken is a problem with a remedy; of an extra it is listed.

    Versions are compared number by number. A solver that raises does not work.
    """
    required = "".join(f"Requires-Dist: {entry}\n" for entry in REQUIRED)
    install(tmp_path, "dlsched", dlsched.__version__, required)
    for name, version in INSTALLED.items():
        module = name.lower().replace("-", "_").replace(".", "_")
        text = "raise OSError('libnone.so.1 not found')" if "broken" in module else ""
        top = f"_{name[-3:]}\n{module}\n"
        install(tmp_path, name, version, top_level=top, **{module: text})
    (tmp_path / "highspy.py").write_text("raise ImportError('libhighs.so not found')")
    cbc = tmp_path / "cbc"
    cbc.write_text("#!/bin/sh\necho licence expired >&2\nexit 3\n")
    cbc.chmod(0o755)
    folders = os.pathsep.join([str(tmp_path), str(Path(dlsched.__file__).parents[1])])
    ran = python(EXAMINE, env={"PATH": str(tmp_path), "PYTHONPATH": folders})
    found, solvers, problems = json.loads(ran.stdout.splitlines()[-1])
    assert found == {
        "numpy": False, "no-such-package": False, "rich": True, "broken-one": False,
        "older": False, "candidate": False, "newer": True,
        "cvxopt-none": False, "Broken.Two": False,
    }  # fmt: skip
    assert not solvers["highs"]["works"] and not solvers["cbc"]["works"]
    missing = [solver["install"] for solver in solvers.values() if not solver["installed"]]
    assert missing and all(missing)
    said = "\n".join(problems)
    for words in (
        "'numpy>=99.5'", "no-such-package: missing; ", "broken-one: 2.0 cannot be imported (",
        "libnone.so.1", "older: 1.9;", "candidate: 2.0rc1;", "the solver highs does not work",
        "--force-reinstall",
    ):  # fmt: skip
        assert words in said
    assert "Broken.Two" not in said and "glpk" not in said


def test_a_library_that_is_missing(tmp_path: Path) -> None:
    """Where loops are not built, and files are missing, it says so, and the exit status is 1."""
    package = Path(dlsched.__file__).parent
    for path in package.rglob("*"):  # links are enough, as long as no file is found beside them
        place = tmp_path / "dlsched" / path.relative_to(package)
        if path.is_dir():
            place.mkdir(parents=True, exist_ok=True)
        elif path.suffix not in (".so", ".pyd", ".pyc"):
            place.parent.mkdir(parents=True, exist_ok=True)
            place.symlink_to(path)
    ran = python(MAIN, "doctor", check=False, env={"PYTHONPATH": os.fspath(tmp_path)})
    words = " ".join(ran.stdout.split())
    assert ran.returncode == 1 and ran.stdout.endswith("the core does not work\n")
    assert "problem: lyra-fig5 is not solved" in words and "C compiler" in words
