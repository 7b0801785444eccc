"""The heuristics for elastic: the jobs that they start, and which job gets the next worker."""

from itertools import accumulate
from typing import Any

import pytest
from elastic_instances import epoch, job

import dlsched
from dlsched.problems.elastic import Instance


def workers_of(made: Instance, method: str, **options: Any) -> dict[str, Any]:
    """Return the workers that a rule gives, with two pools those of training and on loan."""
    solution = dlsched.solve(made, method, **options).solution
    return {
        name: solution.split(name) if made.pools else count
        for name, count in solution.workers.items()
    }


RUNS = {"running": True}
MOVES = {"fungible": True}
SPREADS = {"heterogeneous": True}
QUEUE = job("x", 3, 3, 5), job("y", 2, 2, 1), job("z", 1, 1, 9)
GAINS = [
    job("a", 1, 3, [12, 6, 5], **RUNS), job("b", 1, 2, [900, 600], **RUNS),
    job("c", 1, 2, [7, 4], 2, **RUNS),
]  # fmt: skip
EITHER = epoch(1, job("a", 1, 4, 10), job("b", 1, 1, 30))
POOL_GAINS = job("c", 1, 2, [9, 5]), job("a", 1, 3, 20), job("b", 1, 2, 20, **MOVES)
GROWING = job("h", 2, 6, 90, **SPREADS)
GIVEN: dict[str, tuple[Instance, str, dict[str, Any]]] = {
    "afs lets no running job grow before waiting ones have their base (Lyra, section 7.1)":
        (epoch(3, job("r", 1, 4, 10, **RUNS), job("w", 2, 2, 1000)), "afs", {"r": 2, "w": 2}),
    # Work per second, in GPUs at the base demand: b gains 0.5, c 0.75, a 1 and 0.4.
    "afs adds the worker of a first": (epoch(1, *GAINS), "afs", {"a": 2, "b": 1, "c": 1}),
    "then that of c, which has two GPUs": (epoch(3, *GAINS), "afs", {"a": 2, "b": 1, "c": 2}),
    "then the third one of a": (epoch(5, *GAINS), "afs", {"a": 3, "b": 2, "c": 2}),
    "afs skips what does not fit": (epoch(4, *QUEUE), "afs", {"x": 3, "z": 1}),
    "afs takes the queue in its order": (epoch(4, *QUEUE[::-1]), "afs", {"z": 1, "y": 2}),
    "lyra starts the shortest, and the knapsack divides what remains (section 5.2)": (
        epoch(6, job("long", 2, 2, 50), job("short", 1, 1, 5), job("wide", 6, 6, 10),
              job("grows", 1, 3, 40, **RUNS)),
        "lyra", {"long": 2, "short": 1, "grows": 3},
    ),
    "with base workers b is shorter, 30 s against 40": (EITHER, "lyra", {"b": 1}),
    "with the most workers a is, 10 s against 30": (EITHER, "minimum", {"a": 1}),
    "an elastic job prefers loan, an inelastic one training (section 5.3)":
        (epoch(4, job("e", 1, 2, 9, **MOVES), job("i", 1, 1, 9, **MOVES), loan=4), "lyra",
         {"e": (0, 2), "i": (1, 0)}),
    "what does not fit in the preferred pool starts in the other one":
        (epoch(3, job("e", 3, 4, 9, **MOVES), job("i", 2, 2, 99, **MOVES), loan=2), "lyra",
         {"e": (3, 0), "i": (0, 2)}),
    "a job that is not fungible waits":
        (epoch(1, job("t", 2, 2, 9), job("u", 1, 1, 99), loan=5), "lyra", {"u": (1, 0)}),
    "shorter heterogeneous jobs get no base that others need (section 6)":
        (epoch(3, job("h", 2, 2, 1, **SPREADS), job("n", 1, 3, 50), loan=0), "lyra",
         {"n": (3, 0)}),
    "nor in the second phase":
        (epoch(3, job("h", 1, 2, 1, **SPREADS), job("n", 2, 2, 50), loan=1), "minimum",
         {"n": (2, 0), "h": (1, 1)}),
    "the base of a heterogeneous job is on loan as far as it does not fit":
        (epoch(1, job("h", 3, 3, 9, **SPREADS), loan=5), "lyra", {"h": (1, 2)}),
    # Two workers in training have speed 2, with four on loan 0.7 x (2 + 0.5 x 4) = 2.8.
    "it grows on loan if that is faster": (epoch(2, GROWING, loan=5), "lyra", {"h": (2, 4)}),
    # With one on loan it is 1.75, slower than alone.
    "and does not if it is slower": (epoch(2, GROWING, loan=1), "lyra", {"h": (2, 0)}),
    "a running job grows where its base is":
        (epoch(9, job("r", 1, 9, 9, base_pool="loan", **RUNS, **MOVES), loan=2), "lyra",
         {"r": (0, 3)}),
    # h fits in training alone and does not use the loan GPU; w does not fit, so s waits, too.
    "fifo stops at the first base that does not fit": (
        epoch(5, job("e", 1, 3, 9, **MOVES), job("h", 2, 9, 9, **SPREADS), job("w", 4, 4, 1),
              job("s", 1, 1, 1), loan=4),
        "fifo", {"e": (0, 3), "h": (5, 0)},
    ),
    # A worker adds 1 to a in training, 0.8 to c there, and 0.5 to b on loan.
    "afs gives a the two that are left in training, though c comes first":
        (epoch(4, *POOL_GAINS, loan=3), "afs", {"a": (3, 0), "b": (0, 2), "c": (1, 0)}),
    "and c what a cannot use":
        (epoch(5, *POOL_GAINS, loan=3), "afs", {"a": (3, 0), "b": (0, 2), "c": (2, 0)}),
}  # fmt: skip
"""Epochs, the rule (`minimum` is lyra by least running times), and the workers that it gives."""


