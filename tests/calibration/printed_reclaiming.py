"""What Lyra prints of its servers on loan (sections 2, 4, 5.3 and 7)."""

from functools import cache
from statistics import fmean
from typing import Any

from marginal import Marginal

import dlsched


@cache
def drawn(seed: int) -> Any:
    """Draw the paper's fleet; several marginals are measured on the same."""
    return dlsched.generate("reclaiming", seed)


def used(instance: Any) -> float:
    """Per cent of the GPUs in use."""
    taken = sum(worker.gpus for job in instance.jobs for worker in job.workers)
    return 100 * taken / sum(server.gpus for server in instance.servers)


def hosts(instance: Any, flexible: bool) -> set[str]:
    """Servers that host workers of a kind."""
    return {w.server for job in instance.jobs for w in job.workers if w.flexible == flexible}


def flexible_group(instance: Any) -> float:
    """Per cent of the demand that servers with flexible workers only satisfy."""
    group = hosts(instance, True) - hosts(instance, False)
    return 100 * min(1, len(group) / instance.demand)


MARGINALS = [
    Marginal("servers on loan, at most: 98 % - 42 % of 520", 291, 291, 291,
             "Figure 1, section 7.1", drawn, lambda made: len(made.servers)),
    Marginal("GPUs of a server", 8, 8, 8, "section 7.1", drawn,
             lambda made: fmean(server.gpus for server in made.servers)),
    Marginal("GPUs in use, %: above 92", 92, 92, 100, "section 7.3, Figure 9", drawn, used),
    Marginal("share of the demand that the flexible group satisfies, %", 53.5, 47, 60,
             "section 7.2", drawn, flexible_group),
    Marginal("servers with workers of both groups", 0, 0, 0, "section 5.3", drawn,
             lambda made: len(hosts(made, True) & hosts(made, False))),
]  # fmt: skip
