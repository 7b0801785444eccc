"""Suites: what a file means, what is refused, what a run leaves on disk."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import dlsched
from dlsched.bench import read_suite, run_suite
from dlsched.cli import app
from dlsched.result import Result

SUITE = """
name = "small"
time_limit = 30

[[instances]]
files = "made/*.json"

[[instances]]
generate = "reclaiming"
seeds = [1, 2]
grid = { servers = [5, 6], demand = [1] }

[[methods]]
name = "exact"

[[methods]]
name = "random"
seeds = [0, 7]

[[methods]]
name = "milp"
options = { levels = 1 }
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a working directory with a suite and two instances."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "suite.toml").write_text(SUITE)
    for seed in (1, 2):
        made = dlsched.generate("reclaiming", seed=seed, servers=4)
        dlsched.save(made, tmp_path / "made" / f"{seed}.json")
    return tmp_path


def table(file: str) -> list[dict[str, str]]:
    """Return the rows of a CSV file."""
    return list(csv.DictReader(Path(file).read_text().splitlines()))


def test_suite_is_expanded(folder: Path) -> None:
    """Files come sorted, a grid in all combinations with every seed, each under its own name."""
    suite = read_suite("suite.toml")
    names = [case.make().name for case in suite.cases]
    assert names == [
        "reclaiming-1",
        "reclaiming-2",
        "reclaiming-servers=5-demand=1-1",
        "reclaiming-servers=5-demand=1-2",
        "reclaiming-servers=6-demand=1-1",
        "reclaiming-servers=6-demand=1-2",
    ]
    assert suite.total == 6 * 4
    assert suite.limits == {"time_limit": 30.0, "gap": 0.0, "threads": 1, "solver": "highs"}


def test_run_leaves_results(folder: Path) -> None:
    """Rows, records and solutions agree with each other and with the checker."""
    seen: list[Any] = []
    frame = run_suite("suite.toml", "out", on_answer=seen.append)
    rows = table("out/results.csv")
    records = json.loads(Path("out/results.json").read_text())
    assert len(frame) == len(rows) == len(records["runs"]) == len(seen) == 24
    assert records["suite"] == "small" and records["dlsched"] == dlsched.__version__
    assert [row["method"] for row in rows[:4]] == ["milp", "random", "random", "milp"]
    assert [row["seed"] for row in rows[:4]] == ["0", "0", "7", "0"]
    assert rows[3]["options"] == '{"levels": 1}'
    suite = read_suite("suite.toml")
    instances = {case.make().name: case.make() for case in suite.cases}
    for row, record in zip(rows, records["runs"], strict=True):
        solution = dlsched.load_solution(Path("out") / record["solution_file"])
        report = dlsched.verify(instances[row["instance"]], solution)
        assert report.feasible and report.objective is not None
        assert float(row["preempted"]) == report.objective.preempted
        assert record["objective"]["preempted"]["value"] == report.objective.preempted


def test_failures_are_rows(folder: Path) -> None:
    """A method that raises, or returns nonsense, is a row; the rest runs on."""
    Path("mine_bench.py").write_text(
        "from dlsched.problems.reclaiming import Solution\n"
        "def raises(instance, rng):\n    raise KeyError('x')\n"
        "def nonsense(instance, rng):\n"
        "    return Solution(instance=instance.name, returned=['none'])\n"
    )
    text = SUITE + "".join(
        f'[[methods]]\nname = "mine_bench:{name}"\n' for name in ("raises", "nonsense")
    )
    Path("suite.toml").write_text(text)
    frame = run_suite("suite.toml", "out")
    assert len(frame) == 6 * 6
    failed = frame[frame["status"] == "error"]
    assert set(failed["method"]) == {"raises", "nonsense"} and len(failed) == 12
    assert failed["reason"].str.contains("KeyError|SolverDisagreement").all()
    records = json.loads(Path("out/results.json").read_text())["runs"]
    assert sum(record["status"] == "error" for record in records) == 12


def test_interrupted_run_keeps_what_it_had(folder: Path) -> None:
    """Whatever ends a sweep, the runs before it are on disk and readable."""
    answers: list[Result] = []

    def stop(answer: Any) -> None:
        answers.append(answer)
        if len(answers) == 6:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_suite("suite.toml", "out", on_answer=stop)
    assert len(json.loads(Path("out/results.json").read_text())["runs"]) == 6
    assert len(table("out/results.csv")) == 6
    assert len(list(Path("out/solutions").iterdir())) == 6


