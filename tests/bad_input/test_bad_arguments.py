"""Every command refuses bad instances and solutions in one line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from bad_input_data import (
    ELASTIC,
    SOLUTION,
    TEXT,
    swap,
)
from typer.testing import CliRunner

from dlsched.cli import app

COMMANDS = {
    "show": ["show", "BAD"],
    "solve": ["solve", "BAD", "-o", "TARGET"],
    "verify": ["verify", "BAD", "BAD"],
    "compare": ["compare", "BAD", "-m", "exact"],
    "export": ["export", "BAD", "TARGET.mps"],
    "plot": ["plot", "BAD", "-o", "TARGET.png"],
}


@pytest.mark.parametrize("json_flag", [[], ["--json"]], ids=["text", "json"])
@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_refuses(name: str, json_flag: list[str], tmp_path: Path) -> None:
    """Every command that reads an instance refuses a bad one alike, and writes nothing."""
    bad = tmp_path / "bad.json"
    bad.write_bytes(swap("1.5", "1e400"))
    places = {"BAD": str(bad), "TARGET": str(tmp_path / "new.json")}
    arguments = [
        word.replace("TARGET", places["TARGET"]) if word != "BAD" else places[word]
        for word in COMMANDS[name]
    ]
    ran = CliRunner().invoke(app, arguments + json_flag)
    assert ran.exit_code == 2
    assert ran.stdout == ""
    assert ran.stderr.startswith(f"error: {bad}: jobs[0].weight: 1e400 is too large;")
    assert list(tmp_path.iterdir()) == [bad]


# name: (changes to the good solution, the field that the error names, what it says of it)
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
    """A solution that cannot be used is refused as an instance is, by verify and as a start."""
    changes, path, words = BAD_SOLUTIONS[name]
    good, bad = tmp_path / "good.json", tmp_path / "bad.sol.json"
    good.write_text(TEXT)
    bad.write_text(json.dumps(SOLUTION | changes))
    ran = CliRunner().invoke(app, ["verify", str(good), str(bad)])
    assert ran.exit_code == 2, ran.stdout
    assert f": {path}: " in ran.stderr and words in ran.stderr
    assert ran.stderr.count("\n") == 1


def test_bad_value_in_a_mapping(tmp_path: Path) -> None:
    """A mapping's entry is named by its key."""
    epoch, bad = tmp_path / "epoch.json", tmp_path / "bad.sol.json"
    epoch.write_text(json.dumps(ELASTIC))
    envelope = {"dlsched": 1, "problem": "elastic", "instance": "epoch"}
    bad.write_text(json.dumps(envelope | {"workers": {"A": 2, "B": -1}}))
    ran = CliRunner().invoke(app, ["verify", str(epoch), str(bad)])
    assert ran.exit_code == 2
    assert ran.stderr == f"error: {bad}: workers.B: -1 is too small; write a number at least 0\n"


def test_instance_for_a_solution(tmp_path: Path) -> None:
    """Two instances instead of an instance and a solution: the error says so."""
    good = tmp_path / "good.json"
    good.write_text(TEXT)
    ran = CliRunner().invoke(app, ["verify", str(good), str(good)])
    assert ran.exit_code == 2
    assert ran.stderr == (
        f"error: {good}: is an instance, not a solution; give the solution's file\n"
    )


# From Python there are more kinds of value than JSON has.
