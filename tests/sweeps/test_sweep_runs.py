"""Runs of a suite: rows, files and resuming."""

import csv
import json
import os
from concurrent.futures import BrokenExecutor, Executor, Future
from pathlib import Path
from typing import Any

import pytest
from shared_suites import FINISHED, ODD, RUNS

import dlsched
import sweeps
from calls import FIG5, data, refusal, run, suite_text

FOUR = 'generate = "reclaiming"; seeds = [1, 2]; grid = { servers = [5, 6], demand = [1] }'
LIGHT = suite_text(FOUR, "lyra", "random; seeds = [0, 7]", "scf", time_limit=30)


def test_run_leaves_results(finished: Path) -> None:
    """Rows, table and solutions agree with each other, with the suite and with the checker.

    A generator that refuses its parameters fails these runs, with its message, and no other. An
    instance's name never becomes a path.
    """
    table = list(csv.DictReader(Path("out/results.csv").read_text().splitlines()))
    stored, suite = sweeps.rows(), sweeps.planned()
    assert len(table) == len(stored) == len(suite) == RUNS
    for line, kept, stated, content in zip(table, stored, suite, sweeps.contents(), strict=True):
        assert line["key"] == kept["key"] == stated.key
        told = (kept["problem"], kept["method"], kept["seed"], json.loads(kept["options"]))
        assert told == (stated.problem, stated.method, stated.seed, stated.options)
        assert bool(content) == (kept["status"] in ("optimal", "feasible"))
        if not content:
            assert kept["status"] == "error" and kept["objective"] is None
            continue
        Path("solution.json").write_bytes(content)
        # A name, a file, or the call of a generator and its version.
        source = kept["source"].partition(", generator version ")[0]
        known = {"dlsched": dlsched}
        instance = eval(source, known) if "(" in source else dlsched.load(source)
        assert (kept["instance_sha256"], kept["instance"]) == (instance.sha256, instance.name)
        report = dlsched.verify(instance, "solution.json")
        assert report.feasible and report.objective is not None
        assert json.loads(kept["objective"]) == report.objective.as_dict()
        assert json.loads(kept["versions"])["dlsched"] == dlsched.__version__
    assert sweeps.row(instance=ODD, method="lyra")["status"] == "feasible"
    assert {file.name for file in Path("out").iterdir()} >= {"results.sqlite", "results.csv"}
    files = {file.name for file in finished.iterdir()} - {"__pycache__", "solution.json"}
    assert files == {"suite.toml", "mine_sweep.py", "odd.json", "out"}
    for kept in stored:
        bad = "many" in kept["instance"]
        wrong = bad or kept["method"] == "mine_sweep:raises"
        assert (kept["status"] == "error") == wrong, kept["reason"]
        assert ("servers" in kept["reason"]) == bad, kept["reason"]
    proven = [kept for kept in stored if kept["status"] == "optimal"]
    assert {kept["method"] for kept in proven} == {"exact", "milp"}
    assert all(kept["gap"] == 0 and kept["bound_kind"] for kept in proven)


def test_resume_runs_what_changed(finished: Path) -> None:
    """Only new runs are made; what is no longer asked for is hidden, and not lost."""
    before = sweeps.settled()
    assert sweeps.made(resume=True) == []
    Path("suite.toml").write_text(FINISHED.replace("seeds = [0, 7]", "seeds = [7, 8]"))
    assert [new["seed"] for new in sweeps.made(resume=True)] == [8] * 9
    assert [kept["key"] for kept in sweeps.rows()] == sweeps.keys_of()
    assert 0 not in {kept["seed"] for kept in sweeps.rows() if kept["method"] == "random"}
    Path("suite.toml").write_text(FINISHED)
    assert sweeps.made(resume=True) == [] and sweeps.settled() == before


def test_interrupted_run_keeps_what_it_had(workdir: Path) -> None:
    """After Ctrl-C the finished runs are on disk, and resuming makes the others, once.

    While a sweep writes to a folder, another is refused; readers see the rows that there are.
    """
    Path("suite.toml").write_text(LIGHT)

    def stop() -> None:
        assert "another sweep is writing there" in sweeps.failed(resume=True)
        assert len(sweeps.rows()) == len(sweeps.returned()) == 6
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sweeps.made(after=6, do=stop)
    assert 6 <= len(sweeps.rows()) < 16
    assert len(sweeps.rows()) == len(Path("out/results.csv").read_text().splitlines()) - 1
    before = {kept["key"] for kept in sweeps.rows()}
    later = [new["key"] for new in sweeps.made(resume=True)]
    assert sorted([*before, *later]) == sorted(sweeps.keys_of())
    assert [kept["key"] for kept in sweeps.rows()] == sweeps.keys_of()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"jobs": 0}, "jobs=0 must be at least 1"),
        ({"retries": -1}, "retries=-1 must be at least 0"),
        ({"retries": "2"}, "retries='2' must be a whole number"),
        ({"shard": True}, "shard=True names no shard; write k/n"),
        ({"on": "tcp://x", "jobs": 2}, "on= says where"),
        ({"on": "nowhere://x"}, "no Dask scheduler at nowhere://x"),
        ({"on": 7.5}, "on=7.5 is no executor"),
        ({"shard": "2/2"}, "the first is 0, the last 1"),
        ({"shard": "one"}, "write k/n"),
        ({"out": "rows.sqlite"}, "give that of a folder"),
    ],
)
def test_places_that_cannot_be(workdir: Path, options: dict[str, Any], said: str) -> None:
    """What says where the runs are made is checked before a run."""
    Path("suite.toml").write_text(LIGHT)
    assert said in sweeps.failed(**options)
    assert not Path("out").exists() or sweeps.rows() == []


