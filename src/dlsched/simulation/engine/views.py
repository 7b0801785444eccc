"""The jobs and servers that a state shows, made of what the engine keeps of them."""

from __future__ import annotations

import weakref
from collections.abc import Iterable
from types import MappingProxyType

import numpy as np

from dlsched.schema import Id
from dlsched.simulation.engine.holdings import Holdings
from dlsched.simulation.engine.state import JobView, ServerView, Views, number
from dlsched.simulation.engine.vectors import Arrays, Key, LinesByGpus


class Shown:
    """What the states of a simulation show of the jobs: made when it is asked for."""

    def __init__(self, holdings: Holdings) -> None:
        self.holdings = holdings
        self.held = holdings.held
        self.free, self.vector = holdings.resources.gpus, holdings.resources.vector
        self.now = 0
        self._lent: list[weakref.ref[Views]] = []

    def close(self) -> None:
        """Keep what somebody still has of a state: the jobs are about to change."""
        for reference in self._lent:
            views = reference()
            if views is not None:
                views.keep()
        self._lent.clear()

    def waiting(self) -> Views:
        """Return the jobs that wait."""
        return self._lend(Views(self.holdings.waiting.positions, self._view_of_waiting))

    def running(self) -> Views:
        """Return the jobs that run."""
        position = self.holdings.position
        return self._lend(Views([position[name] for name in self.holdings.held], self._view))

    def servers(self) -> tuple[ServerView, ...]:
        """Return the servers that may be used, in the cluster's order."""
        resources = self.holdings.resources
        return tuple(
            ServerView(server, resources.gpus[server.id], *resources.amounts(server.id))
            for server in self.holdings.cluster.servers
            if server.id in resources.gpus
        )

    def _lend(self, views: Views) -> Views:
        self._lent.append(weakref.ref(views))
        return views

    def present(self) -> Arrays:
        """Return all jobs as vectors."""
        return self.holdings.arrays(self.holdings.table.present.read(), self.now)

    def vectors(self, names: Iterable[Id]) -> Arrays:
        """Return some of the jobs as vectors."""
        index = sorted(self.holdings.position[name] for name in names)
        return self.holdings.arrays(np.array(index, np.int64), self.now)

    def holding(self) -> Arrays:
        """Return the running jobs as vectors."""
        return self.holdings.table.holding(self.now, self.holdings.active)

    def lines(self, key: Key) -> LinesByGpus:
        """Return the waiting jobs by their number of GPUs, in the order of a key."""
        return MappingProxyType(self.holdings.waiting.lines(key).by_gpus)

    def _view_of_waiting(self, j: int) -> JobView:
        """Return the view of a job, which stays the same as long as it waits."""
        known = self.holdings.waiting.views
        view = known.get(j)
        if view is None:
            view = known[j] = self._view(j)
        return view

    def _view(self, j: int) -> JobView:
        progress = self.holdings.active[j]
        stretch = self.now - progress.since if progress.allocation is not None else 0
        first = progress.first_start
        return JobView(
            self.holdings.jobs[j],
            number(self._known(j, progress.left - progress.done(self.now))),
            number(progress.attained + stretch),
            number(progress.service + stretch * progress.gpus),
            progress.allocation,
            None if first is None else number(first),
            progress.preemptions,
        )

    def _known(self, j: int, left: int) -> int:
        """Return what a scheduler takes for the work that a job still needs."""
        excess = self.holdings.table.excess
        return left if excess is None or not left else max(left + int(excess[j]), 1)
