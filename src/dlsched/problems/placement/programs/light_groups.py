"""A smaller relaxation of a large model, without rows that say little.

A group that may run without all its tables has no GPU demand, only traffic. Those which read the
least count as near all their tables: their traffic costs nothing, and no row is about them. Nor is
any about majorities, which in fractions hardly differ from the least numbers of votes.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dlsched.problems.placement.programs.coefficients import Shares
from dlsched.problems.placement.programs.rounding import below
from dlsched.problems.placement.programs.tunables import TUNABLES
from dlsched.solvers.standard_form import StandardForm

_VALID_WITHOUT = "cpu"
"""Limits on sums of nonnegative terms, which hold without those of light groups."""


def without_light_groups(form: StandardForm, shares: Shares) -> StandardForm:
    """Return a relaxation of the model with fewer rows; light groups' columns are fixed at 0.

    Parameters
    ----------
    form
        The model as arrays, without a variant's rows; its variables still know their names.
    """
    light = _light(shares)
    costs = form.costs[0].copy()
    gone = np.zeros(form.shape[1], dtype=bool)
    spared: dict[tuple[int, str], Fraction] = {}
    for j, variable in enumerate(form.variables):
        family, index = variable.parent_component().local_name, variable.index()
        if family == "near" and index[0] in light:
            # A group is near a table in one region at most.
            read = index[:2]
            spared[read] = max(spared.get(read, Fraction(0)), -Fraction(costs[j]))
            costs[j] = 0.0
            gone[j] = True
        elif family == "y" and index[0] in light:
            gone[j] = True
    offset = below(Fraction(form.offsets[0]) - sum(spared.values(), Fraction(0)))
    names = np.array([row.parent_component().local_name for row in form.constraints])
    about = abs(form.A) @ gone.astype(float) > 0
    kept = (~about | (names == _VALID_WITHOUT)) & (names != "majority")
    upper = np.where(gone, 0.0, form.upper)
    return with_part(replace(form, costs=(costs,), offsets=(offset,), upper=upper), kept)


def _light(shares: Shares) -> set[int]:
    """Return the groups of several regions that read the least."""
    read = {
        g: sum(shares.read[g].values(), Fraction(0))
        for g, group in enumerate(shares.groups)
        if not group.together
    }
    light: set[int] = set()
    left = TUNABLES.light_groups
    for g in sorted(read, key=lambda g: read[g]):
        left -= read[g]
        if left < 0:
            break
        light.add(g)
    return light


def with_part(form: StandardForm, kept: NDArray[np.bool_]) -> StandardForm:
    """Return a form with some of its rows."""
    from scipy import sparse

    return replace(
        form,
        A=sparse.csc_array(form.A.tocsr()[np.flatnonzero(kept)]),
        row_lower=form.row_lower[kept],
        row_upper=form.row_upper[kept],
        constraints=[name for name, keep in zip(form.constraints, kept, strict=True) if keep],
    )
