"""Suites: what a file means, and what is refused before anything runs."""

import ast
import importlib
from functools import partial
from pathlib import Path

import pytest

import dlsched
from calls import refusal, suite_text
from dlsched.sweeps import read_suite
from refused_calls import reports
from sweeps import keys_of, planned

SUITE = suite_text(
    ['files = "made/*.json"',
     'generate = "reclaiming"; seeds = [1, 2]; grid = { servers = [5, 6], demand = [1] }'],
    "exact", "random; seeds = [0, 7]", "milp; options = { levels = 1 }", time_limit=30,
)  # fmt: skip

BENCH = ["bench", "suite.toml", "-o", "out"]
MINIMAL = 'name = "x"\n[[instances]]\nfiles = "made/*.json"\n[[methods]]\nname = "exact"\n'


@pytest.fixture
def folder(workdir: Path) -> Path:
    """Give a working directory with a suite and two instances."""
    (workdir / "suite.toml").write_text(SUITE)
    (workdir / "made").mkdir()
    for seed in (1, 2):
        made = dlsched.generate("reclaiming", seed=seed, servers=4)
        dlsched.save(made, workdir / "made" / f"{seed}.json")
    return workdir


def test_suite_is_expanded(folder: Path) -> None:
    """Files come sorted, a grid in all combinations with every seed, each under its own name."""
    kinds = ("servers=4", "servers=5-demand=1", "servers=6-demand=1")
    names = [f"reclaiming-{kind}-{seed}" for kind in kinds for seed in (1, 2)]
    methods = [("exact", 0, {}), ("random", 0, {}), ("random", 7, {}), ("milp", 0, {"levels": 1})]
    assert [(run.instance, run.method, run.seed, run.options) for run in planned()] == [
        (name, *method) for name in names for method in methods
    ]


def test_limits_and_repetitions(folder: Path) -> None:
    """Each repetition is a run of its own; the wall limit is four times the time limit, or 1 h."""

    def keys_with(limits: str) -> list[str]:
        Path("suite.toml").write_text(limits + MINIMAL)
        return keys_of()

    assert [run.repetition for run in planned()] == [0] * 24
    assert len(set(keys_with("repetitions = 3\n"))) == 6
    assert [run.repetition for run in planned()] == [0, 1, 2, 0, 1, 2]
    assert keys_with("") == keys_with("wall_limit = 3600\n") != keys_with("wall_limit = 3601\n")
    thirty = "time_limit = 30\n"
    assert keys_with(thirty) == keys_with(f"{thirty}wall_limit = 120\n") != keys_with("")
    assert keys_with("threads = 2\n") != keys_with("")


def test_ranges_of_seeds(folder: Path) -> None:
    """A range has its ends, alone or among numbers, of instances and of methods."""
    for ranges, seeds in (('"3-5"', [3, 4, 5]), ('[7, "0-1"]', [7, 0, 1])):
        entry = f'generate = "reclaiming"; seeds = {ranges}; grid = {{ servers = [4] }}'
        Path("suite.toml").write_text(suite_text(entry, f"random; seeds = {ranges}"))
        assert [run.seed for run in planned()] == seeds * len(seeds)
    for bad in ('"5-"', '"a-b"', "[-1]"):
        Path("suite.toml").write_text(suite_text(entry, f"random; seeds = {bad}"))
        assert "methods[0].seeds" in refusal(*BENCH)


def test_included_suites_run_once(folder: Path) -> None:
    """A suite has its own runs and those of the ones it includes; what two share comes once."""
    shared = MINIMAL.replace('"exact"', '"lyra"')
    Path("a.toml").write_text(shared)
    Path("b.toml").write_text(shared + '[[methods]]\nname = "scf"\n')
    Path("all.toml").write_text('name = "all"\ninclude = ["a.toml", "b.toml"]\n')
    assert [(run.instance, run.method) for run in planned("all.toml")] == [
        (f"reclaiming-servers=4-{seed}", method) for method in ("lyra", "scf") for seed in (1, 2)
    ]


