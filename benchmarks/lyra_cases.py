"""What Lyra's simulation simulates: rows of the paper's tables, optima, and other readings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from lyra_readings import OnLoanOnly, SkippingFifo

Paper = tuple[float | None, float | None, float | None]
NOTHING: Paper = (None, None, None)


class Size(NamedTuple):
    """Training and inference servers, days of arrivals, load, and how the jobs are drawn."""

    training: int
    inference: int
    days: float
    load: float
    drawn: str = "by seed"


SMALL = Size(28, 33, 4, 0.82)
"""A sixteenth of the paper's servers, and four days."""
BUSY = Size(28, 33, 7, 0.95)
OVERLOADED = Size(56, 65, 2, 3.0)
"""Of Figure 10: the servers on loan are in use, as in Figure 9."""
RESAMPLED = SMALL._replace(drawn="resampled")
"""Of Figure 12: a "seed" is one of ten traces, of days drawn from those of one trace."""
TESTBED = Size(4, 4, 1 / 3, 1.0, "testbed")
"""Section 7.5: 180 jobs in 8 hours."""


class Case(NamedTuple):
    """One row: what is simulated, and the paper's mean queueing, mean completion, preempted %."""

    label: str
    paper: Paper = NOTHING
    policy: Any = "lyra"
    loaning: bool = True
    workload: Mapping[str, Any] = {}
    options: Mapping[str, Any] = {}
    cluster: Mapping[str, Any] = {}


FIXED = {"elastic": False}
ADVANCED, MIXED, IDEAL = ({"scenario": s} for s in ("advanced", "heterogeneous", "ideal"))
NAIVE = {"workers": "naive_bfd"}
BASELINE = Case("Baseline (fifo)", (3072, 16610, 0), "fifo", False)
BASIC = Case("Basic", (2010, 11236, 12.24))
ADVANCED_CASE = Case("Advanced", (1835, 10434, 7.35), workload=ADVANCED)
MIXED_CASE = Case("Heterogeneous", (1944, 12113, 11.23), workload=MIXED)
IDEAL_CASE = Case("Ideal", (1157, 8891, 5.72), workload=IDEAL)
LOAN = Case("Loan only: lyra", (2212, 12947, 14.94), workload=FIXED)
ELASTIC = Case("Elastic only: lyra", (2275, 12048, None), loaning=False)
OPPORTUNISTIC = (
    Case("Loan only: opportunistic, strict", (2788, 14828, 19.35), "opportunistic", workload=FIXED),
    Case("Loan only: opportunistic, in Lyra's order", (2788, 14828, 19.35), "opportunistic",
         workload=FIXED, options={"order": "shortest"}),
)  # fmt: skip
LOANING = (
    *OPPORTUNISTIC,
    Case("Loan only: random", (2901, 14678, 20.89), workload=FIXED, options={"method": "random"}),
    Case("Loan only: scf", (2783, 14923, 17.48), workload=FIXED, options={"method": "scf"}),
)
SCALING = (
    Case("Elastic only: gandiva", (3035, 15912, None), "gandiva", False),
    Case("Elastic only: afs", (2284, 15045, None), "afs", False),
    Case("Elastic only: pollux", (2791, 14534, None), "pollux", False),
)
SCENARIOS = (BASIC, ADVANCED_CASE, MIXED_CASE, IDEAL_CASE)
PAIRS = {
    "scenarios": (*((BASELINE, case) for case in SCENARIOS), (BASIC, IDEAL_CASE)),
    "loaning": (
        (BASELINE, LOAN),
        *((case, LOAN) for case in LOANING),
        *((BASELINE, case) for case in OPPORTUNISTIC),
    ),
    "scaling": (
        (BASELINE, ELASTIC),
        *((case, ELASTIC) for case in SCALING),
        *((BASELINE, case) for case in SCALING),
        (SCALING[1], SCALING[2]),
    ),
}
"""What is compared with what: the paper's factors are the first's times over the second's."""
TABLE_6 = (
    Case("Basic, naive placement", (2231, 13872, 13.22), options=NAIVE),
    Case("Advanced, naive placement", (1944, 12474, 10.04), workload=ADVANCED, options=NAIVE),
    Case("Ideal, naive placement", (1273, 9982, 10.93), workload=IDEAL, options=NAIVE),
)
PAIRS_6 = tuple(zip(TABLE_6, (BASIC, ADVANCED_CASE, IDEAL_CASE), strict=True))
LOSSY = (
    Case("Basic, loss of 20 %", (2071, 11890, None), workload={"scaling_loss": 0.2}),
    Case("Ideal, loss of 20 %", (None, 9828, None), workload={**IDEAL, "scaling_loss": 0.2}),
)
WRONG = tuple(
    Case(f"Elastic only, {100 * share:.0f} % wrong estimates", loaning=False,
         workload={"wrong": share})
    for share in (0.2, 0.4, 0.6)
)  # fmt: skip
SHARES = (0.2, 1.0)


