"""Trust: only functions that this library registered prove anything, whatever others call it."""

from __future__ import annotations

import functools
import json
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

    own = True  # type: ignore[assignment]


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
