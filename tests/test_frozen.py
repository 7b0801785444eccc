"""An instance cannot be changed; results and solutions know theirs, and nothing shows it."""

from __future__ import annotations

import copy
import pickle

import pytest

import dlsched
from dlsched.registry import problem_names
from dlsched.schema import FrozenDict
from dlsched.schema.instance_link import linked_instance
from dlsched.testing.document_checks import _containers


@pytest.mark.parametrize("name", problem_names())
def test_every_container_of_a_generated_instance_is_read_only(name):
    """Neither a list nor a set nor a plain dict is reachable, as conformance asks of examples."""
    found = _containers(dlsched.generate(name, seed=1), "instance")
    assert [path for path, value in found if type(value) is not FrozenDict] == []


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


def by_item(instance, rng):
    """Try to take a GPU away through the mapping."""
    instance.machines[0].gpus["V100"] -= 1
    return {"schedule": {}}


def by_setattr(instance, rng):
    """Take a machine's GPUs away through object.__setattr__."""
    object.__setattr__(instance.machines[0], "gpus", {"V100": 0})
    return {"schedule": {}}


def by_dict_base(instance, rng):
    """Take a machine's GPUs away through the methods of dict."""
    dict.clear(instance.machines[0].gpus)
    return {"schedule": {}}


def by_derived(instance, rng):
    """Change what is derived from the instance."""
    dict.clear(instance.supply)
    return {"schedule": {}}


def by_deletion(instance, rng):
    """Delete a field."""
    del instance.machines[0].__dict__["gpus"]
    return {"schedule": {}}


CHANGES = {
    by_item: (TypeError, "cannot be changed"),
    by_setattr: (dlsched.InstanceChanged, "by_setattr"),
    by_dict_base: (dlsched.InstanceChanged, "by_dict_base"),
    by_deletion: (dlsched.InstanceChanged, "by_deletion"),
}
"""By method: the error of the mapping itself, or of the fingerprint taken after the method."""


@pytest.mark.parametrize("method", [*CHANGES, by_derived])
def test_a_change_is_refused_and_no_other_method_sees_it(method):
    """The error names the method; the proven optimum is the same before and after it."""
    if method in CHANGES:
        error, words = CHANGES[method]
        with pytest.raises(error, match=words):
            dlsched.solve(INSTANCE, method)
    before = dlsched.solve(INSTANCE)
    table = dlsched.compare([INSTANCE], [method, "exact"])
    assert dlsched.load(INSTANCE.to_data()).sha256 == before.instance_sha256
    assert table["utility"].iloc[1] == pytest.approx(float(before.objective.utility), rel=1e-12)
    assert table["status"].iloc[1] == "optimal"


@pytest.fixture(scope="module")
def instance() -> dlsched.Instance:
    """Return the example of Lyra's Figure 5."""
    return dlsched.load("lyra-fig5")


@pytest.mark.parametrize("method", ["exact", "lyra"])
def test_results_know_their_instance(instance: dlsched.Instance, method: str) -> None:
    """What `solve` returns leads to the very instance, with a rejected start too."""
    plain = dlsched.solve(instance, method)
    started = dlsched.solve(instance, method, start=plain.solution)
    for result in (plain, started):
        assert linked_instance(result) is instance
        assert linked_instance(result.solution) is instance


def test_infeasible_results_know_their_instance() -> None:
    """A result without a solution leads to its instance as well."""
    instance = dlsched.load("lyra-fig5").model_copy(update={"demand": 99})
    result = dlsched.solve(instance)
    assert result.solution is None
    assert linked_instance(result) is instance


def test_the_link_is_not_visible(instance: dlsched.Instance) -> None:
    """Equality, hash, text, JSON and fields are those of a solution without the link."""
    solution = dlsched.solve(instance).solution
    bare = dlsched.load_solution(solution.to_data())
    assert linked_instance(bare) is None
    assert solution == bare
    assert hash(solution) == hash(bare)
    assert repr(solution) == repr(bare)
    assert solution.model_dump() == bare.model_dump()
    assert dict(solution) == dict(bare)


def test_changed_copies_keep_the_link(instance: dlsched.Instance) -> None:
    """A copy with other servers keeps the link, with another digest not; a pickle has none."""
    solution = dlsched.solve(instance).solution
    assert linked_instance(solution.model_copy(update={"returned": ()})) is instance
    assert linked_instance(solution.model_copy(update={"instance_sha256": "0" * 64})) is None
    result = dlsched.solve(instance)
    for document in (result, result.solution):
        again = pickle.loads(pickle.dumps(document))
        assert again == document
        assert linked_instance(again) is None
    assert pickle.dumps(copy.copy(result.solution)) == pickle.dumps(result.solution)
    assert result == pickle.loads(pickle.dumps(result))
