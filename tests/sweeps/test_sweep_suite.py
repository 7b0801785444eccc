"""Suites: what a file means, and what is refused before anything runs."""

import importlib
from functools import partial
from pathlib import Path

import pytest

import dlsched
from calls import refusal, run, suite_text
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
FILES, EXACT = 'files = "made/*.json"', '"exact"'
DRAWN = 'generate = "reclaiming"'
TWENTY = list(range(1, 21))
GRID = ", ".join(f"{n} = {TWENTY}" for n in ("servers", "demand", "gpus", "jobs", "scattered"))
SIMULATED = (
    f'{NAME}[[simulation]]\ngenerate = "lyra"\npolicies = ["fifo", "srtf"]\nbounds = true\n'
    f"workload_seeds = {TWENTY}\nseeds = {TWENTY}\n"
    f"grid = {{servers = {TWENTY}, days = {TWENTY}, load = {TWENTY}, wrong = [0, 1]}}\n"
)
TRACE = 'trace = "sample-philly"\nlimit = 4'
ONE = f'{NAME}[[simulation]]\npolicies = ["fifo"]\n{TRACE}\n'
# what is replaced in MINIMAL, by what, the field that the error names, what it says of it
BAD_SUITES: list[tuple[str, str, str, str]] = [
    (MINIMAL, "name = ", "", "is not TOML"),
    (NAME, "", "name", "is missing"),
    (NAME, f'{NAME}color = "red"\n', "color", "is an unknown field"),
    ("[[instances]]", "[instances]", "instances", "is not a list"),
    (FILES, f"{FILES}\n{DRAWN}", "instances[0]", "must have one of names, files, generate"),
    (FILES, f"{FILES}\nseeds = [1]", "instances[0]", "without a generator"),
    ("made/", "make/", "instances[0].files", "nothing matches"),
    (FILES, 'names = ["nope"]', "instances[0].names.0", "no instance is called"),
    (FILES, 'generate = "nope"', "instances[0].generate", "is no problem"),
    (FILES, f"{DRAWN}\ngrid = {{server = [1]}}", "instances[0].grid.server", "is no parameter of"),
    (EXACT, '"exat"', "methods[0].name", "did you mean"),
    (EXACT, f"{EXACT}\noptions = {{ depth = 1 }}", "methods[0].options.depth", "it has: levels"),
    (EXACT, f"{EXACT}\nseeds = [-1]", "methods[0].seeds[0]", "is too small"),
    (NAME, f"{NAME}time_limit = inf\n", "time_limit", "is not a finite number"),
    (NAME, f"{NAME}gap = 2\n", "", "gap=2.0 must be a fraction from 0 to below 1"),
    (MINIMAL, f'{NAME}include = ["suite.toml"]', "include", "includes itself"),
    (MINIMAL, NAME, "instances", "is missing"),
    (MINIMAL, f'{NAME}include = ["none.toml"]', "", "cannot be read"),
    (NAME, f"{NAME}memory_limit_gib = 0\n", "memory_limit_gib", "above 0"),
    (NAME, f"{NAME}time_limit = 0\n", "time_limit", "write a number above 0"),
    (FILES, f"{DRAWN}\nseeds = {TWENTY}\ngrid = {{{GRID}}}", "instances[0]",
     "64,000,000 runs, more than 1,000,000; split it, or allow more: --many-runs"),
    (NAME, f"{NAME}repetitions = {10**12}\n", "instances[0]", "2,000,000,000,000 runs, more than"),
    (MINIMAL, SIMULATED, "simulation[0]", "13,120,000 runs, more than 1,000,000"),
    (MINIMAL, f"{ONE}servers = {10**9}\n", "simulation[0].trace", "are 1,000,000,000, more"),
]  # fmt: skip


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
    command = ["bench", "a40.toml", "-o", "out", "--plan", "--many-runs"]
    assert "24 runs planned" in run(*command).stdout


OWN = "def {}(instance, rng, {}):\n    return {{'returned': []}}\n"


