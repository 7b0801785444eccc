"""Maximum-weight matching by a compiled O(n^3) blossom algorithm with a fixed order of search.

Where jobs are of few kinds, there are many heaviest matchings, and which one is found decides what
later rounds can merge. The published figures depend on the order in which the widespread program of
this algorithm searches: all labels start at the heaviest weight; one alternating tree is grown from
every free vertex at once, vertices in their order; what joins the trees is scanned first in, first
out, a blossom's vertices level by level; a label within 1e-5 of zero ends the matching.
"""

from __future__ import annotations

import math
from typing import Any

from dlsched.solvers.compilation import loop
from published.muri.forest import (
    EVEN,
    FREE,
    MARK,
    NODES,
    ODD,
    TAIL,
    VERTICES,
)


@loop
def slack_of(f: Any, u: int, v: int) -> float:
    """Return the slack of the edge between two vertices, where there is none of a weight of 0."""
    doubled = f.doubled[u, v]
    return f.label[u] + f.label[v] - (doubled if doubled > -math.inf else 0.0)  # type: ignore[no-any-return]


@loop
def find_nearest(f: Any, x: int) -> None:
    """Find the nearest even vertex of a node."""
    # Fields are taken out of the state once: in a loop, that would count references.
    outer, side, label, back = f.outer, f.side, f.label, f.back
    start = f.start[x]
    nearest, least = 0, math.inf
    for u in range(1, f.counters[VERTICES] + 1):
        if side[outer[u]] == EVEN and outer[u] != x:
            tight = label[u] + label[start[u]] - back[start[u], u]
            if tight < least:
                nearest, least = u, tight
    f.nearest[x], f.tightest[x] = nearest, least


@loop
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


@loop
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
def choose_vertex(
    petal: int, base: float, label: Any, doubled: Any, chosen: Any, least: Any
) -> None:
    """Choose a petal that is a vertex for the vertices to which its edges are the tightest."""
    for x in range(len(least)):  # without a branch, for several vertices at once
        exists = doubled[x] > -math.inf
        tight = base + label[x] - (doubled[x] if exists else 0.0)
        better = tight < least[x]
        slack = tight if exists else math.inf
        least[x] = slack if better else least[x]
        chosen[x] = petal if better else chosen[x]


@loop
def choose_petal(f: Any, petal: int, chosen: Any, least: Any) -> None:
    """Choose a petal that is a blossom for the vertices to which its edges are the tightest."""
    label, start, doubled = f.label, f.start[petal], f.doubled
    for x in range(1, len(least)):
        u = start[x]
        exists = doubled[u, x] > -math.inf
        tight = label[u] + label[x] - (doubled[u, x] if exists else 0.0)
        if tight < least[x]:
            chosen[x] = u
            least[x] = tight if exists else math.inf


@loop
def find_edges(f: Any, b: int) -> None:
    """Find a blossom's edges to all nodes: to each the tightest of its petals'."""
    start, outer, petals, doubled = f.start, f.outer, f.petals, f.doubled
    n, nodes, size = f.counters[VERTICES], f.counters[NODES], f.size[b]
    chosen, least = f.chosen, f.least
    least[:] = math.inf  # and wherever what is chosen is no edge
    for i in range(size):
        petal = petals[b, i]
        if petal <= n:
            choose_vertex(petal, f.label[petal], f.label, doubled[petal], chosen, least)
        else:
            choose_petal(f, petal, chosen, least)
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


@loop
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
        f.nearest[odd], f.tightest[odd] = 0, math.inf
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
