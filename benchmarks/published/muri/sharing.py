"""Muri-S and Muri-L: jobs in order of their service, grouped so that they share GPUs."""

from collections.abc import Sequence
from operator import attrgetter

from published.muri.grouping import Buckets, Grouping
from published.muri.jobs import JobState
from published.muri.kinds import Group, Kinds
from published.muri.loop import Policy
from published.muri.recorder import Held
from published.muri.servers import Servers
from published.muri.tiresias import InQueues

BY_KEY = attrgetter("key")
BY_SIZE = attrgetter("gpus")


class Sharing(Policy):
    """Muri's policy; jobs are sorted by service, selected, grouped, and placed, largest first.

    Parameters
    ----------
    known
        Whether the key is remaining GPU-seconds (Muri-S) instead of attained ones (Muri-L).
        The former are GPUs times the trace's duration until a job has run through an event.
    grouping
        Decides which of the selected jobs share GPUs.
    largest
        Most jobs in a group.
    split
        Whether groups whose iteration takes longer than those of their jobs one after another are
        dissolved, and all are selected anew by first fit, by least key.
    """

    arrival_slack = 1e-4

    def __init__(
        self,
        servers: Servers,
        kinds: Kinds,
        grouping: Grouping,
        *,
        known: bool,
        largest: int,
        split: bool,
    ) -> None:
        super().__init__()
        self.servers, self.kinds, self.grouping = servers, kinds, grouping
        self.known, self.largest, self.split = known, largest, split
        self.gpus = sum(servers.sizes)

    def arrive(self, job: JobState) -> None:
        """Append a job with its key."""
        super().arrive(job)
        job.key = job.duration * job.gpus if self.known else 0.0

    def updated(self, job: JobState) -> None:
        """Set the key from what is left, or from what was attained."""
        job.key = (job.left * job.tau if self.known else job.attained) * job.gpus

    def decide(self, now: float) -> dict[int, Held]:
        """Select, group and place jobs."""
        groups = self._groups()
        self.jobs.sort(key=BY_SIZE, reverse=True)
        held = self._placed({job.index: group for group in groups for job in group.jobs})
        self._settle()
        return held

    def _groups(self) -> list[Group]:
        """Return the groups of jobs selected by least key."""
        self.jobs.sort(key=BY_KEY)
        return self._grouped(self.jobs)

    def _settle(self) -> None:
        """Update what depends on which jobs run."""

    def _grouped(self, order: Sequence[JobState]) -> list[Group]:
        """Return the groups of jobs selected in this order, which is that of their keys."""
        buckets = self.grouping(self._selected(order), self.gpus)
        groups = [group for bucket in buckets.values() for group in bucket]
        return self._split(groups) if self.split else groups

    def _selected(self, order: Sequence[JobState]) -> Buckets:
        """Return jobs by GPUs: whenever the next one fits, as many as a group can hold."""
        buckets: dict[int, list[JobState]] = {}
        for job in order:
            buckets.setdefault(job.gpus, []).append(job)
        covered = dict.fromkeys(buckets, 0)
        passed = dict.fromkeys(buckets, 0)
        self.servers.empty()
        for job in order:
            size = job.gpus
            passed[size] += 1
            if passed[size] > covered[size] and self.servers.place(size) is not None:
                covered[size] = min(covered[size] + self.largest, len(buckets[size]))
                if not self.servers.left:
                    break
        return {
            size: [self.kinds.single(job) for job in jobs[: covered[size]]]
            for size, jobs in buckets.items()
            if covered[size]
        }

    def _split(self, groups: list[Group]) -> list[Group]:
        """Dissolve groups that lose time; return those that fit, by least key."""
        kept: list[Group] = []
        for group in groups:
            alone = [job.tau for job in group.jobs]
            if self.kinds.time(group, best=True) / sum(alone) > 1:
                kept += map(self.kinds.single, group.jobs)
            else:
                kept.append(group)
        kept.sort(key=lambda group: min(job.key for job in group.jobs))
        self.servers.empty()
        return [group for group in kept if self.servers.place(group.gpus) is not None]

    def _placed(self, group_of: dict[int, Group]) -> dict[int, Held]:
        """Place groups in the order of the list; what does not fit waits."""
        self.servers.empty()
        for job in self.running:
            job.running = False
        self.running = []
        held_of: dict[int, tuple[Held, float]] = {}
        held = {}
        for job in self.jobs:
            group = group_of.get(job.index)
            if group is None:
                continue
            first = group.jobs[0].index
            if first not in held_of:
                shares = self.servers.place(job.gpus)
                if shares is None:
                    continue
                name = None
                if len(group.jobs) > 1:
                    name = "+".join(str(i) for i in sorted(member.index for member in group.jobs))
                overhead = sum(member.restart for member in group.jobs)
                held_of[first] = Held(shares, name, self.kinds.time(group)), overhead
            held[job.index], job.overhead = held_of[first]
            job.iteration = held[job.index].iteration
            job.running = True
            self.running.append(job)
        return held


class QueuedSharing(InQueues, Sharing):
    """Muri-L in the queues of Tiresias: jobs are selected, and groups dissolved, in their order.

    It is a function of the public code that none of its policies calls. Muri-L of Figure 13 with
    one kind of bottleneck was printed with it, the rest of the figure without.

    Parameters
    ----------
    *arguments, **options
        Of `Sharing`; durations are not known.
    """

    def _groups(self) -> list[Group]:
        """Return the groups of jobs selected queue by queue."""
        order = self.in_order()
        for place, job in enumerate(order):
            job.key = place
        return self._grouped(order)

    def _settle(self) -> None:
        self.put_running_first()
