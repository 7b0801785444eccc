"""Instance and solution of configurations: GPUs of one type for each job (Sia, SOSP'23)."""

from fractions import Fraction
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from dlsched import schema
from dlsched.schema import (
    Amount,
    Count,
    Document,
    Flaw,
    Id,
    PositiveCount,
    SignedAmount,
    dangling,
    derived,
)

DIGITS = 9
"""Decimals of every cost **(D)**: powers are irrational, and are rounded."""
_Power = Annotated[SignedAmount, Field(json_schema_extra={"default": -0.5})]
_Penalty = Annotated[Amount, Field(json_schema_extra={"default": 1.1})]


class Gpu(Document):
    """A type of GPU, and the nodes that have it."""

    id: Id
    """Id of the type."""
    nodes: Count
    """Nodes of this type. Unit: nodes."""
    gpus_per_node: PositiveCount
    """GPUs of each of them. Unit: GPUs."""


class Configuration(Document):
    """What a job can be given: a power of two of a node's GPUs, or whole nodes."""

    id: Id
    """Id of the configuration."""
    type: Id
    """Id of the type of its GPUs."""
    nodes: PositiveCount = 1
    """Nodes that it is on. Unit: nodes."""
    gpus: PositiveCount
    """GPUs that it has on all of them. Unit: GPUs."""


class Model(Document):
    """What jobs train, and how fast."""

    id: Id
    """Id of the model."""
    goodput: dict[Id, Amount]
    """By configuration; 0 or left out where it cannot run. Unit: samples / second."""
    restart_seconds: Amount = 30
    """What a change of its configuration takes. Unit: seconds."""


class Job(Document):
    """A job that is present in the round."""

    id: Id
    """Id of the job."""
    model: Id
    """Id of its model."""
    age: Amount = 0
    """Time since it was submitted. Unit: seconds."""
    restarts: Count = 0
    """How often it was restarted. Unit: restarts."""
    present: Id | None = None
    """Id of the configuration that it has; none if it waits."""
    remaining: Amount | None = None
    """What is left to train; only the baseline `shortest_first` reads it. Unit: samples."""


class Instance(schema.Instance):
    """The nodes, the configurations, and the jobs of one round."""

    problem: Literal["configurations"] = "configurations"
    power: _Power = Fraction(-1, 2)
    """The power p of the normalised goodput: the lower, the fairer."""
    penalty: _Penalty = Fraction(11, 10)
    """What a job without a configuration costs, to nine decimals."""
    types: tuple[Gpu, ...]
    """The types of GPU."""
    configurations: tuple[Configuration, ...]
    """What jobs can be given."""
    models: tuple[Model, ...]
    """The models of the jobs."""
    jobs: tuple[Job, ...]
    """The jobs, running and waiting."""

    @model_validator(mode="after")
    def _resolve(self) -> Self:
        for field in ("types", "configurations", "models", "jobs"):
            schema.require_unique((entry.id for entry in getattr(self, field)), field)
        if not self.power or not -2 <= self.power <= 2:
            raise Flaw(("power",), "is 0, or beyond 2", "write a power from -2 to 2, as -0.5")
        if (self.penalty * 10**DIGITS).denominator > 1:
            raise Flaw(("penalty",), f"has more than {DIGITS} decimals", "round it, as 1.1")
        for c, one in enumerate(self.configurations):
            if one.type not in self.type_of:
                raise dangling(("configurations", c, "type"), "type", one.type, self.type_of)
            whole = self.type_of[one.type].gpus_per_node
            part = one.nodes == 1 and one.gpus <= whole and one.gpus.bit_count() == 1
            if one.gpus != one.nodes * whole and not part:
                remedy = "give a power of two of one node's GPUs, or all GPUs of its nodes"
                problem = f"{one.gpus} GPUs on {one.nodes} nodes of {whole}"
                raise Flaw(("configurations", c, "gpus"), problem, remedy)
        for m, model in enumerate(self.models):
            for name in sorted(model.goodput.keys() - self.by_id.keys()):
                path = ("models", m, "goodput", name)
                raise dangling(path, "configuration", name, self.by_id)
        for j, job in enumerate(self.jobs):
            if job.model not in self.model_of:
                raise dangling(("jobs", j, "model"), "model", job.model, self.model_of)
            if job.present is not None and job.present not in self.by_id:
                raise dangling(("jobs", j, "present"), "configuration", job.present, self.by_id)
            if job.present is not None and not self.model_of[job.model].goodput.get(job.present):
                raise Flaw(("jobs", j, "present"), "its model cannot run so", "add a goodput")
        return self

    @derived
    def by_id(self) -> dict[Id, Configuration]:
        """The configurations by their ids."""
        return {one.id: one for one in self.configurations}

    @derived
    def type_of(self) -> dict[Id, Gpu]:
        """The types by their ids."""
        return {kind.id: kind for kind in self.types}

    @derived
    def model_of(self) -> dict[Id, Model]:
        """The models by their ids."""
        return {model.id: model for model in self.models}


class Solution(schema.Solution):
    """The configuration of each job that has one."""

    problem: Literal["configurations"] = "configurations"
    configurations: dict[Id, Id]
    """Id of the configuration by job; a job that is left out waits."""
