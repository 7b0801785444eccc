"""Each command: what it says on stdout, in tables and in JSON, and its exit status."""

import csv
import gzip
import json
import shlex
import tomllib
from pathlib import Path
from typing import Any

import pytest

import dlsched
from calls import data, refusal, run
from dlsched.cli import COMMANDS
from dlsched.simulation import list_policies

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


@pytest.fixture(autouse=True)
def folder(workdir: Path) -> Path:
    """Give a working directory with the small instance."""
    Path("small.json").write_text(json.dumps(SMALL))
    Path("impossible.json").write_text(json.dumps(SMALL | {"demand": 9}))
    return workdir


def test_version_and_help() -> None:
    """The version is the package's, and help names every command."""
    assert run("--version").stdout == f"dlsched {dlsched.__version__}\n"
    said = run("--help").stdout
    assert all(name in said for name in COMMANDS)
    assert run().stdout == said


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_a_summary_help_and_json(name: str) -> None:
    """The summary that needs no import begins the command's own help, which names --json."""
    said = " ".join(run(name, "--help").stdout.split())
    assert COMMANDS[name] in said and "--json" in said


def test_list() -> None:
    """List shows problems, instances, methods and policies; a kind and a problem narrow it."""
    found = data("list")
    assert [row["problem"] for row in found["problems"]] == dlsched.list_problems()
    assert [row["instance"] for row in found["instances"]] == dlsched.list_instances()
    assert "lyra" in run("list").stdout
    found = data("list", "methods", "--problem", "reclaiming")
    names = list(dlsched.list_methods("reclaiming")["method"])
    assert list(found) == ["methods"] and [row["method"] for row in found["methods"]] == names
    rows = data("list", "policies")["policies"]
    assert [row["policy"] for row in rows] == list_policies() and all(r["summary"] for r in rows)


def test_show() -> None:
    """A problem's page has levels, methods and parameters, an instance's its sizes and digest."""
    shown = data("show", "reclaiming")
    assert [level["level"] for level in shown["levels"]] == ["preempted", "collateral"]
    milp = next(m for m in shown["methods"] if m["method"] == "milp")
    assert milp["kind"] == "exact" and milp["options"] == {"levels": 2}
    for name in dlsched.list_problems():
        assert all(row["meaning"] for row in data("show", name)["generator"]), name
    assert "a tenth of them by default" in run("show", "reclaiming").stdout
    shown = data("show", "small.json")
    assert shown["size"] == {"demand": 1, "servers": 3, "jobs": 3}
    assert shown["sha256"] == dlsched.load(SMALL).sha256
    assert shown["sha256"] in run("show", "small.json").stdout


def test_solve_and_verify() -> None:
    """What solve writes, verify finds feasible and start accepts; JSON is what read_result reads.

    Bounds alone are an answer, too; options reach the method as numbers.
    """
    said = data("solve", "small.json", "--option", "levels=1", "-o", "small.sol.json.gz")
    result = dlsched.read_result(json.dumps(said))
    assert tuple(result.objective or ()) == (1, 0) and result.options == {"levels": 1}
    answer = data("solve", "small.json", "-m", "lp")
    assert answer["solution"] is None and answer["bound"]["preempted"]["kind"] == "certified"
    assert json.loads(gzip.decompress(Path("small.sol.json.gz").read_bytes()))["returned"]
    report = data("verify", "small.json", "small.sol.json.gz")
    assert report["feasible"] and report["objective"]["preempted"] == {"value": 1}
    started = data("solve", "small.json", "--start", "small.sol.json.gz")
    assert started["start"] is not None


def test_no_folder_is_made_for_a_sweep() -> None:
    """It is written only where there is a folder for it, and so is its report."""
    text = 'name = "s"\n[[instances]]\nfiles = "small.json"\n[[methods]]\nname = "lyra"\n'
    Path("s.toml").write_text(text)
    run("bench", "s.toml", "-o", "out")
    before = set(Path().rglob("*"))
    for line in (
        "bench s.toml -o none/x",
        "bench s.toml -o none/x --shard 0/2",
        "report out -o none/x",
    ):
        assert "there is no folder none: make it first" in refusal(*line.split())
    assert set(Path().rglob("*")) - before <= {Path("out/.lock")}


