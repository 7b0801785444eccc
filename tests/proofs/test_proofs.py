"""Proofs of optima and of bounds: what they state, and which damage is refused with which words."""

import copy
import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import dlsched
from calls import data, python, run
from dlsched.proofs.bounds import CheckedBound
from dlsched.proofs.check import CheckedLevel, CheckedProof, InvalidProof
from dlsched.proofs.document import read_proof, write_proof
from dlsched.proofs.prove import ProofFailed


def put(*path: Any, to: Any) -> Callable[[Any], None]:
    """Return what sets an item of nested lists and dicts, by the path to it."""

    def change(data: Any) -> None:
        for step in path[:-1]:
            data = data[step]
        data[path[-1]] = to

    return change


NAME = "reclaiming-small-10"
SHIPPED = Path(__file__).parents[2] / "instances"
ONE = "lyra-fig5"
"""Its optimum is 1 and 0."""


def test_a_proof_that_was_read_is_written_again(tmp_path: Path) -> None:
    """The solution in it may have decimals, which reading makes fractions."""
    shipped = SHIPPED / "sensitivity" / "proofs" / "sensitivity-64-distinct.json.gz"
    write_proof(read_proof(shipped), tmp_path / "again.json.gz")
    assert (tmp_path / "again.json.gz").read_bytes() == shipped.read_bytes()


def test_checking_needs_no_solver() -> None:
    """In a process that cannot import a solver, shipped proofs of every problem are checked."""
    code = (
        "import sys; sys.modules.update(highspy=None, pyscipopt=None, ortools=None)\n"
        "import dlsched\n"
        "for problem in dlsched.list_problems(): dlsched.check_proof(f'{problem}-small-02')"
    )
    python(code)


def test_users_own_instance(tmp_path: Path) -> None:
    """An instance that is not shipped is solved, proved and checked with a command each."""
    instance = dlsched.generate("reclaiming", 5, servers=12, demand=4)
    mine, file = tmp_path / "mine.json", tmp_path / "proof.json"
    dlsched.save(instance, mine)
    assert data("prove", mine, "-o", file)["proved"]
    levels = data("check-proof", mine, file)["levels"]
    assert [level["value"] for level in levels] == list(dlsched.solve(instance).objective)
    assert {level["kind"] for level in levels} == {"certified"}


def test_what_is_not_optimal_has_no_proof() -> None:
    """Nor has what a limit leaves no time for, or a place that makes no calls."""
    worse = dlsched.solve(NAME, "random", seed=1).solution
    with pytest.raises(ProofFailed, match="preempted: a point of the form seems to be better"):
        dlsched.prove(NAME, worse)
    with pytest.raises(ProofFailed, match="time limit"):
        dlsched.prove(NAME, time_limit=0)
    with pytest.raises(dlsched.OptionError, match="is no executor"):
        dlsched.prove(ONE, on=2)


def test_the_limit_holds_while_a_form_is_chosen() -> None:
    """Prices for the forms of a large instance end within the limit, too."""
    instance = dlsched.generate("utility", seed=1, jobs=150, slots=150)
    known = dlsched.solve(instance, "hadar").solution
    with pytest.raises(ProofFailed, match="utility: time limit, before a form was chosen"):
        dlsched.prove_bound(instance, 10**6, known, time_limit=0.2)


Document = dict[str, Any]


@pytest.fixture(scope="module")
def good() -> Document:
    """The data of a proof: of the level's two trees the first is a leaf, the second a split."""
    data: Document = dlsched.prove(NAME).to_data()
    assert [[len(node) for node in level["tree"]] for level in data["levels"]] == [[4], [2, 4, 4]]
    return data


@pytest.fixture
def check(tmp_path: Path) -> Callable[[Document, str], CheckedProof]:
    """Give the check of a document as a file."""

    def check(data: Document, name: str = NAME) -> CheckedProof:
        (tmp_path / "p.json").write_text(json.dumps(data))
        return dlsched.check_proof(name, tmp_path / "p.json")

    return check


