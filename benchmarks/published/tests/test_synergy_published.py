"""Synergy's public simulator, repeated: its published numbers, and cases worked out by hand."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from published import simulate
from synergy_cases import MATRICES, ends, server, workload

from dlsched.errors import InstanceError, UnknownName
from dlsched.simulation import Cluster, Workload
from dlsched.simulation.workload.generators import synergy_workload

MEASURED = Path(__file__).parents[3].parent / "shared" / "data" / "synergy"
PROFILES = MEASURED / "profiles.json"
STATIC = MEASURED / "static_100job_6_3_1100.csv"
measured = pytest.mark.skipif(
    not PROFILES.exists(), reason="the measured profiles are not here (../shared/data/synergy)"
)


def static() -> Workload:
    """Return the authors' static trace."""
    return Workload.from_trace(STATIC, "synergy", measured=PROFILES, together=True)


@measured
@pytest.mark.parametrize(
    ("method", "rounds"), [("proportional", 183), ("tune", 132), ("greedy", 148), ("opt", 127)]
)
def test_static_trace(method: str, rounds: int) -> None:
    """The public simulator's makespans: 15.25 h, 11.00 h, 12.33 h and 10.58 h."""
    run = simulate(static(), four_servers(), "synergy", method=method)
    assert run.summary["makespan"] == 300 * rounds
    assert run.summary["completed"] == 100
    assert run.audit()


@measured
@pytest.mark.slow
@pytest.mark.parametrize("method", ["exact", "price_round"])
def test_the_makespan_of_opt_is_attained_on_the_static_trace(method: str) -> None:
    """The optimum on the servers needs 127 rounds as well, five less than TUNE; so do ours."""
    run = simulate(static(), four_servers(), "synergy", method=method)
    assert run.summary["makespan"] == 300 * 127
    assert {json.loads(row[-1])["method"] for row in run.log.rows("decisions")} == {method}
    assert run.audit()


@measured
@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "mean", "p99", "p999"),
    [
        ("tune", 21.876600555555555, 156.93307777777775, 170.61199750000023),
        ("proportional", 81.09, None, None),
    ],
)
def test_the_run_that_the_authors_print(
    method: str, mean: float, p99: float | None, p999: float | None
) -> None:
    """FIFO at 9 jobs/h: hours of jobs 4000 to 4999 as the public code prints them; Figure 9."""
    jobs = synergy_workload(6500, load=9, measured=PROFILES, seed=42)
    cluster = Cluster.uniform(16, 8, cpus=24, memory=500)
    run = simulate(jobs, cluster, "synergy", method=method)
    hours = run.jobs["jct"].to_numpy()[4000:5000] / 3600
    if p99 is None or p999 is None:
        assert round(float(hours.mean()), 2) == mean
    else:
        assert hours.mean() == pytest.approx(mean, rel=1e-12)
        assert np.quantile(hours, [0.99, 0.999]) == pytest.approx([p99, p999], rel=1e-12)


def test_whole_iterations_and_ends_of_rounds() -> None:
    """In floats, 344 iterations of 1 s / 1.15 fit 300 s, not 345; jobs end with their round."""
    table = {**MATRICES["hungry"], "throughput": [[0.5], [1], [1.15]]}
    jobs = workload(("hungry", 690), ("modest", 601), matrices={**MATRICES, "hungry": table})
    run = simulate(jobs, server(), "synergy", method="tune")
    assert ends(run) == {"a": 900, "b": 900}
    assert sorted(run.log.rows("segments"))[0][6] == "344/300"
    assert run.audit()


def test_jobs_wait_for_the_first_round_after_their_arrival() -> None:
    """Submitted at 10 s, a job of 200 s runs from 300 s to 600 s; an idle cluster has no rounds."""
    jobs = workload(("modest", 200), submit=10)
    run = simulate(jobs, server(), "synergy")
    assert ends(run) == {"a": 600}
    late = simulate(workload(("modest", 200), submit=9000), server(), "synergy")
    assert ends(late) == {"a": 9300}
    assert len(late.log.rows("decisions")) == 1


def matrices() -> dict[str, Any]:
    """Return p, fast with 5 CPUs; q, fast with 5 GB; r, which needs 1 CPU; all with 3 GB."""
    tables = {
        "p": [[0.3, 0.5, 0.5], [0.5, 1, 1], [0.5, 2, 2]],
        "q": [[0.3, 0.5, 0.5], [0.5, 1, 2], [0.5, 1, 2]],
        "r": [[0.5, 1, 1], [0.5, 1, 1], [0.5, 1, 1]],
    }
    axes = {"cpus": [1, 3, 5], "memory": [1, 3, 5], "share": (3, 3)}
    return {name: {**axes, "throughput": table} for name, table in tables.items()}


def test_tune_reverts_jobs_that_release_nothing() -> None:
    """r lacks memory: the public code reverts p as well, which has more CPUs than its share."""
    jobs = workload(("p", 600), ("q", 600), ("r", 600), matrices=matrices())
    cluster = Cluster.uniform(1, 3, cpus=9, memory=9)
    published = simulate(jobs, cluster, "synergy", method="tune")
    assert ends(published) == {"a": 600, "b": 600, "c": 600}
    mended = simulate(jobs, cluster, "synergy", method="tune_public")
    assert ends(mended) == {"a": 300, "b": 600, "c": 600}


@pytest.mark.parametrize(
    ("order", "long", "short"),
    [
        ("fifo", 900, 1200),
        ("srtf", 1200, 300),
        ("las", 1200, 600),
        ("ftf", 900, 1200),  # the least first, unlike the variant of the paper
        ("ftf_least", 900, 1200),
        ("ftf_largest", 1200, 600),
    ],
)
def test_orders(order: str, long: int, short: int) -> None:
    """One GPU, and jobs of 900 s and 300 s: each order gives it to them in its own way."""
    jobs = workload(("modest", 900), ("modest", 300))
    run = simulate(jobs, server(gpus=1), "synergy", order=order)
    assert ends(run) == {"a": long, "b": short}


def test_a_job_without_gpus_for_1000_hours_comes_first() -> None:
    """Under SRTF a longer job waits for another one, but not for ever."""
    jobs = workload(("modest", 4_100_000), ("modest", 4_000_000))
    run = simulate(jobs, server(gpus=1), "synergy", order="srtf")
    # It is noticed in the first round later than that, and counts from the next on.
    assert run.jobs["start"][0] == 1000 * 3600 + 600


def test_bad_jobs() -> None:
    """Jobs without iterations are named; so is an order that there is not."""
    bare = workload(("modest", 100), iterations=None)
    with pytest.raises(InstanceError, match="has no profile, iterations or iteration_time"):
        simulate(bare, server(), "synergy")
    with pytest.raises(UnknownName, match="no order is called"):
        simulate(workload(("modest", 9)), server(), "synergy", order="x")


def four_servers() -> Cluster:
    """Return the cluster of Table 5."""
    return Cluster.uniform(4, 8, cpus=24, memory=500)
