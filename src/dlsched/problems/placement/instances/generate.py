"""Random placement instances with the statistics that MAST prints, and examples."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dlsched.errors import OptionError
from dlsched.problems.placement.definition.schema import Instance
from dlsched.registry.generators import quantiles

KINDS = ("A100", "V100", "T4")
KINDS_OF_JOBS = {"ml": 0.5, "spark": 0.3, "presto": 0.2}
"""Ours, as are hours, supplies, and the share of time-sensitive jobs; the paper gives none."""
APPS = ("ads", "feed", "video")


@dataclass(frozen=True)
class Statistics:
    """Statistics of tables and jobs."""

    sizes: tuple[float, ...] = (0.565, 103.0, 7_500.0)
    """Default table sizes in GB at P50, P90 and P99. The paper prints no sizes of tables; these are
    those of the data replications of section 3.4."""
    readers: tuple[float, ...] = (3.0, 17.0, 45.0)
    """Default numbers of jobs that read a table at P50, P90 and P99. In the paper these are the
    workloads that read a partition (section 2, Figure 3); a table has at least as many readers."""
    priorities: tuple[float, ...] = (0.03, 0.20, 0.16, 0.54, 0.002, 0.005, 0.0602)
    """Shares of the seven priorities as printed; they add up to 0.9972 and are scaled to 1."""
    trained_at_home: float = 0.9082
    """Default share of the training jobs that are trained at home today (section 5.6)."""
    cpu_training: float = 0.3
    """Share of the training jobs that need no GPU (section 5.1)."""
    kinds: tuple[float, ...] = (0.5, 0.3, 0.2)
    """Shares of the GPU types, ours."""
    least_size: float = 0.001
    """Least size in GB, ours."""
    least_readers: float = 1.0
    """Least number of jobs that read a table, ours."""


STATISTICS = Statistics()


def generate(
    rng: np.random.Generator,
    *,
    tables: int = 30,
    regions: int = 4,
    jobs: int = 40,
    version: str = "v2",
    kinds: int = 3,
    utilization: float = 0.9,
    storage_utilization: float = 0.6,
    clusters: float = 0.5,
    move_share: float | None = None,
    at_home: float = 0.0,
    trained_at_home: float = STATISTICS.trained_at_home,
    largest: float = 1.0,
    sizes: Sequence[float] = STATISTICS.sizes,
    readers: Sequence[float] = STATISTICS.readers,
    cpu_training: float = STATISTICS.cpu_training,
) -> Instance:
    """Draw regions of uneven hardware, tables, and the jobs that read them.

    A training job reads tables of one region that has its type of GPU, the more tables it has the
    more often, or else tables of several. Sizes and readers are drawn from equal parts of their
    distributions, so that few tables have the percentiles, too; the logarithm is linear between
    these, and beyond the last as before it **(D)**. Of few tables the largest then has most bytes.

    Parameters
    ----------
    tables
        Number of tables; the paper has millions (section 2).
    regions
        Number of regions; the paper has tens (section 2).
    jobs
        Number of jobs; the paper has millions a day (section 1).
    version
        Of the objective, ``"v1"`` or ``"v2"`` (section 5.6).
    kinds
        GPU types, up to three; not every region has every one. Ours.
    utilization
        GPU hours demanded as a share of the supply; above 1 no placement avoids overload. Ours.
        With 2.1 the most loaded of 10 regions with 1,000 tables and 3,000 jobs has on average the
        printed ratio of 2.63 (section 5.6, priorities 1 to 3).
    storage_utilization
        Bytes of the tables as a share of the regions' storage capacity; less if a region needs more
        than its part for the largest table. Ours.
    clusters
        Locality of reading: with this chance a reader of a table is drawn from the jobs near it,
        else from all jobs that may read it. Ours.
    move_share
        The move quota as a share of all bytes; none by default, as the paper prints none.
    at_home
        The threshold of (6) as a share of the GPU hours of time-sensitive jobs; the paper prints
        none.
    trained_at_home
        Share of the training jobs whose tables are today in one region that has their type of GPU
        (section 5.6).
    largest
        Largest share of all bytes that a table has; 1 for sizes with the percentiles. Ours.
    sizes
        Size of a table in GB at P50, P90 and P99; in the paper of data replications (section 3.4).
    readers
        Number of jobs that read a table at P50, P90 and P99; in the paper of workloads that read a
        partition (Figure 3).
    cpu_training
        Share of the training jobs that need no GPU (section 5.1).
    """
    if version not in ("v1", "v2"):
        raise OptionError(f"version={version!r} must be v1 or v2")
    if tables < 1 or regions < 1 or jobs < 0 or not 1 <= kinds <= len(KINDS):
        raise OptionError(f"tables and regions from 1, jobs from 0, kinds from 1 to {len(KINDS)}")
    if utilization <= 0 or not 0 < storage_utilization < 1:
        raise OptionError("utilization must be above 0, storage_utilization between 0 and 1")
    shares = (clusters, largest, trained_at_home, cpu_training)
    if not all(0 <= share <= 1 for share in shares) or not largest:
        raise OptionError("clusters, largest, trained_at_home and cpu_training must be shares")
    for name, given in (("sizes", sizes), ("readers", readers)):
        if len(given) != 3 or not 0 < given[0] <= given[1] <= given[2]:
            raise OptionError(f"{name}={given!r} must be three ascending numbers above 0")
    size = np.maximum(1, np.rint(1000 * _stratified(rng, STATISTICS.least_size, sizes, tables)))
    size = _capped(size, largest)
    scale = rng.dirichlet(np.full(regions, 4.0))
    have = np.array([_hardware(rng, regions, scale) for _ in range(kinds)])
    storage = rng.dirichlet(np.full(regions, 6.0)) * 0.5 + scale * 0.5
    capacity = np.ceil(np.maximum(storage * size.sum() / storage_utilization, size.max()))
    homes = _homes(rng, size, capacity)
    job_rows = _jobs(rng, jobs, kinds, cpu_training)
    able = _tables_to_train_on(job_rows, have, homes)
    home_of_job = _homes_of_jobs(rng, able, trained_at_home)
    counts = _stratified(rng, STATISTICS.least_readers, readers, tables)
    reads = _readers(rng, homes, home_of_job, able, clusters, counts)
    for row, names in zip(job_rows, reads, strict=True):
        row["tables"] = [f"t{t + 1}" for t in names]
    supply = _supply(job_rows, have, utilization)
    quota = _cpu_quotas(job_rows, scale, _cpu_used(job_rows, reads, homes))
    urgent = sum(
        sum(row.get("gpu_hours", {}).values()) for row in job_rows if row.get("time_sensitive")
    )
    data: dict[str, Any] = {
        "dlsched": 1,
        "problem": "placement",
        "name": "unnamed",
        "version": version,
        "priority_weights": {
            str(p + 1): round(1 / (p + 1), 3) for p in range(len(STATISTICS.priorities))
        },
        "at_home_threshold": int(at_home * urgent),
        "move_quota": None if move_share is None else int(move_share * size.sum()),
        "regions": [
            {
                "id": f"r{r + 1}",
                "storage_capacity": int(capacity[r]),
                "gpu_supply": supply[r],
                "cpu_quota": quota[r],
            }
            for r in range(regions)
        ],
        "tables": [
            {"id": f"t{t + 1}", "size": int(s), "home": f"r{r + 1}"}
            for t, (s, r) in enumerate(zip(size.tolist(), homes, strict=True))
        ],
        "jobs": job_rows,
    }
    return Instance.parse(data, "the generator")


def _jobs(
    rng: np.random.Generator, jobs: int, kinds: int, cpu_training: float
) -> list[dict[str, Any]]:
    """Draw jobs but for their tables."""
    rows: list[dict[str, Any]] = []
    chances = np.array(STATISTICS.priorities) / sum(STATISTICS.priorities)
    shares = np.array(STATISTICS.kinds[:kinds]) / sum(STATISTICS.kinds[:kinds])
    for j in range(jobs):
        kind = str(rng.choice(list(KINDS_OF_JOBS), p=list(KINDS_OF_JOBS.values())))
        row = {
            "id": f"j{j + 1}",
            "kind": kind,
            "priority": int(rng.choice(len(chances), p=chances)) + 1,
        }
        if kind == "ml":
            hours = max(1, round(float(rng.lognormal(3, 1.2))))
            gpu = KINDS[int(rng.choice(kinds, p=shares))]
            without = bool(cpu_training) and bool(rng.random() < cpu_training)
            row["time_sensitive"] = bool(rng.random() < 0.3)
            if not without:
                row["gpu_hours"] = {gpu: hours}
        else:
            row["cpu_hours"] = max(1, round(float(rng.lognormal(2, 1))))
            row["app"] = str(rng.choice(APPS))
        rows.append(row)
    return rows


def _stratified(
    rng: np.random.Generator, least: float, percentiles: Sequence[float], n: int
) -> Any:
    """Draw one value from each of n equal parts of a distribution, in any order."""
    p50, p90, p99 = percentiles
    points = ((0.0, min(least, p50)), (0.5, p50), (0.9, p90), (0.99, p99))
    return quantiles(points, (rng.permutation(n) + rng.random(n)) / n)


def _tables_to_train_on(rows: list[dict[str, Any]], have: Any, homes: list[int]) -> list[Any]:
    """Return for each job the tables of each region with its type of GPU; none if no training."""
    count = np.bincount(homes, minlength=have.shape[1])
    of_kind = {kind: count * (row > 0) for kind, row in zip(KINDS, have, strict=False)}
    return [
        next((of_kind[kind] for kind in row.get("gpu_hours", ())), count)
        if row["kind"] == "ml"
        else 0 * count
        for row in rows
    ]


def _homes_of_jobs(rng: np.random.Generator, able: list[Any], at_home: float) -> list[int]:
    """Draw the region whose tables a training job reads; -1 for a job that reads any tables."""
    homes = [-1] * len(able)
    training = np.flatnonzero([count.any() for count in able])
    for j in rng.permutation(training)[: round(at_home * len(training))].tolist():
        homes[j] = int(rng.choice(len(able[j]), p=able[j] / able[j].sum()))
    return homes


def _capped(size: Any, largest: float) -> Any:
    """Reduce the largest sizes until none is more than a share of their sum."""
    if largest * len(size) <= 1:
        return size
    for _ in range(100):
        limit = np.floor(largest * size.sum())
        if size.max() <= limit:
            break
        size = np.minimum(size, limit)
    return size


def _readers(
    rng: np.random.Generator,
    homes: list[int],
    home_of_job: list[int],
    able: list[Any],
    clusters: float,
    counts: Any,
) -> list[list[int]]:
    """Draw the tables of each job: for each table a number of its readers.

    Jobs and tables are on a circle; a clustered reader is drawn near its table. Those that read it
    already are replaced from twice as far. A job that would only by chance be trained at home gets
    a table of another region.
    """
    jobs, tables = len(home_of_job), len(homes)
    chosen: list[set[int]] = [set() for _ in range(jobs)]
    at = np.array(home_of_job, dtype=int)
    stored = {r: np.flatnonzero(np.array(homes) == r) for r in set(homes)}
    may_read = {r: np.flatnonzero((at < 0) | (at == r)) for r in stored}
    for t, count in enumerate(np.rint(counts).astype(int).tolist()):
        among = may_read[homes[t]]
        readers: set[int] = set()
        middle = np.searchsorted(among, t * jobs / tables)
        spread = max(1.0, len(among) / 50)
        while len(readers) < min(count, len(among)):
            more = count - len(readers)
            near = np.rint(middle + rng.normal(size=more) * spread).astype(int) % len(among)
            anywhere = rng.integers(len(among), size=more)
            drawn = np.where(rng.random(more) < clusters, near, anywhere)
            readers.update(among[drawn].tolist())
            spread = min(2 * spread, len(among))
        for j in readers:
            chosen[j].add(t)
    for names, home, count in zip(chosen, home_of_job, able, strict=True):
        if not names:
            names.add(int(rng.choice(stored.get(home, tables))))
        regions = {homes[t] for t in names}
        if home < 0 and len(regions) == 1 < len(stored) and count[min(regions)]:
            others = [r for r in stored if r not in regions]
            names.add(int(rng.choice(stored[others[int(rng.integers(len(others)))]])))
    return [sorted(names) for names in chosen]


def _hardware(rng: np.random.Generator, regions: int, scale: Any) -> Any:
    """Draw each region's share of a type's hardware; about a fifth of the regions has none."""
    share = scale * rng.lognormal(0, 0.7, size=regions) * (rng.random(regions) < 0.8)
    if not share.sum():
        share = scale
    return share / share.sum()


def _supply(jobs: list[dict[str, Any]], have: Any, utilization: float) -> list[dict[str, int]]:
    """Return each region's GPU hours by type: its shares of what the demand needs."""
    supply: list[dict[str, int]] = [{} for _ in have[0]]
    for kind, shares in zip(KINDS, have, strict=False):
        demanded = float(sum(job.get("gpu_hours", {}).get(kind, 0) for job in jobs))
        for of_region, share in zip(supply, shares, strict=True):
            hours = int(np.ceil(share * demanded / utilization))
            if hours:
                of_region[kind] = hours
    return supply