def test_what_is_infeasible() -> None:
    """An infeasible instance has its reason, a wrong solution its violations, both status 1."""
    ran = run("solve", "impossible.json", "-o", "none.json", status=1)
    assert "demand 9 servers, 3 exist" in ran.stdout
    assert not Path("none.json").exists()
    assert data("solve", "impossible.json", status=1)["status"] == "infeasible"
    solution = {"dlsched": 1, "problem": "reclaiming", "instance": "small"}
    Path("bad.sol.json").write_text(json.dumps(solution | {"returned": ["s1", "s9"]}))
    report = data("verify", "small.json", "bad.sol.json", status=1)
    assert [v["kind"] for v in report["violations"]] == ["unknown_server"]
    assert "returned[1]" in run("verify", "small.json", "bad.sol.json", status=1).stdout


OWN = """
from dlsched.problems.reclaiming import Solution
def first(instance, rng):
    print('thinking')
    chosen = [s.id for s in instance.servers[:instance.demand]]
    return Solution(instance=instance.name, returned=chosen)
def lazy(instance, rng):
    return Solution(instance=instance.name, returned=[])
def broken(instance, rng):
    raise RuntimeError('ouch')
"""


def test_own_method() -> None:
    """A function of one's own is a method like any other: its prints go to stderr.

    In a comparison it has no gap but to the best; one that fails or lies has its status.
    """
    Path("mine_first.py").write_text(OWN)
    ran = run("compare", "small.json", "-m", "exact", "-m", "mine_first:first", "--json")
    exact, first = json.loads(ran.stdout)
    assert (exact["gap"], first["gap"], first["gap_to_best"]) == (0, None, 0.5)
    assert "thinking" in ran.stderr
    command = ["compare", "small.json", "-m", "exact", "-m", "mine_first:first", "-j", "2"]
    files = ["runs.csv", "runs.json", "table.tex", "profile.pdf"]
    said = run(*command, *(word for file in files for word in ("-o", file))).stdout
    assert all(f"written: {file}" in said and Path(file).stat().st_size for file in files)
    assert "mine\\_first:first" in Path("table.tex").read_text()
    lines = list(csv.DictReader(run(*command, "--csv").stdout.splitlines()))
    assert [line["method"] for line in lines] == ["exact", "mine_first:first"]
    (failed,) = data("compare", "small.json", "-m", "mine_first:broken", status=1)
    assert failed["status"] == "error"
    run("compare", "small.json", "-m", "mine_first:lazy", status=3)
    for name, status, words in [
        ("lazy", 3, "lazy returned a solution of small with 1 violations"),
        ("broken", 3, "RuntimeError: ouch"),
        ("none", 2, "cannot get"),
    ]:
        ran = run("solve", "small.json", "-m", f"mine_first:{name}", status=status)
        assert words in ran.stderr


def generated(*arguments: str) -> Any:
    """Return the instance that the command writes on stdout."""
    return dlsched.load(json.loads(run("generate", *arguments).stdout))


def test_generate() -> None:
    """The same seed gives the same file; without a target it goes to stdout."""
    arguments = ["reclaiming", "--seed", "3", "--set", "servers=12", "--set", 'sizes={"1": 0.5}']
    summary = data("generate", *arguments, "-o", "made.json.gz")
    made: Any = dlsched.load("made.json.gz")
    assert summary["sha256"] == made.sha256 == generated(*arguments).sha256
    assert len(made.servers) == 12


