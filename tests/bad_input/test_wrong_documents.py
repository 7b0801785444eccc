"""Wrong documents, values and options, in Python and on the command line: one error each."""

import functools
import json
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
from bad_input_data import GOOD, SOLUTION, swap

import dlsched
from calls import refusal

REFUSED: list[Any] = [True, "1", None, [], {}, 1j, b"1", object(), np.bool_(True), np.arange(2)]
REFUSED += [float("nan"), float("inf"), np.float64("nan"), np.float32("inf"), 1e16, -0.5]
REFUSED += [Decimal("NaN"), Decimal("sNaN"), Decimal("1e999999999"), Decimal("-1e999999999")]
REFUSED += [Decimal("1e-999999999"), Fraction(1, 3), Fraction(10**400), Fraction(1, 10**400)]
REFUSED += [10**5000, -(10**5000)]
LOOP: list[Any] = []
LOOP.append(LOOP)
WEIGHTS = [[{"id": "a", "weight": value, "workers": []}] for value in REFUSED]
VERSIONS: list[Any] = [np.array([1, 1]), 1.0, "1", [1], float("nan"), 10**5000]


@pytest.mark.parametrize(
    ("field", "values", "path"),
    [
        ("dlsched", VERSIONS, "dlsched"),
        ("servers", [LOOP], "servers[0]"),
        ("demand", [np.float64(2)], "demand"),
        ("jobs", WEIGHTS, "jobs[0].weight"),
    ],
    ids=["version", "loop", "count", "number"],
)
def test_odd_python_values(field: str, values: list[Any], path: str) -> None:
    """Whatever Python passes for a number, a version or a list is refused at once with its path."""
    for value in values:
        with pytest.raises(dlsched.InstanceError) as caught:
            dlsched.load(GOOD | {field: value})
        assert (caught.value.where, caught.value.path) == ("the instance", path), repr(value)[:80]


ACCEPTED: list[tuple[Any, Any]] = [(np.int8(3), 3), (np.uint64(3), 3), (2.0, 2)]
ACCEPTED += [(np.float64(0.1), Fraction(1, 10)), (np.float32(1.5), Fraction(3, 2))]
ACCEPTED += [(np.float16(0.25), Fraction(1, 4)), (Fraction(1, 4), Fraction(1, 4))]
ACCEPTED += [(Decimal("0.1"), Fraction(1, 10)), (Decimal("0e999999999"), 0)]


def test_accepted_python_values() -> None:
    """Numbers of numpy and the standard library, tuples and read-only mappings are as good."""
    for value, exact in ACCEPTED:
        loaded: Any = dlsched.load(GOOD | {"jobs": [{"id": "a", "weight": value, "workers": ()}]})
        assert loaded.jobs[0].weight == exact and type(loaded.jobs[0].weight) is type(exact)
    servers = tuple(MappingProxyType(server) for server in GOOD["servers"])
    same = dlsched.load(MappingProxyType(GOOD | {"servers": servers, "demand": np.int64(1)}))
    assert same.sha256 == dlsched.load(GOOD).sha256


LIBRARY = Path(__file__).parents[2] / "instances"


def solution_of(instance: dlsched.Instance) -> dict[str, Any]:
    """Return the best known solution of an instance of the library as data."""
    file = LIBRARY / instance.problem / f"{instance.name}.sol.json"
    return dlsched.load_solution(file).to_data()


def test_solutions_of_another_problem(tmp_path: Path) -> None:
    """A file that names the instance, and solutions and results in memory, are one error."""
    fig5, other = dlsched.load("lyra-fig5"), dlsched.load("lyra-table2")
    said, file = 'a solution of a "reclaiming" instance', tmp_path / "s.json"
    for digest in (fig5.sha256, None):
        wrong = solution_of(other) | {"instance": "lyra-fig5", "instance_sha256": digest}
        file.write_text(json.dumps(wrong))
        assert f's.json: problem: is "elastic"; {said}' in refusal("verify", fig5.name, file)
    result = dlsched.solve(other, "lyra")
    for given in (result, result.solution):
        for call in (lambda x: dlsched.verify(fig5, x), lambda x: dlsched.solve(fig5, start=x)):
            with pytest.raises(dlsched.InstanceError, match=said):
                call(given)
    with pytest.raises(dlsched.InstanceError, match="is of type int"):
        dlsched.solve(fig5, start=3)


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


@pytest.mark.parametrize("source", [None, 3, ["lyra-fig5"], b"lyra-fig5", 10**5000], ids=range(5))
def test_arguments_of_a_wrong_type(source: Any) -> None:
    """What is no instance, path or data, and no name of a method or solver, is one error."""
    calls: list[Any] = [dlsched.load, dlsched.solve, dlsched.bound, dlsched.model]
    for call in (*calls, functools.partial(dlsched.verify, "lyra-fig5")):
        with pytest.raises(dlsched.InstanceError, match="; give a path, a name, or the"):
            call(source)
    for option in ("method", "solver") if source != 10**5000 else ():
        with pytest.raises(dlsched.DlschedError, match=option) as caught:
            dlsched.solve("lyra-fig5", **({"method": "milp"} | {option: source}))
        assert len(str(caught.value)) < 300


DIGEST = {"instance_sha256": "0" * 64}
BAD_SOLUTIONS: list[tuple[dict[str, Any], str]] = [
    (SOLUTION | DIGEST, "instance_sha256: is not the digest"),
    (SOLUTION | {"dlsched": 3}, "dlsched: "),
    (SOLUTION | {"returned": ["s1", 2]}, "returned[1]: is not a string"),
    (GOOD, "is an instance, not a solution; give the solution's file\n"),
]


@pytest.mark.parametrize(("wrong", "said"), BAD_SOLUTIONS)
def test_bad_solution(wrong: dict[str, Any], said: str, tmp_path: Path) -> None:
    """A solution's file that cannot be used is refused as an instance's is, in one line."""
    good, bad = tmp_path / "good.json", tmp_path / "bad.sol.json"
    good.write_text(json.dumps(GOOD))
    bad.write_text(json.dumps(wrong))
    assert f"{bad}: {said}" in refusal("verify", good, bad)
