"""Workloads of simulations in suites: generators, grids, seeds, loans, wrong estimates, bounds."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from calls import data, refusal, run
from dlsched import OptionError
from dlsched.simulation import Workload, simulate
from dlsched.simulation.workload.estimates import with_wrong_estimates
from dlsched.simulation.workload.generators import lyra_cluster, lyra_workload
from dlsched.simulation.workload.generators.generated import GENERATORS, generated
from dlsched.sweeps import Store, read_suite, run_suite, workload_spec
from dlsched.sweeps.report import write_report
from dlsched.sweeps.simulation_rows import simulation_rows
from dlsched.sweeps.spread import curves, spread_rows
from dlsched.sweeps.workload_spec import BOUND
from sweeps import made

pytestmark = pytest.mark.usefixtures("shared_workers")
SMALL = {
    "hadar": {"servers": 3, "jobs": 4, "scale": 0.01},
    "lyra": {"servers": 2, "days": 0.05, "inference": 2},
    "mast": {"servers": 3, "hours": 0.5, "types": 1, "regions": 1},
    "synergy": {"servers": 1, "jobs": 3},
}
LYRA = """
name = "seeds"
[[simulation]]
generate = "lyra"
workload_seeds = [0, 1]
grid = { load = [0.5, 0.9] }
parameters = { servers = 2, inference = 3, days = 0.05 }
policies = ["fifo", "lyra"]
bounds = true
"""


@pytest.mark.parametrize("name", list(GENERATORS))
def test_generators_by_name(name: str) -> None:
    """Every generator makes jobs and servers that suit, and differs with the seed."""
    workload, cluster = generated(name, SMALL[name], seed=1)
    assert workload.jobs and cluster.servers
    assert generated(name, SMALL[name], seed=1)[0] == workload
    assert generated(name, SMALL[name], seed=2)[0] != workload
    with pytest.raises(OptionError, match=f"{name} has no 'x'; it has: "):
        generated(name, {"x": 1})


def test_seeds_reach_the_workload(workdir: Path) -> None:
    """Rows are what `simulate` returns for the generator's jobs of each seed and load."""
    (workdir / "s.toml").write_text(LYRA)
    rows = made("s.toml", "out")
    assert len(rows) == 4 * 3 and {row["status"] for row in rows} == {"feasible", "no solution"}
    with Store("out") as store:
        flat = simulation_rows(store.simulations())
    first = flat[3]
    assert (first["method"], first["workload_seed"], first["varied_load"]) == ("fifo", 1, 0.5)
    jobs = lyra_workload(2, days=0.05, load=0.5, seed=1)
    servers = lyra_cluster(2, 3, days=0.05, seed=1)
    expected = simulate(jobs, servers, "fifo")
    assert first["mean_jct"] == expected.summary["mean_jct"]
    assert first["mean_jct_bound"] == float(expected.bound("mean_jct").value)
    assert len({row["mean_jct"] for row in flat if row["method"] == "fifo"}) == 4
    table = spread_rows([row for row in flat if row["varied_load"] == 0.5])
    assert [line["policy"] for line in table] == ["fifo", "lyra"]
    assert table[0]["runs"] == 2 and table[0]["saved"] == 0 and table[0]["sd"] > 0
    (curve,) = curves(flat)
    assert curve[0] == "load" and set(curve[2]) == {"fifo", "lyra"}
    assert set(curve[2]["fifo"]) == {0.5, 0.9} and len(curve[2]["fifo"][0.5]) == 2
    names = {file.name for file in write_report("out")}
    assert {"simulation-1-spread.svg", "simulation-grid-curve-1-load.svg"} <= names
    shown = run("bench", "s.toml", "-o", "out", "--resume").stdout
    assert "saved_sd" in shown and "lyra-servers=2-inference=3-days=0.05-load=0.9" in shown


def test_bounds_are_tasks_of_their_own(workdir: Path) -> None:
    """A sharing policy has the bound that allows for sharing, of the same jobs, computed once."""
    (workdir / "s.toml").write_text(
        'name = "b"\n[[simulation]]\ntrace = "synthetic-1"\nlimit = 12\nservers = 2\n'
        'profiles = "muri"\npolicies = ["srtf", "muri_s"]\nseeds = [0, 1]\nbounds = true\n'
    )
    tasks = read_suite("s.toml").tasks()
    bounds = [dict(task.options) for task in tasks if task.method == BOUND]
    assert len(tasks) == 6 and bounds == [{"over": "alone"}, {"over": "sharing"}]
    rows = made("s.toml", "out")
    with Store("out") as store:
        flat = {(row["method"], row["seed"]): row for row in simulation_rows(store.simulations())}
    workload = Workload.from_trace("synthetic-1", "muri", limit=12)
    cluster = read_suite("s.toml").simulation[0].cluster
    for policy in ("srtf", "muri_s"):
        expected = simulate(workload, cluster, policy).bound("makespan")
        assert flat[policy, 0]["makespan_bound"] == float(expected.value)
    found = {row["options"]: json.loads(row["bound"]) for row in rows if row["method"] == BOUND}
    assert len(found) == 2