def test_generate_from_a_trace() -> None:
    """A trace's moment becomes an instance, of own columns, too, or Muri's queue without demand."""
    arguments = ["--at", "3d", "--servers", "16", "--demand", "2"]
    made = generated("reclaiming", "--trace", "synthetic-1", *arguments)
    assert len(made.servers) == 16 and made.demand == 2
    Path("ours.csv").write_text("who,n,when,long\na,8,0,5400\nb,4,1,60\n")
    columns = ["id=who", "gpus=n", "submit=when:min", "duration=long:s"]
    flags = [word for column in columns for word in ("--column", column)]
    made = generated("reclaiming", "--trace", "ours.csv", "--at", "90s", *flags)
    assert [job.id for job in made.jobs] == ["a", "b"]
    moment = ("interleaving", "--trace", "synthetic-1", "--at", "20d", "--servers", "8")
    made = generated(*moment, "--set", "order=2d-las", "--set", "resources=4")
    assert (len(made.resources), made.gpu_budget, made.grouping) == (4, 64, "cover")
    assert "interleaving takes no --demand" in refusal("generate", *moment, "--demand", "3")


def test_export_models() -> None:
    """LP or MPS is what the flag or the name asks for; without a file the model is on stdout.

    A later level wants the earlier one's value.
    """
    assert data("export", "small.json", "small.lp.gz", "--lp")["files"] == ["small.lp.gz"]
    text = gzip.decompress(Path("small.lp.gz").read_bytes()).decode()
    assert "level 1 of 2: preempted" in text and "x(s1)" in text
    assert run("export", "small.json", "--lp").stdout == text
    assert data("export", "small.json", "--lp") == {"model": text}
    assert run("export", "small.json", "--mps").stdout.startswith("NAME")
    later = ["export", "small.json", "later.mps.gz", "--level", "collateral"]
    run(*later, "--held", "preempted=1")
    assert b"hold_preempted" in gzip.decompress(Path("later.mps.gz").read_bytes())


def test_export_vipr() -> None:
    """A proof is written as certificates: a file for each level, or one level's to a file."""
    run("prove", "small.json", "-o", "p.json")
    named = ["small.preempted.vipr", "small.collateral.vipr"]
    assert data("export", "small.json", "--format", "vipr", "--proof", "p.json")["files"] == named
    run("export", "small.json", "two.vipr.gz", "--level", "collateral", "--proof", "p.json")
    assert gzip.decompress(Path("two.vipr.gz").read_bytes()) == Path(named[1]).read_bytes()
    said = refusal("export", "lyra-fig5", "a.vipr", "--proof", "p.json")
    assert "the proof does not hold" in said and not Path("a.vipr").exists()


def test_plot_options() -> None:
    """Width, colours, title and solution as an option; a twofold solution is refused."""
    run("solve", "small.json", "-o", "small.sol.json")
    for width, points in (("single", 237.6), ("double", 504)):
        flags = ["--solution", "small.sol.json", "--width", width, "--title", "mine"]
        run("plot", "small.json", *flags, "--background", "plate", "-o", "small.svg")
        text = Path("small.svg").read_text()
        assert f'width="{points:g}pt"' in text and ">mine</text>" in text
    assert data("plot", "small.json", "--color-by", "gpus", "-o", "x.pdf") == {"files": ["x.pdf"]}


REFUSED = tomllib.loads((Path(__file__).parent / "refused.toml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("command", REFUSED)
def test_what_cannot_be_used_is_refused(command: str, folder: Path) -> None:
    """A bad flag or value is one line on stderr and status 2, and nothing is written."""
    assert REFUSED[command] in refusal(*shlex.split(command))
    assert {file.name for file in folder.iterdir()} == {"small.json", "impossible.json"}


def test_odd_names_cannot_draw_on_the_terminal() -> None:
    """Control characters in a file's texts are escaped, in tables and in errors."""
    Path("odd.json").write_text(json.dumps(SMALL | {"name": "\x1b[2Jodd [red]"}))
    for words in (["solve"], ["show"], ["compare", "-m", "lyra"]):
        said = run(words[0], "odd.json", *words[1:]).stdout
        assert "\x1b" not in said and "\\x1b[2Jodd [red]" in said
    Path("odd.json").write_text(json.dumps(SMALL | {"\x1b[2J": 1}))
    assert "\x1b" not in run("show", "odd.json", status=2).stderr
