"""Hadar, Gavel and YARN-CS on GPUs of several types, and the workload of Hadar's section IV."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from simulation_cases import audited, by_hand

import dlsched
from dlsched import DlschedError, InstanceError, OptionError, UnknownName
from dlsched.problems.utility import Instance
from dlsched.problems.utility.instances import state as adapter
from dlsched.records import read_trace
from dlsched.registry.cluster_state import ClusterState, JobState, Server
from dlsched.simulation import Cluster, Simulation, Workload, simulate
from dlsched.simulation.workload.generators import hadar_cluster, hadar_workload

MEASURED = Path(__file__).parents[3] / "shared" / "data" / "gavel" / "isolated_throughputs.json"
SLOT = 360
ONE = Cluster.of([{"gpus": 1, "gpu_type": "K80"}])
TWO_TYPES = [{"gpus": 1, "gpu_type": "V100"}, {"gpus": 1, "gpu_type": "K80"}]


def jobs(*rows: tuple[int, float], rates: dict[str, float] | None = None, **fields: Any) -> Any:
    """Return jobs of (GPUs, rounds that it needs on K80), twice as fast on V100; a, b and so on."""
    plain = {"rates": rates or {"V100": 2, "K80": 1}, "gpu_type": "K80"} | fields
    return by_hand(*({"gpus": gpus, "work": rounds * SLOT} for gpus, rounds in rows), **plain)


def ends(run: Simulation) -> list[float]:
    """Return the completion times in rounds."""
    return [float(end) / SLOT for end in run.jobs["end"]]


def last_rounds(run: Simulation) -> dict[str, int]:
    """Return the round in which each job is complete."""
    return {row.id: -(-row.end // SLOT) for row in run.jobs.itertuples()}


def last_slots(instance: Instance, method: str, **options: Any) -> dict[str, int]:
    """Return the slot in which each job of a method's solution is complete."""
    solved = dlsched.solve(instance, method, **options)
    assert solved.solution is not None
    return {name: held[-1].slot for name, held in solved.solution.schedule.items()}


def test_gavel_alternates_two_equal_jobs() -> None:
    """Shares of one half each on both types: each job has either type in every other round."""
    run = audited(jobs((1, 3), (1, 3)), Cluster.of(TWO_TYPES), "gavel")
    assert ends(run) == [2, 2]
    assert run.summary["decisions"] == 2


def test_gavel_gives_a_job_one_type() -> None:
    """Two GPUs of different types are free, and a job of two GPUs waits for two of one type."""
    cluster = Cluster.of([{"gpus": 2, "gpu_type": "K80"}, {"gpus": 1, "gpu_type": "V100"}])
    run = audited(jobs((2, 2), (1, 2)), cluster, "gavel")
    segments = run.log.rows("segments")
    pairs = [row[4] for row in segments if row[0] == 0]
    assert pairs
    assert all("s2" not in shares for shares in pairs)
    assert ends(run) == [2, 1]


def test_a_changed_allocation_costs_the_restart() -> None:
    """Both jobs lose ten seconds in each of their rounds, as they change types every round."""
    run = audited(jobs((1, 3), (1, 3), restart=10), Cluster.of(TWO_TYPES), "gavel")
    overheads = [row[7] for row in run.log.rows("segments")]
    assert len(overheads) == 6
    assert set(overheads) == {10_000_000}


def test_gavels_shares_follow_the_program() -> None:
    """The sum of throughputs leaves the slow job on the slow type, max-min fairness does not."""
    rows = [{"id": f"j{i}", "submit": 0, "gpus": 1, "work": 4 * SLOT * slow,
             "rates": {"V100": fast, "K80": slow}, "gpu_type": "K80"}
            for i, (fast, slow) in enumerate([(10, 1), (2, 1)])]  # fmt: skip
    workload = Workload.parse({"name": "two", "jobs": rows}, "the test")
    by_sum = audited(workload, Cluster.of(TWO_TYPES), "gavel", method="total")
    first = [row for row in by_sum.log.rows("segments") if row[1] == 0]
    assert [row[4] for row in sorted(first)] == ['[["s1", 1]]', '[["s2", 1]]']
    with pytest.raises(UnknownName):
        simulate(workload, Cluster.of(TWO_TYPES), "gavel", method="exact")


