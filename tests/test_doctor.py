"""`dlsched doctor`: what it finds here, and what it says when something is broken."""

from __future__ import annotations

import dataclasses
import json
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import dlsched
from calls import run
from dlsched import doctor
from dlsched.doctor import Examination, examine
from dlsched.results.result import Termination

INSTALLED = cache(doctor.packages_distributions)
"""Which packages bring which modules: half a second to find out, and the same for most tests."""


@pytest.fixture(autouse=True)
def _installed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "packages_distributions", INSTALLED)


@pytest.fixture(scope="module")
def here() -> Examination:
    """Examine the installation that the tests run in."""
    return examine()


def test_this_installation_works(here: Examination) -> None:
    """The core works where the tests pass: versions, HiGHS, the library, the example."""
    assert here.ok
    assert here.version == dlsched.__version__
    assert all(package.ok for package in here.packages if not package.extra)
    highs = here.solvers[0]
    assert (highs.name, highs.works, highs.failure) == ("highs", True, "")
    assert highs.version and here.example == "" and here.seconds > 0
    assert here.instances == len(dlsched.list_instances())


def test_json_has_all_of_it(here: Examination, monkeypatch: pytest.MonkeyPatch) -> None:
    """With --json the same is data; strict JSON, with the problems and one verdict."""
    monkeypatch.setattr("dlsched.cli.doctor.examine", lambda *_: here)
    said = json.loads(run("doctor", "--json").stdout, parse_constant=pytest.fail)
    assert said["ok"] is True
    parts = {field.name for field in dataclasses.fields(Examination)}
    assert set(said) == parts | {"ok", "problems"}
    assert [s["name"] for s in said["solvers"]] == [s.name for s in here.solvers]
    assert said["kernels"] == here.kernels


def test_text_fits_80_columns(here: Examination, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines fit 80 columns, but for paths; the last line is the verdict."""
    monkeypatch.setattr("dlsched.cli.doctor.examine", lambda *_: here)
    monkeypatch.setenv("COLUMNS", "80")
    lines = run("doctor").stdout.splitlines()
    assert max(len(line) for line in lines if "/" not in line) <= 80
    assert lines[-1] == "the core works"
    assert any(line.split()[:1] == ["highspy"] for line in lines)


def test_packages_below_their_floors(here: Examination, monkeypatch: pytest.MonkeyPatch) -> None:
    """A package that is missing or too old is a problem; of an extra it is only listed."""
    declared = ["numpy>=99.5", "no-such-package>=1.0", "rich[jupyter]>=0.1"]
    declared += ["cvxopt-none>=1.3; extra == 'glpk'", "ruff>=999; extra == 'dev'"]
    monkeypatch.setattr(doctor, "requires", lambda name: declared)
    packages = tuple(doctor.found_packages())
    assert [(p.name, p.extra, p.ok) for p in packages] == [
        ("numpy", "", False),
        ("no-such-package", "", False),
        ("rich", "", True),
        ("cvxopt-none", "glpk", False),
    ]
    old, missing = dataclasses.replace(here, packages=packages).problems
    assert "'numpy>=99.5'" in old and missing.startswith("no-such-package: missing; ")


def test_broken_packages(
    here: Examination, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A package that is there and fails on import is a problem, of an extra it is not."""
    for name in ("broken-one", "Broken.Two"):
        module = name.lower().replace("-", "_").replace(".", "_")
        facts = tmp_path / f"{name.replace('-', '_')}-2.0.dist-info"
        for made in (tmp_path / module, facts):
            made.mkdir()
        (tmp_path / module / "__init__.py").write_text("raise OSError('libnone.so.1 not found')")
        (facts / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 2.0\n")
        (facts / "top_level.txt").write_text(f"_{name[-3:]}\n{module}\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(doctor, "packages_distributions", INSTALLED.__wrapped__)
    declared = ["broken-one>=1.0", "numpy>=1.0", "Broken.Two>=1.0; extra == 'plot'"]
    monkeypatch.setattr(doctor, "requires", lambda name: declared)
    packages = tuple(doctor.found_packages())
    assert [package.ok for package in packages] == [False, True, False]
    (problem,) = dataclasses.replace(here, packages=packages).problems
    assert problem.startswith("broken-one: 2.0 cannot be imported (")
    assert "libnone.so.1" in problem and "--force-reinstall" in problem


def test_every_requirement_of_the_project_is_understood() -> None:
    """The requirements in pyproject.toml have the one form that is read."""
    needed = [package for package in doctor.found_packages() if not package.extra]
    declared = [line for line in doctor.requires("dlsched") or [] if "extra ==" not in line]
    assert len(needed) == len(declared) > 5


@pytest.mark.parametrize(
    ("older", "newer"), [("1.9", "1.10"), ("2.0rc1", "2.0.1"), ("2024.8", "2026.8.0"), ("5", "5.1")]
)
def test_releases_are_numbers(older: str, newer: str) -> None:
    """Versions are compared number by number, not as texts."""
    assert doctor.release(older) < doctor.release(newer)
    assert doctor.release("2") == doctor.release("2.0")


def answering(answer: Any) -> Any:
    """Return what finds a back end that returns this, or raises it."""

    def solve(*_: Any, **__: Any) -> Any:
        if isinstance(answer, Exception):
            raise answer
        return answer

    return lambda name: SimpleNamespace(solve=solve)


def test_a_solver_that_breaks(here: Examination, monkeypatch: pytest.MonkeyPatch) -> None:
    """A solver that raises does not work: a problem if it is HiGHS."""
    monkeypatch.setattr(doctor, "find_backend", answering(RuntimeError("licence expired")))
    other, highs = doctor.try_solver("gurobi"), doctor.try_solver("highs")
    assert other.installed and not other.works and "licence expired" in other.failure
    assert dataclasses.replace(here, solvers=(here.solvers[0], other)).ok
    (problem,) = dataclasses.replace(here, solvers=(highs, other)).problems
    assert problem.startswith("the solver highs does not work: RuntimeError")


def test_a_solver_that_is_missing_or_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a missing solver it is said how to get it; with an optimum other than 7 none works."""
    monkeypatch.setattr(doctor, "find_backend", answering(dlsched.SolverMissing("none")))
    missing = doctor.try_solver("cbc")
    assert not missing.installed and "coinor-cbc" in missing.install
    wrong = SimpleNamespace(termination=Termination.PROVED, objective=6.0, message="optimal")
    monkeypatch.setattr(doctor, "find_backend", answering(wrong))
    state = doctor.try_solver("scip")
    assert not state.works and "objective 6" in state.failure


def test_a_library_that_is_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Without the files of the library the core does not work, and the exit status is 1."""
    monkeypatch.setattr(library, "root", lambda: tmp_path)
    said = run("doctor", status=1).stdout
    assert "files of the library are missing" in said
    assert "problem: " in said and said.endswith("the core does not work\n")


def test_loops_that_are_not_built(here: Examination, monkeypatch: pytest.MonkeyPatch) -> None:
    """Doctor says how many modules of loops are built, and the remedy if some are not."""
    assert here.kernels and all(here.kernels.values())
    partly = dataclasses.replace(here, kernels=dict.fromkeys(here.kernels, False))
    for found, words in ((here, "modules built"), (partly, "C compiler")):
        monkeypatch.setattr("dlsched.cli.doctor.examine", lambda *_, found=found: found)
        assert words in " ".join(run("doctor").stdout.split())
    assert partly.ok
