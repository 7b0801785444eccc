"""Workloads like those of Lyra's evaluation (sections 2 and 7.1), and the cluster with its loan.

The traces of the paper are not public. What follows states what was made up.
"""

import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dlsched.errors import OptionError, UnknownName
from dlsched.simulation.workload.cluster import LOAN, TRAINING, Cluster
from dlsched.simulation.workload.generators.lyra_draws import DAY, Draws, scaling
from dlsched.simulation.workload.workload import Workload

STEP: Final = 300
"""Seconds between two runs of the orchestrator, which change the loan (section 7.1, headroom)."""
HEADROOM: Final = 0.02
"""Share of the inference servers that is never lent (section 7.1)."""
LOWEST, HIGHEST, MEAN = 0.42, 0.95, 0.65
"""Utilisation of the inference cluster (Figure 1)."""
PEAK_HOUR: Final = 19
"""Hour of the highest load, 12 hours from the lowest; in section 2.1 the peak is at night and the
trough before dawn."""
SHARPNESS: Final = 1.422
"""Exponent of the daily cosine, by which its mean is `MEAN`."""
NORMALISED_GPUS: Final = 4
"""GPUs that an inference server of 8 T4 counts for **(D)**: a T4 has half the memory of a V100, so
that a job has twice as many workers there (section 2.1), and as many samples per second. By
section 7.5 three servers compute as much as one of training, which is 2.7 GPUs each."""

NOISE: Final = 0.005
"""Standard deviation of the utilisation **(D)**. It is below the bursts of 2 % in 5 minutes of the
paper's trace (section 7.1): the headroom is there to absorb these."""
OWN_TYPE, LOAN_TYPE = "V100", "T4"
"""Types of the GPUs of training and on loan (section 7.1)."""
SCENARIOS: Final = ("basic", "advanced", "heterogeneous", "ideal")
MIXED_EFFICIENCY: Final = 0.7
"""Efficiency of heterogeneous jobs with GPUs of both pools, except in Ideal (section 7.1)."""
RESTART: Final = 63
"""Seconds of a preemption (section 7.5)."""
MARGIN: Final = 0.25
"""Largest relative error of a wrong estimate (Table 9)."""
PRESETS: Final = {"paper-low": 0.715, "paper": 0.765, "paper-high": 0.815}
"""Loads, found with `fifo` on the paper's cluster: at "paper" 72 % of training are in use, and the
percentiles of queueing and completion times are near Table 8. The printed mean of queueing, 3,072
s, comes out at "paper-high" only. By Table 8's percentiles it is at most 2,750 s without the
longest 1 %, which would then have to wait for nine hours."""


def inference_load(days: float, *, seed: int = 0, step: int = STEP) -> NDArray[np.float64]:
    """Return the share of the inference cluster in use, by steps: like Figure 1, and made up.

    A power of a cosine with the period of a day, from 0.42 to 0.95 and 0.65 in the mean, plus
    independent normal deviations, cut at 0.42 and 0.95.

    Parameters
    ----------
    step
        Seconds of a step.

    Returns
    -------
    array of shape (steps,)
    """
    time = np.arange(0, days * DAY, step)
    wave = (1 + np.cos(2 * np.pi * (time / DAY - PEAK_HOUR / 24))) / 2
    load = LOWEST + (HIGHEST - LOWEST) * wave**SHARPNESS
    load += NOISE * np.random.default_rng(seed).standard_normal(len(time))
    return np.clip(load, LOWEST, HIGHEST)


def loan_schedule(servers: int, load: Sequence[float], step: int = STEP) -> list[dict[str, int]]:
    """Return the field ``loans`` of a cluster: max(0, floor(servers (1 - 0.02 - load))) by steps.

    Parameters
    ----------
    servers
        Inference servers.
    load
        Their utilisation by steps, as of `inference_load`.
    step
        Seconds of a step.
    """
    rows: list[dict[str, int]] = []
    for i, used in enumerate(load):
        lent = max(0, math.floor(servers * (1 - HEADROOM - used)))
        if not rows or rows[-1]["servers"] != lent:
            rows.append({"time": i * step, "servers": lent})
    return rows


