"""Rows of a comparison: their columns, and claims that a checked solution refutes."""

import re
from pathlib import Path

import dlsched
from dlsched import Bound, Claim, Status
from dlsched.bench.store import TYPES
from dlsched.display.table import COLUMNS
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


def test_columns_are_those_documented():
    """Rows have the columns of the table in docs/benchmarks.md, in its order, and no others."""
    page = (Path(__file__).parents[1] / "docs" / "benchmarks.md").read_text()
    rows = re.findall(r"^\| `(.+?)` \| (.+) \|$", page.partition("## Suites")[0], re.M)
    assert dict(rows) == COLUMNS
    found = list(dlsched.compare(["lyra-fig5"], ["exact", "nobody"]).columns)
    levels = ["preempted", "collateral"]
    known = [name for name in COLUMNS if "<level>" not in name]
    known += [name.replace("<level>", level) for name in COLUMNS for level in levels]
    assert set(found) <= set(known)
    assert [name for name in found if name in COLUMNS] == [n for n in COLUMNS if n in found]
    assert set(TYPES) - {"record"} <= set(COLUMNS)


def test_gap_to_best_uses_the_library():
    """Without a proof in the table, gap_to_best is to the recorded bound; gap is not stated."""
    (row,) = dlsched.compare(["lyra-fig5"], ["random"]).to_dict("records")
    assert row["gap"] is None and row["gap_to_best"] == 0.5
    assert (row["gap_to_best_level"], row["best_bound_kind"]) == ("preempted", "certified")
    assert (row["preempted_best_bound"], row["preempted_bound"]) == (1, None)
    assert (row["status"], row["termination"]) == ("feasible", "finished")
