"""Random elastic epochs with the paper's statistics, and the paper's own examples."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dlsched.errors import OptionError
from dlsched.problems.elastic.definition.schema import Instance
from dlsched.schema import Number

GPUS_PER_WORKER = {1: 0.6, 2: 0.25, 4: 0.1, 8: 0.05}
"""Weights of the GPUs per worker; ours. With up to three base workers a job has 3.8 GPUs in the
mean, as follows from section 2.2 and Table 5: jobs that are not large have 64 % of the GPU time in
use, and run for 3.2 hours."""
LARGE_JOBS = 0.05
"""Share of large jobs, the elastic ones of Basic (Lyra, section 2.2)."""
LARGE_GPUS_PER_WORKER = 2
"""GPUs of a worker of a large job (Lyra, Figure 3)."""
LARGE_BASE = {2: 0.3, 4: 0.4, 8: 0.3}
"""Weights of the base workers of large jobs; ours. The mean is 9.2 GPUs, as follows from section
2.2 and Table 5: they have 36 % of the GPU time in use, and run for 14.2 hours."""
LARGE_HOURS = (2.0, 46.8)
"""Range of the running time of large jobs; ours, with the mean of section 2.2, 14.2 hours."""
LOSS = 0.2
"""Share of its speed that an added worker loses (Lyra, section 7.2)."""
SCALINGS = ("linear", "loss", "power_loss")
LOAN_SPEED = 0.3333
"""Speed of a GPU on loan; three servers on loan equal one training server (Lyra, section 7.5)."""


class Scenario(NamedTuple):
    """Shares of the jobs, and of its workers' speed that a job has on both kinds of GPU."""

    elastic: float
    fungible: float
    heterogeneous: float
    mixed_efficiency: float


SCENARIOS = {
    "basic": Scenario(LARGE_JOBS, 0.21, 0.0, 0.7),
    "advanced": Scenario(LARGE_JOBS, 0.21, 0.1, 0.7),
    "heterogeneous": Scenario(LARGE_JOBS, 0.0, 0.1, 0.7),
    "ideal": Scenario(1.0, 1.0, 1.0, 1.0),
}
"""Lyra's scenarios (section 7.1); ideal jobs can use any GPU, so that all are fungible as well."""


