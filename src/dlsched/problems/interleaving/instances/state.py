"""From a cluster's state to the jobs that Muri groups (Muri, Algorithm 1)."""

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from dlsched.errors import OptionError, UnknownName
from dlsched.problems.interleaving.definition.schema import Instance
from dlsched.problems.interleaving.instances.generate import instance_of, queue_head, with_budget
from dlsched.problems.interleaving.structures.profiles import RESOURCES
from dlsched.registry.cluster_state import ClusterState, JobState
from dlsched.schema import Number, simplify

SERVERS = 8

RECORDED = ("storage", "gpu", "network")
"""The three recorded stages; the first is data loading and preprocessing together."""
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


def instance(state: ClusterState, *, resources: int = 3, order: str = "srsf") -> Instance:
    """Return the jobs that Muri would group at a moment, as a cover (Algorithm 1, lines 3-5).

    Every job that runs or waits is a candidate, since Muri preempts. They are taken in the order
    of priority as long as their fullest groups fit the GPUs of the cluster; a job that does not fit
    is skipped, and the next one is tried (`queue_head`).

    Parameters
    ----------
    resources
        3, or 4 with the recorded first stage split into storage and CPU.
    order
        ``"srsf"``, least remaining time times GPUs first, or ``"2d-las"``, least attained time
        times GPUs first; ties by submission. Running jobs come before waiting ones submitted at the
        same moment.

    Raises
    ------
    UnknownName
        If there is no such order.
    OptionError
        If `resources` is neither 3 nor 4, or a job has a number of stages other than 0 or 3.
    """
    if order not in ORDERS:
        raise UnknownName("order of priority", order, ORDERS)

    def priority(job: JobState) -> tuple[Number, Number]:
        time = job.remaining if order == "srsf" else job.attained
        return time * job.gpus, job.submit

    candidates = sorted((*state.running, *state.waiting), key=priority)
    able = [job for job in candidates if any(job.stages)]
    head = [able[j] for j in queue_head([job.gpus for job in able], resources, state.gpus)]
    return _cover(head, resources).model_copy(update={"gpu_budget": state.gpus})


def pool(jobs: Iterable[JobState], *, resources: int = 3, budget: float | None = None) -> Instance:
    """Return all the jobs as one cover, as if they waited at once.

    Parameters
    ----------
    resources
        3, or 4 with the recorded first stage split into storage and CPU.
    budget
        GPUs, as a share of the way from the fewest that any grouping takes (0) to those of every
        job alone (1); None for no budget.

    Raises
    ------
    OptionError
        If `budget` is not from 0 to 1, `resources` is neither 3 nor 4, or a job has not 3 stages.
    """
    if budget is not None and not 0 <= budget <= 1:
        raise OptionError(f"budget={budget} must be a share from 0 to 1")
    cover = _cover(jobs, resources)
    return cover if budget is None else with_budget(cover, budget)


def stages(job: JobState, resources: int) -> tuple[Number, ...]:
    """Return a job's stages in milliseconds: as recorded, or the first of three split (`split`).

    Raises
    ------
    OptionError
        If `resources` is neither 3 nor 4, or the job has not as many stages, nor three.
    """
    if resources not in (len(RECORDED), len(RESOURCES)):
        raise OptionError(f"resources={resources} must be 3 (as recorded) or 4 (split)")
    if len(job.stages) not in (len(RECORDED), resources):
        raise OptionError(
            f"job {job.id} has {len(job.stages)} stages; read the trace with a mapping that names 3"
        )
    times = tuple(simplify(1000 * Fraction(stage)) for stage in job.stages)
    return times if len(times) == resources else split(times, job.model)


def split(times: Sequence[Number], model: str | None) -> tuple[Number, ...]:
    """Return four stages: the first of three recorded ones is split into storage and CPU.

    The split is by `STORAGE_SHARE`, half and half for other models **(D)**, to three decimals of
    the unit: whole microseconds of times in milliseconds.
    """
    known = (share for start, share in STORAGE_SHARE.items()
             if (model or "").lower().startswith(start))  # fmt: skip
    storage = round(Fraction(times[0]) * next(known, Fraction(1, 2)), 3)
    return tuple(simplify(time) for time in (storage, times[0] - storage, *times[1:]))


def _cover(jobs: Iterable[JobState], resources: int) -> Instance:
    rows: list[dict[str, Any]] = []
    omitted = 0
    for job in jobs:
        times = stages(job, resources)
        if job.gpus and any(times):
            rows.append({"id": job.id, "gpus": job.gpus, "stages": times})
        else:
            omitted += 1
    names = RECORDED if resources == len(RECORDED) else RESOURCES
    notes = f"stages in milliseconds; {omitted} jobs without GPUs or stages left out"
    return instance_of(rows, "the cluster's state", resources=names, grouping="cover", notes=notes)
