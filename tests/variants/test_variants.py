"""What a variant is and changes, what calls and the command line say of it, and its proofs."""

import json
import pickle
import re
from pathlib import Path
from typing import Any

import pyomo.environ as pyo
import pytest
from enumerations import SIZES, nameable

import dlsched
from calls import run
from dlsched import Level, Variant, registry
from dlsched.proofs.check import InvalidProof
from dlsched.proofs.document import write_proof
from dlsched.proofs.prove import ProofFailed

SMALL = dlsched.load("reclaiming-small-04")
LARGE = dlsched.load("reclaiming-520-130")


def few_of_the_first(m: Any, instance: Any) -> None:
    """At most three of the first twenty servers."""
    first = [server.id for server in instance.servers[:20]]
    m.few = pyo.Constraint(expr=sum(m.x[s] for s in first) <= 3)


def touched_racks(m: Any, instance: Any) -> None:
    """Variables: 1 for each rack of four servers of which one is returned; half an hour for each.

    The first rack takes no time.
    """
    racks = [server.id for server in instance.servers]
    m.touched = pyo.Var(range((len(racks) + 3) // 4), domain=pyo.Binary)
    m.touch = pyo.ConstraintList()
    for i, s in enumerate(racks):
        m.touch.add(m.touched[i // 4] >= m.x[s])
    m.hours = pyo.Var(bounds=(0, 9.5))
    m.work = pyo.Constraint(expr=m.hours >= 0.5 * sum(m.touched.values()) - 0.5)


FEW = Variant("reclaiming", "few-of-the-first", few_of_the_first)
COUNT = Level("racks", "minimize", lambda m, _: sum(m.touched.values()))
RACKS = Variant("reclaiming", "racks", touched_racks, levels=["preempted", COUNT, "collateral"])


def by_id(instance: Any, rng: Any) -> Any:
    """Return the first servers of the file."""
    return {"returned": [server.id for server in instance.servers[: instance.demand]]}


def test_a_constraint_changes_the_optimum() -> None:
    """At Lyra's size: 46 and 152 against 44 and 112; Lyra's own solution returns nine of them."""
    result = dlsched.solve(LARGE, variant=FEW)
    assert (result.status, list(result.objective)) == ("optimal", [46, 152])
    assert result.certified[0].value == dlsched.bound(LARGE, variant=FEW)[0].value == 46
    lyra = dlsched.solve(LARGE, "lyra", variant=FEW)
    assert (lyra.status, lyra.solution) == ("no solution", None)
    assert "few is 9, must be at most 3" in lyra.reason
    report = dlsched.verify(LARGE, dlsched.solve(LARGE, "lyra").solution, variant=FEW)
    assert [(v.kind, v.amount) for v in report.violations] == [("few", 6)]
    frame = dlsched.compare([LARGE], ["lyra", by_id], variant=FEW)
    assert list(frame["status"])[:1] == ["no solution"]


def test_a_level_in_added_variables_is_evaluated_by_itself() -> None:
    """The racks that a solution touches are counted for any solution, also a heuristic's."""
    result = dlsched.solve(SMALL, variant=RACKS)
    assert [level.name for level in result.objective.levels] == ["preempted", "racks", "collateral"]
    order = [server.id for server in SMALL.servers]
    assert result.objective.racks == len({order.index(s) // 4 for s in result.solution.returned})
    other = dlsched.solve(SMALL, by_id, variant=RACKS)
    assert other.objective.racks == -(-SMALL.demand // 4)


def test_results_say_of_which_variant_they_are(tmp_path: Path) -> None:
    """Name and digest are in the result, its text, its JSON and the file of the model."""
    result = dlsched.solve(SMALL, variant=RACKS)
    assert result.variant[:2] == ("racks", RACKS.sha256)
    assert pickle.loads(pickle.dumps(FEW)).sha256 == FEW.sha256
    assert "(reclaiming, variant racks)" in result.summary()
    read = dlsched.read_result(result.to_json())
    assert (read.variant, read.objective) == (result.variant, result.objective)
    assert read.objective.levels[1].sense == "min"
    dlsched.export(SMALL, tmp_path / "a.mps", variant=FEW)
    text = (tmp_path / "a.mps").read_text()
    assert "few" in text and f"few-of-the-first-{FEW.sha256[:8]}" in text


def test_the_decorator_makes_a_variant() -> None:
    """Named as the function, with minus signs."""

    @dlsched.variant("reclaiming", fix={"x[a]": 0})
    def nothing_else(m: Any, instance: Any) -> None:
        m.some = pyo.Constraint(expr=sum(m.x.values()) >= 0)

    assert (nothing_else.name, dict(nothing_else.fix)) == ("nothing-else", {"x[a]": 0})


def test_a_start_that_violates_the_variant_is_refused() -> None:
    """It was returned as optimal where starts are trusted."""
    start = dlsched.solve(SMALL).solution
    none = Variant("reclaiming", "not-that", fix={f"x[{start.returned[0]}]": 0})
    result = dlsched.solve(SMALL, variant=none, start=start)
    assert not result.start.accepted and start.returned[0] not in result.solution.returned


def test_a_variant_is_named_on_the_command_line(tmp_path: Path) -> None:
    """As file.py:name, by every command that takes one, and by the calls."""
    file, solution = tmp_path / "mine.py", tmp_path / "a.sol.json"
    file.write_text(
        "import dlsched\n\n\n@dlsched.variant('reclaiming')\ndef one(m, instance):\n"
        "    import pyomo.environ as pyo\n\n"
        "    m.one = pyo.Constraint(expr=m.x[instance.servers[0].id] == 1)\n"
    )
    name, proof, vipr = f"{file}:one", tmp_path / "a.proof.json", tmp_path / "a.vipr"
    instance = dlsched.load("lyra-fig5")
    result = dlsched.solve(instance, variant=name)
    assert instance.servers[0].id in result.solution.returned
    dlsched.save(result.solution, solution)
    for command, said in (
        (["solve", "lyra-fig5", "--json"], '"name": "one"'),
        (["verify", "lyra-fig5", solution], "feasible"),
        (["compare", "lyra-fig5", "-m", "exact", "-m", "lyra"], "optimal"),
        (["prove", "lyra-fig5", "-o", proof], f"--variant {name}"),
        (["check-proof", "lyra-fig5", proof], "valid"),
        (["export", "lyra-fig5", vipr, "--proof", proof], "written"),
        (["export", "lyra-fig5", tmp_path / "a.mps"], "written"),
    ):
        ran = run(*command, "--variant", name)
        assert said in " ".join(ran.stdout.split()) or said in ran.stdout.replace("\n", "")
    assert "of the variant one" in run("check-proof", "lyra-fig5", proof, status=1).output
    assert "RTP range" in vipr.read_text() and "one" in (tmp_path / "a.mps").read_text()


@pytest.mark.parametrize("problem", sorted(SIZES))
def test_cards_list_what_a_variant_may_name(problem: str) -> None:
    """The card of each problem has the variables and their meanings."""
    card = (Path(__file__).parents[2] / "models" / f"{problem}.md").read_text(encoding="utf-8")
    _, _, section = card.partition("\n## Variants\n")
    listed = re.findall(r"^- `(\w+)\[", section, re.M)
    assert listed == list(registry.problem(problem).module("model").NAMEABLE)


@pytest.mark.parametrize("problem", sorted(SIZES))
def test_an_infeasible_variant_names_what_contradicts(problem: str) -> None:
    """The added row with some of the problem's, and not the one that is always satisfied."""
    numbers = {"reclaiming": "04", "utility": "06", "placement": "02", "dispatch": "02"}
    instance = dlsched.load(f"{problem}-small-{numbers.get(problem, '01')}")
    name, _ = next(iter(nameable(instance).values()))

    def too_much(m: Any, instance: Any) -> None:
        chosen = [v for v in m.component(name).values() if v.ub]
        m.all_of_them = pyo.Constraint(expr=sum(chosen) >= sum(v.ub for v in chosen))
        m.harmless = pyo.Constraint(expr=sum(chosen) >= 0)

    result = dlsched.solve(instance, variant=Variant(problem, "too-much", too_much))
    assert result.status == "infeasible"
    said = result.reason.partition("contradict each other: ")[2].split(", ")
    assert "all_of_them" in said and len(said) > 1
    assert not any("harmless" in name for name in said)


def test_a_false_row_of_constants_is_an_answer() -> None:
    """Of each call: no solution, and why."""

    def false_row(m: Any, _: Any) -> None:
        m.never = pyo.Constraint(expr=0 * m.x["s1"] >= 1)

    changed = Variant("reclaiming", "false", false_row)
    result = dlsched.solve(SMALL, variant=changed)
    assert result.status == "infeasible" and "never" in result.reason
    report = dlsched.verify(SMALL, dlsched.solve(SMALL).solution, variant=changed)
    assert [v.message for v in report.violations] == ["never is 0, must be at least 1"]
    assert dlsched.best_solutions(SMALL, 2, variant=changed) == []
    proof = dlsched.prove(SMALL, variant=changed)
    assert dlsched.check_proof(SMALL, proof, variant=changed).levels[0].value is None


def never(m: Any, instance: Any) -> None:
    """Nothing fits this row, whatever is done."""
    m.never_above = pyo.Var(bounds=(0, 1))
    m.never = pyo.Constraint(expr=m.never_above >= 2)


@pytest.mark.parametrize("problem", [*SIZES, "configurations"])
def test_what_nothing_fulfils_is_infeasible(problem: str) -> None:
    """A row that cannot hold leaves no solution, which is proved, for the variant alone."""
    change = Variant(problem, "never", never)
    for instance in registry.problem(problem).module("generate").examples()[:2]:
        result = dlsched.solve(instance, variant=change, certify=True)
        assert (result.status, result.solution) == ("infeasible", None)
        [level] = dlsched.check_proof(instance, result.proof, variant=change).levels
        assert (level.value, level.kind) == (None, "certified")
        with pytest.raises(InvalidProof, match="of the variant never"):
            dlsched.check_proof(instance, result.proof)


def few(m: Any, instance: Any) -> None:
    """At most one of the first three servers, of which two count half."""
    first = [server.id for server in instance.servers[:3]]
    m.few = pyo.Constraint(expr=m.x[first[0]] + 0.5 * (m.x[first[1]] + m.x[first[2]]) <= 1.2)


FEWER = Variant("reclaiming", "few", few)
LABOUR = Level("labour", "minimize", lambda m, _: 0.1 * m.hours)
HOURS = Variant("reclaiming", "racks", touched_racks, levels=["preempted", LABOUR, "collateral"])


@pytest.mark.parametrize("variant", [FEWER, HOURS], ids=str)
def test_a_proof_holds_for_its_variant_alone(variant: Variant, tmp_path: Path) -> None:
    """Read back it has the optimum of `exact`; the problem and other variants refuse it."""
    result = dlsched.solve(SMALL, variant=variant)
    write_proof(dlsched.prove(SMALL, variant=variant), tmp_path / "a.proof.json")
    checked = dlsched.check_proof(SMALL, tmp_path / "a.proof.json", variant=variant)
    assert [float(level.value) for level in checked.levels] == list(map(float, result.objective))
    other = Variant("reclaiming", variant.name, fix={"x[s1]": 0})
    else_said = "must have the levels" if variant.levels else "the variant says something else here"
    for given_variant, said in ((None, "give the variant"), (other, else_said)):
        with pytest.raises(InvalidProof, match=said):
            dlsched.check_proof(SMALL, tmp_path / "a.proof.json", variant=given_variant)
    with pytest.raises(InvalidProof) as error:
        dlsched.check_proof(SMALL, dlsched.prove(SMALL), variant=variant)
    assert str(error.value) == "the proof is of reclaiming itself, not of a variant"


def test_a_level_of_continuous_variables_is_proved_to_nine_digits() -> None:
    """The multipliers of a tree are rounded; `certify` has the same proof in the result."""
    kinds = {level.level: level.kind for level in dlsched.prove(SMALL, variant=HOURS).levels}
    digits = "certified to nine digits"
    assert kinds == {"preempted": "certified", "labour": digits, "collateral": "certified"}
    result = dlsched.solve(SMALL, variant=HOURS, certify=True)
    assert result.proof is not None, result.reason
    assert result.proof.variant.name == "racks"
    assert {bound.kind for bound in result.certified} == {"certified", digits}


def test_values_of_added_variables_in_a_document_count_for_nothing(tmp_path: Path) -> None:
    """A solution that no values fit exactly is refused, whatever values the document states."""
    instance = dlsched.load("reclaiming-small-10")
    best = dlsched.solve(instance).solution

    def constrain(m: Any, _: Any) -> None:
        m.t = pyo.Var(bounds=(1, 1))
        m.large = pyo.Constraint(expr=1e9 * m.t + m.x["s2"] <= 1e9)

    variant = Variant("reclaiming", "large", constrain)
    assert "s2" in best.returned
    assert not dlsched.verify(instance, best, variant=variant).feasible
    proof = dlsched.prove(instance, variant=variant)
    assert [level.value for level in dlsched.check_proof(instance, proof, variant=variant).levels]
    forged = proof.to_data()
    forged["solution"]["returned"] = [*best.returned]
    forged["variant"]["values"] = {"t": 1}
    (tmp_path / "forged.proof.json").write_text(json.dumps(forged))
    with pytest.raises(InvalidProof, match="infeasible"):
        dlsched.check_proof(instance, tmp_path / "forged.proof.json", variant=variant)


def test_a_bound_of_a_variant_is_proved() -> None:
    """For the variant alone."""
    best = dlsched.solve(SMALL, variant=FEWER).objective
    bound = dlsched.prove_bound(SMALL, best.preempted, variant=FEWER)
    assert dlsched.check_bound(SMALL, bound, variant=FEWER).value == best.preempted
    with pytest.raises(InvalidProof, match="give the variant"):
        dlsched.check_bound(SMALL, bound)
    with pytest.raises(ProofFailed):
        dlsched.prove_bound(SMALL, best.preempted + 1, variant=FEWER)
