"""What is shown of documents, results and reports: ``repr``, summary, and HTML in a notebook."""

import base64
import copy
import dataclasses
import pickle
import re
from fractions import Fraction
from html.parser import HTMLParser
from typing import Any

import pytest

import dlsched
from calls import python
from dlsched import Bound, InstanceError, Report, Status, Termination, Violation, library
from dlsched.records import read_trace
from dlsched.registry import Kind
from dlsched.results.objective import ByLevel, Level
from dlsched.results.result import Limits, Result, Seconds, Start
from dlsched.schema import Solution
from dlsched.simulation import Cluster, Workload, simulate, snapshot

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
    """Trace, workload, cluster, state, snapshot, simulation and proof fit ten lines."""
    trace = read_trace("synthetic-1")
    shot, proof = snapshot(trace, "2d"), dlsched.prove("lyra-fig5")
    workload, cluster = Workload.from_trace(trace, limit=50), Cluster.uniform(200, 8)
    run = simulate(workload, cluster, "fifo")
    shown = [trace, workload, cluster, shot, shot.state, run, proof]
    for thing in [*shown, *proof.levels, *trace.jobs[:3], run.log]:
        assert len(repr(thing)) <= 1200 and repr(thing).count("\n") < 10
    assert repr(shot).startswith("<snapshot of 'synthetic-1' at 2d: 64 servers of 8 GPUs, ")
    assert repr(proof) == (
        "<proof for reclaiming instance 'lyra-fig5': preempted=1, collateral=0; 2 leaves>"
    )


