"""Instance and solution of shares: the time of each job on each type of GPU (Gavel)."""

from collections.abc import Mapping
from typing import Literal, Self

from pydantic import Field, model_validator

from dlsched import schema
from dlsched.schema import (
    Amount,
    Count,
    Document,
    Flaw,
    Id,
    Number,
    PositiveAmount,
    PositiveCount,
    dangling,
    derived,
)

Objective = Literal["max_min", "makespan", "finish_time", "total"]
TIMED = ("makespan", "finish_time")
"""The objectives that read how much work remains."""


class Model(Document):
    """What jobs run: a model on a number of GPUs, and how fast it is alone."""

    id: Id
    """Id of the model; one that runs on several numbers of GPUs has an entry for each."""
    gpus: PositiveCount = 1
    """GPUs that a job holds at once, all of one type. Unit: GPUs."""
    rates: dict[Id, Amount]
    """By type of GPU; 0 or left out where it cannot run. Unit: iterations / second."""


class Pair(Document):
    """Two models whose jobs can share GPUs of a type, and how fast each is then."""

    models: tuple[Id, ...] = Field(min_length=2, max_length=2)
    """Ids of the models; of one model twice the rates are equal."""
    type: Id
    """Type of the GPUs."""
    rates: tuple[PositiveAmount, ...] = Field(min_length=2, max_length=2)
    """Rate of a job of each model beside one of the other. Unit: iterations / second."""


class Job(Document):
    """A job: its model, and what an objective reads of it."""

    id: Id
    """Id of the job."""
    model: Id
    """Id of its model."""
    weight: PositiveAmount = 1
    """How much of a fair share it is to have, or what its throughput counts in the total."""
    steps: PositiveAmount | None = None
    """Iterations that remain; needed for makespan and finish time. Unit: iterations."""
    elapsed: Amount = 0
    """Time since it was submitted; counts in its finish time. Unit: seconds."""


class Instance(schema.Instance):
    """GPUs of several types, and the jobs that share their time."""

    problem: Literal["shares"] = "shares"
    objective: Objective = "max_min"
    """What a job's value is, see the card; that of "total" are added up, else the least counts."""
    gpus: dict[Id, Count]
    """GPUs of each type. Unit: GPUs."""
    models: tuple[Model, ...]
    """The models of the jobs."""
    pairs: tuple[Pair, ...] = ()
    """Models whose jobs can share GPUs."""
    jobs: tuple[Job, ...]
    """The jobs that are present."""

    @model_validator(mode="after")
    def _resolve(self) -> Self:
        schema.require_unique((model.id for model in self.models), "models")
        schema.require_unique((job.id for job in self.jobs), "jobs")
        for m, model in enumerate(self.models):
            for kind in model.rates:
                if kind not in self.gpus:
                    raise dangling(("models", m, "rates", kind), "type", kind, self.gpus)
        self._resolve_pairs()
        for j, job in enumerate(self.jobs):
            if job.model not in self.by_id:
                raise dangling(("jobs", j, "model"), "model", job.model, self.by_id)
            if not self.usable[job.model]:
                problem = f"{job.id!r} can run on no type of GPU"
                raise Flaw(("jobs", j), problem, "leave it out, or add a rate or GPUs")
            if job.steps is None and self.objective in TIMED:
                remedy = f"give the iterations that remain; {self.objective} needs them"
                raise Flaw(("jobs", j, "steps"), "is missing", remedy)
        return self

    def _resolve_pairs(self) -> None:
        seen: set[tuple[frozenset[Id], Id]] = set()
        for p, pair in enumerate(self.pairs):
            for i, name in enumerate(pair.models):
                if name not in self.by_id:
                    raise dangling(("pairs", p, "models", i), "model", name, self.by_id)
            if pair.type not in self.gpus:
                raise dangling(("pairs", p, "type"), "type", pair.type, self.gpus)
            first, second = (self.by_id[name] for name in pair.models)
            if first.gpus != second.gpus:
                problem = f"one has {first.gpus} GPUs, the other {second.gpus}"
                raise Flaw(("pairs", p, "models"), problem, "pair models of as many GPUs")
            if first is second and pair.rates[0] != pair.rates[1]:
                problem = "one model has two rates beside itself"
                raise Flaw(("pairs", p, "rates"), problem, "write their mean twice")
            key = (frozenset(pair.models), pair.type)
            if key in seen:
                raise Flaw(("pairs", p), "the pair stands twice", "keep one of the two")
            seen.add(key)

    @derived
    def by_id(self) -> dict[Id, Model]:
        """The models by their ids."""
        return {model.id: model for model in self.models}

    @derived
    def usable(self) -> dict[Id, dict[Id, Number]]:
        """By model, the rates above 0 alone on types with enough GPUs for a job **(D)**."""
        return {
            model.id: {
                kind: rate
                for kind, rate in model.rates.items()
                if rate and self.gpus[kind] >= model.gpus
            }
            for model in self.models
        }

    @derived
    def beside(self) -> dict[tuple[Id, Id, Id], Number]:
        """By model, the model beside it and type: the rate of its job."""
        rates: dict[tuple[Id, Id, Id], Number] = {}
        for pair in self.pairs:
            if self.gpus[pair.type] >= self.by_id[pair.models[0]].gpus:
                (a, b), (ours, theirs) = pair.models, pair.rates
                rates |= {(a, b, pair.type): ours, (b, a, pair.type): theirs}
        return rates

    @derived
    def job_of(self) -> Mapping[Id, Job]:
        """The jobs by their ids."""
        return {job.id: job for job in self.jobs}


class Share(Document):
    """Time that a job, or two jobs on the same GPUs, spend on a type."""

    jobs: tuple[Id, ...] = Field(min_length=1, max_length=2)
    """Id of the job, or of the two."""
    type: Id
    """Type of the GPUs."""
    time: Amount
    """Fraction of the time, from 0 to 1."""


class Solution(schema.Solution):
    """The shares; a job may have several."""

    problem: Literal["shares"] = "shares"
    shares: tuple[Share, ...]
    """Times of jobs, and of pairs of jobs."""
