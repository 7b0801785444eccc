"""The rounds of Synergy as instances of sensitivity, and their solutions as allocations."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, Final, NamedTuple

import numpy as np

from dlsched.api import solve
from dlsched.errors import InstanceError, OptionError
from dlsched.problems.sensitivity.definition.schema import Allocation as JobAllocation
from dlsched.problems.sensitivity.definition.schema import Choice, Instance, Job, Solution
from dlsched.problems.sensitivity.instances.state import Rounds, Wish, held, speed
from dlsched.problems.sensitivity.programs.pooled import ideal_allocation
from dlsched.run import Run
from dlsched.simulation.engine.decision import Allocation, PolicyError, Share
from dlsched.simulation.engine.state import State
from dlsched.simulation.policies.placement import Placement
from dlsched.simulation.policies.solving import Remembered, solved_by
from dlsched.simulation.policies.synergy_orders import Best, demands
from dlsched.simulation.workload.clock import TICKS
from dlsched.simulation.workload.cluster import Cluster
from dlsched.simulation.workload.workload import Workload

OPT: Final = "opt"
"""Stage one of Synergy-OPT alone."""
INDIFFERENT: Final = (OPT, "exact", "patterns", "milp", "price_round")
"""Methods that are indifferent to the order of the jobs: they get them sorted by
profile, so that rounds with the same profiles are one instance, solved once."""


class Given(NamedTuple):
    """What a job gets: its CPUs and memory per GPU with the throughput, and its allocation."""

    choice: Choice
    allocation: Allocation


Round = tuple[list[Given | None], Mapping[str, Any]]
"""What each job of a round gets, None if it waits, and how that was found."""


class RoundSolver:
    """Solves the rounds of one simulation.

    Attributes
    ----------
    kind
        A number for each job of the workload, equal for equal profiles and GPUs.
    best
        The best cases of all jobs.
    """

    def __init__(
        self, workload: Workload, cluster: Cluster, method: Any, options: Mapping[str, Any]
    ) -> None:
        self.workload = workload
        self.cluster = cluster
        self.method = method
        self.options = dict(options)
        self.rounds = Rounds(server_size(cluster), throughput_tables(workload))
        self.wishes = wishes(workload)
        kinds: dict[tuple[str, int], int] = {}
        self.kind = np.array(
            [kinds.setdefault((w.profile, w.gpus), len(kinds)) for w in self.wishes], np.int64
        )
        self.best = self._best_cases()
        self._known = Remembered[Round]()

    def serves(self, state: State) -> bool:
        """Return whether a state is of this simulation."""
        same = self.workload is state.workload and self.cluster is state.cluster
        return same and self.options["seed"] == state.seed

    def _best_cases(self) -> Best:
        instance = self.rounds.instance(self.wishes, may_wait=True)
        servers = instance.servers
        totals = [servers.count * x for x in (servers.gpus, servers.cpus, servers.memory)]
        by_profile = {}
        for name, best in instance.best_cases.items():
            gpus = instance.profiles[name].gpus
            demand = (gpus, gpus * best.cpus, gpus * best.memory)
            shares = [float(Fraction(d) / t) for d, t in zip(demand, totals, strict=True)]
            ratio = Fraction(best.throughput) / instance.shares[name].throughput
            by_profile[name] = (float(ratio), shares)
        rows = [by_profile[job.profile] for job in instance.jobs]
        speedup = np.array([r for r, _ in rows])
        return Best(speedup, np.array([s for _, s in rows]), demands(instance))

    def solve(
        self,
        positions: Sequence[int],
        *,
        may_wait: bool = False,
        remaining: Sequence[int] | None = None,
    ) -> tuple[list[tuple[int, Given]], Mapping[str, Any]]:
        """Return what jobs get, those that wait left out, and how that was found.

        Parameters
        ----------
        positions
            Positions of the jobs in the workload, in the order of the queue.
        may_wait
            Whether jobs may wait.
        remaining
            Remaining time of each in microseconds, for the method that wants it.

        Raises
        ------
        PolicyError
            If the method finds no solution.
        """
        if not positions:
            return [], {}
        ordered = list(positions)
        if isinstance(self.method, str) and self.method in INDIFFERENT:
            ordered.sort(key=lambda j: int(self.kind[j]))
        times = None if remaining is None else tuple(remaining)
        key = (may_wait, tuple(self.kind[ordered].tolist()), times)
        given, solved = self._known.get(key, lambda: self._solve(ordered, may_wait, remaining))
        pairs = zip(ordered, given, strict=True)
        return [(j, got) for j, got in pairs if got is not None], solved

    def _solve(
        self, positions: Sequence[int], may_wait: bool, remaining: Sequence[int] | None
    ) -> Round:
        wishes = [self.wishes[j]._replace(id=str(i)) for i, j in enumerate(positions)]
        instance = self.rounds.instance(wishes, may_wait=may_wait)
        if self.method == OPT:
            return self._ideal(instance), {"method": OPT}
        options = dict(self.options)
        if remaining is not None:
            seconds = (Fraction(max(1, time), TICKS) for time in remaining)
            options["remaining"] = {
                job.id: s for job, s in zip(instance.jobs, seconds, strict=True)
            }
        result = solve(instance, self.method, **options)
        if not isinstance(result.solution, Solution):
            raise PolicyError(f"{self.method} gives the round no solution: {result.reason}")
        shares = held(result.solution)
        given: list[Given | None] = []
        for job in instance.jobs:
            got = result.solution.allocation.get(job.id)
            if got is None:
                given.append(None)
                continue
            parts = tuple(
                Share(self.cluster.servers[h.server].id, h.gpus, h.cpus, h.memory)
                for h in shares[job.id]
            )
            given.append(Given(chosen(instance, job, got), Allocation(parts)))
        return given, solved_by(result)

    def _ideal(self, instance: Instance) -> list[Given | None]:
        """Return stage one's choices with GPUs alone: no server need have their CPUs and memory."""
        run = Run(seed=self.options.get("seed", 0))
        choices = ideal_allocation(instance, run)
        sizes = np.array([server.gpus for server in self.cluster.servers], np.int64)
        placement = Placement(self.cluster, sizes)
        given: list[Given | None] = []
        for job in instance.jobs:
            placed = placement.place(instance.profile(job).gpus)
            assert placed is not None, "the jobs of a round fit the GPUs"
            choice = choices[job.id]
            fast = speed(instance, job, choice)
            given.append(Given(choice, Allocation(placed.shares, speed=fast)))
        return given


