"""What a variant is and changes, and what the calls and the command line say of it."""

from __future__ import annotations

import pickle
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyomo.environ as pyo
import pytest
from changes import nameable
from enumerations import SIZES

import dlsched
from calls import run
from dlsched import Level, Variant, registry

SMALL = dlsched.load("reclaiming-small-04")
LARGE = dlsched.load("reclaiming-520-130")


def few_of_the_first(m: Any, instance: Any) -> None:
    """At most three of the first twenty servers."""
    first = [server.id for server in instance.servers[:20]]
    m.few = pyo.Constraint(expr=sum(m.x[s] for s in first) <= 3)


def touched_racks(m: Any, instance: Any) -> None:
    """A variable for each rack of four servers: 1 if one of them is returned."""
    racks = [server.id for server in instance.servers]
    m.touched = pyo.Var(range((len(racks) + 3) // 4), domain=pyo.Binary)
    m.touch = pyo.ConstraintList()
    for i, s in enumerate(racks):
        m.touch.add(m.touched[i // 4] >= m.x[s])


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
    assert not result.start.accepted
    assert start.returned[0] not in result.solution.returned


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


INFEASIBLE = {
    "reclaiming": "reclaiming-small-04",
    "elastic": "elastic-small-01",
    "workers": "workers-small-01",
    "interleaving": "interleaving-small-01",
    "utility": "utility-small-06",
    "sensitivity": "sensitivity-small-01",
    "placement": "placement-small-02",
    "dispatch": "dispatch-small-02",
}


@pytest.mark.parametrize("problem", sorted(INFEASIBLE))
def test_an_infeasible_variant_names_what_contradicts(problem: str) -> None:
    """The added row with some of the problem's, and not the one that is always satisfied."""
    instance = dlsched.load(INFEASIBLE[problem])
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
    with pytest.raises(dlsched.DlschedError, match="never"):
        dlsched.prove(SMALL, variant=changed)


def adds(*parts: Callable[[Any], Any]) -> Callable[[Any, Any], None]:
    """Return a function that adds what each of `parts` makes, called added0, added1, ..."""

    def constrain(m: Any, instance: Any) -> None:
        for i, make in enumerate(parts):
            m.add_component(f"added{i}", make(m))

    return constrain


def solved(*parts: Callable[[Any], Any], levels: Any = None, fix: Any = None) -> Any:
    """Return the result of a variant that adds these."""
    variant = Variant("reclaiming", "added", adds(*parts) if parts else None, levels, fix or {})
    return dlsched.solve(SMALL, variant=variant)


def fixed(value: float, domain: Any) -> Callable[[Any], Any]:
    """Return what makes a variable that is fixed."""

    def make(m: Any) -> Any:
        variable = pyo.Var(domain=domain)
        variable.construct()
        variable.fix(value)
        return variable

    return make


@pytest.mark.parametrize("domain", [pyo.Integers, pyo.Reals])
def test_an_added_variable_may_be_fixed(domain: Any) -> None:
    """It is the number: servers s1 to s9 are at most what it is fixed at."""

    def limit(m: Any) -> Any:
        return pyo.Constraint(expr=sum(m.x.values()) - m.x["s1"] <= m.added0)

    result = solved(fixed(SMALL.demand - 1, domain), limit)
    assert (result.status, "s1" in result.solution.returned) == ("optimal", True)
    assert solved(fixed(SMALL.demand - 2, domain), limit).status == "infeasible"


def row(make: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return what makes a constraint."""
    return lambda m: pyo.Constraint(expr=make(m))


INF = float("inf")


@pytest.mark.parametrize(
    ("make", "same"),
    [
        (row(lambda m: sum(0.1 * m.x["s1"] for _ in range(3)) == 0.3), {"x[s1]": 1}),
        (row(lambda m: 0.1 * m.x["s1"] + 0.2 == 0.3), {"x[s1]": 1}),
        (row(lambda m: 0.3 * m.x["s1"] - 0.2 * m.x["s1"] >= 0.1), {"x[s1]": 1}),
        (row(lambda m: pyo.inequality(-INF, sum(m.x.values()), INF)), {}),
        (row(lambda m: m.x["s1"] <= INF), {}),
    ],
)
def test_what_a_row_says(make: Callable[[Any], Any], same: dict[str, int]) -> None:
    """Decimals are summed exactly: in floating point, they are off by 1e-17; infinity is none."""
    result = solved(make)
    assert (result.status, result.objective) == ("optimal", solved(fix=same).objective)


def test_bounds_of_whole_numbers_become_whole() -> None:
    """A variable from 0.5 to 1.5 is 1: the optimum of a level that it bounds is found."""
    level = Level("count", "minimize", lambda m, _: m.added0 + m.x["s1"])
    half = lambda m: pyo.Var(domain=pyo.Integers, bounds=(0.5, 1.5))  # noqa: E731
    result = solved(half, levels=[level, "preempted"])
    assert (result.status, result.objective[0], result.bound[0].value) == ("optimal", 1, 1)


def unequal(m: Any, instance: Any) -> None:
    """Hold two servers equal; `d` is at most what they differ by where that is not stated."""
    a, b = (m.x[server.id] for server in instance.servers[:2])
    m.d = pyo.Var(bounds=(0, 1))
    m.rows = pyo.ConstraintList()
    for row in (a == b, m.d <= a + b, m.d <= 2 - a - b):
        m.rows.add(row)


@pytest.mark.parametrize(("sense", "sign"), [("minimize", -1), ("maximize", 1)])
def test_an_optimum_of_nothing_is_proved_without_a_step(sense: Any, sign: int) -> None:
    """Relative to 0 a solver's tolerance is a gap of 1; the relaxation's bound is far off."""
    level = Level("differ", sense, lambda m, _: sign * m.d)
    result = dlsched.solve(SMALL, variant=Variant("reclaiming", "zero", unequal, [level]))
    assert (result.status, list(result.objective)) == ("optimal", [0]), result.reason


def test_a_cost_that_is_constant() -> None:
    """Pyomo has no row that holds it for the level after it, which was an error."""
    data = dict(dlsched.generate("placement", 0, tables=2, regions=2, jobs=1).to_data())
    data |= {"jobs": [], "weights": {"storage": 0}}
    first = Level("first", "maximize", lambda m, _: m.x["t1", "r1"])
    result = dlsched.solve(data, variant=Variant("placement", "constant", levels=["cost", first]))
    assert (result.status, result.objective.cost) == ("optimal", 0)


def test_the_models_own_expression_has_all_choices() -> None:
    """The least throughput is that of a choice which another one dominates."""
    data = {
        "dlsched": 1,
        "problem": "sensitivity",
        "name": "dominated",
        "servers": {"count": 1, "gpus": 1, "cpus": 2, "memory": 1},
        "profiles": {"p": {"gpus": 1, "cpus": [1, 2], "memory": [1], "throughput": [[5], [3]]}},
        "jobs": [{"id": "j", "profile": "p"}],
    }
    level = Level("own", "minimize", lambda m, _: m.throughput.expr)
    result = dlsched.solve(data, variant=Variant("sensitivity", "least", levels=[level]))
    assert (result.status, list(result.objective)) == ("optimal", [3])