@pytest.mark.parametrize("name", GIVEN)
def test_workers_by_hand(name: str) -> None:
    """The rule gives each job these workers, and other jobs none."""
    made, rule, workers = GIVEN[name]
    options = {"method": "lyra", "shortest": "minimum"} if rule == "minimum" else {"method": rule}
    assert workers_of(made, **options) == workers


def test_afs_does_not_ask_what_is_left_of_a_job() -> None:
    """Two jobs that scale alike gain alike, whatever is left; the first in the queue grows."""
    jobs = job("long", 1, 4, 1000, **RUNS), job("short", 1, 4, 10, **RUNS)
    for rule in ("afs", "fifo", "lyra", "exact"):
        answer = dlsched.solve(epoch(3, *jobs), rule)
        assert answer.solution.workers["long"] == 4
        assert answer.objective.reduction == 3000
    assert dlsched.solve(epoch(3, *jobs[::-1]), "afs").objective.reduction == 30
    assert dlsched.solve(epoch(3, *jobs, loan=1), "afs").objective.reduction == 3000


def test_the_loss_of_an_added_worker() -> None:
    """Section 7.2: each added worker brings 0.8; as a variant, the n-th brings 0.8**n."""
    for scaling, powers in (("loss", (1, 1, 1)), ("power_loss", (1, 2, 3))):
        made = dlsched.generate("elastic", seed=2, jobs=60, scaling=scaling)
        for row in (row for row in made.jobs if row.running_times):
            speeds = accumulate((0.8**n for n in powers), initial=row.min_workers)
            for time, speed in zip(row.running_times, speeds, strict=False):  # whole seconds
                assert abs(time * speed - row.running_times[0] * row.min_workers) <= speed + 1


@pytest.mark.parametrize("running", [0.0, 0.5, 1.0])
def test_generator_counts_items(running: float) -> None:
    """The paper's worst epoch has 354 items and 245 GPUs, whatever the mix."""
    made = dlsched.generate("elastic", seed=2, items=354, capacity=245, running=running)
    items = sum(row.max_workers - row.min_workers + (not row.running) for row in made.jobs)
    assert (items, made.capacity) == (354, 245)