def test_each_trace_is_read_once(workdir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A grid over servers and policies reads its trace once, when it is planned."""
    calls = []
    read = Workload.from_trace

    def count(*arguments: object, **options: object) -> Workload:
        calls.append(arguments)
        return read(*arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(workload_spec.Workload, "from_trace", count)
    (workdir / "s.toml").write_text(
        'name = "g"\n[[simulation]]\ntrace = "sample-philly"\npolicies = ["fifo", "srtf"]\n'
        "grid = { servers = [2, 3, 4, 5], gpus = [4, 8] }\nseeds = [0, 1, 2]\n"
    )
    tasks = read_suite("s.toml").tasks()
    assert len(tasks) == len({task.key for task in tasks}) == 48 and len(calls) == 1
    sizes = [len(task.instance.make()[1].servers) for task in tasks[::12]]
    assert sizes == [2, 3, 4, 5] and len(calls) == 1


def test_loans_and_wrong_estimates(workdir: Path) -> None:
    """Servers of the loan pool come and go; a share of the estimates is wrong by up to 25 %."""
    (workdir / "s.toml").write_text(
        'name = "l"\n[[simulation]]\ntrace = "sample-philly"\nlimit = 40\npolicies = ["lyra"]\n'
        'kinds = [{ gpus = 8, count = 2 }, { gpus = 4, pool = "loan" }]\n'
        "loans = [{ time = 0, servers = 1 }, { time = 3600, servers = 0 }]\n"
        "grid = { wrong = [0, 0.5] }\nworkload_seeds = [3, 4]\n"
    )
    specs = [task.instance for task in read_suite("s.toml").tasks()]
    workloads = [spec.make()[0] for spec in specs]  # without errors the seeds are the same run
    assert [spec.make()[1].loans[1].time for spec in specs] == [3600] * 3
    wrong = [sum(job.estimate is not None for job in w.jobs) for w in workloads]
    assert wrong[0] == 0 and 8 < wrong[1] < 32 and 8 < wrong[2] < 32
    assert workloads[1] != workloads[2]
    few = with_wrong_estimates(workloads[0], 0.1, seed=3)
    told = {j.id: j.estimate for j in workloads[1].jobs if j.estimate is not None}
    assert all(told[job.id] == job.estimate for job in few.jobs if job.estimate is not None)
    for job in workloads[1].jobs:
        if job.estimate is not None:
            assert 0.75 <= float(job.estimate) / float(job.work) <= 1.25
    assert all(row["status"] == "feasible" for row in made("s.toml", "out"))


ENTRY = 'name = "x"\n[[simulation]]\npolicies = ["fifo"]\n'
TRACE, DRAWN = 'trace = "sample-philly"\n', 'generate = "lyra"\n'


@pytest.mark.parametrize(
    "text, field, said",
    [
        ("", "simulation[0].trace", "write one of both"),
        (TRACE + DRAWN, "simulation[0].trace", "write one of both"),
        ('generate = "lira"', "generate", "those: hadar, lyra, mast, synergy"),
        (DRAWN + "servers = 4", "simulation[0].servers", "stands in parameters"),
        (DRAWN + "parameters = { lod = 1 }", "parameters.lod", "no parameter of the generator"),
        (DRAWN + "grid = { load = [] }", "grid.load", "is empty"),
        (DRAWN + "grid = { days = [1] }\nparameters = { days = 1 }", "grid.days", "too"),
        (DRAWN + "workload_seeds = []", "workload_seeds", "is empty"),
        (TRACE + "workload_seeds = [1]", "workload_seeds", "nothing of a trace is drawn"),
        (TRACE + "grid = { load = [1] }", "grid.load", "for a trace: servers"),
        (TRACE + "grid = { servers = [0] }", "grid.servers", "no number from 1"),
        (TRACE + "grid = { servers = [true] }", "grid.servers", "no number from 1"),
        (TRACE + "wrong = 2", "simulation[0].wrong", "from 0 to 1"),
        (TRACE + "loans = [{ time = 0, servers = 1 }]", "simulation[0].trace", "loan pool"),
        (TRACE + "kinds = [{ gpus = 2 }]\ngrid = { gpus = [1] }", "grid", "kinds states"),
    ],
)
def test_entries_that_cannot_be_used(text: str, field: str, said: str, workdir: Path) -> None:
    """One error names the field and the remedy before anything runs."""
    (workdir / "bad.toml").write_text(ENTRY + text)
    error = refusal("bench", "bad.toml", "-o", "new")
    assert field in error and said in error and not (workdir / "new").exists()


def test_generator_that_fails_is_a_failed_run(workdir: Path) -> None:
    """A value that the generator refuses is a failed run, with its reason, and no other is."""
    (workdir / "s.toml").write_text(
        ENTRY + DRAWN + "grid = { load = [-1, 0.5] }\nparameters = { servers = 2, days = 0.05 }"
    )
    run_suite("s.toml", "out")
    rows = data("bench", "s.toml", "-o", "out", "--resume", status=1)
    assert [row["status"] for row in rows] == ["error", "feasible"]
    assert "must be above 0" in rows[0]["reason"]
