"""MPS files have the optima and the names of the models."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings

import dlsched
from dlsched.problems.reclaiming.definition.schema import Instance
from dlsched.testing import oracles
from dlsched.testing.strategies import reclaiming
from readers import highs_optimum


@settings(derandomize=True, deadline=None, max_examples=25)
@given(instance=reclaiming(scaled=False))  # HiGHS alone loses weights of 1e-9
def test_levels_in_turn(instance: Instance, tmp_path_factory: pytest.TempPathFactory) -> None:
    """The files of level 1, and of level 2 with level 1 held, have the optima of the levels."""
    best = oracles.reclaiming(instance)
    assert best is not None
    folder = tmp_path_factory.mktemp("mps")
    dlsched.export(instance, folder / "one.mps")
    assert highs_optimum(folder / "one.mps") == pytest.approx(float(best[0]))
    held = {"preempted": float(best[0])}
    dlsched.export(instance, folder / "two.mps.gz", level="collateral", held=held)
    assert highs_optimum(folder / "two.mps.gz") == pytest.approx(float(best[1]))


def test_names(tmp_path: Path) -> None:
    """Rows and columns carry the names of the Pyomo components and the ids."""
    instance = Instance(
        name="two words",
        demand=1,
        servers=[{"id": "s 1", "gpus": 8}, {"id": "s2", "gpus": 8}],
        jobs=[{"id": "a", "workers": [{"server": "s 1", "gpus": 1}, {"server": "s2", "gpus": 1}]}],
    )
    dlsched.export(instance, tmp_path / "a.mps", level="collateral", held={"preempted": 1})
    text = (tmp_path / "a.mps").read_text()
    for name in (
        "two_words",
        "x[s_1]",
        "y[a]",
        "z[a,s2]",
        "demand",
        "preempt[a,s2]",
        "hold_preempted",
    ):
        assert name in text


def test_invalid_levels(tmp_path: Path) -> None:
    """An unknown level, and one without the value of the earlier level, are named."""
    instance = dlsched.generate("reclaiming", servers=4)
    with pytest.raises(dlsched.OptionError, match="no level 'cost'"):
        dlsched.export(instance, tmp_path / "a.mps", level="cost")
    with pytest.raises(dlsched.OptionError, match="needs the value of 'preempted'"):
        dlsched.export(instance, tmp_path / "a.mps", level="collateral")
    assert not list(tmp_path.iterdir())