def chosen(instance: Instance, job: Job, got: JobAllocation) -> Choice:
    """Return the CPUs and memory that a solution gives a job, with their throughput."""
    throughput = instance.profile(job).at(got.cpus, got.memory)
    assert throughput is not None, "the checker has accepted it"
    return Choice(got.cpus, got.memory, throughput)


def throughput_tables(workload: Workload) -> dict[str, dict[str, Any]]:
    """Return the matrices of a workload as `Rounds` takes them."""
    return {
        name: {"cpus": m.cpus, "memory": m.memory, "throughput": m.throughput}
        for name, m in workload.matrices.items()
    }


def server_size(cluster: Cluster) -> dict[str, Any]:
    """Return number, GPUs, CPUs and memory of the cluster's servers.

    Raises
    ------
    OptionError
        If they differ, or state no CPUs or memory.
    """
    sizes = {(server.gpus, server.cpus, server.memory) for server in cluster.servers}
    gpus, cpus, memory = next(iter(sizes))
    if len(sizes) > 1 or cpus is None or memory is None:
        raise OptionError(
            "Synergy's servers are alike and have CPUs and memory; write "
            "Cluster.uniform(servers, gpus, cpus=..., memory=...), or --cpus and --memory; for a "
            "record, set Server.cpus and memory (GB) of Period.cluster"
        )
    return {"count": len(cluster.servers), "gpus": gpus, "cpus": cpus, "memory": memory}


def wishes(workload: Workload) -> list[Wish]:
    """Return what the jobs ask for.

    Raises
    ------
    InstanceError
        If one has no matrix of throughput.
    """
    found = []
    for j, job in enumerate(workload.jobs):
        if job.profile is None:
            raise InstanceError(
                f"workload {workload.name}",
                f"jobs[{j}].profile",
                f"job {job.id} has no matrix of throughput by CPUs and memory",
                'read the trace with profiles="synergy" (--profiles synergy); for a record, set '
                "Workload.matrices and Job.profile",
            )
        found.append(Wish(job.id, job.profile, job.gpus))
    return found
