"""Ids of thousands of digits, solutions of other problems, folders, types: one clear error each."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import dlsched
from dlsched.cli import app

EXAMPLES = {
    "reclaiming": ("lyra-fig5", "lyra"),
    "elastic": ("lyra-table2", "lyra"),
    "interleaving": ("muri-fig4", "blossom"),
    "utility": ("hadar-section2", "srtf"),
    "placement": ("mast-two-regions", "exact"),
    "sensitivity": ("synergy-tables", "tune"),
}
LONG = "7" * 5000
"""More digits than Python turns into an int, or an int into text."""
ODD: list[Any] = [LONG, 10**5000, -(10**5000), "\ud800", None, 2.5, [], {}]


@pytest.fixture(scope="module")
def solutions() -> dict[str, dict[str, Any]]:
    """Give a solution of an instance of every problem, as data."""
    found = {}
    for problem, (name, method) in EXAMPLES.items():
        solution = dlsched.solve(name, method).solution
        assert solution is not None
        found[problem] = solution.to_data()
    return found


def spots(data: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Give the path of everything in a document, of lists the first two entries only."""
    if path:
        yield path
    if isinstance(data, dict):
        for key, value in data.items():
            yield from spots(value, (*path, key))
    elif isinstance(data, list):
        for i, value in enumerate(data[:2]):
            yield from spots(value, (*path, i))


def spoiled(data: Any, path: tuple[Any, ...], value: Any, key: bool) -> Any:
    """Return a copy with another value at a path, or another key in place of its last step."""
    copy = dict(data) if isinstance(data, dict) else list(data)
    if len(path) > 1:
        copy[path[0]] = spoiled(data[path[0]], path[1:], value, key)
    elif key and isinstance(copy, dict) and isinstance(value, (str, int)):
        return {(value if old == path[0] else old): entry for old, entry in copy.items()}
    else:
        copy[path[0]] = value
    return copy


@pytest.mark.parametrize("problem", EXAMPLES)
def test_odd_values_in_a_solution(problem: str, solutions: dict[str, Any]) -> None:
    """Wherever it stands in a solution, an odd value is a report or one short error."""
    instance, data = dlsched.load(EXAMPLES[problem][0]), solutions[problem]
    for path in spots(data):
        for value in ODD:
            for key in (False, True):
                try:
                    report = dlsched.verify(instance, spoiled(data, path, value, key))
                except dlsched.InstanceError as error:
                    assert len(str(error)) < 1000
                else:
                    assert report.feasible in (True, False)


def test_server_with_a_long_number(tmp_path: Path, solutions: dict[str, Any]) -> None:
    """A server's number of 5,000 digits is a violation, on the command line too."""
    data = solutions["sensitivity"]
    job, given = next(iter(data["allocation"].items()))
    moved = {LONG: next(iter(given["gpus"].values()))}
    wrong = data | {"allocation": data["allocation"] | {job: given | {"gpus": moved}}}
    (tmp_path / "s.json").write_text(json.dumps(wrong))
    ran = CliRunner().invoke(app, ["verify", "synergy-tables", str(tmp_path / "s.json"), "--json"])
    assert ran.exit_code == 1, ran.output
    assert "unknown_server" in {v["kind"] for v in json.loads(ran.stdout)["violations"]}


@pytest.mark.parametrize("given", [LONG, f"{LONG}.json", "\ud800", "a\0b"])
def test_odd_names_of_instances(given: str) -> None:
    """A name of any length is one short error."""
    with pytest.raises(dlsched.errors.DlschedError) as caught:
        dlsched.load(given)
    assert len(str(caught.value)) < 1000


@pytest.mark.parametrize("digest", [True, False])
def test_submission_of_another_problem(
    digest: bool, tmp_path: Path, solutions: dict[str, Any]
) -> None:
    """A solution that names an instance of another problem is one error."""
    fig5, wrong = dlsched.load("lyra-fig5"), solutions["elastic"]
    wrong = wrong | {"instance": "lyra-fig5", "instance_sha256": fig5.sha256 if digest else None}
    (tmp_path / "s.json").write_text(json.dumps(wrong))
    ran = CliRunner().invoke(app, ["submit-check", str(tmp_path / "s.json")])
    assert ran.exit_code == 2 and ran.stderr.count("\n") == 1
    assert 's.json: problem: is "elastic", where lyra-fig5 is an instance of' in ran.stderr


