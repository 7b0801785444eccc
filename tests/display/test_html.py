"""What a notebook shows of instances, solutions, results, reports and bounds."""

from __future__ import annotations

import base64
import re
from html.parser import HTMLParser
from typing import Any

import pytest

import dlsched
from calls import python
from dlsched import library
from dlsched.records import read_trace, snapshot
from dlsched.simulation import Cluster, Workload, simulate

ELEMENTS = {"div", "p", "b", "code", "table", "tr", "td", "th", "img"}


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


@pytest.fixture(scope="module")
def fig5() -> dlsched.Result:
    """Return the solved instance of Lyra's Figure 5."""
    return dlsched.solve("lyra-fig5", "milp")


@pytest.mark.parametrize("name", dlsched.list_problems())
def test_instances_of_all_problems(name: str) -> None:
    """An instance shows its lists, its objective by level, and a picture."""
    instance = dlsched.load(f"{name}-small-01")
    tags = read(instance)
    assert instance.name in tags.text and "img" in tags.seen
    parts = {name for name, frame in instance.to_frames().items() if len(frame) and "_" not in name}
    assert all(f"\n{part}\n" in tags.text for part in parts - {"instance", "utility", "weights"})
    assert "minimize" in tags.text or "maximize" in tags.text


def test_what_else_is_shown() -> None:
    """A trace, workload, cluster, simulation, snapshot and proof show what they hold, in rows."""
    trace = read_trace("synthetic-1")
    workload = Workload.from_trace(trace, limit=6)
    cluster = Cluster.of([{"gpus": 8, "gpu_type": "<V100>", "count": 3}, {"gpus": 4}])
    ran = simulate(workload, cluster, "fifo")
    makespan = f"{ran.summary['makespan'] / 3600:,.2f}\nh"
    shot = snapshot(trace.model_copy(update={"name": "<b>"}), "2d")
    proved = (
        "reclaiming proof",
        "lyra-fig5",
        "preempted\n1\ncertified",
        "collateral\n0\ncertified",
    )
    for shown, words in (
        (trace, ("trace", "synthetic-1", "1,500", "read_trace('synthetic-1')")),
        (workload, ("workload", "synthetic-1", "jobs", "6")),
        (cluster, ("cluster", "28 GPUs", "servers", "GPUs by type: 24 <V100>, 4 of no type")),
        (ran, ("simulation", "fifo", "6 of 6 jobs are complete", "mean_jct", makespan)),
        (shot, ("GPUs free", "<b>")),
        (dlsched.prove("lyra-fig5"), proved),
    ):
        text = read(shown).text
        assert all(f"{word}\n" in text for word in words), (text, words)


def test_result(fig5: dlsched.Result) -> None:
    """A result shows status, bounds, times and a picture; all other objects have HTML, too."""
    tags = read(fig5)
    for word in ("optimal", "preempted (min)", "certified: dual vector of the LP", "seed 0"):
        assert word in tags.text
    assert "img" in tags.seen and "next:" not in tags.text
    wrong = dlsched.verify("lyra-fig5", {**fig5.solution.to_data(), "returned": ["1"]})
    for shown in (wrong, wrong.violations[0]):
        assert "too_few_servers" in read(shown).text
    assert "gpus returned" in read(dlsched.verify("lyra-fig5", fig5)).text
    assert "certified" in read(fig5.bound).text and "certified" in read(fig5.bound[0]).text
    assert "collateral" in read(fig5.gap).text and "collateral" in read(fig5.objective).text
    assert "of lyra-fig5 by milp" in read(fig5.solution).text
    stopped = dlsched.solve("reclaiming-520-130", "lp", time_limit=1e-3)
    assert "next:" in read(stopped).text and "no solution" in read(stopped).text


NASTY = "<b onclick='x()'>&amp;\" onload=\"x()\x1b[31m\n</td><script>alert(1)</script>"


@pytest.mark.filterwarnings("ignore:Glyph")
def test_names_are_escaped() -> None:
    """Ids, names, sources and options are text, whatever they contain, in tables and pictures."""
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
        assert "<b onclick='x()'>&amp;" in tags.text and "\x1b" not in shown._repr_html_()
    solution = dlsched.load_solution(library.solution_file("lyra-fig5")).to_data()
    report = dlsched.verify("lyra-fig5", solution | {"returned": [NASTY]})
    assert "<script>alert(1)</script>" in read(report).text


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
    """Of a large instance, or of a solution whose instance is not known, the tables are shown."""
    solution = dlsched.load_solution(library.solution_file("lyra-fig5"))
    for shown in (dlsched.generate("elastic", jobs=5001), solution):
        tags = read(shown)
        assert "table" in tags.seen and "img" not in tags.seen


def test_no_picture_without_matplotlib() -> None:
    """Where matplotlib is missing, tables are shown, and nothing is said."""
    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "import dlsched\n"
        "html = dlsched.load('lyra-fig5')._repr_html_()\n"
        "assert '<table' in html and '<img' not in html"
    )
    ran = python(code)
    assert (ran.stdout, ran.stderr) == ("", "")


def test_colours_are_the_page_s(fig5: dlsched.Result) -> None:
    """Tables set no colour for text and no background, so that dark pages stay legible."""
    shown = re.sub(r'src="[^"]*"', "", fig5._repr_html_())
    styles = re.findall(r"(?:^|[;\"])\s*((?:background-)?color|background):([^;\"]+)", shown)
    assert set(styles) == {("color", "inherit"), ("background", "none")}
