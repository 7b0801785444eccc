"""Statistics of runs against figures worked out by hand; what compare's table does with them."""

import json
from concurrent.futures import BrokenExecutor, Executor, Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dlsched
from dlsched.results import statistics
from dlsched.results.statistics import Row, profiles
from dlsched.simulation import Cluster, Simulation, Workload, simulate
from dlsched.sweeps.stored_runs import evaluate_rows


def run(**fields: Any) -> Row:
    """Return a run's row with a gap, the second level's, seconds and other columns."""
    gap = fields.pop("gap", None)
    second = fields.pop("second", None)
    label = fields.pop("method", "m")
    gaps = [known for known in (gap, second) if known is not None]
    return {
        "problem": "reclaiming", "method": label, "options": "{}", "status": "feasible",
        "reason": "", "kind": "heuristic", "instance": "i", "instance_sha256": "s", "source": "i",
        "seed": 0, "repetition": 0, "seconds": 1.0, "size": 10, "solution_sha256": "a",
        "resolved_method": label, "termination": "finished", "refuted": "",
        "preempted_best_bound": 1, "collateral_best_bound": 1,
        "preempted_gap_to_best": gap, "collateral_gap_to_best": second,
        "gap_to_best": next(filter(None, gaps), 0.0) if gaps else None,
        "best_bound_kind": "certified", "at_optimum": gaps == [0, 0], "optimum_known": False,
    } | fields  # fmt: skip


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
    (row,) = statistics.summary(runs)
    counts = ["runs", "proven", "feasible", "bound only", "no solution", "failed", "at a limit"]
    assert [row[name] for name in counts] == [7, 1, 2, 1, 2, 1, 2]
    assert (row["gaps"], row["median"], row["worst"], row["bounds"]) == (3, 0.2, 0.6, "3 certified")
    found = [row[name] for name in ("p90", "p99", "mean", "seconds")]
    assert found == pytest.approx([0.52, 0.592, 0.8 / 3, (2 * 4 * 2 * 2) ** 0.25 - 1])
    (none,) = statistics.summary([run(status="error", seconds=None)])
    names = ["gaps", "mean", "mean_low", "worst", "seconds"]
    assert [none[name] for name in names] == [0, None, None, None, None]


SIZES = (10, 20, 40, 80, 160, 320, 640)
REPEATED = [run(size=n, seconds=0.001 * n**0.8, repetition=i) for n in SIZES for i in range(3)]
SLOW = run(size=10, seconds=0.126, repetition=3)


