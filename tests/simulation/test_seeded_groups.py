"""Groups that grow from the first jobs of a queue: what they may be, and what they are worth."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dlsched import DlschedError, OptionError
from dlsched.problems.interleaving import iteration_time
from dlsched.problems.interleaving.structures.offsets import best_offsets
from dlsched.simulation import Cluster, Workload, simulate
from dlsched.simulation.kernels import seeded_groups as kernel
from dlsched.simulation.policies.seeded_groups import Queue, seeded_groups
from kernel_sources import as_python

PYTHON = as_python("simulation.kernels.seeded_groups")
Group = tuple[int, ...]


def queue_of(rows: Sequence[tuple[int, tuple[int, ...], int]], unit: float = 1.0) -> Queue:
    """Return a queue of jobs given by GPUs, stages and remaining time, least service first."""
    gpus = np.array([row[0] for row in rows], np.int64)
    remaining = np.array([row[2] for row in rows], float)
    kinds = [row[:2] for row in rows]
    profile = np.array([kinds.index(kind) for kind in kinds], np.int64)
    stages = np.array([row[1] for row in rows], float) * unit
    order = np.argsort(remaining * gpus, kind="stable")
    return Queue(stages, gpus, profile, remaining**-0.25, order)


def speeds(queue: Queue, group: Group) -> list[float]:
    """Return the speeds of a group's jobs, with the checker's iteration time."""
    stages = [tuple(map(Fraction, row)) for row in queue.stages[list(group)].tolist()]
    time = iteration_time(stages, best_offsets(stages))
    return [float(sum(row) / time) for row in stages]


def speed_worth(queue: Queue, group: Group) -> float:
    """Return the weighted sum of a group's speeds."""
    weights = queue.weights[list(group)].tolist()
    return sum(w * x for w, x in zip(weights, speeds(queue, group), strict=True))


def seeds_of(queue: Queue, budget: int, fill: int) -> list[int]:
    """Return the jobs that open a group, then the first ones that fit what is left."""
    seeds: list[int] = []
    places: dict[int, int] = {}
    for opening in (True, False):
        for job in queue.order.tolist():
            gpus = int(queue.gpus[job])
            if job in seeds:
                continue
            if opening and places.get(gpus, 0):
                places[gpus] -= 1
            elif gpus <= budget:
                budget -= gpus
                seeds.append(job)
                places[gpus] = fill - 1
    return seeds


def best_worth(queue: Queue, seeds: Sequence[int]) -> float:
    """Return what the best groups are worth, by every way to distribute the jobs.

    All seeds run, and there are as many groups of each number of GPUs as seeds.
    """
    places = [[i for i, s in enumerate(seeds) if queue.gpus[s] == gpus] for gpus in queue.gpus]
    best = 0.0
    choices = [p if j in seeds else [*p, None] for j, p in enumerate(places)]
    for where in product(*choices):
        groups = [
            tuple(j for j, place in enumerate(where) if place == i) for i in range(len(seeds))
        ]
        if all(0 < len(group) <= queue.stages.shape[1] for group in groups):
            best = max(best, sum(speed_worth(queue, group) for group in groups))
    return best


ROWS = st.lists(
    st.tuples(
        st.sampled_from([1, 2]),
        st.tuples(*[st.integers(0, 6)] * 3).filter(any),
        st.integers(1, 1000),
    ),
    min_size=1,
    max_size=6,
)


@settings(max_examples=30, deadline=None)
@given(ROWS, st.integers(1, 5), st.sampled_from([1e-9, 1.0, 1e15]), st.integers(1, 4))
def test_groups_are_possible_and_no_single_step_helps(
    rows: list[tuple[int, tuple[int, ...], int]], budget: int, unit: float, fill: int
) -> None:
    """The seeds run, no waiting job gains by joining; of jobs alike the heavier one is faster."""
    queue = queue_of(rows, unit)
    groups = seeded_groups(queue, budget, fill)
    seeds = seeds_of(queue, budget, fill)
    members = [j for group in groups for j in group]
    assert len(members) == len(set(members))
    assert len(groups) == len(seeds) and set(seeds) <= set(members)
    assert all(len({int(queue.gpus[j]) for j in group}) == 1 for group in groups)
    value = sum(speed_worth(queue, group) for group in groups)
    alone = sum(speed_worth(queue, (s,)) for s in seeds)
    assert alone * (1 - 1e-9) <= value <= best_worth(queue, seeds) * (1 + 1e-9)
    waiting = set(range(len(rows))) - set(members)
    for job, group in product(waiting, groups):
        if queue.gpus[job] == queue.gpus[group[0]] and len(group) < 3:
            joined = speed_worth(queue, (*group, job)) - speed_worth(queue, group)
            assert joined <= 1e-6 * value
    speed = {j: x for group in groups for j, x in zip(group, speeds(queue, group), strict=True)}
    for a, b in product(speed, repeat=2):
        if queue.profile[a] == queue.profile[b] and queue.weights[a] > queue.weights[b]:
            assert speed[a] >= speed[b] * (1 - 1e-6)