@pytest.mark.parametrize("program", ["makespan", "finish_time"])
def test_programs_that_read_the_work_that_remains(program: str) -> None:
    """Iterations that remain have more digits than a double, and all jobs complete."""
    workload = jobs((1, 1.2345), (1, 2.3456), rates={"V100": 7.052081, "K80": 3.333333}, restart=1)
    run = audited(workload, Cluster.of(TWO_TYPES), "gavel", method=program)
    assert run.summary["completed"] == 2


def test_yarn_cs_blocks_and_mixes_types() -> None:
    """The head of the queue takes both types at the slower rate; a small job behind one that does
    not fit waits with it, and completions count at rounds alone.
    """  # fmt: skip
    cluster = Cluster.of([{"gpus": 2, "gpu_type": "V100"}, {"gpus": 2, "gpu_type": "K80"}])
    run = audited(jobs((3, 1.5), (2, 2), (1, 1)), cluster, "yarn_cs")
    # a runs at the rate of K80 until 1.5; b and c start at 2, b on the V100s.
    assert ends(run)[0] == 1.5
    assert list(run.jobs["start"] / SLOT) == [0, 2, 2]
    at_events = audited(jobs((3, 1.5), (2, 2), (1, 1)), cluster, "yarn_cs", interval=None)
    assert list(at_events.jobs["start"] / SLOT) == [0, 1.5, 1.5]


def test_tiresias_may_keep_to_one_type() -> None:
    """Of three jobs with two GPUs each, the last gets one GPU of each type, or has to wait."""
    cluster = Cluster.of([{"gpus": 3, "gpu_type": "V100"}, {"gpus": 3, "gpu_type": "K80"}])
    options: dict[str, Any] = {"limits": (10**6,), "interval": SLOT}
    workload = jobs((2, 2), (2, 2), (2, 2))
    mixed = audited(workload, cluster, "tiresias", **options)
    assert list(mixed.jobs["start"]) == [0, 0, 0]
    assert ends(mixed) == [1, 2, 2]
    alone = audited(workload, cluster, "tiresias", one_type=True, **options)
    assert list(alone.jobs["start"] / SLOT) == [0, 0, 1]
    assert ends(alone) == [1, 2, 2]


CLUSTER = Cluster.of([{"gpus": 2, "gpu_type": "V100"}, {"gpus": 2, "gpu_type": "K80"}])


@pytest.mark.parametrize("method", ["hadar", "hadar_literal"])
def test_rounds_decide_as_the_problem_does(method: str) -> None:
    """Deciding anew in each round gives the schedule of the same method over the whole horizon."""
    sizes = [(1, 5), (2, 3), (1, 1), (3, 4), (2, 6), (1, 7)]
    run = audited(jobs(*sizes), CLUSTER, "hadar", method=method, mode="full")
    state = ClusterState(
        time=0,
        servers=tuple(Server(s.id, s.gpus, gpu_type=s.gpu_type) for s in CLUSTER.servers),
        running=(),
        waiting=tuple(
            JobState(job.id, job.gpus, job.gpus, job.gpus, 0, job.work, rates=job.rates,
                     gpu_type="K80", work=job.work)
            for job in jobs(*sizes).jobs
        ),
    )  # fmt: skip
    assert last_rounds(run) == last_slots(adapter.moment(state).instance, method)


def test_hadar_sticky_changes_fewer_rounds() -> None:
    """Running jobs keep their GPUs until one completes; both modes complete all jobs."""
    workload = hadar_workload(12, scale=0.1, seed=3)
    cluster = hadar_cluster(3, 4)
    sticky = audited(workload, cluster, "hadar")
    full = audited(workload, cluster, "hadar", mode="full")
    for run in (sticky, full):
        assert run.summary["completed"] == 12
    rounds = sticky.rounds
    completed = {float(end) for end in sticky.jobs["end"]}
    times = [0.0, *rounds["time"]]
    for before, row in zip(times, rounds.itertuples(), strict=False):
        if row.started or row.preempted:
            assert row.time == 0 or any(before < end <= row.time for end in completed)


