"""Each command: what it says on stdout, in tables and in JSON, and its exit status."""

from __future__ import annotations

import gzip
import inspect
import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

import dlsched
from dlsched.cli import COMMANDS, app, command

# Job a spans two servers, b and c sit on one each: returning s3 preempts one job, the fewest.
SMALL: dict[str, Any] = {
    "dlsched": 1,
    "problem": "reclaiming",
    "name": "small",
    "demand": 1,
    "servers": [{"id": f"s{i}", "gpus": 8} for i in (1, 2, 3)],
    "jobs": [
        {"id": "a", "workers": [{"server": "s1", "gpus": 4}, {"server": "s2", "gpus": 4}]},
        {"id": "b", "workers": [{"server": "s1", "gpus": 2}, {"server": "s2", "gpus": 1}]},
        {"id": "c", "workers": [{"server": "s3", "gpus": 8}]},
    ],
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a working directory with the small instance."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "small.json").write_text(json.dumps(SMALL))
    (tmp_path / "impossible.json").write_text(json.dumps(SMALL | {"demand": 9}))
    return tmp_path


def run(*arguments: str, status: int = 0) -> Result:
    """Run a command and check its exit status."""
    ran = CliRunner().invoke(app, list(arguments))
    assert ran.exit_code == status, ran.output
    return ran


def data(*arguments: str, status: int = 0) -> Any:
    """Run a command with --json and return what it wrote."""
    ran = run(*arguments, "--json", status=status)
    assert ran.stderr == ""
    return json.loads(ran.stdout)


def test_a_wrong_choice_is_one_plain_sentence(folder: Path) -> None:
    """The error names the flag, what was given, and what is possible; no class of an exception."""
    ran = run("plot", "lyra-fig5", "-o", str(folder / "x.png"), "--width", "huge", status=2)
    assert "'--width': 'huge' is not one of 'single', 'double'; see --help" in ran.output


def test_version_and_help() -> None:
    """The version is the package's, and help names every command."""
    assert run("--version").stdout == f"dlsched {dlsched.__version__}\n"
    said = run("--help").stdout
    assert all(name in said for name in COMMANDS)
    assert run().stdout == said


@pytest.mark.parametrize("name", COMMANDS)
def test_the_list_of_commands_has_their_summaries(name: str) -> None:
    """The summary that needs no import is the first line of the command's docstring."""
    assert COMMANDS[name] == inspect.getdoc(command(name)).partition("\n")[0]


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_and_json(name: str) -> None:
    """Every command explains itself and speaks JSON."""
    assert "--json" in run(name, "--help").stdout


def test_list_everything() -> None:
    """Without an argument, list shows problems, instances and methods."""
    found = data("list")
    assert [row["problem"] for row in found["problems"]] == dlsched.list_problems()
    assert [row["instance"] for row in found["instances"]] == dlsched.list_instances()
    names = [row["method"] for row in found["methods"] if row["problem"] == "reclaiming"]
    assert names == list(dlsched.list_methods("reclaiming")["method"])
    assert "lyra" in run("list").stdout


def test_list_one_kind_of_one_problem() -> None:
    """A kind and a problem narrow the list."""
    found = data("list", "methods", "--problem", "reclaiming")
    assert list(found) == ["methods"]
    assert {row["problem"] for row in found["methods"]} == {"reclaiming"}
    assert "did you mean" in run("list", "-p", "reclaimin", status=2).stderr


def test_show_problem() -> None:
    """A problem's page has levels, methods with options, and the generator's parameters."""
    shown = data("show", "reclaiming")
    assert [level["level"] for level in shown["levels"]] == ["preempted", "collateral"]
    milp = next(m for m in shown["methods"] if m["method"] == "milp")
    assert milp["kind"] == "exact" and milp["options"] == {"levels": 2}
    meanings = {row["parameter"]: row["meaning"] for row in shown["generator"]}
    assert meanings["demand"] == "Servers to return; a tenth of them by default."
    assert all(meanings.values())
    assert "a tenth of them by default" in run("show", "reclaiming").stdout


def test_show_instance(folder: Path) -> None:
    """An instance's summary counts its lists and states its digest."""
    shown = data("show", "small.json")
    assert shown["size"] == {"demand": 1, "servers": 3, "jobs": 3}
    assert shown["sha256"] == dlsched.load(SMALL).sha256
    assert shown["sha256"] in run("show", "small.json").stdout


def test_solve_json_is_a_result(folder: Path) -> None:
    """The JSON of solve is what read_result reads."""
    ran = run("solve", "small.json", "--json")
    result = dlsched.read_result(ran.stdout)
    assert result.status == "optimal" and tuple(result.objective or ()) == (1, 0)
    assert ran.stderr == ""


def test_solve_table(folder: Path) -> None:
    """The table has status, objective per level, bound with kind, gap and seconds."""
    said = run("solve", "small.json").stdout
    assert "status    optimal" in said
    row = next(line for line in said.splitlines() if line.lstrip().startswith("preempted"))
    assert row.split()[:4] == ["preempted", "1", "jobs", "1"]
    assert "certified" in row and row.endswith("0 %")
    assert "seconds  " in said and "highs" in said


def test_solve_writes_a_solution_that_verify_accepts(folder: Path) -> None:
    """What solve writes, verify finds feasible and start accepts."""
    run("solve", "small.json", "-m", "lyra", "-o", "deep/small.sol.json.gz")
    assert json.loads(gzip.decompress(Path("deep/small.sol.json.gz").read_bytes()))["returned"]
    report = data("verify", "small.json", "deep/small.sol.json.gz")
    assert report["feasible"] and report["objective"]["preempted"] == {"value": 1}
    started = data("solve", "small.json", "--start", "deep/small.sol.json.gz")
    assert started["start"] is not None


def test_solve_with_an_option(folder: Path) -> None:
    """Options reach the method as numbers, and unknown or unsuitable ones are refused."""
    assert data("solve", "small.json", "--option", "levels=1")["options"] == {"levels": 1}
    assert "it has: levels" in run("solve", "small.json", "--option", "depth=1", status=2).stderr
    for value in ("one", "1.5", "true", "[1]"):
        said = run("solve", "small.json", "--option", f"levels={value}", status=2).stderr
        assert "write a whole number" in said
    assert "write name=value" in run("solve", "small.json", "--option", "levels", status=2).stderr
    assert "from 1 to 2" in run("solve", "small.json", "--option", "levels=3", status=2).stderr


def test_solve_infeasible(folder: Path) -> None:
    """An infeasible instance is answered with why, status 1, and no solution file."""
    ran = run("solve", "impossible.json", "-o", "none.json", status=1)
    assert "demand 9 servers, 3 exist" in ran.stdout
    assert not Path("none.json").exists()
    assert data("solve", "impossible.json", status=1)["status"] == "infeasible"


def test_a_bound_is_an_answer(folder: Path) -> None:
    """A method that gives bounds only has status 0 without a solution."""
    answer = data("solve", "small.json", "-m", "lp")
    assert answer["solution"] is None and answer["bound"]["preempted"]["kind"] == "certified"


def test_own_method(folder: Path) -> None:
    """A function of one's own is a method like any other: its prints go to stderr."""
    Path("mine_first.py").write_text(
        "from dlsched.problems.reclaiming import Solution\n"
        "def first(instance, rng):\n"
        "    print('thinking')\n"
        "    chosen = [s.id for s in instance.servers[:instance.demand]]\n"
        "    return Solution(instance=instance.name, returned=chosen)\n"
        "def lazy(instance, rng):\n"
        "    return Solution(instance=instance.name, returned=[])\n"
        "def broken(instance, rng):\n"
        "    raise RuntimeError('ouch')\n"
    )
    ran = run("solve", "small.json", "-m", "mine_first:first", "--json")
    assert json.loads(ran.stdout)["objective"]["preempted"]["value"] == 2
    assert "thinking" in ran.stderr
    lazy = run("solve", "small.json", "-m", "mine_first:lazy", status=3)
    assert "lazy returned a solution of small with 1 violations" in lazy.stderr
    assert (
        "RuntimeError: ouch"
        in run("solve", "small.json", "-m", "mine_first:broken", status=3).stderr
    )
    ran = run("compare", "small.json", "-m", "exact", "-m", "mine_first:first", "--json")
    assert [row["gap"] for row in json.loads(ran.stdout)] == [0, None]
    assert json.loads(ran.stdout)[1]["gap_to_best"] == 0.5
    assert (
        data("compare", "small.json", "-m", "mine_first:broken", status=1)[0]["status"] == "error"
    )
    run("compare", "small.json", "-m", "mine_first:lazy", status=3)
    assert "cannot get" in run("solve", "small.json", "-m", "mine_first:none", status=2).stderr
    assert "cannot get" in run("solve", "small.json", "-m", "no_such_module:f", status=2).stderr


def test_verify_says_no(folder: Path) -> None:
    """An infeasible solution is listed violation by violation, with status 1."""
    Path("bad.sol.json").write_text(
        json.dumps(
            {"dlsched": 1, "problem": "reclaiming", "instance": "small", "returned": ["s1", "s9"]}
        )
    )
    report = data("verify", "small.json", "bad.sol.json", status=1)
    assert [v["kind"] for v in report["violations"]] == ["unknown_server"]
    assert "returned[1]" in run("verify", "small.json", "bad.sol.json", status=1).stdout


def test_compare(folder: Path) -> None:
    """Methods stand side by side, with gaps to the strongest bound that any of them proved."""
    rows = data("compare", "small.json", "-m", "exact", "-m", "lyra", "-m", "random")
    assert [row["method"] for row in rows] == ["exact", "lyra", "random"]
    assert [row["resolved_method"] for row in rows] == ["milp", "lyra", "random"]
    assert [row["status"] for row in rows] == ["optimal", "feasible", "feasible"]
    said = run("compare", "small.json", "-m", "exact", "-m", "random", "--seed", "3").stdout
    assert "100 %" not in said.splitlines()[3] and "seconds" in said


def test_compare_checks_names_first(folder: Path) -> None:
    """A misspelled method is found before anything is solved."""
    said = run("compare", "small.json", "-m", "exact", "-m", "lira", status=2)
    assert "did you mean 'lyra'" in said.stderr and said.stdout == ""


def test_generate(folder: Path) -> None:
    """The same seed gives the same file; without a target it goes to stdout."""
    arguments = ["generate", "reclaiming", "--seed", "3", "--set", "servers=12"]
    summary = data(*arguments, "-o", "made.json.gz")
    made = dlsched.load("made.json.gz")
    assert summary["sha256"] == made.sha256 == json_instance(run(*arguments).stdout).sha256
    assert len(made.servers) == 12  # type: ignore[attr-defined]
    run(*arguments, "--set", 'sizes={"1": 0.5, "8": 0.5}', "-o", "made.json")


def json_instance(text: str) -> dlsched.Instance:
    """Return the instance of a JSON text."""
    return dlsched.load(json.loads(text))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["reclaimin"], "did you mean 'reclaiming'"),
        (
            ["reclaiming", "--set", "server=1"],
            "generate reclaiming has no 'server'; it has: servers",
        ),
        (["reclaiming", "--set", "servers=many"], "write a whole number"),
        (["reclaiming", "--set", "servers=0"], "at least 1"),
        (["reclaiming", "--set", "servers=3", "--set", "servers=4"], "is set twice"),
        (["reclaiming", "--set", "demand=-1"], "is too small"),
        (["reclaiming", "--set", "sizes={}"], "cannot take sizes={}"),
        (["reclaiming", "--servers", "64"], "write --set servers=64"),
        (["reclaiming", "--at", "3d"], "belong to --trace"),
        (["reclaiming", "--trace", "synthetic-1"], "add --at 3d"),
        (["reclaiming", "--trace", "synthetic-1", "--at", "soon"], "is not a duration"),
        (["reclaiming", "--trace", "none.csv", "--at", "3d"], "no such file"),
        (["reclaiming", "--trace", "synthetic-1", "--at", "3d", "--format", "x"], "trace format"),
        (["reclaiming", "--seed", "-1"], "--seed"),
        (["reclaiming", "-o", "made.txt"], "must end in .json"),
    ],
)
def test_generate_refuses(arguments: list[str], words: str, folder: Path) -> None:
    """What cannot be generated is refused in one line, and nothing is written."""
    ran = run("generate", *arguments, status=2)
    assert words in ran.stderr and ran.stderr.count("\n") == 1
    assert ran.stdout == "" and not Path("made.txt").exists()


