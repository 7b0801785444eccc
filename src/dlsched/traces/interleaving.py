"""Job traces with stage times as instances of interleaving (Muri, Algorithm 1)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any

from dlsched import registry
from dlsched.errors import OptionError, UnknownName
from dlsched.schema import Instance, Number, to_json
from dlsched.traces.duration import spell_duration
from dlsched.traces.replay import moment, replay
from dlsched.traces.trace import Trace, TraceJob

RECORDED = ("storage", "gpu", "network")
"""The three recorded stages; the first is data loading and preprocessing together."""
SPLIT = ("storage", "cpu", "gpu", "network")
STORAGE_SHARE: Mapping[str, Fraction] = {
    "shufflenet": Fraction(60, 78),
    "resnet": Fraction(60, 78),
    "vgg": Fraction(24, 28),
    "gpt": Fraction(2, 3),
    "bert": Fraction(2, 3),
    "a2c": Fraction(0),
    "dqn": Fraction(0),
}
"""Storage's share of the first recorded stage, by the beginning of the model's name: load data over
load data and preprocess in Muri's Table 1, which prints one model of each bottleneck; the other
model of that bottleneck (Table 3) is given the same **(D)**."""
ORDERS = ("srsf", "2d-las")


def storage_share(model: str | None) -> Fraction:
    """Return the share of data loading in the stage that is recorded with preprocessing.

    Half, of a model that Muri's evaluation has not **(D)**.
    """
    name = (model or "").lower()
    return next((s for start, s in STORAGE_SHARE.items() if name.startswith(start)), Fraction(1, 2))


def stages(job: TraceJob, resources: int) -> tuple[Number, ...]:
    """Return a job's stages in milliseconds: three as recorded, four with the first one split.

    The split is to whole microseconds.

    Raises
    ------
    OptionError
        If the job has not three recorded stages, or `resources` is neither 3 nor 4.
    """
    if resources not in (3, 4):
        raise OptionError(f"resources={resources} must be 3 (as recorded) or 4 (split)")
    if len(job.stages) != len(RECORDED):
        raise OptionError(
            f"job {job.id} has {len(job.stages)} stages; read the trace with a mapping that names 3"
        )
    load, *rest = (1000 * Fraction(stage) for stage in job.stages)
    if resources == len(RECORDED):
        return _plain([load, *rest])
    storage = round(load * storage_share(job.model), 3)
    return _plain([storage, load - storage, *rest])


def pool(
    trace: Trace, *, resources: int = 3, budget: float | None = None, name: str | None = None
) -> Instance:
    """Return all jobs of a trace as one cover, as if they waited at once.

    Parameters
    ----------
    resources
        3, or 4 with the recorded first stage split by `storage_share`.
    budget
        GPUs, as a share of the way from the fewest that any grouping takes (0) to those of every
        job alone (1); None for no budget.
    name
        Name of the instance.
    """
    if budget is not None and not 0 <= budget <= 1:
        raise OptionError(f"budget={budget} must be a share from 0 to 1")
    source = f"dlsched.traces.pool({trace.source or trace.name}, {resources=}, {budget=})"
    label = f"interleaving-{trace.name}-k{resources}"
    label += "" if budget is None else f"-budget={budget}"
    made = _instance(trace.jobs, resources, name or label, source, None)
    if budget is None:
        return made
    from dlsched.problems.interleaving.generate import with_budget

    return with_budget(made, budget)  # type: ignore[arg-type]


def queue(
    trace: Trace,
    at: float | str | Number,
    *,
    servers: int = 8,
    gpus: int = 8,
    resources: int = 3,
    order: str = "srsf",
    name: str | None = None,
) -> Instance:
    """Return the jobs that Muri would group at a moment (Algorithm 1, lines 3-5).

    Every job that is in the cluster or waits is a candidate, since Muri preempts. They are taken
    in the order of priority as long as their fullest groups fit the GPUs; one that does not fit is
    skipped, and those behind it are looked at (`generate.queue_head`).

    Parameters
    ----------
    at
        Seconds from the trace's first submission, or a duration like ``"3d"``.
    servers, gpus
        The cluster, on which `dlsched.traces.replay` says what ran until then.
    resources
        3, or 4 with the recorded first stage split by `storage_share`.
    order
        ``"srsf"``, least remaining time times GPUs first, or ``"2d-las"``, least attained service
        first; ties by submission.
    name
        Name of the instance.

    Raises
    ------
    UnknownName
        If there is no such order.
    """
    if order not in ORDERS:
        raise UnknownName("order of priority", order, ORDERS)
    seconds = moment(at)
    story = replay(trace, servers=servers, gpus=gpus, until=seconds)
    candidates: list[tuple[Number, TraceJob]] = []
    for p in story.running(seconds):
        left, done = p.finish - seconds, seconds - p.start
        candidates.append(((left if order == "srsf" else done) * p.job.gpus, p.job))
    for job in story.queued:
        candidates.append((job.duration * job.gpus if order == "srsf" else 0, job))
    candidates.sort(key=lambda c: (c[0], c[1].submit))
    from dlsched.problems.interleaving.generate import queue_head

    total = servers * gpus
    able = [job for _, job in candidates if any(job.stages)]
    taken = [able[j] for j in queue_head([job.gpus for job in able], resources, total)]
    label = f"interleaving-{trace.name}-{spell_duration(seconds)}-{servers}x{gpus}-k{resources}"
    label += "" if order == ORDERS[0] else f"-{order}"
    source = (
        f"dlsched.traces.queue({trace.source or trace.name}, at={to_json(seconds)}, "
        f"{servers=}, {gpus=}, {resources=}, {order=})"
    )
    return _instance(taken, resources, name or label, source, total)


def _instance(
    jobs: Iterable[TraceJob], resources: int, name: str, source: str, budget: int | None
) -> Instance:
    rows: list[dict[str, Any]] = []
    idle = 0
    for job in jobs:
        times = stages(job, resources)
        if job.gpus and any(times):
            rows.append({"id": job.id, "gpus": job.gpus, "stages": times})
        else:
            idle += 1
    data = {
        "dlsched": 1,
        "problem": "interleaving",
        "name": name,
        "source": source,
        "notes": f"stages in milliseconds; {idle} jobs without GPUs or stages left out",
        "resources": RECORDED if resources == len(RECORDED) else SPLIT,
        "grouping": "cover",
        "jobs": rows,
    }
    if budget is not None:
        data["gpu_budget"] = budget
    made: Instance = registry.problem("interleaving").instance.parse(data, "the trace")
    return made


def _plain(times: Iterable[Fraction]) -> tuple[Number, ...]:
    return tuple(int(t) if t.denominator == 1 else t for t in times)
