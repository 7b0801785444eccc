"""Results and solutions know their instance; nothing that is written or compared shows it."""

from __future__ import annotations

import copy
import pickle

import pytest

import dlsched
from dlsched.schema.instance_link import linked_instance


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


def test_pickles_hold_no_instance(instance: dlsched.Instance) -> None:
    """A pickle of a result or a solution is as if there were no link."""
    result = dlsched.solve(instance)
    for document in (result, result.solution):
        again = pickle.loads(pickle.dumps(document))
        assert again == document
        assert linked_instance(again) is None
    assert pickle.dumps(copy.copy(result.solution)) == pickle.dumps(result.solution)
    assert result == pickle.loads(pickle.dumps(result))


def test_changed_copies_keep_the_link(instance: dlsched.Instance) -> None:
    """A copy with other servers is of the same instance; one with another digest may not be."""
    solution = dlsched.solve(instance).solution
    assert linked_instance(solution.model_copy(update={"returned": ()})) is instance
    assert linked_instance(solution.model_copy(update={"instance_sha256": "0" * 64})) is None
