"""Proofs: made for instances of every problem, and 24 kinds of damaged ones refused."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import dlsched
from dlsched.cli import app
from dlsched.errors import InstanceError
from dlsched.problems import library
from dlsched.proofs.check import InvalidProof
from dlsched.proofs.document import proof_from_data, read_proof, write_proof
from dlsched.proofs.prove import ProofFailed

SMALL = [
    "reclaiming-small-10",
    "elastic-small-10",
    "elastic-loan-small-03",
    "interleaving-small-01",
    "utility-small-06",
    "placement-small-02",
    "sensitivity-small-03",
    "workers-small-03",
    "dispatch-small-02",
]
"""One instance at least of every problem with forms; the trees of most have several leaves."""


@pytest.mark.parametrize("name", SMALL)
def test_proofs_hold(name: str, tmp_path: Path) -> None:
    """The proof of a shipped solution is accepted when read back, with the recorded objective."""
    proof = dlsched.prove(name)
    write_proof(proof, tmp_path / "p.json.gz")
    found = dlsched.check_proof(name, tmp_path / "p.json.gz")
    known = library.best_objective(dlsched.load(name).sha256)
    assert [c.value for c in found.levels] == list(known)
    assert sum(c.leaves for c in found.levels) == proof.leaves
    assert read_proof(tmp_path / "p.json.gz").levels == proof.levels


@pytest.mark.parametrize("name", ["sensitivity-64-distinct", "elastic-small-10"])
def test_a_proof_that_was_read_is_written_again(name: str, tmp_path: Path) -> None:
    """The solution in it may have decimals, which reading makes fractions."""
    shipped = library.proof_file(name)
    write_proof(read_proof(shipped), tmp_path / "again.json.gz")
    assert (tmp_path / "again.json.gz").read_bytes() == shipped.read_bytes()


def test_checking_needs_no_solver(tmp_path: Path) -> None:
    """In a process that cannot import a solver, proofs of every problem are checked."""
    for name in SMALL:
        write_proof(dlsched.prove(name), tmp_path / f"{name}.json")
    code = (
        "import sys; sys.modules.update(highspy=None, pyscipopt=None, ortools=None)\n"
        "import dlsched\n"
        "for name in sys.argv[2:]: dlsched.check_proof(name, f'{sys.argv[1]}/{name}.json')"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path), *SMALL], check=True)


def test_users_own_instance(tmp_path: Path) -> None:
    """An instance that is not shipped is solved, proved and checked with a command each."""
    instance = dlsched.generate("reclaiming", 5, servers=12, demand=4)
    dlsched.save(instance, tmp_path / "mine.json")
    file = str(tmp_path / "proof.json")
    runner = CliRunner()
    made = runner.invoke(app, ["prove", str(tmp_path / "mine.json"), "-o", file, "--json"])
    assert made.exit_code == 0 and json.loads(made.stdout)["proved"]
    shown = runner.invoke(app, ["check-proof", str(tmp_path / "mine.json"), file, "--json"])
    levels = json.loads(shown.stdout)["levels"]
    assert [level["value"] for level in levels] == list(dlsched.solve(instance).objective)
    assert {level["kind"] for level in levels} == {"certified"}


def test_what_is_not_optimal_has_no_proof() -> None:
    """A heuristic's worse solution is not proved; nor is one of another instance."""
    name = "reclaiming-small-10"
    worse = dlsched.solve(name, "random", seed=1).solution
    with pytest.raises(ProofFailed, match="preempted: a point of the form seems to be better"):
        dlsched.prove(name, worse)


def test_limit_strikes() -> None:
    """A limit of 0 seconds ends the search with one sentence and no proof."""
    with pytest.raises(ProofFailed, match="time limit"):
        dlsched.prove("reclaiming-small-10", time_limit=0)


@pytest.fixture(scope="module")
def good() -> dict[str, Any]:
    """The data of a proof whose second level has a split."""
    data = dlsched.prove("reclaiming-small-10").to_data()
    assert len(data["levels"][1]["tree"]) > 1
    return data


def _leaf(data: Any) -> Any:
    return next(node for node in data["levels"][0]["tree"] if len(node) == 4)


def _split(data: Any) -> Any:
    return next(node for node in data["levels"][1]["tree"] if len(node) == 2)


def _more(data: Any) -> None:
    data["levels"][0]["target"] = str(int(data["levels"][0]["target"]) + 1)


