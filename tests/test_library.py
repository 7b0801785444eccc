"""The instance library equals what the present code makes; every optimum in it is proved again."""

import gzip
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from _pytest.mark import ParameterSet

import dlsched
from dlsched import library
from dlsched.records import read_trace
from dlsched.registry import problem
from dlsched.results.objective import closed
from readers import scip_optimum

NAMES = library.names()
OPEN = [name for name in NAMES if library.index()[name]["kind"] == "open"]
QUICK = ("paper", "small")
"""Kinds of instances that are proved, generated and exported again in every run of the tests."""
SLOW = {"utility-small-09", "utility-small-10"}
"""Small instances that take seconds."""
PROVEN = [name for name in NAMES if name not in OPEN]
MODELLED = [name for name in NAMES if library.index()[name]["mps"]]
MPS = library.root().parent / "models" / "mps"


def entry(name: str) -> dict:
    """Return an instance's line in the index."""
    return library.index()[name]


def best(name: str) -> list[float]:
    """Return the best known value of each level."""
    return [*map(float, library.best_objective(entry(name)["sha256"]))]


def quick(name: str) -> bool:
    """Whether an instance is proved, generated and exported again in every run of the tests."""
    return entry(name)["kind"] in QUICK and name not in SLOW


def parameters(names: list[str]) -> list[ParameterSet]:
    """Return test parameters: of the quick ones of each problem every third, the others slow."""
    seen: Counter[str] = Counter()
    found = []
    for name in names:
        chosen = quick(name) and seen[entry(name)["problem"]] % 3 == 0
        seen[entry(name)["problem"]] += quick(name)
        found.append(pytest.param(name, marks=() if chosen else pytest.mark.slow))
    return found


CLOSED = ("elastic", "sensitivity", "workers", "shares", "configurations")
"""Problems of which no open instance is known."""


def test_there_are_enough_of_each_kind() -> None:
    """Each problem has its paper's examples, ten small, five production-size and open instances.

    Of elastic, sensitivity, workers, shares and configurations no open instance is known.
    """
    for name in dlsched.list_problems():
        kinds = [e["kind"] for e in library.index().values() if e["problem"] == name]
        assert kinds.count("small") >= 10
        assert kinds.count("production") >= 5
        assert kinds.count("open") >= (name not in CLOSED)
        assert kinds.count("paper") == len(problem(name).module("generate").examples())


@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=[pytest.mark.slow] * n.startswith("dispatch-largest")) for n in NAMES],
)
def test_best_known_solution_is_worth_what_the_index_says(name: str) -> None:
    """The file has the indexed digest; its solution has the indexed value.

    It has a bound, which it attains if it is proven.
    """
    instance = dlsched.load(name)
    assert (instance.name, instance.sha256) == (name, entry(name)["sha256"])
    report = dlsched.verify(name, library.solution_file(name))
    assert report.feasible
    assert report.objective == library.best_objective(entry(name)["sha256"])
    bound = library.best_bounds(entry(name)["sha256"])
    assert bound[0] is not None
    assert closed(report.objective, bound) == (name in PROVEN)
    assert (name in PROVEN) == (entry(name)["proof"]["status"] == "optimal")


@pytest.mark.parametrize(
    "name", parameters([n for n in PROVEN if entry(n)["proof"]["method"] != "prove"])
)
def test_optimum_is_proved_again(name: str) -> None:
    """The exact method proves the indexed bound again, by the kind of proof that is stated."""
    result = dlsched.solve(name, entry(name)["proof"]["method"])
    assert result.status == "optimal"
    found = result.to_data()["bound"]
    for level, stated in entry(name)["bound"].items():
        if stated and found[level] and stated["kind"] == "claimed":
            # A solver's word is no more precise than this, and its versions differ by less.
            assert found[level]["value"] == pytest.approx(stated["value"], rel=1e-9)
            assert {**found[level], "value": 0, "exact": 0} == {**stated, "value": 0, "exact": 0}
        else:
            assert found[level] == stated


@pytest.mark.parametrize("name", parameters(NAMES))
def test_the_source_makes_the_instance(name: str) -> None:
    """The example, or the call that the instance states as its source, makes the same instance.

    A drawn instance stays when its generator changes, and its source then says so.
    """
    source = entry(name)["source"]
    if source.startswith("by an earlier generator"):
        assert entry(name)["kind"] != "paper"
        return
    if source.startswith("dlsched."):
        made = eval(source, {"dlsched": dlsched, "read_trace": read_trace})
    else:
        owner = problem(entry(name)["problem"])
        made = next(e for e in owner.module("generate").examples() if e.name == name)
    assert made.sha256 == entry(name)["sha256"]


