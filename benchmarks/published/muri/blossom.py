"""Maximum-weight matching by an O(n^3) blossom algorithm with a fixed order of search.

Where jobs are of few kinds, there are many heaviest matchings, and which one is found decides what
later rounds can merge. The published figures depend on the order in which the widespread program of
this algorithm searches: all labels start at the heaviest weight; one alternating tree is grown from
every free vertex at once, vertices in their order; what joins the trees is scanned first in, first
out, a blossom's vertices level by level; a label within 1e-5 of zero ends the matching.

Vertices are 1 to n and blossoms n + 1 and up; 0 is no node. The weight of an edge in one direction
may differ from that in the other by rounding, so each direction has its own.

All of it is in one file: numba renews what it has cached of `run_stages` only if this file changes.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Shorts = NDArray[np.uint16]

FREE, EVEN, ODD = -1, 0, 1
"""Outside the trees; at even and at odd distance from a tree's root."""
VERTICES, NODES, MARK, HEAD, TAIL = range(5)
"""Places in `Forest.counters`."""
_NEARLY = 1e-5
"""A label within this share of the step counts as used up by it."""


class Forest(NamedTuple):
    """The state of the search; arrays are indexed by node.

    Attributes
    ----------
    mate
        Vertex to which a node is matched, 0 if none.
    outer
        The outermost blossom that a node is in, itself if none, 0 if the blossom is not in use.
    side
        `FREE`, `EVEN` or `ODD`, of outermost nodes.
    nearest
        The even vertex with the tightest edge to an outermost node, 0 if none.
    tightest
        That edge's slack, infinite if there is none.
    parent
        Vertex from which an odd node was reached.
    marked
        Number of the last search for a common ancestor that passed a node.
    label
        The dual variables.
    petals, size
        The nodes of each blossom's odd cycle, from its base, and their number.
    petal_of
        The petal of a blossom in which a vertex is, 0 if it is not in it.
    start
        The edge of vertices that stands for that between two nodes: from which vertex of the first
        node it starts. It ends where that from the second node starts. Of nodes within each other
        it says nothing.
    doubled
        Twice the weights of the vertices' edges, minus infinity where there is none.
    waiting
        Nodes whose petals are still to be visited.
    chosen, least
        Where a new blossom's tightest edge to each vertex starts, and its slack, infinite where
        there is no edge.
    queue
        Vertices to scan.
    counters
        Vertices, nodes in use, number of the search for an ancestor, ends of the queue.
    """

    mate: Ints
    outer: Ints
    side: Ints
    nearest: Ints
    tightest: Floats
    parent: Ints
    marked: Ints
    label: Floats
    petals: Shorts
    size: Ints
    petal_of: Shorts
    start: Shorts
    doubled: Floats
    waiting: Ints
    chosen: Ints
    least: Floats
    queue: Ints
    counters: Ints


@njit
def slack_of(f: Any, u: int, v: int) -> float:
    """Return the slack of the edge between two vertices, where there is none of a weight of 0."""
    doubled = f.doubled[u, v]
    return f.label[u] + f.label[v] - (doubled if doubled > -math.inf else 0.0)


@njit
def find_nearest(f: Any, x: int) -> None:
    """Find the nearest even vertex of a node."""
    # Fields are taken out of the state once: in a loop, that would count references.
    outer, side, label, doubled = f.outer, f.side, f.label, f.doubled
    start = f.start[x]
    nearest, least = 0, math.inf
    for u in range(1, f.counters[VERTICES] + 1):
        if side[outer[u]] == EVEN and outer[u] != x:
            tight = label[u] + label[start[u]] - doubled[u, start[u]]
            if tight < least:
                nearest, least = u, tight
    f.nearest[x], f.tightest[x] = nearest, least


@njit
def enqueue(f: Any, x: int) -> None:
    """Queue a node's vertices, those of a blossom level by level."""
    n = f.counters[VERTICES]
    waiting = f.waiting
    waiting[0] = x
    next_one, last = 0, 1
    while next_one < last:
        x = waiting[next_one]
        next_one += 1
        if x <= n:
            f.queue[f.counters[TAIL]] = x
            f.counters[TAIL] += 1
        else:
            for i in range(f.size[x]):
                waiting[last] = f.petals[x, i]
                last += 1


@njit
def set_outer(f: Any, x: int, b: int) -> None:
    """Let a blossom be the outermost one of a node and of all within it."""
    n, waiting = f.counters[VERTICES], f.waiting
    waiting[0] = x
    count = 1
    while count > 0:
        count -= 1
        x = waiting[count]
        f.outer[x] = b
        if x > n:
            for i in range(f.size[x]):
                waiting[count] = f.petals[x, i]
                count += 1


