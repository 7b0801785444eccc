"""Proofs: made for instances of every problem, and 24 kinds of damaged ones refused."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from proof_cases import assert_no_proof, set_item

import dlsched
from calls import data, python
from dlsched.doctor import library
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


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Give files with the proofs of the shipped solutions."""
    folder = tmp_path_factory.mktemp("proofs")
    files = {name: folder / f"{name}.json.gz" for name in SMALL}
    for name, file in files.items():
        write_proof(dlsched.prove(name), file)
    return files


@pytest.mark.parametrize("name", SMALL)
def test_proofs_hold(name: str, made: dict[str, Path], tmp_path: Path) -> None:
    """The proof of a shipped solution is accepted when read back, with the recorded objective."""
    proof = read_proof(made[name])
    found = dlsched.check_proof(name, made[name])
    known = library.best_objective(dlsched.load(name).sha256)
    assert [c.value for c in found.levels] == list(known)
    assert sum(c.leaves for c in found.levels) == proof.leaves
    write_proof(proof, tmp_path / "again.json.gz")
    assert (tmp_path / "again.json.gz").read_bytes() == made[name].read_bytes()


def test_a_proof_that_was_read_is_written_again(tmp_path: Path) -> None:
    """The solution in it may have decimals, which reading makes fractions."""
    shipped = library.proof_file("sensitivity-64-distinct")
    write_proof(read_proof(shipped), tmp_path / "again.json.gz")
    assert (tmp_path / "again.json.gz").read_bytes() == shipped.read_bytes()


@pytest.mark.parametrize("check", [dlsched.check_proof, dlsched.check_bound])
def test_what_is_no_proof_is_one_error(check: Callable[..., Any]) -> None:
    """The data of a file are not what was read of it."""
    with pytest.raises(dlsched.InstanceError, match="the proof: is a dict; give its file's path"):
        check(SMALL[0], {"dlsched": 1})


def test_checking_needs_no_solver(made: dict[str, Path]) -> None:
    """In a process that cannot import a solver, proofs of every problem are checked."""
    code = (
        "import sys; sys.modules.update(highspy=None, pyscipopt=None, ortools=None)\n"
        "import dlsched\n"
        "for name in sys.argv[2:]: dlsched.check_proof(name, f'{sys.argv[1]}/{name}.json.gz')"
    )
    python(code, made[SMALL[0]].parent, *SMALL)


def test_users_own_instance(tmp_path: Path) -> None:
    """An instance that is not shipped is solved, proved and checked with a command each."""
    instance = dlsched.generate("reclaiming", 5, servers=12, demand=4)
    mine, file = tmp_path / "mine.json", tmp_path / "proof.json"
    dlsched.save(instance, mine)
    assert data("prove", mine, "-o", file)["proved"]
    levels = data("check-proof", mine, file)["levels"]
    assert [level["value"] for level in levels] == list(dlsched.solve(instance).objective)
    assert {level["kind"] for level in levels} == {"certified"}


NAME = "reclaiming-small-10"


def test_what_is_not_optimal_has_no_proof() -> None:
    """A heuristic's worse solution is not proved; a limit of 0 seconds ends the search, too."""
    worse = dlsched.solve(NAME, "random", seed=1).solution
    with pytest.raises(ProofFailed, match="preempted: a point of the form seems to be better"):
        dlsched.prove(NAME, worse)
    with pytest.raises(ProofFailed, match="time limit"):
        dlsched.prove(NAME, time_limit=0)


@pytest.fixture(scope="module")
def good() -> dict[str, Any]:
    """The data of a proof whose second level has a split."""
    data = dlsched.prove(NAME).to_data()
    assert len(data["levels"][1]["tree"]) > 1
    return data


def _leaf(data: Any) -> Any:
    return next(node for node in data["levels"][0]["tree"] if len(node) == 4)


def _split(data: Any) -> Any:
    return next(node for node in data["levels"][1]["tree"] if len(node) == 2)


