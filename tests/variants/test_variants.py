"""What a variant is: its identity, what it may change, and what the calls say of it."""

from __future__ import annotations

import importlib
import pickle
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyomo.environ as pyo
import pytest
from typer.testing import CliRunner

import dlsched
from dlsched import Level, OptionError, Variant, registry
from dlsched.cli import app


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


def number_of_racks(m: Any, instance: Any) -> Any:
    """The racks of which a server is returned."""
    return sum(m.touched.values())


FEW = Variant("reclaiming", "few-of-the-first", few_of_the_first)
RACKS = Variant(
    "reclaiming",
    "racks",
    touched_racks,
    levels=["preempted", Level("racks", "minimize", number_of_racks), "collateral"],
)


def test_a_constraint_changes_the_optimum() -> None:
    """At Lyra's size: 46 and 152 against 44 and 112; Lyra's own solution returns nine of them."""
    instance = dlsched.load("reclaiming-520-130")
    result = dlsched.solve(instance, variant=FEW)
    assert (result.status, list(result.objective)) == ("optimal", [46, 152])
    assert result.certified[0].value == 46
    assert dlsched.verify(instance, result.solution, variant=FEW).feasible
    lyra = dlsched.solve(instance, "lyra", variant=FEW)
    assert (lyra.status, lyra.solution) == ("no solution", None)
    assert "few is 9, must be at most 3" in lyra.reason
    report = dlsched.verify(instance, dlsched.solve(instance, "lyra").solution, variant=FEW)
    assert [(v.kind, v.amount) for v in report.violations] == [("few", 6)]
    frame = dlsched.compare([instance], ["exact", "lyra", by_id], variant=FEW)
    assert list(frame["status"])[:2] == ["optimal", "no solution"]
    assert dlsched.bound(instance, variant=FEW)[0].value == 46


def by_id(instance: Any, rng: Any) -> Any:
    """Return the first servers of the file."""
    return {"returned": [server.id for server in instance.servers[: instance.demand]]}