def test_what_a_check_states(good: Document, check: Any) -> None:
    """The instance, and of each level its value, how exactly it is proved, and the leaves."""
    levels = [
        CheckedLevel("preempted", 2, "certified", 1),
        CheckedLevel("collateral", 4, "certified", 2),
    ]
    assert check(good) == CheckedProof(NAME, levels)


def multiplied(by: int) -> Callable[[Any], None]:
    """Return what multiplies all multipliers of a leaf."""
    return lambda d: put(*LEAF, 3, to=[by * v for v in d["levels"][0]["tree"][0][3]])(d)


def retold(name: str) -> Callable[[Any], None]:
    """Return what states another level's name."""
    return put(*FIRST, "level", to=name)


def exchange(data: Any) -> None:
    """Give each level the other one's tree."""
    first, second = data["levels"]
    first["tree"], second["tree"] = second["tree"], first["tree"]


def worse(data: Any) -> None:
    """Replace the solution by a heuristic's, and the targets by its values."""
    result = dlsched.solve(NAME, "random", seed=1)
    data["solution"] = result.solution.to_data()
    for level, value in zip(data["levels"], result.objective, strict=True):
        level["target"] = str(value)


FIRST, SECOND = ("levels", 0), ("levels", 1)
LEAF, SPLIT = (*FIRST, "tree", 0), (*SECOND, "tree", 0)
FOREIGN = f"the proof is for another instance than {NAME}"
NAMES = "the proof must have the levels preempted, collateral, in this order"
UNPROVED = "preempted: node 0: its multipliers do not prove the target"
NO_ROW = "preempted: node 0: no multipliers of this form"
DAMAGE: dict[str, tuple[Callable[[Any], object], str]] = {
    "another instance": (put("instance_sha256", to="0" * 64), FOREIGN),
    "another problem": (put("problem", to="workers"), FOREIGN),
    "a variant": (
        put("variant", to={"name": "v", "sha256": ""}),
        "the proof is of the variant v, not of reclaiming itself;"
        " give the variant: variant=, or --variant FILE:NAME",
    ),
    "too few servers": (
        lambda d: d["solution"]["returned"].pop(),
        "its solution is infeasible: demand 7 servers, 6 are returned",
    ),
    "no such server": (
        put("solution", "returned", 0, to="zz"),
        'its solution is infeasible: there is no server "zz"',
    ),
    "swapped levels": (lambda d: d["levels"].reverse(), NAMES),
    "a missing level": (lambda d: d["levels"].pop(), NAMES),
    "a level twice": (lambda d: d["levels"].append(d["levels"][1]), NAMES),
    "a level of another name": (retold("collateral"), NAMES),
    "a better target": (
        put(*FIRST, "target", to="1"),
        "preempted: the proof's target is 1, the solution's 2",
    ),
    "a worse target": (
        put(*SECOND, "target", to="9/2"),
        "collateral: the proof's target is 9/2, the solution's 4",
    ),
    "a worse solution": (worse, UNPROVED),
    "another form": (
        put(*FIRST, "form", to="patterns"),
        "preempted: no form of reclaiming is called 'patterns'; there are: model",
    ),
    "parameters": (
        put(*SECOND, "parameters", to={"prices": [1]}),
        "collateral: the form model has no parameters",
    ),
    "another digest": (
        put(*SECOND, "digest", to="0" * 64),
        "collateral: the digest is not that of the form model",
    ),
    "a changed multiplier": (put(*LEAF, 3, 0, to=17), UNPROVED),
    "multipliers times three": (multiplied(3), UNPROVED),
    "multipliers of the other sign": (multiplied(-1), UNPROVED),
    "a leaf of zeros": (put(*LEAF, to=[0, 0, [], []]), UNPROVED),
    "a leaf called empty": (put(*LEAF, 1, to=1), UNPROVED),
    "more bits": (put(*LEAF, 0, to=6), UNPROVED),
    "negative bits": (put(*LEAF, 0, to=-1), NO_ROW),
    "bits without end": (put(*LEAF, 0, to=10**9), NO_ROW),
    "a row that is not there": (put(*LEAF, 2, 0, to=10**6), NO_ROW),
    "a negative row": (put(*LEAF, 2, 0, to=-1), NO_ROW),
    "a dropped child": (
        lambda d: d["levels"][1]["tree"].pop(),
        "collateral: the tree ends before node 2",
    ),
    "no tree": (put(*SECOND, "tree", to=[]), "collateral: the tree ends before node 0"),
    "a child too many": (
        lambda d: d["levels"][1]["tree"].append([0, 0, [], []]),
        "collateral: there are more nodes than the tree has, from 3 on",
    ),
    "a split beyond the bounds": (
        put(*SPLIT, 1, to=1),
        "collateral: node 0: column 87 cannot be split at 1",
    ),
    "a split elsewhere": (
        put(*SPLIT, 0, to=0),
        "collateral: node 1: its multipliers do not prove the target",
    ),
    "a split of no column": (
        put(*SPLIT, 0, to=10**6),
        "collateral: node 0: column 1000000 cannot be split at 0",
    ),
    "exchanged trees": (exchange, "preempted: node 1: no multipliers of this form"),
    "a sum of what is not there": (
        put(*FIRST, "sums", to=[[[10**6], [1]]]),
        "preempted: a sum has what is no integer column of the form",
    ),
}
"""Changes of the document, and what the check says of each."""