def lyra_cluster(
    training: int = 443,
    inference: int = 520,
    *,
    days: float = 15,
    loaning: bool = True,
    loan_gpus: int = NORMALISED_GPUS,
    step: int = STEP,
    seed: int = 0,
) -> Cluster:
    """Return the servers of Lyra's simulation, and how many inference servers are lent when.

    The loan goes on after the trace, for as long again and a week, and then stays.

    Parameters
    ----------
    training, inference
        Numbers of servers; those of training have 8 GPUs.
    days
        Length of the trace.
    loaning
        Whether servers are lent; otherwise there are those of training only.
    loan_gpus
        GPUs that an inference server counts for, in GPUs of training.
    step, seed
        Of `inference_load`.
    """
    servers = [
        {"id": f"t{i + 1}", "gpus": 8, "gpu_type": OWN_TYPE, "pool": TRAINING}
        for i in range(training)
    ]
    if not loaning:
        return Cluster.parse({"servers": servers}, "the generator")
    servers += [
        {"id": f"i{i + 1}", "gpus": loan_gpus, "gpu_type": LOAN_TYPE, "pool": LOAN}
        for i in range(inference)
    ]
    load = inference_load(2 * days + 7, seed=seed, step=step).tolist()
    loans = loan_schedule(inference, load, step)
    return Cluster.parse({"servers": servers, "loans": loans}, "the generator")


