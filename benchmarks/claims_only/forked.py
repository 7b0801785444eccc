"""Copies of jobs by a rule of ours, beside HadarE, whose copies Hadar chooses."""

from fractions import Fraction

from dlsched.schema import Id
from dlsched.simulation.engine.decision import Decision
from dlsched.simulation.engine.jobs import JobView
from dlsched.simulation.engine.state import State
from dlsched.simulation.policies.hadare import HadarE, copies_on
from dlsched.simulation.policies.typed import base_rate, kind_of, rates_of, views_by_submission


class Forked(HadarE):
    """Jobs in the order of the time that they would need with copies on all nodes, shortest first.

    Each takes nodes, those on which it is slowest first, until they do the rest of its work within
    the round; fastest first if it may not have copies on all nodes. Nodes that are left then take
    copies in the same order.
    """

    name = "forked"

    def decide(self, state: State) -> Decision:
        """Return the copies of this round."""
        free = {view.server.id: view.server.gpus for view in state.servers}
        kinds = {view.server.id: kind_of(view.server) for view in state.servers}
        rate: dict[Id, dict[Id, Fraction]] = {}
        steps: dict[Id, Fraction] = {}
        held: dict[Id, set[Id]] = {}
        views: list[JobView] = []
        for view in views_by_submission(state):
            known = rates_of(view.job, set(kinds.values()))
            rates = {n: Fraction(known[kind]) for n, kind in kinds.items() if kind in known}
            if rates:
                views.append(view)
                rate[view.id], held[view.id] = rates, set()
                steps[view.id] = Fraction(view.remaining) * Fraction(base_rate(view.job))
        views.sort(key=lambda view: steps[view.id] / sum(rate[view.id].values()))

        def take(view: JobView, node: Id) -> bool:
            """Put a copy on a node if it fits; return whether it does."""
            job, nodes = view.job, held[view.id]
            room = node in rate[job.id] and free[node] >= job.gpus and node not in nodes
            if not room or (len(nodes) + 1) * job.gpus > job.max_gpus:
                return False
            free[node] -= job.gpus
            nodes.add(node)
            return True

        for view in views:
            limited = view.job.max_gpus < view.job.gpus * len(free)
            rates, missing = rate[view.id], steps[view.id]
            for node in sorted(free, key=lambda node: rates.get(node, 0), reverse=limited):
                if missing > 0 and take(view, node):
                    missing -= rates[node] * Fraction(self.interval)
        for node in free:
            for view in views:
                take(view, node)
        start = {
            view.id: copies_on(view.job, {n: rate[view.id][n] for n in free if n in held[view.id]})
            for view in views
            if held[view.id]
        }
        return Decision(start, [name for name in state.allocations if name not in start])
