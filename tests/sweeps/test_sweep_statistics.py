"""Statistics of a sweep against figures worked out by hand."""

import json
from dataclasses import replace
from typing import Any

import pytest

import dlsched
from dlsched.sweeps import statistics
from dlsched.sweeps.statistics import EvaluatedRun


def run(**fields: Any) -> EvaluatedRun:
    """Return an evaluated run with a gap, the second level's, seconds and other columns."""
    gap = fields.pop("gap", None)
    second = fields.pop("second", None)
    label = fields.pop("method", "m")
    gaps = [known for known in (gap, second) if known is not None]
    row = {
        "problem": "reclaiming", "method": label, "options": "{}", "status": "feasible",
        "reason": "", "kind": "heuristic", "instance": "i", "instance_sha256": "s", "source": "i",
        "seed": 0, "repetition": 0, "seconds": 1.0, "size": 10, "solution_sha256": "a",
        "resolved_method": label, "termination": "finished", "refuted": "",
        "preempted_gap_to_best": gap, "collateral_gap_to_best": second,
        "gap_to_best": next(filter(None, gaps), 0.0) if gaps else None,
        "best_bound_kind": "certified", "at_optimum": gaps == [0, 0],
    } | fields  # fmt: skip
    if gap is None:
        return EvaluatedRun(row, label, None, (), ())
    objective = dlsched.registry.problem("reclaiming").by_level([1, 1])  # type: ignore[attr-defined]
    return EvaluatedRun(row, label, objective, (gap, second), ("certified", None))


def test_failures_and_limits_are_never_averaged() -> None:
    """Counts have every run; gaps those with a solution; times those that ended by themselves."""
    late = {"termination": "time_limit", "seconds": 60.0}
    runs = [
        run(gap=0.0, status="optimal", seconds=1.0),
        run(gap=0.2, seconds=3.0),
        run(gap=0.6, **late),
        run(status="no solution", **late),
        run(status="infeasible", reason="too few servers", seconds=1.0),
        run(status="wall_timeout", reason="killed", seconds=None),
        run(status="no solution", kind="bound", seconds=1.0),
    ]
    (row,) = statistics.summary(runs).to_dict("records")
    counts = ["runs", "proven", "feasible", "bound only", "no solution", "failed", "at a limit"]
    assert [row[name] for name in counts] == [7, 1, 2, 1, 2, 1, 2]
    assert (row["gaps"], row["p50"], row["worst"], row["bounds"]) == (3, 0.2, 0.6, "3 certified")
    found = [row[name] for name in ("p90", "p99", "mean", "seconds")]
    assert found == pytest.approx([0.52, 0.592, 0.8 / 3, (2 * 4 * 2 * 2) ** 0.25 - 1])
    (none,) = statistics.summary([run(status="error", seconds=None)]).to_dict("records")
    assert [none[name] for name in ("gaps", "mean", "worst", "seconds")] == [0, None, None, None]


SIZES = (10, 20, 40, 80, 160, 320, 640)
REPEATED = [run(size=n, seconds=0.001 * n**0.8, repetition=i) for n in SIZES for i in range(3)]
SLOW = run(size=10, seconds=0.126, repetition=3)


NOISE = zip((4, 5, 6, 7, 8), (2, 1, 1, 9, 14), strict=True)
GROWTHS: list[tuple[list[EvaluatedRun], float, float]] = [
    ([run(size=n, seconds=2 * n**1.5) for n in SIZES[:5]], 1.5, 1e-6),
    ([run(size=n, seconds=1e-6 * n**2) for n in range(1, 5001)], 2, 0.01),
    ([SLOW, *REPEATED], 0.8, 1e-6),  # one slow repetition of many
    ([SLOW, *REPEATED[3::3]], 0.8, 1e-6),  # one slow first run
    # Of four sizes, of noise, and of runs that a limit ended there is none.
    ([run(size=n, seconds=2 * n**1.5) for n in SIZES[:4] for _ in range(9)], 0, 0),
    ([run(size=n, seconds=s) for n, s in NOISE], 0, 0),
    ([run(size=n, termination="time_limit") for n in range(1, 9)], 0, 0),
    ([], 0, 0),
]


@pytest.mark.parametrize(("runs", "slope", "margin"), GROWTHS)
def test_growth(runs: list[EvaluatedRun], slope: float, margin: float) -> None:
    """Times fit their power of the size, whatever one slow call says, and however many sizes."""
    power = statistics.growth(runs)
    if not slope:
        assert power is None
        return
    assert power is not None and power.slope == pytest.approx(slope, abs=margin)
    assert power.low <= power.slope + margin and power.high >= power.slope - margin
    text = f"n^{slope:.2f} ({power.low:.2f} to {power.high:.2f})"
    assert power.power() == text and (runs[0] is not SLOW or len(runs) > 9 or power.low < 0.7)


def test_growth_of_gaps() -> None:
    """Gaps that rise by 3 points with each doubling have that slope; those of 0 have none.

    A summary by size has a row per method and size, ascending, without runs that have no size.
    """
    slope = statistics.gap_growth([run(gap=0.01 + 0.03 * k, size=2**k) for k in range(5)])
    assert slope is not None and slope.slope == pytest.approx(0.03)
    for runs in ([run(gap=0.0, size=n) for n in range(1, 9)], []):
        assert statistics.gap_growth(runs) is None
    sized = [run(gap=g, size=n) for n, g in ((8, 0.4), (4, 0.0), (8, 0.2), (None, 0.9))]
    table = statistics.summary_by_size(sized)
    assert table["size"].tolist() == [4, 8] and table["runs"].tolist() == [1, 2]
    assert table["mean"].tolist() == pytest.approx([0.0, 0.3])