def test_hadar_may_keep_what_runs() -> None:
    """A job on K80 moves to the V100 that becomes free, unless running jobs keep their GPUs."""
    moved = audited(jobs((1, 2), (1, 4)), Cluster.of(TWO_TYPES), "hadar", utility="inverse_time")
    kept = audited(
        jobs((1, 2), (1, 4), (1, 4)), Cluster.of(TWO_TYPES), "hadar", utility="inverse_time",
        mode="keep",
    )  # fmt: skip
    # a: 1 round on V100; b: 1 round on K80, then 1.5 on V100, or 4 on K80 while c is on V100.
    assert ends(moved) == [1, 2.5]
    assert ends(kept) == [1, 4, 3]
    assert kept.summary["preemptions"] == 0


@pytest.mark.parametrize("method", ["hadar", "milp"])
def test_utilities_of_hadar(method: str) -> None:
    """Which of two jobs is first depends on the unit of iterations with effective throughput alone;
    the inverse of the completion time and the linear utility prefer the short job.
    """  # fmt: skip

    def first(utility: str, rate: int) -> str:
        rows = [
            {"id": "long", "submit": 0, "gpus": 1, "work": 4 * SLOT, "rates": {"K80": 50}},
            {"id": "short", "submit": 0, "gpus": 1, "work": 2 * SLOT, "rates": {"K80": rate}},
        ]
        data = {"name": "two", "jobs": [row | {"gpu_type": "K80"} for row in rows]}
        workload = Workload.parse(data, "the test")
        run = audited(workload, ONE, "hadar", method=method, utility=utility)
        return "long" if ends(run)[0] == 4 else "short"

    found = {name: (first(name, 1), first(name, 1000)) for name in adapter.UTILITIES}
    assert found["effective_throughput"] == ("long", "short")
    assert found["normalized_throughput"][0] == found["normalized_throughput"][1]
    assert found["inverse_time"] == found["linear"] == ("short", "short")


def test_other_methods_plan_the_round() -> None:
    """With the optimum of the plan, one of two jobs has the fast GPU until it is complete."""
    run = audited(jobs((1, 2), (1, 4)), Cluster.of(TWO_TYPES), "hadar", method="milp", slots=6)
    # a: 1 round on V100; b: 1 round on K80, then 1.5 on V100.
    assert ends(run) == [1, 2.5]
    solved = [json.loads(text) for text in run.rounds["solved"]]
    assert {row["method"] for row in solved if row} == {"milp"}


def test_the_workload_is_that_of_the_section() -> None:
    """GPU-hours are within the groups, models those of Table III, the cluster has 20 of each."""
    workload = hadar_workload(200, scale=1, seed=1)
    groups = {"resnet18": (0, 1), "cyclegan": (1, 10), "lstm": (10, 50), "transformer": (10, 50),
              "resnet50": (60, 100)}  # fmt: skip
    for job in workload.jobs:
        low, high = groups[job.model or ""]
        hours = float(job.work) * job.gpus / 3600
        assert low - 1e-6 <= hours <= high + 1e-6
        assert (job.submit, job.restart, job.gpu_type) == (0, 10, "K80")
    assert {job.model for job in workload.jobs} == set(groups)
    assert hadar_cluster().gpus_by_type == {"V100": 20, "P100": 20, "K80": 20}
    assert len(hadar_cluster().servers) == 15


def test_measured_rates() -> None:
    """Rates are those of the file at (model, GPUs); CycleGAN, measured with one GPU, has one."""
    if not MEASURED.exists():
        pytest.skip("needs ../shared/data/gavel")
    workload = hadar_workload(100, measured=MEASURED)
    found = {(job.model, job.gpus): job.rates for job in workload.jobs}
    assert [float(found["cyclegan", 1][kind]) for kind in ("V100", "P100", "K80")] == [
        4.426088, 2.402668, 0.504771]  # fmt: skip
    assert {gpus for model, gpus in found if model == "cyclegan"} == {1}
    assert float(found["resnet18", 4]["K80"]) == 21.625568