NAME = 'name = "x"\n'
ONE = f'{NAME}[[simulation]]\npolicies = ["fifo"]\ntrace = "sample-philly"\nlimit = 4\n'
GOOD = {"methods": MINIMAL, "simulation": ONE, "whole": ""}
"""Suites of which refused.txt replaces a piece."""
REFUSED = reports(Path(__file__).with_name("refused.txt"))


def test_many_runs_for_who_asks(folder: Path) -> None:
    """Runs are counted as they are listed, with included suites, each of which is read once."""
    Path("a0.toml").write_text(f'{NAME}include = ["suite.toml"]\n')
    for k in range(40):  # 2^40 paths lead to the last one
        Path(f"b{k}.toml").write_text(f'{NAME}include = ["a{k}.toml"]\n')
        Path(f"a{k + 1}.toml").write_text(f'{NAME}include = ["a{k}.toml", "b{k}.toml"]\n')
    assert keys_of("a40.toml") == keys_of()
    Path("more.toml").write_text(MINIMAL.replace(NAME, f"{NAME}repetitions = 499_990\n"))
    Path("both.toml").write_text(f'{NAME}include = ["a40.toml", "more.toml"]\n')
    said = refusal("bench", "both.toml", "-o", "out")
    assert "1,000,004 runs, more than 1,000,000" in said and "--many-runs" in said
    read = read_suite("both.toml", many_runs=True)
    assert len(read.instance_specs) == 0 and read.name == "x"


OWN = "def {}(instance, rng, {}):\n    return {{'returned': []}}\n"


@pytest.mark.parametrize("change", REFUSED)
def test_bad_suite(folder: Path, change: str) -> None:
    """A bad suite is one error with file, field and remedy, and nothing is written or run."""
    name, pieces = change.split(": ", 1)
    old, new = map(ast.literal_eval, pieces.split(" -> "))
    assert old in GOOD[name]
    Path("bad.json").write_text("{}")
    text = GOOD[name].replace(old, new, 1).replace("TWENTY", str(list(range(1, 21))))
    Path("suite.toml").write_text(text)
    (expected,) = REFUSED[change]
    said = refusal(*BENCH).strip().removeprefix("error: ")
    assert said == expected or (expected.endswith("...") and said.startswith(expected[:-3]))
    assert not Path("out").exists()


def test_options_of_own_methods(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An option named like a keyword of solve is the same error wherever the method is named.

    A method with ``**options`` takes any option but these, in a suite too.
    """
    Path("mine_own.py").write_text(OWN.format("f", "seed=0") + OWN.format("g", "**options"))
    text = "f has an option 'seed', which is a keyword of dlsched.solve"
    Path("suite.toml").write_text(MINIMAL.replace("exact", "mine_own:f"))
    instance = ["made/1.json", "-m", "mine_own:f"]
    for command in (["compare", *instance], ["solve", *instance], BENCH):
        assert text in refusal(*command)
    monkeypatch.syspath_prepend(str(folder))
    shadows = importlib.import_module("mine_own").f
    for call in (partial(dlsched.solve, "made/1.json"), dlsched.method("reclaiming", kind="exact")):
        with pytest.raises(dlsched.OptionError, match=text):
            call(shadows)
    own = MINIMAL.replace("exact", "mine_own:g")
    Path("suite.toml").write_text(f"{own}options = {{ depth = 1 }}\n")
    assert planned()[0].options == {"depth": 1}
    Path("suite.toml").write_text(f"{own}options = {{ gap = 1 }}\n")
    assert "options.gap: is no option" in refusal(*BENCH)


def test_names_that_are_gone() -> None:
    """They say what to use instead."""
    with pytest.raises(ImportError, match=r"is gone; use run_suite\(shard='k/n'\)"):
        importlib.import_module(".Shards", "dlsched.sweeps")
    with pytest.raises(AttributeError, match=r"is gone; use dlsched\.sweeps\.status"):
        _ = importlib.import_module("dlsched.sweeps").sweep_state
