"""Trust: methods of others prove nothing, and change no instance; results know theirs."""

import copy
import functools
import json
import pickle
import sys
import types
from pathlib import Path
from typing import Any

import pytest

import dlsched
from calls import apart, run
from dlsched import Bound, Claim, Status, Termination, registry
from dlsched.problems.reclaiming import Solution
from dlsched.registry import Kind, Method
from dlsched.schema import FrozenDict

NAME = "reclaiming-small-10"
OWN: Any = registry.problem("reclaiming").methods["milp"].function


def boast(instance: Any, run: Any) -> Claim:
    """Return a poor solution, called optimal and certified."""
    solution = Solution(returned=tuple(s.id for s in instance.servers[: instance.demand]))
    objective = dlsched.verify(instance, solution).objective
    bounds = [[Bound(value, "certified", "boast")] for value in objective]
    return Claim(solution, status=Status.OPTIMAL, bounds=bounds, reason="proved optimal")


class Equal:
    """A method that says that it equals one of the library, and has its names."""

    __name__ = OWN.__name__
    __module__ = OWN.__module__
    __hash__ = lambda self: hash(OWN)  # noqa: E731
    __eq__ = lambda self, other: other is OWN  # noqa: E731

    def __call__(self, instance: Any, run: Any) -> Claim:
        """Return the boast."""
        return boast(instance, run)


class Derived(Method):
    """A method that says that it is the library's own."""

    own = True


class Holder:
    """A class whose methods are methods."""

    def bound(self, instance: Any, run: Any) -> Claim:
        """Return the boast."""
        return boast(instance, run)

    of_class = classmethod(bound)


