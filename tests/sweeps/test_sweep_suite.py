"""Suites: what a file means, and what is refused before anything runs."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

import dlsched
from calls import refusal, run, suite_text
from dlsched.sweeps import read_suite
from dlsched.sweeps import suite as suites
from dlsched.sweeps.task import Limits

SUITE = suite_text(
    ['files = "made/*.json"',
     'generate = "reclaiming"; seeds = [1, 2]; grid = { servers = [5, 6], demand = [1] }'],
    "exact", "random; seeds = [0, 7]", "milp; options = { levels = 1 }", time_limit=30,
)  # fmt: skip

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
    suite = read_suite("suite.toml")
    names = [spec.make().name for spec in suite.instance_specs]
    assert names == [
        "reclaiming-servers=4-1",
        "reclaiming-servers=4-2",
        "reclaiming-servers=5-demand=1-1",
        "reclaiming-servers=5-demand=1-2",
        "reclaiming-servers=6-demand=1-1",
        "reclaiming-servers=6-demand=1-2",
    ]
    assert names == [spec.name for spec in suite.instance_specs]
    assert len(suite.tasks()) == 6 * 4
    assert suite.limits == Limits(time_limit=30.0, wall_limit=120.0)


def test_limits_and_repetitions(folder: Path) -> None:
    """Limits are as written; each repetition is a run of its own; no time limit is an hour."""
    limits = "wall_limit = 5\nmemory_limit_gib = 1.5\nrepetitions = 3\ngap = 0.01\nthreads = 2\n"
    Path("suite.toml").write_text(limits + MINIMAL)
    suite = read_suite("suite.toml")
    assert suite.limits == Limits(None, 5.0, 1.5, 0.01, 2)
    assert [task.repetition for task in suite.tasks()] == [0, 1, 2, 0, 1, 2]
    Path("suite.toml").write_text(MINIMAL)
    assert read_suite("suite.toml").limits.wall_limit == 3600


def test_included_suites_run_once(folder: Path) -> None:
    """A suite has its own runs and those of the ones it includes; what two share comes once."""
    shared = MINIMAL.replace('"exact"', '"lyra"')
    Path("a.toml").write_text(shared)
    Path("b.toml").write_text(shared + '[[methods]]\nname = "scf"\n')
    Path("all.toml").write_text('name = "all"\ninclude = ["a.toml", "b.toml"]\n')
    tasks = read_suite("all.toml").tasks()
    assert [(t.instance.name, t.method) for t in tasks] == [
        ("reclaiming-servers=4-1", "lyra"),
        ("reclaiming-servers=4-2", "lyra"),
        ("reclaiming-servers=4-1", "scf"),
        ("reclaiming-servers=4-2", "scf"),
    ]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('"lyra"', '"scf"'),
        ("seeds = [1]", "seeds = [2]"),
        ("time_limit = 9", "time_limit = 8"),
        ("wall_limit = 50", "wall_limit = 60"),
        ("memory_limit_gib = 1", "memory_limit_gib = 2"),
        ("gap = 0.1", "gap = 0.2"),
        ("made/1.json", "made/2.json"),
    ],
)
def test_key_tells_what_changed(before: str, after: str, folder: Path) -> None:
    """A run's key is that of the same run, and of no other."""
    limits = {"time_limit": 9, "wall_limit": 50, "memory_limit_gib": 1, "gap": 0.1}
    text = suite_text('files = "made/1.json"', "lyra; seeds = [1]", **limits)
    keys = []
    for each in (text, text, text.replace(before, after)):
        Path("suite.toml").write_text(each)
        keys.append(read_suite("suite.toml").tasks()[0].key)
    assert keys[0] == keys[1] != keys[2]


