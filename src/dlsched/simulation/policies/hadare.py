"""HadarE in rounds: Hadar decides which copies of jobs run (Hadar, section V-A)."""

from __future__ import annotations

from typing import Any, ClassVar

from dlsched.errors import OptionError
from dlsched.problems.utility.heuristics.hadare import Copies
from dlsched.problems.utility.instances import state as adapter
from dlsched.schema import Number
from dlsched.simulation.engine.decision import Decision
from dlsched.simulation.engine.state import State
from dlsched.simulation.policies.forked import Forked, copies_on
from dlsched.simulation.policies.typed import (
    kind_of,
    rates_of,
    typed_state,
    views_by_submission,
)


class HadarE(Forked):
    """Each job is forked; Hadar decides which copies run, as section V-A has it.

    In each round every job has a copy for each node, and Hadar (Algorithms 1 and 2, repaired)
    decides on all of them as on jobs: each has the utility of its job, and may run on its node
    alone. Copies add up as with `Forked`, which has a rule of ours in its place. A job has as many
    copies at most as fit its `Job.max_gpus`: of more the fastest run, and Hadar decides again on
    what is free **(D)**.

    Parameters
    ----------
    divided
        Which work Hadar sees when it decides. Section V-B divides the steps left among the copies
        before a round; section V-A sends the copies to Hadar and does not say with which work
        **(D)**. False: that of the whole job. True: the copy's portion of the steps left, by
        throughput, so that all copies of a job would end at the same time.
    utility
        One of ``dlsched.problems.utility.instances.state.UTILITIES``, as for `hadar`.
    interval
        Seconds of a round.

    Raises
    ------
    OptionError
        If there is no such utility.
    """

    name: ClassVar[str] = "hadare"

    def __init__(
        self,
        method: Any = None,
        *,
        divided: bool = False,
        utility: str = "effective_throughput",
        interval: Number = 360,
    ) -> None:
        super().__init__(method, interval=interval)
        if utility not in adapter.UTILITIES:
            raise OptionError(f"utility={utility!r} is none of {', '.join(adapter.UTILITIES)}")
        self.divided, self.utility = divided, utility

    def decide(self, state: State) -> Decision:
        """Return the copies of this round."""
        kinds = {view.server.id: kind_of(view.server) for view in state.servers}
        views = {view.id: view for view in views_by_submission(state)}
        servers = ((view.server, view.server.gpus) for view in state.servers)
        seen = typed_state(state, views.values(), servers)
        rounds = adapter.moment(seen, slot_seconds=self.interval, utility=self.utility)
        instance = rounds.instance
        copies = Copies(
            instance,
            self.divided,
            adapter.factors(instance, self.utility),
            [max(1, views[job.id].job.max_gpus // job.workers) for job in instance.jobs],
        )
        start = {}
        for j, nodes in copies.decide(rounds).items():
            job = views[instance.jobs[j].id].job
            rates = rates_of(job, kinds.values())
            rate_of_node = {node: rates[kind] for node, kind in kinds.items() if node in nodes}
            start[job.id] = copies_on(job, rate_of_node)
        solved: dict[str, Any] = {"method": "hadar"}
        if copies.scanned:
            solved["scanned"] = True
        idle = [name for name in state.allocations if name not in start]
        return Decision(start, idle, solved=solved)