def generate(
    rng: np.random.Generator,
    *,
    jobs: int = 100,
    items: int | None = None,
    capacity: int | None = None,
    running: float = 0.5,
    scenario: str = "basic",
    elastic: float | None = None,
    scaling: str = "linear",
    gpus_per_worker: Mapping[int, float] = GPUS_PER_WORKER,
    max_base: int = 3,
    hours: tuple[float, float] = (0.02, 22.0),
    loan: int | None = None,
    loan_speed: float = LOAN_SPEED,
    fungible: float | None = None,
    heterogeneous: float | None = None,
    mixed_efficiency: float | None = None,
) -> Instance:
    """Return the randomly drawn jobs of one scheduling epoch.

    One job in twenty is large: these run for 14.2 hours in the mean, and have 36 % of the GPU time
    (Lyra, section 2.2). The paper does not print how jobs are spread over an epoch.

    Parameters
    ----------
    jobs
        Number of jobs; ignored if `items` is given.
    items
        Draw jobs until the knapsack has this many items, choices that take GPUs, as in the paper's
        worst epoch of 354 items and 245 GPUs (section 5.2); the last job gets fewer workers if
        needed. Running jobs without a choice are left out, as there.
    capacity
        Free GPUs; by default 2 per job, of this library.
    running
        Share of jobs that run already, half of them by default, of this library; with 1 this is
        the paper's phase two (section 5.2).
    scenario
        ``"basic"``, ``"advanced"``, ``"heterogeneous"`` or ``"ideal"`` (section 7.1): what
        `elastic` and the last three parameters are by default. These three are for two pools only.
    elastic
        Share of the jobs that are elastic, the large ones first: 0.05 (section 2.2), or 1 in Ideal.
        The most workers of an elastic job are twice its base workers (section 7.1, Ideal).
    scaling
        ``"linear"`` (section 5); ``"loss"``: each added worker brings 0.8 of a base worker (section
        7.2); or ``"power_loss"``, a variant of this library: the n-th added worker brings 0.8**n.
    gpus_per_worker
        ``{GPUs: weight}``, of this library; large jobs have workers of 2 GPUs (Figure 3).
    max_base
        Base workers are 1 to this, of this library; large jobs have 2, 4 or 8.
    hours
        Range in hours of the running time with the base workers, log-uniform, in whole seconds;
        section 7.1 has minutes to days. The mean of the default, 3.1, follows from Table 5. Large
        jobs run for 2 to 46.8 hours.
    loan
        Free GPUs on loan. If given, the instance has two pools, and `capacity` is that of training;
        jobs and their times are those of the same seed without.
    loan_speed
        Speed of a GPU on loan, that of a training GPU being 1; a third by section 7.5.
    fungible, heterogeneous
        Shares of jobs, of all jobs each; 0.21 and 0 in Basic (section 7.1). Half of the fungible
        jobs that run have their base workers on loan, of this library.
    mixed_efficiency
        Share of its workers' speed that a job has on both kinds of GPU; 0.7, or 1 in Ideal (section
        7.1).
    """
    for name, value, known in (
        ("scaling", scaling, SCALINGS),
        ("scenario", scenario, tuple(SCENARIOS)),
    ):
        if value not in known:
            raise OptionError(f"{name}={value!r} must be one of: {', '.join(known)}")
    given = (elastic, fungible, heterogeneous, mixed_efficiency)
    pairs = zip(given, SCENARIOS[scenario], strict=True)
    shares = Scenario(*(default if own is None else own for own, default in pairs))
    if items and running >= 1 and not shares.elastic:
        raise OptionError("running jobs have no items unless some are elastic")
    rows: list[dict[str, Any]] = []
    left = items
    while left != 0 if items is not None else len(rows) < jobs:
        large = bool(rng.random() < LARGE_JOBS)
        base = _one_of(rng, LARGE_BASE) if large else int(rng.integers(1, max_base + 1))
        size = LARGE_GPUS_PER_WORKER if large else _one_of(rng, gpus_per_worker)
        most = 2 * base if rng.random() < _elastic_share(shares.elastic, large) else base
        runs = bool(rng.random() < running)
        least, longest = LARGE_HOURS if large else hours
        seconds = 3600 * least * (longest / least) ** rng.random()
        if left is not None:
            most = min(most, base + left - (not runs))
            of_job = most - base + (not runs)
            left -= of_job
            if not of_job:
                continue
        row = {"id": f"j{len(rows) + 1}", "gpus_per_worker": size, "min_workers": base}
        row |= {"max_workers": most, "running": runs}
        rows.append(row | _times(seconds, base, most, scaling))
    data: dict[str, Any] = {
        "dlsched": 1,
        "problem": "elastic",
        "name": "unnamed",
        "capacity": 2 * len(rows) if capacity is None else capacity,
        "jobs": rows,
    }
    if loan is not None:
        training = data.pop("capacity")
        _draw_kinds(rng, rows, shares.fungible, shares.heterogeneous)
        data["mixed_efficiency"] = shares.mixed_efficiency
        data["pools"] = pools(training, loan, loan_speed)
    return Instance.parse(data, "the generator")


def _one_of(rng: np.random.Generator, weights: Mapping[int, float]) -> int:
    shares = np.array(list(weights.values()), dtype=float)
    return int(rng.choice(list(weights), p=shares / shares.sum()))


def _times(seconds: float, base: int, most: int, scaling: str) -> dict[str, Any]:
    """Return the running times of a job that takes these seconds with its base workers."""
    fastest = max(1, round(seconds * base / _speeds(base, most, scaling)[-1]))
    if scaling == "linear" or most == base:
        return {"min_running_time": fastest}
    return {"running_times": lossy_times(fastest, base, most, scaling)}


def _elastic_share(elastic: float, large: bool) -> float:
    """Return the share of the large jobs, or of the others, that are elastic: large ones first."""
    if large:
        return min(1.0, elastic / LARGE_JOBS)
    return max(0.0, elastic - LARGE_JOBS) / (1 - LARGE_JOBS)


