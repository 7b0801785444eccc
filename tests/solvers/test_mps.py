"""MPS files say what the model says."""

from __future__ import annotations

from pathlib import Path

import highspy
import pytest
from hypothesis import given, settings

import dlsched
from dlsched.problems.reclaiming.schema import Instance
from dlsched.testing import oracles
from dlsched.testing.strategies import reclaiming


def optimum(path: Path) -> float:
    """Solve an MPS file with a bare HiGHS."""
    solver = highspy.Highs()
    solver.silent()
    assert solver.readModel(str(path)) == highspy.HighsStatus.kOk
    solver.setOptionValue("mip_rel_gap", 0.0)
    solver.run()
    assert solver.getModelStatus() == highspy.HighsModelStatus.kOptimal
    return float(solver.getInfo().objective_function_value)


@settings(derandomize=True, deadline=None, max_examples=40)
@given(instance=reclaiming(scaled=False))  # a bare solver loses weights of 1e-9
def test_levels_in_turn(instance: Instance, tmp_path_factory: pytest.TempPathFactory) -> None:
    """The first level's file has its optimum; with that held, the second's has its own."""
    best = oracles.reclaiming(instance)
    assert best is not None
    folder = tmp_path_factory.mktemp("mps")
    dlsched.export(instance, folder / "one.mps")
    assert optimum(folder / "one.mps") == pytest.approx(float(best[0]))
    held = {"preempted": float(best[0])}
    dlsched.export(instance, folder / "two.mps.gz", level="collateral", held=held)
    assert optimum(folder / "two.mps.gz") == pytest.approx(float(best[1]))


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


def test_what_export_refuses(tmp_path: Path) -> None:
    """An unknown level, and a later one without the earlier value, are named."""
    instance = dlsched.generate("reclaiming", servers=4)
    with pytest.raises(dlsched.OptionError, match="no level 'cost'"):
        dlsched.export(instance, tmp_path / "a.mps", level="cost")
    with pytest.raises(dlsched.OptionError, match="needs the value of 'preempted'"):
        dlsched.export(instance, tmp_path / "a.mps", level="collateral")
    assert not list(tmp_path.iterdir())
