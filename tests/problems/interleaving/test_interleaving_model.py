"""The model of interleaving: its groups, and the size above which it refuses."""

from __future__ import annotations

import pytest

import dlsched
from dlsched.problems.interleaving import Instance, model


def test_groups_are_those_allowed() -> None:
    """Three jobs of one GPU and one of two: three singles, three pairs, a triple, and the other."""
    jobs = [{"id": i, "stages": [1, 2, 3]} for i in "abc"] + [
        {"id": "d", "stages": [1, 1, 1], "gpus": 2}
    ]
    cover = Instance(name="x", resources=("r", "s", "t"), grouping="cover", jobs=jobs, gpu_budget=4)
    m = model.build(cover)
    assert len(m.GROUPS) == 8
    assert len(m.budget) == 1
    assert m.GRANULARITY["efficiency"] > 0


def test_the_model_refuses_many_groups() -> None:
    """200 distinct jobs in fours are 65 million groups, and another method is named."""
    instance = dlsched.generate("interleaving", 1, jobs=200)
    with pytest.raises(dlsched.OptionError, match="column_generation"):
        dlsched.model(instance)
