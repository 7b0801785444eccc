"""Search for cuts before a tree is searched: from the rows of the simplex tableau.

Where an integer column of the relaxation's point is fractional, its row of the tableau gives a cut
that the point violates (Gomory 1960), and so may whole multiples of the row (Cornuéjols, Li and
Vandenbussche, "K-cuts", 2003). Of the multiplier of a row whose columns are integers, only the
fractional part matters: the rest changes the cut by a multiple of that row. Later rounds use the
cuts of earlier ones, too.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from dlsched.proofs.cuts import InvalidCut, row_of
from dlsched.proofs.forms.form import Form, Row
from dlsched.proofs.levels import Aim
from dlsched.proofs.relaxation import INF, Relaxation, Solved
from dlsched.results.proof import Cut
from dlsched.run import Run
from dlsched.solvers.outcome import Vector

_ROUNDS = 25
_STALLED = 5
_STEP = 0.01
"""Rounds end after a number of them in turn in which the bound rises by less than this part of the
first distance to the target."""
_WORTHWHILE = 0.5
"""Cuts are only of use if they close this part of the distance to the target: with fewer of them,
trees were measured to grow as often as to shrink."""
_COLUMNS = 100
"""The most rows of the tableau in a round, those of the most fractional columns."""
_MULTIPLES = (1, -1, 2, -2, 3)
_NEW = 30
"""The most cuts of a round, the most violated."""
_PARALLEL = 0.9
"""Of two cuts of a round, the cosine of the angle is at most this."""
_FRACTIONAL = 1e-4
_VIOLATION = 1e-5
"""The least distance of the point to a new cut."""
_DENOMINATOR = 1000
_COMMON = 2**16
_ROUNDED = 2**14
"""Multipliers are fractions with denominators up to the first, if these have a common one up to the
second; else they are rounded to multiples of one over the third."""
_NONZERO = 1e-9
_ROWS = 500
"""A tableau row that is made of more rows is left out."""
_LARGEST = 10**7
"""A cut with a larger coefficient is left out."""


class _Candidate(NamedTuple):
    """A cut that the point violates, its row, and the row's columns and direction."""

    violation: float
    cut: Cut
    row: Row
    columns: list[int]
    direction: Vector


def separate(form: Form, aim: Aim, run: Run) -> list[Cut]:
    """Return cuts with which the bound of the relaxation is much nearer to the target, or none.

    Every cut may use rows of the aim and the cuts before it.
    """
    lp = Relaxation(form, aim.rows, aim.goal.costs, run)
    rows = list(aim.rows)
    whole = [form.whole(row.coefficients) for row in rows]
    cuts: list[Cut] = []
    stalled = 0
    solved = lp.solve()
    first = best = INF if solved is None else solved.value
    target = float(aim.least)
    closed = target + 1e-9 * max(1.0, abs(target))
    for _ in range(_ROUNDS):
        if solved is None or solved.value > closed or run.stop_reason():
            break
        violated = _violated(form, rows, whole, lp, solved)
        if not violated or stalled == _STALLED:
            break
        for candidate in violated:
            cuts.append(candidate.cut)
            rows.append(candidate.row)
            whole.append(form.whole(candidate.columns))
            lp.add(candidate.row)
        solved = lp.solve()
        value = best if solved is None else solved.value
        rises = value - best >= _STEP * (closed - first)
        stalled = 0 if rises else stalled + 1
        best = max(best, value)
    if not best - first >= _WORTHWHILE * (closed - first):
        return []
    if solved is None or solved.multipliers is None:
        return cuts
    used = np.flatnonzero(solved.multipliers).tolist()
    kept, _ = keep(cuts, len(aim.rows), used)
    return kept