@pytest.mark.parametrize("seed", range(6))
def test_built_and_not(seed: int) -> None:
    """The built loops find the same groups as Python does."""
    rng = np.random.default_rng(seed)
    kinds = rng.integers(0, 9, size=(3 + seed, 3)) + np.eye(3, dtype=int)[seed % 3]
    rows = [
        (int(rng.integers(1, 3)), tuple(kinds[rng.integers(len(kinds))].tolist()), int(remaining))
        for remaining in rng.integers(1, 1000, size=14)
    ]
    queue = queue_of(rows)
    built, run = (module.grow(*queue, 6, 1 + seed % 3) for module in (kernel, PYTHON))
    assert built.tolist() == run.tolist()


def test_local_search_is_near_the_optimum() -> None:
    """Of 40 drawn queues three in four are grouped best, and none is a fifth below."""
    rng = np.random.default_rng(7)
    ratios = []
    for _ in range(40):
        n = int(rng.integers(3, 7))
        rows = [
            (1, tuple(rng.integers(0, 7, size=3).tolist()), int(rng.integers(1, 1000)))
            for _ in range(n)
        ]
        queue = queue_of([row if any(row[1]) else (1, (1, 0, 0), row[2]) for row in rows])
        found = sum(speed_worth(queue, group) for group in seeded_groups(queue, 2, 1))
        ratios.append(found / best_worth(queue, seeds_of(queue, 2, 1)))
    assert min(ratios) > 0.8
    assert sum(ratio > 1 - 1e-9 for ratio in ratios) >= 30


def drawn_workload(seed: int, unit: float) -> Workload:
    """Return 16 jobs of few profiles or of many, with stages in a unit."""
    rng = np.random.default_rng(seed)
    kinds = rng.integers(0, 9, size=(4 if seed % 2 else 16, 4)) + np.eye(4, dtype=int)[seed % 4]
    rows = [
        {
            "id": f"j{i}",
            "submit": int(rng.integers(0, 50)),
            "gpus": int(rng.choice([1, 1, 2, 4])),
            "work": int(rng.integers(1, 1000)),
            "stages": [float(x) * unit for x in kinds[rng.integers(len(kinds))].tolist()],
        }
        for i in range(16)
    ]
    return Workload.parse({"name": "drawn", "jobs": rows}, "drawn")


@pytest.mark.parametrize("unit", [1e-9, 1e12])
def test_simulations_with_seeded_groups_are_sound(unit: float) -> None:
    """All jobs complete, the audit finds nothing, and units of the stages change no figure."""
    for seed in range(2):
        cluster = Cluster.uniform(2, 4)
        runs = [
            simulate(drawn_workload(seed, x), cluster, "muri_s", interval=None,
                     objective="seeded_speeds")
            for x in (unit, 1.0)
        ]  # fmt: skip
        assert runs[0].complete
        assert runs[0].audit().feasible
        assert simulate(
            drawn_workload(seed, unit), cluster, "muri_s", objective="seeded_speeds", fill=10**30
        ).audit()
        assert runs[0].summary["mean_jct"] == pytest.approx(runs[1].summary["mean_jct"], rel=1e-6)
    assert simulate(drawn_workload(0, unit), cluster, "muri_l", objective="seeded_speeds").audit()


def test_options_that_do_not_go_together_are_refused() -> None:
    """A method, settled ties, Muri-L, and an exponent out of range or with nothing to weigh."""
    workload, cluster = drawn_workload(0, 1.0), Cluster.uniform(2, 4)
    seeded = {"objective": "seeded_speeds"}
    for options in ({**seeded, "ties": "shortest"}, {**seeded, "method": "exact"}):
        with pytest.raises(OptionError, match="takes no method and leaves no ties"):
            simulate(workload, cluster, "muri_s", **options)
    with pytest.raises(OptionError, match="'x' is none of efficiency, seeded_speeds"):
        simulate(workload, cluster, "muri_s", objective="x")
    with pytest.raises(OptionError, match="must be from 0 to 1, with weights of speeds"):
        simulate(workload, cluster, "muri_l", exponent=0.5, **seeded)
    for options in ({"fill": 2}, {**seeded, "fill": 0}, {**seeded, "fill": 2.5}):
        with pytest.raises(OptionError, match="must be a whole number from 1, with seeded"):
            simulate(workload, cluster, "muri_s", **options)
    for options in ({**seeded, "exponent": 1.5}, {"exponent": 0.5}, {**seeded, "exponent": -1}):
        with pytest.raises(OptionError, match="must be from 0 to 1, with weights of speeds"):
            simulate(workload, cluster, "muri_s", **options)


@pytest.mark.parametrize(
    ("stages", "problem"),
    [((), "a job has no stages"), ((1, 2, 3), "each needs stages of the same resources")],
)
def test_jobs_that_cannot_share_are_refused(stages: tuple[int, ...], problem: str) -> None:
    """One of the jobs has no stages, or fewer than the others."""
    rows = [
        {"id": f"j{i}", "submit": 0, "gpus": 1, "work": 9, "stages": list(row)}
        for i, row in enumerate(((1, 0, 0, 2), (0, 5, 1, 1), stages))
    ]
    workload = Workload.parse({"name": "mixed", "jobs": rows}, "mixed")
    with pytest.raises(DlschedError, match=problem):
        simulate(workload, Cluster.uniform(1, 2), "muri_s", objective="seeded_speeds")
