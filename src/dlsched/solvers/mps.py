"""One level of a model as MPS text, for other solvers."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dlsched.errors import SolverFailure
from dlsched.solvers import highs
from dlsched.solvers.standard_form import compile_model


def mps_text(name: str, model: Any, level: int, held: Sequence[float]) -> str:
    """Return one level of the model, with the earlier levels held by rows ``hold_<level>``.

    Parameters
    ----------
    name, model, level
        For the NAME line; a Pyomo model with one objective per level; index of the level.
    held
        Values of the earlier levels, one each.

    Raises
    ------
    SolverFailure
        If HiGHS cannot write the model.
    """
    import highspy

    form = compile_model(model)
    for i, value in enumerate(held):
        form = form.held(i, value)
    lp = highs.build(form, level)
    lp.model_name_ = "_".join(name.split())
    lp.col_names_, lp.row_names_ = form.column_names, form.row_names
    writer = highspy.Highs()
    writer.silent()
    if writer.passModel(lp) == highspy.HighsStatus.kError:
        raise SolverFailure("HiGHS rejected the model")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "model.mps"
        if writer.writeModel(str(file)) == highspy.HighsStatus.kError:
            raise SolverFailure("HiGHS could not write the MPS file")
        return file.read_text()
