"""One job after another placed as in Synergy-TUNE (Synergy, section 4.2)."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from dlsched.errors import OptionError
from dlsched.problems.sensitivity.cluster import Cluster, Placed
from dlsched.problems.sensitivity.schema import Choice, Instance, Job

FITS = ("best", "first")
PEERS = ("just enough", "cpu per gpu")


def best_case(instance: Instance, job: Job) -> Choice:
    """Return a job's best-case demand (section 3.2), see `Instance.best_cases`."""
    return instance.best_cases[job.profile]


class Tuner:
    """Places jobs one by one, and takes back what earlier ones hold above their share.

    Parameters
    ----------
    fit
        ``"best"``: the server with least free that takes a job, else the fewest servers.
        ``"first"``: servers in their order, as in the authors' public code.
    peers
        Who is reverted first. ``"just enough"``: the job that alone releases what is lacking, with
        the least beyond it; if none does, the one that releases most of it. ``"cpu per gpu"``, as
        in the public code: jobs on the fewest servers first, of these the one with most CPUs per
        GPU, then most memory.

    Raises
    ------
    OptionError
        If `fit` or `peers` is neither.
    """

    def __init__(self, cluster: Cluster, fit: str, peers: str) -> None:
        for name, value, known in (("fit", fit, FITS), ("peers", peers, PEERS)):
            if value not in known:
                raise OptionError(f"{name}={value!r} must be one of {', '.join(known)}")
        self.cluster, self.instance = cluster, cluster.instance
        self.first = fit == "first"
        self.fit = cluster.first_fit if self.first else cluster.best_fit
        self.rank: Callable[..., Any] = (
            self._cpu_per_gpu if peers == "cpu per gpu" else self._just_enough
        )

    def place(self, job: Job) -> bool:
        """Place a job, reverting others if need be; false if no servers have the GPUs for it."""
        cluster, fair = self.cluster, self.instance.proportional(job.profile)
        demand = best_case(self.instance, job)
        placed = self.fit(job, demand)
        if placed is None and (demand.cpus > fair.cpus or demand.memory > fair.memory):
            demand = fair
            placed = self.fit(job, demand)
        if placed is None:
            placed = self._with_gpus(self.instance.profile(job).gpus)
            if placed is None:
                return False
            self._release(placed, demand)
        cluster.place(job, demand, placed)
        return True

    def _with_gpus(self, gpus: int) -> Placed | None:
        """Return servers with enough free GPUs, whatever CPUs and memory are free there.

        One with just enough, else the fewest. The public code takes the first one that has enough
        for a job of several GPUs, and collects the rest from those with fewest free GPUs.
        """
        free = self.cluster.free[:, 0]
        whole = np.flatnonzero(free >= gpus)
        if len(whole):
            chosen = whole[0] if self.first and gpus > 1 else whole[np.argmin(free[whole])]
            return {int(chosen): gpus}
        if not self.cluster.may_split(gpus) or free.sum() < gpus:
            return None
        placed: Placed = {}
        for s in np.argsort(free if self.first else -free, kind="stable").tolist():
            take = min(int(free[s]), gpus)
            if take:
                placed[s] = take
                gpus -= take
        return placed

    def _release(self, placed: Placed, demand: Choice) -> None:
        """Revert jobs to their share until these servers have what is asked for.

        A job is reverted on all its servers, and its CPUs or its memory may rise there. A server
        that this overloads reverts its own jobs in turn. It ends, as each step leaves one job
        fewer above its share, and with enough: where nobody is above it in a resource, every
        free GPU has its share of it left, and the demand is no more than that.
        """
        need = {s: gpus * self.cluster.demand(demand) for s, gpus in placed.items()}
        waiting = list(placed)
        while waiting:
            server = waiting[-1]
            lack = self._lack(server, need)
            if not lack.any():
                waiting.pop()
                continue
            name = min(self._above(server, lack), key=lambda n: self.rank(n, server, lack))
            job = self.cluster.jobs[name]
            self.cluster.change(name, self.instance.proportional(job.profile))
            # Servers that had enough may lack something now.
            waiting = [s for s in self.cluster.given[name][1] if s not in waiting] + waiting

    def _lack(self, server: int, need: dict[int, Any]) -> Any:
        missing = need.get(server, 0 * self.cluster.full) - self.cluster.free[server]
        return np.where(missing > 0, missing, 0 * missing)

    def _above(self, server: int, lack: Any) -> list[str]:
        """Return the jobs on a server that are above their share in what is lacking."""
        share = self.cluster.share
        return [
            name
            for name in self.cluster.hosts[server]
            if (lack[1] and self.cluster.given[name][0].cpus > share[0])
            or (lack[2] and self.cluster.given[name][0].memory > share[1])
        ]

    def _cpu_per_gpu(self, name: str, server: int, lack: Any) -> Any:
        choice, placed = self.cluster.given[name]
        return len(placed), -choice.cpus, -choice.memory

    def _just_enough(self, name: str, server: int, lack: Any) -> Any:
        """Order by what is still lacking after a job is reverted, then by what is left over.

        Both as shares of the server's CPUs and memory, added up **(D)**.
        """
        cluster = self.cluster
        now = cluster.given[name][0]
        fair = self.instance.proportional(cluster.jobs[name].profile)
        released = cluster.hosts[server][name] * (cluster.demand(now) - cluster.demand(fair))
        balance = [Fraction(int(lack[r] - released[r]), int(cluster.full[r])) for r in (1, 2)]
        return sum(max(b, Fraction(0)) for b in balance), -sum(balance)