@njit
def reverse(f: Any, b: int) -> None:
    """Turn a blossom's cycle around; its base stays first."""
    low, high = 1, f.size[b] - 1
    while low < high:
        f.petals[b, low], f.petals[b, high] = f.petals[b, high], f.petals[b, low]
        low += 1
        high -= 1


@njit
def even_place(f: Any, b: int, petal: int) -> int:
    """Return a petal's place in its cycle, turned around so that the place is even."""
    place = 0
    while f.petals[b, place] != petal:
        place += 1
    if place % 2 == 0:
        return place
    reverse(f, b)
    turned: int = f.size[b] - place
    return turned


@njit
def set_mate(f: Any, u: int, v: int) -> None:
    """Match a node to another; within a blossom, petals are matched anew around its new base."""
    waiting = [(u, v)]
    while len(waiting) > 0:
        u, v = waiting.pop()
        f.mate[u] = f.start[v, u]
        if u <= f.counters[VERTICES]:
            continue
        base = f.petal_of[u, f.start[u, v]]
        place = even_place(f, u, base)
        for i in range(place):
            waiting.append((f.petals[u, i], f.petals[u, i ^ 1]))
        waiting.append((base, v))
        cycle = f.petals[u, : f.size[u]].copy()
        for i in range(len(cycle)):
            f.petals[u, i] = cycle[(i + place) % len(cycle)]


@njit
def augment(f: Any, u: int, v: int) -> None:
    """Exchange matched and unmatched edges from a node up to its tree's root."""
    while True:
        up = f.outer[f.mate[u]]
        set_mate(f, u, v)
        if up == 0:
            return
        above = f.outer[f.parent[up]]
        set_mate(f, up, above)
        u, v = above, up


@njit
def ancestor(f: Any, u: int, v: int) -> int:
    """Return the nearest common ancestor of two even nodes, 0 if they are in different trees."""
    outer, mate, parent, marked = f.outer, f.mate, f.parent, f.marked
    f.counters[MARK] += 1
    mark = f.counters[MARK]
    while u != 0 or v != 0:
        if u != 0:
            if marked[u] == mark:
                return u
            marked[u] = mark
            u = outer[mate[u]]
            if u != 0:
                u = outer[parent[u]]
        u, v = v, u
    return 0


@njit
def add_branch(f: Any, b: int, x: int, top: int) -> None:
    """Append the nodes from one below the ancestor up to it, to a blossom's cycle."""
    while x != top:
        y = f.outer[f.mate[x]]
        f.petals[b, f.size[b]] = x
        f.petals[b, f.size[b] + 1] = y
        f.size[b] += 2
        enqueue(f, y)
        x = f.outer[f.parent[y]]


@njit
def choose_petal(f: Any, petal: int, chosen: Any, least: Any) -> None:
    """Choose a petal for the vertices to which its edges are the tightest."""
    label, start, doubled = f.label, f.start[petal], f.doubled
    for x in range(1, len(least)):
        u = start[x]
        exists = doubled[u, x] > -math.inf
        tight = label[u] + label[x] - (doubled[u, x] if exists else 0.0)
        if tight < least[x]:
            chosen[x] = u
            least[x] = tight if exists else math.inf


@njit
def find_edges(f: Any, b: int) -> None:
    """Find a blossom's edges to all nodes: to each the tightest of its petals'."""
    start, outer, petals, doubled = f.start, f.outer, f.petals, f.doubled
    n, nodes, size = f.counters[VERTICES], f.counters[NODES], f.size[b]
    chosen, least = f.chosen, f.least
    least[:] = math.inf  # and wherever what is chosen is no edge
    for i in range(size):
        choose_petal(f, petals[b, i], chosen, least)
    for x in range(1, n + 1):
        start[b, x] = chosen[x]
    for x in range(n + 1, nodes + 1):
        if outer[x] == 0 or outer[x] == b:  # not in use, or within
            continue
        best, tightest = 0, math.inf
        for i in range(size):
            petal = petals[b, i]
            u, v = start[petal, x], start[x, petal]
            tight = slack_of(f, u, v)
            if tight < tightest:
                best, tightest = petal, tight if doubled[u, v] > -math.inf else math.inf
        start[b, x], start[x, b] = start[best, x], start[x, best]


