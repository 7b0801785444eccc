"""Instance and solution of interleaving: which jobs share GPUs (Muri, section 4)."""

from collections.abc import Iterable
from fractions import Fraction
from itertools import combinations
from typing import Any, Literal, NamedTuple, Self

from pydantic import model_validator

from dlsched import schema
from dlsched.extras import require
from dlsched.schema import Amount, Count, Document, Flaw, Id, Number, PositiveCount, derived

MOST_RESOURCES = 8
"""A group of k jobs has (k - 1)! arrangements, and its best offsets are found by trying each. The
error bounds of `structures.groups` are for as many resources as well."""


class Job(Document):
    """A training job: the time of each stage of one iteration, in any unit, and its GPUs."""

    id: Id
    """Id of the job."""
    gpus: PositiveCount = 1
    """GPUs of the job; only jobs with equally many share. Unit: GPUs."""
    stages: tuple[Amount, ...]
    """Time of each stage of an iteration, in the order of ``resources``.

    Unit: any, the same for all.
    """


class Profile(NamedTuple):
    """What makes jobs interchangeable."""

    gpus: int
    stages: tuple[Number, ...]


class Instance(schema.Instance):
    """Jobs whose stages use one resource each, in the order of ``resources``."""

    problem: Literal["interleaving"] = "interleaving"
    resources: tuple[Id, ...]
    """Names of the resources; stage r of every job uses the r-th."""
    grouping: Literal["cover", "uniform"]
    """Groups of any size (cover), or all of as many jobs as resources (uniform)."""
    gpu_budget: Count | None = None
    """The most GPUs of all groups together, for a cover. Unit: GPUs."""
    max_group_size: PositiveCount | None = None
    """The most jobs in a group; the number of resources if absent. Unit: jobs."""
    weigh_by: Literal["groups", "gpus"] = "groups"
    """Weight of a group's efficiency: 1, or its GPUs."""
    jobs: tuple[Job, ...]
    """The jobs."""

    @model_validator(mode="after")
    def _resolve(self) -> Self:
        k = len(self.resources)
        if not 1 <= k <= MOST_RESOURCES:
            raise Flaw(("resources",), f"has {k} entries", f"name 1 to {MOST_RESOURCES}")
        for r, name in enumerate(self.resources):
            if name in self.resources[:r]:
                raise Flaw(("resources", r), f'"{name}" is already named', "name each once")
        size = self.max_group_size
        if size is not None and size > k:
            raise Flaw(
                ("max_group_size",),
                f"{size} jobs need as many distinct offsets, and there are {k}",
                f"write at most {k}, the number of resources",
            )
        if self.grouping == "uniform":
            remedy = 'leave it out, or write "grouping": "cover"'
            if size is not None and size < k:
                raise Flaw(("max_group_size",), f"{size} contradicts uniform groups of {k}", remedy)
            if self.gpu_budget is not None:
                text = "has no use with uniform groups: the jobs determine their GPUs"
                raise Flaw(("gpu_budget",), text, remedy)
        schema.require_unique((job.id for job in self.jobs), "jobs")
        for j, job in enumerate(self.jobs):
            place = ("jobs", j, "stages")
            count = len(job.stages)
            if count != k:
                raise Flaw(place, f"has {count} entries", f"give {k}, one for each resource")
            if not any(job.stages):
                raise Flaw(place, "has no stage above 0", "give one a time, or drop the job")
        return self

    @property
    def group_limit(self) -> int:
        """The most jobs in a group."""
        return self.max_group_size or len(self.resources)

    @property
    def smallest_group(self) -> int:
        """The fewest jobs in a group."""
        return len(self.resources) if self.grouping == "uniform" else 1

    @property
    def group_sizes(self) -> range:
        """The numbers of jobs that a group may have."""
        return range(self.smallest_group, self.group_limit + 1)

    @derived
    def job_index(self) -> dict[str, int]:
        """Position of each job id."""
        return {job.id: j for j, job in enumerate(self.jobs)}

    @derived
    def profiles(self) -> dict[Profile, tuple[int, ...]]:
        """Positions of the jobs of each profile, in the file's order."""
        jobs_of: dict[Profile, list[int]] = {}
        for j, job in enumerate(self.jobs):
            jobs_of.setdefault(Profile(job.gpus, job.stages), []).append(j)
        return {profile: tuple(jobs) for profile, jobs in jobs_of.items()}

    @derived
    def classes(self) -> dict[int, tuple[int, ...]]:
        """Positions of the jobs of each number of GPUs, ascending; only these can share."""
        jobs_of: dict[int, list[int]] = {}
        for j, job in enumerate(self.jobs):
            jobs_of.setdefault(job.gpus, []).append(j)
        return {gpus: tuple(jobs_of[gpus]) for gpus in sorted(jobs_of)}

    @property
    def least_gpus(self) -> int:
        """The fewest GPUs of any grouping: each class in as few groups as possible."""
        limit = self.group_limit
        return sum(gpus * -(-len(jobs) // limit) for gpus, jobs in self.classes.items())

    def stages_of(self, ids: Iterable[str]) -> list[tuple[Number, ...]]:
        """Return the stages of some jobs, given by their ids."""
        return [self.jobs[self.job_index[name]].stages for name in ids]

    def weight(self, gpus: int) -> int:
        """Return the weight of a group's efficiency in the objective."""
        return gpus if self.weigh_by == "gpus" else 1

    def to_networkx(self) -> Any:
        """Return which jobs may share GPUs, as a ``networkx.Graph``.

        Nodes are ids with ``gpus`` and ``stages``. An edge joins jobs of equal GPUs and has the
        ``efficiency`` of the pair at its best offsets (eq. 3 and 4), a Fraction.
        """
        nx = require("networkx", "Instance.to_networkx")
        graph = nx.Graph(name=self.name)
        k = len(self.resources)
        for job in self.jobs:
            graph.add_node(job.id, gpus=job.gpus, stages=job.stages)
        for a, b in combinations(self.jobs, 2):
            if a.gpus == b.gpus and self.group_limit > 1:
                shifted = (b.stages[o:] + b.stages[:o] for o in range(1, k))
                time = min(sum(map(max, a.stages, stages)) for stages in shifted)
                work = Fraction(sum(a.stages) + sum(b.stages))
                graph.add_edge(a.id, b.id, efficiency=work / (k * time))
        return graph


class Group(Document):
    """Jobs that share their GPUs; the i-th starts its iteration at stage ``offsets[i]``."""

    jobs: tuple[Id, ...]
    """Ids of the jobs that share GPUs."""
    offsets: tuple[Count, ...]
    """Stage at which each of them starts, distinct. Unit: stages."""


class Solution(schema.Solution):
    """The groups, each with the offsets of its jobs."""

    problem: Literal["interleaving"] = "interleaving"
    groups: tuple[Group, ...]
    """The groups; every job is in one."""