def test_summary_is_of_a_run_s_first_level_that_is_not_at_its_bound() -> None:
    """One run of many that differs at the first level hides no gap at the second.

    A solver's last digit is no gap where the column says that a run is at the optimum.
    """
    gaps = [("a", 0.0, "1"), ("a", 0.0, "2"), ("b", 0.5, "1"), ("b", 0.0, "2")]
    runs = [run(method=m, instance_sha256=i, gap=0.0, second=second) for m, second, i in gaps]
    a, b = statistics.summary(runs).to_dict("records")
    assert (a["mean"], b["mean"], b["worst"]) == (0, 0.25, 0.5)
    assert (a["at optimum"], b["at optimum"]) == (2, 1)
    runs.append(run(method="b", instance_sha256="2", gap=0.3, seed=1))
    b = statistics.summary(runs).to_dict("records")[1]
    assert (b["mean"], b["worst"]) == (pytest.approx(0.8 / 3), 0.5)
    means = statistics.level_means(statistics.gaps_by_level(runs), "reclaiming")
    assert [*means] == ["preempted", "collateral"]
    assert [means[level]["b"].text() for level in means] == ["10.00 %", "(2) 25.00 %"]
    assert [means[level]["a"].text() for level in means] == ["0 %", "0 %"]
    for known, gap in ((True, 0), (False, 1e-10)):
        (line,) = statistics.summary([run(gap=1e-10, at_optimum=known)]).to_dict("records")
        assert (line["mean"], line["at optimum"]) == (gap, known)


def row_of(result: dlsched.Result, method: str, **fields: Any) -> dict[str, Any]:
    """Return a result as a row of the store."""
    record = {k: v for k, v in result.to_data().items() if k != "solution"}
    return run(method=method).row | {
        "instance": result.instance,
        "instance_sha256": result.instance_sha256,
        "status": str(result.status),
        "kind": str(result.kind),
        "key": f"{method} {result.seed}",
        "record": json.dumps(record),
    } | fields  # fmt: skip


def test_gaps_are_to_the_strongest_bound_of_any_run() -> None:
    """A heuristic that proves nothing is measured against what an exact method proved.

    A bound that a checked solution beats is reported; gaps are to the other bounds.
    """
    made = dlsched.generate("reclaiming", seed=1, servers=40, demand=12, spread=0.9)
    best, rule = dlsched.solve(made), dlsched.solve(made, "random", seed=3)
    poor = rule.bound.map(lambda _: dlsched.Bound(10**6, "claimed", "boasting"))
    boaster = replace(rule, status=dlsched.Status.OPTIMAL, bound=poor)
    rows = [row_of(boaster, "boaster"), row_of(best, "exact"), row_of(rule, "random")]
    false, proven, correct = runs = statistics.evaluate_rows(rows)
    assert proven.gaps[0] == 0 and proven.ending == "proven" and proven.at_optimum
    assert correct.gaps[0] == false.gaps[0] == rule.gap_to(best.bound)[0] > 0
    assert proven.optimum_known and correct.optimum_known and false.ending == "failed"
    assert "boaster says that no solution" in false.row["refuted"]
    assert "boasting" in false.row["refuted"]
    assert (proven.row["refuted"], correct.row["refuted"]) == ("", "")
    wrong = replace(rule, status=dlsched.Status.INFEASIBLE, objective=None, solution=None)
    said, _ = statistics.evaluate_rows([row_of(wrong, "wrong"), row_of(best, "exact")])
    assert f"calls {made.name} infeasible; exact found" in said.row["refuted"]
    alone = statistics.evaluate_rows([row_of(rule, "random")])
    assert alone[0].gaps[0] is None and not alone[0].at_optimum
    (line,) = statistics.summary(alone).to_dict("records")
    assert (line["at optimum"], line["optimum unknown"], line["mean"]) == (0, 1, None)
    assert statistics.without_bounds(runs) == []
    assert statistics.without_bounds(alone) == ["reclaiming"]


def test_the_library_s_bounds_and_solutions() -> None:
    """A recorded bound serves where no run has one; a run better than the best known is named."""
    rule = dlsched.solve("lyra-fig5", "random", seed=1)
    (found,) = statistics.evaluate_rows([row_of(rule, "random")])
    assert found.gaps[0] is not None and found.bound_kinds[0] == "certified"
    best = dlsched.solve("lyra-fig5")
    better = replace(best, objective=best.objective.map(lambda value: value - 1))
    as_good, improved = statistics.evaluate_rows([row_of(best, "a"), row_of(better, "b")])
    assert statistics.improvements([as_good]) == []
    (named,) = statistics.improvements([improved])
    assert named == (improved, "lyra-fig5", best.objective)


def test_unlike_answers_for_one_seed() -> None:
    """Repetitions must agree; other seeds, and runs stopped by a limit, need not."""
    same = [run(solution_sha256="a", repetition=i) for i in range(3)]
    assert statistics.unsteady(same) == []
    assert statistics.unsteady([*same, run(solution_sha256="b", seed=1)]) == []
    assert statistics.unsteady([*same, run(solution_sha256="b", termination="time_limit")]) == []
    (said,) = statistics.unsteady([*same, run(solution_sha256="b", repetition=3)])
    assert said == "m is not deterministic: 2 different solutions of i in 4 runs with seed 0"
