"""LP and MPS files have the optima of the models, and names that every reader takes."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pyomo.environ as pyo
import pytest

import dlsched
from dlsched.problems.reclaiming import Instance
from readers import highs_optimum, scip_optimum


def glpk_optimum(path: Path) -> float:
    """Return the optimum of an LP file by GLPK's own program."""
    if not shutil.which("glpsol"):
        pytest.skip("GLPK is not installed")
    answer = path.with_suffix(".txt")
    command = ["glpsol", "--lp", str(path), "-o", str(answer)]
    subprocess.run(command, check=True, capture_output=True)
    found = re.search(r"^Objective: .* = (\S+) \(", answer.read_text(), re.M)
    assert found is not None
    return float(found[1])


every_reader = pytest.mark.parametrize("solve", [highs_optimum, scip_optimum, glpk_optimum])


@every_reader
def test_every_kind_of_row_and_column(solve: Callable[[Path], float], tmp_path: Path) -> None:
    """Ranges, free and fixed columns, an unbounded integer and a constant keep their meaning.

    By hand: w = 2; b is the least integer from 1.5, so 2; a is at the range's lower end, b / 2 - 5
    = -4; the cost a + b + w + 10.25 is then 10.25.
    """
    m = pyo.ConcreteModel("kinds")
    m.a = pyo.Var()
    m.b = pyo.Var(domain=pyo.Integers, bounds=(None, None))
    m.w = pyo.Var(domain=pyo.Integers, bounds=(2, 2))
    m.unused = pyo.Var(domain=pyo.NonNegativeReals)
    m.range = pyo.Constraint(expr=(-5, m.a - m.b / 2, -3.5))
    m.least = pyo.Constraint(expr=m.b >= 1.5)
    m.cost = pyo.Objective(expr=m.a + m.b + m.w + 10.25)
    file = tmp_path / "kinds.lp"
    dlsched.export("lyra-fig5", file, built=m)
    assert solve(file) == pytest.approx(10.25)


@every_reader
def test_a_level_without_costs(solve: Callable[[Path], float], tmp_path: Path) -> None:
    """A level that is constant, and has to be held at that, is a file that readers take."""
    m = pyo.ConcreteModel("constant")
    m.x = pyo.Var(domain=pyo.Binary)
    m.least = pyo.Constraint(expr=m.x >= 1)
    m.preempted = pyo.Objective(expr=7)
    m.collateral = pyo.Objective(expr=3 * m.x)
    file = tmp_path / "constant.lp"
    dlsched.export("lyra-fig5", file, built=m)
    assert solve(file) == pytest.approx(7)
    dlsched.export("lyra-fig5", file, level="collateral", held={"preempted": 7}, built=m)
    assert solve(file) == pytest.approx(3)


@every_reader
def test_any_ids(solve: Callable[[Path], float], tmp_path: Path) -> None:
    """Ids with operators, letters of any script or 400 characters stay apart.

    Returning s+2 preempts no job, any other server one.
    """
    servers = ["s 1", "s+2 <= 3", "机器", "机械"]
    jobs = {"e1" * 200: servers[0], "e1" * 200 + "x": servers[2], "free": servers[3]}
    instance = Instance(
        name="two wörds\n\\ *",
        demand=2,
        servers=[{"id": name, "gpus": 8} for name in servers],
        jobs=[{"id": j, "workers": [{"server": s, "gpus": 1}]} for j, s in jobs.items()],
    )
    dlsched.export(instance, tmp_path / "a.lp")
    text = (tmp_path / "a.lp").read_text()
    assert text.isascii()
    for name in ("preempted:", "x(s_1)", "x(s_2____3)", "x(__)", "x(__)_2", "y(free)", "demand"):
        assert name in text
    assert max(map(len, re.findall(r"\S+", text))) <= 255
    assert solve(tmp_path / "a.lp") == pytest.approx(1)


NAMES = {"a,b": "x(a,b)", "1": "x(1)", "é": "x(_)", "ü": "x(_)_2", "e+3": "x(e_3)", "": "x()"}
COMPONENTS = {"e1": "_e1", "E": "_E", "free": "_free", "End": "_End", "st": "_st"}


def test_names_are_legal_and_unique(tmp_path: Path) -> None:
    """No name begins with an exponent, none is a keyword, and none comes twice."""
    m = pyo.ConcreteModel("names")
    m.x = pyo.Var(list(NAMES), domain=pyo.Binary)
    for name in COMPONENTS:
        m.add_component(name, pyo.Var(bounds=(0, 1)))
    m.cost = pyo.Objective(expr=sum(v for v in m.component_data_objects(pyo.Var)))
    dlsched.export("lyra-fig5", tmp_path / "a.lp", built=m)
    terms = re.findall(r"^[+]1.0 (\S+)$", (tmp_path / "a.lp").read_text(), re.M)
    assert terms == [*NAMES.values(), *COMPONENTS.values()]


@pytest.mark.parametrize("name", ["a.lp", "a.mps"])
def test_an_instance_without_a_model(name: str, tmp_path: Path) -> None:
    """Where a constraint has no variable and is violated, the reason is said in one line."""
    instance = Instance(name="none", demand=1, servers=[], jobs=[])
    with pytest.raises(dlsched.InstanceError, match="none: has no solution, and a model"):
        dlsched.export(instance, tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_a_format_that_is_unknown(tmp_path: Path) -> None:
    """Only LP and MPS are written; which one is said, or in the file's name."""
    with pytest.raises(dlsched.OptionError, match="write one of: lp, mps"):
        dlsched.export("lyra-fig5", tmp_path / "a.lp", format="nl")
    assert not list(tmp_path.iterdir())
    dlsched.export("lyra-fig5", tmp_path / "a.txt", format="lp")
    dlsched.export("lyra-fig5", tmp_path / "a.lp.gz", format="mps")
    assert "end" in (tmp_path / "a.txt").read_text().split()
