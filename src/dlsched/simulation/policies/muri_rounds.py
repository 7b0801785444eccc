"""Rounds of Muri that were solved to optimality before: equal jobs are equal instances."""

from __future__ import annotations

from typing import Any, Final

from dlsched.api import solve
from dlsched.problems.interleaving.definition.schema import Instance
from dlsched.schema import Id
from dlsched.simulation.policies.solving import solved_by

EXACT: Final = ("exact", "aggregated", "blossom", "column_generation", "milp")
"""Methods whose objective does not depend on the order of the jobs."""
MOST_KNOWN: Final = 20_000
"""Solved rounds that are remembered."""

Groups = list[tuple[Id, ...]]


class KnownRounds:
    """Groups the jobs of rounds by a method of ``interleaving``.

    An exact method gets the jobs sorted by profile, so that rounds with as many jobs of each
    profile are one instance but for names. It is solved once; what it says of places in that order
    is then read for the jobs that are there. So the groups depend on the round alone, and are the
    same whether it was solved before or is now.
    """

    def __init__(self) -> None:
        self._known: dict[Any, tuple[list[tuple[int, ...]], dict[str, Any]]] = {}

    def groups(
        self, instance: Instance, method: Any, *, time_limit: float | None, seed: int
    ) -> tuple[Groups, dict[str, Any]]:
        """Return the groups of the jobs, and what the log keeps of how they were found.

        Parameters
        ----------
        instance
            Its jobs are in the order of priority.
        """
        if not (isinstance(method, str) and method in EXACT):
            return _solve(instance, method, time_limit, seed)
        jobs = sorted(instance.jobs, key=lambda job: (job.gpus, job.stages))
        profiles = tuple((job.gpus, job.stages) for job in jobs)
        key = (instance.gpu_budget, method, time_limit, seed, profiles)
        if key not in self._known:
            ordered = instance.model_copy(update={"jobs": tuple(jobs)})
            found, solved = _solve(ordered, method, time_limit, seed)
            place = {job.id: j for j, job in enumerate(jobs)}
            if len(self._known) >= MOST_KNOWN:
                self._known.clear()
            self._known[key] = [tuple(place[name] for name in group) for group in found], solved
        groups, solved = self._known[key]
        return [tuple(jobs[j].id for j in group) for group in groups], solved


def _solve(
    instance: Instance, method: Any, time_limit: float | None, seed: int
) -> tuple[Groups, dict[str, Any]]:
    result = solve(instance, method, time_limit=time_limit, seed=seed)
    assert result.solution is not None, "a grouping that merges all pairs fits the cluster"
    return [tuple(group.jobs) for group in result.solution.groups], solved_by(result)
