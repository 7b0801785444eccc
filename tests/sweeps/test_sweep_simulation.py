"""Simulations in suites: runs, resuming, failures, tables and the report."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from calls import FIG5, refusal, suite_text
from dlsched import InstanceError
from dlsched.cli import app
from dlsched.results.result import Report, Violation
from dlsched.simulation import Simulation, Workload, simulate
from dlsched.sweeps import (
    Store,
    local_crew,
    read_suite,
    run_suite,
    simulation_report,
    workload_spec,
)
from dlsched.sweeps.execution import execute
from dlsched.sweeps.report import write_report
from dlsched.sweeps.simulation_rows import load_simulation, simulation_rows
from dlsched.sweeps.task import Task
from dlsched.sweeps.workload_spec import BOUND, WorkloadSpec
from sweeps import made

SUITE = (
    suite_text(FIG5, "lyra", wall_limit=100)
    + """
[[simulation]]
trace = "jobs.csv"
limit = 12
servers = 2
gpus = 8
policies = ["srtf", "mine_policy:Last", { policy = "tiresias", options = { limits = [60] } }]
bounds = true

[[simulation]]
trace = "sample-philly"
limit = 6
kinds = [{ count = 1, gpus = 8, gpu_type = "V100" }, { count = 2, gpus = 4 }]
policies = ["fifo", "mine_policy:Fails"]
seeds = [0, 1]
"""
)
OWN = """
from dlsched.simulation.policies.ordering import Fifo

class Last(Fifo):
    name = "last"

class Fails(Fifo):
    name = "fails"

    def decide(self, state):
        raise ValueError("no <decision>")
"""
JOBS = "job_id,num_gpu,submit_time,iterations,model_name,duration,interval\n" + "".join(
    f"{i},{1 + i % 4},{10 * i},100,resnet18,{100 + 37 * i % 60},10\n" for i in range(15)
)
NET = {"model": "net", "gpus": 1, "iter_time_s_at_fair": 0.5}
THROUGHPUT = [[0.4, 0.5], [0.9, 1.0], [1.4, 1.5]]
MEASURED = {
    "axes": {"cpu_per_gpu": [1, 2, 3], "mem_gb_per_gpu_9x2": [20.83, 62.5]},
    "class_of": {"net": "image"},
    "sets": {"few": {"fair_cpu_per_gpu": 2, "models": {"net_1": NET | {"tput": THROUGHPUT}}}},
}
ONE = """
[[simulation]]
trace = "sample-philly"
limit = 4
policies = ["fifo"]
"""
FAILURE = "PolicyError: policy fails at 0 s: it raised ValueError: no <decision>"
runner = CliRunner()
pytestmark = pytest.mark.usefixtures("shared_workers")


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory, shared: type[Any]) -> Path:
    """Give a folder with a suite, a trace, policies, and the results of the suite in `out`."""
    folder = tmp_path_factory.mktemp("simulations")
    (folder / "suite.toml").write_text(SUITE)
    (folder / "jobs.csv").write_text(JOBS)
    (folder / "mine_policy.py").write_text(OWN)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setattr(local_crew, "WorkerProcess", shared)
        run_suite("suite.toml", "out")
    return folder


@pytest.fixture
def folder(swept: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a copy of it as the working directory."""
    copy = tmp_path / "copy"
    shutil.copytree(swept, copy)
    monkeypatch.chdir(copy)
    return copy


def stored() -> list[dict[str, Any]]:
    """Return the simulations of the sweep, without the runs of bounds."""
    with Store("out") as store:
        rows = simulation_rows(store.simulations())
    return [row for row in rows if row["method"] != BOUND]


def first_simulation() -> Task:
    """Return the first simulation of the suite."""
    return next(task for task in read_suite("suite.toml").tasks() if task.method == "srtf")


def test_rows_are_what_simulate_returns(folder: Path) -> None:
    """Each policy and seed is a run: audited, with its metrics, its bounds and its log."""
    rows = stored()
    assert [row["method"] for row in rows] == [
        "srtf", "mine_policy:Last", "tiresias", "fifo", "fifo", *["mine_policy:Fails"] * 2,
    ]  # fmt: skip
    assert [row["seed"] for row in rows] == [0, 0, 0, 0, 1, 0, 1]
    assert {row["instance"] for row in rows} == {
        "jobs (first 12) on 2x8", "sample-philly (first 6) on 1x8 V100 + 2x4",
    }  # fmt: skip
    tiresias = rows[2]
    expected = simulate(
        Workload.from_trace("jobs.csv", limit=12), read_suite("suite.toml").simulation[0].cluster,
        "tiresias", limits=[60],
    )  # fmt: skip
    assert tiresias["mean_jct"] == expected.summary["mean_jct"]
    assert tiresias["mean_jct_bound"] == float(expected.bound("mean_jct").value)
    assert tiresias["makespan_bound"] == float(expected.bound("makespan").value)
    gap = (tiresias["mean_jct"] - tiresias["mean_jct_bound"]) / tiresias["mean_jct"]
    assert tiresias["gap"] == tiresias["mean_jct_gap"] == gap > 0
    with Store("out") as store:
        file = store.log_file(tiresias["solution_sha256"])
        run = load_simulation(file.read_bytes())
    assert run.audit() and run.log.rows("segments") == expected.log.rows("segments")
    assert rows[3]["mean_jct"] == rows[4]["mean_jct"] and "mean_jct_bound" not in rows[3]
    with open("out/results.csv", newline="") as lines:
        table = list(csv.DictReader(lines))
    methods = [row["method"] for row in rows]
    assert [line["method"] for line in table] == ["lyra", *methods[:3], BOUND, *methods[3:]]
    assert float(table[1]["mean_jct"]) == rows[0]["mean_jct"]


