"""Enumeration of the maximal patterns of one server."""

from __future__ import annotations

from collections.abc import Sequence
from operator import sub

from dlsched.problems.sensitivity.structures.server_patterns import Floor, Pattern, Server, State
from dlsched.run import Run


def maximal(
    server: Server,
    most: int,
    floors: Sequence[Floor] = (),
    run: Run | None = None,
) -> list[Pattern] | None:
    """Return every maximal pattern, to which no item can be added.

    Parameters
    ----------
    most
        Upper limit of the patterns; twenty times as many steps are made at most.
    floors
        Return only patterns whose values are at least these.
    run
        The enumeration stops when the run does.

    Returns
    -------
    list of tuple
        ``None`` if a limit struck.
    """
    patterns: list[Pattern] = []
    counts = [0] * len(server.items)
    tables = [floor.table for floor in floors]
    prices = list(zip(*(floor.values for floor in floors), strict=True)) or [()] * len(counts)
    budget = 20 * most

    def extend(first: int, state: State, missing: tuple[int, ...]) -> bool:
        """Add items from the first on; `missing` is what the values lack of the floors."""
        nonlocal budget
        if any(table[state] < lack for table, lack in zip(tables, missing, strict=True)):
            return True
        budget -= 1
        if budget < 0 or len(patterns) > most:
            return False
        if run is not None and budget % 256 == 0 and run.stop_reason():
            return False
        moves = [server.take(state, i) for i in range(len(server.items))]
        if not any(moves):
            patterns.append(tuple(counts))
            return True
        for i in range(first, len(server.items)):
            moved = moves[i]
            if moved is not None:
                counts[i] += 1
                lacking = tuple(map(sub, missing, prices[i]))
                if not extend(i, moved, lacking):
                    return False
                counts[i] -= 1
        return True

    try:
        ended = extend(0, server.whole(), tuple(f.least for f in floors))
    except RecursionError:  # of servers with a thousand GPUs
        return None
    return patterns if ended else None
