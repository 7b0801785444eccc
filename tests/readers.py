"""Model files solved by solvers that read nothing else."""

import gzip
from pathlib import Path

import highspy
import pytest


def highs_optimum(path: Path) -> float:
    """Return the optimum of an LP or MPS file by HiGHS alone."""
    solver = highspy.Highs()
    solver.silent()
    if path.suffix == ".gz":  # some builds of HiGHS read no compressed files
        plain = path.with_suffix("")
        plain.write_bytes(gzip.decompress(path.read_bytes()))
        path = plain
    assert solver.readModel(str(path)) == highspy.HighsStatus.kOk
    solver.setOptionValue("mip_rel_gap", 0.0)
    solver.run()
    assert solver.getModelStatus() == highspy.HighsModelStatus.kOptimal
    return float(solver.getInfo().objective_function_value)


def scip_optimum(path: Path) -> float:
    """Return the optimum of an LP or MPS file by SCIP alone."""
    scip = pytest.importorskip("pyscipopt", reason="the second solver is an optional extra")
    model = scip.Model()
    model.hideOutput()
    model.readProblem(str(path))
    model.setParam("limits/gap", 0.0)
    model.optimize()
    assert model.getStatus() == "optimal"
    return float(model.getObjVal())