NOISE = zip((4, 5, 6, 7, 8), (2, 1, 1, 9, 14), strict=True)
GROWTHS: list[tuple[list[Row], float, float]] = [
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
def test_growth(runs: list[Row], slope: float, margin: float) -> None:
    """Times fit their power of the size, whatever one slow call says, and however many sizes."""
    power = profiles.growth(runs)
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
    small, large = statistics.summary(sized, by_size=True)
    assert (small["size"], small["runs"], small["mean"]) == (4, 1, 0.0)
    assert (large["size"], large["runs"], large["mean"]) == (8, 2, pytest.approx(0.3))


def test_summary_is_of_a_run_s_first_level_that_is_not_at_its_bound() -> None:
    """One run of many that differs at the first level hides no gap at the second.

    A solver's last digit is no gap where the column says that a run is at the optimum.
    """
    gaps = [("a", 0.0, "1"), ("a", 0.0, "2"), ("b", 0.5, "1"), ("b", 0.0, "2")]
    runs = [run(method=m, instance_sha256=i, gap=0.0, second=second) for m, second, i in gaps]
    a, b = statistics.summary(runs)
    assert (a["mean"], b["mean"], b["worst"]) == (0, 0.25, 0.5)
    assert (a["at optimum"], b["at optimum"]) == (2, 1)
    runs.append(run(method="b", instance_sha256="2", gap=0.3, seed=1))
    b = statistics.summary(runs)[1]
    assert (b["mean"], b["worst"]) == (pytest.approx(0.8 / 3), 0.5)
    lines = [line for line in statistics.gaps_by_level(runs) if line["method"] == "b"]
    found = [(line["level"], line["gaps"], line["mean"]) for line in lines]
    assert found == [("preempted", 3, pytest.approx(0.1)), ("collateral", 2, 0.25)]
    for known, gap in ((True, 0), (False, 1e-10)):
        (line,) = statistics.summary([run(gap=1e-10, at_optimum=known)])
        assert (line["mean"], line["at optimum"]) == (gap, known)


def test_intervals() -> None:
    """A mean's interval is that of the normal distribution, about; of one value it is the value."""
    values = np.random.default_rng(1).normal(5, 2, 400)
    found = statistics.interval(values)
    assert found is not None and found.value == pytest.approx(values.mean())
    half = 1.96 * values.std() / 20
    assert (found.low, found.high) == pytest.approx(
        (values.mean() - half, values.mean() + half), rel=0.01
    )
    assert statistics.interval([3.0]) == (3, 3, 3) and statistics.interval([]) is None
    low, high = statistics.shares_interval(np.array([0, 5, 10]), 10)
    assert (low[0], high[2]) == (0, 1)
    assert (low[1], high[1]) == pytest.approx((0.1871, 0.8129), abs=1e-4)  # tables of the binomial


def test_holm() -> None:
    """The example of four hypotheses, by hand; the order of the tests does not matter."""
    assert statistics.holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert statistics.holm([]) == [] and statistics.holm([0.9, 0.8]) == [1, 1]


def test_pairs_are_of_the_same_instance_at_the_first_level_that_differs() -> None:
    """A run far off at the second level is better than one slightly off at the first."""
    pairs = {"1": ((0.1, None), (0.0, 0.9)), "2": ((0.0, 0.2), (0.0, 0.4)), "3": ((0, 0), (0, 0))}
    runs = [
        run(method=m, instance_sha256=i, gap=first, second=second)
        for i, both in pairs.items()
        for m, (first, second) in zip(("mine", "other"), both, strict=True)
    ]
    runs.append(run(method="mine", instance_sha256="4", gap=0.5))
    (line,) = statistics.paired(runs)
    assert [line[name] for name in ("pairs", "better", "equal", "worse")] == [3, 1, 1, 1]
    assert line["difference"] == pytest.approx((0.1 - 0.2) / 3) and line["p_holm"] == line["p"]
    (turned,) = statistics.paired(runs, "other", "mine")
    assert turned["difference"] == -line["difference"]
    # Against one method: also those that stand after it, and of three.
    runs += [run(method="third", instance_sha256="1", gap=0.7)]
    for name in ("mine", "other", "third"):
        found = statistics.paired(runs, other=name)
        assert {line["other"] for line in found} == {name} and len(found) == 2
    for wrong in ({"method": "nobody"}, {"of": "memory"}):
        with pytest.raises(dlsched.OptionError, match=r"has mine, other, third|gap, seconds"):
            statistics.paired(runs, **wrong)


def row_of(result: dlsched.Result, method: str, **fields: Any) -> Row:
    """Return a result as a row of the store."""
    record = {k: v for k, v in result.to_data().items() if k != "solution"}
    return {
        name: value for name, value in run(method=method).items() if "best" not in name
    } | {
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
    false, proven, correct = runs = evaluate_rows(rows)
    level = "preempted_gap_to_best"
    assert proven[level] == 0 and profiles.ending(proven) == "proven" and proven["at_optimum"]
    assert correct[level] == false[level] == rule.gap_to(best.bound)[0] > 0
    assert (
        proven["optimum_known"] and correct["optimum_known"] and profiles.ending(false) == "failed"
    )
    assert "boaster says that no solution" in false["refuted"] and "boasting" in false["refuted"]
    assert (proven["refuted"], correct["refuted"]) == ("", "")
    wrong = replace(rule, status=dlsched.Status.INFEASIBLE, objective=None, solution=None)
    said, _ = evaluate_rows([row_of(wrong, "wrong"), row_of(best, "exact")])
    assert f"calls {made.name} infeasible; exact found" in said["refuted"]
    alone = evaluate_rows([row_of(rule, "random")])
    assert alone[0][level] is None and not alone[0]["at_optimum"]
    (line,) = statistics.summary(alone)
    assert (line["at optimum"], line["optimum unknown"], line["mean"]) == (0, 1, None)
    assert statistics.without_bounds(runs) == []
    assert statistics.without_bounds(alone) == ["reclaiming"]


def test_the_library_s_bounds_and_solutions() -> None:
    """A recorded bound serves where no run has one; a run better than the best known is named."""
    rule = dlsched.solve("lyra-fig5", "random", seed=1)
    (found,) = evaluate_rows([row_of(rule, "random")])
    assert found["gap_to_best"] is not None and found["best_bound_kind"] == "certified"
    best = dlsched.solve("lyra-fig5")
    better = replace(best, objective=best.objective.map(lambda value: value - 1))
    as_good, improved = evaluate_rows([row_of(best, "a"), row_of(better, "b")])
    assert improved["new_best"] and not as_good["new_best"]


def test_unlike_answers_for_one_seed() -> None:
    """Repetitions must agree; other seeds, and runs stopped by a limit, need not."""
    same = [run(solution_sha256="a", repetition=i) for i in range(3)]
    assert statistics.unsteady(same) == []
    assert statistics.unsteady([*same, run(solution_sha256="b", seed=1)]) == []
    assert statistics.unsteady([*same, run(solution_sha256="b", termination="time_limit")]) == []
    (said,) = statistics.unsteady([*same, run(solution_sha256="b", repetition=3)])
    assert said == "m is not deterministic: 2 different solutions of i in 4 runs with seed 0"


@pytest.fixture(scope="module")
def table() -> Any:
    """Give a comparison of two problems."""
    made = [dlsched.generate("reclaiming", seed=s, servers=12) for s in range(3)]
    made += [dlsched.generate("elastic", seed=s, jobs=12) for s in range(3)]
    return dlsched.compare(made, ["exact", "lyra"])


def test_a_comparison_is_printed_as_its_summary(table: Any) -> None:
    """In text, HTML and LaTeX it has a line per problem and method; parts of it are frames."""
    lines = repr(table).splitlines()
    assert "runs at optimum" in lines[1] and len(lines) == 2 + 4 and "3 of 3" in lines[2]
    assert table._repr_html_().count("<tr") == 5
    latex = table.to_latex(caption="of two")
    assert all(
        word in latex for word in (r"\toprule", r"\bottomrule", r"\caption{of two}", r"0 \%")
    )
    assert latex.count(r"\\") == 5
    one = table[table["problem"] == "elastic"]
    assert len(repr(one).splitlines()) == 4 and one.summary()["runs"].tolist() == [3, 3]
    assert "runs at optimum" not in repr(table[["method", "gap"]])
    failed = dlsched.compare(["lyra-fig5"], ["lyra", "nobody"])
    for column in failed:
        part = failed.drop(columns=[column])
        assert repr(part) and part._repr_html_() and part.to_latex()
    assert failed.drop(columns=["seconds"]).summary()["seconds"].tolist() == [None, None]
    assert table.paired("lyra", "exact")["pairs"].tolist() == [3, 3]
    assert table.to_csv().splitlines()[0].startswith("instance,")


def test_files_of_a_comparison(table: Any, workdir: Path) -> None:
    """It comes back from JSON and from CSV with the same content; its profile is a PDF."""
    for name in ("table.json", "table.json.gz", "table.csv"):
        dlsched.save(table, name)
        back = dlsched.load_comparison(name)
        pd.testing.assert_frame_equal(pd.DataFrame(back), pd.DataFrame(table))
        assert repr(back) == repr(table)
    dlsched.save(table, "table.tex")
    assert Path("table.tex").read_text() == table.to_latex()
    figure = table.profile(style="paper")
    assert figure.get_figwidth() == 3.3 and len(figure.axes) == 2
    dlsched.save(figure, "profile.pdf")
    assert b"/Type3" not in Path("profile.pdf").read_bytes()
    for document, name in ((table, "table.pdf"), (figure, "figure.csv"), (3, "three.json")):
        with pytest.raises(dlsched.OptionError, match="cannot be written"):
            dlsched.save(document, name)
    dlsched.save(dlsched.load("lyra-fig5"), "lyra.json")
    with pytest.raises(dlsched.InstanceError, match="is no comparison"):
        dlsched.load_comparison("lyra.json")


def test_names_that_look_like_numbers(workdir: Path) -> None:
    """They are names in a file, too."""
    made = dlsched.generate("reclaiming", servers=5)
    named = [made.model_copy(update={"name": name}) for name in ("007", "1e5", "None")]
    dlsched.save(dlsched.compare(named, ["lyra"]), "table.csv")
    assert dlsched.load_comparison("table.csv")["instance"].tolist() == ["007", "1e5", "None"]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", b""),
        ("b.csv", b"status\n\xff\xfe"),
        ("c.csv", b"name\n1,2,3\n4\n5,6,7,8\n"),
        ("d.json", b"{"),
        ("e.json", b'{"comparison": 3}'),
        ("f.json", b'{"comparison": [3]}'),
        ("g.json", b'{"comparison": [{"name": 1}]}'),
    ],
)
def test_what_is_no_comparison(name: str, content: bytes, workdir: Path) -> None:
    """It is refused by the name of its file."""
    Path(name).write_bytes(content)
    for file in (name, f"missing-{name}"):
        with pytest.raises(dlsched.InstanceError, match=rf"{name}: (is no comparison|cannot)"):
            dlsched.load_comparison(file)


