"""The public calls: solve, compare, verify, and what they refuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dlsched
from dlsched import Bound, Claim, Run, Status
from dlsched.problems.reclaiming.definition.schema import Instance
from dlsched.registry import BUILT_IN, problem


@pytest.fixture
def instance() -> Instance:
    """Return an instance on which the heuristics differ."""
    made = dlsched.generate("reclaiming", seed=1, servers=30, demand=8, spread=0.8)
    assert isinstance(made, Instance)
    return made


def fails(instance: Instance) -> None:
    """Raise."""
    raise RuntimeError("out of luck")


def test_compare(instance: Instance) -> None:
    """Every method has a row; gaps are to the best bound of all; failures say why."""
    seen: list[Any] = []
    table = dlsched.compare([instance], ["random", "exact", fails], on_answer=seen.append)
    rows = table.set_index("method")
    assert list(rows["status"]) == ["feasible", "optimal", "error"]
    assert rows.loc["fails", "reason"] == "RuntimeError: out of luck"
    assert rows.loc["exact", "resolved_method"] == "milp"
    assert rows.loc["exact", "gap"] == 0 and np.isnan(rows.loc["random", "gap"])
    assert rows.loc["random", "gap_to_best"] > 0
    assert rows.loc["random", "preempted_best_bound"] == rows.loc["exact", "preempted"]
    assert len(seen) == 3


def test_compare_takes_the_strongest_bound(instance: Instance) -> None:
    """A weak bound of one method does not hide the strong one of another."""

    def weak(instance: Instance, run: Run) -> Claim:
        found = dlsched.solve(instance, "random").solution
        return Claim(solution=found, bounds=[[Bound(0, "certified", "nothing")]])

    table = dlsched.compare([instance], [weak, "lp", "exact"]).set_index("method")
    assert table["preempted_best_bound"].nunique() == 1 and table.loc["weak", "gap"] == 1
    assert table.loc["weak", "preempted_best_bound"] == table.loc["exact", "preempted"]
    assert table.loc["lp", "status"] == "no solution"


def test_compare_of_nothing() -> None:
    """No instances or no methods give an empty table."""
    assert dlsched.compare([], ["exact"]).empty
    assert dlsched.compare([dlsched.generate("reclaiming", servers=2)], []).empty


def test_bound(instance: Instance) -> None:
    """A bound method's bound is certified and respected; a heuristic proves none."""
    bound, best = dlsched.bound(instance), dlsched.solve(instance).objective
    assert bound[0] is not None and best is not None
    assert bound[0].kind == "certified" and bound[0].value <= best[0]
    with pytest.raises(dlsched.OptionError, match="lyra is a heuristic: it proves no bound"):
        dlsched.bound(instance, "lyra")


def test_start(instance: Instance) -> None:
    """A start is judged first; a method without use for it says so."""
    start = dlsched.solve(instance, "lyra")
    assert dlsched.solve(instance, start=start).start is not None
    ignored = dlsched.solve(instance, "random", start=start)
    assert ignored.start is not None and ignored.start.reason == "random takes no start"
    bad = start.solution.model_copy(update={"returned": ("s1",)})  # type: ignore[union-attr]
    rejected = dlsched.solve(instance, start=bad)
    assert rejected.status is Status.OPTIMAL and rejected.start is not None
    assert not rejected.start.accepted and "rejected by the checker" in rejected.start.reason


def test_infeasible_in_the_instance_s_words() -> None:
    """An instance without a solution says why, whatever the method."""
    instance = dlsched.generate("reclaiming", servers=6, demand=9)
    for method in ("exact", "lyra", "lp"):
        result = dlsched.solve(instance, method)
        assert result.status is Status.INFEASIBLE and result.solution is None
        assert result.reason == "demand 9 servers, 6 exist"


