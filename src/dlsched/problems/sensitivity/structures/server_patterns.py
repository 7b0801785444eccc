"""Patterns of one server: the knapsack with three resources that prices them.

An item is one GPU of a job with a choice, or a whole job that stays on one server. Items do not
depend on profiles: jobs with equal amounts per GPU share a kind of item, so that a few dozen kinds
describe any number of jobs. A pattern is the number of items of each kind on one server.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from operator import sub
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dlsched.errors import OptionError
from dlsched.problems.sensitivity.definition.schema import Servers
from dlsched.problems.sensitivity.structures.free_resources import LARGEST
from dlsched.run import Run
from dlsched.schema import Number, granularity

Table: TypeAlias = NDArray[np.int64]
Pattern: TypeAlias = tuple[int, ...]
State: TypeAlias = tuple[int, int, int]
"""Index of a table: remaining GPUs, sum of CPUs, sum of memory."""


@dataclass(frozen=True)
class Sizes:
    """Limits, chosen by hand; entries of a table are GPUs x sums of CPUs x sums of memory."""

    most: int = 2_000_000
    """Upper limit of the entries."""
    kept: int = 4_000_000
    """Up to this many the transitions of a table are kept from one to the next."""
    steps_per_pattern: int = 20
    """Of an enumeration, on average."""
    steps_per_check: int = 256
    """Between two checks of the time limit."""


SIZES = Sizes()
_NO_ROOM = -LARGEST
"""Value of a state in which an item does not fit."""


class _LimitStruck(Exception):
    """Ends an enumeration."""


class TooManyStates(OptionError):
    """Raised if the table of one server would be too large."""


class Item(NamedTuple):
    """GPUs that stay together, and the CPUs and memory of each of them."""

    gpus: int
    cpus: Number
    memory: Number


class Floor(NamedTuple):
    """Values of items, their `Server.table`, and the least value of a pattern."""

    values: Sequence[int]
    table: Table
    least: int


class Server:
    """The knapsack of one server: the largest value by GPUs, CPUs and memory, in integers."""

    def __init__(self, servers: Servers, items: Sequence[Item]) -> None:
        self.items = tuple(items)
        self.gpus = servers.gpus
        cpus = self._reach(servers.cpus, [i.gpus * i.cpus for i in items])
        memory = self._reach(servers.memory, [i.gpus * i.memory for i in items])
        states = (self.gpus + 1) * len(cpus[0]) * len(memory[0])
        _validate_states(states)
        self.shape = (len(cpus[0]), len(memory[0]))
        self.after = list(zip(cpus[1], memory[1], strict=True))
        self.steps = [  # the same as lists, of which single entries are read faster
            (item.gpus, cpu.tolist(), memory.tolist())
            for item, (cpu, memory) in zip(self.items, self.after, strict=True)
        ]
        self.kept: dict[int, Table] = {}

    def _reach(self, capacity: Number, sizes: Sequence[Number]) -> tuple[list[int], list[Table]]:
        """Return the sums that items can make, and the transitions between them.

        An item's array has for each sum, as a remaining capacity, the index of the largest sum
        that still fits after the item is added; -1 if the item does not fit.
        """
        unit = granularity([capacity, *sizes])
        whole = [int(Fraction(s) / unit) for s in sizes]
        limit = int(Fraction(capacity) / unit)
        sums = {0}
        edge = {0}
        for _ in range(self.gpus):
            known = len(sums)
            larger: set[int] = set()
            for size in set(whole):
                larger |= {a + size for a in edge if a + size <= limit}
                _validate_states((self.gpus + 1) * max(len(larger), known))
            edge = larger - sums
            sums |= edge
        reachable = sorted(sums)
        array = np.array(reachable, dtype=np.int64 if limit < LARGEST else object)
        most = reachable[-1] + 1  # no larger size fits
        leads = [np.searchsorted(array, array - min(s, most), side="right") - 1 for s in whole]
        return reachable, leads

    def full(self, i: int) -> Pattern:
        """Return the pattern with as many items of one kind as fit on a server."""
        counts = [0] * len(self.items)
        state = self.take(self.whole(), i)
        while state is not None:
            counts[i] += 1
            state = self.take(state, i)
        return tuple(counts)

    def whole(self) -> State:
        """Return the table's index of an empty server."""
        return self.gpus, self.shape[0] - 1, self.shape[1] - 1

    def table(self, values: Sequence[int]) -> Table:
        """Return the largest value of items by remaining GPUs, CPUs and memory.

        ``table[g, c, m]`` is over items that take at most g GPUs, the c-th sum of CPUs and the
        m-th of memory; by dynamic programming over the GPUs, exact in 64-bit integers.
        `ValueError` if the values are too large for that.
        """
        if max(values, default=0) * (self.gpus + 1) >= LARGEST:
            raise ValueError("prices of items are too high for integers of 64 bits")
        rows, columns = self.shape
        best = np.zeros((self.gpus + 1, rows * columns + 1), dtype=np.int64)
        best[:, -1] = _NO_ROOM
        priced = [i for i, value in enumerate(values) if value > 0]
        for g in range(1, self.gpus + 1):
            now = best[g, :-1]
            now[:] = best[g - 1, :-1]
            for i in priced:
                before = g - self.items[i].gpus
                if before >= 0:
                    np.maximum(now, best[before][self.lead(i)] + values[i], out=now)
        return best[:, :-1].reshape(self.gpus + 1, rows, columns)

    def lead(self, i: int) -> Table:
        """Return the state after an item for each state; the last one is "no room"."""
        lead = self.kept.get(i)
        if lead is None:
            rows, columns = self.shape
            cpu, memory = self.after[i]
            table = cpu[:, None] * columns + memory[None, :]
            table[cpu < 0, :] = table[:, memory < 0] = rows * columns
            lead = table.ravel()
            if len(self.items) * len(lead) <= SIZES.kept:
                self.kept[i] = lead
        return lead

    def pattern(
        self, table: Table, values: Sequence[int], first: int | None = None
    ) -> Pattern | None:
        """Return a pattern of largest value, or with `first` the best that contains this item.

        ``None`` if that item alone does not fit.
        """
        counts = [0] * len(self.items)
        state = self.whole()
        if first is not None:
            moved = self.take(state, first)
            if moved is None:
                return None
            counts[first] = 1
            state = moved
        priced = [(i, value) for i, value in enumerate(values) if value > 0]
        while (best := table.item(state)) > 0:
            for i, value in priced:
                moved = self.take(state, i)
                if moved is not None and table.item(moved) + value == best:
                    counts[i] += 1
                    state = moved
                    break
            else:
                state = (state[0] - 1, state[1], state[2])
        return tuple(counts)

    def take(self, state: State, i: int) -> State | None:
        """Return the state after an item is added; ``None`` if it does not fit."""
        gpus, cpu, memory = self.steps[i]
        g = state[0] - gpus
        c = cpu[state[1]]
        m = memory[state[2]]
        return None if g < 0 or c < 0 or m < 0 else (g, c, m)