def test_the_problems_list_every_instance() -> None:
    """The entries of the problems' modules `library` are those of the index, but for examples."""
    listed = [
        (entry.name, name, entry.kind)
        for name in dlsched.list_problems()
        for entry in problem(name).module("library").ENTRIES
    ]
    lines = [line for line in library.index().values() if line["kind"] != "paper"]
    assert sorted(listed) == sorted((e["name"], e["problem"], e["kind"]) for e in lines)
    for name in dlsched.list_problems():
        for line in problem(name).module("library").ENTRIES:
            assert all(
                method in problem(name).methods for method in line.methods if method != "exact"
            )


@pytest.mark.parametrize("name", parameters(MODELLED))
def test_mps_files_are_what_the_code_writes(name: str, tmp_path: Path) -> None:
    """Each level's MPS file equals today's export, the earlier levels held at their optima.

    A model that only estimates is written as it is when the estimate has met the optimum.
    """
    build = getattr(problem(entry(name)["problem"]).module("exact"), "refined", dlsched.model)
    built = build(dlsched.load(name))
    held: dict[str, float] = {}
    for i, level in enumerate(problem(entry(name)["problem"]).levels):
        file = f"{name}.mps.gz" if i == 0 else f"{name}.{level.name}.mps.gz"
        dlsched.export(name, tmp_path / file, level=level.name, held=held, built=built)
        assert gzip.decompress((tmp_path / file).read_bytes()) == gzip.decompress(
            (MPS / file).read_bytes()
        )
        held[level.name] = best(name)[i]


FOR_MINUTES = {("workers-963-heterogeneous", "opened")}
"""Levels that are not solved again: SCIP works for minutes on the model with single servers."""


@pytest.mark.parametrize("name", parameters(MODELLED))
def test_scip_finds_the_same_optima_in_the_mps_files(name: str, tmp_path: Path) -> None:
    """A second solver, reading nothing but the MPS files, agrees on every level."""
    for i, level in enumerate(problem(entry(name)["problem"]).levels):
        if (name, level.name) in FOR_MINUTES:
            continue
        file = f"{name}.mps.gz" if i == 0 else f"{name}.{level.name}.mps.gz"
        plain = tmp_path / "model.mps"
        plain.write_bytes(gzip.decompress((MPS / file).read_bytes()))
        assert scip_optimum(plain) == pytest.approx(best(name)[i], rel=1e-6, abs=1e-6)


def test_index_names_every_file() -> None:
    """The index is strict JSON with a line for every instance and MPS file, and no other."""
    root = library.root()
    text = (root / "index.json").read_text()
    assert len(json.loads(text)["instances"]) == text.count('"sha256"') == len(NAMES)
    known = {e["file"] for e in library.index().values()}
    files = [*root.glob("*/*.json*"), *root.glob("*/open/*.json*")]
    found = {str(p.relative_to(root)) for p in files if ".sol.json" not in p.name}
    assert found == known
    models = {p.name.split(".")[0] for p in MPS.glob("*.mps.gz")}
    assert models == set(MODELLED)
    # Of dispatch, with 16 levels and so 16 files each, the papers' examples only have models, and
    # of configurations the small rounds.
    partly = ("dispatch", "configurations")
    others = [name for name in PROVEN if entry(name)["problem"] not in partly]
    assert len(MODELLED) >= len(others) - 20


PROVED = [name for name in NAMES if "certificate" in entry(name)]


@pytest.mark.parametrize(
    "name",
    [n if entry(n)["kind"] == "paper" else pytest.param(n, marks=pytest.mark.slow) for n in PROVED],
)
def test_shipped_proofs_hold(name: str) -> None:
    """The proof is of the objective in the index, as exactly as that says."""
    checked = dlsched.check_proof(name)
    stated = entry(name)["certificate"]
    assert {c.level: c.kind for c in checked.levels} == stated["kinds"]
    assert sum(c.leaves for c in checked.levels) == stated["leaves"]
    assert [float(c.value) for c in checked.levels] == best(name)


def test_every_proof_is_of_something_in_the_index() -> None:
    """What is not open has a proof; one of a bound goes once a better bound is found."""
    assert sorted(PROVED) == sorted(PROVEN)
    files = {str(p.relative_to(library.root())) for p in library.root().glob("*/proofs/*")}
    assert files == {entry(name)["certificate"]["file"] for name in PROVED}
    bounds = {p.name for p in library.root().glob("*/bounds/*")}
    assert bounds == {library.bound_file(name).name for name in BOUNDED}


def _proved_bound(name: str) -> dict[str, Any] | None:
    """Return the first level's bound of an instance, if a proof of its own is where it is from."""
    found = next(iter(entry(name)["bound"].values()))
    return found if found and found["method"] == "proof" and name not in PROVED else None


BOUNDED = [name for name in NAMES if _proved_bound(name)]


@pytest.mark.slow
@pytest.mark.parametrize("name", BOUNDED)
def test_shipped_proofs_of_bounds_hold(name: str) -> None:
    """The proof is of the bound in the index."""
    stated = _proved_bound(name)
    assert stated is not None and stated["kind"] == "certified"
    assert dlsched.check_bound(name).value == library.best_bounds(entry(name)["sha256"])[0].value
