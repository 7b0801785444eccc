"""The ``repr`` of documents, results and reports, and the summary of a result."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from fractions import Fraction
from typing import Any

import pytest

import dlsched
from dlsched import Bound, InstanceError, Report, Status, Termination, Violation, library
from dlsched.records import read_trace, replay, snapshot
from dlsched.registry import Kind
from dlsched.results.objective import ByLevel, Level
from dlsched.results.result import Limits, Result, Seconds, Start
from dlsched.schema import Solution
from dlsched.simulation import Cluster, Workload, simulate

LIBRARY = dlsched.list_instances()[::4]
LINES, WIDTH = 10, 115
COPIES = [copy.copy, copy.deepcopy, lambda v: pickle.loads(pickle.dumps(v))]


@pytest.fixture(scope="module")
def fig5() -> Result:
    """Return the solved instance of Lyra's Figure 5."""
    return dlsched.solve("lyra-fig5", "milp")


def is_short(text: str) -> bool:
    """Whether a text has few lines of limited length, and no control characters."""
    lines = text.split("\n")
    fits = len(lines) <= LINES and all(len(line) <= WIDTH for line in lines)
    return fits and all(line.isprintable() for line in lines)


def test_library_is_short() -> None:
    """A shipped instance, its solution, and the parts of both have a short text."""
    for name in LIBRARY:
        instance = dlsched.load(name)
        solution = dlsched.load_solution(library.solution_file(name))
        assert is_short(repr(instance)) and is_short(repr(solution)), name
        parts = [v for d in (instance, solution) for v in vars(d).values() if type(v) is tuple]
        assert all(len(repr(part[0])) <= 300 for part in parts if part), name


def test_instance_says_what_there_is() -> None:
    """Servers, GPUs, jobs, demand and levels are derived from the fields."""
    assert repr(dlsched.load("lyra-fig5")) == (
        "<reclaiming instance 'lyra-fig5'\n"
        "  demand 2\n"
        "  servers: 6; gpus 8, total 48\n"
        "  jobs: 4; workers 1 to 2 each (7 in all, 6 values of server, gpus 2 to 8, total 44)\n"
        "  minimize preempted (jobs), then collateral (GPUs)>"
    )
    assert str(dlsched.load("lyra-fig5")) == repr(dlsched.load("lyra-fig5"))


@pytest.mark.parametrize("again", COPIES)
def test_copies_are_equal_and_read_the_same(fig5: Result, again: Any) -> None:
    """Copies and pickles of all that shows itself are equal and have the same text."""
    report = dlsched.verify("lyra-fig5", {**fig5.solution.to_data(), "returned": ["1"]})
    things = [dlsched.load("lyra-fig5"), fig5.solution, fig5, report, report.violations[0]]
    for thing in [*things, fig5.bound, fig5.bound[0]]:
        assert again(thing) == thing and repr(again(thing)) == repr(thing)


def test_result(fig5: Result) -> None:
    """A result says per level objective, bound and gap; no times, which differ between runs."""
    assert repr(fig5) == (
        "<reclaiming result of 'lyra-fig5' by 'milp': optimal\n"
        "  preempted: 1 jobs, bound 1 (certified), gap 0 %\n"
        "  collateral: 0 GPUs, bound 0 (certified), gap 0 %>"
    )
    assert repr(fig5.bound[0]) == "Bound(1 (certified, dual vector of the LP))"


def test_result_without_solution() -> None:
    """A result without a solution says why; a violation without a place has a text."""
    result = dlsched.solve(dlsched.generate("reclaiming", servers=3, demand=9))
    assert "infeasible: demand 9 servers, 3 exist" in repr(result) and is_short(repr(result))
    report = Report((Violation("kind", "", "message", Fraction(1, 3)),), None)
    assert repr(report) == "<report: 1 violation\n  kind 1\n  : message>"


def test_report_of_many_violations() -> None:
    """A report counts violations by kind and shows the first three, whatever ids contain."""
    returned = ["1", *(f"\x1b[31m\n{'x' * 999}{i}" for i in range(5000))]
    solution = {"dlsched": 1, "problem": "reclaiming", "instance": "i", "returned": returned}
    report = dlsched.verify("lyra-fig5", solution)
    assert repr(report).startswith("<report: 5,002 violations\n  unknown_server 5,000, ")
    assert "and 4,999 more" in repr(report) and is_short(repr(report))
    assert is_short(repr(report.violations[0]))


