"""Internal: irreducible infeasible subsystems are infeasible, and no constraint can be removed."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from forms import make_form
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from dlsched import Run
from dlsched.solvers.iis import compute_iis
from dlsched.solvers.standard_form import INF, StandardForm
from drawing import draws


def at_least(rows: list[tuple[list[int], int]], box: int) -> StandardForm:
    """Return a form of rows ``a x >= side`` over integers from 0 to `box`."""
    columns = len(rows[0][0])
    sides: list[tuple[float, float]] = [(side, INF) for _, side in rows]
    return make_form([a for a, _ in rows], sides, [(0, box)] * columns, [0] * columns)


def feasible(rows: list[tuple[list[int], int]], box: int) -> bool:
    """Whether some point of the box fulfils all rows, by enumeration."""
    columns = len(rows[0][0]) if rows else 1
    return any(
        all(np.dot(a, x) >= side for a, side in rows)
        for x in product(range(box + 1), repeat=columns)
    )


@settings(derandomize=True, deadline=None, max_examples=draws(25))
@given(st.data())
def test_irreducible(data: st.DataObject) -> None:
    """The named rows are infeasible by enumeration, and feasible without any one of them."""
    columns, box = data.draw(st.integers(1, 3)), data.draw(st.integers(1, 2))
    a = st.lists(st.integers(-2, 2), min_size=columns, max_size=columns)
    rows = data.draw(st.lists(st.tuples(a, st.integers(-2, 4)), min_size=1, max_size=7))
    assume(not feasible(rows, box))
    names = compute_iis(at_least(rows, box), Run())
    kept = [rows[int(name[1:])] for name in names]
    assert kept and not feasible(kept, box)
    for i in range(len(kept)):
        assert feasible(kept[:i] + kept[i + 1 :], box)


def test_bounds_alone() -> None:
    """If bounds contradict each other no row is named; the search is not in the trajectory."""
    form = at_least([([1], 0)], 1)
    form = replace(form, lower=np.array([3.0]))
    assert compute_iis(form, Run()) == []
    run = Run()
    compute_iis(at_least([([1, 1], 3), ([2, 1], 0), ([-1, 0], 0)], 1), run)
    assert not run.trajectory


@pytest.mark.parametrize("run", [Run(interrupted=True), Run(time_limit=1e-9)])
def test_stopped_early(run: Run) -> None:
    """After an interrupt or a limit the set is infeasible, and its last entry says so."""
    names = compute_iis(at_least([([1], 3), ([1], 0)], 1), run)
    assert names == ["r0", "r1", "(not reduced to the end)"]