class Breaking(Executor):
    """Makes the first runs, and breaks at another; the answers come together."""

    _max_workers = 2

    def __init__(self, refuses: bool) -> None:
        self.calls, self.refuses = 0, refuses

    def submit(self, function: Any, /, *arguments: Any, **named: Any) -> Future[Any]:
        """Return a future that is done."""
        self.calls += 1
        future: Future[Any] = Future()
        if self.calls < 3:
            future.set_result(function(*arguments, **named))
        elif self.refuses:
            raise RuntimeError("gone")
        else:
            future.set_exception(BrokenExecutor("gone"))
        return future


@pytest.mark.parametrize("refuses", [False, True])
def test_a_lost_executor_loses_no_run(refuses: bool, workdir: Path) -> None:
    """What arrived together with the loss is on disk, as the message says."""
    Path("suite.toml").write_text(LIGHT)
    said = sweeps.failed(on=Breaking(refuses))
    assert "Breaking is lost: finished runs are kept" in said and "gone" in said
    assert [kept["status"] for kept in sweeps.rows()] == ["feasible"] * 2


def test_a_path_that_is_no_unicode(workdir: Path) -> None:
    """A file whose name no text can hold is an instance as any other."""
    instance = dlsched.generate("reclaiming", servers=5)
    os.mkdir("made")
    Path(os.fsdecode(b"made/\xe9.json")).write_text(json.dumps(instance.to_data()))
    Path("suite.toml").write_text(suite_text('files = "made/*"', "lyra"))
    sweeps.made()
    assert sweeps.row()["status"] == "feasible" and "udce9" in sweeps.row()["source"]


def test_more_jobs_than_runs(workdir: Path) -> None:
    """The memory is shared by the runs that there are."""
    Path("suite.toml").write_text(suite_text(FIG5, "lyra"))
    sweeps.made(jobs=10**6)
    assert sweeps.row()["status"] == "feasible"


def test_results_are_not_overwritten(finished: Path) -> None:
    """Results need --resume, another program's file is refused always; both stay as they are."""
    for content in (sweeps.database().read_bytes(), b"no database", b""):
        sweeps.database().write_bytes(content)
        assert "add --resume" in refusal("bench", "suite.toml", "-o", "out")
        if content in (b"no database", b""):
            said = "not what this version of dlsched writes"
            assert said in refusal("report", "out")
            assert not content or said in refusal("bench", "suite.toml", "-o", "out", "--resume")
        assert sweeps.database().read_bytes() == content


def test_bench_command(finished: Path) -> None:
    """The command shows a line per method; it says 1 if a run failed, 3 if one was rejected."""
    command = ["bench", "suite.toml", "-o", "out", "--resume"]
    told = data(*command, status=1)
    assert [line["key"] for line in told] == sweeps.keys_of()
    exact = [line for line in told if line["method"] in ("exact", "milp")]
    assert all(line["gap"] == 0 for line in exact if line["status"] != "error")
    shown = run(*command, status=1).stdout
    assert "mine_sweep:raises: error: ValueError: <i>no</i>" in shown and "certified" in shown
    sweeps.edit("out", told[1]["key"], status="rejected", reason="claims too much")
    assert "claims too much" in run(*command, status=3).stdout


@pytest.mark.slow
def test_instance_changed_after_the_plan(workdir: Path) -> None:
    """An instance's file that changes on the way is a row that says so, and is made again."""
    first, second = (dlsched.generate("reclaiming", seed, servers=4) for seed in (1, 2))
    dlsched.save(first, "mine.json")
    Path("suite.toml").write_text(suite_text('files = "mine.json"', "lyra", "scf"))
    sweeps.made(do=lambda: dlsched.save(second, "mine.json"))
    assert {kept["status"] for kept in sweeps.rows()} == {"changed"}
    reason = sweeps.rows()[0]["reason"]
    assert first.sha256[:12] in reason and second.sha256[:12] in reason
    assert [new["status"] for new in sweeps.made(resume=True)] == ["feasible"] * 2
    assert {kept["instance_sha256"] for kept in sweeps.rows()} == {second.sha256}
