"""An instance cannot be changed; results and solutions know theirs, and nothing shows it."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

import dlsched
from dlsched.schema import FrozenDict


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


INSTANCE = dlsched.load("hadar-section2")


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
            dlsched.solve(INSTANCE, method)
    before = dlsched.solve(INSTANCE)
    table = dlsched.compare([INSTANCE], [method, "exact"])
    assert dlsched.load(INSTANCE.to_data()).sha256 == before.instance_sha256
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
