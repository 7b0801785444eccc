"""Wrong documents and options, in Python and on the command line: one error each."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from bad_input_data import ELASTIC, GOOD, SOLUTION, changed, paths, swap

import dlsched
from calls import refusal

LONG = "7" * 5000  # more digits than Python turns into an int, or an int into text
ODD: list[Any] = [LONG, 10**5000, -(10**5000), "\ud800", None, 2.5, [], {}]
LIBRARY = Path(__file__).parents[2] / "instances"


def solution_of(instance: dlsched.Instance) -> dict[str, Any]:
    """Return the best known solution of an instance of the library as data."""
    file = LIBRARY / instance.problem / f"{instance.name}.sol.json"
    return dlsched.load_solution(file).to_data()


def variants(data: Any, path: tuple[Any, ...]) -> Iterator[Any]:
    """Yield copies of a document with odd values, or odd keys, at a path."""
    for value in ODD:
        yield changed(data, path, value)
    parent = functools.reduce(lambda entry, step: entry[step], path[:-1], data)
    if isinstance(parent, dict):
        for key in (value for value in ODD if isinstance(value, (str, int))):
            renamed = {(key if old == path[-1] else old): v for old, v in parent.items()}
            yield changed(data, path[:-1], renamed) if len(path) > 1 else renamed


@pytest.mark.parametrize("problem", dlsched.list_problems())
def test_odd_values_in_a_solution(problem: str) -> None:
    """An odd value anywhere in a solution gives a report or one short error."""
    instance = dlsched.load(dlsched.list_instances(problem)[0])
    data = solution_of(instance)
    for path in paths(data):
        for variant in variants(data, path):
            try:
                report = dlsched.verify(instance, variant)
            except dlsched.InstanceError as error:
                assert len(str(error)) < 1000
            else:
                assert report.feasible in (True, False)


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
    with pytest.raises(dlsched.DlschedError, match=option) as caught:
        dlsched.solve("lyra-fig5", **({"method": "milp"} | {option: value}))
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize("source", [None, 3, ["lyra-fig5"], b"lyra-fig5", 10**5000], ids=range(5))
def test_instances_of_a_wrong_type(source: Any) -> None:
    """What is no instance, path or data is one error, wherever an instance is asked for."""
    calls: list[Any] = [dlsched.load, dlsched.solve, dlsched.bound, dlsched.model]
    for call in (*calls, functools.partial(dlsched.verify, "lyra-fig5")):
        with pytest.raises(dlsched.InstanceError, match="; give a path, a name, or the"):
            call(source)


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
    """Every command that reads an instance refuses a bad one alike, and leaves its target."""
    bad, target = tmp_path / "bad.json", tmp_path / "target"
    bad.write_bytes(swap("1.5", "1e400"))
    words = command.replace("BAD", str(bad)).replace("TARGET", str(target)).split()
    for suffix in (".json", ".mps", ".png"):
        target.with_suffix(suffix).write_text("precious")
    there = sorted(tmp_path.iterdir())
    said = refusal(*words, *json_flag)
    assert said.startswith(f"error: {bad}: jobs[0].weight: 1e400 is too large;")
    assert sorted(tmp_path.iterdir()) == there
    assert all(path.read_text() == "precious" for path in there if path != bad)


# what is verified against which instance: (the instance, the document, place and words)
EPOCH = {"dlsched": 1, "problem": "elastic", "instance": "epoch"}
BAD_SOLUTIONS: list[tuple[Any, dict[str, Any], str]] = [
    (GOOD, SOLUTION | {"instance": 1}, "instance: is not a string"),
    (
        GOOD,
        SOLUTION | {"problem": "elastic"},
        'problem: is "elastic"; a solution of a "reclaiming"',
    ),
    (GOOD, SOLUTION | {"instance_sha256": "0" * 64}, "instance_sha256: is not the digest"),
    (GOOD, SOLUTION | {"returned": "s1"}, "returned: is not a list; write [...]"),
    (GOOD, SOLUTION | {"returned": ["s1", 2]}, "returned[1]: is not a string"),
    (GOOD, SOLUTION | {"value": 1}, "value: is an unknown field; remove it"),
    (GOOD, SOLUTION | {"dlsched": 3}, "dlsched: "),
    (GOOD, GOOD, "is an instance, not a solution; give the solution's file\n"),
    (ELASTIC, EPOCH | {"workers": {"A": 2, "B": -1}}, "workers.B: -1 is too small; write a number"),
]


@pytest.mark.parametrize(("instance", "wrong", "said"), BAD_SOLUTIONS)
def test_bad_solution(instance: Any, wrong: dict[str, Any], said: str, tmp_path: Path) -> None:
    """A solution that cannot be used is refused as an instance is, in one line."""
    good, bad = tmp_path / "good.json", tmp_path / "bad.sol.json"
    good.write_text(json.dumps(instance))
    bad.write_text(json.dumps(wrong))
    assert f": {said}" in refusal("verify", good, bad)
