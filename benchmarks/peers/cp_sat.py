"""OR-Tools CP-SAT on the compiled model, level by level; all columns must be integer.

It runs in a process of its own, since OR-Tools and highspy each bring a libhighs and the second one
loaded would use that of the first. The process is started when this module is imported, so that
its start does not count in any run.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction
from math import lcm
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.peers.levels import Answer, by_levels

from dlsched import Claim
from dlsched.errors import OptionError
from dlsched.run import Run
from dlsched.schema import Instance
from dlsched.solvers.standard_form import StandardForm

_FAR = 2**60
_FINE = 10**9
"""Costs without a grid are rounded to so many parts of the largest, and the bound allows for it."""
_DIGITS = 10**12


def cp_sat(instance: Instance, run: Run) -> Claim:
    """OR-Tools CP-SAT on the whole model, level by level."""

    def backend(form: StandardForm, level: int, run: Run) -> Answer:
        bare = replace(form, variables=(), constraints=())
        return _CHILD.ask(bare, level, run.remaining(), run.gap, run.seed)

    return by_levels(instance, run, backend, "ortools")


def _solve(form: StandardForm, level: int, seconds: float, gap: float, seed: int) -> Answer:
    from ortools.sat.python import cp_model

    if not form.integer.all():
        raise OptionError("the model has continuous columns, which CP-SAT does not take")
    model = cp_model.CpModel()
    whole = zip(form.lower.tolist(), form.upper.tolist(), strict=True)
    columns = [
        model.new_int_var(int(low), int(high), f"c{j}") for j, (low, high) in enumerate(whole)
    ]
    rows = form.A.tocsr()
    for i, (low, high) in enumerate(zip(form.row_lower, form.row_upper, strict=True)):
        part = slice(rows.indptr[i], rows.indptr[i + 1])
        scale = _scale([*rows.data[part], *(b for b in (low, high) if abs(b) < np.inf)])
        expression = cp_model.LinearExpr.weighted_sum(
            [columns[j] for j in rows.indices[part]], [_times(a, scale) for a in rows.data[part]]
        )
        least = _times(low, scale) if low > -np.inf else -_FAR
        most = _times(high, scale) if high < np.inf else _FAR
        model.add_linear_constraint(expression, least, most)
    unit, costs, error = _whole_costs(form, level)
    objective = cp_model.LinearExpr.weighted_sum(columns, costs)
    low_is_good = form.senses[level] == "min"
    (model.minimize if low_is_good else model.maximize)(objective)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.random_seed = seed
    solver.parameters.relative_gap_limit = gap
    if seconds < float("inf"):
        solver.parameters.max_time_in_seconds = max(seconds, 0.01)
    status = solver.solve(model)
    found = status in (cp_model.OPTIMAL, cp_model.FEASIBLE)
    values = np.array([solver.value(x) for x in columns], dtype=float) if found else None
    bound = None
    if found:  # else CP-SAT has none, and says 0
        bound = solver.best_objective_bound * float(unit) + form.offsets[level]
        bound += -error if low_is_good else error
    proven = status == cp_model.OPTIMAL
    reason = solver.status_name(status).lower()
    return Answer(values, bound, proven, reason)


def _scale(numbers: list[float]) -> int:
    """Return what makes decimals whole."""
    scale = lcm(*(Fraction(repr(float(n))).denominator for n in numbers))
    if scale > _DIGITS:
        raise OptionError("a row's numbers have too many digits for CP-SAT")
    return scale


def _times(number: float, scale: int) -> int:
    return int(Fraction(repr(float(number))) * scale)


def _whole_costs(form: StandardForm, level: int) -> tuple[Fraction, list[int], float]:
    """Return (unit, costs in units, what rounding may be off by)."""
    unit, costs, _ = form.scaled(level)
    if unit == form.granularities[level]:
        return unit, np.rint(costs).astype(int).tolist(), 0.0
    largest = float(np.abs(form.costs[level]).max()) or 1.0
    unit = Fraction(largest) / _FINE
    rounded = np.rint(form.costs[level] / float(unit))
    off = np.abs(form.costs[level] - rounded * float(unit)) * np.maximum(form.upper, 0)
    return unit, rounded.astype(int).tolist(), float(off.sum())


def _serve() -> None:
    """Answer on stdout what comes on stdin, until that ends."""
    questions, answers = Connection(os.dup(0)), Connection(os.dup(1))
    os.dup2(2, 1)
    from ortools.sat.python import cp_model  # noqa: F401  (now, before any clock runs)

    answers.send(None)
    with contextlib.suppress(EOFError):
        while True:
            try:
                answer = _solve(*questions.recv())
            except OptionError as error:
                answer = error
            answers.send(answer)


class _Child:
    """The process that OR-Tools is loaded in."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.peers.cp_sat"],
            cwd=Path(__file__).parents[2],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert self.process.stdin and self.process.stdout
        self.questions = Connection(os.dup(self.process.stdin.fileno()))
        self.answers = Connection(os.dup(self.process.stdout.fileno()))
        self.process.stdin.close()
        self.process.stdout.close()
        self.answers.recv()

    def ask(self, *question: Any) -> Answer:
        """Return the answer to a question, or raise what it raised."""
        self.questions.send(question)
        answer = self.answers.recv()
        if isinstance(answer, Exception):
            raise answer
        return answer


if __name__ == "__main__":
    _serve()
else:
    _CHILD = _Child()