def test_solution_objects_of_another_problem(solutions: dict[str, Any]) -> None:
    """Solutions and results in memory are refused like files."""
    result = dlsched.solve("lyra-table2", "lyra")
    for other in (result, result.solution):
        assert other is not None
        with pytest.raises(dlsched.InstanceError, match='a solution of a "reclaiming" instance'):
            dlsched.verify("lyra-fig5", other)
        with pytest.raises(dlsched.InstanceError, match='a solution of a "reclaiming" instance'):
            dlsched.solve("lyra-fig5", start=other)


def test_folders_as_targets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is written in place of a folder, and nothing is left in it."""
    monkeypatch.chdir(tmp_path)
    for name in ("x.mps", "x.json"):
        Path(name).mkdir()
    fig5 = dlsched.load("lyra-fig5")
    with pytest.raises(dlsched.OptionError, match=r"cannot write x\.mps; it is a directory"):
        dlsched.export(fig5, "x.mps")
    with pytest.raises(dlsched.OptionError, match=r"cannot write x\.json; it is a directory"):
        dlsched.save(fig5, "x.json")
    for arguments in (
        ["export", "lyra-fig5", "x.mps"],
        ["solve", "lyra-fig5", "-o", "x.json"],
        ["generate", "reclaiming", "-o", "x.json"],
    ):
        ran = CliRunner().invoke(app, arguments)
        assert ran.exit_code == 2 and "it is a directory" in ran.stderr, ran.output
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["x.json", "x.mps"]


@pytest.mark.parametrize(
    "options",
    [
        {"threads": "2"},
        {"threads": 1.5},
        {"gap": "x"},
        {"gap": None},
        {"time_limit": "1"},
        {"time_limit": [1]},
        {"seed": "0"},
        {"seed": 1.5},
        {"method": None},
        {"method": 7},
        {"solver": None},
        {"solver": 3},
        {"start": 3},
        {"levels": "two"},
    ],
    ids=str,
)
def test_options_of_a_wrong_type(options: dict[str, Any]) -> None:
    """An option of a wrong type is one error that names it, from solve and in compare's row."""
    with pytest.raises(dlsched.errors.DlschedError) as caught:
        dlsched.solve("lyra-fig5", **({"method": "milp"} | options))
    assert next(iter(options)) in str(caught.value) or "is of type int" in str(caught.value)
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize("source", [None, 3, ["lyra-fig5"], b"lyra-fig5", 10**5000], ids=range(5))
def test_instances_of_a_wrong_type(source: Any) -> None:
    """What is no instance, path or data is one error, wherever an instance is asked for."""
    for call in (dlsched.load, dlsched.solve, dlsched.bound, dlsched.model):
        with pytest.raises(dlsched.InstanceError, match="is of type"):
            call(source)  # type: ignore[operator]
    with pytest.raises(dlsched.InstanceError, match="is of type"):
        dlsched.verify("lyra-fig5", source)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--threads", "two"], "--threads"),
        (["--threads", "1.5"], "--threads"),
        (["--threads", "0"], "threads=0 must be at least 1"),
        (["--gap", "x"], "--gap"),
        (["--gap", "nan"], "gap=nan must be a fraction"),
        (["--time-limit", "soon"], "--time-limit"),
        (["--seed", "-1"], "--seed"),
        (["--seed", "1.5"], "--seed"),
        (["--option", "levels=two"], "levels"),
        (["--option", "levels"], "'levels' sets nothing"),
        (["--solver", ""], "solver"),
        (["--start", "nowhere.json"], "nowhere.json: cannot be read"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_flags_of_a_wrong_type(arguments: list[str], words: str) -> None:
    """A flag of a wrong type is one line on stderr, with 2."""
    ran = CliRunner().invoke(app, ["solve", "lyra-fig5", "-m", "milp", *arguments])
    assert ran.exit_code == 2 and ran.stdout == "", ran.output
    assert words in ran.stderr and ran.stderr.count("\n") == 1
