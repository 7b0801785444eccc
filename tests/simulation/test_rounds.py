"""Policies that solve a problem in every round: hadar, gavel, synergy, mast, lyra, muri."""

import functools
import json
import random
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from simulation_cases import audited, by_hand, rows

import dlsched
from dlsched.problems import utility
from dlsched.simulation import Cluster, Simulation, Workload, simulate
from dlsched.simulation.workload.generators import mast_cluster, mast_workload, synergy_workload

SLOT = 360
TYPED: dict[str, Any] = {"rates": {"V100": 2, "K80": 1}, "gpu_type": "K80"}
TWO_TYPES = Cluster.of([{"gpus": 1, "gpu_type": kind} for kind in ("V100", "K80")])
NODES = Cluster.of([{"gpus": 1, "gpu_type": "V100", "count": 2}, {"gpus": 1, "gpu_type": "K80"}])


def last_rounds(run: Simulation) -> dict[str, int]:
    """Return the round in which each job is complete."""
    return {row.id: -(-row.end // SLOT) for row in run.jobs.itertuples()}


@pytest.mark.parametrize("divided", [False, True])
def test_copies_are_decided_on_as_the_problem_does(divided: bool) -> None:
    """The rounds are the slots of the method of the same name for the forking problem."""
    options = {"divided": divided}
    rounds = [7, 3, 12, 5]
    jobs = by_hand(*({"work": SLOT * n} for n in rounds), max_gpus=3, **TYPED)
    run = audited(jobs, NODES, "hadare", **options)
    data = {
        "dlsched": 1, "problem": "utility", "name": "copies", "slots": 20, "slot_seconds": SLOT,
        "forking": True,
        "machines": [{"id": s.id, "gpus": {s.gpu_type: 1}} for s in NODES.servers],
        "jobs": [{"id": "abcd"[i], "arrival": 1, "workers": 1, "iterations": n * SLOT,
                  "rates": TYPED["rates"]} for i, n in enumerate(rounds)],
    }  # fmt: skip
    solution = dlsched.solve(utility.Instance.parse(data, "the test"), "hadare", **options).solution
    assert solution is not None
    slots = {name: held[-1].slot for name, held in solution.schedule.items()}
    assert last_rounds(run) == slots


UTILITIES = {
    "effective_throughput": ("long", "short"),
    "inverse_time": ("short", "short"),
    "linear": ("short", "short"),
}


@pytest.mark.parametrize("method", ["hadar", "milp"])
@pytest.mark.parametrize("utility", [*UTILITIES, "normalized_throughput"])
def test_utilities_of_hadar(utility: str, method: str) -> None:
    """Which of two jobs is first depends on the unit of iterations with effective throughput alone;
    the inverse of the completion time and the linear utility prefer the short job.
    """  # fmt: skip
    first = []
    for rate in (1, 1000):
        jobs = by_hand(
            {"work": 4 * SLOT, "rates": {"K80": 50}},
            {"work": 2 * SLOT, "rates": {"K80": rate}},
            gpu_type="K80",
        )
        cluster = Cluster.uniform(1, 1, gpu_type="K80")
        run = audited(jobs, cluster, "hadar", method=method, utility=utility)
        first.append("long" if run.jobs["end"][0] == 4 * SLOT else "short")
        solved = [json.loads(text) for text in run.rounds["solved"]]
        assert {row["method"] for row in solved if row} == {method}
    assert tuple(first) == UTILITIES.get(utility, (first[0],) * 2)


METHODS = ("proportional", "greedy", "opt", "tune_public")
ORDERS = ("fifo", "srtf", "las", "ftf_least", "ftf_largest", "drf", "tetris", "prices")
RATED = {"rates": {"V100": 7.052081, "K80": 3.333333}, "gpu_type": "K80", "restart": 1}
MIXED = (
    synergy_workload(8, load=60, split="60/30/10", multi=True, seed=5, scale=0.03),
    Cluster.uniform(2, 8, cpus=24, memory=500),
)
# Iterations that remain have more digits than a double.
REMAINING = by_hand({"work": 1.2345 * SLOT}, {"work": 2.3456 * SLOT}, **RATED), TWO_TYPES
REGIONS = mast_cluster(2, 2, 2, cpu_machines=2)
AUDITED: list[tuple[Any, str, dict[str, Any]]] = [
    *((MIXED, "synergy", {"method": method, "order": "srtf"}) for method in METHODS),
    *((MIXED, "synergy", {"method": "tune", "order": order}) for order in ORDERS),
    *((REMAINING, "gavel", {"method": program}) for program in ("makespan", "finish_time")),
    ((mast_workload(REGIONS, 0.5, load=1.5), REGIONS), "mast", {"interval": 300}),
]


@pytest.mark.parametrize(("case", "policy", "options"), AUDITED)
def test_methods_and_orders_pass_the_audit(case: Any, policy: str, options: dict[str, Any]) -> None:
    """All jobs complete, the log is consistent, and synergy's are above the bound."""
    run = audited(*case, policy, **options)
    assert run.complete
    if policy == "synergy":
        assert run.summary["mean_jct"] >= least_mean_jct()


@functools.cache
def least_mean_jct() -> Fraction:
    """Return the bound on the mixed jobs, which is the same for all orders."""
    return simulate(*MIXED, "synergy", method="tune").bound("mean_jct").value


def lent(typed: bool, loans: dict[int, int], training: int = 2) -> Cluster:
    """Return servers of 8 GPUs, and six of 4 that are lent; V100 and T4 if they have types."""
    own, other = ({"gpu_type": kind} if typed else {} for kind in ("V100", "T4"))
    servers: list[dict[str, Any]] = [own | {"id": f"t{i}", "gpus": 8} for i in range(training)]
    servers += [other | {"id": f"i{i}", "gpus": 4, "pool": "loan"} for i in range(6)]
    schedule = [{"time": t, "servers": n} for t, n in loans.items()]
    return Cluster.parse({"servers": servers, "loans": schedule}, "the test")


def elastic_jobs(kind: str) -> Workload:
    """Return small jobs of all kinds that come within half an hour, most of them fungible."""
    rng = random.Random(7)
    jobs = []
    for _ in range(20):
        gpus = rng.choice([1, 2, 2, 4, 8])
        job: dict[str, Any] = {
            "submit": rng.randint(0, 1800),
            "gpus": gpus,
            "work": round(rng.uniform(10, 1500), 3),
            "gpus_per_worker": rng.choice([g for g in (1, 2, 4) if gpus % g == 0]),
            "fungible": rng.random() < 0.7,
            "checkpoints": rng.random() < 0.5,
        }
        if rng.random() < 0.5:
            job |= {"min_gpus": gpus, "max_gpus": 2 * gpus, "scaling_loss": rng.choice([0, 0.2])}
        if kind != "fungible" and rng.random() < 0.5:
            job |= {"heterogeneous": True, "mixed_efficiency": 0.7}
        if rng.random() < 0.3:
            job["estimate"] = job["work"] * rng.uniform(0.75, 1.25)
        if kind == "typed":
            job |= {"gpu_type": "V100", "rates": {"V100": 1, "T4": 0.5}}
        jobs.append(job)
    return by_hand(*jobs, restart=63)


ON_LOAN: list[tuple[str, str, dict[str, Any]]] = [
    ("lyra", "fungible", {}),
    ("lyra", "mixed", {"method": "random"}),
    ("lyra", "mixed", {"method": "scf", "workers": "bases_first", "interval": 97.5}),
    ("lyra", "mixed", {"workers": "naive_bfd"}),
    ("lyra", "fungible", {"method": "exact", "elastic": "exact"}),
    ("lyra", "typed", {"elastic": "completion_rates"}),
    ("opportunistic", "fungible", {}),
    ("gandiva", "fungible", {}),
    ("afs", "mixed", {}),
]


@pytest.mark.parametrize(("policy", "kind", "options"), ON_LOAN)
def test_policies_with_a_loan_pass_the_audit(
    policy: str, kind: str, options: dict[str, Any]
) -> None:
    """A full cluster with a changing loan: jobs are preempted, all end, the log is consistent."""
    rng = random.Random(8)
    loans = {t: rng.randint(0, 6) for t in range(0, 9000, 300)}
    run = audited(elastic_jobs(kind), lent(kind == "typed", loans), policy, **options)
    assert run.complete
    solved = [json.loads(text) for text in run.rounds["solved"]]
    reclaimed = sum(row["reclaiming"]["preempted"] for row in solved if "reclaiming" in row)
    assert run.summary["preemptions"] == reclaimed
    assert (reclaimed > 0) == (policy != "gandiva")
    if kind == "typed":
        assert run.bound("mean_jct").value <= run.summary["mean_jct"]


def groups(run: Simulation, time: int = 0) -> list[tuple[str, ...]]:
    """Return the jobs that share GPUs from a time on."""
    found: dict[str, list[str]] = {}
    for row in rows(run):
        if row["start"] == time:
            name = run.workload.jobs[row["job"]].id
            found.setdefault(row["sharing"] or name, []).append(name)
    return sorted(tuple(sorted(names)) for names in found.values())


@pytest.mark.parametrize("policy", ["muri_s", "muri_l"])
def test_the_groups_of_a_round_are_an_optimum(policy: str) -> None:
    """With method exact the first groups are worth what the problem's optimum is.

    Equal jobs, jobs that are too large for the room and jobs that come later do not change that.
    """
    kinds = [(3, 1, 1), (1, 3, 1), (1, 1, 3), (2, 2, 1)]
    jobs = by_hand(*({"work": 20 + 5 * (i // 4), "stages": kinds[i % 4]} for i in range(12)))
    run = audited(jobs, Cluster.uniform(1, 2), policy, method="exact", interval=20)
    first = groups(run)
    there = [j for j in jobs.jobs if any(j.id in group for group in first)]
    data = {
        "dlsched": 1, "problem": "interleaving", "name": "round", "grouping": "cover",
        "resources": ["storage", "gpu", "network"], "gpu_budget": 2,
        "jobs": [{"id": job.id, "stages": job.stages} for job in there],
    }  # fmt: skip
    best = dlsched.solve(dlsched.load(data), "exact")
    solved = [json.loads(text) for text in run.rounds["solved"]]
    assert solved[0]["objective"] == pytest.approx([float(best.objective[0])])
    assert len(first) == 2


def drawn(seed: int, unit: float) -> Workload:
    """Return 16 jobs of few profiles or of many, with stages in a unit."""
    rng = np.random.default_rng(seed)
    kinds = rng.integers(0, 9, size=(4 if seed % 2 else 16, 4)) + np.eye(4, dtype=int)[seed % 4]
    jobs = [
        {
            "submit": int(rng.integers(0, 50)),
            "gpus": int(rng.choice([1, 1, 2, 4])),
            "work": int(rng.integers(1, 1000)),
            "stages": [float(x) * unit for x in kinds[rng.integers(len(kinds))].tolist()],
        }
        for _ in range(16)
    ]
    return by_hand(*jobs)


SEEDED = {"objective": "seeded_speeds"}


@pytest.mark.parametrize("unit", [1e-9, 1e12])
def test_simulations_with_seeded_groups_are_sound(unit: float) -> None:
    """All jobs complete, the audit finds nothing, and units of the stages change no figure."""
    cluster = Cluster.uniform(2, 4)
    for seed in range(2):
        runs = [audited(drawn(seed, x), cluster, "muri_s", **SEEDED) for x in (unit, 1.0)]
        assert runs[0].summary["mean_jct"] == pytest.approx(runs[1].summary["mean_jct"], rel=1e-6)
    audited(drawn(0, unit), cluster, "muri_l", **SEEDED)
