"""What MAST (OSDI'24) prints of tables and jobs, as in instances of placement."""

from collections.abc import Callable, Iterable
from functools import cache, partial
from typing import Any

import numpy as np
from marginal import Marginal

import dlsched
from dlsched.problems.placement import Solution
from dlsched.problems.placement.instances.replicas import co_location


@cache
def drawn(seed: int, tables: int, jobs: int) -> Any:
    """Draw an instance of a size."""
    return dlsched.generate("placement", seed, tables=tables, jobs=jobs)


default = partial(drawn, tables=30, jobs=40)
large = partial(drawn, tables=500, jobs=700)


def percentile(share: float, values: Callable[[Any], Iterable[float]]) -> Callable[[Any], float]:
    """Return the measure of a percentile of what an instance has."""
    return lambda made: float(np.quantile(list(values(made)), share))


def gigabytes(made: Any) -> list[float]:
    """Return the sizes of tables, which are in MB."""
    return [table.size / 1000 for table in made.tables]


def readers(made: Any) -> list[float]:
    """Return how many jobs read each table."""
    count = dict.fromkeys(made.table_index, 0)
    for job in made.jobs:
        for name in job.tables:
            count[name] += 1
    return list(count.values())


def trained_at_home(made: Any) -> float:
    """Return the share of training jobs whose tables have one home, with their types of GPU."""
    today = Solution(home={table.id: table.home for table in made.tables})
    return 100 * float(co_location(made, today, by="jobs"))


def of_priority(priority: int) -> Callable[[Any], float]:
    """Return the measure of the share of jobs of a priority, in per cent."""
    return lambda made: 100 * sum(job.priority == priority for job in made.jobs) / len(made.jobs)


def with_gpus(made: Any) -> float:
    """Return the share of the training jobs that use GPUs, in per cent."""
    training = [job for job in made.jobs if job.kind == "ml"]
    return 100 * sum(bool(job.gpu_hours) for job in training) / len(training)


MARGINALS = [
    *(
        Marginal(f"{name}, {size}", printed, low, high, source, draw, percentile(share, values))
        for size, draw, slack in (("30 tables", default, 2.0), ("500 tables", large, 1.2))
        for name, values, share, printed, source in (
            ("size of a table, GB, P50", gigabytes, 0.5, 0.565, "section 3.4"),
            ("size of a table, GB, P90", gigabytes, 0.9, 103, "section 3.4"),
            ("size of a table, GB, P99", gigabytes, 0.99, 7500, "section 3.4"),
        )
        for low, high in ((printed / slack, printed * slack),)
    ),
    Marginal("jobs that read a table, P50", 3, 2.7, 3.3, "Figure 3", large,
             percentile(0.5, readers)),
    Marginal("jobs that read a table, P90", 17, 15, 19, "Figure 3", large,
             percentile(0.9, readers)),
    Marginal("jobs that read a table, P99", 45, 40, 50, "Figure 3", large,
             percentile(0.99, readers)),
    Marginal("jobs trained at home, %, 30 tables", 90.82, 88, 93, "section 5.6", default,
             trained_at_home),
    Marginal("jobs trained at home, %, 500 tables", 90.82, 90, 92, "section 5.6", large,
             trained_at_home),
    Marginal("training jobs that use GPUs, %", 70, 67, 73, "section 5.1", large, with_gpus),
    *(
        Marginal(f"jobs of priority {p}, %", printed, low, high, "section 4.2", large,
                 of_priority(p))
        for p, printed, low, high in ((1, 3, 2, 4), (2, 20, 18, 22), (3, 16, 14, 18),
                                      (4, 54, 51, 57))
    ),
]  # fmt: skip
