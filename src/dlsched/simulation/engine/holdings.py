"""What the jobs hold: starts, ends and changes of speed, with a row of the log for each stretch."""

import heapq
import json
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from dlsched.schema import Id
from dlsched.simulation.engine.decision import Allocation, Decision, PolicyError, Share
from dlsched.simulation.engine.jobs import Jobs, Progress
from dlsched.simulation.engine.resources import Resources, amount, checked
from dlsched.simulation.engine.speeds import speed
from dlsched.simulation.log import Ending, Log, Segment
from dlsched.simulation.workload.clock import HORIZON, ticks
from dlsched.simulation.workload.cluster import Cluster
from dlsched.simulation.workload.eligibility import Eligibility
from dlsched.simulation.workload.workload import Workload

NEVER = float("inf")


class _End(NamedTuple):
    """When a job, or a part of its training, will be complete.

    Unless its stretch, of this version, ends before.
    """

    time: int
    job: int
    version: int


class Holdings:
    """The jobs present, by position in the workload, and what they hold.

    Attributes
    ----------
    jobs
        The jobs, and their progress.
    held
        What each running job holds, in the order of their last start.
    members
        The jobs of each group that shares GPUs.
    """

    def __init__(
        self,
        workload: Workload,
        cluster: Cluster,
        where: Eligibility,
        log: Log,
        *,
        estimated: bool = True,
    ) -> None:
        self.workload, self.cluster, self.where, self.log = workload, cluster, where, log
        self.position = {job.id: j for j, job in enumerate(workload.jobs)}
        self.jobs = Jobs(workload, estimated)
        self.active = self.jobs.active
        self.held: dict[Id, Allocation] = {}
        self.members: dict[Id, list[int]] = {}
        self.resources = Resources(cluster)
        self._ends: list[_End] = []
        # With a loan there are rules beside eligibility, for pairs of servers.
        self._restricted = not where.everywhere or bool(cluster.loan_servers)

    def arrive(self, j: int) -> None:
        """Add a job at its submission."""
        work = self.workload.jobs[j].work_ticks
        self.jobs.add(j, Progress(left=work, since=int(self.jobs.submit[j]), least=work))

    def next_end(self) -> float:
        """Return when the next job, or part of one, will be complete if nothing changes."""
        while self._ends:
            end = self._ends[0]
            progress = self.active.get(end.job)
            if progress is not None and progress.version == end.version:
                return end.time
            heapq.heappop(self._ends)
        return NEVER

    def least_left(self, now: int) -> int:
        """Return the least work that was ever left, of all jobs present together."""
        return sum(min(p.least, p.left - p.done(now)) for p in self.active.values())

    def complete(self, now: int) -> int:
        """Remove the jobs that are complete at this time; return how many. Others change speed."""
        groups = set()
        count = 0
        while self.next_end() == now:
            j = heapq.heappop(self._ends).job
            if self.active[j].rest:
                self._set_speed(j, now)
                continue
            groups.add(self._release(j, now, Ending.COMPLETED))
            self.jobs.leave(j)
            self.log.add("completions", (j, now))
            count += 1
        self._set_speeds(groups, now)
        return count

    def change(self, now: int, number: int, decision: Decision) -> tuple[int, int, int]:
        """Preempt and start jobs; return how many start or move, move, and are preempted.

        The decision's number is for the log.

        Raises
        ------
        PolicyError
            If that is impossible.
        """
        preempt, start = decision.preempt, decision.start
        if not preempt and not start:
            return 0, 0, 0
        groups: set[Id | None] = set()
        for name in preempt:
            if name not in self.held or name in start:
                raise PolicyError(f"job {name} is preempted, but does not run, or is started too")
            groups.add(self._preempt(self.position[name], now))
        new = {name: self._checked(name, allocation) for name, allocation in start.items()}
        changed = {name: new[name] for name in new if self.held.get(name) != new[name]}
        moved = [name for name in changed if name in self.held]
        for name in changed:
            if name not in self.held:
                self.jobs.start(self.position[name])
        groups.update(self._release(self.position[name], now, Ending.CHANGED) for name in moved)
        for name, allocation in changed.items():
            j = self.position[name]
            pause = self._pause(j, decision)
            self._start(j, allocation, now, pause)
            groups.add(allocation.group)
            given = None if allocation.speed is None else str(allocation.speed)
            self.log.add("starts", (number, j, pause, given))
        self._set_speeds(groups, now)
        return len(changed), len(moved), len(preempt)

    def _pause(self, j: int, decision: Decision) -> int | None:
        """Return the ticks without progress with which a job starts; None for its restart."""
        job = self.workload.jobs[j]
        stated = amount(job, "overhead", decision.overhead.get(job.id))
        if stated is None and self.active[j].first_start is None:
            stated = job.startup
        pause = None if stated is None else ticks(stated)
        if pause is not None and pause >= HORIZON // self.cluster.gpus:
            raise PolicyError(f"job {job.id}: an overhead of {stated} s is too long")
        return pause

    def _preempt(self, j: int, now: int) -> Id | None:
        """Stop a job, which waits from now on; return the group that it leaves."""
        group = self._release(j, now, Ending.PREEMPTED)
        self.active[j].preemptions += 1
        self.jobs.stop(j)
        return group

    def vacate(self, server: Id, now: int) -> None:
        """Preempt the jobs on a server that goes away, and take it away."""
        held = [name for name, a in self.held.items() if any(s.server == server for s in a.shares)]
        self._set_speeds([self._preempt(self.position[name], now) for name in held], now)
        self.resources.shut(server)

    def withdraw(self, j: int) -> bool:
        """Remove a job that waits; return whether it did."""
        if j not in self.active or self.active[j].allocation is not None:
            return False
        self.jobs.leave(j)
        return True

    def _checked(self, name: Id, allocation: Allocation) -> Allocation:
        j = self.position.get(name)
        if j is None or j not in self.active:
            raise PolicyError(f"job {name} is started, but is not present at this time")
        job = self.workload.jobs[j]
        usable = self.where.servers[self.where.of_job[j]] if self._restricted else None
        matrix = self.workload.matrices.get(job.profile or "")
        return checked(job, allocation, self.cluster, matrix, usable)

    def _start(self, j: int, new: Allocation, now: int, overhead: int | None) -> None:
        job = self.workload.jobs[j]
        progress = self.active[j]
        members = [] if new.group is None else self.members.setdefault(new.group, [])
        if not members:
            self.resources.take(new.shares, job.id)
        elif self.held[self.workload.jobs[members[0]].id].shares != new.shares:
            raise PolicyError(
                f"jobs of the group {new.group} hold different GPUs, CPUs or memory; they share "
                "all: state the CPUs and memory if their proportional shares differ"
            )
        members.append(j)
        progress.allocation = new
        progress.gpus = new.gpus
        progress.since = now
        progress.working = now + (job.restart_ticks if overhead is None else overhead)
        if progress.first_start is None:
            progress.first_start = now
        self.held[job.id] = new
        if new.group is None:
            self._set_speed(j, now)

    def _release(self, j: int, now: int, ending: Ending) -> Id | None:
        """End a job's stretch and free what it holds; return the group that it leaves."""
        self._close(j, now, ending)
        progress = self.active[j]
        allocation = self.held.pop(self.workload.jobs[j].id)
        progress.allocation = None
        progress.gpus = 0
        if allocation.group is not None:
            self.members[allocation.group].remove(j)
            if self.members[allocation.group]:
                return allocation.group
            del self.members[allocation.group]
        self.resources.give(allocation.shares)
        return None

    def _set_speeds(self, groups: Iterable[Id | None], now: int) -> None:
        """Set the speeds of the jobs of groups that have changed."""
        for group in sorted(self.members.keys() & groups) if self.members else ():
            for j in self.members[group]:
                self._set_speed(j, now)

    def _set_speed(self, j: int, now: int) -> None:
        job = self.workload.jobs[j]
        progress = self.active[j]
        allocation = progress.allocation
        assert allocation is not None, "only running jobs have a speed"
        members = self.members[allocation.group] if allocation.group is not None else []
        partners = [self.workload.jobs[other] for other in members if other != j]
        matrix = self.workload.matrices.get(job.profile or "")
        part = rest = 0
        if job.goodput is not None:
            part = job.part(job.work_ticks - progress.left + progress.done(now))
            rest = job.work_ticks - [*job.part_ends, job.work_ticks][part]
        new = speed(job, allocation, self.cluster, partners, matrix, part)
        if progress.since < now and (new, rest) == (progress.speed, progress.rest):
            return
        if progress.since < now and new != progress.speed:
            self._close(j, now, Ending.CHANGED)
        progress.speed, progress.rest = new, rest
        progress.version += 1
        self.jobs.update(j, progress)
        self._expect_end(j, progress)

    def _expect_end(self, j: int, progress: Progress) -> None:
        end = progress.end()
        if end is not None:
            heapq.heappush(self._ends, _End(end, j, progress.version))

    def _close(self, j: int, now: int, ending: Ending) -> None:
        """End the present stretch of a job, and log it unless it has no length."""
        job = self.workload.jobs[j]
        progress = self.active[j]
        allocation = progress.allocation
        assert allocation is not None, "only running jobs have a stretch"
        start = progress.since
        overhead = min(progress.working, now) - start
        work = progress.close(now)
        lost = 0
        if ending is Ending.PREEMPTED and not job.checkpoints:
            progress.least = min(progress.least, progress.left)
            lost = job.work_ticks - progress.left
            progress.left = job.work_ticks
        if now > start or ending is not Ending.CHANGED:
            row = Segment(
                job=j,
                start=start,
                end=now,
                gpus=progress.gpus,
                shares=_json(allocation.shares),
                sharing=allocation.group,
                speed=str(progress.speed),
                overhead=overhead,
                work=work,
                lost=lost,
                ending=ending,
            )
            self.log.add("segments", row)

    def to_data(self) -> dict[str, Any]:
        """Return the jobs present as JSON values; of jobs that never started, their positions."""
        new = {j: p.first_start is None for j, p in self.active.items()}
        return {
            "active": [[j, p.to_data()] for j, p in self.active.items() if not new[j]],
            "unstarted": [j for j in self.active if new[j]],
            "held": list(self.held),
            "servers": list(self.resources.gpus),
            "members": self.members,
        }

    def restore(self, data: Mapping[str, Any]) -> None:
        """Take over what `to_data` returned."""
        self.resources.open(name for name in data["servers"] if name not in self.resources.gpus)
        for name in self.resources.gpus.keys() - set(data["servers"]):
            self.resources.shut(name)
        started = {j: Progress.from_data(values) for j, values in data["active"]}
        for j in sorted({*started, *data["unstarted"]}):
            if j in started:
                self.jobs.add(j, started[j])
            else:
                self.arrive(j)
        self.members = {name: list(jobs) for name, jobs in data["members"].items()}
        shared = {j for jobs in self.members.values() for j in jobs[1:]}
        for name in data["held"]:
            j = self.position[name]
            progress = self.active[j]
            assert progress.allocation is not None, "it runs"
            self.jobs.start(j)
            self.held[name] = progress.allocation
            if j not in shared:
                self.resources.take(progress.allocation.shares, name)
            self._expect_end(j, progress)


@lru_cache(maxsize=10_000)
def _json(shares: tuple[Share, ...]) -> str:
    """Return shares for the log; most are of one server, and come again and again."""
    return json.dumps([_data(share) for share in shares])


def _data(share: Share) -> list[Any]:
    held: list[Any] = [share.server, share.gpus]
    if any(extra is not None for extra in share[2:]):
        held += [None if x is None else float(x) for x in (share.cpus, share.memory)]
    return held
