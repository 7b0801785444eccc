"""The peers of the benchmarks find the same optima on small instances, or say that they cannot."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import pytest

import dlsched

ROOT = Path(__file__).parents[2]
SMALL: dict[str, dict[str, Any]] = {
    "reclaiming": {"servers": 14, "demand": 4, "spread": 0.9},
    "elastic": {"jobs": 6, "capacity": 14},
    "interleaving": {"jobs": 8, "resources": 3},
    "utility": {"jobs": 3, "slots": 6, "gpus": 4},
    "sensitivity": {"servers": 1, "gpus": 4, "memory": 250},
    "dispatch": {"regions": 2, "clusters": 1, "machines": 4, "pending": 4},
    "workers": {"training": 3, "loan": 3, "jobs": 8, "admitted": False, "loan_used": 0.4},
}


def peer(name: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a peer by ``module:function``."""
    monkeypatch.syspath_prepend(ROOT)
    module, _, function = name.partition(":")
    return getattr(importlib.import_module(f"benchmarks.peers.{module}"), function)


@pytest.mark.parametrize("name", ["solvers:scipy_milp", "solvers:scip", "cp_sat:cp_sat"])
@pytest.mark.parametrize("problem", SMALL)
def test_solvers_agree(problem: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each solver proves the optimum that the exact method proves, in every level."""
    pytest.importorskip("ortools" if "cp_sat" in name else "pyscipopt", reason="an optional extra")
    function = peer(name, monkeypatch)
    instance = dlsched.generate(problem, 1, **SMALL[problem])
    best, found = dlsched.solve(instance), dlsched.solve(instance, function)
    assert found.status == best.status == "optimal"
    for mine, theirs in zip(best.objective, found.objective, strict=True):
        assert float(mine) == pytest.approx(float(theirs), rel=1e-6)


def test_networkx_agrees(monkeypatch: pytest.MonkeyPatch) -> None:
    """The dense matching has the weight that the certified sparse one has; triples are refused."""
    function = peer("special:networkx_matching", monkeypatch)
    pairs = dlsched.generate("interleaving", 1, jobs=20, resources=2)
    best, found = dlsched.solve(pairs), dlsched.solve(pairs, function)
    assert float(found.objective.efficiency) == pytest.approx(float(best.objective.efficiency))
    with pytest.raises(dlsched.OptionError, match="pairs only"):
        dlsched.solve(dlsched.generate("interleaving", 1, jobs=6, resources=3), function)
