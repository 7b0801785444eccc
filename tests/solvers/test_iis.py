"""Irreducible infeasible sets: contradicting, and no constraint to spare."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import sparse

from dlsched.run import Run
from dlsched.solvers.iis import compute_iis
from dlsched.solvers.standard_form import StandardForm


def make(rows: list[tuple[list[int], int]], box: int) -> StandardForm:
    """Return a form of rows ``a x >= side`` over whole numbers from 0 to `box`."""
    columns = len(rows[0][0]) if rows else 1
    return StandardForm(
        A=sparse.csc_array(np.array([a for a, _ in rows], dtype=float).reshape(-1, columns)),
        row_lower=np.array([side for _, side in rows], dtype=float),
        row_upper=np.full(len(rows), np.inf),
        lower=np.zeros(columns),
        upper=np.full(columns, float(box)),
        integer=np.ones(columns, dtype=bool),
        costs=(np.zeros(columns),),
        offsets=(0.0,),
        senses=("min",),
        granularities=(Fraction(0),),
        variables=[],
        constraints=[f"r{i}" for i in range(len(rows))],
    )


def feasible(rows: list[tuple[list[int], int]], box: int) -> bool:
    """Whether some point of the box fulfils all rows, by enumeration."""
    columns = len(rows[0][0]) if rows else 1
    return any(
        all(np.dot(a, x) >= side for a, side in rows)
        for x in product(range(box + 1), repeat=columns)
    )


@settings(derandomize=True, deadline=None, max_examples=60)
@given(st.data())
def test_irreducible(data: st.DataObject) -> None:
    """What is named is infeasible by enumeration, and feasible once any one of it is dropped."""
    columns, box = data.draw(st.integers(1, 3)), data.draw(st.integers(1, 2))
    a = st.lists(st.integers(-2, 2), min_size=columns, max_size=columns)
    rows = data.draw(st.lists(st.tuples(a, st.integers(-2, 4)), min_size=1, max_size=7))
    assume(not feasible(rows, box))
    names = compute_iis(make(rows, box), Run())
    kept = [rows[int(name[1:])] for name in names]
    assert kept and not feasible(kept, box)
    for i in range(len(kept)):
        assert feasible(kept[:i] + kept[i + 1 :], box)


def test_bounds_alone() -> None:
    """If the variables' bounds contradict each other, no constraint is blamed."""
    form = make([([1], 0)], 1)
    form = replace(form, lower=np.array([3.0]))
    assert compute_iis(form, Run()) == []


@pytest.mark.parametrize("run", [Run(interrupted=True), Run(time_limit=1e-9)])
def test_stopped_early(run: Run) -> None:
    """An interrupt or a limit leaves a set that is infeasible, and says that it is not reduced."""
    names = compute_iis(make([([1], 3), ([1], 0)], 1), run)
    assert names == ["r0", "r1", "(not reduced to the end)"]


def test_tells_the_listener_nothing() -> None:
    """The search for a set is no part of the trajectory."""
    run = Run()
    compute_iis(make([([1, 1], 3), ([2, 1], 0), ([-1, 0], 0)], 1), run)
    assert not run.trajectory