def _multiplied(by: int) -> Callable[[Any], None]:
    """Return what multiplies all multipliers of a leaf."""

    def change(data: Any) -> None:
        _leaf(data)[3][:] = [by * v for v in _leaf(data)[3]]

    return change


def _more(data: Any) -> None:
    data["levels"][0]["target"] = str(int(data["levels"][0]["target"]) + 1)


def _heuristic(data: Any) -> None:
    worse = dlsched.solve(NAME, "random", seed=1)
    data["solution"] = worse.solution.to_data()
    for level, value in zip(data["levels"], worse.objective, strict=True):
        level["target"] = str(value)


def _exchanged(data: Any) -> None:
    first, second = data["levels"]
    first["tree"], second["tree"] = second["tree"], first["tree"]


LEVEL = ("levels", 0)
DAMAGE: dict[str, Callable[[Any], object]] = {
    "a changed multiplier": lambda d: _leaf(d)[3].__setitem__(0, 10 * _leaf(d)[3][0] + 7),
    "multipliers times three": _multiplied(3),
    "multipliers of the other sign": _multiplied(-1),
    "a leaf of zeros": lambda d: _leaf(d).__setitem__(slice(2, 4), [[], []]),
    "a leaf called empty": lambda d: _leaf(d).__setitem__(1, 1),
    "more bits": lambda d: _leaf(d).__setitem__(0, _leaf(d)[0] + 4),
    "negative bits": lambda d: _leaf(d).__setitem__(0, -1),
    "a row that is not there": lambda d: _leaf(d)[2].__setitem__(0, 10**6),
    "a dropped child": lambda d: d["levels"][1]["tree"].pop(),
    "a child too many": lambda d: d["levels"][1]["tree"].append([0, 0, [], []]),
    "no tree": set_item(*LEVEL, "tree", to=[]),
    "a split beyond the bounds": lambda d: _split(d).__setitem__(1, 1),
    "a split elsewhere": lambda d: _split(d).__setitem__(0, 0),
    "a split of no column": lambda d: _split(d).__setitem__(0, 10**6),
    "a better target": _more,
    "a worse solution": _heuristic,
    "an infeasible solution": lambda d: d["solution"]["returned"].pop(),
    "another digest of the form": set_item(*LEVEL, "digest", to="0" * 64),
    "another instance": set_item("instance_sha256", to="0" * 64),
    "another form": set_item(*LEVEL, "form", to="patterns"),
    "parameters of another form": set_item(*LEVEL, "parameters", to={"prices": [1]}),
    "swapped levels": lambda d: d["levels"].reverse(),
    "exchanged trees": _exchanged,
    "a missing level": lambda d: d["levels"].pop(),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_damaged_proofs_are_refused(good: dict[str, Any], damage: str) -> None:
    """Each kind of damage is noticed, whatever else of the proof is right."""
    data = copy.deepcopy(good)
    assert dlsched.check_proof(NAME, proof_from_data(data, "good"))
    DAMAGE[damage](data)
    with pytest.raises(InvalidProof):
        dlsched.check_proof(NAME, proof_from_data(data, "damaged"))


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
        (("dlsched_proof",), 2),
        (("solution",), 7),
        (("levels",), {}),
        ((*LEVEL, "target"), "1/0"),
        ((*LEVEL, "kind"), "sure"),
        ((*LEVEL, "tree", 0), [0, 0, [1, 1], [1, 1]]),
        ((*LEVEL, "tree", 0), [0, 0, [1], [1, 1]]),
        ((*LEVEL, "tree", 0), [0, 0.5]),
        ((*LEVEL, "tree", 0), [1, True]),
    ],
)
def test_files_that_are_no_proof(good: dict[str, Any], path: tuple[Any, ...], value: Any) -> None:
    """The error names the field that cannot be read."""
    damaged = copy.deepcopy(good)
    set_item(*path, to=value)(damaged)
    steps = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    assert_no_proof(damaged, "".join(steps).removeprefix("."))
