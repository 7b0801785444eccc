"""What a variant must not be, add, set or name, and what is then said."""

import json
import logging
from collections.abc import Callable
from itertools import count
from pathlib import Path
from threading import Thread
from typing import Any

import pyomo.environ as pyo
import pytest

import dlsched
from dlsched import OptionError, Variant
from refused_calls import assert_refused, reports

NAME = "reclaiming-small-04"
FIRST = [server.id for server in dlsched.load(NAME).servers[:4]]
INF, NAN = float("inf"), float("nan")
Constrain = Callable[[Any, Any], object]


def adds(make: Callable[[Any], Any]) -> Constrain:
    """Return a function that adds what `make` makes."""
    return lambda m, _: setattr(m, "added", make(m))


def row(make: Callable[[Any], Any]) -> Constrain:
    """Return a function that adds a constraint."""
    return adds(lambda m: pyo.Constraint(expr=make(m)))


def does(change: Callable[[Any], object]) -> Constrain:
    """Return a function that adds something and changes something."""

    def constrain(m: Any, instance: Any) -> None:
        m.none = pyo.Set(initialize=[1])
        change(m)

    return constrain


def added_as(name: str, make: Callable[[Any], Any]) -> Constrain:
    """Return a function that adds a row of this name."""
    return lambda m, _: m.add_component(name, pyo.Constraint(expr=make(m)))


def raises(error: BaseException) -> Constrain:
    """Return a function that raises."""

    def constrain(m: Any, instance: Any) -> None:
        raise error

    return constrain


def in_a_loop(m: Any, instance: Any) -> None:
    """Replace the row of each server by that of the next."""
    for server in FIRST:
        m.off = pyo.Constraint(expr=m.x[server] == 0)


def replace_row(m: Any) -> None:
    """Replace a constraint of the problem's."""
    m.del_component("demand")
    m.demand = pyo.Constraint(expr=sum(m.x.values()) >= 0)


def smaller_set(m: Any) -> None:
    """Replace a member of a set of the problem by another one."""
    m.SERVERS.remove(m.SERVERS.first())
    m.SERVERS.add("another")


def relax(m: Any) -> None:
    """Change a variable's domain."""
    m.x[FIRST[0]].domain = pyo.NonNegativeIntegers


def fixed(m: Any) -> Any:
    """Return a whole number that is fixed at a half."""
    variable = pyo.Var(domain=pyo.Integers)
    variable.construct()
    variable.fix(0.5, skip_validation=True)
    return variable


def one(m: Any, instance: Any) -> Any:
    """Return a variable."""
    return m.x[FIRST[0]]


def hostile(constrain: Constrain) -> object:
    """Solve with a function that adds what it must not."""
    return dlsched.solve(NAME, variant=Variant("reclaiming", "hostile", constrain))


def clash(name: str, constrain: Constrain) -> object:
    """Solve an instance of another problem."""
    return dlsched.solve(name, variant=Variant(name.partition("-")[0], "clash", constrain))


def given(**arguments: Any) -> object:
    """Make a variant of other arguments, and solve an instance that it may not fit."""
    variant = Variant(**{"problem": "reclaiming", "name": "few", **arguments})
    return dlsched.solve(NAME, variant=variant)


REFUSED = reports(Path(__file__).with_name("refused.txt"))


@pytest.mark.parametrize("call", REFUSED)
def test_what_a_variant_must_not_be_or_add(call: str) -> None:
    """The error has the variant's name, and what is wrong."""
    assert_refused(call, REFUSED[call], dlsched, globals())


def test_what_another_thread_replaces_is_not_the_variants() -> None:
    """Pyomo logs it while the variant's function runs."""

    def elsewhere() -> None:
        model: Any = pyo.ConcreteModel()
        for _ in range(2):
            model.off = pyo.Constraint(expr=pyo.Constraint.Feasible)

    def constrain(m: Any, instance: Any) -> None:
        other = Thread(target=elsewhere)
        other.start()
        other.join()
        m.added = pyo.Constraint(expr=m.x[FIRST[0]] <= 1)

    assert dlsched.solve(NAME, variant=Variant("reclaiming", "alone", constrain)).solution