# name: (the suite's text, the field that the error names, what it says of it)
NAME = 'name = "x"\n'
FILES = 'files = "made/*.json"'
UNKNOWN = 'generate = "reclaiming"\ngrid = {server = [1]}'
EXACT = '"exact"'
TWENTY = list(range(1, 21))
GRID = ", ".join(f"{n} = {TWENTY}" for n in ("servers", "demand", "gpus", "jobs", "scattered"))
# name: (what is replaced in MINIMAL, by what, the field that the error names, what it says of it)
BAD_SUITES: dict[str, tuple[str, str, str, str]] = {
    "not TOML": (MINIMAL, "name = ", "", "is not TOML"),
    "no name": (NAME, "", "name", "is missing"),
    "unknown field": (NAME, f'{NAME}color = "red"\n', "color", "is an unknown field"),
    "no instances": (f"[[instances]]\n{FILES}\n", "", "instances", "is missing"),
    "instances as a table": ("[[instances]]", "[instances]", "instances", "is not a list"),
    "two kinds": (
        FILES,
        f'{FILES}\ngenerate = "reclaiming"',
        "instances[0]",
        "must have one of names, files, generate",
    ),
    "only a grid": (FILES, f"{FILES}\nseeds = [1]", "instances[0]", "without a generator"),
    "nothing matches": ("made/", "make/", "instances[0].files", "nothing matches"),
    "unknown name": (FILES, 'names = ["nope"]', "instances[0].names.0", "no instance is called"),
    "unknown problem": (FILES, 'generate = "nope"', "instances[0].generate", "is no problem"),
    "unknown parameter": (
        FILES,
        UNKNOWN,
        "instances[0].grid.server",
        "is no parameter of the generator",
    ),
    "unknown method": (EXACT, '"exat"', "methods[0].name", "did you mean"),
    "unknown option": (
        EXACT,
        f"{EXACT}\noptions = {{ depth = 1 }}",
        "methods[0].options.depth",
        "is no option of it; it has: levels",
    ),
    "negative seed": (EXACT, f"{EXACT}\nseeds = [-1]", "methods[0].seeds[0]", "is too small"),
    "infinite limit": (NAME, f"{NAME}time_limit = inf\n", "time_limit", "is not a finite number"),
    "silly gap": (NAME, f"{NAME}gap = 2\n", "", "gap=2.0 must be a fraction from 0 to below 1"),
    "circle": (MINIMAL, f'{NAME}include = ["suite.toml"]', "include", "includes itself"),
    "nothing at all": (MINIMAL, NAME, "instances", "is missing"),
    "included one is bad": (MINIMAL, f'{NAME}include = ["none.toml"]', "", "cannot be read"),
    "no memory": (NAME, f"{NAME}memory_limit_gib = 0\n", "memory_limit_gib", "above 0"),
    "no limit": (NAME, f"{NAME}time_limit = 0\n", "time_limit", "write a number above 0"),
    "large grid": (
        FILES,
        f'generate = "reclaiming"\nseeds = {TWENTY}\ngrid = {{{GRID}}}',
        "instances[0]",
        "64,000,000 runs, more than 1,000,000; split it, or allow more: --many-runs",
    ),
    "many repetitions": (
        NAME,
        f"{NAME}repetitions = {10**12}\n",
        "instances[0]",
        "2,000,000,000,000 runs, more than 1,000,000",
    ),
    "many workloads": (
        MINIMAL,
        f'{NAME}[[simulation]]\ngenerate = "lyra"\npolicies = ["fifo", "srtf"]\nbounds = true\n'
        f"workload_seeds = {TWENTY}\nseeds = {TWENTY}\n"
        f"grid = {{servers = {TWENTY}, days = {TWENTY}, load = {TWENTY}, wrong = [0, 1]}}\n",
        "simulation[0]",
        "13,120,000 runs, more than 1,000,000",
    ),
    "many servers": (
        MINIMAL,
        f'{NAME}[[simulation]]\ntrace = "sample-philly"\npolicies = ["fifo"]\nservers = {10**9}\n',
        "simulation[0].trace",
        "are 1,000,000,000, more than 1,000,000",
    ),
}


