"""Servers of Synergy's public simulator: first fit, and TUNE's reverting of other jobs."""

from dlsched.simulation.engine.decision import PolicyError
from published.synergy.jobs import SimulatedJob


class Servers:
    """Free GPUs, CPUs and memory (GB) of identical servers in one round.

    Attributes
    ----------
    hosted
        The jobs on each server. TUNE sorts these lists in place, so that their order, which
        decides between jobs with equal keys, outlasts it.
    """

    def __init__(self, count: int, gpus: int, cpus: float, memory: float) -> None:
        self.gpus = [gpus] * count
        self.cpus = [cpus] * count
        self.memory = [memory] * count
        self.share = (cpus / gpus, memory / gpus)
        self.free = count * gpus
        self.hosted: list[list[SimulatedJob]] = [[] for _ in range(count)]

    def first_fit(self, job: SimulatedJob, demand: tuple[float, float]) -> dict[int, int] | None:
        """Return the first GPUs beside which a job's share of its demand is free, by server."""
        cpus, memory = demand[0] / job.gpus, demand[1] / job.gpus
        shares: dict[int, int] = {}
        missing = job.gpus
        for s, free in enumerate(self.gpus):
            if not free:
                continue
            left_cpus, left_memory, count = self.cpus[s], self.memory[s], 0
            while count < free and count < missing and left_cpus >= cpus and left_memory >= memory:
                left_cpus -= cpus
                left_memory -= memory
                count += 1
            if count:
                shares[s] = count
                missing -= count
                if not missing:
                    return shares
        return None

    def place(self, job: SimulatedJob, demand: tuple[float, float], shares: dict[int, int]) -> None:
        """Give a job its demand on these GPUs."""
        job.shares, (job.cpus, job.memory) = shares, demand
        for s, count in shares.items():
            self.gpus[s] -= count
            self.hosted[s].append(job)
        self.free -= job.gpus
        self._change(job, -1)

    def _change(self, job: SimulatedJob, sign: int) -> None:
        for s, count in job.shares.items():
            self.cpus[s] += sign * job.cpus * count / job.gpus
            self.memory[s] += sign * job.memory * count / job.gpus

    # Mechanisms for one job; each returns whether it was placed.

    def proportional(self, job: SimulatedJob) -> bool:
        """Place a job with its proportional share."""
        job.speedup = 1.0
        return self._try(job, job.fair)

    def greedy(self, job: SimulatedJob) -> bool:
        """Place a job with its best case, or not at all."""
        return self._try(job, job.best)

    def tune(self, job: SimulatedJob) -> bool:
        """Place a job with its best case or its share, reverting others to theirs if necessary.

        Raises
        ------
        PolicyError
            Where the public simulator stops: the job does not fit even so.
        """
        if self._try(job, job.best):
            return True
        demand = job.best
        if job.above_share:
            demand, job.speedup = job.fair, 1.0
            if self._try(job, demand):
                return True
        for s, count in self._with_gpus(job.gpus).items():
            ratio = count / job.gpus
            needed = (demand[0] * ratio, demand[1] * ratio)
            for peer in self._peers(s, needed):
                self._revert(peer)
        if not self._try(job, demand):
            raise PolicyError(
                f"the public simulator cannot place a job of {job.gpus} GPUs by TUNE and stops; "
                "use method='tune_public', or the variant 'paper'"
            )
        return True

    def _try(self, job: SimulatedJob, demand: tuple[float, float]) -> bool:
        shares = self.first_fit(job, demand)
        if shares is not None:
            self.place(job, demand, shares)
        return shares is not None

    def _with_gpus(self, gpus: int) -> dict[int, int]:
        """Return servers with enough free GPUs: the first that has all, or the fullest ones."""
        if gpus > 1:
            for s, free in enumerate(self.gpus):
                if free >= gpus:
                    return {s: gpus}
        shares: dict[int, int] = {}
        for free, s in sorted((free, s) for s, free in enumerate(self.gpus) if free):
            shares[s] = min(free, gpus)
            gpus -= shares[s]
            if not gpus:
                break
        return shares

    def _peers(self, s: int, needed: tuple[float, float]) -> list[SimulatedJob]:
        """Return the jobs to revert: in order of CPUs per GPU, until enough would be released.

        A job that releases nothing of what is missing is reverted too if it comes before.
        """
        missing = [max(0, needed[0] - self.cpus[s]), max(0, needed[1] - self.memory[s])]
        if not any(missing):
            return []
        hosted = self.hosted[s]
        hosted.sort(key=lambda j: (len(j.shares), -(j.cpus / j.gpus), -(j.memory / j.gpus)))
        chosen = []
        for peer in hosted:
            count = peer.shares[s]
            held = (peer.cpus * count / peer.gpus, peer.memory * count / peer.gpus)
            excess = [max(0, held[r] - self.share[r] * count) for r in (0, 1)]
            missing = [max(0, m - e) for m, e in zip(missing, excess, strict=True)]
            chosen.append(peer)
            if not any(missing):
                break
        return chosen

    def _revert(self, job: SimulatedJob) -> None:
        """Give a job its proportional share instead, unless its best case is within it."""
        self._change(job, 1)
        job.speedup = 1.0
        job.cpus, job.memory = job.fair if job.above_share else job.best
        self._change(job, -1)
        if any(self.cpus[s] < 0 or self.memory[s] < 0 for s in job.shares):
            raise PolicyError(
                "the public simulator reverts a job to a share that is not free and stops; "
                "use method='tune_public', or the variant 'paper'"
            )
