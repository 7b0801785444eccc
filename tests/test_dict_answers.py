"""A method may answer with the problem's own fields alone."""

from __future__ import annotations

import pytest

import dlsched


def test_a_dict_of_fields_is_a_solution() -> None:
    """The envelope is added, and the answer is checked like any other."""
    result = dlsched.solve("lyra-fig5", lambda instance, rng: {"returned": ["1", "2"]})
    assert result.objective == (1, 0)
    assert (result.solution.instance, result.status) == ("lyra-fig5", "feasible")


def test_a_dict_with_a_wrong_field_is_refused_by_name() -> None:
    """What is wrong with the answer is named by field, as for a file."""
    with pytest.raises(dlsched.InstanceError, match="returns: is an unknown field"):
        dlsched.solve("lyra-fig5", lambda instance, rng: {"returns": ["1"], "returned": []})