def of_share(case: Case, share: float, **more: Any) -> Case:
    """Return a case with a share of elastic jobs."""
    label = case.label.removeprefix("Elastic only: ")
    loss = ", loss of 20 %" if more else ""
    return case._replace(
        label=f"{label}, {100 * share:.0f} % elastic{loss}",
        paper=NOTHING,
        workload={"elastic_share": share, **more},
    )


GROUPS = (
    (
        LOAN,
        Case("Loan only: scf", workload=FIXED, options={"method": "scf"}),
        Case("Loan only: densest", workload=FIXED, options={"method": "densest"}),
        Case("Loan only: exact reclaiming", workload=FIXED, options={"method": "exact"}),
    ),
    (
        ELASTIC,
        Case("Elastic only: exact elastic", loaning=False, options={"elastic": "exact"}),
    ),
    (
        BASIC,
        Case("Basic: exact reclaiming", options={"method": "exact"}),
        Case("Basic: exact elastic", options={"elastic": "exact"}),
        Case("Basic: exact workers", options={"workers": "exact"}),
        Case("Basic: all three exact",
             options={"method": "exact", "elastic": "exact", "workers": "exact"}),
    ),
)  # fmt: skip
"""The paper's heuristics, then other methods of one problem or more, in the same simulation."""
ON_LOAN_ONLY = Case("Loan only, fungible jobs on loan only", policy=OnLoanOnly, workload=FIXED)
READINGS = (
    BASELINE,
    Case("fifo that skips", policy=SkippingFifo, loaning=False),
    Case("lyra without loan and elastic jobs", loaning=False, workload=FIXED),
    LOAN,
    Case("Loan only, a server counts 2 GPUs", workload=FIXED, cluster={"loan_gpus": 2}),
    ON_LOAN_ONLY,
    ELASTIC,
    BASIC,
)
PAIRS_READINGS = tuple((BASELINE, case) for case in READINGS[1:])
TABLE_10 = (
    BASELINE._replace(paper=(1532, 4078, 0)),
    BASIC._replace(paper=(1109, 3335, 18)),
    LOANING[2]._replace(paper=(1527, 3893, 34)),
    LOANING[3]._replace(paper=(1473, 3857, 30)),
    LOAN._replace(paper=(1230, 3748, 22)),
    SCALING[0]._replace(paper=(1443, 3882, None)),
    SCALING[1]._replace(paper=(1338, 3521, None)),
    SCALING[2]._replace(paper=(1405, 3552, None)),
    ELASTIC._replace(paper=(1318, 3413, None)),
)
PAIRS_10 = (
    *((TABLE_10[0], case) for case in TABLE_10[1:]),
    *((case, TABLE_10[4]) for case in TABLE_10[2:4]),
    *((case, TABLE_10[8]) for case in TABLE_10[5:8]),
)