FIFO, LIMIT, DRAW = '["fifo"]', "limit = 4", 'generate = "lyra"'
YARN = '[{ policy = "yarn_cs", options = { interval = 0 } }]'
OPTION = '[{{ policy = "{}", options = {{ x = 1 }} }}]'
MURI = 'profiles = "muri"\nprofile_options = { speed = 2 }'
# what is replaced in ONE, by what, the field that the error names, what it says of it
BAD_SIMULATIONS = [
    ('"fifo"', '"fido"', "simulation[0].policies[0].policy", "fifo"),
    (FIFO, "[]", "simulation[0].policies", "empty"),
    (FIFO, OPTION.format("fifo"), "options.x", "no option"),
    (FIFO, OPTION.format("hadar"), "options.x", "no option"),
    (FIFO, '[{ policy = "fifo", method = "exact" }]', "policies[0]", "solves no problem"),
    (FIFO, YARN, "simulation[0].policies[0]", "interval is 0; give seconds above 0"),
    ('"sample-philly"', '"gone.csv"', "simulation[0].trace", "gone.csv"),
    (LIMIT, "seeds = []", "simulation[0].seeds", "is empty"),
    (LIMIT, "limits = 4", "simulation[0].limits", "unknown field"),
    (LIMIT, "limit = 0", "simulation[0].limit", ""),
    (LIMIT, 'profiles = "none"', "simulation[0].profiles", "set of profiles"),
    (LIMIT, MURI, "simulation[0].profile_options", "'speed'; they have: resources"),
    (LIMIT, "profile_options = { x = 2 }", "[0].profile_options", "name the set"),
    (LIMIT, "cpus = 2\nkinds = [{ gpus = 8 }]", "simulation[0].kinds", "beside cpus"),
    (LIMIT, "gpus = 2\nkinds = [{ gpus = 8 }]", "simulation[0].kinds", "beside"),
    (LIMIT, "kinds = [{ gpus = 0 }]", "simulation[0].kinds[0].gpus", ""),
    (LIMIT, DRAW, "simulation[0].trace", "write one of both"),
    (LIMIT, "workload_seeds = [1]", "workload_seeds", "nothing of a trace is drawn"),
    (LIMIT, "grid = { load = [1] }", "grid.load", "for a trace: servers"),
    (LIMIT, "grid = { servers = [0] }", "grid.servers", "no number from 1"),
    (LIMIT, "grid = { servers = [true] }", "grid.servers", "no number from 1"),
    (LIMIT, "wrong = 2", "simulation[0].wrong", "from 0 to 1"),
    (LIMIT, "loans = [{ time = 0, servers = 1 }]", "simulation[0].trace", "loan pool"),
    (LIMIT, "kinds = [{ gpus = 2 }]\ngrid = { gpus = [1] }", "grid", "kinds states"),
    (TRACE, "", "simulation[0].trace", "write one of both"),
    (TRACE, 'generate = "lira"', "generate", "those: hadar, lyra, mast, synergy"),
    (TRACE, f"{DRAW}\nservers = 4", "simulation[0].servers", "stands in parameters"),
    (TRACE, f"{DRAW}\nparameters = {{ lod = 1 }}", "parameters.lod", "no parameter of the"),
    (TRACE, f"{DRAW}\ngrid = {{ load = [] }}", "grid.load", "is empty"),
    (TRACE, f"{DRAW}\ngrid = {{ days = [1] }}\nparameters = {{ days = 1 }}", "grid.days", "too"),
    (TRACE, f"{DRAW}\nworkload_seeds = []", "workload_seeds", "is empty"),
]


BAD = [(MINIMAL, *row) for row in BAD_SUITES] + [(ONE, *row) for row in BAD_SIMULATIONS]
BAD += [(MINIMAL, FILES, f'{FILES}\n[[instances]]\nfiles = "bad.json"', "bad.json", "is missing")]


@pytest.mark.parametrize(("good", "old", "new", "path", "words"), BAD)
def test_bad_suite(folder: Path, good: str, old: str, new: str, path: str, words: str) -> None:
    """A bad suite is one error with file, field and remedy, and nothing is written or run."""
    assert old in good
    Path("bad.json").write_text("{}")
    Path("suite.toml").write_text(good.replace(old, new, 1))
    said = refusal(*BENCH)
    assert path in said and words in said and not Path("out").exists()
    if good == MINIMAL and path != "bad.json":
        file = "none.toml" if "none.toml" in new else "suite.toml"
        assert said.startswith(": ".join(filter(None, (f"error: {file}", path, ""))))


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
