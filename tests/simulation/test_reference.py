"""Completion times, preemptions and metrics against a simulator that shares no code."""

import math
import random
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import pytest
import reference
from simulation_cases import rows

from dlsched.simulation import Cluster, Workload, simulate

PREEMPTING = ("srtf", "srsf", "las", "tiresias")


def case(seed: int, policy: str = "") -> tuple[Workload, Cluster]:
    """Return a random workload: ties, no work, microseconds, overheads longer than the work.

    Under las jobs take turns in whole rounds: one that loses its work each time may never end.
    """
    rng = random.Random(seed)
    gpus, servers = rng.choice([1, 2, 3, 4, 8]), rng.randint(1, 3)
    grid = rng.choice([1, 10, 100, 0.001])
    jobs = []
    for i in range(rng.randint(1, 14)):
        submit = [0, rng.randint(0, 40) * grid, rng.randint(0, 2000), rng.uniform(0, 2000)]
        work = [0, rng.randint(0, 30) * grid, rng.randint(1, 3000), rng.uniform(0, 3000)]
        row = {
            "id": f"j{i}",
            "submit": round(rng.choice(submit), 6),
            "gpus": rng.randint(1, min(gpus * servers, rng.choice([1, 4, 24]))),
            "work": round(rng.choice(work), 6),
            "restart": round(rng.choice([0, 0, 5, 30, rng.uniform(0, 40), 200]), 6),
        }
        row["checkpoints"] = rng.random() < 0.8 or (policy == "las" and row["work"] > 90)
        jobs.append(row)
    return Workload.parse({"name": "reference", "jobs": jobs}, "reference"), Cluster.uniform(
        servers, gpus
    )


def tasks_of(workload: Workload) -> list[reference.Task]:
    """Return the jobs as the reference takes them."""
    return [
        reference.Task(
            number=i,
            submit=Fraction(job.submit),
            gpus=job.gpus,
            left=Fraction(job.work),
            restart=Fraction(job.restart),
            total=Fraction(job.work),
            checkpoints=job.checkpoints,
        )
        for i, job in enumerate(workload.jobs)
    ]


def metrics(tasks: list[reference.Task], gpus: int) -> dict[str, Any]:
    """Return metrics by their definitions, in fractions."""
    n, span = len(tasks), max(task.end or Fraction(0) for task in tasks)
    jct = [(task.end or Fraction(0)) - task.submit for task in tasks]
    had = [sum((b - a for a, b in task.held), Fraction(0)) for task in tasks]
    waits = [whole - own for whole, own in zip(jct, had, strict=True)]
    found: dict[str, Any] = {"makespan": span, "completed": n, "jobs": n}
    for name, values in (("jct", jct), ("queueing", waits)):
        ordered = sorted(values)
        found[f"mean_{name}"] = sum(values) / n
        found[f"median_{name}"] = (ordered[(n - 1) // 2] + ordered[n // 2]) / 2
        found[f"p95_{name}"] = ordered[95 * n // 100]
        found[f"p99_{name}"] = ordered[99 * n // 100]
    some = [i for i in range(n) if tasks[i].total > 0]
    slowdown = [jct[i] / tasks[i].total for i in some]
    fairness = [jct[i] / (tasks[i].total * crowding(tasks, i, gpus)) for i in some]
    found["mean_slowdown"] = sum(slowdown) / len(some) if some else 1
    found["mean_fairness"] = sum(fairness) / len(some) if some else 1
    held = sum(own * task.gpus for own, task in zip(had, tasks, strict=True))
    found["utilization"] = held / (gpus * span) if span else 0
    found["mean_queue_length"] = sum(waits) / span if span else 0
    found["preemptions"] = sum(task.preemptions for task in tasks)
    found["preempted_share"] = Fraction(sum(task.preemptions > 0 for task in tasks), n)
    return found


def crowding(tasks: list[reference.Task], i: int, gpus: int) -> Fraction:
    """Return by how much an equal share of the cluster slows a job: at least 1."""
    own = tasks[i]
    assert own.end is not None
    together = Fraction(0)
    for task in tasks:
        assert task.end is not None
        together += max(Fraction(0), min(task.end, own.end) - max(task.submit, own.submit))
    return max(Fraction(1), together / (own.end - own.submit) * own.gpus / gpus)


def test_the_reference_preempts() -> None:
    """The workloads are such that jobs are preempted, and lose their work."""
    for policy in PREEMPTING:
        many, lost = 0, 0
        for seed in range(20):
            workload, cluster = case(seed, policy)
            tasks = tasks_of(workload)
            reference.simulate(policy, tasks, cluster.gpus)
            many += sum(task.preemptions for task in tasks)
            lost += sum(task.preemptions for task in tasks if not task.checkpoints)
        assert many > 20, policy
        assert lost > 0 or policy == "las", policy


def test_the_blocking_index_by_brute_force() -> None:
    """At each of 1,000 moments: time waited over work left, of the jobs that wait, from the log."""
    for seed in range(3):
        workload, cluster = case(seed)
        run = simulate(workload, cluster, "srtf")
        order = sorted(rows(run), key=lambda row: (row["job"], row["start"]))
        held = [[row for row in order if row["job"] == j] for j in range(len(workload.jobs))]
        span = run.summary["makespan"]
        ratios = []
        for k in range(1000):
            moment = span * k / 999
            at = [ratio for job, own in zip(workload.jobs, held, strict=True)
                  if (ratio := pending(job, own, moment)) is not None]  # fmt: skip
            if at:
                ratios.append(sum(at) / len(at))
        expected = sum(ratios) / len(ratios) if ratios else 0
        assert run.summary["blocking_index"] == pytest.approx(expected, rel=0.02, abs=1e-9), seed


def pending(job: Any, held: list[dict[str, Any]], moment: float) -> float | None:
    """Return the time that a job has waited over the work left, if it waits at a moment."""
    waited, last, left = 0.0, float(job.submit), float(job.work)
    for row in held:
        start, end, work, lost = (row[name] / 1e6 for name in ("start", "end", "work", "lost"))
        if last <= moment < start and left > 0:
            return (waited + moment - last) / left
        waited, last, left = waited + start - last, end, left - work + lost
    return None


MORE = pytest.param(range(4, 500), marks=pytest.mark.slow)


@pytest.mark.parametrize("seeds", [range(4), MORE])
@pytest.mark.parametrize("policy", reference.KEYS)
def test_a_policy_is_what_its_docstring_says(policy: str, seeds: Iterable[int]) -> None:
    """On random workloads all times are equal to the microsecond, and so are all metrics."""
    for seed in seeds:
        workload, cluster = case(seed, policy)
        run, tasks = simulate(workload, cluster, policy), tasks_of(workload)
        decisions = reference.simulate(policy, tasks, cluster.gpus)
        ends = {task.number: task.end * 10**6 for task in tasks if task.end is not None}
        assert {row["job"]: row["time"] for row in rows(run, "completions")} == ends, seed
        assert list(run.jobs["preemptions"]) == [task.preemptions for task in tasks], seed
        assert run.summary["decisions"] == decisions, seed
        for name, value in metrics(tasks, cluster.gpus).items():
            found = run.summary[name]
            close = math.isclose(found, value, rel_tol=1e-9, abs_tol=1e-9)
            assert close, (seed, name, found, float(value))