def test_policy_that_fails_is_a_failed_run(folder: Path) -> None:
    """A policy that raises has failed runs with the reason, and the others have none."""
    failed = [row for row in stored() if row["status"] != "feasible"]
    assert [row["method"] for row in failed] == ["mine_policy:Fails"] * 2
    assert {row["status"] for row in failed} == {"error"}
    assert {row["reason"] for row in failed} == {FAILURE}


def test_only_what_has_changed_is_run_again(folder: Path) -> None:
    """A finished simulation is not repeated, unless its trace or the policy's code has changed."""

    def resume() -> list[str]:
        return [row["method"] for row in made("suite.toml", "out", resume=True)]

    assert resume() == []
    (folder / "mine_policy.py").write_text(OWN + "# changed\n")
    assert resume() == ["mine_policy:Last", *["mine_policy:Fails"] * 2]
    (folder / "jobs.csv").write_text(JOBS.replace("\n3,", "\n33,"))
    assert resume() == ["srtf", "mine_policy:Last", "tiresias", BOUND]


def test_changed_traces_and_time_limits(folder: Path) -> None:
    """A trace that changed after the plan gives no result; a time limit is one of the process."""
    task = first_simulation()
    (folder / "jobs.csv").write_text(JOBS.replace("\n3,", "\n33,"))
    workload_spec.forget()  # as in a worker process that has not read it yet
    row = execute(task).row
    assert row["status"] == "changed" and "jobs" in row["reason"]
    text = SUITE.replace("wall_limit = 100", "wall_limit = 100\ntime_limit = 7\ngap = 0.5")
    (folder / "suite.toml").write_text(text)
    limits = first_simulation().limits
    assert (limits.wall_limit, limits.gap) == (7, 0)


def test_what_cannot_be_right_has_failed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A metric below its lower bound is rejected; so is what the auditor does not confirm."""
    task = first_simulation()
    with Store("out") as store:
        rows = store.simulations()
    (bound,) = (row for row in rows if row["method"] == BOUND)
    bound["bound"] = json.dumps(json.loads(bound["bound"]) | {"makespan": 10**9})
    row = next(row for row in simulation_rows(rows) if row["method"] == "srtf")
    assert row["status"] == "rejected" and "is below its bound 1e+09" in row["reason"]
    bound["record"] = "{}"
    with pytest.raises(InstanceError, match=r"the simulation of bound on .* damaged record"):
        simulation_rows(rows)
    found = Report((Violation("capacity", "s1", "9 of 8 GPUs"),), None)
    monkeypatch.setattr(Simulation, "audit", lambda run: found)
    outcome = execute(task)
    assert outcome.row["status"] == "rejected" and "9 of 8 GPUs" in outcome.row["reason"]
    assert outcome.solution is None


def test_command_prints_a_table_for_each_workload(folder: Path) -> None:
    """The table has policies, metrics, bound and gap; failed runs are named below."""
    bench = ["bench", "suite.toml", "-o", "out", "--resume"]
    ran = runner.invoke(app, bench, env={"COLUMNS": "200"})
    assert ran.exit_code == 1
    methods, _, both = ran.stdout.partition("jobs (first 12) on 2x8\n")
    first, _, second = both.partition("sample-philly (first 6) on 1x8 V100 + 2x4\n")
    assert methods.startswith("reclaiming\n")
    assert first.splitlines()[0].split() == [
        "policy", "options", "mean_jct", "p99_jct", "makespan", "mean_queueing", "utilization",
        "bound", "gap", "seconds",
    ]  # fmt: skip
    assert "tiresias" in first and "limits=[60]" in first
    assert second.split()[:2] == ["policy", "seed"]
    assert f"mine_policy:Fails: error: {FAILURE}" in second
    rows = json.loads(runner.invoke(app, [*bench, "--json"]).stdout)
    assert [row["method"] for row in rows[:2]] == ["lyra", "srtf"]


def test_report_has_tables_and_pictures(folder: Path) -> None:
    """The page has per workload a table with all runs and two pictures, and the failed runs."""
    names = {file.name for file in write_report("out")}
    kinds = ("completion-times", "waiting-jobs")
    pictures = {f"simulation-{k}-{kind}.svg" for k in (1, 2) for kind in kinds}
    assert names >= {"index.html", "runs.csv", "simulations.csv", *pictures}
    text = (folder / "out" / "report" / "index.html").read_text()
    table = text[text.index('id="simulation-1-table"') : text.index('id="simulation-2"')]
    assert table.count("<tr>") == 4 and table.count("<img") == 2
    for row in stored()[:3]:
        assert f'data-key="{row["mean_jct"]}"' in table and f'data-key="{row["gap"]}"' in table
    assert "no &lt;decision&gt;" in text[text.index('id="failures"') :]
    assert 'id="reclaiming"' in text and "mine_policy" not in text[text.index('id="all-runs"') :]


def test_report_of_simulations_alone(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without methods there is no table of them, and no file of theirs."""
    monkeypatch.setattr(simulation_report, "_pictures", lambda runs: ())
    (folder / "alone.toml").write_text('name = "alone"\n' + ONE)
    run_suite("alone.toml", "alone")
    names = {file.name for file in write_report("alone")}
    assert names == {"index.html", "simulations.csv", "simulations.parquet"}
    text = (folder / "alone/report/index.html").read_text()
    assert 'id="simulation-1-table"' in text and 'id="all-runs"' not in text


