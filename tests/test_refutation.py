"""A claim that another method's checked solution refutes takes no part in a comparison."""

import dlsched
from dlsched import Bound, Claim, Status
from dlsched.problems.reclaiming import Solution

POOR = ("4", "6")
"""Servers of Lyra's Figure 5 that preempt two jobs at a collateral of four GPUs."""


def overclaims(instance, run):
    """Return a poor solution of Figure 5 and call it optimal, with bounds it calls certified."""
    solution = Solution(instance=instance.name, returned=POOR)
    bounds = [[Bound(2, "certified", "nothing")], [Bound(4, "certified", "nothing")]]
    return Claim(solution=solution, status=Status.OPTIMAL, reason="proved", bounds=bounds)


def calls_infeasible(instance, run):
    """Call an instance infeasible that is not."""
    return Claim(status=Status.INFEASIBLE, reason="I say so")


def test_compare_reports_a_refuted_bound():
    """The gaps are those without the false bound, and its row says what refutes it."""
    table = dlsched.compare(["lyra-fig5"], [overclaims, "exact", calls_infeasible])
    assert table["gap_to_best"].tolist()[:2] == [0.5, 0.0] and table["gap"][0] == 0
    assert "better than preempted = 2" in table["refuted"][0] and "found 1" in table["refuted"][0]
    assert table["refuted"][1] == ""
    assert "infeasible" in table["refuted"][2]


def test_a_bound_alone_stands():
    """Without a better solution beside it, the claim stands as a claim."""
    table = dlsched.compare(["lyra-fig5"], [overclaims])
    assert table["gap"][0] == 0 and table["bound_kind"][0] == "claimed"