def _cpu_quotas(
    jobs: list[dict[str, Any]], scale: Any, used: Counter[tuple[int, str]]
) -> list[dict[str, int]]:
    """Return each region's CPU hours by application, no less than what is used today."""
    quotas: list[dict[str, int]] = [{} for _ in scale]
    for app in APPS:
        hours = sum(job["cpu_hours"] for job in jobs if job.get("app") == app)
        for r, quota in enumerate(quotas if hours else ()):
            share = min(1.0, 1 / len(scale) + float(scale[r]))
            quota[app] = max(used[r, app], int(np.ceil(hours * share)))
    return quotas


def _cpu_used(
    jobs: list[dict[str, Any]], reads: list[list[int]], homes: list[int]
) -> Counter[tuple[int, str]]:
    """Return CPU hours by region and application, with the tables at the homes of today."""
    used: Counter[tuple[int, str]] = Counter()
    for job, names in zip(jobs, reads, strict=True):
        if "app" in job:
            regions = [homes[t] for t in names]
            most_tables = min(set(regions), key=lambda r: (-regions.count(r), r))
            used[most_tables, job["app"]] += job["cpu_hours"]
    return used


def _homes(rng: np.random.Generator, size: Any, capacity: Any) -> list[int]:
    """Draw homes with enough free storage, for the largest tables first."""
    free = capacity.copy()
    homes = np.zeros(len(size), dtype=int)
    for t in np.argsort(-size, kind="stable").tolist():
        fits = np.flatnonzero(free >= size[t])
        if not len(fits):  # no region has that much left: today's placement is infeasible
            fits = np.array([int(np.argmax(free))])
        r = int(rng.choice(fits, p=free[fits].clip(1) / free[fits].clip(1).sum()))
        homes[t] = r
        free[r] -= size[t]
    return list(map(int, homes))