def test_generate_from_a_trace(folder: Path) -> None:
    """A trace's moment becomes an instance, and so does a file with columns of its own."""
    arguments = ["--at", "3d", "--servers", "16", "--demand", "2"]
    made = json_instance(run("generate", "reclaiming", "--trace", "synthetic-1", *arguments).stdout)
    assert len(made.servers) == 16 and made.demand == 2  # type: ignore[attr-defined]
    Path("ours.csv").write_text("who,n,when,long\na,8,0,5400\nb,4,1,60\n")
    columns = ["id=who", "gpus=n", "submit=when:min", "duration=long:s"]
    flags = [word for column in columns for word in ("--column", column)]
    text = run("generate", "reclaiming", "--trace", "ours.csv", "--at", "90s", *flags).stdout
    assert [job.id for job in json_instance(text).jobs] == ["a", "b"]  # type: ignore[attr-defined]


def test_generate_muris_queue_from_a_trace(folder: Path) -> None:
    """For interleaving the moment's queue, by the order asked for; a demand means nothing there."""
    moment = ("--trace", "synthetic-1", "--at", "20d", "--servers", "8")
    arguments = ("--set", "order=2d-las", "--set", "resources=4")
    made = json_instance(run("generate", "interleaving", *moment, *arguments).stdout)
    assert (len(made.resources), made.gpu_budget, made.grouping) == (4, 64, "cover")
    refused = run("generate", "interleaving", *moment, "--demand", "3", status=2)
    assert "interleaving takes no --demand" in refused.output


