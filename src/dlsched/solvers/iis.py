"""Irreducible infeasible subsystems of a model's named constraints."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dlsched.results.result import Status
from dlsched.run import Run
from dlsched.solvers import highs
from dlsched.solvers.standard_form import StandardForm


def compute_iis(form: StandardForm, run: Run) -> list[str]:
    """Return the names of the constraints of an irreducible infeasible subsystem (IIS).

    A deletion filter removes blocks of constraints, halved in size down to one, if the rest is
    infeasible. If the run ends first, the set is infeasible, and its last entry says so.
    """
    kept = np.arange(form.shape[0])
    size = max(1, len(kept) // 2)
    while size:
        i = 0
        while i < len(kept):
            if run.stop_reason():
                return [*(form.row_names[k] for k in kept), "(not reduced to the end)"]
            shorter = np.delete(kept, np.s_[i : i + size])
            if _infeasible(form, shorter, run):
                kept = shorter
            else:
                i += size
        size //= 2
    return [form.row_names[k] for k in kept]


def infeasibility_reason(form: StandardForm, run: Run) -> str:
    """Return a sentence that names the constraints of an IIS."""
    names = compute_iis(form, run)
    if not names:
        return "the variables' bounds and domains alone have no solution"
    return f"these constraints contradict each other: {', '.join(names)}"


def _infeasible(form: StandardForm, rows: NDArray[np.int64], run: Run) -> bool:
    part = replace(
        form,
        A=form.A[rows, :].tocsc(),
        row_lower=form.row_lower[rows],
        row_upper=form.row_upper[rows],
        costs=tuple(np.zeros_like(c) for c in form.costs),
        constraints=[form.constraints[k] for k in rows.tolist()],
    )
    return highs.solve(part, 0, run, quiet=True).status is Status.INFEASIBLE