@pytest.mark.parametrize("wrong", [{"exact": "1/0"}, {"value": "x"}, {"value": True}])
def test_numbers_that_are_none(wrong: dict[str, Any], workdir: Path) -> None:
    """A result with such a value is refused."""
    text = dlsched.solve("lyra-fig5").to_data()
    text["objective"]["preempted"] = wrong
    Path("result.json").write_text(json.dumps(text))
    with pytest.raises(dlsched.InstanceError, match=r"result\.json: cannot be read"):
        dlsched.load_result("result.json")


def test_a_level_that_is_called_as_a_column() -> None:
    """Its value has another column, and the seconds stay what they are."""
    level = dlsched.Level("seconds", "minimize", lambda m, _: 100 + sum(m.x.values()))
    changed = dlsched.Variant("reclaiming", "slow", levels=[level], version="1")
    made = dlsched.generate("reclaiming", servers=5)
    (row,) = dlsched.compare([made], ["exact"], variant=changed).to_dict("records")
    assert row["seconds"] < 100 < row["seconds_value"] == row["seconds_bound"]
    assert row["status"] == "optimal" and row["seconds_gap_to_best"] == 0


def test_files_of_results_and_simulations(workdir: Path) -> None:
    """They come back with the same content; what is something else is refused by name."""
    result = dlsched.solve("lyra-fig5", certify=True)
    for name in ("result.json", "result.json.gz"):
        dlsched.save(result, name)
        assert dlsched.load_result(name) == result
        assert dlsched.load_solution(name) == result.solution
    dlsched.save(dlsched.solve("lyra-fig5", "lp"), "bound.json")
    with pytest.raises(dlsched.InstanceError, match=r"bound\.json: solution: is missing"):
        dlsched.load_solution("bound.json")
    dlsched.save(result.solution, "solution.json")
    with pytest.raises(dlsched.InstanceError, match=r"solution\.json: \w+: is missing"):
        dlsched.load_result("solution.json")
    run = simulate(Workload.from_trace("sample-philly", limit=20), Cluster.uniform(2, 8), "srtf")
    dlsched.save(run, "run.sqlite")
    back = Simulation("run.sqlite")
    assert back.summary == run.summary and back.meta == run.meta and back.audit().feasible
    Path("other.sqlite").write_bytes(b"SQLite format 3\0" + b"\0" * 84)
    with pytest.raises(dlsched.DlschedError, match="cannot be read as a log"):
        Simulation("other.sqlite")


