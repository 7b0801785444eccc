"""Muri's workloads (section 6.1): Philly's jobs, whose models are drawn from Table 3."""

import math
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from dlsched.errors import OptionError, UnknownName
from dlsched.problems.interleaving.structures.profiles import MODELS
from dlsched.registry.generators import Points, quantiles
from dlsched.simulation.workload.profiles.muri import restart
from dlsched.simulation.workload.workload import Workload

GPUS: Final = 64
"""GPUs of the testbed and of the simulations: 8 servers of 8."""
SIZES: Final = {1: 536, 2: 5, 4: 423, 8: 465, 16: 40, 32: 25}
"""{GPUs: jobs} of the authors' trace 1."""
SHARES: Final = (0, 0.1, 0.25, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1)
"""Percentiles of the durations."""
DURATIONS: Final = {
    1: (3, 117, 1_099, 7_776, 14_401, 29_797, 227_179, 539_072, 1_733_145, 2_059_893, 3_041_541),
    4: (2, 140, 319, 846, 5_671, 30_727, 71_782, 93_012, 129_253, 218_677, 547_204),
    8: (2, 252, 841, 5_393, 14_309, 58_369, 133_492, 373_154, 754_811, 1_673_400, 4_628_239),
    32: (32, 77, 196, 872, 19_632, 49_733, 91_458, 112_304, 157_411, 177_734, 370_075),
}
"""Seconds at these percentiles, of jobs with up to as many GPUs, in trace 1."""
GAPS: Final[Points] = (
    (0, 1), (0.1, 4), (0.25, 7), (0.5, 161), (0.75, 2_387), (0.9, 15_031), (0.95, 33_867),
    (0.99, 149_127), (1, 522_976),
)  # fmt: skip
"""Seconds between two submissions by percentile, in trace 1."""
REPEATED: Final = 0.72
"""Share of the jobs with the GPUs of the job before, drawn anew else: 81 % have them in trace 1."""
RELATED: Final = 0.5
"""Part of the variance of a duration's normal score that jobs submitted near each other share: the
correlation with the next job is 0.57 in trace 1."""
FADING: Final = 0.985
"""Correlation of that part with the next job's; with the 50th job after it is 0.25 in trace 1."""
PRESETS: Final = {"paper-low": 0.8, "paper": 2.5, "paper-high": 5.4}
"""Demand over supply until the last submission.

"paper" **(D)**: SRTF has about the mean completion time that is published for trace 1, over ten
seeds; the trace's own load is 1.99. The others are those of traces 3 and 2, least and largest.
"""


def muri_workload(
    jobs: int = 1494,
    *,
    preset: str = "paper",
    load: float | None = None,
    together: bool = False,
    seed: int = 0,
) -> Workload:
    """Draw jobs with the sizes, durations and gaps of the authors' trace 1.

    Models are drawn uniformly from the eight of Table 3, and a job's iterations from its duration,
    as in section 6.1. Stages are those of `dlsched.problems.interleaving.structures.profiles`.

    Parameters
    ----------
    jobs
        Number of jobs: 992 to 5,755 in section 6.1, and 1,494 in trace 1.
    preset
        ``"paper"``, ``"paper-low"`` or ``"paper-high"``: the load, see `PRESETS`.
    load
        GPU time of all jobs over that of 64 GPUs until the last submission, instead of the
        preset's.
    together
        All jobs are submitted at 0, as in traces 1' to 4'.
    seed
        Of the generator, from 0.

    Raises
    ------
    UnknownName
        If there is no such preset.
    OptionError
        If jobs, load or seed are out of range.
    """
    if preset not in PRESETS:
        raise UnknownName("preset", preset, list(PRESETS))
    load = PRESETS[preset] if load is None else load
    if jobs < 2 or not 0 < load < math.inf or seed < 0:
        raise OptionError("jobs must be at least 2, load above 0, and the seed from 0")
    rng = np.random.default_rng(seed)
    sizes = _sizes(rng, jobs)
    seconds = _durations(_related(rng, jobs), sizes)
    gaps = quantiles(GAPS, rng.random(jobs - 1))
    span = float(sizes @ seconds) / (GPUS * load)
    submit = np.concatenate([[0.0], np.cumsum(gaps) * span / gaps.sum()]).round()
    names = rng.choice(list(MODELS), size=jobs)
    rows = [
        {"id": str(i), "submit": 0 if together else int(submit[i]), "gpus": int(sizes[i])}
        | _fields(str(names[i]), int(seconds[i]), int(sizes[i]))
        for i in range(jobs)
    ]
    return Workload.parse({"name": f"muri-{jobs}", "jobs": rows}, "the generator")


def _sizes(rng: np.random.Generator, jobs: int) -> NDArray[np.int64]:
    """Draw GPUs, many of which are those of the job before."""
    counts = np.array([*SIZES.values()])
    drawn = rng.choice(list(SIZES), size=jobs, p=counts / counts.sum())
    new = rng.random(jobs) >= REPEATED
    new[0] = True
    sizes: NDArray[np.int64] = drawn[np.maximum.accumulate(np.where(new, np.arange(jobs), 0))]
    return sizes


def _related(rng: np.random.Generator, jobs: int) -> NDArray[np.float64]:
    """Draw shares, uniform from 0 to 1 each, which are alike for jobs near each other."""
    from scipy.signal import lfilter  # half a second that only these jobs need

    steps = rng.normal(size=jobs) * math.sqrt(1 - FADING**2)
    steps[0] = rng.normal()
    common = lfilter([1.0], [1.0, -FADING], steps)
    own = rng.normal(size=jobs)
    shares: NDArray[np.float64] = ndtr(math.sqrt(RELATED) * common + math.sqrt(1 - RELATED) * own)
    return shares


def _durations(u: NDArray[np.float64], sizes: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return whole seconds, by the percentiles of the jobs' sizes."""
    seconds = np.empty(len(u))
    smallest = 0
    for largest, values in DURATIONS.items():
        chosen = (smallest < sizes) & (sizes <= largest)
        seconds[chosen] = quantiles(tuple(zip(SHARES, values, strict=True)), u[chosen])
        smallest = largest
    return seconds.round().clip(1)


def _fields(name: str, seconds: int, gpus: int) -> dict[str, Any]:
    """Return what a job's model and duration say of it; stages in seconds, to microseconds."""
    model = MODELS[name]
    iteration = round(model.milliseconds / 1000, 6)
    return {
        "model": name,
        "work": seconds,
        "iterations": max(1, round(seconds / iteration)),
        "iteration_time": iteration,
        "stages": tuple(round(iteration * share, 6) for share in model.shares),
        "restart": restart(_TRACED.get(name, name), gpus),
    }


_TRACED: Final = {"shufflenet": "shufflenet_v2_x1_0"}
"""What the traces call a model of Table 3."""
