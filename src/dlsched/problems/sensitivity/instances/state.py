"""From a cluster's state to the jobs of one round, and back (Synergy, sections 3.2 and 4.2)."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from dlsched.errors import OptionError
from dlsched.problems.sensitivity.definition.schema import Choice, Instance, Job, Solution
from dlsched.problems.sensitivity.instances.generate import HEAD, cluster
from dlsched.problems.sensitivity.instances.job_models import Assignment, models_of
from dlsched.registry.cluster_state import ClusterState
from dlsched.schema import Id, Number, simplify

SERVERS = 16

_DERIVED = ("choices", "undominated", "best_cases", "shares", "amounts")
"""What an instance derives from its servers and profiles alone."""


class Wish(NamedTuple):
    """A job of a round: the name of its model's profile, and its GPUs."""

    id: Id
    profile: Id
    gpus: int


class Held(NamedTuple):
    """What a job gets on one server, by the server's index; memory in GB."""

    server: int
    gpus: int
    cpus: Number
    memory: Number


class Rounds:
    """The instances of the rounds of one cluster, made from the profiles of the models.

    Profiles have no GPUs: jobs with any number use the same, as in the authors' public code.
    """

    def __init__(
        self, servers: Mapping[str, Any], profiles: Mapping[str, Mapping[str, Any]]
    ) -> None:
        self.servers = dict(servers)
        self.profiles = profiles
        self._known: dict[tuple[frozenset[tuple[str, int]], bool], Instance] = {}

    def instance(self, wishes: Sequence[Wish], *, may_wait: bool = False) -> Instance:
        """Return the round of these jobs, in this order."""
        kinds = frozenset((wish.profile, wish.gpus) for wish in wishes)
        base = self._known.get((kinds, may_wait))
        if base is None:
            data = {
                **HEAD,
                "name": "round",
                "servers": self.servers,
                "may_wait": may_wait,
                "profiles": {f"{p}_{g}": {**self.profiles[p], "gpus": g} for p, g in sorted(kinds)},
                "jobs": [],
            }
            base = self._known[kinds, may_wait] = Instance.parse(data, "the cluster's state")
        jobs = tuple(Job(id=w.id, profile=f"{w.profile}_{w.gpus}") for w in wishes)
        round_ = base.model_copy(update={"jobs": jobs})
        # They do not depend on the jobs, and to derive them anew takes longer than most methods.
        for name in _DERIVED:
            round_.__dict__[name] = getattr(base, name)
        return round_


def held(solution: Solution) -> dict[Id, tuple[Held, ...]]:
    """Return what each job gets on its servers; a job that waits is absent."""
    return {
        name: tuple(
            Held(int(server), gpus, gpus * given.cpus, gpus * given.memory)
            for server, gpus in given.gpus.items()
        )
        for name, given in solution.allocation.items()
    }


def speed(instance: Instance, job: Job, choice: Choice) -> Number:
    """Return the throughput with a choice, relative to that of the proportional share."""
    return simplify(Fraction(choice.throughput) / instance.shares[job.profile].throughput)


def instance(
    state: ClusterState,
    *,
    measured: str | None = None,
    split: str = "20/70/10",
    cpus_per_gpu: int = 3,
    memory_per_gpu: float = 62.5,
) -> Instance:
    """Return the jobs that Synergy would place at a moment under FIFO (section 4.2).

    Every job that runs or waits is a candidate, since all leases end with a round. They are taken
    in the order of submission as long as their GPUs fit what is left of the cluster's; a job that
    does not fit is skipped.

    Parameters
    ----------
    measured
        Path of a file of measured profiles; by default those of the random instances.
    split
        Weights of image, language and speech jobs, by which jobs get models that the trace does
        not name, see `dlsched.problems.sensitivity.instances.job_models.Assignment`.
    cpus_per_gpu, memory_per_gpu
        CPUs and GB of a server, divided by its GPUs.

    Raises
    ------
    OptionError
        If the servers differ, or an option cannot be used.
    """
    sizes = {server.gpus for server in state.servers}
    if len(sizes) != 1:
        raise OptionError(f"the servers have {sorted(sizes)} GPUs; sensitivity needs equal ones")
    gpus = sizes.pop()
    models = models_of(measured, cpus_per_gpu, memory_per_gpu)
    turns = Assignment(models.values(), split)
    jobs = sorted((*state.running, *state.waiting), key=lambda job: job.submit)
    free = state.gpus
    wishes = []
    for job in jobs:
        if job.gpus:
            model = models.get(job.model or "") or turns.next()
            if job.gpus <= free:
                free -= job.gpus
                wishes.append(Wish(job.id, model.name, job.gpus))
    servers = cluster(len(state.servers), gpus, cpus_per_gpu, gpus * memory_per_gpu)
    rounds = Rounds(servers, {name: model.profile for name, model in models.items()})
    return rounds.instance(wishes)
