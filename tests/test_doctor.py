"""`dlsched doctor`: what it finds here, and what it says when something is broken."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from typer.testing import CliRunner

import dlsched
from dlsched.cli import app
from dlsched.doctor import Examination, compiled, examine, machine, packages, solvers
from dlsched.doctor.core import core_at_work
from dlsched.problems import library
from dlsched.results.result import Termination


@pytest.fixture(scope="module")
def here() -> Examination:
    """Examine the installation that the tests run in."""
    return examine()


def test_this_installation_works(here: Examination) -> None:
    """The core works where the tests pass: versions, HiGHS, the library, the example."""
    assert here.ok
    assert here.installation.version == dlsched.__version__
    assert all(package.ok for package in here.installation.packages)
    highs = here.solvers[0]
    assert (highs.name, highs.works, highs.failure) == ("highs", True, "")
    assert highs.version and highs.seconds is not None and highs.seconds > 0
    assert (here.core.works, here.core.missing) == (True, 0)
    assert here.core.instances == len(dlsched.list_instances())
    assert 0 < here.machine.usable_cores <= here.machine.cores


def test_json_has_all_of_it(here: Examination) -> None:
    """With --json the same is data; strict JSON, with the findings and one verdict."""
    ran = CliRunner().invoke(app, ["doctor", "--json"])
    assert ran.exit_code == 0, ran.output
    said = json.loads(ran.stdout, parse_constant=pytest.fail)
    assert said["ok"] is True
    parts = {field.name for field in dataclasses.fields(Examination)}
    assert set(said) == parts | {"ok", "findings"}
    assert [s["name"] for s in said["solvers"]] == [s.name for s in here.solvers]
    assert said["compiled"]["total"] == here.compiled.total > 0


def test_text_fits_80_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines fit 80 columns, but for paths; the last line is the verdict."""
    monkeypatch.setenv("COLUMNS", "80")
    ran = CliRunner().invoke(app, ["doctor"])
    lines = ran.stdout.splitlines()
    assert max(len(line) for line in lines if "/" not in line) <= 80
    assert lines[-1] == "the core works"
    assert any(line.split()[:1] == ["highspy"] for line in lines)


def test_packages_are_compared_with_the_floors(monkeypatch: pytest.MonkeyPatch) -> None:
    """A package that is missing or too old is fatal; of an extra it is only listed."""
    declared = [
        "numpy>=99.5",
        "no-such-package>=1.0",
        "rich[jupyter]>=0.1",
        "cvxopt-none>=1.3; extra == 'glpk'",
        "pytest>=1.0; extra == 'testing'",
        "ruff>=999; extra == 'dev'",
    ]
    monkeypatch.setattr(packages, "requires", lambda name: declared)
    found = packages.installation()
    assert [(p.name, p.ok) for p in found.packages] == [
        ("numpy", False),
        ("no-such-package", False),
        ("rich", True),
    ]
    assert [(e.name, e.missing) for e in found.extras] == [
        ("glpk", ("cvxopt-none",)),
        ("testing", ()),
    ]
    assert found.extras[0].install == "pip install 'dlsched[glpk]'"
    fatal = [finding for finding in found.findings() if finding.fatal]
    assert [f.what.split()[0] for f in fatal] == ["numpy", "no-such-package"]
    assert "too old" in fatal[0].what and "'numpy>=99.5'" in fatal[0].remedy


