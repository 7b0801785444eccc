"""AntMan: guaranteed jobs hold GPUs, opportunistic ones use what these leave over."""

import math
from bisect import insort
from collections.abc import Sequence

from published.muri.jobs import JobState
from published.muri.kinds import GPU, LOAD, NETWORK, Stages
from published.muri.loop import Policy
from published.muri.recorder import Held
from published.muri.servers import Servers, Shares

GUARANTEED = 0
"""The priority of jobs whose GPUs are theirs; all others are opportunistic."""
LOW, HIGH = 0.1, 0.9
"""Utilisation of a GPU that counts for a guaranteed job, and for an opportunistic one."""
AT_START = 0.01
"""The part of `LOW` that counts from the start only, not while GPUs are reserved."""
LIMIT = 0.8
"""Opportunistic jobs take GPUs below this utilisation."""

Place = tuple[int, int]
"""(server, GPU on it)."""


class AntMan(Policy):
    """Jobs by priority, submission and position; none is preempted.

    A guaranteed job that does not fit keeps the GPUs that it gets until it has all: up to a
    server's GPUs those of the first server with most, beyond that whole servers. It ignores
    opportunistic jobs, which run on the least utilised GPUs anywhere.
    """

    def __init__(self, servers: Servers) -> None:
        super().__init__()
        self.sizes, self.full = servers.sizes, servers.full
        places = [(s, g) for s, size in enumerate(self.sizes) for g in range(size)]
        self.utilisation = dict.fromkeys(places, 0.0)
        self.guaranteed: dict[Place, JobState | None] = dict.fromkeys(places)
        self.unowned = len(places)
        self.room: list[Place] | None = None
        self.taken: dict[int, list[Place]] = {}
        self.server: dict[int, int] = {}

    def arrive(self, job: JobState) -> None:
        """Insert a job in its order."""
        insort(self.jobs, job, key=lambda job: (job.priority, job.submit, job.index))
        self.taken[job.index] = []

    def leave(self, ended: Sequence[JobState]) -> None:
        """Free the jobs' GPUs."""
        super().leave(ended)
        self.room = None
        for job in ended:
            for place in self.taken.pop(job.index):
                if job.priority == GUARANTEED:
                    self.guaranteed[place] = None
                    self.unowned += 1
                    self.utilisation[place] -= LOW
                else:
                    self.utilisation[place] -= HIGH

    def decide(self, now: float) -> dict[int, Held]:
        """Start waiting jobs that get all their GPUs; update the opportunistic jobs' speeds."""
        for job in self.jobs:
            if not job.running:
                start = self._reserve if job.priority == GUARANTEED else self._squeeze
                job.running = start(job)
        self.running = [job for job in self.jobs if job.running]
        held = {}
        for job in self.running:
            beside = {other.index: other for other in self._beside(job)}
            job.iteration = max([job.tau, *(slowed(job, c) for c in beside.values())])
            held[job.index] = Held(self._shares(job), None, job.iteration)
        return held

    def _beside(self, job: JobState) -> list[JobState]:
        """Return the guaranteed jobs that run on an opportunistic job's GPUs."""
        if job.priority == GUARANTEED:
            return []
        owners = [self.guaranteed[place] for place in self.taken[job.index]]
        return [owner for owner in owners if owner is not None and owner.running]

    def _squeeze(self, job: JobState) -> bool:
        """Give an opportunistic job the least utilised GPUs, if enough are below the limit."""
        if self.room is None:
            self.room = [place for place, used in self.utilisation.items() if used < LIMIT]
            self.room.sort(key=self.utilisation.__getitem__)
        if len(self.room) < job.gpus:
            return False
        self.taken[job.index] = self.room[: job.gpus]
        self.room = None
        for place in self.taken[job.index]:
            self.utilisation[place] += HIGH
        return True

    def _reserve(self, job: JobState) -> bool:
        """Give a guaranteed job GPUs that it keeps; return whether it has all and starts."""
        if not self.unowned:
            return False
        self.room = None
        needed = job.gpus - len(self.taken[job.index])
        if job.gpus > self.full:
            for server in range(len(self.sizes)):
                free = self._free(server)
                if needed >= self.full and len(free) >= self.full:
                    self._take(job, free)
                    needed -= self.full
        if 0 < needed < self.full or job.gpus <= self.full:
            server = self.server.get(job.index, -1)
            if server < 0:
                server = self._server(needed)
            if server >= 0:
                free = self._free(server)[:needed]
                if free:
                    self.server[job.index] = server
                self._take(job, free)
                needed -= len(free)
        if needed:
            return False
        for place in self.taken[job.index]:
            self.utilisation[place] += AT_START
        return True

    def _server(self, needed: int) -> int:
        """Return the first server with room, or else the first with most free GPUs; -1 if none."""
        free = [len(self._free(server)) for server in range(len(self.sizes))]
        for server, count in enumerate(free):
            if count >= needed:
                return server
        return free.index(max(free)) if any(free) else -1

    def _free(self, server: int) -> list[Place]:
        """Return a server's GPUs that no guaranteed job has."""
        places = ((server, gpu) for gpu in range(self.sizes[server]))
        return [place for place in places if self.guaranteed[place] is None]

    def _take(self, job: JobState, places: Sequence[Place]) -> None:
        self.unowned -= len(places)
        for place in places:
            self.guaranteed[place] = job
            self.utilisation[place] += LOW - AT_START
        self.taken[job.index] += places

    def _shares(self, job: JobState) -> Shares:
        """Return the job's GPUs by server."""
        count: dict[int, int] = {}
        for server, _ in self.taken[job.index]:
            count[server] = count.get(server, 0) + 1
        return tuple(sorted(count.items()))


def slowed(job: JobState, beside: JobState) -> float:
    """Return the seconds of an opportunistic job's iteration beside a guaranteed one.

    Each of its stages uses what the other's iterations leave free, whole ones of these at a time.
    """
    load, gpu, network = job.stages
    other: Stages = beside.stages
    idle = other[GPU] + other[NETWORK]
    iterations = math.floor(load / idle)
    rest = load % idle
    if rest > 0:
        iterations += 1
        gpu -= min(gpu, other[NETWORK], idle - rest)
    idle = other[LOAD] + other[NETWORK]
    iterations += math.floor(gpu / idle)
    rest = gpu % idle
    if rest > 0:
        iterations += 1
        if rest < other[LOAD]:
            network -= min(network, other[LOAD] + other[GPU] - rest)
    idle = other[LOAD] + other[GPU]
    iterations += math.floor(network / idle)
    if network % idle > other[LOAD]:
        iterations += 1
    return iterations * beside.tau