def test_verify(instance: Instance) -> None:
    """Checking needs the instance that the solution was made for."""
    result = dlsched.solve(instance)
    report = dlsched.verify(instance, result, bound=result.bound)
    assert report and report.objective == result.objective and report.gap == (0, 0)
    other = dlsched.generate("reclaiming", seed=1, servers=30, demand=7, spread=0.8)
    with pytest.raises(dlsched.InstanceError, match="instance_sha256"):
        dlsched.verify(other, result)


def test_same_seed_same_result(instance: Instance) -> None:
    """The same call gives the same answer."""
    for method in ("exact", "random"):
        one, two = (dlsched.solve(instance, method, seed=4) for _ in range(2))
        assert one.solution == two.solution and one.bound == two.bound


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("threads", "2"),
        ("threads", 1.5),
        ("threads", True),
        ("threads", 0),
        ("gap", "x"),
        ("gap", None),
        ("gap", float("nan")),
        ("time_limit", "5"),
        ("time_limit", float("nan")),
        ("time_limit", True),
        ("seed", "1"),
        ("seed", -1),
    ],
)
def test_options_of_a_wrong_type(option, value):
    """An option of a wrong type or size is refused by name, before anything runs."""
    with pytest.raises(dlsched.OptionError, match=f"{option}={value!r} must be"):
        dlsched.solve("lyra-fig5", "lyra", **{option: value})


@pytest.mark.parametrize(
    ("method", "option", "value"),
    [
        ("densest", "rounds", "a"),
        ("densest", "rounds", True),
        ("densest", "rounds", 1.5),
        ("densest", "rounds", None),
        ("lyra", "ties", 3),
        ("milp", "levels", float("nan")),
    ],
)
def test_options_of_methods_of_a_wrong_type(method: str, option: str, value: Any) -> None:
    """The types of the methods' own options are those of their parameters."""
    with pytest.raises(dlsched.OptionError, match=f"{option}={value!r} must be a"):
        dlsched.solve("lyra-fig5", method, **{option: value})


@pytest.mark.parametrize(
    ("name", "method", "option", "value"),
    [
        ("elastic-small-01", "prices", "within", "a"),
        ("elastic-small-01", "prices", "within", float("nan")),
        ("elastic-small-01", "prices", "steps", -1),
        ("interleaving-small-01", "regroup", "rounds", -1),
        ("interleaving-small-01", "swap", "passes", -1),
        ("dispatch-small-01", "counted", "within", -0.1),
        ("dispatch-small-01", "counted", "nodes", -1),
        ("dispatch-small-01", "counted", "tries", 0),
    ],
)
def test_options_of_heuristics_out_of_range(
    name: str, method: str, option: str, value: Any
) -> None:
    """Numbers without a meaning are refused by the option's name."""
    with pytest.raises(dlsched.OptionError, match=f"{option}.* (must be|from)"):
        dlsched.solve(name, method, **{option: value})


@pytest.mark.parametrize("name", BUILT_IN)
def test_no_number_of_a_method_is_negative(name: str) -> None:
    """Every numeric option of every method refuses -1 by name."""
    owner = problem(name)
    example = owner.module("generate").examples()[0]
    for method in owner.methods.values():
        for option, default in method.options.items():
            if isinstance(default, int | float) and not isinstance(default, bool):
                with pytest.raises(dlsched.OptionError, match=f"{option}.* (must be|from)"):
                    dlsched.solve(example, method, **{option: -1})


@pytest.mark.parametrize("source", [None, 3, ["lyra-fig5"], b"lyra-fig5"])
def test_what_is_no_instance(source):
    """Something that is neither path, name nor data is refused with one clear error."""
    with pytest.raises(dlsched.InstanceError, match="give a path, a name, or the data"):
        dlsched.load(source)
    with pytest.raises(dlsched.InstanceError, match="give a path, a name, or the data"):
        dlsched.verify("lyra-fig5", source)


def test_more_threads_than_the_machine_has_are_not_used():
    """A thread count beyond the machine's gives the answer of one it has."""
    result = dlsched.solve("lyra-fig5", "milp", threads=10**9)
    assert result.status == "optimal" and result.objective.preempted == 1