def test_export_mps(folder: Path) -> None:
    """A level's model is written as MPS; a later level wants the earlier one's value."""
    assert data("export", "small.json", "small.mps")["files"] == ["small.mps"]
    assert Path("small.mps").read_text().startswith("NAME")
    later = ["export", "small.json", "later.mps.gz", "--level", "collateral"]
    assert "needs the value of 'preempted'" in run(*later, status=2).stderr
    run(*later, "--held", "preempted=1")
    assert b"hold_preempted" in gzip.decompress(Path("later.mps.gz").read_bytes())
    assert "names no number" in run(*later, "--held", "preempted", status=2).stderr
    assert "needs an instance" in run("export", "small.json", status=2).stderr
    assert "one or the other" in run("export", "small.json", "--schemas", "x", status=2).stderr


def test_export_lp(folder: Path) -> None:
    """LP or MPS is what the flag or the name asks for; without a file the model is on stdout."""
    assert data("export", "small.json", "small.lp.gz", "--lp")["files"] == ["small.lp.gz"]
    text = gzip.decompress(Path("small.lp.gz").read_bytes()).decode()
    assert "level 1 of 2: preempted" in text and "x(s1)" in text
    assert run("export", "small.json", "--lp").stdout == text
    assert run("export", "small.json", "--mps").stdout.startswith("NAME")
    wrong = run("export", "small.json", "a.mps", "--lp", status=2)
    assert "must end in .lp or .lp.gz" in wrong.stderr and not Path("a.mps").exists()
    assert "name a file" in run("export", "small.json", "--lp", "--json", status=2).stderr