@pytest.mark.parametrize("name", BAD_SUITES)
def test_bad_suite(name: str, folder: Path) -> None:
    """A bad suite is one error with file, field and remedy, before anything runs."""
    old, new, path, words = BAD_SUITES[name]
    assert old in MINIMAL
    Path("suite.toml").write_text(MINIMAL.replace(old, new, 1))
    said = refusal("bench", "suite.toml", "-o", "out")
    file = "none.toml" if "none.toml" in new else "suite.toml"
    assert said.startswith(": ".join(filter(None, (f"error: {file}", path, ""))))
    assert words in said and not Path("out").exists()


def test_many_runs_for_who_asks(folder: Path) -> None:
    """Runs are counted as they are listed, with included suites, each of which is read once."""
    Path("suite.toml").write_text(SUITE)
    Path("a0.toml").write_text(f'{NAME}include = ["suite.toml"]\n')
    for k in range(40):  # 2^40 paths lead to the last one
        Path(f"b{k}.toml").write_text(f'{NAME}include = ["a{k}.toml"]\n')
        Path(f"a{k + 1}.toml").write_text(f'{NAME}include = ["a{k}.toml", "b{k}.toml"]\n')
    runs = len(read_suite("a40.toml").tasks())
    assert runs == 6 * 4
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(suites, "MOST_RUNS", runs)
        read_suite("a40.toml")
        patch.setattr(suites, "MOST_RUNS", runs - 1)
        assert f"{runs} runs, more than {runs - 1}" in refusal("bench", "a40.toml", "-o", "out")
        assert len(read_suite("a40.toml", many_runs=True).tasks()) == runs
        command = ["bench", "a40.toml", "-o", "out", "--plan", "--many-runs"]
        assert "24 runs planned" in run(*command).stdout


SHADOWING = """
def shadows(instance, rng, seed=0):
    return {"returned": [s.id for s in instance.servers[: instance.demand]]}

def takes_all(instance, rng, **options):
    return {"returned": [s.id for s in instance.servers[: instance.demand]]}
"""


def test_option_that_shadows_a_keyword(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An option named like a keyword of solve is the same error wherever the method is named."""
    Path("mine_shadow.py").write_text(SHADOWING)
    text = "shadows has an option 'seed', which is a keyword of dlsched.solve"
    Path("suite.toml").write_text(MINIMAL.replace('"exact"', '"mine_shadow:shadows"'))
    for command in ("compare made/1.json -m mine_shadow:shadows", "bench suite.toml -o out",
                    "solve made/1.json -m mine_shadow:shadows"):  # fmt: skip
        assert text in refusal(*command.split())
    monkeypatch.syspath_prepend(str(folder))
    shadows = importlib.import_module("mine_shadow").shadows
    for method in (shadows, "mine_shadow:shadows"):
        with pytest.raises(dlsched.OptionError, match=text):
            dlsched.solve("made/1.json", method)
    with pytest.raises(dlsched.OptionError, match=text):
        dlsched.method("reclaiming", kind="heuristic")(shadows)


def test_variadic_options(folder: Path) -> None:
    """A method with ``**options`` takes any option but the keywords of solve, in a suite too."""
    Path("mine_shadow.py").write_text(SHADOWING)
    own = MINIMAL.replace('"exact"', '"mine_shadow:takes_all"')
    Path("suite.toml").write_text(own + "options = { depth = 1 }\n")
    assert read_suite("suite.toml").tasks()[0].options == {"depth": 1}
    Path("suite.toml").write_text(own + "options = { gap = 1 }\n")
    with pytest.raises(dlsched.InstanceError, match=r"options\.gap: is no option"):
        read_suite("suite.toml")


def test_bad_instance_among_the_files(folder: Path) -> None:
    """A bad file is found before the first run, not half-way."""
    Path("made/3.json").write_text("{}")
    with pytest.raises(dlsched.InstanceError, match=r"made/3\.json: dlsched: is missing"):
        read_suite("suite.toml")