@njit
def shrink(f: Any, u: int, top: int, v: int) -> None:
    """Make a blossom of the cycle that an edge between two even nodes closes."""
    n = f.counters[VERTICES]
    b = n + 1
    while b <= f.counters[NODES] and f.outer[b] != 0:
        b += 1
    f.counters[NODES] = max(b, f.counters[NODES])
    f.label[b], f.side[b] = 0.0, EVEN
    f.mate[b] = f.mate[top]
    f.petals[b, 0], f.size[b] = top, 1
    add_branch(f, b, u, top)
    reverse(f, b)
    add_branch(f, b, v, top)
    set_outer(f, b, b)
    petal_of = f.petal_of
    petal_of[b, :] = 0
    for i in range(f.size[b]):
        petal = f.petals[b, i]
        if petal <= n:
            petal_of[b, petal] = petal
            continue
        for x in range(1, n + 1):
            if petal_of[petal, x] != 0:
                petal_of[b, x] = petal
    find_edges(f, b)
    find_nearest(f, b)


@njit
def expand(f: Any, b: int) -> None:
    """Replace an odd blossom whose label is used up by its petals."""
    for i in range(f.size[b]):
        set_outer(f, f.petals[b, i], f.petals[b, i])
    entered = f.petal_of[b, f.start[b, f.parent[b]]]
    place = even_place(f, b, entered)
    for i in range(0, place, 2):
        odd, even = f.petals[b, i], f.petals[b, i + 1]
        f.parent[odd] = f.start[even, odd]
        f.side[odd], f.side[even] = ODD, EVEN
        f.nearest[odd], f.tightest[odd] = 0, math.inf
        find_nearest(f, even)
        enqueue(f, even)
    f.side[entered], f.parent[entered] = ODD, f.parent[b]
    for i in range(place + 1, f.size[b]):
        f.side[f.petals[b, i]] = FREE
        find_nearest(f, f.petals[b, i])
    f.outer[b] = 0


@njit
def use(f: Any, a: int, b: int) -> bool:
    """Use a tight edge: grow a tree, close a blossom, or augment, which returns True."""
    start = f.start[a, b]
    u, v = f.outer[start], f.outer[f.start[b, a]]
    if f.side[v] == FREE:
        f.parent[v] = start
        f.side[v] = ODD
        even = f.outer[f.mate[v]]
        f.nearest[v] = f.nearest[even] = 0
        f.tightest[v] = f.tightest[even] = math.inf
        f.side[even] = EVEN
        enqueue(f, even)
    elif f.side[v] == EVEN:
        top = ancestor(f, u, v)
        if top == 0:
            augment(f, u, v)
            augment(f, v, u)
            return True
        shrink(f, u, top, v)
    return False


# The scan: even vertices in the queue's order, and their edges.


@njit
def scan(f: Any) -> bool:
    """Scan the queue's vertices and use their tight edges; return whether one augments."""
    # Most of the time is spent here.
    outer, side, label = f.outer, f.side, f.label
    nearest, tightest = f.nearest, f.tightest
    counters = f.counters
    while counters[HEAD] < counters[TAIL]:
        u = f.queue[counters[HEAD]]
        counters[HEAD] += 1
        if side[outer[u]] == ODD:
            continue
        doubled, start = f.doubled[u], f.start
        for v in range(1, counters[VERTICES] + 1):
            tight = label[u] + label[v] - doubled[v]
            if tight == math.inf or outer[u] == outer[v]:
                continue
            x = outer[v]
            if tight <= 0:
                if use(f, u, v):
                    return True
                continue
            if x != v:
                tight = slack_of(f, u, start[x, u])
            if tight < tightest[x]:
                nearest[x], tightest[x] = u, tight
    return False


# The stages: each ends with one more matched pair, or the matching.


@njit
def step(f: Any) -> float:
    """Return by how much labels can change before an edge becomes tight or a blossom opens."""
    outer, side, label = f.outer, f.side, f.label
    nearest, tightest = f.nearest, f.tightest
    n, nodes = f.counters[VERTICES], f.counters[NODES]
    least = math.inf
    for b in range(n + 1, nodes + 1):
        if outer[b] == b and side[b] == ODD:
            least = min(least, label[b] / 2.0)
    for x in range(1, nodes + 1):
        if outer[x] == x and nearest[x] != 0:
            if side[x] == FREE:
                least = min(least, tightest[x])
            elif side[x] == EVEN:
                least = min(least, tightest[x] / 2.0)
    return least


