"""What MAST (OSDI'24) prints of tables and jobs, as in instances of placement."""

from collections import Counter
from functools import cache, partial
from typing import Any

from marginal import Marginal, percent, percentile

import dlsched
from dlsched.problems.placement import Solution
from dlsched.problems.placement.instances.replicas import co_location


@cache
def drawn(seed: int, tables: int, jobs: int) -> Any:
    """Draw an instance of a size."""
    return dlsched.generate("placement", seed, tables=tables, jobs=jobs)


default = partial(drawn, tables=30, jobs=40)
large = partial(drawn, tables=500, jobs=700)


def gigabytes(made: Any) -> list[float]:
    """Return the sizes of tables, which are in MB."""
    return [table.size / 1000 for table in made.tables]


def readers(made: Any) -> list[int]:
    """Return how many jobs read each table."""
    count = Counter(name for job in made.jobs for name in job.tables)
    return [count[table.id] for table in made.tables]


def trained_at_home(made: Any) -> float:
    """Return the share of training jobs whose tables have one home, with their types of GPU."""
    today = Solution(home={table.id: table.home for table in made.tables})
    return 100 * float(co_location(made, today, by="jobs"))


def training(made: Any) -> list[Any]:
    """Return the training jobs."""
    return [job for job in made.jobs if job.kind == "ml"]


SHARES = (0.5, 0.9, 0.99)
MARGINALS = [
    *(
        Marginal(f"size of a table, GB, P{100 * share:.0f}, {size}", printed, printed / slack,
                 printed * slack, "section 3.4", draw, percentile(share, gigabytes))
        for size, draw, slack in (("30 tables", default, 2.0), ("500 tables", large, 1.2))
        for share, printed in zip(SHARES, (0.565, 103, 7500), strict=True)
    ),
    *(
        Marginal(f"jobs that read a table, P{100 * share:.0f}", printed, low, high, "Figure 3",
                 large, percentile(share, readers))
        for share, printed, low, high in ((0.5, 3, 2.7, 3.3), (0.9, 17, 15, 19), (0.99, 45, 40, 50))
    ),
    Marginal("jobs trained at home, %, 30 tables", 90.82, 88, 93, "section 5.6", default,
             trained_at_home),
    Marginal("jobs trained at home, %, 500 tables", 90.82, 90, 92, "section 5.6", large,
             trained_at_home),
    Marginal("training jobs that use GPUs, %", 70, 67, 73, "section 5.1", large,
             percent(lambda job: job.gpu_hours, training)),
    *(
        Marginal(f"jobs of priority {p}, %", printed, low, high, "section 4.2", large,
                 percent(lambda job, p=p: job.priority == p))
        for p, printed, low, high in ((1, 3, 2, 4), (2, 20, 18, 22), (3, 16, 14, 18),
                                      (4, 54, 51, 57))
    ),
]  # fmt: skip
