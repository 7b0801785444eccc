"""Ties of a grouping: which of the jobs with equal stages goes into which group."""

from fractions import Fraction
from itertools import permutations

import pytest

from dlsched import OptionError
from dlsched.problems.interleaving import Instance
from dlsched.simulation import Cluster, Workload, simulate
from dlsched.simulation.engine.speeds import least_iteration_time
from dlsched.simulation.policies.muri import settle_ties

STAGES = ((4, 1, 0), (4, 1, 0), (4, 1, 0), (1, 3, 1), (1, 3, 1), (5, 5, 1))


def test_ties_are_settled_for_the_first_in_line() -> None:
    """No exchange of jobs with equal stages has a larger sum of weight times speed."""
    rows = [{"id": f"j{i}", "stages": list(s)} for i, s in enumerate(STAGES)]
    data = {
        "dlsched": 1,
        "problem": "interleaving",
        "name": "ties",
        "resources": ["storage", "gpu", "network"],
    }
    instance = Instance.parse({**data, "grouping": "cover", "jobs": rows}, "ties")
    weight = {f"j{i}": Fraction(1, i + 1) for i in range(len(STAGES))}
    stages = dict(zip(weight, STAGES, strict=True))

    def worth(groups: list[tuple[str, ...]]) -> Fraction:
        times = (least_iteration_time(tuple(sorted(stages[j] for j in g))) for g in groups)
        return sum(
            (sum(weight[j] * sum(stages[j]) for j in g) / t)
            for g, t in zip(groups, times, strict=True)
        )  # type: ignore[return-value]

    given = [("j0", "j5"), ("j1", "j3"), ("j2",), ("j4",)]
    best = max(
        worth([tuple(swap[j] for j in group) for group in given])
        for a in permutations(("j0", "j1", "j2"))
        for b in permutations(("j3", "j4"))
        for swap in [dict(zip(weight, (*a, *b, "j5"), strict=True))]
    )
    settled = settle_ties(instance, given)
    assert worth(given) < worth(settled) == best
    assert sorted(j for g in settled for j in g) == sorted(weight)
    profiles = [[sorted(stages[j] for j in g) for g in groups] for groups in (given, settled)]
    assert profiles[0] == profiles[1]


def test_ties_are_an_option_of_the_policy() -> None:
    """The simulation with settled ties is audited; another name is refused."""
    rows = [
        {"id": f"j{i}", "submit": 0, "gpus": 1, "work": 10 + 3 * i, "stages": list(s)}
        for i, s in enumerate(STAGES)
    ]
    workload = Workload.parse({"name": "ties", "jobs": rows}, "ties")
    run = simulate(workload, Cluster.uniform(1, 3), "muri_s", interval=None, ties="shortest")
    assert run.audit() and run.complete
    with pytest.raises(OptionError, match="ties='longest' is none of listed, shortest"):
        simulate(workload, Cluster.uniform(1, 3), "muri_s", ties="longest")
