"""An instance cannot be changed, and a method that tries is named."""

import copy
import pickle

import pytest

import dlsched
from dlsched.registry import problem, problem_names
from dlsched.schema import Document, FrozenDict, derived


def containers(value, path="instance"):
    """Yield every container in a document with its path, derived values included."""
    if isinstance(value, Document):
        names = {n for n in dir(type(value)) if isinstance(getattr(type(value), n), derived)}
        for name in sorted(names):
            getattr(value, name)
        for name, entry in vars(value).items():
            yield from containers(entry, f"{path}.{name}")
    elif isinstance(value, (dict, list, set)):
        yield path, value
        if isinstance(value, dict):
            for key, entry in value.items():
                yield from containers(entry, f"{path}[{key!r}]")
    elif isinstance(value, tuple):
        for i, entry in enumerate(value):
            yield from containers(entry, f"{path}[{i}]")


@pytest.mark.parametrize("name", problem_names())
def test_every_container_is_read_only(name):
    """No list, set or plain dict is reachable from an instance, nor from a solution of it."""
    example = problem(name).module("generate").examples()[0]
    rules = [m for m in problem(name).methods.values() if m.kind in ("heuristic", "baseline")]
    solution = dlsched.solve(example, rules[-1].name).solution
    found = [*containers(dlsched.generate(name, seed=1)), *containers(example)]
    found += containers(solution, "solution")
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


def test_a_method_that_writes_into_a_mapping_is_refused():
    """The mapping itself raises, and the instance is as it was."""
    with pytest.raises(TypeError, match="cannot be changed"):
        dlsched.solve(INSTANCE, by_item)


@pytest.mark.parametrize("method", [by_setattr, by_dict_base, by_deletion])
def test_a_method_that_changes_the_instance_is_named(method):
    """Changes around the freezing are found by the fingerprint taken after the method."""
    with pytest.raises(dlsched.InstanceChanged, match=method.__name__):
        dlsched.solve(INSTANCE, method)


@pytest.mark.parametrize("method", [by_item, by_setattr, by_dict_base, by_derived, by_deletion])
def test_other_methods_do_not_see_the_change(method):
    """The proven optimum is the same before and after a method that changes its instance."""
    before = dlsched.solve(INSTANCE)
    table = dlsched.compare([INSTANCE], [method, "exact"])
    assert dlsched.load(INSTANCE.to_data()).sha256 == before.instance_sha256
    assert table["utility"].iloc[1] == pytest.approx(float(before.objective.utility), rel=1e-12)
    assert table["status"].iloc[1] == "optimal"