def test_levels_that_say_nothing_are_counted() -> None:
    """Of dispatch's sixteen those are shown that are not 0, also of a report."""
    instance = dlsched.generate("dispatch", seed=1, pending=6)
    tenants = [tenant.model_copy(update={"priority": 7}) for tenant in instance.tenants]
    instance = instance.model_copy(update={"tenants": tuple(tenants), "running": ()})
    best, mast = dlsched.solve(instance), dlsched.solve(instance, "mast")
    gpus, machines = f"{float(best.objective.started_7):g}", best.objective.spread
    assert repr(best).splitlines()[1:] == [
        "  levels that are 0 at a bound of 0: 14",
        f"  started_7: {gpus} GPUs, bound {gpus} (certified), gap 0 %",
        f"  spread: {machines} machines and racks, bound {machines} (claimed), gap 0 %>",
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


ELEMENTS = {"pre", "img"}


class Tags(HTMLParser):
    """The elements of a page; whether they are nested properly; the text between them."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()
        self.text = ""

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        """Take note of an element; no attribute may be a script."""
        self.seen.add(tag)
        assert not any(name.startswith("on") for name, _ in attrs), attrs
        if tag != "img":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        """Check that it is the innermost one that ends."""
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        """Collect the text."""
        self.text += f"{data}\n"


def read(shown: Any) -> Tags:
    """Return the elements of an object's HTML, which must be well-formed and without scripts."""
    tags = Tags()
    tags.feed(shown._repr_html_())
    tags.close()
    assert tags.open == [] and tags.seen <= ELEMENTS
    return tags


@pytest.mark.parametrize("name", dlsched.list_problems())
def test_instances_of_all_problems(name: str) -> None:
    """An instance shows its lists, its objective by level, and a picture."""
    instance = dlsched.load(f"{name}-small-01")
    tags = read(instance)
    assert instance.name in tags.text and "img" in tags.seen
    assert repr(instance) in tags.text


def test_what_else_is_shown() -> None:
    """A trace, workload, cluster and simulation show what they hold, a line for each list."""
    trace = read_trace("synthetic-1")
    workload = Workload.from_trace(trace, limit=6)
    cluster = Cluster.of([{"gpus": 8, "gpu_type": "<V100>", "count": 3}, {"gpus": 4}])
    ran = simulate(workload, cluster, "fifo")
    makespan = f"makespan: {ran.summary['makespan'] / 3600:,.2f} h"
    for shown, words in (
        (trace, ("trace synthetic-1", "jobs: 1,500", "read_trace('synthetic-1')")),
        (workload, ("workload synthetic-1", "jobs: 6")),
        (cluster, ("cluster 28 GPUs", "servers: 4", "GPUs by type: 24 <V100>, 4 of no type")),
        (ran, ("simulation fifo", "6 of 6 jobs are complete", "mean_jct: ", makespan)),
    ):
        text = read(shown).text
        assert all(f"\n{word}" in f"\n{text}" for word in words), (text, words)


def test_html_of_a_result(fig5: dlsched.Result) -> None:
    """A result shows its summary and a picture, a solution its text; what is small has no HTML."""
    tags = read(fig5)
    assert fig5.summary() in tags.text and "img" in tags.seen
    assert "of 'lyra-fig5' by 'milp'" in read(fig5.solution).text
    report = dlsched.verify("lyra-fig5", fig5)
    assert report._repr_html_() is None and not hasattr(fig5.bound, "_repr_html_")


NASTY = "<b onclick='x()'>&amp;\" onload=\"x()\x1b[31m\n</td><script>alert(1)</script>"


@pytest.mark.filterwarnings("ignore:Glyph")
def test_names_are_escaped() -> None:
    """Ids, names, sources and options are text, whatever they contain, in lines and pictures."""
    job = {"id": NASTY, "kind": "ml", "tables": [NASTY], "gpu_hours": {NASTY: 1}}
    data: dict[str, Any] = {"dlsched": 1, "problem": "placement", "jobs": [job]}
    data |= dict.fromkeys(("name", "source", "notes"), NASTY)
    data |= {
        "regions": [{"id": NASTY, "storage_capacity": 9}],
        "tables": [{"id": NASTY, "size": 1}],
    }
    instance = dlsched.load(data)
    result = dlsched.solve(instance, "hill_climbing")
    for shown in (instance, result, result.solution):
        tags = read(shown)
        assert "img" in tags.seen
        assert "<b onclick=" in tags.text and ">&amp;" in tags.text
        assert "\x1b" not in shown._repr_html_()


def svg(shown: Any) -> str:
    """Return the picture in an object's HTML."""
    (data,) = re.findall(r'src="data:image/svg\+xml;base64,([^"]*)"', shown._repr_html_())
    return base64.b64decode(data).decode()


def test_picture_is_the_same_each_time(fig5: dlsched.Result) -> None:
    """A picture is an SVG without scripts, equal for equal objects, and leaves no figure open."""
    plt = pytest.importorskip("matplotlib.pyplot")
    before = plt.get_fignums()
    first = svg(fig5)
    assert first == svg(fig5) and first != svg(dlsched.load("lyra-fig5"))
    assert "<svg" in first and "<script" not in first
    assert plt.get_fignums() == before


def test_there_may_be_no_picture() -> None:
    """Of a large instance, or of a solution whose instance is not known, the text is shown."""
    solution = dlsched.load_solution(library.solution_file("lyra-fig5"))
    for shown in (dlsched.generate("elastic", jobs=5001), solution):
        tags = read(shown)
        assert tags.seen == {"pre"}


def test_no_picture_without_matplotlib() -> None:
    """Where matplotlib is missing, the text is shown, and nothing is said."""
    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "import dlsched\n"
        "html = dlsched.load('lyra-fig5')._repr_html_()\n"
        "assert '<pre' in html and '<img' not in html"
    )
    ran = python(code)
    assert (ran.stdout, ran.stderr) == ("", "")


def test_colours_are_the_page_s(fig5: dlsched.Result) -> None:
    """Text has no colour and no background of its own, so that dark pages stay legible."""
    shown = re.sub(r'src="[^"]*"', "", fig5._repr_html_())
    styles = re.findall(r"(?:^|[;\"])\s*((?:background-)?color|background):([^;\"]+)", shown)
    assert set(styles) == {("color", "inherit"), ("background", "none")}