@njit
def relabel(f: Any, amount: float) -> bool:
    """Change the labels; return False once an even vertex's label is used up: the matching ends."""
    outer, side, label = f.outer, f.side, f.label
    nearest, tightest = f.nearest, f.tightest
    n, nodes = f.counters[VERTICES], f.counters[NODES]
    for u in range(1, n + 1):
        where = side[outer[u]]
        if where == EVEN:
            if label[u] <= amount or label[u] - amount <= _NEARLY * label[u]:
                return False
            label[u] -= amount
        elif where == ODD:
            label[u] += amount
    for b in range(n + 1, nodes + 1):
        if outer[b] == b:
            if side[b] == EVEN:
                label[b] += amount * 2
            elif side[b] == ODD:
                label[b] -= amount * 2
    for x in range(1, nodes + 1):
        u = nearest[x]
        if u != 0 and outer[x] == x:
            tightest[x] = slack_of(f, u, f.start[x, u])
    return True


@njit
def use_nearest(f: Any) -> bool:
    """Use the edges that the labels have made tight, open blossoms; return as `use` does."""
    outer, side, label = f.outer, f.side, f.label
    nearest, tightest = f.nearest, f.tightest
    n = f.counters[VERTICES]
    for x in range(1, f.counters[NODES] + 1):  # without the blossoms that are made meanwhile
        near = nearest[x]
        tight = near != 0 and tightest[x] <= 0 and outer[near] != x
        if tight and outer[x] == x and use(f, near, x):
            return True
    for b in range(n + 1, f.counters[NODES] + 1):
        if outer[b] == b and side[b] == ODD and label[b] <= 0:
            expand(f, b)
    return False


@njit
def stage(f: Any) -> bool:
    """Grow trees from all free vertices until an edge is added; return False if none can be."""
    outer, side, mate, parent = f.outer, f.side, f.mate, f.parent
    counters = f.counters
    nodes = counters[NODES]
    side[: nodes + 1] = FREE
    f.nearest[: nodes + 1] = 0
    f.tightest[: nodes + 1] = math.inf
    counters[HEAD] = counters[TAIL] = 0
    for x in range(1, nodes + 1):
        if outer[x] == x and mate[x] == 0:
            parent[x] = 0
            side[x] = EVEN
            enqueue(f, x)
    if counters[TAIL] == 0:
        return False
    while True:
        if scan(f):
            return True
        if not relabel(f, step(f)):
            return False
        counters[HEAD] = counters[TAIL] = 0
        if use_nearest(f):
            return True


@njit(cache=True)
def run_stages(f: Any) -> bool:
    """Match until no stage adds an edge; return whether any did."""
    any_added = False
    while stage(f):
        any_added = True
    return any_added


def heaviest(weights: Any) -> list[int]:
    """Return each vertex's mate in the matching that the fixed order of search finds.

    Parameters
    ----------
    weights
        n x n; the weight of an edge as seen from each of its vertices; 0 where there is no edge.

    Returns
    -------
    list
        Positions, -1 for a vertex without mate.
    """
    n = len(weights)
    doubled = np.full((n + 1, n + 1), -math.inf)
    doubled[1:, 1:] = np.where(weights > 0, weights * 2.0, -math.inf)
    nodes = n + n // 2 + 2  # blossoms that exist at once, and their slots, are at most n / 2
    f = Forest(
        mate=np.zeros(nodes, dtype=np.int64),
        outer=np.zeros(nodes, dtype=np.int64),
        side=np.full(nodes, FREE),
        nearest=np.zeros(nodes, dtype=np.int64),
        tightest=np.zeros(nodes),
        parent=np.zeros(nodes, dtype=np.int64),
        marked=np.zeros(nodes, dtype=np.int64),
        label=np.zeros(nodes),
        petals=np.zeros((nodes, n + 2), dtype=np.uint16),
        size=np.zeros(nodes, dtype=np.int64),
        petal_of=np.zeros((nodes, n + 1), dtype=np.uint16),
        start=np.zeros((nodes, nodes), dtype=np.uint16),
        doubled=doubled,
        waiting=np.zeros(nodes, dtype=np.int64),
        chosen=np.zeros(n + 1, dtype=np.int64),
        least=np.zeros(n + 1),
        queue=np.zeros(2 * n + 2, dtype=np.int64),
        counters=np.array([n, n, 0, 0, 0]),
    )
    vertices = np.arange(n + 1)
    f.outer[: n + 1] = vertices
    f.label[: n + 1] = weights.max(initial=0.0)
    f.petal_of[vertices, vertices] = vertices
    f.start[: n + 1] = vertices[:, None]
    if weights.any():
        run_stages(f)
    mates: list[int] = (f.mate[1 : n + 1] - 1).tolist()
    return mates
