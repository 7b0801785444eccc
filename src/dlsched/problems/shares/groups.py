"""The program over groups: jobs of one model and scale together, whatever they require.

Jobs of a group have the same rates. So the linear program needs only a group's total times; how
these are divided among its kinds is a question of each group alone (module ``division``). The
program has no more columns if every job has steps of its own.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from dlsched.problems.shares.kinds import Kind
from dlsched.problems.shares.program import Program, build
from dlsched.problems.shares.rates import Rates
from dlsched.schema import Number


class Option(NamedTuple):
    """A way in which jobs of a group spend time.

    Attributes
    ----------
    column
        Column of the program over groups.
    rate
        The jobs' rate.
    times
        Time of the group's jobs per unit of the column: 2 if they are beside each other.
    own
        Whether they are beside jobs of their own group.
    columns
        Columns of the program over kinds, by kind; empty if its column is the same one.
    """

    column: int
    rate: Number
    times: int
    own: bool
    columns: tuple[int, ...]


@dataclass(frozen=True)
class Groups:
    """The program over kinds, that over groups, and how they belong together.

    Attributes
    ----------
    program, totals
        The program over kinds, and the one over groups, in which each group is one kind.
    members, options
        For each group its kinds, and the ways in which they spend time.
    same
        Pairs of equal columns of both programs: those of groups with one kind.
    best
        The largest rate of each group.
    """

    program: Program
    totals: Program
    members: tuple[tuple[int, ...], ...]
    options: tuple[tuple[Option, ...], ...]
    same: tuple[tuple[int, int], ...]
    best: tuple[Number, ...]

    @classmethod
    def of(
        cls, kinds: tuple[Kind, ...], rates: Rates, gpus: Mapping[str, int], sharing: bool
    ) -> Groups:
        """Return both programs of some kinds of jobs."""
        members: dict[tuple[str, int], list[int]] = defaultdict(list)
        for c, kind in enumerate(kinds):
            members[kind.group].append(c)
        merged = tuple(
            replace(kinds[own[0]], jobs=tuple(j for c in own for j in kinds[c].jobs))
            for own in members.values()
        )
        program = build(kinds, rates, gpus, sharing)
        totals = build(merged, rates, gpus, sharing)
        lists = tuple(tuple(own) for own in members.values())
        options, same = _match(program, totals, lists)
        best = tuple(max(option.rate for option in ways) for ways in options)
        return cls(program, totals, lists, options, same, best)

    def group_of(self) -> list[int]:
        """Return the group of each kind."""
        found = [0] * len(self.program.kinds)
        for g, own in enumerate(self.members):
            for c in own:
                found[c] = g
        return found

    def expand(
        self, values: Sequence[float], parts: Sequence[Sequence[Sequence[float]]]
    ) -> list[float]:
        """Return the times of the program over kinds.

        Parameters
        ----------
        values
            Times of the program over groups.
        parts
            For each group and kind the time in each option.
        """
        times = [0.0] * len(self.program.columns)
        for j, k in self.same:
            times[k] = values[j]
        for ways, shares in zip(self.options, parts, strict=True):
            for o, option in enumerate(ways):
                for i, column in enumerate(option.columns):
                    times[column] += shares[i][o]
        return times


def _match(
    program: Program, totals: Program, members: Sequence[Sequence[int]]
) -> tuple[tuple[tuple[Option, ...], ...], tuple[tuple[int, int], ...]]:
    """Return the options of each group, and the columns that both programs have."""
    single, paired = {}, {}
    for j, column in enumerate(program.columns):
        if len(column.kinds) == 1:
            single[column.gpu, column.kinds[0], column.beside] = j
        else:
            paired[column.gpu, *column.kinds] = j
    options: list[list[Option]] = [[] for _ in members]
    same = []
    for j, column in enumerate(totals.columns):
        groups = column.kinds
        alike = (column.gpu, *(members[g][0] for g in groups))
        if len(groups) == 2 and alike in paired:
            same.append((j, paired[alike]))
        for side, g in enumerate(dict.fromkeys(groups)):
            beside = totals.kinds[groups[-1 - side]].group if len(groups) == 2 else None
            own = len(groups) == 2 and groups[0] == groups[1]
            columns = tuple(
                single[column.gpu, c, beside]
                for c in members[g]
                if (column.gpu, c, beside) in single
            )
            options[g].append(Option(j, column.rates[side], 1 + own, own, columns))
    return tuple(tuple(found) for found in options), tuple(same)