def keep(cuts: Sequence[Cut], before: int, used: Iterable[int]) -> tuple[list[Cut], dict[int, int]]:
    """Return the cuts that some rows need, and the new numbers of their rows by the old ones.

    Parameters
    ----------
    before
        The number of rows before those of the cuts.
    used
        Rows that are needed.
    """
    needed = {i for i in used if i >= before}
    for k in range(len(cuts) - 1, -1, -1):
        if before + k in needed:
            needed.update(i for i in cuts[k].multipliers if i >= before)
    numbers = {old: before + new for new, old in enumerate(sorted(needed))}
    kept = []
    for old in numbers:
        cut = cuts[old - before]
        kept.append(Cut(cut.denominator, renumbered(cut.multipliers, numbers), cut.from_upper))
    return kept, numbers


def renumbered(multipliers: Mapping[int, int], numbers: Mapping[int, int]) -> dict[int, int]:
    """Return multipliers of rows of which some have new numbers."""
    return {numbers.get(i, i): y for i, y in multipliers.items()}


def _violated(
    form: Form, rows: Sequence[Row], whole: Sequence[bool], lp: Relaxation, solved: Solved
) -> list[_Candidate]:
    """Return cuts that a point violates, the most violated first, no two almost parallel."""
    violated: list[_Candidate] = []
    for cut in _candidates(form, rows, whole, lp, solved):
        try:
            row = row_of(form, rows, cut)
        except InvalidCut:
            continue
        entries = np.array([*map(float, row.coefficients.values())])
        if row.high is None or not len(entries) or np.abs(entries).max() > _LARGEST:
            continue
        columns = list(row.coefficients)
        length = float(np.linalg.norm(entries))
        value = float(entries @ solved.x[columns])
        violation = (value - row.high) / length
        if violation > _VIOLATION:
            violated.append(_Candidate(violation, cut, row, columns, entries / length))
    violated.sort(key=lambda candidate: -candidate.violation)
    chosen: list[_Candidate] = []
    directions = np.zeros((_NEW, len(solved.x)))
    for candidate in violated:
        if len(chosen) == _NEW:
            break
        cosines = directions[: len(chosen), candidate.columns] @ candidate.direction
        if not np.any(np.abs(cosines) > _PARALLEL):
            directions[len(chosen), candidate.columns] = candidate.direction
            chosen.append(candidate)
    return chosen


def _candidates(
    form: Form, rows: Sequence[Row], whole: Sequence[bool], lp: Relaxation, solved: Solved
) -> Iterator[Cut]:
    """Yield cuts from the tableau's rows of the columns that are most fractional."""
    integer = np.array(form.integer, dtype=bool)
    off = np.abs(solved.x - np.rint(solved.x)) * integer
    order = np.argsort(-off, kind="stable")[:_COLUMNS]
    high_columns, high_rows = lp.program.at_upper()
    high_columns &= np.array(form.lower) < np.array(form.upper)
    for tableau_row in lp.tableau(int(j) for j in order if off[j] > _FRACTIONAL):
        used = np.flatnonzero(np.abs(tableau_row) > _NONZERO).tolist()
        if len(used) > _ROWS:
            continue
        from_upper = frozenset(j for i in used for j in rows[i].coefficients if high_columns[j])
        exact = {i: Fraction(tableau_row[i]).limit_denominator(_DENOMINATOR) for i in used}
        for times in _MULTIPLES:
            multipliers = {i: times * y for i, y in exact.items()}
            for i, y in multipliers.items():
                if whole[i]:
                    multipliers[i] = _reduced(y, rows[i], bool(high_rows[i]))
            common = math.lcm(*(y.denominator for y in multipliers.values()))
            q = common if common <= _COMMON else _ROUNDED
            rounded = {i: round(y * q) for i, y in multipliers.items()}
            yield Cut(q, {i: y for i, y in rounded.items() if y}, from_upper)


def _reduced(multiplier: Fraction, row: Row, high: bool) -> Fraction:
    """Return the part of a multiplier that matters, with the sign of the side that is tight."""
    part = multiplier - math.floor(multiplier)
    if row.low == row.high:
        return part if 2 * part <= 1 else part - 1
    return part if high or row.low is None else part - 1
