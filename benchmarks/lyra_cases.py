"""What Lyra's simulation simulates: rows of the paper's tables, optima, and other readings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

import dlsched
from dlsched.problems.elastic.definition.schema import Instance, Solution
from dlsched.simulation import Decision, State
from dlsched.simulation.policies.lyra import Lyra
from dlsched.simulation.policies.ordering import Fifo

Paper = tuple[float | None, float | None, float | None]
NOTHING: Paper = (None, None, None)


class Size(NamedTuple):
    """Training and inference servers, days of arrivals, load."""

    training: int
    inference: int
    days: float
    load: float


SMALL = Size(28, 33, 7, 0.82)
"""A sixteenth of the paper's servers and half of its days."""
BUSY = SMALL._replace(load=0.95)
FLEET = Size(443, 520, 1, 2.4)
"""The paper's servers. They are empty at the start; by this load, jobs queue within the day."""
OVERLOADED = Size(56, 65, 2, 3.0)
"""Of Figure 10: the servers on loan are in use, as in Figure 9."""


class Case(NamedTuple):
    """One row: what is simulated, and the paper's mean queueing, mean completion, preempted %.

    With `only_seeds`, other seeds are left out, as they take too long.
    """

    label: str
    paper: Paper = NOTHING
    policy: Any = "lyra"
    loaning: bool = True
    workload: Mapping[str, Any] = {}
    options: Mapping[str, Any] = {}
    cluster: Mapping[str, Any] = {}
    only_seeds: tuple[int, ...] | None = None


class SkippingFifo(Fifo):
    """First in, first out; a job that does not fit is skipped."""

    name = "fifo_skipping"
    strict = False


class OnLoanOnly(Lyra):
    """Fungible jobs that are not elastic run on loan only; preempted ones wait like all others.

    A reading that section 5.3 contradicts, by which such jobs prefer training servers.
    """

    name = "on_loan_only"

    def __init__(self, method: Any = None, **options: Any) -> None:
        super().__init__(method, elastic=fungible_on_loan, **options)

    def decide(self, state: State) -> Decision:
        """Return the changes of this round."""
        stopped = set(self.memory.get("stopped", ()))
        self.memory = {**self.memory, "head": []}
        decision = super().decide(state)
        left = (stopped | set(decision.preempt)) - set(decision.start)
        self.memory = {**self.memory, "head": [], "stopped": sorted(left)}
        jobs = state.workload.by_id
        restart = {name: jobs[name].restart for name in decision.start if name in stopped}
        return replace(decision, overhead={**decision.overhead, **restart})


def fungible_on_loan(instance: Instance, rng: np.random.Generator) -> Solution:
    """Start inelastic fungible jobs on loan, the shortest first; `lyra` for all others."""
    if not instance.pools:
        return _lyra(instance)
    room = {pool.id: pool.capacity for pool in instance.pools}
    confined = [
        job
        for job in instance.jobs
        if job.fungible and not job.running and job.min_workers == job.max_workers
    ]
    started: dict[str, dict[str, int]] = {}
    for job in sorted(confined, key=lambda job: job.running_time(job.min_workers)):
        gpus = job.min_workers * job.gpus_per_worker
        if gpus <= room["loan"]:
            room["loan"] -= gpus
            started[job.id] = {"loan": job.min_workers}
    names = {job.id for job in confined}
    rest = instance.model_copy(
        update={
            "pools": tuple(
                pool.model_copy(update={"capacity": room[pool.id]}) for pool in instance.pools
            ),
            "jobs": tuple(job for job in instance.jobs if job.id not in names),
        }
    )
    return Solution(workers={**_lyra(rest).workers, **started})


def _lyra(instance: Instance) -> Solution:
    solution = dlsched.solve(instance, "lyra").solution
    assert isinstance(solution, Solution)
    return solution


