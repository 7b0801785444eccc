"""Large-neighbourhood search: free some groups' jobs, and group them anew, optimally or nearly."""

from __future__ import annotations

import numpy as np

from dlsched.problems.interleaving.groups import Indices
from dlsched.problems.interleaving.master import best_choice
from dlsched.problems.interleaving.pool import Groups, Pool, Prices
from dlsched.run import Run

_QUOTA = 40
_SECONDS = 3.0


class Neighbourhood:
    """Chooses groups to free and solves the integer program over promising ones of their jobs."""

    def __init__(self, pool: Pool, prices: Prices, run: Run) -> None:
        self.pool, self.prices, self.run = pool, prices, run
        self.size = 10
        """Groups to free at once; grows while the integer programs are easy."""

    def improve(self, groups: Groups) -> Groups | None:
        """Return a better grouping, or ``None``."""
        free = self.choose(groups)
        rest = np.setdiff1d(np.arange(len(groups)), free)
        freed = groups[free]
        many = np.zeros_like(self.pool.many)
        np.add.at(many, freed.members[freed.members >= 0], 1)
        sub = self.pool.restricted(many, self.budget(groups, freed))
        answer = sub.price(self.prices, -np.inf, _QUOTA, 50_000, self.run)
        if answer is None:
            return None
        columns = Groups.join([answer.groups, freed])
        inner = self.run.nested(_SECONDS)
        _, counts = best_choice(sub, columns, inner, many=many)
        if counts is None:
            return None
        hard = inner.elapsed() > _SECONDS / 2
        self.size = max(4, self.size - 1) if hard else min(self.size + 1, 24)
        found = columns[np.repeat(np.arange(len(columns)), counts)]
        if found.worth.sum() <= freed.worth.sum() + 1e-12:
            return None
        return Groups.concatenate([groups[rest], found])

    def budget(self, groups: Groups, freed: Groups) -> int | None:
        """Return the GPUs that the freed jobs may take: theirs, and those that nobody takes."""
        if self.pool.budget is None:
            return None
        taken = self.pool.gpus(groups).sum() - self.pool.gpus(freed).sum()
        return self.pool.budget - int(taken)

    def choose(self, groups: Groups) -> Indices:
        """Draw groups, those that lose most against the prices more often."""
        cost = self.prices.of(groups.members) + self.prices.gpu * self.pool.gpus(groups)
        loss = cost - groups.worth
        loss = loss - loss.min() + 1e-3 * (np.ptp(loss) + 1e-9)
        size = min(self.size, len(groups))
        drawn: Indices = self.run.rng.choice(
            len(groups), size=size, replace=False, p=loss / loss.sum()
        )
        return drawn
