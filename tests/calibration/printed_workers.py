"""What Lyra prints of its fleet and of the jobs that are placed (sections 5.3 and 7.1)."""

from functools import cache, partial
from statistics import fmean
from typing import Any

from marginal import Marginal

import dlsched


@cache
def drawn(seed: int, **options: Any) -> Any:
    """Draw the paper's fleet; several marginals are measured on the same."""
    return dlsched.generate("workers", seed, **options)


def gpus(job: Any) -> int:
    """GPUs of all workers of a job."""
    return int((job.base + job.flexible) * job.gpus_per_worker)


def servers(pool: str, instance: Any) -> float:
    """Servers of a pool."""
    return float(sum(server.pool == pool for server in instance.servers))


def used(pool: str, instance: Any) -> float:
    """Per cent of a pool's GPUs in use."""
    own = [server for server in instance.servers if server.pool == pool]
    return 100 - 100 * sum(s.free for s in own) / sum(s.gpus for s in own)


def share(kind: str, instance: Any) -> float:
    """Per cent of the jobs of a kind."""
    return 100 * fmean(getattr(job, kind) for job in instance.jobs)


def load(kind: str, instance: Any) -> float:
    """Per cent of the GPUs that jobs of a kind have."""
    total = sum(map(gpus, instance.jobs))
    return 100 * sum(gpus(job) for job in instance.jobs if getattr(job, kind)) / total


advanced = partial(drawn, scenario="advanced")
alone = partial(drawn, scenario="heterogeneous")
ideal = partial(drawn, scenario="ideal")

MARGINALS = [
    Marginal(
        "training servers", 443, 443, 443, "section 7.1", drawn, partial(servers, "training")
    ),
    Marginal(
        "servers on loan, at most: 98 % - 42 % of 520", 291, 291, 291, "Figure 1, section 7.1",
        drawn, partial(servers, "loan"),
    ),
    Marginal(
        "GPUs of training in use, %", 86, 83, 89, "Table 5, row 2", drawn,
        partial(used, "training"),
    ),
    Marginal(
        "GPUs on loan in use, %: above 92", 92, 92, 98, "section 7.3, Figure 9", drawn,
        partial(used, "loan"),
    ),
    Marginal(
        "admitted jobs that are fungible, basic, %", 21, 17, 25, "section 7.1", drawn,
        partial(share, "fungible"),
    ),
    Marginal(
        "GPUs of admitted fungible jobs, basic, %", 21, 14, 28, "section 7.1", drawn,
        partial(load, "fungible"),
    ),
    Marginal(
        "admitted jobs that are elastic, basic, %", 5, 3, 7, "section 7.1", drawn,
        partial(share, "elastic"),
    ),
    Marginal(
        "GPUs of jobs that are elastic, before admission, basic, %", 36, 32, 40, "section 7.1",
        partial(drawn, admitted=False), partial(load, "elastic"),
    ),
    Marginal(
        "admitted jobs that are heterogeneous, advanced, %", 10, 7, 13, "section 7.1", advanced,
        partial(share, "heterogeneous"),
    ),
    Marginal(
        "admitted jobs that are fungible, advanced, %", 21, 17, 25, "section 7.1", advanced,
        partial(share, "fungible"),
    ),
    Marginal(
        "admitted jobs that are heterogeneous, heterogeneous, %", 10, 7, 13, "section 7.1", alone,
        partial(share, "heterogeneous"),
    ),
    Marginal(
        "admitted jobs that are elastic, ideal, %", 100, 100, 100, "section 7.1", ideal,
        partial(share, "elastic"),
    ),
    Marginal(
        "admitted jobs that are heterogeneous, ideal, %", 100, 100, 100, "section 7.1", ideal,
        partial(share, "heterogeneous"),
    ),
]  # fmt: skip