def test_studies_of_what_cannot_be_studied() -> None:
    """One error, as of `solve`."""
    pair = ("preempted", "collateral")
    for study, given in ((dlsched.best_solutions, 2), (dlsched.frontier, pair)):
        with pytest.raises(OptionError, match=r"variant=3 is no dlsched\.Variant"):
            study(NAME, given, variant=3)
    for fixes in ({"x[s1]": 1}, "x[s1]", ["x[s1]"]):
        with pytest.raises(OptionError, match="fixes must be a list of decisions"):
            dlsched.what_if(NAME, fixes)
    done = Variant("reclaiming", "one", fix={"x[s1]": 1})
    with pytest.raises(OptionError, match="cannot be fixed at 0"):
        dlsched.what_if(NAME, [{"x[s1]": 0}], variant=done)
    with pytest.raises(OptionError, match="gap=-1 must be a number from 0"):
        dlsched.best_solutions(NAME, 2, gap=-1)


def test_names_without_quotation_marks_must_be_of_one_variable() -> None:
    """Of tables "a,1" and "a" in regions "2" and "1,2" both are x[a,1,2] without them."""
    known = dlsched.load("placement-small-01")
    data = json.dumps(known.to_data())
    names = [part[i].id for part in (known.tables, known.regions) for i in (0, 1)]
    for name, other in zip(names, ["a,1", "a", "2", "1,2"], strict=True):
        data = data.replace(json.dumps(name), json.dumps(other))
    instance = dlsched.load(json.loads(data))
    with pytest.raises(OptionError, match=r"variables; write x\['a,1','2'\] or x\[a,'1,2'\]"):
        dlsched.solve(instance, variant=Variant("placement", "fixed", fix={"x[a,1,2]": 1}))
    one = Variant("placement", "one", fix={"x['a,1','2']": 1})
    assert dlsched.solve(instance, variant=one).solution.home["a,1"] == "2"


def test_a_refused_model_says_what_can_be_done_for_a_variant() -> None:
    """Not that the problem's other methods do it, which do not know the variant."""
    instance = dlsched.generate("interleaving", 1, jobs=64, distinct=True)
    with pytest.raises(
        OptionError, match=r"variant one: the model of .* the most is.*by allow alone"
    ):
        dlsched.solve(instance, variant=Variant("interleaving", "one"))


def test_a_row_that_is_replaced_on_purpose(caplog: pytest.LogCaptureFixture) -> None:
    """It is deleted first; Pyomo's own warnings are as before."""

    def deleted_before(m: Any, instance: Any) -> None:
        m.off = pyo.Constraint(expr=m.x[FIRST[1]] == 0)
        m.del_component(m.off)
        m.off = pyo.Constraint(expr=m.x[FIRST[0]] == 0)

    result = dlsched.solve(NAME, variant=Variant("reclaiming", "loop", deleted_before))
    assert FIRST[0] not in result.solution.returned
    assert not caplog.records
    assert logging.getLogger("pyomo.core").propagate


def test_a_function_that_adds_something_else_the_next_time_is_one_error() -> None:
    """It reads a counter; one that only adds rows in another order is none."""
    calls = count()

    def another(m: Any, instance: Any) -> None:
        m.few = pyo.Constraint(expr=m.x[instance.servers[next(calls) % 3].id] == 1)

    def shuffled(m: Any, instance: Any) -> None:
        m.few = pyo.ConstraintList()
        for server in instance.servers[:: (-1) ** next(calls)]:
            m.few.add(m.x[server.id] >= 0)

    variant = Variant("reclaiming", "counted", another, version="1")
    result = dlsched.solve(NAME, variant=variant)
    with pytest.raises(OptionError, match="variant counted: its functions added something else"):
        dlsched.verify(NAME, result.solution, variant=variant)
    variant = Variant("reclaiming", "shuffled", shuffled, version="1")
    result = dlsched.solve(NAME, variant=variant)
    assert dlsched.verify(NAME, result.solution, variant=variant).feasible