def maximal(
    server: Server,
    most: int,
    floors: Sequence[Floor] = (),
    run: Run | None = None,
) -> list[Pattern] | None:
    """Return every maximal pattern, to which no item can be added; ``None`` if a limit struck.

    With `floors` only patterns whose values are at least these. From the upper limit of the
    patterns, `most`, that of the steps follows; the enumeration stops when the run does, too.
    """
    patterns: list[Pattern] = []
    counts = [0] * len(server.items)
    tables = [floor.table for floor in floors]
    prices = list(zip(*(floor.values for floor in floors), strict=True)) or [()] * len(counts)
    steps = SIZES.steps_per_pattern * most

    def extend(first: int, state: State, missing: tuple[int, ...]) -> None:
        """Add items from the first on; `missing` is what the values lack of the floors."""
        nonlocal steps
        if any(table[state] < lack for table, lack in zip(tables, missing, strict=True)):
            return
        steps -= 1
        if steps < 0 or len(patterns) > most:
            raise _LimitStruck
        if run is not None and steps % SIZES.steps_per_check == 0 and run.stop_reason():
            raise _LimitStruck
        moves = {i: server.take(state, i) for i in range(len(counts))}
        fitting = {i: moved for i, moved in moves.items() if moved is not None}
        if not fitting:
            patterns.append(tuple(counts))
        for i, moved in fitting.items():
            if i >= first:
                counts[i] += 1
                extend(i, moved, tuple(map(sub, missing, prices[i])))
                counts[i] -= 1

    try:
        extend(0, server.whole(), tuple(floor.least for floor in floors))
    except (_LimitStruck, RecursionError):  # the latter of servers with a thousand GPUs
        return None
    return patterns


def _validate_states(states: int) -> None:
    if states > SIZES.most:
        raise TooManyStates(
            f"a server's table would have {states} entries or more, the most is "
            f"{SIZES.most}; round the axes to a coarser granularity, or use milp"
        )