FIFO = '["fifo"]'
LIMIT = "limit = 4"
YARN = '[{ policy = "yarn_cs", options = { interval = 0 } }]'
MURI = 'profiles = "muri"\nprofile_options = { speed = 2 }'
BAD_ENTRIES = [
    ('"fifo"', '"fido"', "simulation[0].policies[0].policy", "fifo"),
    (FIFO, "[]", "simulation[0].policies", "empty"),
    (FIFO, '[{ policy = "fifo", options = { x = 1 } }]', "options.x", "no option"),
    (FIFO, '[{ policy = "fifo", method = "exact" }]', "policies[0]", "solves no problem"),
    (FIFO, YARN, "simulation[0].policies[0]", "interval is 0; give seconds above 0"),
    (FIFO, '[{ policy = "hadar", options = { x = 1 } }]', "options.x", "no option"),
    (LIMIT, "seeds = []", "simulation[0].seeds", "is empty"),
    (LIMIT, "limits = 4", "simulation[0].limits", "unknown field"),
    (LIMIT, "limit = 0", "simulation[0].limit", ""),
    (LIMIT, 'profiles = "none"', "simulation[0].profiles", "set of profiles"),
    (LIMIT, MURI, "simulation[0].profile_options", "'speed'; they have: resources"),
    (LIMIT, "profile_options = { x = 2 }", "[0].profile_options", "name the set"),
    (LIMIT, "cpus = 2\nkinds = [{ gpus = 8 }]", "simulation[0].kinds", "beside cpus"),
    ('"sample-philly"', '"gone.csv"', "simulation[0].trace", "gone.csv"),
    (LIMIT, "kinds = [{ gpus = 0 }]", "simulation[0].kinds[0].gpus", ""),
    (LIMIT, "gpus = 2\nkinds = [{ gpus = 8 }]", "simulation[0].kinds", "beside"),
    (LIMIT, 'variant = "published"', "simulation[0].variant", "unknown field"),
]


@pytest.mark.parametrize(("old", "new", "field", "said"), BAD_ENTRIES)
def test_entry_that_cannot_be_used(folder: Path, old: str, new: str, field: str, said: str) -> None:
    """One error names the field before anything runs, and nothing is written."""
    (folder / "bad.toml").write_text('name = "bad"\n' + ONE.replace(old, new))
    error = refusal("bench", "bad.toml", "-o", "new")
    assert not (folder / "new").exists()
    assert field in error and said in error and "bad.toml" in error


def test_profile_options_and_servers_with_cpus(folder: Path) -> None:
    """A path among the options is relative to the suite; servers have the CPUs that it states."""
    (folder / "sub").mkdir()
    (folder / "sub" / "measured.json").write_text(json.dumps(MEASURED))
    options = 'measured = "measured.json", split = "1/0/0", cpus_per_gpu = 2'
    sizes = 'servers = 1\ncpus = 16\nmemory = 500\nprofiles = "synergy"\n'
    entry = ONE.replace("fifo", "synergy") + sizes + f"profile_options = {{ {options} }}\n"
    (folder / "sub" / "suite.toml").write_text('name = "x"\n' + entry)
    (task,) = read_suite("sub/suite.toml").tasks()
    assert isinstance(task.instance, WorkloadSpec)
    workload, cluster = task.instance.make()
    assert set(workload.matrices) == {"net"} and workload.jobs[0].iteration_time == 0.5
    assert {(server.cpus, server.memory) for server in cluster.servers} == {(16, 500)}
    assert "measured='measured.json'" in task.instance.source
    assert execute(task).row["status"] == "feasible"


def test_example_suite() -> None:
    """The suite that comes with dlsched is on sample traces, with bounds."""
    suite = read_suite(Path(__file__).parents[2] / "benchmarks" / "suites" / "simulation.toml")
    assert all(str(e.trace).startswith("sample-") and e.bounds for e in suite.simulation)
    assert len(suite.tasks()) == 13