def lyra_workload(
    training: int = 443,
    *,
    days: float = 15,
    scenario: str = "basic",
    preset: str = "paper",
    load: float | None = None,
    elastic: bool = True,
    elastic_share: float | None = None,
    scaling_loss: float = 0,
    wrong: float = 0.0,
    checkpoints: float = 0.0,
    most_days: float = 5,
    seed: int = 0,
) -> Workload:
    """Draw a workload with the shares that the paper states; the rest is made up **(D)**.

    There are as many jobs per GPU and day as in the paper's trace. They arrive at random, most
    often in the afternoon, and a third as often on the sixth and seventh day of a week: weekends
    are less busy (section 7.2). Running times have the percentiles of Table 8, and are scaled so
    that the jobs are the load stated, of which the elastic ones are 36 %; at the load of the paper
    the scale is 1. A job's workers have 4 GPUs, or as many as the job;
    those of elastic jobs have 2 (Figure 3). The request of an elastic job is its base demand, and
    it can have twice as much. Fungible jobs are drawn until they are 21 % of the load, elastic ones
    among them; heterogeneous jobs are drawn from the others. Of the same seed all scenarios have
    the same jobs.

    Parameters
    ----------
    training
        Training servers, of 8 GPUs.
    scenario
        ``"basic"``: fungible and elastic jobs. ``"advanced"``: heterogeneous jobs as well, with an
        efficiency of 0.7 on both pools. ``"heterogeneous"``: these and elastic jobs, none fungible.
        ``"ideal"``: all jobs are elastic, fungible and heterogeneous, without loss of efficiency.
    preset
        ``"paper"``, ``"paper-low"`` or ``"paper-high"``: the load at which the paper's baseline has
        its printed use and percentiles (Tables 5 and 8), and those around it.
    load
        GPU time of all jobs, with what they request, over that of the training servers, instead of
        the preset's.
    elastic
        Whether jobs can have more than they request; False for the rows "Capacity Loaning" of
        Table 5, where they keep everything else.
    elastic_share
        Share of the jobs that are elastic, the large ones first (Figures 14 to 16). None: only
        these, 5 % of the jobs. In Ideal all are.
    scaling_loss
        Share of its throughput that each added worker loses; 0.2 in Figures 8 and 16.
    wrong
        Share of jobs whose running time is estimated wrongly, by up to 25 % (Table 9).
    checkpoints
        Share of jobs that keep their work when they are preempted (Figure 13).
    most_days
        Longest running time before scaling, in days.

    Raises
    ------
    UnknownName
        If there is no such scenario or preset.
    OptionError
        If an option is not in its range.
    """
    if scenario not in SCENARIOS:
        raise UnknownName("scenario", scenario, list(SCENARIOS))
    if preset not in PRESETS:
        raise UnknownName("preset", preset, list(PRESETS))
    load = PRESETS[preset] if load is None else load
    positive = all(0 < value < math.inf for value in (training, days, load, most_days))
    if not positive or not min(wrong, checkpoints) >= 0:
        raise OptionError("training, days, load and most_days must be above 0, shares from 0")
    if max(wrong, checkpoints) > 1:
        raise OptionError("wrong and checkpoints are shares, at most 1")
    if elastic_share is not None and not 0 <= elastic_share <= 1:
        raise OptionError("elastic_share is a share, from 0 to 1")
    draws = Draws(training, days, load, most_days, seed)
    rng = np.random.default_rng([seed, 1])
    factor = 1 + MARGIN * rng.uniform(-1, 1, draws.jobs)
    mistaken = rng.random(draws.jobs) < wrong
    kept = np.random.default_rng([seed, 2]).random(draws.jobs) < checkpoints
    scales = scaling(draws.elastic, elastic_share, seed) if elastic else np.zeros(draws.jobs, bool)
    rows = []
    for j in range(draws.jobs):
        gpus, work = int(draws.gpus[j]), int(draws.work[j])
        large, ideal = bool(draws.elastic[j]), scenario == "ideal"
        row: dict[str, Any] = {
            "id": f"j{j + 1}",
            "submit": int(draws.submit[j]),
            "gpus": gpus,
            "work": work,
            "restart": RESTART,
            "checkpoints": bool(kept[j]),
            "gpus_per_worker": 2 if large else min(gpus, NORMALISED_GPUS),
            "fungible": ideal or (scenario != "heterogeneous" and bool(draws.fungible[j])),
            "heterogeneous": ideal or (scenario != "basic" and bool(draws.mixed[j])),
        }
        if scales[j] or (elastic and ideal):
            row |= {"min_gpus": gpus, "max_gpus": 2 * gpus, "scaling_loss": scaling_loss}
        if row["heterogeneous"] and not ideal:
            row["mixed_efficiency"] = MIXED_EFFICIENCY
        if mistaken[j]:
            row["estimate"] = max(1, round(work * float(factor[j])))
        rows.append(row)
    name = f"lyra-{scenario}-{training}-{days:g}d-{seed}"
    return Workload.parse({"name": name, "jobs": rows}, "the generator")


def with_wrong_estimates(workload: Workload, share: float, *, seed: int = 0) -> Workload:
    """Return a workload in which policies are told wrong running times of some jobs.

    The relative error is uniform, up to 25 %.

    Parameters
    ----------
    share
        Share of the jobs, each drawn independently.
    seed
        Seed of the random numbers. Of the same seed, the jobs that are wrong with a smaller share
        are wrong with a larger one, too, and by as much.

    Raises
    ------
    OptionError
        If `share` is not from 0 to 1.
    """
    if not 0 <= share <= 1:
        raise OptionError("the share of wrong estimates is from 0 to 1")
    rng = np.random.default_rng([seed, 3])
    factor = 1 + MARGIN * rng.uniform(-1, 1, len(workload.jobs))
    mistaken = rng.random(len(workload.jobs)) < share
    jobs = tuple(
        job.model_copy(update={"estimate": max(1e-6, round(float(job.work) * factor[j], 6))})
        if mistaken[j]
        else job
        for j, job in enumerate(workload.jobs)
    )
    return workload.model_copy(update={"jobs": jobs})
