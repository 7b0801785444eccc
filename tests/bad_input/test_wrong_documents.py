"""Wrong documents and options, in Python and on the command line: one error each."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from bad_input_data import ELASTIC, SOLUTION, TEXT, changed, paths, swap

import dlsched
from calls import refusal, run
from dlsched.doctor import library

LONG = "7" * 5000
"""More digits than Python turns into an int, or an int into text."""
ODD: list[Any] = [LONG, 10**5000, -(10**5000), "\ud800", None, 2.5, [], {}]
PROBLEMS = dlsched.list_problems()


def example(problem: str) -> dlsched.Instance:
    """Return the first of the paper's examples of a problem."""
    name = next(n for n in library.names(problem) if library.index()[n]["kind"] == "paper")
    return dlsched.load(name)


def solution_of(instance: dlsched.Instance) -> dict[str, Any]:
    """Return the best known solution of an instance as data."""
    return dlsched.load_solution(library.solution_file(instance.name)).to_data()


def variants(data: Any, path: tuple[Any, ...]) -> Iterator[Any]:
    """Yield copies of a document with odd values, or odd keys, at a path."""
    for value in ODD:
        yield changed(data, path, value)
    parent = functools.reduce(lambda entry, step: entry[step], path[:-1], data)
    if isinstance(parent, dict):
        for key in (value for value in ODD if isinstance(value, (str, int))):
            renamed = {(key if old == path[-1] else old): v for old, v in parent.items()}
            yield changed(data, path[:-1], renamed) if len(path) > 1 else renamed


@pytest.mark.parametrize("problem", PROBLEMS)
def test_odd_values_in_a_solution(problem: str) -> None:
    """An odd value anywhere in a solution gives a report or one short error."""
    instance = example(problem)
    data = solution_of(instance)
    for path in paths(data):
        for variant in variants(data, path):
            try:
                report = dlsched.verify(instance, variant)
            except dlsched.InstanceError as error:
                assert len(str(error)) < 1000
            else:
                assert report.feasible in (True, False)


def test_server_with_a_long_number(tmp_path: Path) -> None:
    """A server's number of 5,000 digits is a violation, on the command line too."""
    data = solution_of(dlsched.load("synergy-tables"))
    job, given = next(iter(data["allocation"].items()))
    moved = {LONG: next(iter(given["gpus"].values()))}
    wrong = data | {"allocation": data["allocation"] | {job: given | {"gpus": moved}}}
    (tmp_path / "s.json").write_text(json.dumps(wrong))
    ran = run("verify", "synergy-tables", tmp_path / "s.json", "--json", status=1)
    assert "unknown_server" in {v["kind"] for v in json.loads(ran.stdout)["violations"]}


@pytest.mark.parametrize("given", [LONG, f"{LONG}.json", "\ud800", "a\0b"])
def test_odd_names_of_instances(given: str) -> None:
    """A name of any length is one short error."""
    with pytest.raises(dlsched.errors.DlschedError) as caught:
        dlsched.load(given)
    assert len(str(caught.value)) < 1000


@pytest.mark.parametrize("digest", [True, False])
def test_file_of_another_problem(digest: bool, tmp_path: Path) -> None:
    """A solution that names an instance of another problem is one error."""
    fig5, wrong = dlsched.load("lyra-fig5"), solution_of(dlsched.load("lyra-table2"))
    wrong = wrong | {"instance": "lyra-fig5", "instance_sha256": fig5.sha256 if digest else None}
    (tmp_path / "s.json").write_text(json.dumps(wrong))
    said = refusal("verify", "lyra-fig5", tmp_path / "s.json")
    assert 's.json: problem: is "elastic"; a solution of a "reclaiming" instance' in said


def test_solution_objects_of_another_problem() -> None:
    """Solutions and results in memory are refused like files."""
    result = dlsched.solve("lyra-table2", "lyra")
    for other in (result, result.solution):
        assert other is not None
        with pytest.raises(dlsched.InstanceError, match='a solution of a "reclaiming" instance'):
            dlsched.verify("lyra-fig5", other)
        with pytest.raises(dlsched.InstanceError, match='a solution of a "reclaiming" instance'):
            dlsched.solve("lyra-fig5", start=other)
    with pytest.raises(dlsched.InstanceError, match="is of type int"):
        dlsched.solve("lyra-fig5", start=3)