def test_what_cannot_be_used_is_refused(tmp_path: Path) -> None:
    """Options out of range, a file without the models, and clusters with half of the types."""
    with pytest.raises(OptionError):
        hadar_workload(0)
    other = tmp_path / "rates.json"
    other.write_text('[{"job_type": "x", "scale_factor": 1, "iterations_per_second": {"v100": 1}}]')
    with pytest.raises(InstanceError, match="ResNet-18"):
        hadar_workload(3, measured=other)
    with pytest.raises(OptionError, match="sticky"):
        simulate(jobs((1, 1)), CLUSTER, "hadar", mode="loose")
    with pytest.raises(OptionError, match="inverse_time"):
        simulate(jobs((1, 1)), CLUSTER, "hadar", utility="none")
    half = ClusterState(0, (Server("a", 1, gpu_type="V100"), Server("b", 1)), (), ())
    with pytest.raises(DlschedError, match="server b"):
        adapter.instance(half)


def test_an_instance_of_a_moment_of_a_trace() -> None:
    """A trace without rates gives an instance, which a heuristic solves."""
    from dlsched.records import snapshot

    shot = snapshot(read_trace("sample-philly"), at="3h", servers=3)
    made = shot.instance("utility")
    assert made.jobs
    assert len(made.jobs) == len(shot.state.running) + len(shot.state.waiting)
    assert dlsched.solve(made, "srtf").solution is not None


NODES = Cluster.of([{"gpus": 1, "gpu_type": "V100", "count": 2}, {"gpus": 1, "gpu_type": "K80"}])


def test_hadare_adds_up_its_copies() -> None:
    """One job has copies on all three nodes: five times as fast as on K80."""
    run = audited(jobs((1, 8), min_gpus=1, max_gpus=3), NODES, "forked")
    assert ends(run) == [1.6]
    alone = audited(jobs((1, 8)), NODES, "forked")
    assert ends(alone) == [4]


@pytest.mark.parametrize(
    ("policy", "options"),
    [("forked", {}), ("hadare", {"divided": False}), ("hadare", {"divided": True})],
)
def test_copies_are_decided_on_as_the_problem_does(policy: str, options: dict[str, Any]) -> None:
    """The rounds are the slots of the method of the same name for the forking problem."""
    rounds = [7, 3, 12, 5]
    workload = jobs(*((1, n) for n in rounds), min_gpus=1, max_gpus=3)
    run = audited(workload, NODES, policy, **options)
    data = {
        "dlsched": 1, "problem": "utility", "name": "forked", "slots": 20, "slot_seconds": SLOT,
        "forking": True,
        "machines": [{"id": s.id, "gpus": {s.gpu_type: 1}} for s in NODES.servers],
        "jobs": [{"id": "abcd"[i], "arrival": 1, "workers": 1, "iterations": n * SLOT,
                  "rates": {"V100": 2, "K80": 1}} for i, n in enumerate(rounds)],
    }  # fmt: skip
    assert last_rounds(run) == last_slots(Instance.parse(data, "the test"), policy, **options)


def test_copies_keep_to_the_limit_of_their_job() -> None:
    """Jobs that may have two copies leave the third node to others; one that may not fork, two."""
    workload = jobs((1, 8), (1, 2), min_gpus=1, max_gpus=2)
    run = audited(workload, NODES, "hadare")
    begin = {row[0]: row[3] for row in run.log.rows("segments") if row[1] == 0}
    assert begin == {0: 2, 1: 1}
    alone = audited(jobs((1, 8)), NODES, "hadare", utility="inverse_time")
    assert ends(alone) == [4]
    with pytest.raises(OptionError, match="inverse_time"):
        simulate(workload, NODES, "hadare", utility="none")


def test_nodes_idle_at_the_end_of_a_round_that_is_not_the_last() -> None:
    """Theorem 3's corollary: every node has a copy in each round, and some are idle in the first.

    Two jobs of 1.2 and 6 rounds of K80 do 5 rounds of K80 in a round on all nodes together.
    """
    run = audited(jobs((1, 1.2), (1, 6), min_gpus=1, max_gpus=3), NODES, "forked")
    assert max(ends(run)) > 1
    held = sum(
        row[3] * (min(row[2], SLOT * 10**6) - row[1])
        for row in run.log.rows("segments")
        if row[1] < SLOT * 10**6
    )
    assert held < 3 * SLOT * 10**6
