"""Train a small policy step by step, and compare it with SRTF and with the certified bound.

    python examples/train_policy.py [seconds]

The policy gives each job that is seen a score, linear in its features, one for jobs that wait and
one for those that run. It takes the action of the greatest score above 0, or lets time pass. The
weights are found by the evolution strategy CMA-ES of the library cmaes (Hansen and Ostermeier,
2001), which needs the sum of rewards alone: workloads that are drawn for training are simulated
with the weights of each member of a generation.
"""

import sys
import time
from collections.abc import Iterable

import gymnasium
import numpy as np
from cmaes import CMA
from numpy.typing import NDArray

from dlsched.simulation import Cluster, Workload, compare_policies
from dlsched.simulation.scheduling_env import FEATURES, ID

CLUSTER = Cluster.uniform(servers=2, gpus=8)
JOBS, VISIBLE, TRAINED_ON = 60, 16, 4
Weights = NDArray[np.float64]


def workload(seed: int) -> Workload:
    """Return jobs of many lengths that arrive a little faster than the cluster can run them."""
    rng = np.random.default_rng(seed)
    submit = rng.exponential(90, JOBS).cumsum().round(1).tolist()
    work = rng.lognormal(5.5, 1.5, JOBS).round(1).tolist()
    gpus = rng.choice([1, 2, 4, 8], JOBS, p=[0.5, 0.2, 0.2, 0.1]).tolist()
    rows = zip(submit, work, gpus, strict=True)
    jobs = [{"id": f"j{i}", "submit": s, "work": w, "gpus": g} for i, (s, w, g) in enumerate(rows)]
    return Workload.parse({"name": f"drawn {seed}", "jobs": jobs}, "the example")


def action(weights: Weights, observation: NDArray[np.float32], mask: NDArray[np.int8]) -> int:
    """Return what the policy does: the job of the greatest score above 0, or to wait."""
    rows = observation[: VISIBLE * len(FEATURES)].reshape(VISIBLE, len(FEATURES))
    free = observation[VISIBLE * len(FEATURES)]
    waits = rows[:, :1]
    # GPUs, remaining time, age and time with GPUs; a constant; and the share of free GPUs.
    seen = np.column_stack([rows[:, 3:], np.ones(VISIBLE), np.full(VISIBLE, free)])
    scores = np.append(np.hstack([seen * waits, seen * (1 - waits)]) @ weights, 0.0)
    return int(np.where(mask == 1, scores, -np.inf).argmax())


def mean_completion(weights: Weights, seeds: Iterable[int], audit: bool = False) -> float:
    """Return the mean completion time of the policy, over workloads."""
    means = []
    for seed in seeds:
        env = gymnasium.make(
            ID, workload=workload(seed), cluster=CLUSTER, visible=VISIBLE, audit=audit
        )
        observation, info = env.reset()
        total, done = 0.0, False
        while not done:
            chosen = action(weights, observation, info["action_mask"])
            observation, reward, done, _, info = env.step(chosen)
            total -= float(reward)
        means.append(total / JOBS)
    return float(np.mean(means))


def train(seconds: float, seed: int = 0) -> Weights:
    """Return the best weights that are found within a time."""
    begin = time.monotonic()
    search = CMA(mean=np.zeros(2 * (len(FEATURES) - 1)), sigma=1.0, seed=seed)
    best, least = search.mean, np.inf
    while time.monotonic() < begin + seconds or least == np.inf:
        drawn = range(1000 + search.generation, 1000 + search.generation + TRAINED_ON)
        found = [
            (weights, mean_completion(weights, drawn))
            for weights in (search.ask() for _ in range(search.population_size))
        ]
        search.tell(found)
        best = search.mean
        least = min(value for _, value in found)
        print(f"generation {search.generation}: {least:,.0f} s, the best of {len(found)}")
    return best


def main(seconds: float = 60.0, tested: int = 5) -> dict[str, float]:
    """Train; print mean completion times on workloads that the training did not have."""
    weights = train(seconds)
    seeds = range(tested)
    means = {"trained": mean_completion(weights, seeds, audit=True)}
    tables = [
        compare_policies(workload(seed), CLUSTER, ["fifo", "srtf", "srsf"], bounds=True)
        for seed in seeds
    ]
    for i, name in enumerate(tables[0]["policy"]):
        means[name] = float(np.mean([table["mean_jct"][i] for table in tables]))
    means["bound"] = float(np.mean([table["mean_jct_bound"][0] for table in tables]))
    for name, value in sorted(means.items(), key=lambda entry: -entry[1]):
        print(f"{name:8} {value:8,.0f} s")
    return means


if __name__ == "__main__":
    main(*map(float, sys.argv[1:]))