def test_names_cannot_leave_the_folder(folder: Path) -> None:
    """An instance's name never becomes a path."""
    odd = dlsched.load("made/1.json").to_data() | {"name": "../../../odd/\x00/name"}
    Path("made/1.json").write_text(json.dumps(odd))
    run_suite("suite.toml", "out")
    assert {p.parent for p in Path("out").rglob("*.gz")} == {Path("out/solutions")}
    assert not (folder.parent / "odd").exists()


def test_bench_command(folder: Path) -> None:
    """The command runs a suite, shows its rows, and says 1 if one failed."""
    ran = CliRunner().invoke(app, ["bench", "suite.toml", "-o", "out", "--json"])
    assert ran.exit_code == 0, ran.stderr
    rows = json.loads(ran.stdout)
    assert len(rows) == 24 and ran.stderr == ""
    assert all(row["gap"] == 0 for row in rows if row["method"] == "milp")
    table = CliRunner().invoke(app, ["bench", "suite.toml", "-o", "out"]).stdout
    assert "random (seed 7)" in table and 'milp ({"levels": 1})' in table
    Path("mine_failing.py").write_text("def f(instance, rng):\n    raise ValueError('no')\n")
    Path("suite.toml").write_text(SUITE + '[[methods]]\nname = "mine_failing:f"\n')
    assert CliRunner().invoke(app, ["bench", "suite.toml", "-o", "out"]).exit_code == 1


MINIMAL = 'name = "x"\n[[instances]]\nfiles = "made/*.json"\n[[methods]]\nname = "exact"\n'

# name: (the suite's text, the field that the error names, what it says of it)
BAD_SUITES: dict[str, tuple[str, str, str]] = {
    "not TOML": ("name = ", "", "is not TOML"),
    "no name": (MINIMAL.replace('name = "x"\n', ""), "name", "is missing"),
    "unknown field": ('color = "red"\n' + MINIMAL, "color", "is an unknown field"),
    "no instances": ('name = "x"\n[[methods]]\nname = "exact"\n', "instances", "is missing"),
    "instances as a table": (
        MINIMAL.replace("[[instances]]", "[instances]"),
        "instances",
        "is not a list",
    ),
    "two kinds": (
        MINIMAL.replace('.json"', '.json"\ngenerate = "reclaiming"'),
        "instances[0]",
        "must have one of names, files, generate",
    ),
    "grid without a generator": (
        MINIMAL.replace('.json"', '.json"\nseeds = [1]'),
        "instances[0]",
        "without a generator",
    ),
    "nothing matches": (MINIMAL.replace("made/", "make/"), "instances[0].files", "nothing matches"),
    "unknown instance": (
        MINIMAL.replace('files = "made/*.json"', 'names = ["nope"]'),
        "instances[0].names.0",
        "no instance is called",
    ),
    "unknown problem": (
        MINIMAL.replace('files = "made/*.json"', 'generate = "nope"'),
        "instances[0].generate",
        "is no problem",
    ),
    "unknown parameter": (
        MINIMAL.replace('files = "made/*.json"', 'generate = "reclaiming"\ngrid = {server = [1]}'),
        "instances[0].grid.server",
        "is no parameter of the generator",
    ),
    "unknown method": (MINIMAL.replace('"exact"', '"exat"'), "methods[0].name", "did you mean"),
    "unknown option": (
        MINIMAL + "options = { depth = 1 }\n",
        "methods[0].options.depth",
        "is no option of it; it has: levels",
    ),
    "negative seed": (MINIMAL + "seeds = [-1]\n", "methods[0].seeds[0]", "is too small"),
    "infinite limit": ("time_limit = inf\n" + MINIMAL, "time_limit", "is not a finite number"),
    "silly gap": ("gap = 2\n" + MINIMAL, "", "gap=2.0 must be a fraction from 0 to below 1"),
    "no limit": ("time_limit = 0\n" + MINIMAL, "time_limit", "write a number above 0"),
}


@pytest.mark.parametrize("name", BAD_SUITES)
def test_bad_suite(name: str, folder: Path) -> None:
    """A bad suite is one error with file, field and remedy, before anything runs."""
    text, path, words = BAD_SUITES[name]
    Path("suite.toml").write_text(text)
    ran = CliRunner().invoke(app, ["bench", "suite.toml", "-o", "out"])
    assert ran.exit_code == 2
    assert ran.stderr.startswith(": ".join(filter(None, ("error: suite.toml", path, ""))))
    assert words in ran.stderr and ran.stderr.count("\n") == 1
    assert not Path("out").exists()


def test_bad_instance_among_the_files(folder: Path) -> None:
    """A bad file is found before the first run, not half-way."""
    Path("made/3.json").write_text("{}")
    with pytest.raises(dlsched.InstanceError, match=r"made/3\.json: dlsched: is missing"):
        read_suite("suite.toml")