def test_export_vipr(folder: Path) -> None:
    """A proof is written as certificates: a file for each level, or one level's to a file."""
    run("prove", "small.json", "-o", "p.json")
    named = [f"{json_instance(Path('small.json').read_text()).name}.{level}.vipr"
             for level in ("preempted", "collateral")]  # fmt: skip
    assert data("export", "small.json", "--format", "vipr", "--proof", "p.json")["files"] == named
    run("export", "small.json", "two.vipr.gz", "--level", "collateral", "--proof", "p.json")
    assert gzip.decompress(Path("two.vipr.gz").read_bytes()) == Path(named[1]).read_bytes()
    for arguments, said in {
        ("--format", "vipr"): "dlsched prove",
        ("--format", "vip"): "unknown; write one of: lp, mps, vipr",
        ("--format", "lp", "--mps"): "give one of them",
        ("a.vipr", "--lp"): "must end in .lp or .lp.gz",
        ("a.vipr", "--held", "preempted=1"): "--held is for models",
        ("a.mps", "--proof", "p.json"): "--proof is for --format vipr",
    }.items():
        assert said in run("export", "small.json", *arguments, status=2).stderr
    wrong = run("export", "lyra-fig5", "a.vipr", "--proof", "p.json", status=2)
    assert "the proof does not hold" in wrong.stderr and not Path("a.vipr").exists()


