"""One job of a workload: what the simulator and the policies may know of it."""

from bisect import bisect_right
from collections import Counter
from fractions import Fraction
from itertools import accumulate
from typing import Self

from pydantic import Field, model_validator

from dlsched.schema import (
    Amount,
    Count,
    Document,
    Flaw,
    Id,
    Number,
    PositiveAmount,
    PositiveCount,
    derived,
)
from dlsched.simulation.workload.clock import ticks
from dlsched.simulation.workload.goodput import Goodput


class Job(Document):
    """One job. All times are in seconds.

    Attributes
    ----------
    submit
        Time of submission, on the workload's clock.
    gpus
        GPUs that it asks for; it runs with all of them or not at all, unless it is elastic.
    work
        Running time with what it asks for, alone, without overheads: its `gpus` at speed 1.
    model
        Name of the model that is trained.
    iterations, iteration_time
        Number of iterations and seconds of one, as recorded; their product may differ from `work`.
    batch_size
        Samples of a batch that it was submitted with.
    goodput
        What its speed with other GPUs follows from. `work` is then stated for `gpus` of `gpu_type`
        on one server, with the best batch size in each part of the training.
    stages
        Seconds per iteration by resource, for policies that let jobs share GPUs.
    restart
        Seconds without progress whenever it starts or its allocation changes.
    startup
        The same when it starts for the first time; `restart` unless stated.
    checkpoints
        Whether a preempted job keeps its work; otherwise it begins anew.
    rates
        Iterations per second on each type of GPU; by these, speed is relative to `gpu_type`.
    gpu_type
        The type for which `work` is stated; without `rates` the type that it ran on, as recorded.
        In a text "A100|H100" are two.
    gpu_types
        The types of GPUs on which it may run, of those in `rates` if it has rates. If none is
        given, all types of `rates`, or without rates `gpu_type`; without any type, all.
    features
        Features that each of its servers has.
    clusters
        The clusters in which it may run; empty for all.
    server_gpus, server_cpus, server_memory
        GPUs, CPUs and GB that each of its servers has at least.
    profile
        Name of its matrix in `Workload.matrices`, for policies that assign CPUs and memory.
    min_gpus, max_gpus
        Fewest and most GPUs of an elastic job; both are `gpus` unless stated.
    gpus_per_worker
        GPUs of one worker, which are on one server.
    fungible, heterogeneous
        Whether it may run on either pool, and on both at once (Lyra, section 2.1).
    scaling_loss
        Share of its throughput that each GPU above `min_gpus` loses (Lyra, section 7.2).
    mixed_efficiency
        Share of its GPUs' speed that it has with GPUs of both pools (Lyra, section 7.1).
    estimate
        What a scheduler takes for `work`; None if that is known.
    tenant, priority
        Who submitted it, and its priority as recorded; what is high is the policy's to say.
    qos
        Its quality of service, as recorded.
    regions
        The regions that have its data (MAST, section 4.3), where alone it may run; empty for all.
    cpus, memory
        CPUs and GB that it asks for, in total.
    account, partition
        What it was charged to, and the partition or queue that it was submitted to, where alone it
        may run; "a,b" are two.
    eligible, start, state, limit
        As recorded, by the clock of `submit`: when it could have started, when it started, how it
        ended, and its time limit. A job whose `eligible` is known is submitted here when it became
        eligible: no policy could have started it before.
    cancelled
        When its user withdraws it, if it waits then: it leaves, without completion.
    nodes
        The servers on which it ran, and how many GPUs it held on each, as recorded.
    """

    id: Id
    submit: Amount
    gpus: PositiveCount
    work: Amount
    model: str | None = None
    iterations: Count | None = None
    iteration_time: Amount | None = None
    batch_size: Count | None = None
    goodput: Goodput | None = None
    stages: tuple[Amount, ...] = ()
    restart: Amount = 0
    startup: Amount | None = None
    checkpoints: bool = True
    rates: dict[str, PositiveAmount] = Field(default_factory=dict)
    gpu_type: str | None = None
    gpu_types: tuple[Id, ...] = ()
    features: tuple[Id, ...] = ()
    clusters: tuple[Id, ...] = ()
    server_gpus: Count = 0
    server_cpus: Amount = 0
    server_memory: Amount = 0
    profile: str | None = None
    min_gpus: Count = 0
    max_gpus: Count = 0
    gpus_per_worker: PositiveCount = 1
    fungible: bool = False
    heterogeneous: bool = False
    scaling_loss: Amount = 0
    mixed_efficiency: PositiveAmount = 1
    estimate: PositiveAmount | None = None
    tenant: str | None = None
    priority: Amount | None = None
    qos: str | None = None
    regions: tuple[Id, ...] = ()
    cpus: Amount = 0
    memory: Amount = 0
    account: str | None = None
    partition: str | None = None
    eligible: Amount | None = None
    start: Amount | None = None
    state: str | None = None
    limit: Amount | None = None
    cancelled: Amount | None = None
    nodes: tuple[tuple[Id, PositiveCount], ...] = ()

    @model_validator(mode="before")
    @classmethod
    def _inelastic(cls, data: object) -> object:
        """Fill `min_gpus` and `max_gpus` of a job that states neither."""
        if isinstance(data, dict) and "gpus" in data:
            return {"min_gpus": data["gpus"], "max_gpus": data["gpus"]} | data
        return data

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if not self.min_gpus <= self.gpus <= self.max_gpus:
            raise Flaw(
                ("gpus",),
                f"{self.gpus} is not from min_gpus = {self.min_gpus} to max_gpus = {self.max_gpus}",
                "state the range in which the job can run",
            )
        if not self.min_gpus:
            raise Flaw(
                ("min_gpus",), "is 0", "give the fewest GPUs that it can run with, at least 1"
            )
        for name in ("scaling_loss", "mixed_efficiency"):
            if getattr(self, name) > 1:
                raise Flaw((name,), "is above 1", "write a share, as 0.2")
        if self.rates and self.gpu_type not in self.rates:
            raise Flaw(
                ("gpu_type",),
                f"{self.gpu_type!r} is no type of rates",
                "name the type for which work is stated",
            )
        if self.rates and self.gpu_types and not self.accepted_types:
            raise Flaw(("gpu_types",), "none of them is in rates", "name types that have a rate")
        if self.goodput is not None:
            self._require_goodput(self.goodput)
        if self.cancelled is not None and self.cancelled < self.submit:
            raise Flaw(("cancelled",), "is before submit", "give a time from submit on")
        servers = Counter(server for server, _ in self.nodes) if self.nodes else {}
        for server, times in servers.items():
            if times > 1:
                raise Flaw(
                    ("nodes",),
                    f"name {server} {times} times",
                    "name each server once, with all GPUs that the job held on it",
                )
        return self

    def _require_goodput(self, goodput: Goodput) -> None:
        """Refuse other sources of a speed, and a job whose work is stated for no speed."""
        for name in ("rates", "profile", "stages", "scaling_loss"):
            if getattr(self, name):
                raise Flaw((name,), "is given beside goodput", "leave one of the two out")
        unknown = [kind for kind in self.accepted_types if kind not in goodput.types]
        if unknown or self.gpu_type not in goodput.types:
            remedy = f"name types of its profile: {', '.join(goodput.types)}"
            raise Flaw(("gpu_type",), f"{[*unknown, self.gpu_type][0]!r} has no goodput", remedy)
        for gpus in range(self.min_gpus, self.max_gpus + 1):
            if not all(goodput.samples(0, self.gpu_type, n, gpus) for n in (1, 2)):
                problem = f"no batch size is possible with {gpus} GPUs of {self.gpu_type}"
                raise Flaw(("goodput",), problem, "ask for other GPUs, or allow other batches")

    @property
    def accepted_types(self) -> tuple[str, ...]:
        """The types of GPUs on which it may run; empty for all."""
        if self.rates:
            return tuple(k for k in self.gpu_types or self.rates if k in self.rates)
        return self.gpu_types or _several(self.gpu_type, "|")

    @property
    def partitions(self) -> tuple[str, ...]:
        """The partitions in which it may run; empty for all."""
        return _several(self.partition, ",")

    def throughput(self, gpus: int) -> Number:
        """Return the throughput with a number of GPUs, in GPUs without loss."""
        more = max(0, gpus - self.min_gpus)
        return gpus - more * self.scaling_loss

    @derived
    def _samples(self) -> list[Fraction]:
        """Samples per second with what `work` is stated for, in each part of the training."""
        g = self.goodput
        assert g is not None, "only then it has parts"
        return [g.samples(p, self.gpu_type or "", 1, self.gpus) for p in range(len(g.noise))]

    @derived
    def part_ends(self) -> list[int]:
        """Work in ticks after which each part of the training ends, but for the last."""
        if self.goodput is None:
            return []
        sums = list(accumulate(1 / samples for samples in self._samples))
        return [int(self.work_ticks * part / sums[-1]) for part in sums[:-1]]

    def part(self, done: int) -> int:
        """Return the part of the training in which a job is, from the ticks of work done."""
        return bisect_right(self.part_ends, done)

    def part_at(self, remaining: Number) -> int:
        """Return the part of the training a job is in, from its remaining seconds at speed 1."""
        return self.part(self.work_ticks - ticks(remaining))

    def throughputs(self, remaining: Number) -> tuple[Fraction, ...]:
        """Return the speed with GPUs from `min_gpus` to `max_gpus`; empty without a goodput.

        It is on servers of 8 GPUs of the job's type **(D)**, for those that see GPUs as numbers.
        """
        if self.goodput is None:
            return ()
        part = self.part_at(remaining)
        gpus = range(self.min_gpus, self.max_gpus + 1)
        return tuple(self.goodput_speed(part, self.gpu_type, -(-g // 8), g) for g in gpus)

    def goodput_speed(self, part: int, kind: str | None, servers: int, gpus: int) -> Fraction:
        """Return the work per second with GPUs; on a server of no stated type as on its own."""
        assert self.goodput is not None, "it has a goodput"
        kind = kind or self.gpu_type or ""
        return self.goodput.samples(part, kind, servers, gpus) / self._samples[part]

    @property
    def submit_ticks(self) -> int:
        """Submission in ticks."""
        return ticks(self.submit)

    @property
    def work_ticks(self) -> int:
        """Work in ticks at speed 1."""
        return ticks(self.work)

    @property
    def known_ticks(self) -> int:
        """What a scheduler takes for `work`, in ticks: `estimate`, or `work` if there is none."""
        return ticks(self.work if self.estimate is None else self.estimate)

    @property
    def start_ticks(self) -> int | None:
        """Recorded start in ticks; None if it is not recorded."""
        return None if self.start is None else ticks(self.start)

    @property
    def restart_ticks(self) -> int:
        """Restart overhead in ticks."""
        return ticks(self.restart)


def _several(text: str | None, between: str) -> tuple[str, ...]:
    """Return the names in a text that may name several."""
    return tuple(name for part in (text or "").split(between) if (name := part.strip()))
