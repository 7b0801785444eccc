"""Branch and bound that proves a target, with integer multipliers at every leaf.

The target is the value of a solution that is known, so there is nothing to find: a node is closed
when its relaxation cannot be better. The order of the nodes hardly matters for the size of the
tree, so they are taken depth first, each relaxation from the basis of its parent. Columns to branch
on are chosen by reliability branching (Achterberg, Koch and Martin, "Branching rules revisited",
2005); gains count up to the distance to the target only.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from dlsched.proofs.forms.form import Form
from dlsched.proofs.levels import Aim
from dlsched.proofs.relaxation import Flags, Relaxation, Solved
from dlsched.proofs.tree import proves
from dlsched.results.proof import Leaf, Node, Split
from dlsched.run import Run
from dlsched.solvers.outcome import Vector

BITS = (0, 1, 2, 4, 6, 8, 11, 15, 20, 26, 33, 41, 50, 60)
"""Numbers of bits that are tried, the fewest first."""
_LARGEST_DUAL = 2.0 ** (1023 - BITS[-1])
"""Larger multipliers, which no solver means, are left out: with most bits they are not doubles."""
_LARGEST_RAY = 16
"""A ray is divided by its largest entry; with b bits, that becomes this times two to the b."""
_FRACTIONAL = 1e-6
"""Distance from an integer above which a column counts as fractional."""
_RELIABLE = 4
"""A column's pseudocost of a direction is trusted from this number of gains on."""
_CANDIDATES = 12
"""The most columns that are tried at a node, those of the best scores."""
_WORSE = 6
"""Trials of a node end after this number of columns in turn without a better score."""
_LEAST = 1e-6
"""Gains and distances below this count as this."""


class Stopped(Exception):
    """A limit struck before the tree was complete."""


class Unproved(Exception):
    """The form cannot prove the aim: a node seems to have a better point, or there are too many."""


class TooManyNodes(Unproved):
    """The tree would have more nodes than were allowed."""


@dataclass
class PseudoCosts:
    """Mean gains per unit of fractionality, by column and direction (0 down, 1 up)."""

    total: list[dict[int, float]] = field(default_factory=lambda: [{}, {}])
    count: list[dict[int, int]] = field(default_factory=lambda: [{}, {}])

    def learn(self, direction: int, column: int, gain: float, distance: float) -> None:
        """Record the gain of a child in which the column moved by a distance."""
        total = self.total[direction]
        count = self.count[direction]
        total[column] = total.get(column, 0.0) + gain / max(distance, _LEAST)
        count[column] = count.get(column, 0) + 1

    def reliable(self, column: int) -> bool:
        """Whether both directions of a column are known well enough."""
        return min(count.get(column, 0) for count in self.count) >= _RELIABLE

    def expected(self, direction: int, column: int, distance: float) -> float:
        """Return the gain that is expected, by the mean of all columns if this one is unknown."""
        total = self.total[direction]
        count = self.count[direction]
        if count.get(column):
            return distance * total[column] / count[column]
        gains = sum(total.values())
        return distance * gains / max(1, sum(count.values()))


class _Explore(NamedTuple):
    """A node to solve, from its parent's basis; what its column and its parent were."""

    basis: Any = None
    parent: float = 0.0
    direction: int = 0
    column: int = 0
    distance: float = 1.0


class ColumnBounds(NamedTuple):
    """Bounds that a column gets."""

    column: int
    lower: int
    upper: int