def test_plot(folder: Path) -> None:
    """A picture is written, of the kind that its name asks for."""
    pytest.importorskip("dlsched.problems.reclaiming.pictures.draw")
    run("solve", "small.json", "-o", "small.sol.json")
    run("plot", "small.json", "small.sol.json", "-o", "small.svg")
    assert b"<svg" in Path("small.svg").read_bytes()
    assert data("plot", "small.json", "-o", "small.png") == {"files": ["small.png"]}
    assert Path("small.png").read_bytes().startswith(b"\x89PNG")
    assert "must end in .pdf" in run("plot", "small.json", "-o", "small.bmp", status=2).stderr


def test_plot_options(folder: Path) -> None:
    """Width, colours, title and solution as an option; a twofold solution is refused."""
    run("solve", "small.json", "-o", "small.sol.json")
    for width, points in (("single", 237.6), ("double", 504)):
        flags = ["--solution", "small.sol.json", "--width", width, "--title", "mine"]
        run("plot", "small.json", *flags, "--background", "plate", "-o", "small.svg")
        text = Path("small.svg").read_text()
        assert f'width="{points:g}pt"' in text and ">mine</text>" in text
    run("plot", "small.json", "--color-by", "gpus", "-o", "small.pdf")
    assert Path("small.pdf").read_bytes().startswith(b"%PDF")
    wrong = run("plot", "small.json", "--color-by", "mood", "-o", "wrong.pdf", status=2)
    assert "coloured by job, status, gpus, weight" in wrong.stderr
    assert not Path("wrong.pdf").exists()
    twice = ["small.sol.json", "--solution", "small.sol.json", "-o", "wrong.pdf"]
    assert "give it once" in run("plot", "small.json", *twice, status=2).stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nonsense"], "no such command"),
        (["solve"], "missing argument 'INSTANCE'"),
        (["solve", "small.json", "--nope"], "no such option: --nope"),
        (["solve", "small.json", "--threads", "two"], "invalid value for '--threads'"),
        (["solve", "small.json", "--threads", "0"], "must be at least 1"),
        (["solve", "small.json", "--time-limit", "0"], "must be above 0 seconds"),
        (["solve", "small.json", "--time-limit", "nan"], "must be above 0 seconds"),
        (["solve", "small.json", "--gap", "2"], "must be a fraction"),
        (["compare", "small.json", "-m", "exact", "--gap", "2"], "must be a fraction"),
        (["compare", "small.json", "-m", "exact", "--solver", "none"], "no solver is called"),
        (["compare", "small.json"], "missing option '--method'"),
        (["solve", "small.json", "--solver", "none"], "no solver is called 'none'"),
        (["solve", "small.json", "-m", "exat"], "did you mean 'exact'"),
        (["solve", "small.json", "-o", "."], "cannot write ."),
        (["solve", "small.json", "--start", "none.json"], "no such file"),
        (["solve", "small.json", "-o", "small.json/x.json"], "small.json"),
    ],
)
def test_bad_flags(arguments: list[str], words: str, folder: Path) -> None:
    """A bad flag is one line on stderr and status 2, like any unusable input."""
    ran = run(*arguments, status=2)
    assert words in ran.stderr and ran.stderr.startswith("error: ")
    assert ran.stderr.count("\n") == 1 and ran.stdout == ""


def test_odd_names_cannot_draw_on_the_terminal(folder: Path) -> None:
    """Control characters in a file's texts are escaped, in tables and in errors."""
    Path("odd.json").write_text(json.dumps(SMALL | {"name": "\x1b[2Jodd [red]"}))
    for words in (["solve"], ["show"], ["compare", "-m", "lyra"]):
        said = run(words[0], "odd.json", *words[1:]).stdout
        assert "\x1b" not in said and "\\x1b[2Jodd [red]" in said
    Path("odd.json").write_text(json.dumps(SMALL | {"\x1b[2J": 1}))
    assert "\x1b" not in run("show", "odd.json", status=2).stderr
