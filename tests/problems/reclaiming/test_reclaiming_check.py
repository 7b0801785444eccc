"""What the generator draws; reports.txt has the definition."""

import math
from collections import Counter

import pytest

import dlsched
from dlsched.problems.reclaiming import Instance

Held = list[Counter[str]]


def held_by(instance: Instance) -> Held:
    """Return for each job its GPUs by server."""
    held: Held = []
    for job in instance.jobs:
        held.append(Counter())
        for worker in job.workers:
            held[-1][worker.server] += worker.gpus
    return held


def test_what_every_job_has() -> None:
    """Flexible workers are none or half, rounded down; spread and scattered ones sit apart."""
    assert dlsched.generate("reclaiming", 1).demand == 29  # a tenth of the paper's 291 servers
    scattered = {"gpus": 64, "jobs": 50, "scattered": 4}
    together = {"flexible": 1.0, "placement": "together"}
    for options in ({"flexible": 1.0}, together, {"spread": 1.0, "flexible": 0.0}, scattered):
        seen = set()
        for job in dlsched.generate("reclaiming", 2, servers=60, **options).jobs:
            workers, apart = len(job.workers), len({w.server for w in job.workers})
            flexible = sum(w.flexible for w in job.workers)
            seen.add(flexible > 0)
            assert flexible in (0, workers // 2)
            assert flexible == workers // 2 or "placement" not in options
            assert apart == workers or "flexible" in options
            assert workers == 4 or "scattered" not in options
        assert (True in seen) == (options.get("flexible") == 1.0)


def test_arrivals_fill_by_best_fit() -> None:
    """Replaying the workers, each is on the fullest server where it fits, the first of equals.

    Jobs that did not fit in between have left nothing behind.
    """
    instance = dlsched.generate("reclaiming", 4, servers=40, spread=0.0)
    ids, free = [server.id for server in instance.servers], [8] * 40
    for job in instance.jobs:
        for worker in job.workers:
            s = ids.index(worker.server)
            fitting = [f for f in free if f >= worker.gpus]
            assert free[s] == min(fitting)
            assert s == free.index(free[s])
            free[s] -= worker.gpus


@pytest.mark.parametrize("churn", [0.0, 2.0])
@pytest.mark.parametrize("placement", ["together", "shared", "remnants"])
def test_the_remaining_gpus_of_a_job_share_a_server(placement: str, churn: float) -> None:
    """Full servers are a job's own; its remaining GPUs are on one server shared with others.

    Jobs above 8 GPUs that are kept together share none.
    """
    fleet = dlsched.generate(
        "reclaiming", 6, servers=80, placement=placement, odd=0.5, churn=churn, jobs=None
    )
    held = held_by(fleet)
    jobs_on = Counter(server for row in held for server in row)
    remnants, small = set[str](), set[str]()
    for row in held:
        partial = [s for s, gpus in row.items() if gpus < 8]
        assert len(row) == math.ceil(row.total() / 8)
        if placement == "together":
            assert len(row) == 1 or all(jobs_on[s] == 1 for s in row)
        else:
            assert len(partial) == (row.total() % 8 > 0)
        (remnants if len(row) > 1 else small).update(partial)
    if placement != "together":
        assert any(jobs_on[s] > 1 for s in remnants)
        assert bool(remnants & small) == (placement == "shared")
