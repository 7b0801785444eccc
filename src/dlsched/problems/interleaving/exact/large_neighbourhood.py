"""Large-neighbourhood search: remove some groups and regroup their jobs by integer programming."""

import numpy as np

from dlsched.problems.interleaving.programs.column_pool import GroupPool
from dlsched.problems.interleaving.programs.columns import Groups, Prices, Query
from dlsched.problems.interleaving.programs.master import best_choice
from dlsched.problems.interleaving.programs.tunables import TUNABLES
from dlsched.problems.interleaving.structures.groups import LEAST_GAIN, Indices
from dlsched.run import Run


class Neighbourhood:
    """Draws groups and solves the integer program over groups of their jobs near the prices."""

    def __init__(self, pool: GroupPool, prices: Prices, run: Run) -> None:
        self.pool = pool
        self.prices = prices
        self.run = run
        self.query = Query(-np.inf, TUNABLES.removed_quota, TUNABLES.removed_capacity)
        self.size = TUNABLES.removed_groups
        """Groups to remove at once; it grows while the integer programs take little time."""

    def improve(self, groups: Groups) -> Groups | None:
        """Return a better grouping, or ``None``."""
        drawn = self.draw(groups)
        rest = groups[np.setdiff1d(np.arange(len(groups)), drawn)]
        removed = groups[drawn]
        jobs = np.zeros_like(self.pool.multiplicity)
        np.add.at(jobs, removed.members[removed.members >= 0], 1)
        budget = self.pool.budget
        if budget is not None:
            budget -= int(self.pool.gpus(rest).sum())
        sub = self.pool.restricted(jobs, budget)
        priced = sub.price(self.prices, self.query, self.run)
        if priced is None:
            return None
        inner = self.run.nested(TUNABLES.removed_seconds)
        _, chosen = best_choice(sub, Groups.join([priced.groups, removed]), inner)
        if chosen is None:
            return None
        hard = inner.elapsed() > TUNABLES.removed_seconds / 2
        size = self.size - 1 if hard else self.size + 1
        self.size = min(max(size, TUNABLES.fewest_removed), TUNABLES.most_removed)
        if chosen.worth.sum() <= removed.worth.sum() + LEAST_GAIN:
            return None
        return Groups.concatenate([rest, chosen])

    def draw(self, groups: Groups) -> Indices:
        """Draw groups at random, with a probability that grows with cost minus worth."""
        cost = self.prices.of(groups.members) + self.prices.gpu * self.pool.gpus(groups)
        loss = cost - groups.worth
        loss = loss - loss.min() + 1e-3 * (np.ptp(loss) + 1e-9)
        size = min(self.size, len(groups))
        return self.run.rng.choice(len(groups), size=size, replace=False, p=loss / loss.sum())