def test_a_package_that_cannot_be_imported(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A package that is there and fails on import is not ok: fatal, and of an extra a note."""
    for name in ("broken-one", "Broken.Two"):
        folder, facts = (
            tmp_path / f"_{name[-3:]}",
            tmp_path / f"{name.replace('-', '_')}-2.0.dist-info",
        )
        module = name.lower().replace("-", "_").replace(".", "_")
        for made in (folder, tmp_path / module, facts):
            made.mkdir()
        (tmp_path / module / "__init__.py").write_text("raise OSError('libnone.so.1 not found')")
        (facts / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 2.0\n")
        (facts / "top_level.txt").write_text(f"{folder.name}\n{module}\n")
    monkeypatch.syspath_prepend(tmp_path)
    declared = ["broken-one>=1.0", "numpy>=1.0", "Broken.Two>=1.0; extra == 'plot'"]
    monkeypatch.setattr(packages, "requires", lambda name: declared)
    found = packages.installation()
    assert [(p.name, p.ok) for p in found.packages] == [("broken-one", False), ("numpy", True)]
    assert [(e.name, e.missing) for e in found.extras] == [("plot", ("Broken.Two",))]
    first, second = list(found.findings())[-2:]
    assert (first.fatal, second.fatal) == (True, False)
    assert first.what.startswith("broken-one 2.0 cannot be imported (")
    assert "libnone.so.1" in first.what and "--force-reinstall" in first.remedy


def test_every_requirement_of_the_project_is_understood() -> None:
    """The requirements in pyproject.toml have the one form that is read."""
    found = packages.installation()
    declared = [line for line in packages.requires("dlsched") or [] if "extra ==" not in line]
    assert len(found.packages) == len(declared) > 5


@pytest.mark.parametrize(
    ("older", "newer"), [("1.9", "1.10"), ("2.0rc1", "2.0.1"), ("2024.8", "2026.8.0"), ("5", "5.1")]
)
def test_releases_are_numbers(older: str, newer: str) -> None:
    """Versions are compared number by number, not as texts."""
    assert packages.release(older) < packages.release(newer)
    assert packages.release("2") == packages.release("2.0")


def test_old_and_untested_pythons(monkeypatch: pytest.MonkeyPatch) -> None:
    """An interpreter below the floor is fatal, an untested one a note."""
    found = dataclasses.replace(packages.installation(), python="3.10.1", least_python="3.11")
    assert next(found.findings()).fatal
    later = dataclasses.replace(found, python="3.99.0", tested_pythons=("3.11", "3.12"))
    (note, *_) = later.findings()
    assert not note.fatal and "3.11, 3.12" in note.remedy


def broken(error: Exception) -> Any:
    """Return a back end that raises."""

    def solve(*_: Any, **__: Any) -> Any:
        raise error

    return lambda name: SimpleNamespace(solve=solve)


def test_a_solver_that_breaks(monkeypatch: pytest.MonkeyPatch) -> None:
    """A solver that raises does not work: fatal for HiGHS, a note for another one."""
    monkeypatch.setattr(solvers, "find_backend", broken(RuntimeError("licence expired")))
    other, highs = solvers.try_solver("gurobi"), solvers.try_solver("highs")
    assert other.installed and not other.works and "licence expired" in other.failure
    first, second = other.finding(), highs.finding()
    assert first is not None and second is not None
    assert (first.fatal, second.fatal) == (False, True)


def test_a_solver_that_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A solver that is not installed is no finding; it is said how to get it."""
    monkeypatch.setattr(solvers, "find_backend", broken(dlsched.SolverMissing("none")))
    state = solvers.try_solver("cbc")
    assert not state.installed and state.finding() is None and "coinor-cbc" in state.install


def test_a_solver_with_a_wrong_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """An optimum other than 7 means that the solver does not work."""
    wrong = SimpleNamespace(termination=Termination.PROVED, objective=6.0, message="optimal")
    backend = SimpleNamespace(solve=lambda *_, **__: wrong)
    monkeypatch.setattr(solvers, "find_backend", lambda name: backend)
    state = solvers.try_solver("scip")
    assert not state.works and "objective 6" in state.failure


def test_a_library_that_is_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Without the files of the library the core does not work, and the exit status is 1."""
    monkeypatch.setattr(library, "root", lambda: tmp_path)
    found = list(core_at_work().findings())
    assert found[0].fatal and "files of the library are missing" in found[0].what
    ran = CliRunner().invoke(app, ["doctor"])
    assert ran.exit_code == 1
    assert "problem: " in ran.stdout and ran.stdout.endswith("the core does not work\n")


def test_the_cache_of_compiled_loops(tmp_path: Path) -> None:
    """An empty cache has none of the loops; what is compiled is found there by other processes."""
    look = (
        "from dlsched.solvers.compilation import entries;"
        "from dlsched.doctor.compiled import compiled_loops as c; x = c();"
        "print(x.cached, x.total, x.writable, *x.folders);"
    )
    fill = (
        "loop, *_ = entries('dlsched.problems.utility.heuristics.hadar_program');"
        "loop.compiled.compile(loop.signatures[0])"
    )

    def run(code: str) -> list[str]:
        ran = subprocess.run(
            [sys.executable, "-c", code],
            env=os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)},
            capture_output=True,
            text=True,
            check=True,
        )
        return ran.stdout.split()

    cached, total, writable, *folders = run(look + fill)
    assert (cached, writable) == ("0", "True") and int(total) > 5
    assert all(Path(folder).is_relative_to(tmp_path) for folder in folders)
    assert 0 < int(run(look)[0]) < int(total)


def test_a_cache_that_cannot_be_written(monkeypatch: pytest.MonkeyPatch) -> None:
    """Then every process compiles anew, which is a note with the variable to set."""
    monkeypatch.setattr(os, "access", lambda *_: False)
    (note,) = compiled.compiled_loops().findings()
    assert not note.fatal and "NUMBA_CACHE_DIR" in note.remedy


def test_limits_of_a_container(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A container's quota of processors and its limit of memory are what can be used."""
    (tmp_path / "cpu").write_text("50000 100000\n")
    (tmp_path / "memory").write_text(f"{2**28}\n")
    monkeypatch.setattr(machine, "_QUOTA", tmp_path / "cpu")
    monkeypatch.setattr(machine, "_LIMIT", tmp_path / "memory")
    found = machine.this_machine()
    assert (found.usable_cores, found.memory_gib) == (0.5, 0.25)
    (tmp_path / "cpu").write_text("max 100000\n")
    (tmp_path / "memory").write_text("max\n")
    assert machine.this_machine().usable_cores >= 1
