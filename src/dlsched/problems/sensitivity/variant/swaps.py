"""Jobs change servers until a rule allows what every server holds; their choices stay.

Two parts of jobs that take the same GPUs, CPUs and memory can change places on any servers, and
throughput and the number of split jobs stay as they are. A part may also move to where there is
room for it.
"""

from __future__ import annotations

from collections.abc import Iterator

from dlsched.problems.sensitivity.definition.schema import Allocation, Instance, Solution
from dlsched.problems.sensitivity.structures.server_patterns import Item
from dlsched.problems.sensitivity.variant import TUNABLES
from dlsched.problems.sensitivity.variant.allow import held_by_server
from dlsched.problems.sensitivity.variant.forbidden_sets import Allow
from dlsched.run import Run


def rearranged(instance: Instance, solution: Solution, allow: Allow, run: Run) -> Solution | None:
    """Return a solution of the same choices which a rule allows; ``None`` if none was found."""
    search = _Search(instance, solution, allow)
    return search.solution() if search.repair(run) else None


class _Search:
    """The jobs on every server, and how far these are from being allowed."""

    def __init__(self, instance: Instance, solution: Solution, allow: Allow) -> None:
        self.instance = instance
        self.allow = allow
        self.servers: list[dict[str, int]] = [{} for _ in range(instance.servers.count)]
        self.given = solution.allocation
        self.known: dict[tuple[tuple[str, int], ...], int] = {}
        for server, held in held_by_server(solution).items():
            self.servers[int(server)] = held

    def part(self, job: str, gpus: int) -> Item:
        """Return what a job takes on a server."""
        given = self.given[job]
        return Item(gpus, given.cpus, given.memory)

    def excess(self, held: dict[str, int]) -> int:
        """Return how many jobs of a server are not allowed, taken one after the other."""
        key = tuple(sorted(held.items()))
        if key not in self.known:
            kept: dict[str, int] = {}
            broken = bool(held) and not self.allow(self.instance, dict(held))
            for job, gpus in key if broken else ():
                if self.allow(self.instance, {**kept, job: gpus}):
                    kept[job] = gpus
            self.known[key] = max(1, len(key) - len(kept)) if broken else 0
        return self.known[key]

    def repair(self, run: Run) -> bool:
        """Change places until all servers are allowed; return whether they are."""
        for _ in range(TUNABLES.most_steps):
            broken = [s for s, held in enumerate(self.servers) if self.excess(held)]
            if not broken:
                return True
            if run.stop_reason():
                return False
            s = broken[int(run.rng.integers(len(broken)))]
            jobs = list(self.servers[s])
            self._improve(s, jobs[int(run.rng.integers(len(jobs)))], run)
        return False

    def _improve(self, s: int, job: str, run: Run) -> None:
        """Move a job off a server, or exchange it, if that helps; sometimes if it does not."""
        options = list(self._options(s, job))
        order = run.rng.permutation(len(options))[: TUNABLES.tried].tolist()
        for i in order:
            t, other = options[i]
            here, there = dict(self.servers[s]), dict(self.servers[t])
            there[job] = here.pop(job)
            if other is not None:
                here[other] = there.pop(other)
            gain = self.excess(self.servers[s]) + self.excess(self.servers[t])
            gain -= self.excess(here) + self.excess(there)
            if gain > 0 or run.rng.random() < TUNABLES.uphill:
                self.servers[s], self.servers[t] = here, there
                return

    def _options(self, s: int, job: str) -> Iterator[tuple[int, str | None]]:
        """Yield servers with a job to exchange, or with room."""
        part = self.part(job, self.servers[s][job])
        for t, held in enumerate(self.servers):
            if t == s or job in held:
                continue
            for other, gpus in held.items():
                if self.part(other, gpus) == part and other not in self.servers[s]:
                    yield t, other
            if self._fits(held, part):
                yield t, None

    def _fits(self, held: dict[str, int], part: Item) -> bool:
        parts = [*(self.part(job, gpus) for job, gpus in held.items()), part]
        servers = self.instance.servers
        return (
            sum(p.gpus for p in parts) <= servers.gpus
            and sum(p.gpus * p.cpus for p in parts) <= servers.cpus
            and sum(p.gpus * p.memory for p in parts) <= servers.memory
        )

    def solution(self) -> Solution:
        """Return the solution with the jobs where they are now."""
        gpus: dict[str, dict[str, int]] = {job: {} for job in self.given}
        for s, held in enumerate(self.servers):
            for job, count in held.items():
                gpus[job][str(s)] = count
        return Solution(
            allocation={
                job: Allocation(cpus=given.cpus, memory=given.memory, gpus=gpus[job])
                for job, given in self.given.items()
            }
        )