def test_jobs(table: Any) -> None:
    """Runs in other processes give the same rows; what cannot go there is refused."""
    made = [dlsched.generate("reclaiming", seed=s, servers=12) for s in range(3)]
    seen: list[Any] = []
    found = dlsched.compare(made, ["exact", "lyra"], jobs=2, on_answer=seen.append)
    same = ["instance", "method", "status", "preempted", "gap_to_best", "at_optimum"]
    assert found[same].values.tolist() == table[same].head(6).values.tolist() and len(seen) == 6
    with pytest.raises(dlsched.OptionError, match="define it in a module of its own"):
        dlsched.compare(made, [lambda instance, rng: None], jobs=2)
    with pytest.raises(dlsched.OptionError, match="jobs=0"):
        dlsched.compare(made, ["lyra"], jobs=0)
    with ThreadPoolExecutor(2) as threads:
        again = dlsched.compare(made, ["exact", "lyra"], on=threads)
    assert again[same].values.tolist() == found[same].values.tolist()


ENDS = "import os\n\ndef ends(instance, rng):\n    os._exit(3)\n"


def test_a_method_that_ends_its_process(workdir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its row says so, and the other rows are made."""
    Path("method_that_ends.py").write_text(ENDS)
    monkeypatch.syspath_prepend(str(workdir))
    found = dlsched.compare(["lyra-fig5"], ["scf", "method_that_ends:ends", "lyra"], jobs=2)
    assert found["status"].tolist() == ["feasible", "crashed", "feasible"]
    assert "status 3" in found["reason"][1]


class Losing(Executor):
    """Loses the worker of the first call, makes the second, and takes no third."""

    def __init__(self) -> None:
        self.calls = 0

    def submit(self, function: Any, /, *arguments: Any, **named: Any) -> Future[Any]:
        """Return a future that is done."""
        self.calls += 1
        future: Future[Any] = Future()
        if self.calls == 1:
            future.set_exception(OSError("a worker died"))
        elif self.calls == 2:
            future.set_result(function(*arguments, **named))
        else:
            raise BrokenExecutor("no more workers")
        return future


def test_an_executor_that_loses_workers() -> None:
    """The rows of these runs say so, and the others are kept."""
    found = dlsched.compare(["lyra-fig5"], ["scf", "lyra", "random"], on=Losing())
    assert found["status"].tolist() == ["crashed", "feasible", "crashed"]
    assert "a worker died" in found["reason"][0] and "no more workers" in found["reason"][2]
