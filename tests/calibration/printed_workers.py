"""What Lyra prints of its fleet and of the jobs that are placed (sections 5.3 and 7.1)."""

from collections.abc import Callable
from functools import cache, partial
from typing import Any

from marginal import Marginal, percent

import dlsched


@cache
def drawn(seed: int, **options: Any) -> Any:
    """Draw the paper's fleet; several marginals are measured on the same."""
    return dlsched.generate("workers", seed, **options)


def servers(pool: str) -> Callable[[Any], float]:
    """Return the measure of a pool's servers."""
    return lambda made: sum(server.pool == pool for server in made.servers)


def used(pool: str, instance: Any) -> float:
    """Per cent of a pool's GPUs in use."""
    own = [server for server in instance.servers if server.pool == pool]
    return 100 - 100 * sum(s.free for s in own) / sum(s.gpus for s in own)


def load(kind: str, instance: Any) -> float:
    """Per cent of the GPUs that jobs of a kind have."""
    gpus = {job.id: (job.base + job.flexible) * job.gpus_per_worker for job in instance.jobs}
    own = sum(gpus[job.id] for job in instance.jobs if getattr(job, kind))
    return 100 * own / sum(gpus.values())


fungible, elastic = percent(lambda j: j.fungible), percent(lambda j: j.elastic)
heterogeneous = percent(lambda j: j.heterogeneous)
advanced = partial(drawn, scenario="advanced")
alone = partial(drawn, scenario="heterogeneous")
ideal = partial(drawn, scenario="ideal")

MARGINALS = [
    Marginal("training servers", 443, 443, 443, "section 7.1", drawn, servers("training")),
    Marginal("servers on loan, at most: 98 % - 42 % of 520", 291, 291, 291,
             "Figure 1, section 7.1", drawn, servers("loan")),
    Marginal("GPUs of training in use, %", 86, 83, 89, "Table 5, row 2", drawn,
             partial(used, "training")),
    Marginal("GPUs on loan in use, %: above 92", 92, 92, 98, "section 7.3, Figure 9", drawn,
             partial(used, "loan")),
    *(
        Marginal(f"{name}, %", printed, low, high, "section 7.1", draw, measure)
        for name, printed, low, high, draw, measure in (
            ("admitted jobs that are fungible, basic", 21, 17, 25, drawn, fungible),
            ("GPUs of admitted fungible jobs, basic", 21, 14, 28, drawn, partial(load, "fungible")),
            ("admitted jobs that are elastic, basic", 5, 3, 7, drawn, elastic),
            ("GPUs of jobs that are elastic, before admission, basic", 36, 32, 40,
             partial(drawn, admitted=False), partial(load, "elastic")),
            ("admitted jobs that are heterogeneous, advanced", 10, 7, 13, advanced, heterogeneous),
            ("admitted jobs that are fungible, advanced", 21, 17, 25, advanced, fungible),
            ("admitted jobs that are heterogeneous, heterogeneous", 10, 7, 13, alone,
             heterogeneous),
            ("admitted jobs that are elastic, ideal", 100, 100, 100, ideal, elastic),
            ("admitted jobs that are heterogeneous, ideal", 100, 100, 100, ideal, heterogeneous),
        )
    ),
]  # fmt: skip