@pytest.mark.parametrize("damage", DAMAGE)
def test_damaged_proofs_are_refused(good: Document, damage: str, check: Any) -> None:
    """Each is noticed, whatever else of the proof is right, and the error says where."""
    data = copy.deepcopy(good)
    change, said = DAMAGE[damage]
    change(data)
    with pytest.raises(InvalidProof) as error:
        check(data)
    assert str(error.value) == said


def test_a_step_less_is_no_proof(check: Any) -> None:
    """A leaf without multipliers proves 0 of costs that are not negative, and no 1."""
    leaf = [[0, 0, [], []]]
    data = dlsched.prove(ONE).to_data()
    put(*SECOND, "tree", to=leaf)(data)
    assert [level.value for level in check(data, ONE).levels] == [1, 0]
    put(*FIRST, "tree", to=leaf)(data)
    with pytest.raises(InvalidProof, match="preempted: node 0: its multipliers do not prove"):
        check(data, ONE)


def test_nine_digits_are_not_called_exact(check: Any) -> None:
    """A level whose costs are rounded in the form cannot be stated as proved exactly."""
    name = "interleaving-small-01"
    data = dlsched.prove(name).to_data()
    assert check(data, name).levels[0].kind == "certified to nine digits"
    put(*FIRST, "kind", to="certified")(data)
    with pytest.raises(InvalidProof, match="efficiency: the form model has efficiency rounded, wh"):
        check(data, name)


def test_costs_that_a_double_cannot_carry_have_nine_digits() -> None:
    """Reductions of 1e10 and 1e10 + 1e-7 are one double, so neither is certified as the optimum."""
    job = {"gpus_per_worker": 1, "min_workers": 1, "max_workers": 2, "running": True}
    times = {"a": [10000000001, 1], "b": [10000000001, 0.9999999]}
    jobs = [{"id": j, "running_times": row} | job for j, row in times.items()]
    data = {"dlsched": 1, "problem": "elastic", "name": "near", "capacity": 1, "jobs": jobs}
    for fast in times:
        workers = {j: 2 if j == fast else 1 for j in times}
        answer = {"dlsched": 1, "problem": "elastic", "instance": "near", "workers": workers}
        levels = dlsched.check_proof(data, dlsched.prove(data, answer)).levels
        assert [level.kind for level in levels] == ["certified", "certified to nine digits"]


