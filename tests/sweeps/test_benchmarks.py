"""Programs of the benchmarks: the demo and README's copy of it, files of figures, and peers."""

import importlib
import re
import tomllib
from collections import Counter
from pathlib import Path
from types import ModuleType
from typing import Any

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


@pytest.fixture
def measure(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModuleType:
    """Give the module, with a page of two sections, which writes into a temporary folder."""
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    measure, tables = map(importlib.import_module, ("measure", "tables"))
    for name in ("ROWS", "SPECS", "FIGURES"):
        monkeypatch.setattr(tables, name, tmp_path)
    monkeypatch.setattr(measure, "ROWS", tmp_path)
    (tmp_path / "drawn.toml").write_text(PAGE)
    tables.spec.cache_clear()
    return measure


PAGE = """
[[sections]]
name = "methods"
[[sections.tables]]
heading = "## Methods"
rows = ["method"]
columns = { "mean, s" = { of = "s", format = ".1f" }, "s" = { statistic = "spread" } }

[[sections]]
name = "load-1.3"
[[sections.tables]]
heading = "## Loads"
"""
STAMP = {"commit": "1", "machine": "this one", "seconds": 1.0, "modules": "[]", "digest": "0"}


def test_sections_that_are_not_measured_are_kept(measure: ModuleType, tmp_path: Path) -> None:
    """A section takes the place of its earlier rows alone; a table has statistics of the seeds."""
    for seconds in (7.0, 1.0):
        rows = [{"method": "a", "seed": seed, "s": seed + seconds} for seed in range(3)]
        measure.store("drawn", "methods", measure.long("methods", rows).assign(**STAMP))
        other = measure.long("load-1.3", [{"load": 1.3, "ended": "all"}])
        measure.store("drawn", "load-1.3", other.assign(**STAMP))
    measure.write("drawn")
    text = (tmp_path / "drawn.md").read_text()
    assert "| a | 2.0 | 2 (1 to 3) |" in text and "| 1.3 | all |" in text
    assert "this one" in text and text.index("Methods") < text.index("Loads")


def test_stale_sections_are_measured_shortest_first(measure: ModuleType, tmp_path: Path) -> None:
    """What took long or is not known comes last; a part has its pages only, kept ones none."""
    rows = measure.long("load-1.3", [{"load": 1.3}])
    measure.store("drawn", "load-1.3", rows.assign(**STAMP))
    (tmp_path / "history.toml").write_text('kept = "Kept as history."\n' + PAGE)
    for page in ("drawn", "history"):
        measure.write(page)
    assert measure.old("1/2") == [("drawn", "load-1.3"), ("drawn", "methods")]
    assert measure.old("2/2") == []


def test_code_of_the_same_digest(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """New docstrings, comments or imports leave rows current; other code does not."""
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    code = importlib.import_module("code_version")
    monkeypatch.setattr(code, "ROOT", tmp_path)
    texts = ('"""A."""\nimport x\nn = 1\n', '"""B."""\nimport y\nn = 1  # one\n', "n = 2\n")
    for i, text in enumerate(texts):
        (tmp_path / f"{i}.py").write_text(text)
    first, same, other, gone = (code.statements(f"{i}.py") for i in range(4))
    assert first == same and len({first, other, gone}) == 3


SMALL: dict[str, dict[str, Any]] = {
    "reclaiming": {"servers": 14, "demand": 4, "spread": 0.9},
    "elastic": {"jobs": 6, "capacity": 14},
    "interleaving": {"jobs": 8, "resources": 3},
    "utility": {"jobs": 3, "slots": 6, "gpus": 4},
    "sensitivity": {"servers": 1, "gpus": 4, "memory": 250},
    "dispatch": {"regions": 2, "clusters": 1, "machines": 4, "pending": 4},
    "workers": {"training": 3, "loan": 3, "jobs": 8, "admitted": False, "loan_used": 0.4},
}


def peer(name: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a peer by ``module:function``."""
    monkeypatch.syspath_prepend(ROOT)
    module, _, function = name.partition(":")
    return getattr(importlib.import_module(f"benchmarks.peers.{module}"), function)


@pytest.mark.parametrize("name", ["solvers:scipy_milp", "solvers:scip", "cp_sat:cp_sat"])
@pytest.mark.parametrize("problem", SMALL)
def test_solvers_agree(problem: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each solver proves the optimum that the exact method proves, in every level."""
    pytest.importorskip("ortools" if "cp_sat" in name else "pyscipopt", reason="an optional extra")
    function = peer(name, monkeypatch)
    instance = dlsched.generate(problem, 1, **SMALL[problem])
    best, found = dlsched.solve(instance), dlsched.solve(instance, function)
    assert found.status == best.status == "optimal"
    for mine, theirs in zip(best.objective, found.objective, strict=True):
        assert float(mine) == pytest.approx(float(theirs), rel=1e-6)


def test_networkx_agrees(monkeypatch: pytest.MonkeyPatch) -> None:
    """The dense matching has the weight that the certified sparse one has; triples are refused."""
    function = peer("special:networkx_matching", monkeypatch)
    pairs = dlsched.generate("interleaving", 1, jobs=20, resources=2)
    best, found = dlsched.solve(pairs), dlsched.solve(pairs, function)
    assert float(found.objective.efficiency) == pytest.approx(float(best.objective.efficiency))
    with pytest.raises(dlsched.OptionError, match="pairs only"):
        dlsched.solve(dlsched.generate("interleaving", 1, jobs=6, resources=3), function)
