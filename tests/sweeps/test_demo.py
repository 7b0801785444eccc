"""The demo: what it runs, what it says, and README's copy of its output."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from pathlib import Path
from types import ModuleType

import pytest

import dlsched
from dlsched.sweeps import read_suite
from sweeps import planned, rows

ROOT = Path(__file__).parents[2]
SUITES = ROOT / "benchmarks" / "suites"
TWO = '[[instances]]\nnames = ["lyra-fig5", "muri-fig4"]\n'


@pytest.fixture
def demo(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Give the program as a module."""
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    monkeypatch.setenv("COLUMNS", "80")
    import demo

    return demo


def test_suites_of_the_repository_are_read() -> None:
    """Each names instances, methods and policies that there are; one includes most of them."""
    whole = SUITES / "all.toml"
    suites = {*SUITES.glob("*.toml")} - {whole, SUITES / "library.toml"}  # another test reads it
    assert {SUITES / name for name in tomllib.loads(whole.read_text())["include"]} > {
        path for path in suites if "study" not in path.name
    }
    for path in sorted(suites):
        assert planned(path)


def test_runs_of_the_demo(demo: ModuleType) -> None:
    """It has every paper's examples, and of each problem the exact method and three others."""
    runs = planned(SUITES / "demo.toml")
    names = {run.instance for run in runs}
    for name in set(dlsched.list_problems()) - {"shares"}:  # which has no heuristic
        # Most rules for elastic refuse an instance with two kinds of GPU.
        assert {example.name for example in demo.examples(name)} <= names | {"lyra-fig6-loan"}
        methods = {run.method for run in runs if run.problem == name}
        assert "exact" in methods and len(methods) >= 4
    assert len(runs) < 250


@pytest.mark.slow
def test_every_shipped_instance_is_in_a_suite() -> None:
    """The suite `library` has what the demo leaves out, apart from the open instances."""
    names = {run.instance for run in planned(SUITES / "library.toml")}
    assert all("-open-" in name for name in set(dlsched.list_instances()) - names)


def test_readme_shows_what_the_demo_says(
    demo: ModuleType, workdir: Path, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """README's copy has the methods and the runs of the suite, and ends as the demo does.

    The demo shows a violation, and the file that it names has it.
    """
    monkeypatch.setattr(demo, "COMMAND", Path(".venv/bin/dlsched"))
    block = re.search(
        r"^```console\n\$ make demo\n(.*?)^```$", (ROOT / "README.md").read_text(), re.M | re.S
    )
    assert block
    lines = block[1].splitlines()
    assert max(map(len, lines)) <= 80
    runs = planned(SUITES / "demo.toml")
    made = Counter(run.method for run in runs if run.problem == "reclaiming")
    for method, count in made.items():
        assert any(re.match(rf"  {method} +\d+ of {count} ", line) for line in lines)
    assert f"{len(runs)} runs in " in block[1]
    Path("results/demo").mkdir(parents=True)
    demo.put_wrong_answer(Path("results/demo"))
    demo.put_end([], Path("results/demo"), 0)
    said = capsys.readouterr().out
    assert said.partition("0 runs in")[0] in block[1]
    assert said.partition("Three things")[2] == block[1].partition("Three things")[2]
    assert "too_few_servers" in said and "demand 2 servers, 1 are returned" in said
    report = dlsched.verify("lyra-fig5", Path("results/demo/wrong.json"))
    assert [v.kind for v in report.violations] == ["too_few_servers"]


@pytest.mark.slow
def test_whole_demo(demo: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With two instances it runs, and leaves results, a report, pictures and a wrong solution."""
    short = re.sub(r"^names = \[.*?^\]", "", (SUITES / "demo.toml").read_text(), flags=re.M | re.S)
    short = short.replace("[[instances]]", "").replace("[[methods]]", TWO + "[[methods]]", 1)
    (tmp_path / "short.toml").write_text(short)
    monkeypatch.setattr(demo, "read_suite", lambda path: read_suite(tmp_path / "short.toml"))
    assert demo.main(tmp_path / "out") == 0
    assert {row["status"] for row in rows(tmp_path / "out")} == {"optimal", "feasible"}
    files = ["report/index.html", "pictures/lyra-fig5.png", "pictures/muri-fig4.png", "wrong.json"]
    assert all((tmp_path / "out" / file).is_file() for file in files)