FIXED = {"elastic": False}
ADVANCED, MIXED, IDEAL = ({"scenario": s} for s in ("advanced", "heterogeneous", "ideal"))
NAIVE = {"workers": "naive_bfd"}
BASELINE = Case("Baseline (fifo)", (3072, 16610, 0), "fifo", False)
BASIC = Case("Basic", (2010, 11236, 12.24))
LOAN = Case("Loan only: lyra", (2212, 12947, 14.94), workload=FIXED)
ELASTIC = Case("Elastic only: lyra", (2275, 12048, None), loaning=False)
TABLE_5 = (
    BASELINE,
    BASIC,
    Case("Advanced", (1835, 10434, 7.35), workload=ADVANCED),
    Case("Heterogeneous", (1944, 12113, 11.23), workload=MIXED),
    Case("Ideal", (1157, 8891, 5.72), workload=IDEAL),
    Case("Loan only: opportunistic", (2788, 14828, 19.35), "opportunistic", workload=FIXED),
    Case("Loan only: random", (2901, 14678, 20.89), workload=FIXED, options={"method": "random"}),
    Case("Loan only: scf", (2783, 14923, 17.48), workload=FIXED, options={"method": "scf"}),
    LOAN,
    Case("Elastic only: gandiva", (3035, 15912, None), "gandiva", False),
    Case("Elastic only: afs", (2284, 15045, None), "afs", False),
    Case("Elastic only: pollux", (2791, 14534, None), "pollux", False),
    ELASTIC,
)
TABLE_6 = (
    Case("Basic, naive placement", (2231, 13872, 13.22), options=NAIVE),
    Case("Advanced, naive", (1944, 12474, 10.04), workload=ADVANCED, options=NAIVE),
    Case("Ideal, naive", (1273, 9982, 10.93), workload=IDEAL, options=NAIVE),
)
OTHERS = (
    Case("Basic, loss of 20 %", (2071, 11890, None), workload={"scaling_loss": 0.2}),
    Case("Ideal, loss of 20 %", (None, 9828, None), workload={**IDEAL, "scaling_loss": 0.2}),
    *(
        Case(f"Elastic only, {100 * share:.0f} % wrong estimates",
             loaning=False, workload={"wrong": share})
        for share in (0.2, 0.6)
    ),
    Case("Loan only, 40 % with checkpoints", workload={**FIXED, "checkpoints": 0.4}),
    Case("Loan only, 80 % with checkpoints", (None, None, 0.26),
         workload={**FIXED, "checkpoints": 0.8}),
)  # fmt: skip
GROUPS = (
    (
        LOAN,
        Case("Loan only: scf", workload=FIXED, options={"method": "scf"}),
        Case("Loan only: densest", workload=FIXED, options={"method": "densest"}),
        Case("Loan only: exact reclaiming", workload=FIXED, options={"method": "exact"}),
    ),
    (
        ELASTIC,
        Case("Elastic only: prices", loaning=False, options={"elastic": "prices"}),
        Case("Elastic only: exact elastic", loaning=False, options={"elastic": "exact"}),
    ),
    (
        BASIC,
        Case("Basic: exact reclaiming", options={"method": "exact"}),
        Case("Basic: exact elastic", options={"elastic": "exact"}),
        Case("Basic: exact workers", options={"workers": "exact"}, only_seeds=(0, 1)),
        Case("Basic: all three exact", only_seeds=(0, 1),
             options={"method": "exact", "elastic": "exact", "workers": "exact"}),
    ),
)  # fmt: skip
"""The paper's heuristics, then other methods of one problem or more, in the same simulation."""
READINGS = (
    BASELINE,
    Case("fifo that skips", policy=SkippingFifo, loaning=False),
    Case("lyra without loan and elastic jobs", loaning=False, workload=FIXED),
    LOAN,
    Case("Loan only, a server counts 2 GPUs", workload=FIXED, cluster={"loan_gpus": 2}),
    Case("Loan only, fungible jobs on loan only", policy=OnLoanOnly, workload=FIXED),
    ELASTIC,
    BASIC,
)
FLEET_CASES = (BASELINE, BASIC, LOAN, ELASTIC)
