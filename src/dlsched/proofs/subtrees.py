"""A proof's tree whose subtrees are searched independently.

The target of a proof is known, so that a subtree's search needs nothing of the others. The top of
the tree is searched here, the node of the least bound first, until there are `SUBTREES` open nodes.
Each of them is then a task: the form, its aim, what was learned of branching, and the bounds of
the node's columns. What the tasks answer depends on nothing else, so that the tree is the same
wherever they were made. It is checked as a whole, whatever the workers were.
"""

import copy
import heapq
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

from dlsched.proofs.forms.form import Form
from dlsched.proofs.levels import Aim
from dlsched.proofs.search import (
    ColumnBounds,
    PseudoCosts,
    Stopped,
    TooManyNodes,
    TreeSearch,
    Unproved,
)
from dlsched.proofs.tree import InvalidTree, check_tree
from dlsched.results.proof import Leaf, Node, Split
from dlsched.run import Run

SUBTREES = 32
"""Open nodes at which the top ends."""

Spread: TypeAlias = Callable[
    [Callable[[Any, Any], Any], Any, Sequence[Any], Callable[[], object]], list[Any] | None
]
"""What makes independent calls of a function: of what all share, items, and a reason to stop."""
Path: TypeAlias = tuple[ColumnBounds, ...]
"""Bounds of columns from the root to a node."""


class Shared(NamedTuple):
    """What all tasks of a tree have in common."""

    form: Form
    aim: Aim
    pseudo: PseudoCosts
    most: int


def search_subtree(shared: Shared, path: Path) -> list[Node]:
    """Return the nodes of the subtree below a node, in preorder: the task.

    Raises
    ------
    Unproved
        As `TreeSearch.nodes` does.
    """
    search = TreeSearch(shared.form, shared.aim, Run())
    search.pseudo = copy.deepcopy(shared.pseudo)
    for bounds in path:
        search.set_bounds(*bounds)
    return search.nodes(shared.most)


def search_spread(form: Form, aim: Aim, run: Run, most: int, spread: Spread) -> list[Node]:
    """Return the nodes of a proof as `TreeSearch.nodes` does, the subtrees' by independent calls.

    Raises
    ------
    Stopped, Unproved, TooManyNodes
        As `TreeSearch.nodes` does.
    """
    top = _Top(form, aim, run)
    top.grow(SUBTREES)
    shared = Shared(form, aim, top.pseudo, most)
    found = spread(search_subtree, shared, top.open_paths(), run.stop_reason)
    if found is None:
        stop = run.stop_reason()
        raise Stopped(f"{stop.sentence if stop else 'stopped'}, within {len(top.open)} subtrees")
    nodes = list(top.joined(found))
    if len(nodes) > most:
        raise TooManyNodes(f"more than {most:,} nodes")
    try:
        check_tree(form, aim.rows, aim.goal.costs, nodes, aim.least, aim.strict)
    except InvalidTree as error:  # of workers with other code
        raise Unproved(f"the subtrees do not make a proof: {error}") from None
    return nodes


class _Open(NamedTuple):
    """An open node: its bound, its number in the top, and its path; ordered by the first two."""

    value: float
    number: int
    path: Path


class _Top(TreeSearch):
    """The top of a tree; nodes are numbered as they are made, and 0 is the root.

    Attributes
    ----------
    closed
        Leaves, and splits with the numbers of their children, by number.
    open
        The other nodes.
    """

    def __init__(self, form: Form, aim: Aim, run: Run) -> None:
        super().__init__(form, aim, run)
        self.closed: dict[int, Leaf | tuple[Split, int, int]] = {}
        self.open = [_Open(-math.inf, 0, ())]
        self.made = 1
        self.ends = list(self.lower), list(self.upper)

    def grow(self, wanted: int) -> None:
        """Split the open node of the least bound until there are as many as wanted, or none."""
        while self.open and len(self.open) < wanted:
            if stop := self.run.stop_reason():
                raise Stopped(f"{stop.sentence}, after {len(self.closed)} nodes")
            node = heapq.heappop(self.open)
            for column, low, high in node.path:
                self.set_bounds(column, low, high)
            self._close_or_split(node)
            for column in {bounds.column for bounds in node.path}:
                self.set_bounds(column, self.ends[0][column], self.ends[1][column])

    def _close_or_split(self, node: _Open) -> None:
        solved = self.solve_root()
        leaf = self.leaf(solved)
        if leaf is not None:
            self.closed[node.number] = leaf
            return
        split = self.split(solved)
        low, high = self.lower[split.column], self.upper[split.column]
        self.closed[node.number] = split, self.made, self.made + 1
        for ends in ((low, split.at), (split.at + 1, high)):
            path = (*node.path, ColumnBounds(split.column, *ends))
            heapq.heappush(self.open, _Open(solved.value, self.made, path))
            self.made += 1

    def open_paths(self) -> list[Path]:
        """Return the paths of the open nodes, that of the least bound first: the largest tasks."""
        self.open.sort()
        return [node.path for node in self.open]

    def joined(self, subtrees: Sequence[Sequence[Node]]) -> Iterator[Node]:
        """Yield all nodes in preorder, with those of the subtrees of `open_paths`."""
        below = {node.number: nodes for node, nodes in zip(self.open, subtrees, strict=True)}
        stack = [0]
        while stack:
            number = stack.pop()
            if number in below:
                yield from below[number]
                continue
            node = self.closed[number]
            if isinstance(node, Leaf):
                yield node
                continue
            split, down, up = node
            yield split
            stack += [up, down]
