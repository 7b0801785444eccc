"""Patterns of a server by job, of which a rule allows some; priced and enumerated.

The largest value of jobs from a position on, by free GPUs, CPUs and memory, is computed by dynamic
programming without the rule: an upper bound with it. A depth-first search adds jobs in that order,
prunes by this bound, and asks the rule of every set of jobs that it reaches. As what the rule
allows it allows with fewer jobs, no pattern is missed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dlsched.problems.sensitivity.definition.allow import Allow
from dlsched.problems.sensitivity.definition.schema import Instance
from dlsched.problems.sensitivity.structures.server_patterns import Item, Server

_NO_ROOM = -(2**62)
"""Value of a state in which a part does not fit."""


class Part(NamedTuple):
    """What a job may have on a server.

    All of it (`whole`), or some of its GPUs; `choice` is a position in `instance.undominated`.
    """

    job: int
    choice: int
    gpus: int
    whole: bool


Pattern = tuple[Part, ...]


class Best(NamedTuple):
    """A pattern of the largest value found, and an upper bound on every one."""

    pattern: Pattern
    value: int
    bound: int


class _Node(NamedTuple):
    """The jobs before a position are decided."""

    bound: int
    job: int
    gpus: int
    state: int
    value: int
    chosen: Pattern


class JobPatterns:
    """The parts of jobs, and what one server may hold of them.

    Raises
    ------
    TooManyStates
        If a server's table would be too large.
    """

    def __init__(self, instance: Instance, allow: Allow) -> None:
        self.instance = instance
        self.allow = allow
        self.parts: list[list[Part]] = [list(self._parts(j)) for j in range(len(instance.jobs))]
        item_of = {part: self._item(part) for parts in self.parts for part in parts}
        items = list(dict.fromkeys(item_of.values()))
        server = Server(instance.servers, items)
        rows, columns = server.shape
        self.states = rows * columns
        leads = []
        for cpus, memory in server.after:
            lead = cpus[:, None] * columns + memory[None, :]
            lead[(cpus < 0)[:, None] | (memory < 0)[None, :]] = self.states
            leads.append(lead.ravel().astype(np.intp))
        place = {item: i for i, item in enumerate(items)}
        self.leads = {part: leads[place[item]] for part, item in item_of.items()}
        """The state after a part is added, by the state before it."""
        self.known: dict[frozenset[tuple[str, int]], bool] = {}

    def _parts(self, j: int) -> Sequence[Part]:
        instance = self.instance
        gpus = instance.profile(instance.jobs[j]).gpus
        most = instance.servers.gpus
        parts = []
        for c in range(len(instance.undominated[instance.jobs[j].profile])):
            if gpus <= most:
                parts.append(Part(j, c, gpus, True))
            if gpus > 1 and instance.allow_split:
                fewer = range(1, min(gpus - 1, most) + 1)
                parts += [Part(j, c, count, False) for count in fewer]
        return parts

    def _item(self, part: Part) -> Item:
        job = self.instance.jobs[part.job]
        choice = self.instance.undominated[job.profile][part.choice]
        return Item(part.gpus, choice.cpus, choice.memory)

    def allowed(self, pattern: Pattern) -> bool:
        """Whether the rule allows a pattern."""
        held = {self.instance.jobs[part.job].id: part.gpus for part in pattern}
        key = frozenset(held.items())
        if key not in self.known:
            self.known[key] = self.allow(self.instance, held)
        return self.known[key]

    def tables(self, values: Sequence[Sequence[int]]) -> list[NDArray[np.int64]]:
        """Return for each position the largest value of jobs from there on, GPUs x states.

        Parameters
        ----------
        values
            Of every job's parts. Those of at most 0 are left out.
        """
        gpus = self.instance.servers.gpus
        last = np.zeros((gpus + 1, self.states + 1), dtype=np.int64)
        last[:, -1] = _NO_ROOM
        tables = [last]
        for parts, worth in zip(reversed(self.parts), reversed(values), strict=True):
            after = tables[-1]
            best = after.copy()
            for part, value in zip(parts, worth, strict=True):
                if value > 0 and part.gpus <= gpus:
                    leads = self.leads[part]
                    taken = after[: gpus + 1 - part.gpus, leads] + value
                    np.maximum(best[part.gpus :, :-1], taken, out=best[part.gpus :, :-1])
            tables.append(best)
        return tables[::-1]

    def best(
        self,
        values: Sequence[Sequence[int]],
        tables: Sequence[NDArray[np.int64]],
        nodes: int,
        without: frozenset[int] = frozenset(),
    ) -> Best:
        """Return an allowed pattern of the largest value; the empty one has value 0.

        Parameters
        ----------
        nodes
            The search ends after as many; the bound is then that of what was left.
        without
            Jobs that are left out.
        """
        best = Best((), 0, 0)
        stack = [self._root(tables)]
        while stack:
            node = stack.pop()
            if node.bound <= best.value:
                continue
            nodes -= 1
            if nodes < 0:
                left = max(node.bound, *(other.bound for other in stack), best.value)
                return best._replace(bound=left)
            if node.job == len(self.parts):
                best = Best(node.chosen, node.value, 0)
                continue
            stack += self._children(node, values, tables, best.value, without)
        return best._replace(bound=best.value)

    def above(
        self,
        values: Sequence[Sequence[int]],
        tables: Sequence[NDArray[np.int64]],
        least: int,
        most: int,
        nodes: int,
    ) -> list[Pattern] | None:
        """Return all allowed patterns of at least a value; ``None`` if they are too many."""
        found: list[Pattern] = []
        stack = [self._root(tables)]
        while stack:
            node = stack.pop()
            nodes -= 1
            if nodes < 0 or len(found) > most:
                return None
            if node.job == len(self.parts):
                found.append(node.chosen)
                continue
            stack += self._children(node, values, tables, least - 1, frozenset())
        return found

    def _root(self, tables: Sequence[NDArray[np.int64]]) -> _Node:
        gpus, state = self.instance.servers.gpus, self.states - 1
        return _Node(tables[0].item(gpus, state), 0, gpus, state, 0, ())

    def _children(
        self,
        node: _Node,
        values: Sequence[Sequence[int]],
        tables: Sequence[NDArray[np.int64]],
        limit: int,
        without: frozenset[int],
    ) -> list[_Node]:
        """Return what may follow a node and be above a limit, the most promising last."""
        j, after = node.job, tables[node.job + 1]
        skip = node.value + after.item(node.gpus, node.state)
        children = []
        if skip > limit:
            children.append(node._replace(bound=skip, job=j + 1))
        for part, value in zip(self.parts[j], values[j], strict=True):
            if j in without or part.gpus > node.gpus:
                continue
            state = self.leads[part].item(node.state)
            if state == self.states:
                continue
            gpus = node.gpus - part.gpus
            bound = node.value + value + after.item(gpus, state)
            chosen = (*node.chosen, part)
            if bound > limit and self.allowed(chosen):
                children.append(_Node(bound, j + 1, gpus, state, node.value + value, chosen))
        children.sort(key=lambda child: child.bound)
        return children