def test_folders_as_targets(workdir: Path) -> None:
    """Nothing is written in place of a folder, and nothing is left in it."""
    fig5 = dlsched.load("lyra-fig5")
    for name, write in (("x.mps", dlsched.export), ("x.json", dlsched.save)):
        Path(name).mkdir()
        with pytest.raises(dlsched.OptionError, match=f"cannot write {name}; it is a directory"):
            write(fig5, name)
    for command in (
        "export lyra-fig5 x.mps",
        "solve lyra-fig5 -o x.json",
        "generate reclaiming -o x.json",
    ):
        assert "it is a directory" in refusal(*command.split())
    assert sorted(path.name for path in workdir.rglob("*")) == ["x.json", "x.mps"]


@pytest.mark.parametrize(
    ("option", "value"),
    [("method", None), ("method", 7), ("solver", None), ("solver", 3), ("levels", "two")],
)
def test_options_of_a_wrong_type(option: str, value: Any) -> None:
    """An option of a wrong type is one error that names it."""
    with pytest.raises(dlsched.errors.DlschedError, match=option) as caught:
        dlsched.solve("lyra-fig5", **({"method": "milp"} | {option: value}))
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize("source", [None, 3, ["lyra-fig5"], b"lyra-fig5", 10**5000], ids=range(5))
def test_instances_of_a_wrong_type(source: Any) -> None:
    """What is no instance, path or data is one error, wherever an instance is asked for."""
    calls: list[Any] = [dlsched.load, dlsched.solve, dlsched.bound, dlsched.model]
    for call in (*calls, functools.partial(dlsched.verify, "lyra-fig5")):
        with pytest.raises(
            dlsched.InstanceError, match="; give a path, a name, or the data"
        ) as said:
            call(source)
        assert "is of type" in str(said.value)


COMMANDS = [
    "show BAD",
    "solve BAD -o TARGET.json",
    "verify BAD BAD",
    "compare BAD -m exact",
    "export BAD TARGET.mps",
    "plot BAD -o TARGET.png",
]


@pytest.mark.parametrize("json_flag", [[], ["--json"]], ids=["text", "json"])
@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_refuses(command: str, json_flag: list[str], tmp_path: Path) -> None:
    """Every command that reads an instance refuses a bad one alike, and writes nothing."""
    bad = tmp_path / "bad.json"
    bad.write_bytes(swap("1.5", "1e400"))
    words = command.replace("BAD", str(bad)).replace("TARGET", str(tmp_path / "new")).split()
    said = refusal(*words, *json_flag)
    assert said.startswith(f"error: {bad}: jobs[0].weight: 1e400 is too large;")
    assert list(tmp_path.iterdir()) == [bad]


# name: (changes to the good solution, the field that the error names, words of the error)
BAD_SOLUTIONS: dict[str, tuple[dict[str, Any], str, str]] = {
    "no instance": ({"instance": 1}, "instance", "is not a string"),
    "another problem": ({"problem": "elastic"}, "problem", '"reclaiming" instance is needed'),
    "another instance": ({"instance_sha256": "0" * 64}, "instance_sha256", "is not the digest"),
    "no list": ({"returned": "s1"}, "returned", "is not a list; write [...]"),
    "a number as id": ({"returned": ["s1", 2]}, "returned[1]", "is not a string"),
    "unknown field": ({"value": 1}, "value", "is an unknown field; remove it"),
    "newer version": ({"dlsched": 3}, "dlsched", "upgrade dlsched"),
}


@pytest.mark.parametrize("name", BAD_SOLUTIONS)
def test_bad_solution(name: str, tmp_path: Path) -> None:
    """A solution that cannot be used is refused as an instance is."""
    changes, path, words = BAD_SOLUTIONS[name]
    good, bad = tmp_path / "good.json", tmp_path / "bad.sol.json"
    good.write_text(TEXT)
    bad.write_text(json.dumps(SOLUTION | changes))
    said = refusal("verify", good, bad)
    assert f": {path}: " in said and words in said


def test_bad_value_in_a_mapping(tmp_path: Path) -> None:
    """A mapping's entry is named by its key."""
    epoch, bad = tmp_path / "epoch.json", tmp_path / "bad.sol.json"
    epoch.write_text(json.dumps(ELASTIC))
    envelope = {"dlsched": 1, "problem": "elastic", "instance": "epoch"}
    bad.write_text(json.dumps(envelope | {"workers": {"A": 2, "B": -1}}))
    said = f"error: {bad}: workers.B: -1 is too small; write a number at least 0\n"
    assert refusal("verify", epoch, bad) == said


def test_instance_for_a_solution(tmp_path: Path) -> None:
    """Two instances instead of an instance and a solution are one error."""
    good = tmp_path / "good.json"
    good.write_text(TEXT)
    said = f"error: {good}: is an instance, not a solution; give the solution's file\n"
    assert refusal("verify", good, good) == said
