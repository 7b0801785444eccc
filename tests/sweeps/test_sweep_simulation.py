"""Simulations in suites: workloads, runs, bounds, resuming, failures, tables and the report."""

import csv
import json
import re
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from shared_suites import once

from calls import FIG5, data, run, suite_text
from dlsched.simulation import Cluster, Workload, simulate
from dlsched.simulation.workload import generators as drawn
from dlsched.sweeps.report import write_report
from sweeps import bounds, contents, copied, edit, keys_of, made, meta_of, planned, simulations


def entries(*stated: str) -> str:
    """Return simulations of a suite, each with its fields between ``;``."""
    return "".join("[[simulation]]\n" + entry.replace("; ", "\n") + "\n" for entry in stated)


METHODS = suite_text(FIG5, "lyra", wall_limit=100)
TRACES = entries(
    'trace = "jobs.csv"; limit = 12; servers = 2; gpus = 8; bounds = true; policies = '
    '["srtf", "mine_policy:Last", { policy = "tiresias", options = { limits = [60] } }]',
    'trace = "sample-philly"; limit = 6; policies = ["fifo", "mine_policy:Fails"]; seeds = [0, 1]; '
    'kinds = [{ count = 1, gpus = 8, gpu_type = "V100" }, { count = 2, gpus = 4 }]',
)
LYRA = entries(
    'generate = "lyra"; workload_seeds = [0, 1]; grid = { load = [0.5, 0.9] }; bounds = true; '
    'parameters = { servers = 2, inference = 3, days = 0.05 }; policies = ["fifo", "lyra"]'
)
FIFO = '; policies = ["fifo"]'
OTHERS = entries(
    'trace = "synthetic-1"; limit = 12; servers = 2; profiles = "muri"; '
    'policies = ["srtf", "muri_s"]; bounds = true',
    'trace = "sample-philly"; limit = 40; policies = ["srtf"]; workload_seeds = [3, 4]; '
    'kinds = [{ gpus = 8, count = 2 }, { gpus = 4, pool = "loan" }]; grid = { wrong = [0, 0.5] }; '
    "loans = [{ time = 0, servers = 1 }, { time = 3600, servers = 0 }]",
    'trace = "sample-philly"; limit = 4; servers = 1; cpus = 16; memory = 500; '
    'profiles = "synergy"; policies = ["synergy"]; profile_options = '
    '{ measured = "sub/measured.json", split = "1/0/0", cpus_per_gpu = 2 }',
    'generate = "hadar"; workload_seeds = [1, 2]; '
    "parameters = { servers = 3, jobs = 4, scale = 0.01 }" + FIFO,
    'generate = "mast"; workload_seeds = [1]; '
    "parameters = { servers = 3, hours = 0.5, types = 1, regions = 1 }" + FIFO,
    'generate = "synergy"; workload_seeds = [1]; parameters = { servers = 1, jobs = 3 }' + FIFO,
    'generate = "lyra"; parameters = { servers = 2, days = 0.05, load = -1 }' + FIFO,
    'trace = "sample-philly"; limit = 4; policies = ["mine_policy:Unsound"]',
)
OWN = """
import dlsched
from dlsched import simulation
from dlsched.simulation import BasePolicy, Decision
from dlsched.simulation.policies.ordering import OrderingPolicy, of_job_alone

class Last(OrderingPolicy):
    name = "last"

    @of_job_alone
    def key(self, job):
        return -job.submit

class Fails(Last):
    name = "fails"

    def decide(self, state):
        raise ValueError("no <decision>")

class Unsound(Last):
    name = "unsound"

    def decide(self, state):
        found = dlsched.Report((dlsched.Violation("capacity", "s1", "9 of 8 GPUs"),), None)
        simulation.Simulation.audit = lambda run: found
        return super().decide(state)
"""
"""Policies: one that works, one that fails, and one whose simulation the auditor refuses."""
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
FAILURE = "PolicyError: policy fails at 0 s: it raised ValueError: no <decision>"