def test_names_are_data() -> None:
    """Line ends, escape codes and long names of a document neither break nor fill its texts."""
    name = "a\nb\x1b[2J" + "z" * 10_000
    one = dict.fromkeys(("gpus_per_worker", "min_workers", "max_workers", "min_running_time"), 1)
    data = {"name": name, "source": name, "capacity": 1, "jobs": [one | {"id": name}]}
    instance: Any = dlsched.load(data | {"dlsched": 1, "problem": "elastic"})
    result = dlsched.solve(instance)
    assert is_short(repr(instance)) and "\\n" in repr(instance)
    assert len(repr(instance.jobs[0])) < 200 and repr(instance.jobs[0]).isprintable()
    assert is_short(repr(result)) and is_short(repr(result.solution))
    assert all(line.isprintable() for line in result.summary().splitlines())
    result = dlsched.solve(dlsched.load("lyra-fig5"), "lyra")
    odd = dataclasses.replace(result, instance="x" * 3000 + "\n", method="\x1b[31m" + "m" * 3000)
    first = odd.summary().splitlines()[0]
    assert len(first) < 180 and "\x1b" not in first and "(reclaiming)" in first


def test_defaults_are_left_out() -> None:
    """A part shows the fields that are not at their defaults; numbers have no separators."""
    job = {"id": "a", "gpus_per_worker": 1, "min_workers": 2, "max_workers": 2000}
    data = {"dlsched": 1, "problem": "elastic", "name": "n", "capacity": 9}
    made: Any = dlsched.load(data | {"jobs": [job | {"running_times": [1] * 1999}]})
    assert repr(made.jobs[0]) == (
        "Job(id='a', gpus_per_worker=1, min_workers=2, max_workers=2000, "
        "running_times=<1,999 entries>)"
    )


def test_hypothesis_prints_all_data() -> None:
    """A failing property test prints a call that loads the instance, which a short text is not."""
    pretty = pytest.importorskip("hypothesis.vendor.pretty").pretty
    instance = dlsched.load("lyra-fig5")
    assert eval(pretty(instance)) == instance
    solution = dlsched.solve(instance, "lyra").solution
    assert eval(pretty(solution)) == solution


LEVELS = (Level("done", "max", "jobs"),)


def by_level(value: Any) -> ByLevel[Any]:
    """Return a value for the one level."""
    return ByLevel(LEVELS, [value])


UNSOLVED = Result(
    problem="reclaiming", instance="i", instance_sha256="0", method="m", kind=Kind.EXACT,
    status=Status.NO_SOLUTION, termination=Termination.TIME_LIMIT, reason="time limit",
    solution=None, objective=None, bound=by_level(None), certified=by_level(None),
    gap=by_level(None), seconds=Seconds(1.5, 2.25, 0.125, 4), seed=3, limits=Limits(10.0, 0.05, 2),
)  # fmt: skip
SOLVED = dataclasses.replace(
    UNSOLVED, status=Status.OPTIMAL, termination=Termination.GAP_REACHED,
    reason=Termination.GAP_REACHED.sentence, solution=Solution(problem="reclaiming"),
    objective=by_level(10), bound=by_level(Bound(Fraction(21, 2), "claimed", "tree")),
    gap=by_level(0.5 / 10.5), solver="highs", solver_version="1.0",
    solver_message="kOptimal: Opti\x1b[2J\nmal", options={"levels": 1}, start=Start(False, "worse"),
)  # fmt: skip


def test_summary_without_solution() -> None:
    """Where a limit left no solution, the summary names the limit, all times, and the next step."""
    assert UNSOLVED.summary().splitlines() == [
        "i (reclaiming) by m (exact): no solution",
        "No solution was found; that none exists is not proved.",
        "  done (max)   no value   no bound   no gap",
        "ended: time limit; the limit is 10 s",
        "next: a larger limit, or a heuristic of dlsched.list_methods('reclaiming'); "
        "its solution can be the",
        "  start= of this method",
        "seconds: build 1.5000, search 2.2500, check 0.1250, total 4.0000",
        "run: no solver, seed 3, time limit 10 s, 2 threads",
    ]