def pools(training: int, loan: int, loan_speed: float | Number) -> list[dict[str, Any]]:
    """Return the field ``pools``; GPUs of training have speed 1."""
    return [
        {"id": "training", "capacity": training, "speed": 1},
        {"id": "loan", "capacity": loan, "speed": loan_speed},
    ]


def _draw_kinds(
    rng: np.random.Generator, rows: list[dict[str, Any]], fungible: float, heterogeneous: float
) -> None:
    """Draw which jobs are fungible and heterogeneous, and where running ones have their base."""
    for row in rows:
        row["fungible"] = bool(rng.random() < fungible)
        row["heterogeneous"] = bool(rng.random() < heterogeneous)
        on_loan = bool(rng.random() < 0.5)
        if row["running"]:
            row["base_pool"] = "loan" if row["fungible"] and on_loan else "training"


def _speeds(base: int, most: int, scaling: str) -> NDArray[np.float64]:
    """Return the speeds from base to most workers, in base workers."""
    keep = 1.0 if scaling == "linear" else 1 - LOSS
    power = scaling == "power_loss"
    added = [keep**n if power else keep for n in range(1, most - base + 1)]
    return np.cumsum([float(base), *added])


def lossy_times(seconds: int, base: int, most: int, scaling: str = "loss") -> list[int]:
    """Return running times in seconds from base to most workers when each added one loses 20 %.

    Lyra, section 7.2: the throughput that an added worker brings has a loss of 20 %, so it brings
    0.8 of a base worker. With ``"power_loss"`` the n-th brings 0.8**n, a variant of this library.
    The last time is `seconds`; times are rounded to whole seconds.
    """
    speeds = _speeds(base, most, scaling).tolist()
    return [max(1, round(seconds * speeds[-1] / s)) for s in speeds]


def examples() -> list[Instance]:
    """Return the epochs of the paper's Tables 2 and 4 and of Figure 6, and one with two pools.

    Table 2: jobs A and B run with 2 to 6 workers, for at least 50 and 20 seconds, on 8 GPUs.
    Table 4: A with 2 to 3 workers for at least 100 seconds. Figure 6 shows the items of such jobs;
    there a worker of A takes 2 GPUs. The last one is that pair with GPUs on loan.
    """
    table2 = _pair("lyra-table2", "Tables 2 and 3", 8, (1, 6, 50), False)
    table4 = _pair("lyra-table4", "Table 4", 8, (1, 3, 100), False)
    fig6 = _pair("lyra-fig6", "Figure 6; the capacity is ours", 4, (2, 3, 100), True)
    return [table2, table4, fig6, _with_loan(fig6)]


def _with_loan(pair: Instance) -> Instance:
    """Return the pair of Figure 6 with 3 GPUs on loan, which B can use."""
    data = pair.to_data() | {
        "name": "lyra-fig6-loan",
        "source": "Lyra (EuroSys'23), Figure 6 and section 2.1; the capacities are ours",
        "pools": pools(2, 6, LOAN_SPEED),
    }
    del data["capacity"]
    data["jobs"][1] |= {"fungible": True, "base_pool": "loan"}
    third = {"id": "C", "gpus_per_worker": 1, "min_workers": 2, "max_workers": 3}
    data["jobs"].append({**third, "min_running_time": 60, "heterogeneous": True})
    return Instance.parse(data, "the generator")


def _pair(name: str, where: str, capacity: int, a: tuple[int, int, int], running: bool) -> Instance:
    fields = ("id", "gpus_per_worker", "max_workers", "min_running_time")
    jobs = [dict(zip(fields, row, strict=True)) for row in (("A", *a), ("B", 1, 6, 20))]
    data: dict[str, Any] = {
        "dlsched": 1,
        "problem": "elastic",
        "name": name,
        "source": f"Lyra (EuroSys'23), {where}",
        "capacity": capacity,
        "jobs": [{"min_workers": 2, "running": running, **job} for job in jobs],
    }
    return Instance.parse(data, "the generator")
