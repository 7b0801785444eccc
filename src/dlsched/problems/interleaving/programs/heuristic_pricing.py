"""Heuristic pricing: coordinate ascent from every profile.

A group is k places, one for each offset, some of them empty. Its first place keeps the profile that
it starts from; the others are filled in turn with the profile, or with none, of which the reduced
value is largest, until nothing changes. All starts advance at once, as arrays. Groups of one job
are not among those returned.
"""

from typing import NamedTuple

import numpy as np

from dlsched.problems.interleaving.programs.column_pool import GroupPool
from dlsched.problems.interleaving.programs.columns import Groups, Prices, Profiles
from dlsched.problems.interleaving.programs.tunables import LARGE
from dlsched.problems.interleaving.structures.groups import LEAST_GAIN
from dlsched.run import Run
from dlsched.solvers.arrays import Flags, Floats, Ints


class Climbed(NamedTuple):
    """Per row of the pool the largest reduced value found from there, and the groups found."""

    best: Floats
    groups: Groups


def climb(
    pool: GroupPool,
    prices: Prices,
    above: float,
    run: Run,
    partners: Flags | None = None,
    starts: Flags | None = None,
) -> Climbed:
    """Return groups with a large reduced value, found by coordinate ascent.

    Parameters
    ----------
    above
        Reduced value, per unit of a class's weight, above which groups are returned.
    run
        A limit ends the ascent; rows that are not reached have minus infinity.
    partners, starts
        Rows with which groups may be filled, and rows to start from; all by default.
    """
    everything = np.ones(len(pool.multiplicity), dtype=bool)
    partners = everything if partners is None else partners
    starts = everything if starts is None else starts
    best = np.full(len(pool.multiplicity), -np.inf)
    climbed = [pool.groups([])]
    for part in pool.classes:
        if not len(part.rows):
            continue
        profiles = part.at(prices)
        ascent = _Ascent(profiles, above * profiles.weight, partners[part.rows])
        from_ = np.flatnonzero(starts[part.rows])
        step = max(1, LARGE.starts_at_once // len(part.rows))
        for first in range(0, len(from_), step):
            if run.stop_reason():
                break
            chosen = from_[first : first + step]
            best[part.rows[chosen]] = ascent.climb(chosen)
        if ascent.found:
            rows = np.unique(np.sort(np.concatenate(ascent.found), axis=1), axis=0)
            # Sorting has put the empty places first; in a pool's groups they are the last.
            members = np.append(part.rows, -1)[rows[:, ::-1]]
            climbed.append(pool.groups_of_rows(members[:, : pool.largest]))
    return Climbed(best, Groups.concatenate(climbed))


class _Ascent:
    """The ascent within one class."""

    def __init__(self, profiles: Profiles, above: float, partners: Flags) -> None:
        self.profiles = profiles
        self.above = above
        self.k = len(profiles.rotated)
        self.reward = np.where(partners, -profiles.prices, -np.inf)
        """What a profile adds beside the efficiency, as a partner."""
        self.found: list[Ints] = []

    def climb(self, starts: Ints) -> Floats:
        """Return the largest reduced value from each start; keep the groups above the threshold."""
        places = np.full((len(starts), self.k), -1, dtype=np.int64)
        places[:, 0] = starts
        value = self._values(places)
        best = value if self.profiles.smallest == 1 else np.full(len(starts), -np.inf)
        for sweep in range(LARGE.sweeps):
            before = value
            for place in range(1, self.k):
                value = self._improve(places, place, sweep > 0)
            full = (places >= 0).sum(axis=1) >= self.profiles.smallest
            best = np.maximum(best, np.where(full, value, -np.inf))
            if sweep and not (value > before + LEAST_GAIN).any():
                break
        return best

    def _values(self, places: Ints) -> Floats:
        time, filled, cost = self._sums(places)
        value: Floats = self.profiles.weight * filled / (self.k * time.sum(axis=1)) - cost
        return value

    def _sums(self, places: Ints) -> tuple[Floats, Floats, Floats]:
        """Return the steps' times, the sum of the stages, and the cost of groups."""
        busiest = np.zeros((len(places), self.k))
        filled = np.zeros(len(places))
        cost = np.full(len(places), self.profiles.fixed)
        for place, members in enumerate(places.T):
            rows = np.flatnonzero(members >= 0)
            some = members[rows]
            busiest[rows] = np.maximum(busiest[rows], self.profiles.rotated[place, some])
            filled[rows] += self.profiles.sums[some]
            cost[rows] += self.profiles.prices[some]
        return busiest, filled, cost

    def _improve(self, places: Ints, place: int, keep: bool) -> Floats:
        """Fill one place with the best profile, in place; return the reduced values."""
        profiles = self.profiles
        others = places.copy()
        others[:, place] = -1
        busiest, filled, cost = self._sums(others)
        time = np.maximum(busiest[:, 0, None], profiles.rotated[place, :, 0])
        for step in range(1, self.k):
            time += np.maximum(busiest[:, step, None], profiles.rotated[place, :, step])
        value = filled[:, None] + profiles.sums
        value /= time
        value *= profiles.weight / self.k
        value += self.reward
        value -= cost[:, None]
        # A profile has a limited number of jobs.
        copies = (others[:, :, None] == others[:, None, :]).sum(axis=2)
        used, column = np.nonzero((others >= 0) & (copies >= profiles.multiplicity[others]))
        value[used, others[used, column]] = -np.inf
        if len(profiles.apart):
            for taken in others.T:
                value[(taken >= 0)[:, None] & profiles.apart[taken]] = -np.inf
        size = (others >= 0).sum(axis=1)
        value[size >= self.profiles.largest] = -np.inf
        if keep:
            self._keep(others, place, value, size + 1 >= self.profiles.smallest)
        rows = np.arange(len(places))
        chosen = value.argmax(axis=1)
        best = value[rows, chosen]
        if self.profiles.smallest == 1:
            empty = profiles.weight * filled / (self.k * busiest.sum(axis=1)) - cost
            chosen = np.where(empty > best, -1, chosen)
            best = np.maximum(empty, best)
        places[:, place] = np.where(best > -np.inf, chosen, -1)
        return np.where(best > -np.inf, best, self._values(places))

    def _keep(self, others: Ints, place: int, value: Floats, enough: Flags) -> None:
        """Keep the best groups of every start that are above the threshold."""
        count = min(LARGE.kept_groups, value.shape[1])
        top = np.argpartition(-value, count - 1, axis=1)[:, :count]
        rows, column = np.nonzero(np.take_along_axis(value, top, axis=1) > self.above)
        rows, column = rows[enough[rows]], column[enough[rows]]
        groups = others[rows]
        groups[:, place] = top[rows, column]
        self.found.append(groups)