def _heuristic(data: Any) -> None:
    worse = dlsched.solve("reclaiming-small-10", "random", seed=1)
    data["solution"] = worse.solution.to_data()
    for level, value in zip(data["levels"], worse.objective, strict=True):
        level["target"] = str(value)


def _scaled(data: Any) -> None:
    _leaf(data)[3][:] = [3 * v for v in _leaf(data)[3]]


def _negated(data: Any) -> None:
    _leaf(data)[3][:] = [-v for v in _leaf(data)[3]]


def _swapped(data: Any) -> None:
    data["levels"].reverse()


def _exchanged(data: Any) -> None:
    first, second = data["levels"]
    first["tree"], second["tree"] = second["tree"], first["tree"]


DAMAGE: dict[str, Callable[[Any], object]] = {
    "a changed multiplier": lambda d: _leaf(d)[3].__setitem__(0, 10 * _leaf(d)[3][0] + 7),
    "multipliers times three": _scaled,
    "multipliers of the other sign": _negated,
    "a leaf of zeros": lambda d: _leaf(d).__setitem__(slice(2, 4), [[], []]),
    "a leaf called empty": lambda d: _leaf(d).__setitem__(1, 1),
    "more bits": lambda d: _leaf(d).__setitem__(0, _leaf(d)[0] + 4),
    "negative bits": lambda d: _leaf(d).__setitem__(0, -1),
    "a row that is not there": lambda d: _leaf(d)[2].__setitem__(0, 10**6),
    "a dropped child": lambda d: d["levels"][1]["tree"].pop(),
    "a child too many": lambda d: d["levels"][1]["tree"].append([0, 0, [], []]),
    "no tree": lambda d: d["levels"][0].__setitem__("tree", []),
    "a split beyond the bounds": lambda d: _split(d).__setitem__(1, 1),
    "a split elsewhere": lambda d: _split(d).__setitem__(0, 0),
    "a split of no column": lambda d: _split(d).__setitem__(0, 10**6),
    "a better target": _more,
    "a worse solution": _heuristic,
    "an infeasible solution": lambda d: d["solution"]["returned"].pop(),
    "another digest of the form": lambda d: d["levels"][0].__setitem__("digest", "0" * 64),
    "another instance": lambda d: d.__setitem__("instance_sha256", "0" * 64),
    "another form": lambda d: d["levels"][0].__setitem__("form", "patterns"),
    "parameters of another form": lambda d: d["levels"][0].__setitem__(
        "parameters", {"prices": [1]}
    ),
    "swapped levels": _swapped,
    "exchanged trees": _exchanged,
    "a missing level": lambda d: d["levels"].pop(),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_damaged_proofs_are_refused(good: dict[str, Any], damage: str) -> None:
    """Each kind of damage is noticed, whatever else of the proof is right."""
    data = copy.deepcopy(good)
    assert dlsched.check_proof("reclaiming-small-10", proof_from_data(data, "good"))
    DAMAGE[damage](data)
    with pytest.raises(InvalidProof):
        dlsched.check_proof("reclaiming-small-10", proof_from_data(data, "damaged"))


def test_nine_digits_are_not_called_exact() -> None:
    """A level whose costs are rounded in the form cannot be stated as proved exactly."""
    data = dlsched.prove("interleaving-small-01").to_data()
    assert data["levels"][0]["kind"] == "certified to nine digits"
    data["levels"][0]["kind"] = "certified"
    with pytest.raises(InvalidProof, match="rounded"):
        dlsched.check_proof("interleaving-small-01", proof_from_data(data, "claimed"))


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("dlsched_proof", 2),
        ("solution", 7),
        ("levels", {}),
        ("levels[0].target", "1/0"),
        ("levels[0].kind", "sure"),
        ("levels[0].tree[0]", [0, 0, [1, 1], [1, 1]]),
        ("levels[0].tree[0]", [0, 0, [1], [1, 1]]),
        ("levels[0].tree[0]", [0, 0.5]),
        ("levels[0].tree[0]", [1, True]),
    ],
)
def test_files_that_are_no_proof(good: dict[str, Any], path: str, value: Any) -> None:
    """The error names the field that cannot be read."""
    data = copy.deepcopy(good)
    if path.startswith("levels["):
        where = data["levels"][0]
        if path.endswith("]"):
            where["tree"][0] = value
        else:
            where[path.rpartition(".")[2]] = value
    else:
        data[path] = value
    with pytest.raises(InstanceError) as error:
        proof_from_data(data, "file.json")
    assert path in str(error.value)