PAIR = "must be [column, at] or [bits, empty, rows, multipliers], all of them integers"
SUM = "must be [columns, coefficients], all of them integers"
UNREADABLE: list[tuple[tuple[Any, ...], Any, str]] = [
    (("dlsched_proof",), 2, "dlsched_proof: must be 1"),
    (("solution",), 7, "solution: must be an object"),
    (("levels",), {}, "levels: must be a list"),
    (FIRST, 7, "levels[0]: must be an object"),
    ((*FIRST, "target"), "1/0", "levels[0].target: must be p or p/q"),
    ((*FIRST, "target"), 2, "levels[0].target: must be p or p/q"),
    ((*FIRST, "level"), 2, "levels[0].level: must be a text"),
    *(((*FIRST, "target"), text, "must be p or p/q") for text in ("nan", " 1", "1_0", "", "1e9")),
    ((*FIRST, "target"), "1" * 1001, "must be p or p/q"),
    ((*FIRST, "kind"), "sure", "levels[0].kind: must be one of certified, certified to nine"),
    (LEAF, [0, 0, [1, 1], [1, 1]], f"levels[0].tree[0]: {PAIR}"),
    (LEAF, [0, 0, [1], [1, 1]], PAIR),
    (LEAF, [0, 2, [1], [1]], PAIR),
    (LEAF, [0, 0.5], PAIR),
    (LEAF, [1, True], PAIR),
    ((*FIRST, "sums"), {}, "levels[0].sums: must be a list"),
    *(
        ((*FIRST, "sums"), [entry], f"levels[0].sums[0]: {SUM}")
        for entry in ([[0]], [[0], [0.5]], [[0, 0], [1, 1]], [[0], [1, 1]], [[0], [True]], [7, [1]])
    ),
    ((*FIRST, "cuts"), [[2, [0], [1], []]], "levels[0].cuts: proofs have no cuts any more"),
    (("solution",), {}, "the solution of the proof: returned: is missing"),
]
"""Fields, what they are set to, and what the error says of them."""


@pytest.mark.parametrize(("path", "value", "said"), UNREADABLE)
def test_files_that_are_no_proof(
    good: Document, path: tuple[Any, ...], value: Any, said: str, check: Any
) -> None:
    """The error names the field that cannot be read."""
    damaged = copy.deepcopy(good)
    put(*path, to=value)(damaged)
    with pytest.raises(dlsched.InstanceError) as error:
        check(damaged)
    assert said in str(error.value)


@pytest.mark.parametrize("check_any", [dlsched.check_proof, dlsched.check_bound])
def test_what_is_no_proof_is_one_error(check_any: Callable[..., Any]) -> None:
    """The data of a file are not what was read of it."""
    with pytest.raises(dlsched.InstanceError, match="the proof: is a dict; give its file's path"):
        check_any(NAME, {"dlsched": 1})


JUNK = (None, True, 2**70, "x", 1.5, [], {}, [None], [[]], {"a": [1]}, 10**999)


@pytest.mark.parametrize(
    ("name", "needed"),
    [
        ("interleaving-24", ("bits", "gpu", "prices", "highest")),
        ("sensitivity-small-10", ("prices",)),
        ("utility-8x20", ("exponent", "prices")),
    ],
)
def test_parameters_of_other_types_are_errors(
    name: str, needed: tuple[str, ...], check: Any
) -> None:
    """Also ones that are missing: the message is one of the check, never of the interpreter."""
    problem = dlsched.load(name).problem
    data = read_proof(SHIPPED / problem / "proofs" / f"{name}.json.gz").to_data()
    right = data["levels"][0]["parameters"]
    for key in needed:
        rest = {k: v for k, v in right.items() if k != key}
        for parameters in [rest, *(rest | {key: junk} for junk in JUNK)]:
            put(*FIRST, "parameters", to=parameters)(data)
            with pytest.raises(InvalidProof):
                check(data, name)


BOUNDED = "utility-small-06"
OPTIMUM = Fraction(96947, 1440)


def test_any_solution_will_do() -> None:
    """A poor one gives the same proof of what is better than the optimum, and none of the rest."""
    known = dlsched.solve(BOUNDED, "tiresias").solution
    proof = dlsched.prove_bound(BOUNDED, OPTIMUM + Fraction(1, 8), known)
    checked = dlsched.check_bound(BOUNDED, proof)
    assert checked == CheckedBound(BOUNDED, "utility", OPTIMUM + Fraction(1, 8), proof.proof.leaves)
    for start, said in ((known, "a point of the form seems to be better"), (None, "a solution of")):
        with pytest.raises(ProofFailed, match=said):
            dlsched.prove_bound(BOUNDED, OPTIMUM - Fraction(1, 1000), start)