class TreeSearch:
    """One search; `nodes` returns the tree in preorder."""

    def __init__(self, form: Form, aim: Aim, run: Run) -> None:
        self.aim = aim
        self.run = run
        self.first = form.first
        self.lp = Relaxation(form, aim.rows, aim.goal.costs, run)
        self.lower = list(form.lower)
        self.upper = list(form.upper)
        self.integer = np.array(form.integer, dtype=bool)
        self.pseudo = PseudoCosts()
        self.cutoff = float(aim.least)
        self.slack = 1e-9 * max(1.0, abs(self.cutoff))

    def nodes(self, most: int) -> list[Node]:
        """Return the nodes of a proof.

        Raises
        ------
        Stopped
            If a limit of the run strikes.
        Unproved
            If a node can neither be closed nor split.
        TooManyNodes
            If there are more than `most`.
        """
        tree: list[Node] = []
        # What to do, the last first: explore a node, or set a column's bounds.
        stack: list[_Explore | ColumnBounds] = [_Explore()]
        while stack:
            entry = stack.pop()
            if isinstance(entry, ColumnBounds):
                self.set_bounds(*entry)
                continue
            stop = self.run.stop_reason()
            if stop:
                raise Stopped(f"{stop.sentence}, after {len(tree)} nodes")
            if len(tree) > most:
                raise TooManyNodes(f"more than {most:,} nodes")
            solved = self._solve(entry)
            leaf = self.leaf(solved)
            if leaf is not None:
                tree.append(leaf)
                continue
            split = self.split(solved)
            tree.append(split)
            column = split.column
            low = self.lower[column]
            high = self.upper[column]
            basis = self.lp.program.basis
            down = float(solved.x[column]) - split.at
            stack += [
                ColumnBounds(column, low, high),
                _Explore(basis, solved.value, 1, column, 1 - down),
                ColumnBounds(column, split.at + 1, high),
                _Explore(basis, solved.value, 0, column, down),
                ColumnBounds(column, low, split.at),
            ]
        return tree

    def split(self, solved: Solved) -> Split:
        """Return how to split the present node.

        Raises
        ------
        Unproved
            If no column can be split.
        """
        column = None if math.isinf(solved.value) else self._choose(solved)
        if column is None:
            raise Unproved("a point of the form seems to be better than the target")
        value = math.floor(float(solved.x[column]))
        return Split(column, min(max(value, self.lower[column]), self.upper[column] - 1))

    def solve_root(self) -> Solved:
        """Return the relaxation of the present node, from whatever basis there is."""
        return self._solve(_Explore())

    def _solve(self, node: _Explore) -> Solved:
        """Return the relaxation of a node, from the basis of its parent."""
        if node.basis is not None:
            self.lp.program.restore(node.basis)
        solved = self.lp.solve()
        if solved is None:
            if stop := self.run.stop_reason():
                raise Stopped(f"{stop.sentence}, within a relaxation")
            raise Unproved("the solver could not solve a relaxation")
        if node.basis is not None:
            gain = self._gain(node.parent, solved.value)
            self.pseudo.learn(node.direction, node.column, gain, node.distance)
        return solved

    def set_bounds(self, column: int, lower: int, upper: int) -> None:
        """Set the bounds of a column."""
        self.lower[column] = lower
        self.upper[column] = upper
        self.lp.program.set_bounds(column, lower, upper)

    def leaf(self, solved: Solved) -> Leaf | None:
        """Return the leaf that a relaxation makes here; None if it proves too little."""
        empty = math.isinf(solved.value)
        if solved.multipliers is None or not (empty or solved.value > self.cutoff - self.slack):
            return None
        return leaf_of(self.aim, solved.multipliers, empty, self.lower, self.upper)

    def _gain(self, parent: float, child: float) -> float:
        """Return what a child gains, at most the distance to the target."""
        distance = max(self.cutoff - parent, _LEAST)
        return min(max(child - parent, 0.0), distance)

    def _choose(self, solved: Solved) -> int | None:
        """Return the column to branch on; None if there is no fractional one."""
        x = solved.x
        off = np.abs(x - np.rint(x))
        fractional = self._unfixed(self.integer & (off > _FRACTIONAL))
        if not fractional:
            return next(iter(self._unfixed(self.integer)), None)

        def score(j: int) -> float:
            down = x[j] - math.floor(x[j])
            gain_down = self.pseudo.expected(0, j, down)
            gain_up = self.pseudo.expected(1, j, 1 - down)
            return _score(gain_down, gain_up) + 1e-9 * float(off[j])

        candidates = [j for j in fractional if j in self.first] or fractional
        ordered = sorted(candidates, key=score, reverse=True)
        best = ordered[0]
        most = -1.0
        worse = 0
        basis = self.lp.program.basis
        for j in ordered[:_CANDIDATES]:
            value = score(j) if self.pseudo.reliable(j) else self._try(j, solved, basis)
            if value > most:
                best = j
                most = value
                worse = 0
            else:
                worse += 1
                if worse >= _WORSE:
                    break
        self.lp.program.restore(basis)
        return best

    def _unfixed(self, columns: Flags) -> list[int]:
        """Return those of some columns whose bounds differ."""
        return [int(j) for j in np.flatnonzero(columns) if self.lower[j] < self.upper[j]]

    def _try(self, column: int, solved: Solved, basis: Any) -> float:
        """Return the score of a column by solving both children."""
        low = self.lower[column]
        high = self.upper[column]
        at = math.floor(solved.x[column])
        down = solved.x[column] - at
        gains = []
        for direction, ends, distance in ((0, (low, at), down), (1, (at + 1, high), 1 - down)):
            self.lp.program.restore(basis)
            self.lp.program.set_bounds(column, *ends)
            child = self.lp.solve()
            gain = self._gain(solved.value, solved.value if child is None else child.value)
            self.pseudo.learn(direction, column, gain, distance)
            gains.append(gain)
        self.lp.program.set_bounds(column, low, high)
        return _score(*gains)


def _score(down: float, up: float) -> float:
    return max(down, _LEAST) * max(up, _LEAST)


def leaf_of(
    aim: Aim, multipliers: Vector, empty: bool, lower: Sequence[int], upper: Sequence[int]
) -> Leaf | None:
    """Return a leaf that proves the aim, with the fewest bits tried; None if none does.

    Parameters
    ----------
    multipliers
        The duals of the relaxation of the node, or, if it is `empty`, a ray.
    """
    used = np.flatnonzero((np.abs(multipliers) < _LARGEST_DUAL) & (multipliers != 0))
    y = multipliers[used]
    if empty and len(used):
        y = y * (_LARGEST_RAY / np.abs(y).max())
    for bits in BITS:
        chosen: dict[int, int] = {}
        for i, v in zip(used.tolist(), y.tolist(), strict=True):
            rounded = round(math.ldexp(v, bits))  # a power of two times a double is exact
            row = aim.rows[i]
            side = row.low if rounded > 0 else row.high
            if rounded and side is not None:
                chosen[i] = rounded
        leaf = Leaf(bits, chosen, empty)
        if proves(aim.rows, aim.goal.costs, leaf, lower, upper, aim.least, aim.strict):
            return leaf
    return None
