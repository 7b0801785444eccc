"""The exact methods, the models and the bound of workers."""

from __future__ import annotations

import pytest
from workers_instances import instance, job, server

import dlsched

LOAN = [server("l", 8)]
BOTH = [job("j", 2, 2, 2, fungible=True)]
CHOOSY = [job("e", 2, 2, elastic=True, fungible=True), job("i", 2, 2, fungible=True)]
HAND = {
    "two servers with 3 free GPUs hold two workers of 2 GPUs, not three":
        (instance([server("t0", 3), server("t1", 3)], [job(f"j{i}", 2, 1) for i in range(3)]),
         (2, 0, 0, 0)),
    "one empty loan server holds base workers or flexible ones":
        (instance(LOAN, BOTH), (1, 0, 0, 1)),
    "or both, without groups": (instance(LOAN, BOTH, separate_groups=False), (1, 2, 0, 1)),
    "preferences are kept although that opens a server, and none is opened for nothing":
        (instance([server("t", 4), server("l1", 8), server("l2", 8)], CHOOSY), (2, 0, 0, 1)),
}  # fmt: skip


@pytest.mark.parametrize("method", ["arc_flow", "milp"])
@pytest.mark.parametrize("name", HAND)
def test_worked_by_hand(name: str, method: str) -> None:
    """The optimum of all four levels; the bound on the first is certified, and attained."""
    made, objective = HAND[name]
    best = dlsched.solve(made, method)
    assert (best.status, tuple(best.objective)) == ("optimal", objective)
    bound = dlsched.bound(made)[0]
    assert (bound.value, str(bound.kind)) == (objective[0], "certified")


@pytest.mark.parametrize(
    ("free", "sizes", "method", "placed"),
    # 1 + 2 + ... + 34 is below 600.
    [(8, 1500, "arc_flow", 3), (600, 1500, "milp", 34), (10**6, 5, "milp", 5)],
)
def test_many_arcs_and_sizes(free: int, sizes: int, method: str, placed: int) -> None:
    """Arcs are counted without listing them; too many are refused, and milp takes their place."""
    jobs = [job(f"j{k}", k, 1) for k in range(1, sizes + 1)]
    made = instance([server("s", free, free)], jobs)
    best = dlsched.solve(made)
    assert (best.method, best.objective[0]) == (method, placed)
    if method == "milp":
        with pytest.raises(dlsched.OptionError, match="use milp"):
            dlsched.solve(made, "arc_flow")
        assert dlsched.bound(made)[0].value >= placed


@pytest.mark.parametrize("scenario", ["advanced", "ideal"])
def test_the_paper_s_fleet_is_proved(scenario: str) -> None:
    """443 and 520 servers with 500 waiting jobs are proved on all levels, each bound attained."""
    made = dlsched.generate("workers", 1, scenario=scenario, admitted=False)
    best = dlsched.solve(made)
    assert (best.status, best.termination) == ("optimal", "proved")
    assert len(made.servers) == 963 and len(made.jobs) == 500
    assert [bound.value for bound in best.bound] == list(best.objective)
    for method in ("bfd", "bases_first", "confined_first"):
        assert not dlsched.solve(made, method).objective.better_than(best.objective)