@pytest.fixture(scope="session")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a folder with a suite, traces, policies, and the results of the suite in `out`."""

    def make() -> None:
        Path("suite.toml").write_text(METHODS + TRACES + LYRA + OTHERS)
        Path("jobs.csv").write_text(JOBS)
        Path("mine_policy.py").write_text(OWN)
        Path("sub").mkdir()
        Path("sub/measured.json").write_text(json.dumps(MEASURED))
        assert [row["key"] for row in made()] == keys_of()

    return once(tmp_path_factory, "simulations", make)


@pytest.fixture
def folder(swept: Path, workdir: Path) -> Path:
    """Give a copy of it as the working directory."""
    return copied(swept, workdir)


def only(text: str) -> None:
    """Let the suite have these simulations alone, which are made already."""
    Path("suite.toml").write_text('name = "x"\nwall_limit = 100\n' + text)


def test_rows_are_what_simulate_returns(folder: Path) -> None:
    """Each policy and seed is a run: audited, with its metrics, its bounds and its log."""
    only(TRACES)
    rows = simulations()
    assert [row["method"] for row in rows] == [
        "srtf", "mine_policy:Last", "tiresias", "fifo", "fifo", *["mine_policy:Fails"] * 2,
    ]  # fmt: skip
    assert [row["seed"] for row in rows] == [0, 0, 0, 0, 1, 0, 1]
    assert {row["instance"] for row in rows} == {
        "jobs (first 12) on 2x8", "sample-philly (first 6) on 1x8 V100 + 2x4",
    }  # fmt: skip
    tiresias = rows[2]
    given = Workload.from_trace("jobs.csv", limit=12), Cluster.uniform(2, 8)
    expected = simulate(*given, "tiresias", limits=[60])
    assert tiresias["mean_jct"] == expected.summary["mean_jct"]
    for metric in ("mean_jct", "makespan"):
        assert tiresias[f"{metric}_bound"] == float(expected.bound(metric).value)
    gap = (tiresias["mean_jct"] - tiresias["mean_jct_bound"]) / tiresias["mean_jct"]
    assert tiresias["gap"] == tiresias["mean_jct_gap"] == gap > 0
    Path("log").write_bytes(contents(simulated=True)[2])
    again = simulate(*given, "tiresias", limits=[60], log="log", resume=True)
    assert again.audit() and again.complete and again.workload == given[0]
    assert rows[3]["mean_jct"] == rows[4]["mean_jct"] and "mean_jct_bound" not in rows[3]
    with open("out/results.csv", newline="") as lines:
        table = list(csv.DictReader(lines))
    methods = [row["method"] for row in rows]
    assert [line["method"] for line in table] == [*methods[:3], "bound", *methods[3:]]
    assert float(table[0]["mean_jct"]) == rows[0]["mean_jct"]
    for row in rows[-2:]:
        assert (row["status"], row["reason"]) == ("error", FAILURE)


def test_seeds_and_parameters_reach_the_workload(folder: Path) -> None:
    """Rows are what `simulate` returns for the generator's jobs of each seed and load.

    The table of the command and the report have means and intervals over them.
    """
    only(LYRA)
    rows = simulations()
    assert len(rows) == 8 and {row["status"] for row in rows} == {"feasible"}
    found = {(row["method"], row["workload_seed"], row["varied_load"]): row for row in rows}
    for seed, load in ((1, 0.5), (0, 0.9)):
        jobs = drawn.lyra_workload(2, days=0.05, load=load, seed=seed)
        expected = simulate(jobs, drawn.lyra_cluster(2, 3, days=0.05, seed=seed), "fifo")
        row = found["fifo", seed, load]
        assert row["mean_jct"] == expected.summary["mean_jct"]
        assert row["mean_jct_bound"] == float(expected.bound("mean_jct").value)
    assert len({row["mean_jct"] for row in rows if row["method"] == "fifo"}) == 4
    names = {file.name for file in write_report("out")}
    assert {"simulations.csv", "simulations.parquet"} <= names and "runs.csv" not in names
    page = Path("out/report/index.html").read_text()
    assert 'id="simulation-1-table"' in page and 'id="all-runs"' not in page
    mean = statistics.mean(found["fifo", seed, 0.5]["mean_jct"] for seed in (0, 1))
    assert re.search(rf">{mean:,.0f} \[[\d,.]+, [\d,.]+\]<", page)
    shown = run("bench", "suite.toml", "-o", "out", "--resume").stdout
    assert "p_holm" in shown and "lyra-servers=2-inference=3-days=0.05-load=0.9" in shown


def test_other_workloads(folder: Path) -> None:
    """Generators, profiles, loans and wrong estimates are those of the library's functions.

    What cannot be generated, and what the auditor refuses, are failed runs.
    """
    only(OTHERS)
    rows = simulations()
    assert [row["status"] for row in rows] == ["feasible"] * 10 + ["error", "rejected"]
    assert "must be above 0" in rows[-2]["reason"] and "9 of 8 GPUs" in rows[-1]["reason"]
    trace = Workload.from_trace("synthetic-1", "muri", limit=12)
    philly = Workload.from_trace("sample-philly", limit=40)
    options: dict[str, Any] = {"measured": "sub/measured.json", "split": "1/0/0", "cpus_per_gpu": 2}
    profiled = Workload.from_trace("sample-philly", "synergy", limit=4, **options)
    hadar, mast = drawn.hadar_cluster(3), drawn.mast_cluster(1, machines=3, types=1, seed=1)
    expected = [
        (trace, Cluster.uniform(2, 8), "srtf"),
        (trace, Cluster.uniform(2, 8), "muri_s"),
        (profiled, Cluster.uniform(1, 8, cpus=16, memory=500), "synergy"),
        *((drawn.hadar_workload(4, scale=0.01, seed=s), hadar, "fifo") for s in (1, 2)),
        (drawn.mast_workload(mast, 0.5, seed=1), mast, "fifo"),
        (drawn.synergy_workload(3, seed=1), Cluster.uniform(1), "fifo"),
    ]
    for row, case in zip([*rows[:2], *rows[5:10]], expected, strict=True):
        simulated = simulate(*case)
        assert row["mean_jct"] == simulated.summary["mean_jct"], row["instance"]
        for metric in ("makespan", "mean_jct") if "makespan_bound" in row else ():
            assert row[f"{metric}_bound"] == float(simulated.bound(metric).value)
    assert rows[0]["mean_jct_bound"] > rows[1]["mean_jct_bound"] > 0  # muri_s shares GPUs
    assert len(bounds()) == 2
    told = [estimates_of(log, philly) for log in contents(simulated=True)[4:7]]
    assert not told[0] and 8 < len(told[1]) < 32 and 8 < len(told[2]) < 32
    assert told[1] != told[2]
    assert all(0.75 <= share <= 1.25 for wrong in told[1:] for share in wrong.values())


def estimates_of(log: bytes, plain: Workload) -> dict[str, float]:
    """Return the jobs of a log whose estimates are wrong, and by which factor."""
    jobs = meta_of(log, "workload")["jobs"]
    assert [job["id"] for job in jobs] == [job.id for job in plain.jobs]
    loans = meta_of(log, "cluster")["loans"]
    assert [loan["time"] for loan in loans] == [0, 3600]
    wrong = [job for job in jobs if job.get("estimate") is not None]
    return {job["id"]: float(job["estimate"]) / float(job["work"]) for job in wrong}


def test_only_what_has_changed_is_run_again(folder: Path) -> None:
    """A finished simulation is not repeated, unless the policy's code or the trace has changed.

    A trace that changes on the way gives no result.
    """

    def resumed(do: Callable[[], object] = lambda: None) -> list[tuple[str, str]]:
        return [(row["method"], row["status"]) for row in made(resume=True, do=do)]

    only(TRACES)
    assert resumed() == []
    Path("mine_policy.py").write_text(OWN + "# changed\n")
    failures = [("mine_policy:Fails", "error")] * 2
    assert resumed() == [("mine_policy:Last", "feasible"), *failures]
    only(TRACES.replace("limit = 12", "limit = 11"))
    changed = JOBS.replace("\n3,", "\n33,")
    methods = ["srtf", "mine_policy:Last", "tiresias", "bound"]
    on_the_way = resumed(lambda: Path("jobs.csv").write_text(changed))
    assert on_the_way == [(method, "changed") for method in methods]
    statuses = ["feasible"] * 3 + ["no solution"]
    assert resumed() == list(zip(methods, statuses, strict=True))


def test_keys_of_simulations(workdir: Path) -> None:
    """A time limit is one of the process, a gap is nothing; each size of a grid is a run."""

    def keys_with(limits: str) -> list[str]:
        Path("suite.toml").write_text(f'name = "x"\n{limits}{text}')
        return keys_of()

    grid = "grid = { servers = [2, 3, 4, 5], gpus = [4, 8] }; seeds = [0, 1, 2]"
    text = entries(f'trace = "sample-philly"; policies = ["fifo", "srtf"]; {grid}')
    before = keys_with("wall_limit = 7\n")
    assert keys_with("time_limit = 7\nwall_limit = 100\ngap = 0.5\n") == before != keys_with("")
    assert len(set(before)) == len(before) == 48 and len({r.instance for r in planned()}) == 8


def test_a_metric_below_its_lower_bound_is_rejected(folder: Path) -> None:
    """The row says so; the others are as they were."""
    only(TRACES)
    simulations()
    (bound,) = bounds()
    false = json.loads(bound["bound"]) | {"makespan": 10**9}
    edit("out", bound["key"], bound=json.dumps(false))
    row = simulations()[0]
    assert row["status"] == "rejected" and "is below its bound 1e+09" in row["reason"]


def test_tables_and_pictures(folder: Path) -> None:
    """Command and page have a table for each workload, two pictures, and the failed runs."""
    Path("suite.toml").write_text(METHODS + TRACES)
    bench = ["bench", "suite.toml", "-o", "out", "--resume"]
    told = data(*bench, status=1)
    assert [row["method"] for row in told[:2]] == ["lyra", "srtf"]
    both = run(*bench, status=1).stdout.partition("jobs (first 12) on 2x8\n")
    first, _, second = both[2].partition("sample-philly (first 6) on 1x8 V100 + 2x4\n")
    assert both[0].startswith("reclaiming\n")
    assert first.splitlines()[0].split()[:4] == ["policy", "options", "runs", "mean_jct"]
    assert "tiresias" in first and "limits=[60]" in first
    assert second.split()[:2] == ["policy", "runs"]
    assert f"mine_policy:Fails: error: {FAILURE}" in second
    names = {file.name for file in write_report("out")}
    kinds = ("completion-times", "waiting-jobs")
    pictures = {f"simulation-{k}-{kind}.svg" for k in (1, 2) for kind in kinds}
    assert names >= {"index.html", "runs.csv", "simulations.csv", *pictures}
    text = (folder / "out" / "report" / "index.html").read_text()
    table = text[text.index('id="simulation-1-table"') : text.index('id="simulation-2"')]
    assert table.count("<tr") == 4 and table.count("<img") == 2
    for row in simulations()[:3]:
        assert f"<td>{row['mean_jct']:,.6g}</td>" in table
        assert f"<td>{100 * row['gap']:.2f} %</td>" in table
    assert "no &lt;decision&gt;" in text[text.index('id="failures"') :]
    assert 'id="reclaiming"' in text and "mine_policy" not in text[text.index('id="all-runs"') :]