def examples() -> list[Instance]:
    """Return one instance made by hand; MAST prints no complete instance."""
    pair = {
        "dlsched": 1,
        "problem": "placement",
        "name": "mast-two-regions",
        "at_home_threshold": 5,
        "move_quota": 20,
        "source": "ours, by the definitions of MAST (OSDI'24), section 3",
        "regions": [
            {"id": "east", "storage_capacity": 30, "gpu_supply": {"A100": 6}},
            {"id": "west", "storage_capacity": 30, "gpu_supply": {"A100": 6}},
        ],
        "tables": [
            {"id": "clicks", "size": 10, "home": "east"},
            {"id": "users", "size": 6, "home": "west"},
            {"id": "videos", "size": 8, "home": "east"},
            {"id": "ads", "size": 8, "home": "west"},
        ],
        "jobs": [
            {
                "id": "rank",
                "kind": "ml",
                "tables": ["clicks", "users"],
                "gpu_hours": {"A100": 5},
                "time_sensitive": True,
            },
            {"id": "match", "kind": "ml", "tables": ["videos", "ads"], "gpu_hours": {"A100": 5}},
            {"id": "report", "kind": "spark", "tables": ["clicks", "videos", "users"]},
        ],
    }
    return [Instance.parse(pair, "the example")]