def test_a_level_in_added_variables_is_evaluated_by_itself() -> None:
    """The racks that a solution touches are counted for any solution, also a heuristic's."""
    instance = dlsched.load("reclaiming-small-04")
    result = dlsched.solve(instance, variant=RACKS)
    assert [level.name for level in result.objective.levels] == ["preempted", "racks", "collateral"]
    order = [server.id for server in instance.servers]
    assert result.objective.racks == len({order.index(s) // 4 for s in result.solution.returned})
    other = dlsched.solve(instance, by_id, variant=RACKS)
    assert other.objective.racks == -(-instance.demand // 4)


def test_results_say_of_which_variant_they_are() -> None:
    """Name and digest are in the result, its text and its JSON, with levels of one's own."""
    instance = dlsched.load("reclaiming-small-04")
    result = dlsched.solve(instance, variant=RACKS)
    assert result.variant[:2] == ("racks", RACKS.sha256)
    assert pickle.loads(pickle.dumps(FEW)).sha256 == FEW.sha256
    assert "(reclaiming, variant racks)" in result.summary()
    read = dlsched.read_result(result.to_json())
    assert (read.variant, read.objective) == (result.variant, result.objective)
    assert read.objective.levels[1].sense == "min"


def test_an_exported_variant_has_its_rows_and_name(tmp_path: Any) -> None:
    """The file has the added constraint, and the digest in its name."""
    instance = dlsched.load("reclaiming-small-04")
    dlsched.export(instance, tmp_path / "a.mps", variant=FEW)
    text = (tmp_path / "a.mps").read_text()
    assert "few" in text
    assert f"few-of-the-first-{FEW.sha256[:8]}" in text


def test_the_decorator_makes_a_variant() -> None:
    """Named as the function, with minus signs."""

    @dlsched.variant("reclaiming", fix={"x[a]": 0})
    def nothing_else(m: Any, instance: Any) -> None:
        m.some = pyo.Constraint(expr=sum(m.x.values()) >= 0)

    assert (nothing_else.name, dict(nothing_else.fix)) == ("nothing-else", {"x[a]": 0})


def test_a_start_that_violates_the_variant_is_refused() -> None:
    """It was returned as optimal where starts are trusted."""
    instance = dlsched.load("reclaiming-small-04")
    start = dlsched.solve(instance).solution
    none = Variant("reclaiming", "not-that", fix={f"x[{start.returned[0]}]": 0})
    result = dlsched.solve(instance, variant=none, start=start)
    assert not result.start.accepted
    assert start.returned[0] not in result.solution.returned


def test_decimals_are_what_they_print_as() -> None:
    """0.1 + 0.1 + 0.1 <= 0.3 holds, and 1e-9 x <= 3e-9 is at most three servers."""
    instance = dlsched.load("reclaiming-520-130")

    def tenths(m: Any, given: Any) -> None:
        first = list(m.x.values())[:20]
        m.tenths = pyo.Constraint(expr=sum(0.1 * x for x in first) <= 0.3)
        m.small = pyo.Constraint(expr=sum(1e-9 * x for x in first) <= 3e-9)

    result = dlsched.solve(instance, variant=Variant("reclaiming", "tenths", tenths))
    assert list(result.objective) == [46, 152]
    first = {server.id for server in instance.servers[:20]}
    assert len(first & set(result.solution.returned)) == 3


def adds(component: Callable[[Any], Any]) -> Callable[[Any, Any], None]:
    """Return a function that adds one component, called added."""

    def constrain(m: Any, instance: Any) -> None:
        m.added = component(m)

    return constrain


def raises(m: Any, instance: Any) -> None:
    """Fail."""
    raise RuntimeError("out of order")


def adds_nothing(m: Any, instance: Any) -> None:
    """Do nothing."""


def replaces(m: Any, instance: Any) -> None:
    """Replace a constraint of the problem's."""
    m.del_component("demand")
    m.demand = pyo.Constraint(expr=sum(m.x.values()) >= 0)


def deactivates(m: Any, instance: Any) -> None:
    """Switch a constraint of the problem's off."""
    m.added = pyo.Constraint(expr=sum(m.x.values()) >= 0)
    m.preempt.deactivate()


def relaxes(m: Any, instance: Any) -> None:
    """Change a variable's domain."""
    m.added = pyo.Constraint(expr=sum(m.x.values()) >= 0)
    for x in m.x.values():
        x.domain = pyo.NonNegativeIntegers


def stops(m: Any, instance: Any) -> None:
    """Leave the process."""
    raise SystemExit(3)


@pytest.mark.parametrize(
    ("constrain", "said"),
    [
        (raises, "constrain raised RuntimeError: out of order"),
        (stops, "constrain raised SystemExit: 3"),
        (adds_nothing, "constrain added nothing"),
        (replaces, "demand is a component of reclaiming's model, and was removed or replaced"),
        (deactivates, "preempt, a component of reclaiming's model, was changed"),
        (relaxes, "x, a component of reclaiming's model, was changed"),
        (
            adds(lambda m: pyo.Constraint(expr=m.x["1"] * m.x["2"] <= 0)),
            "added is not a linear expression",
        ),
        (adds(lambda m: pyo.Objective(expr=m.x["1"])), "added is an objective"),
        (adds(lambda m: pyo.Block()), "added is a Block"),
    ],
)
def test_what_a_variant_must_not_do(constrain: Any, said: str) -> None:
    """One error, with the variant's name, what is wrong, and what to do."""
    variant = Variant("reclaiming", "hostile", constrain)
    with pytest.raises(OptionError, match="variant hostile") as error:
        dlsched.solve("lyra-fig5", variant=variant)
    assert said in str(error.value)


def test_variables_that_solutions_do_not_determine_cannot_be_named() -> None:
    """Placement's squares are bounded on one side only."""
    variant = Variant(
        "placement", "squares", adds(lambda m: pyo.Constraint(expr=sum(m.uneven.values()) >= 9))
    )
    with pytest.raises(OptionError, match="variants of placement may name: near, x, y"):
        dlsched.solve("placement-small-01", variant=variant)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"name": "../up"}, "its name must be"),
        ({"constrain": 3}, "constrain must be a function"),
        ({"levels": []}, "at least one level"),
        ({"levels": ["speed"]}, "reclaiming has: preempted, collateral"),
        ({"levels": ["preempted", "preempted"]}, "a name twice"),
        ({"fix": {"x[s1]": "1"}}, "must be a finite number"),
    ],
)
def test_what_is_no_variant(arguments: dict[str, Any], said: str) -> None:
    """Refused when it is made."""
    with pytest.raises(OptionError, match=said.replace("(", r"\(")):
        Variant(**{"problem": "reclaiming", "name": "few", **arguments})


