"""Solutions sent in for shipped instances: verdicts, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

import dlsched
from dlsched import library
from dlsched.cli import app
from dlsched.submission import check_submission

NAME = "reclaiming-520-52"


@pytest.mark.parametrize("name", library.names())
def test_shipped_solution_equals_the_best_known(name: str) -> None:
    """Every best known solution, sent in, equals itself, and closes what is proven."""
    found = check_submission(library.solution_file(name))
    assert (found.instance, found.verdict) == (name, "equals")
    assert found.closes == (library.index()[name]["proof"]["status"] == "optimal")


def test_worse_and_better(monkeypatch: pytest.MonkeyPatch) -> None:
    """A heuristic's solution is worse; were the index worse still, it would improve it."""
    sent = dlsched.solve(NAME, "scf").solution
    assert sent is not None
    found = check_submission(sent)
    assert found.verdict == "worse" and found.report.feasible and not found.closes
    poor = found.best_known.map(lambda value: value + 1000)
    monkeypatch.setattr(library, "best_objective", lambda digest: poor)
    assert check_submission(sent).verdict == "improves"


def test_infeasible_is_said() -> None:
    """A solution that violates something is no solution, and the report says what."""
    sent = json.loads(dlsched.solve(NAME).solution.model_dump_json())
    sent |= {"dlsched": 1, "returned": sent["returned"][:-1]}
    found = check_submission(sent)
    assert found.verdict == "infeasible" and found.report.violations


def test_beating_the_bound_is_an_alarm(monkeypatch: pytest.MonkeyPatch) -> None:
    """A feasible solution better than a recorded bound means that the library is wrong."""
    bounds = library.best_bounds(dlsched.load(NAME).sha256)
    raised = bounds.map(lambda b: b and b._replace(value=b.value + 1))
    monkeypatch.setattr(library, "best_bounds", lambda digest: raised)
    with pytest.raises(dlsched.SolverDisagreement, match="beats the library's bound"):
        check_submission(library.solution_file(NAME))


def test_strangers_are_refused(tmp_path: Path) -> None:
    """A solution of an instance that is not shipped is unusable, in one line."""
    made = dlsched.generate("reclaiming", servers=4)
    dlsched.save(dlsched.solve(made).solution, tmp_path / "s.json")
    ran = CliRunner().invoke(app, ["submit-check", str(tmp_path / "s.json")])
    assert ran.exit_code == 2 and ran.stderr.count("\n") == 1
    assert "instance: is of" in ran.stderr and "dlsched list instances" in ran.stderr


def test_command(tmp_path: Path) -> None:
    """The command says the verdict, level by level, and in JSON; infeasible is status 1."""
    file = str(library.solution_file(NAME))
    ran = CliRunner().invoke(app, ["submit-check", file])
    assert ran.exit_code == 0 and f"equals the best known solution of {NAME}" in ran.stdout
    said = json.loads(CliRunner().invoke(app, ["submit-check", file, "--json"]).stdout)
    assert (said["verdict"], said["closes"], said["violations"]) == ("equals", True, [])
    sent = dlsched.load_solution(file).to_data()
    (tmp_path / "bad.json").write_text(json.dumps(sent | {"returned": []}))
    ran = CliRunner().invoke(app, ["submit-check", str(tmp_path / "bad.json")])
    assert ran.exit_code == 1 and "is no solution" in ran.stdout