def test_summary_says_what_optimal_means() -> None:
    """The gap asked, the gap achieved and the tolerance are stated, and who claims the bound."""
    text = " ".join(SOLVED.summary().split())
    assert "no solution is better by more than the gap. Gap asked 5.00 %, achieved 4.76 %" in text
    assert "tolerance 1e-06" in text
    assert "done (max) 10 jobs bound 10.5 gap 4.76 % claimed: tree" in text
    assert (
        "ended: proved within the gap that was asked for; highs reports: Opti" in text
        and "kOptimal" not in text
    )
    assert "run: solver highs 1.0, seed 3" in text and "levels=1, start not used: worse" in text
    assert "next:" not in text and "\x1b" not in text
    proved = dataclasses.replace(SOLVED, termination=Termination.PROVED, gap=by_level(0.0))
    said = "no solution is better at any level. Gap asked 5.00 %, achieved 0 %"
    assert said in proved.summary()
    assert "Gap asked not recorded" in dataclasses.replace(SOLVED, limits=None).summary()


STEPS: list[tuple[dict[str, Any], str]] = [
    ({"status": Status.FEASIBLE, "termination": Termination.TIME_LIMIT}, "start=result continues"),
    ({"status": Status.INFEASIBLE, "termination": Termination.INFEASIBLE}, "change the instance"),
    ({"status": Status.UNBOUNDED, "termination": Termination.UNBOUNDED}, "missing limit"),
    ({"status": Status.NO_SOLUTION, "termination": Termination.BOUND_ONLY}, "returns bounds only"),
    ({"status": Status.NO_SOLUTION, "termination": Termination.UNDECIDED}, "next: a heuristic of"),
    (
        {"status": Status.FEASIBLE, "termination": Termination.FINISHED, "bound": by_level(None)},
        "next: result.gap_to(dlsched.bound(instance))",
    ),
]


@pytest.mark.parametrize(("ended", "step"), STEPS)
def test_next_step(ended: dict[str, Any], step: str) -> None:
    """Whatever is missing, the summary says what to try."""
    assert step in dataclasses.replace(SOLVED, **ended).summary()


def test_reprs_are_short() -> None:
    """Trace, workload, cluster, state, replay, snapshot, simulation and proof fit ten lines."""
    trace = read_trace("synthetic-1")
    shot, proof = snapshot(trace, "2d"), dlsched.prove("lyra-fig5")
    workload, cluster = Workload.from_trace(trace, limit=50), Cluster.uniform(200, 8)
    run = simulate(workload, cluster, "fifo")
    shown = [trace, workload, cluster, shot, shot.state, replay(trace, until="1d"), run, proof]
    for thing in [*shown, *proof.levels, *trace.jobs[:3], run.log]:
        assert len(repr(thing)) <= 1200 and repr(thing).count("\n") < 10
    assert repr(shot).startswith("<snapshot of 'synthetic-1' at 2d: 64 servers of 8 GPUs, ")
    assert repr(proof) == (
        "<proof for reclaiming instance 'lyra-fig5': preempted=1, collateral=0; 2 leaves>"
    )


def test_levels_that_say_nothing_are_counted() -> None:
    """Of dispatch's sixteen those are shown that are not 0, also of a report."""
    instance = dlsched.generate("dispatch", seed=1, pending=6)
    best, mast = dlsched.solve(instance), dlsched.solve(instance, "mast")
    assert repr(best).splitlines()[1:] == [
        "  levels that are 0 at a bound of 0: 14",
        "  started_7: 22.92 GPUs, bound 22.92 (certified), gap 0 %",
        "  spread: 9 machines and racks, bound 9 (claimed), gap 0 %>",
    ]
    values = {level.name: value for level, value in mast.objective.pairs() if value}
    assert repr(mast).splitlines()[1] == f"  levels that are 0, without a bound: {16 - len(values)}"
    report = repr(dlsched.verify(instance, best.solution)).splitlines()[1:]
    first = [line.strip().partition(":")[0] for line in report]
    assert first == ["levels that are 0", "started_7", "spread"]


def test_a_bare_dict_as_solution() -> None:
    """Data without the first two fields are told what they lack; a misspelled field is named."""
    lacks = r'did you mean {"dlsched": 1, "problem": "reclaiming", \*\*data}\?'
    with pytest.raises(InstanceError, match=lacks):
        dlsched.verify("lyra-fig5", {"returned": ["1", "2"]})
    whole = {"dlsched": 1, "problem": "reclaiming", "return": ["1", "2"]}
    with pytest.raises(InstanceError, match='returned: is missing; add it, or rename "return"'):
        dlsched.verify("lyra-fig5", whole)
    more = {**whole, "returned": ["1", "2"]}
    with pytest.raises(InstanceError, match=r"return: is an unknown field; .*mean 'returned'"):
        dlsched.verify("lyra-fig5", more)