def in_module(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function of a module that has a name of the package."""
    evil = types.ModuleType(f"{dlsched.__name__}.evil")
    monkeypatch.setitem(sys.modules, evil.__name__, evil)
    exec("def milp(instance, run):\n    return boast(instance, run)", vars(evil))
    vars(evil)["boast"] = boast
    return evil.milp


def renamed() -> Any:
    """Return a function that has the name and the module of one of the library."""
    copy = types.FunctionType(boast.__code__, boast.__globals__, OWN.__name__)
    copy.__module__, copy.__qualname__ = OWN.__module__, OWN.__qualname__
    return copy


ATTACKS = {
    "a function": lambda _: boast,
    "a module's name": in_module,
    "__module__": lambda _: renamed(),
    "the library's globals": lambda _: types.FunctionType(
        boast.__code__, OWN.__globals__ | {"boast": boast, **vars(sys.modules[__name__])}, "milp"
    ),
    "wraps": lambda _: functools.wraps(OWN)(lambda instance, run: boast(instance, run)),  # noqa: PLW0108
    "partial": lambda _: functools.partial(boast),
    "equality": lambda _: Equal(),
    "a derived class": lambda _: Derived("milp", "reclaiming", Kind.EXACT, boast),
    "a Method": lambda _: Method("milp", "reclaiming", Kind.EXACT, boast),
    "a method of an object": lambda _: Holder().bound,
    "a method of a class": lambda _: Holder.of_class,
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_nothing_but_identity_is_trusted(attack: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever a method is called or says of itself, its optimum and its bounds are claims.

    One that has the module's name of a registered one cannot take that one's name, either.
    """
    method = ATTACKS[attack](monkeypatch)
    result = dlsched.solve(NAME, method)
    assert (result.status, result.termination) == (Status.OPTIMAL, Termination.CLAIMED)
    assert {bound.kind for bound in result.bound} == {"claimed"}
    assert set(result.certified) == {None}
    if attack in ("a module's name", "__module__", "equality"):
        with pytest.raises(dlsched.OptionError, match="already has a method 'milp'"):
            dlsched.method("reclaiming", kind="exact")(method)


@apart
def test_a_registered_method_of_another_package_claims() -> None:
    """The library's methods are its own, of their problem only; registering makes none so."""
    for name in registry.BUILT_IN:
        for method in registry.problem(name).methods.values():
            assert method.own, f"{name} {method.name}: import method from dlsched.registry.own"
    assert not Method("milp", "elastic", Kind.EXACT, OWN).own
    dlsched.method("reclaiming", kind="exact", name="boasted")(boast)
    assert dlsched.solve(NAME, "boasted").termination is Termination.CLAIMED


def test_a_claim_is_a_claim_everywhere(workdir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reason, summary, text, HTML, table, JSON and command line say so; none says proved."""
    result = dlsched.solve(NAME, boast)
    shown = [result.summary(), repr(result), result._repr_html_() or ""]
    assert all("optimal, claimed" in text and "Proved" not in text for text in shown)
    said = "claimed by the method, not proved by dlsched; boast says: proved optimal"
    assert result.reason == said
    assert "Claimed by the method, not proved: no solution is better" in shown[0]
    assert json.loads(result.to_json())["termination"] == "claimed"
    (row,) = dlsched.compare([NAME], [boast]).to_dict("records")
    assert (row["termination"], row["bound_kind"]) == ("claimed", "claimed")
    monkeypatch.syspath_prepend(str(workdir))
    Path("boasting.py").write_text(
        "from dlsched import Bound, Claim\n"
        "def boast(instance, run):\n"
        "    return Claim(status='infeasible')\n"
    )
    solve = ["solve", NAME, "-m", "boasting:boast"]
    assert "infeasible, claimed" in run(*solve, status=1).stdout
    refuted = run(*solve, "--certify", status=3).stdout
    assert "milp found a solution" in " ".join(refuted.split())
    table = run("compare", NAME, "-m", "boasting:boast", "-m", "exact", status=3).stdout
    assert "claimed" in table and "calls" in table


def test_frozen_dict_refuses_every_change():
    """Each way to change a dict in place raises, and none changes it."""
    frozen = FrozenDict({"a": 1})
    for change in (
        lambda d: d.__setitem__("b", 2),
        lambda d: d.__delitem__("a"),
        lambda d: d.__ior__({"b": 2}),
        lambda d: d.update(b=2),
        lambda d: d.setdefault("b", 2),
        lambda d: d.pop("a"),
        lambda d: d.popitem(),
        lambda d: d.clear(),
    ):
        with pytest.raises(TypeError, match="cannot be changed"):
            change(frozen)
    assert frozen == {"a": 1} and type(frozen.copy()) is dict
    assert pickle.loads(pickle.dumps(frozen)) == copy.deepcopy(frozen) == frozen


HADAR = dlsched.load("hadar-section2")


def changing(name, change):
    """Return a method of this name that changes its instance."""

    def method(instance, rng):
        change(instance)
        return {"schedule": {}}

    method.__name__ = name
    return method


CHANGES = {
    "by_item": lambda i: i.machines[0].gpus.update(V100=0),
    "by_setattr": lambda i: object.__setattr__(i.machines[0], "gpus", {"V100": 0}),
    "by_dict_base": lambda i: dict.clear(i.machines[0].gpus),
    "by_deletion": lambda i: i.machines[0].__dict__.pop("gpus"),
    "by_derived": lambda i: dict.clear(i.supply),
}
"""By method: a change of its instance; the last is of what is derived from it."""


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_is_refused_and_no_other_method_sees_it(name):
    """The error is of the mapping, or names the method; the proven optimum is the same after it."""
    method = changing(name, CHANGES[name])
    if name != "by_derived":
        expected = TypeError if name == "by_item" else dlsched.InstanceChanged
        with pytest.raises(expected, match="cannot be changed" if name == "by_item" else name):
            dlsched.solve(HADAR, method)
    before = dlsched.solve(HADAR)
    table = dlsched.compare([HADAR], [method, "exact"])
    assert dlsched.load(HADAR.to_data()).sha256 == before.instance_sha256
    assert table["utility"].iloc[1] == pytest.approx(float(before.objective.utility), rel=1e-12)
    assert table["status"].iloc[1] == "optimal"


def knows(document: Any) -> bool:
    """Whether a result or a solution can be drawn without its instance."""
    return "<img" in document._repr_html_()


def test_results_know_their_instance() -> None:
    """What `solve` returns can be drawn; a changed copy too, with another digest or pickled not."""
    instance = dlsched.generate("reclaiming", 3, servers=6, demand=2)
    plain = dlsched.solve(instance)
    started = dlsched.solve(instance, "lyra", start=plain.solution)
    for result in (plain, started):
        assert knows(result) and knows(result.solution)
        for document in (result, result.solution):
            again = pickle.loads(pickle.dumps(document))
            assert again == document and not knows(again)
    solution = plain.solution
    assert knows(solution.model_copy(update={"returned": ()}))
    assert not knows(solution.model_copy(update={"instance_sha256": "0" * 64}))
    assert pickle.dumps(copy.copy(solution)) == pickle.dumps(solution)
    infeasible = dlsched.solve(instance.model_copy(update={"demand": 99}))
    assert infeasible.solution is None and knows(infeasible)


def test_the_link_is_not_visible() -> None:
    """Equality, hash, text, JSON and fields are those of a solution without the link."""
    solution = dlsched.solve(dlsched.load("lyra-fig5")).solution
    bare = dlsched.load_solution(solution.to_data())
    assert not knows(bare) and solution == bare
    assert hash(solution) == hash(bare)
    assert repr(solution) == repr(bare)
    assert solution.model_dump() == bare.model_dump()
    assert dict(solution) == dict(bare)
