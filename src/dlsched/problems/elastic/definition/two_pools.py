"""Elastic on two pools of GPUs, training and on loan (Lyra, sections 2.1 and 6).

The modules are called as those for one capacity in the package above: ``check`` is the definition,
``model`` the declarative model; ``knapsack``, ``table``, ``lagrangian`` and ``search`` are parts
of ``dp``. ``workers`` has running times and a job's choices, ``fixing`` tables of parts of these.
"""

from dlsched.problems.elastic.definition.two_pools_choices import (
    PoolItem,
    Split,
    base_of,
    choices,
    fastest_time,
    gpus_of,
    reduction,
    running_time,
    solution_of,
    splits,
)

__all__ = [
    "PoolItem",
    "Split",
    "base_of",
    "choices",
    "fastest_time",
    "gpus_of",
    "reduction",
    "running_time",
    "solution_of",
    "splits",
]
