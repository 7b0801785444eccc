"""The linear program over kinds of jobs: its columns, and its rows as sparse arrays.

A column is time on one type of GPU, in total over the jobs of a kind:

- of one kind alone;
- of two kinds side by side, if each is the only kind of its group (model and scale). A kind beside
  itself needs two jobs, and takes the time of both;
- of one kind beside a group, where one of the two groups has several kinds. Then the times of group
  a beside b and of b beside a are equal, and no job is beside its own group for more than half of
  that group's time, as it cannot be beside itself.

Two sides in the last case can be divided into pairs of jobs (`Shares.pairs`), so nothing is
lost by naming groups instead of jobs as partners.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations_with_replacement
from typing import NamedTuple, TypeAlias

from dlsched.problems.shares.kinds import Kind
from dlsched.problems.shares.rates import Rates
from dlsched.schema.quantities import Number

Group: TypeAlias = tuple[str, int]


class Column(NamedTuple):
    """Time on a type of GPU.

    ``kinds`` are the kinds whose time it is: one, or two side by side. ``beside`` is the group
    beside a column of one kind; ``None`` alone. ``rates`` belong to ``kinds``.
    """

    gpu: str
    kinds: tuple[int, ...]
    rates: tuple[Number, ...]
    beside: Group | None = None

    def uses(self, kinds: Sequence[Kind]) -> Fraction:
        """Return the GPUs that it takes per unit of time; a pair's are counted half per side."""
        scale = kinds[self.kinds[0]].example.scale
        return Fraction(scale, 2) if self.beside else Fraction(scale)

    def sides(self, kinds: Sequence[Kind]) -> Iterator[tuple[int, Number, Group | None]]:
        """Yield (kind, rate, group beside it) for each job's time in the column."""
        if len(self.kinds) == 1:
            yield self.kinds[0], self.rates[0], self.beside
        else:
            (a, b), (p, q) = self.kinds, self.rates
            yield a, p, kinds[b].group
            yield b, q, kinds[a].group


@dataclass(frozen=True)
class Program:
    """Kinds, GPUs by type, and columns.

    ``matched`` has for each two groups a < b and type of GPU the columns of a beside b and those of
    b beside a; ``own`` for each group and type the columns of the group beside itself by kind. Only
    columns with one kind are in them.
    """

    kinds: tuple[Kind, ...]
    gpus: Mapping[str, int]
    columns: tuple[Column, ...]
    matched: Mapping[tuple[Group, Group, str], tuple[list[int], list[int]]]
    own: Mapping[tuple[Group, str], list[int]]


def build(kinds: tuple[Kind, ...], rates: Rates, gpus: Mapping[str, int], sharing: bool) -> Program:
    """Return the program of some kinds of jobs, with or without pairs on the same GPUs."""
    columns = [
        Column(gpu, (c,), (rate,))
        for c, kind in enumerate(kinds)
        for gpu, rate in kind.rated.items()
    ]
    matched: dict[tuple[Group, Group, str], tuple[list[int], list[int]]] = {}
    own: dict[tuple[Group, str], list[int]] = {}
    groups: dict[Group, list[int]] = defaultdict(list)
    for c, kind in enumerate(kinds):
        groups[kind.group].append(c)
    pairs = combinations_with_replacement(sorted(groups), 2) if sharing else ()
    for a, b in pairs:
        if a[1] != b[1] or (a == b and sum(kinds[c].count for c in groups[a]) < 2):
            continue
        for gpu, many in gpus.items():
            both = rates.pair(a[0], b[0], a[1], gpu) if many >= a[1] else None
            if both is None or _dominated(kinds[groups[a][0]], kinds[groups[b][0]], gpu, both):
                continue
            start = len(columns)
            if len(groups[a]) == len(groups[b]) == 1:
                columns.append(Column(gpu, (groups[a][0], groups[b][0]), both))
                continue
            columns += [Column(gpu, (c,), (both[0],), b) for c in groups[a]]
            middle = len(columns)
            if a == b:
                own[a, gpu] = list(range(start, middle))
                continue
            columns += [Column(gpu, (c,), (both[1],), a) for c in groups[b]]
            sides = list(range(start, middle)), list(range(middle, len(columns)))
            matched[a, b, gpu] = sides
    return Program(kinds, gpus, tuple(columns), matched, own)


def _dominated(a: Kind, b: Kind, gpu: str, both: tuple[Number, Number]) -> bool:
    """Whether two jobs do at least as well by taking turns on the GPUs as by sharing them.

    Alone they need the parts both[0] / alone and both[1] / other of the time for the same work.
    """
    alone, other = a.rated.get(gpu, 0), b.rated.get(gpu, 0)
    if not alone or not other:
        return False
    return bool(both[0] * other + both[1] * alone <= alone * other)
