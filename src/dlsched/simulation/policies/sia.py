"""Sia: in each round every job gets GPUs of one type, chosen at once for all (SOSP'23)."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any, ClassVar, NamedTuple

from dlsched.api import solve
from dlsched.errors import OptionError
from dlsched.problems.configurations.definition.schema import Instance
from dlsched.schema import Flaw, Id, Number, exact, simplify
from dlsched.simulation.engine.decision import Allocation, Decision, PolicyError, Share
from dlsched.simulation.engine.policy import BasePolicy
from dlsched.simulation.engine.speeds import speed
from dlsched.simulation.engine.state import State
from dlsched.simulation.policies.placement import Placement
from dlsched.simulation.policies.solving import solved_by
from dlsched.simulation.policies.typed import UNTYPED, kind_of, rates_of, views_by_submission
from dlsched.simulation.workload.cluster import Cluster, Server
from dlsched.simulation.workload.eligibility import TYPE
from dlsched.simulation.workload.job import Job
from dlsched.simulation.workload.workload import Workload

LARGEST = 64
"""GPUs of the largest configuration, as in the public code."""


class Kind(NamedTuple):
    """Servers that are alike: the type of their GPUs, and how many each has."""

    type: str
    gpus: int

    def __str__(self) -> str:
        """Return its id in an instance."""
        return f"{self.type}/{self.gpus}"


Nodes = Mapping[Kind, Sequence[Server]]
"""The servers of each kind; one that is several nodes stands there several times."""


class Sia(BasePolicy):
    """Sia's rounds: the problem ``configurations`` on the jobs that are present.

    A job has one GPU at first, and then at most twice the most that it ever had, as in the public
    code; one that needs more begins with the fewest that it can have. Its speed with every
    configuration is known, as if it had been profiled **(D)**. A job that is not elastic gets what
    it asks for or waits.

    A job that keeps its configuration stays on its servers, unless one of more GPUs needs them:
    then it moves, and restarts **(D)**; in the authors' simulator such moves take no time.

    Parameters
    ----------
    method
        Method of ``configurations``; None for the paper's program, ``"sia"``. If it finds nothing
        in its time, `greedy` decides.
    interval
        Seconds of a round.
    power, penalty
        As the fields of the instance.
    doubling
        Whether a job grows to at most twice its GPUs.
    **options
        Options of `dlsched.solve`, as ``time_limit``, and of the method.

    Raises
    ------
    OptionError
        If a number is none that an instance can have.
    """

    name: ClassVar[str] = "sia"
    problem: ClassVar[str | None] = "configurations"
    keeps_to = frozenset((TYPE,))
    on_events: bool = False

    def __init__(
        self,
        method: Any = None,
        *,
        interval: Number = 60,
        power: Number = Fraction(-1, 2),
        penalty: Number = Fraction(11, 10),
        doubling: bool = True,
        **options: Any,
    ) -> None:
        super().__init__("sia" if method is None else method, **options)
        numbers: dict[str, Number] = {"power": power, "penalty": penalty}
        for option, number in numbers.items():
            try:
                numbers[option] = exact(number)
            except Flaw as flaw:
                raise OptionError(f"{option}={number!r}: {flaw}") from None
        self.power, self.penalty = numbers.values()
        if not self.power or not -2 <= self.power <= 2:
            raise OptionError(f"power={power} must be from -2 to 2, and not 0")
        if self.penalty < 0 or (self.penalty * 10**9).denominator > 1:
            raise OptionError(f"penalty={penalty} must be from 0, with nine decimals at most")
        self.interval, self.doubling = interval, doubling

    def check(self, workload: Workload, cluster: Cluster) -> None:
        """Refuse a job that can have no configuration."""
        nodes = self.nodes(cluster.servers)
        for job in workload.jobs:
            if not able(job, nodes, job.max_gpus):
                raise PolicyError(
                    f"policy {self.name}: job {job.id} needs {job.min_gpus} to {job.max_gpus} GPUs;"
                    " no power of two within a server, and no number of whole servers, of a type "
                    "on which it may run is that many; give it other GPUs"
                )

    def decide(self, state: State) -> Decision:
        """Return the changes that give the jobs their configurations of this round."""
        nodes = self.nodes(view.server for view in state.servers)
        if not nodes:
            return Decision()
        instance = self.instance(state, nodes)
        result = solve(instance, self.method, seed=state.seed, **self.options)
        if result.solution is None:
            result = solve(instance, "greedy")
        assert result.solution is not None, "greedy returns one"
        chosen = {j: instance.by_id[c] for j, c in result.solution.configurations.items()}
        held, placed = state.allocations, dict[Id, Allocation]()
        for kind, servers in nodes.items():
            given = {name: one.gpus for name, one in chosen.items() if one.type == str(kind)}
            placed |= self.place(state, given, servers)
        start = {name: new for name, new in placed.items() if held.get(name) != new}
        most, restarts = self.memory.get("most", {}), self.memory.get("restarts", {})
        seen = [job.id for job in instance.jobs if job.id in most or job.id in placed]
        self.memory = {
            "most": {n: max(most.get(n, 0), placed[n].gpus if n in placed else 0) for n in seen},
            "restarts": {name: restarts.get(name, -1) + (name in start) for name in seen},
        }
        preempt = [name for name in held if name not in placed]
        return Decision(start, preempt, solved=solved_by(result))

    def instance(self, state: State, nodes: Nodes) -> Instance:
        """Return the round as an instance."""
        ids: dict[tuple[Any, ...], Id] = {}
        known: dict[Id, dict[Id, Number]] = {}
        models, jobs = [], []
        kind_at = {server.id: kind for kind, listed in nodes.items() for server in listed}
        most, restarts = self.memory.get("most", {}), self.memory.get("restarts", {})
        for view in views_by_submission(state):
            job, limit = view.job, view.job.max_gpus
            if self.doubling:
                limit = min(limit, max(2 * most.get(job.id, 0), job.min_gpus))
            part = 0 if job.goodput is None else job.part_at(view.remaining)
            like = (*_like(job), part, limit)
            if like not in ids:
                ids[like] = f"m{len(ids) + 1}"
                values = {
                    f"{kind} x{gpus}": _mean_speed(job, part, gpus, nodes[kind], state.cluster)
                    for kind, _, gpus in able(job, nodes, limit)
                }
                known[ids[like]] = {c: _digits(v) for c, v in values.items()}
                fields = {"id": ids[like], "restart_seconds": job.restart}
                models.append(fields | {"goodput": known[ids[like]]})
            row: dict[str, Any] = {"id": job.id, "model": ids[like]}
            row |= {"age": max(0, state.time - job.submit), "remaining": _digits(view.remaining)}
            if (held := view.allocation) is not None:
                present = f"{kind_at[held.shares[0].server]} x{held.gpus}"
                row["restarts"] = restarts.get(job.id, 0)
                # When servers have gone, it may be no configuration any more.
                row["present"] = present if known[ids[like]].get(present) else None
            jobs.append(row)
        kinds = [{"id": str(k), "nodes": len(s), "gpus_per_node": k.gpus} for k, s in nodes.items()]
        rows = [
            {"id": f"{kind} x{gpus}", "type": str(kind), "nodes": count, "gpus": gpus}
            for kind, count, gpus in configurations(nodes)
        ]
        data: dict[str, Any] = {"types": kinds, "configurations": rows, "models": models}
        return Instance(name="round", power=self.power, penalty=self.penalty, jobs=jobs, **data)

    def nodes(self, servers: Iterable[Server]) -> Nodes:
        """Return the servers by what they are alike in."""
        found: dict[Kind, list[Server]] = {}
        for server in servers:
            found.setdefault(Kind(kind_of(server), server.gpus), []).append(server)
        return found

    def place(
        self, state: State, given: Mapping[Id, int], servers: Sequence[Server]
    ) -> dict[Id, Allocation]:
        """Return the allocation of each job on a kind of servers, from its number of GPUs."""
        return in_nodes(given, state.allocations, servers)


class PolluxRounds(Sia):
    """Pollux's own rule: rounds of the largest harmonic mean of speed-ups, with batches tuned.

    It is Sia's program with a power of -1, to which Pollux's objective is equal on GPUs of one type
    by the public code; it is solved exactly, and not by a genetic algorithm. Pollux does not tell
    types apart: a job's goodput is the mean of those on the types that there are, and its GPUs may
    be of several **(D)**. Each job has GPUs before another one has more than its fewest.
    """

    name: ClassVar[str] = "pollux"
    keeps_to = frozenset[str]()

    def __init__(self, method: Any = None, *, power: Number = -1, **options: Any) -> None:
        super().__init__(method, power=power, **{"penalty": 1000, **options})

    def nodes(self, servers: Iterable[Server]) -> Nodes:
        """Return all servers as nodes of one kind, each as large as the smallest server."""
        listed = list(servers)
        size = min((server.gpus for server in listed), default=1)
        nodes = [server for server in listed for _ in range(server.gpus // size)]
        return {Kind(UNTYPED, size): nodes} if nodes else {}

    def place(
        self, state: State, given: Mapping[Id, int], servers: Sequence[Server]
    ) -> dict[Id, Allocation]:
        """Return where jobs are: on their servers if they keep their number, else by best fit."""
        held = state.allocations
        placed = {name: held[name] for name in held if held[name].gpus == given.get(name)}
        free = Placement(state.cluster, state.free)
        for name in held.keys() - placed.keys():
            free.release(held[name])
        for name in sorted(given.keys() - placed.keys(), key=lambda n: (-given[n], n)):
            found = free.place(given[name], state.workload.by_id[name].gpus_per_worker)
            if found is not None:
                placed[name] = found
        return placed


def configurations(nodes: Nodes) -> list[tuple[Kind, int, int]]:
    """Return kind, nodes and GPUs of what jobs can be given, as the public code lists them."""
    listed = []
    for kind, servers in nodes.items():
        listed += [(kind, 1, 2**k) for k in range(kind.gpus.bit_length())]
        if kind.gpus.bit_count() > 1:
            listed.append((kind, 1, kind.gpus))
        most = min(len(servers), LARGEST // kind.gpus)
        listed += [(kind, n, n * kind.gpus) for n in range(2, most + 1)]
    return listed


def able(job: Job, nodes: Nodes, limit: int) -> list[tuple[Kind, int, int]]:
    """Return the configurations that a job can have with at most `limit` GPUs."""
    types = [kind for kind, s in nodes.items() if rates_of(job, {kind_of(node) for node in s})]
    listed = (c for c in configurations(nodes) if job.min_gpus <= c[2] <= limit)
    size = job.gpus_per_worker
    return [(k, n, gpus) for k, n, gpus in listed if k in types and not gpus // n % size]


def _mean_speed(
    job: Job, part: int, gpus: int, servers: Sequence[Server], cluster: Cluster
) -> Fraction:
    """Return the mean over the kinds among servers of a job's speed with GPUs of one kind."""
    kinds = {(kind_of(server), server.gpus): server for server in servers}
    speeds = []
    for server in kinds.values():
        others = [Share(server.id, 0)] * ((gpus - 1) // server.gpus)
        shares = Share(server.id, gpus), *others
        if rates_of(job, [kind_of(server)]):
            speeds.append(speed(job, Allocation(shares), cluster, (), None, part))
    return sum(speeds, Fraction(0)) / len(speeds)


def _like(job: Job) -> tuple[Any, ...]:
    goodput = job.goodput and job.goodput.numbers
    types = (job.gpu_type, job.accepted_types, *job.rates.items())
    gpus = (job.gpus, job.min_gpus, job.max_gpus, job.gpus_per_worker)
    return goodput, types, gpus, job.scaling_loss, job.restart


def _digits(value: Number) -> Number:
    """Return a number to six digits: no unit matters, and instances have no more than a double."""
    return simplify(Fraction(f"{float(value):.6g}"))


def in_nodes(
    given: Mapping[Id, int], held: Mapping[Id, Allocation], servers: Sequence[Server]
) -> dict[Id, Allocation]:
    """Place configurations on the servers of a kind, so that few jobs move.

    The largest come first; one that is there already stays if there is room. As sizes divide each
    other, whatever the problem's checker accepts fits. Others go where they take the fewest GPUs
    from jobs that are still to stay, then where they leave the fewest.
    """
    whole = servers[0].gpus
    free = dict.fromkeys((server.id for server in servers), whole)
    stays = {
        name: held[name]
        for name, gpus in given.items()
        if name in held and held[name].gpus == gpus and held[name].shares[0].server in free
    }
    claimed = Counter[Id]()
    for allocation in stays.values():
        claimed.update({share.server: share.gpus for share in allocation.shares})
    placed = {}
    for name in sorted(given, key=lambda n: (-given[n], n not in stays)):
        each = min(given[name], whole)
        own = stays.get(name)
        if own is not None:
            claimed.subtract({share.server: share.gpus for share in own.shares})
        if own is None or any(free[share.server] < share.gpus for share in own.shares):
            room = [s for s in free if free[s] >= each]
            room.sort(key=lambda s: (max(0, claimed[s] - free[s] + each), free[s]))
            own = Allocation(tuple(Share(s, each) for s in room[: given[name] // each]))
        for share in own.shares:
            free[share.server] -= share.gpus
        placed[name] = own
    return placed
