"""Lyra's heuristic for reclaiming (section 4), the paper's baselines, and two of this library.

`lyra` and `gpu_fraction` share one greedy loop: take the server of least cost, preempt its jobs,
update the costs of the jobs' other servers. They differ in what a job adds to the
cost of a server. `scf` and `random` choose all servers at once.
"""

import numpy as np

from dlsched.errors import OptionError
from dlsched.problems.reclaiming.definition.schema import Instance, Solution, solution_of
from dlsched.problems.reclaiming.heuristics.densest import densest  # noqa: F401  (registers it)
from dlsched.problems.reclaiming.heuristics.lyra_loop import Shares, greedy
from dlsched.registry.own import method


@method("reclaiming", kind="heuristic")
def lyra(instance: Instance, rng: np.random.Generator, ties: str = "absorbed") -> Solution:
    """Least server preemption cost first: a job adds weight / (servers that host it) to each.

    Lyra, section 4: the cost of a server is the sum over its jobs of 1 / (servers that host the
    job); here each term is multiplied by the job's weight, 1 in the paper. For a demand of one
    server the paper takes the server with the fewest preemptions: the cost is then the weight of
    the server's jobs. A server hosts a job if it has a base worker of it; without any it costs 0.

    Parameters
    ----------
    ties
        Between servers of equal cost, ``"collateral"`` takes the least collateral damage: GPUs
        vacated on other servers (section 4, last sentence). ``"absorbed"`` leaves out GPUs on
        servers that become idle, as far as the remaining demand can return them; it finds the
        optimum of `lyra-fig5`, and plain collateral damage does not. ``"file"`` takes the earlier
        server, ``"random"`` any; with the first two, further ties go to the earlier server.
    """
    hosts = [1 if instance.demand == 1 else len(base) for base in instance.base_servers]
    return greedy(instance, Shares(hosts), ties, rng)


@method("reclaiming", kind="baseline")
def gpu_fraction(instance: Instance, rng: np.random.Generator, ties: str = "absorbed") -> Solution:
    """Cost by GPUs, the definition the paper rejects: weight * (GPUs here / GPUs of the job).

    Lyra, section 4 and Table 1. GPUs of base and flexible workers are counted.

    Parameters
    ----------
    ties
        As for `lyra`.
    """
    gpus = [sum(held.values()) for held in instance.held]
    return greedy(instance, Shares(gpus, instance.held), ties, rng)


@method("reclaiming", kind="baseline")
def scf(instance: Instance, rng: np.random.Generator, ties: str = "file") -> Solution:
    """Smallest (job) count first: the servers that host the smallest numbers of jobs.

    Lyra, section 7.1. Jobs with a base worker on the server are counted once, without weights and
    without updates when a job is preempted.

    Parameters
    ----------
    ties
        With equal counts ``"file"`` takes the earlier server, ``"random"`` any; the paper has no
        rule.
    """
    if ties not in ("file", "random"):
        raise OptionError(f"ties={ties!r} must be 'file' or 'random'")
    counts = [0] * len(instance.servers)
    for base in instance.base_servers:
        for s in base:
            counts[s] += 1
    order = list(range(len(counts)))
    if ties == "random":
        rng.shuffle(order)
    return solution_of(instance, sorted(order, key=counts.__getitem__)[: instance.demand])


@method("reclaiming", kind="baseline")
def random(instance: Instance, rng: np.random.Generator) -> Solution:
    """Servers drawn uniformly at random (Lyra, section 7.1)."""
    chosen = rng.permutation(len(instance.servers))[: instance.demand]
    return solution_of(instance, chosen.tolist())