@pytest.fixture(scope="module")
def good_bound() -> dict[str, Any]:
    """Return the data of the proof of an optimum as a bound."""
    data = dlsched.prove_bound(BOUNDED, OPTIMUM).to_data()
    assert len(data["proof"]["tree"]) > 1
    return data


FOREIGN_BOUND = f"the proof is for another instance than {BOUNDED}"
BOUND_DAMAGE: list[tuple[Callable[[Any], object], str]] = [
    (put("problem", to="workers"), FOREIGN_BOUND),
    (put("instance_sha256", to="0" * 64), FOREIGN_BOUND),
    (put("variant", to={"name": "v", "sha256": ""}), "the proof is of the variant v, not of util"),
    (put("proof", "level", to="other"), "the proof must be of the level utility, the first"),
    (put("proof", "kind", to="certified to nine digits"), "utility: a bound has the kind cert"),
    (put("proof", "target", to=str(OPTIMUM - Fraction(1, 10**6))), "utility: node 2: its"),
    (put("proof", "digest", to="0" * 64), "utility: the digest is not that of the form runs"),
    (put("proof", "parameters", to={"prices": []}), "utility: the form of prices needs the para"),
    (put("proof", "tree", to=[[0, 0, [], []]]), "utility: node 0: its multipliers do not prove"),
]


@pytest.mark.parametrize(("change", "said"), BOUND_DAMAGE)
def test_damaged_proofs_of_bounds_are_refused(
    good_bound: Document, change: Callable[[Any], object], said: str, tmp_path: Path
) -> None:
    """What is of another instance, level, kind, value, form or tree is no proof."""
    damaged = copy.deepcopy(good_bound)
    change(damaged)
    (tmp_path / "b.json").write_text(json.dumps(damaged))
    with pytest.raises(InvalidProof) as error:
        dlsched.check_bound(BOUNDED, tmp_path / "b.json")
    assert said in str(error.value)


def test_a_bound_is_no_proof_of_optimality(good_bound: dict[str, Any], tmp_path: Path) -> None:
    """Neither check accepts what is for the other one."""
    (tmp_path / "b.json").write_text(json.dumps(good_bound))
    with pytest.raises(dlsched.InstanceError, match="dlsched_proof"):
        dlsched.check_proof(BOUNDED, tmp_path / "b.json")
    write_proof(dlsched.prove(BOUNDED), tmp_path / "p.json")
    with pytest.raises(dlsched.InstanceError, match="dlsched_bound"):
        dlsched.check_bound(BOUNDED, tmp_path / "p.json")
    (tmp_path / "renamed.json").write_text(json.dumps(good_bound | {"dlsched_proof": 1}))
    with pytest.raises(dlsched.InstanceError, match="solution"):
        dlsched.check_proof(BOUNDED, tmp_path / "renamed.json")


@pytest.mark.parametrize("value", ["1e9", "nan", "1/0", "", "x", float("inf"), float("nan")])
def test_a_bound_is_a_finite_number(value: object) -> None:
    """Anything else is refused, and so is what would be too long to compute with."""
    with pytest.raises(dlsched.OptionError, match="must be a number"):
        dlsched.prove_bound(BOUNDED, value)


def test_commands(tmp_path: Path) -> None:
    """A bound is proved and checked by a command each; the wrong check is an error."""
    file, value = tmp_path / "b.json", OPTIMUM + 1
    made = run("prove", BOUNDED, "--bound", value, "-o", file).stdout
    assert "check-proof --bound" in " ".join(made.split())
    assert "no solution of" in run("check-proof", "--bound", BOUNDED, file).stdout
    stated = data("check-proof", "--bound", BOUNDED, file)
    assert stated["valid"] and stated["bound"]["kind"] == "certified"
    run("check-proof", BOUNDED, file, status=2)
    refused = run("prove", BOUNDED, "--bound", "0", "-o", file, status=1)
    assert "no proof" in refused.stdout
