"""Maximum-weight matching by a compiled O(n^3) blossom algorithm with a fixed order of search.

Where jobs are of few kinds, there are many heaviest matchings, and which one is found decides what
later rounds can merge. The published figures depend on the order in which the widespread program of
this algorithm searches: all labels start at the heaviest weight; one alternating tree is grown from
every free vertex at once, vertices in their order; what joins the trees is scanned first in, first
out, a blossom's vertices level by level; a label within 1e-5 of zero ends the matching.

Vertices are 1 to n and blossoms n + 1 and up; 0 is no node. The weight of an edge in one direction
may differ from that in the other by rounding, so each direction has its own.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from dlsched.solvers.compilation import FloatRows, Floats, IntRows, Ints, loop

FREE, EVEN, ODD = -1, 0, 1
"""Outside the trees; at even and at odd distance from a tree's root."""
VERTICES, NODES, MARK, HEAD, TAIL = range(5)
"""Places in `Forest.counters`."""


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
        That edge's slack.
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
    start, stop, weight
        The edge of vertices that stands for that between two nodes; weight 0 if there is none.
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
    petals: IntRows
    size: Ints
    petal_of: IntRows
    start: IntRows
    stop: IntRows
    weight: FloatRows
    queue: Ints
    counters: Ints


@loop
def slack(f: Any, a: int, b: int) -> float:
    """Return the slack of the edge between two nodes."""
    u, v = f.start[a, b], f.stop[a, b]
    result: float = f.label[u] + f.label[v] - f.weight[u, v] * 2.0
    return result


@loop
def find_nearest(f: Any, x: int) -> None:
    """Find the nearest even vertex of a node."""
    f.nearest[x] = 0
    for u in range(1, f.counters[VERTICES] + 1):
        if f.weight[u, x] > 0 and f.outer[u] != x and f.side[f.outer[u]] == EVEN:
            tight = slack(f, u, x)
            if f.nearest[x] == 0 or tight < f.tightest[x]:
                f.nearest[x], f.tightest[x] = u, tight


@loop
def enqueue(f: Any, x: int) -> None:
    """Queue a node's vertices, those of a blossom level by level."""
    n = f.counters[VERTICES]
    waiting = [x]
    at = 0
    while at < len(waiting):
        x = waiting[at]
        at += 1
        if x <= n:
            f.queue[f.counters[TAIL]] = x
            f.counters[TAIL] += 1
        else:
            for i in range(f.size[x]):
                waiting.append(f.petals[x, i])


@loop
def set_outer(f: Any, x: int, b: int) -> None:
    """Let a blossom be the outermost one of a node and of all within it."""
    waiting = [x]
    while len(waiting) > 0:
        x = waiting.pop()
        f.outer[x] = b
        if x > f.counters[VERTICES]:
            for i in range(f.size[x]):
                waiting.append(f.petals[x, i])


@loop
def reverse(f: Any, b: int) -> None:
    """Turn a blossom's cycle around; its base stays first."""
    low, high = 1, f.size[b] - 1
    while low < high:
        f.petals[b, low], f.petals[b, high] = f.petals[b, high], f.petals[b, low]
        low += 1
        high -= 1


@loop
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


@loop
def set_mate(f: Any, u: int, v: int) -> None:
    """Match a node to another; within a blossom, petals are matched anew around its new base."""
    waiting = [(u, v)]
    while len(waiting) > 0:
        u, v = waiting.pop()
        f.mate[u] = f.stop[u, v]
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


@loop
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


@loop
def ancestor(f: Any, u: int, v: int) -> int:
    """Return the nearest common ancestor of two even nodes, 0 if they are in different trees."""
    f.counters[MARK] += 1
    mark = f.counters[MARK]
    while u != 0 or v != 0:
        if u != 0:
            if f.marked[u] == mark:
                return u
            f.marked[u] = mark
            u = f.outer[f.mate[u]]
            if u != 0:
                u = f.outer[f.parent[u]]
        u, v = v, u
    return 0


@loop
def add_branch(f: Any, b: int, x: int, top: int) -> None:
    """Append the nodes from one below the ancestor up to it, to a blossom's cycle."""
    while x != top:
        y = f.outer[f.mate[x]]
        f.petals[b, f.size[b]] = x
        f.petals[b, f.size[b] + 1] = y
        f.size[b] += 2
        enqueue(f, y)
        x = f.outer[f.parent[y]]


@loop
def shrink(f: Any, u: int, top: int, v: int) -> None:
    """Make a blossom of the cycle that an edge between two even nodes closes."""
    n = f.counters[VERTICES]
    b = n + 1
    while b <= f.counters[NODES] and f.outer[b] != 0:
        b += 1
    f.counters[NODES] = max(b, f.counters[NODES])
    nodes = f.counters[NODES]
    f.label[b], f.side[b] = 0.0, EVEN
    f.mate[b] = f.mate[top]
    f.petals[b, 0], f.size[b] = top, 1
    add_branch(f, b, u, top)
    reverse(f, b)
    add_branch(f, b, v, top)
    set_outer(f, b, b)
    for x in range(1, nodes + 1):
        f.weight[b, x] = f.weight[x, b] = 0.0
    f.petal_of[b, :] = 0
    # The edge of a blossom to a node is the tightest of its petals'.
    for i in range(f.size[b]):
        petal = f.petals[b, i]
        for x in range(1, nodes + 1):
            if f.weight[b, x] <= 0 or slack(f, petal, x) < slack(f, b, x):
                f.start[b, x], f.stop[b, x] = f.start[petal, x], f.stop[petal, x]
                f.weight[b, x] = f.weight[petal, x]
                f.start[x, b], f.stop[x, b] = f.start[x, petal], f.stop[x, petal]
                f.weight[x, b] = f.weight[x, petal]
        for x in range(1, n + 1):
            if f.petal_of[petal, x] != 0:
                f.petal_of[b, x] = petal
    find_nearest(f, b)


@loop
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
        f.nearest[odd] = 0
        find_nearest(f, even)
        enqueue(f, even)
    f.side[entered], f.parent[entered] = ODD, f.parent[b]
    for i in range(place + 1, f.size[b]):
        f.side[f.petals[b, i]] = FREE
        find_nearest(f, f.petals[b, i])
    f.outer[b] = 0


@loop
def use(f: Any, a: int, b: int) -> bool:
    """Use a tight edge: grow a tree, close a blossom, or augment, which returns True."""
    start, stop = f.start[a, b], f.stop[a, b]
    u, v = f.outer[start], f.outer[stop]
    if f.side[v] == FREE:
        f.parent[v] = start
        f.side[v] = ODD
        even = f.outer[f.mate[v]]
        f.nearest[v] = f.nearest[even] = 0
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