def test_a_variable_that_is_not_there_cannot_be_fixed() -> None:
    """The error says how variables are called."""
    with pytest.raises(OptionError, match=r"fix names 'x\[zero\]', which is no variable"):
        dlsched.solve("lyra-fig5", variant=Variant("reclaiming", "no", fix={"x[zero]": 1}))


def test_a_variant_is_for_one_problem() -> None:
    """An instance of another one is refused."""
    with pytest.raises(OptionError, match="is for reclaiming"):
        dlsched.solve("elastic-small-01", variant=FEW)


def fails_the_third_time(m: Any, instance: Any) -> None:
    """Count the calls."""
    fails_the_third_time.calls = getattr(fails_the_third_time, "calls", 0) + 1  # type: ignore[attr-defined]
    if fails_the_third_time.calls == 3:  # type: ignore[attr-defined]
        raise ValueError("third")
    m.few = pyo.Constraint(expr=sum(m.x.values()) >= 0)


def test_a_function_that_fails_the_third_time_is_one_error() -> None:
    """It is called once for each solve, and the answers before and after are the same."""
    variant = Variant("reclaiming", "bomb", fails_the_third_time)
    first, second = (dlsched.solve("lyra-fig5", variant=variant) for _ in range(2))
    with pytest.raises(OptionError, match="constrain raised ValueError: third"):
        dlsched.solve("lyra-fig5", variant=variant)
    fourth = dlsched.solve("lyra-fig5", variant=variant)
    assert first.objective == second.objective == fourth.objective


def test_an_infeasible_variant_names_what_contradicts() -> None:
    """The added constraint and the problem's, by their names."""
    variant = Variant(
        "reclaiming", "none", adds(lambda m: pyo.Constraint(expr=sum(m.x.values()) <= 0))
    )
    result = dlsched.solve("lyra-fig5", variant=variant)
    assert result.status == "infeasible"
    assert "added" in result.reason
    assert "demand" in result.reason


def test_a_variant_is_named_on_the_command_line(
    tmp_path: Path,
) -> None:
    """As file.py:name, by solve, verify and compare, and by the calls."""
    file = tmp_path / "mine.py"
    file.write_text(
        "import dlsched\n\n\n@dlsched.variant('reclaiming')\ndef one(m, instance):\n"
        "    import pyomo.environ as pyo\n\n"
        "    m.one = pyo.Constraint(expr=m.x[instance.servers[0].id] == 1)\n"
    )
    name = f"{file}:one"
    instance = dlsched.load("lyra-fig5")
    result = dlsched.solve(instance, variant=name)
    assert instance.servers[0].id in result.solution.returned
    dlsched.save(result.solution, tmp_path / "a.sol.json")
    verify = ["verify", "lyra-fig5", str(tmp_path / "a.sol.json")]
    for command, status, said in (
        (["solve", "lyra-fig5", "--json"], 0, '"name": "one"'),
        (verify, 0, "feasible"),
        (["compare", "lyra-fig5", "-m", "exact", "-m", "lyra"], 0, "optimal"),
    ):
        ran = CliRunner().invoke(app, [*command, "--variant", name])
        assert (ran.exit_code, said in ran.output) == (status, True), ran.output


@pytest.mark.parametrize("problem", registry.BUILT_IN)
def test_cards_list_what_a_variant_may_name(problem: str) -> None:
    """The card of each problem has the variables and their meanings."""
    card = (Path(__file__).parents[2] / "models" / f"{problem}.md").read_text(encoding="utf-8")
    module = importlib.import_module(f"dlsched.problems.{problem}.model")
    _, _, section = card.partition("\n## Variants\n")
    listed = re.findall(r"^- `(\w+)\[", section, re.M)
    assert listed == list(module.NAMEABLE)
