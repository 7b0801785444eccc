"""MAST's rule a second time, from section 4.3 and the card, in fractions and without arrays."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from dlsched.problems.dispatch import Instance, rank

RESOURCES = ("gpus", "cpus", "memory")
Answer = tuple[dict[str, tuple[str, dict[str, tuple[str, dict[str, int]]]]], list[str]]
"""By workload its region, and by job cluster and tasks by machine; the victims, sorted."""


class Placing(NamedTuple):
    """A job's cluster, its tasks by machine, and its victims."""

    cluster: str
    on: dict[str, int]
    victims: tuple[str, ...]


class PlainMast:
    """The state: what is free on each machine, and who still runs."""

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        self.free: dict[str, list[Any]] = {}
        self.place: dict[str, tuple[str, int, str | None]] = {}
        for group in instance.groups:
            for k in range(group.machines.count):
                name = f"{group.machines.id}#{k}"
                self.free[name] = [Fraction(getattr(group.machines, r)) for r in RESOURCES]
                self.place[name] = (group.cluster, group.machines.rack, group.machines.gpu_type)
        self.running = {v.id: v for v in instance.running}
        self.runs = dict.fromkeys(self.running, True)
        self.priority = {v.id: instance.victim_priority(v) for v in instance.running}
        self.held: dict[str, dict[str, list[Any]]] = {v: {} for v in self.running}
        for v in instance.running:
            for job in v.jobs:
                for machine, tasks in job.on.items():
                    row = self.held[v.id].setdefault(machine, [0, 0, 0])
                    self.add(row, job, tasks)
                    self.add(self.free[machine], job, -tasks)

    @staticmethod
    def add(row: list[Any], job: Any, tasks: int) -> None:
        """Add what some tasks of a job need."""
        row[:] = [a + tasks * getattr(job, r) for a, r in zip(row, RESOURCES, strict=True)]

    def solve(self) -> Answer:
        """Return what starts where and who is preempted."""
        start, preempt = {}, []
        for ranked in rank(self.instance)[: 1 if self.instance.scope == "one" else None]:
            workload = self.instance.pending[ranked.position]
            plans = []
            for r in self.instance.regions_of(workload):
                clusters = [c.id for c in self.instance.regions[r].clusters]
                own = self.plan(clusters, workload.jobs, ranked.priority)
                if own is not None:
                    plans.append((self.score(own), r, own))
            if plans:
                _, r, best = min(plans, key=lambda plan: plan[:2])
                for job, placing in zip(workload.jobs, best, strict=True):
                    self.change(job, placing, 1)
                    preempt += placing.victims
                jobs = {j.id: p[:2] for j, p in zip(workload.jobs, best, strict=True)}
                start[workload.id] = (self.instance.regions[r].id, jobs)
        return start, sorted(preempt)

    def plan(
        self, clusters: Sequence[str], jobs: Sequence[Any], priority: int
    ) -> list[Placing] | None:
        """Return a region's plan, job by job in the best cluster."""
        found: list[Placing] = []
        for job in jobs:
            options = [p for c in clusters if (p := self.place_job(c, job, priority)) is not None]
            if not options:
                break
            found.append(min(options, key=lambda placing: self.score([placing])))
            self.change(job, found[-1], 1)
        for job, placing in zip(jobs, found, strict=False):
            self.change(job, placing, -1)
        return found if len(found) == len(jobs) else None

    def place_job(self, cluster: str, job: Any, priority: int) -> Placing | None:
        """Return where a job starts in a cluster, and for whom."""
        usable = [
            m for m, (c, _, kind) in self.place.items()
            if c == cluster and job.gpu_type in (None, kind)
        ]  # fmt: skip
        on = self.fill(usable, job, ())
        if on is not None:
            return Placing(cluster, on, ())
        victims = [v for v in self.running if self.runs[v] and self.priority[v] > priority
                   and any(m in self.held[v] for m in usable)]  # fmt: skip
        victims.sort(key=lambda v: (-self.priority[v], -self.running[v].seconds))
        scanned = self.until_enough(usable, job, victims)
        row = 0 if job.gpus else 1
        size = {v: sum(self.held[v][m][row] for m in usable if m in self.held[v]) for v in scanned}
        kept = self.until_enough(usable, job, sorted(scanned, key=lambda v: -size[v]))
        on = self.fill(usable, job, kept) if kept else None
        if on is None:
            return None
        return Placing(cluster, on, tuple(v for v in kept if any(m in on for m in self.held[v])))

    def until_enough(self, usable: Sequence[str], job: Any, order: Sequence[str]) -> list[str]:
        """Return the first victims that are enough; none if all are not."""
        parts = (list(order[:n]) for n in range(1, len(order) + 1))
        return next((part for part in parts if self.fill(usable, job, part) is not None), [])

    def fill(self, usable: Sequence[str], job: Any, gone: Sequence[str]) -> dict[str, int] | None:
        """Place a job's tasks if they fit: CPU machines first, then by rack, then most room."""
        room = {}
        for m in usable:
            released = [self.held[v].get(m, (0, 0, 0)) for v in gone]
            have = map(sum, zip(self.free[m], *released, strict=True))
            needs = [(a, getattr(job, r)) for a, r in zip(have, RESOURCES, strict=True)]
            room[m] = min(job.tasks, *(int(a // need) for a, need in needs if need))
        left, on = job.tasks, {}
        for m in sorted(
            (m for m in usable if room[m]),
            key=lambda m: (job.gpu_type is None and self.place[m][2] is not None,
                           self.place[m][1], -room[m]),
        ):  # fmt: skip
            if left:
                on[m] = min(left, room[m])
                left -= on[m]
        return None if left else on

    def score(self, placings: Sequence[Placing]) -> tuple[Any, ...]:
        """Return jobs preempted by priority, the victims' youth, machines and racks."""
        jobs, young = [0] * 8, Fraction(0)
        for v in (v for placing in placings for v in placing.victims):
            jobs[self.priority[v]] += len(self.running[v].jobs)
            young += max(0, 86400 - self.running[v].seconds)
        machines = {m for placing in placings for m in placing.on}
        return (jobs, young, len(machines) + len({self.place[m][:2] for m in machines}))

    def change(self, job: Any, placing: Placing, sign: int) -> None:
        """Carry a job's plan out, or undo it with the sign -1."""
        for v in placing.victims:
            self.runs[v] = sign < 0
            for m, row in self.held[v].items():
                self.free[m] = [a + sign * b for a, b in zip(self.free[m], row, strict=True)]
        for m, tasks in placing.on.items():
            self.add(self.free[m], job, -sign * tasks)
