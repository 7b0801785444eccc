"""Jobs with a goodput, and the policies that give them GPUs: by hand, at random, and refused."""

import random
from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from simulation_cases import Scripted, audited, by_hand, changed, column, ends, on

from dlsched import InstanceError, OptionError, solve, verify
from dlsched.problems.configurations import Solution
from dlsched.simulation import (
    Cluster,
    Decision,
    PolicyError,
    State,
    Workload,
    make_policy,
    simulate,
)

GOODPUT: dict[str, Any] = {
    "first_batch": 4,
    "largest_batch": 64,
    "noise": [0, 30],
    "types": {
        "x": [16, 0.5, 0.1, 0.4, 0.01, 0.1, 0.01, 1],
        "y": [16, 1, 0.4, 0.2, 0.1, 0.1, 0.1, 2],
    },
}
JOB = {"goodput": GOODPUT, "gpu_type": "x", "gpu_types": ["x", "y"], "max_gpus": 8}
TWO = Cluster.of([{"gpus": 4, "gpu_type": "x", "count": 2}, {"gpus": 4, "gpu_type": "y"}])


def test_speeds_change_with_the_part_of_the_training() -> None:
    """With no noise larger batches gain nothing: four GPUs bring less in the first half.

    Alone, a batch of 4 takes .5 + .4 s. On four GPUs it takes .5 + .1 + .1 + .02, in the second
    half larger batches are worth it.
    """
    workload = by_hand(JOB | {"work": 100})
    run = audited(workload, TWO, Scripted({0: Decision({"a": on(("s1", 4))})}))
    first, second = map(Fraction, column(run, "speed"))
    assert first == pytest.approx(0.9 / 0.72, rel=1e-5)
    assert second > 2 * first
    half = workload.jobs[0].part_ends[0] / 10**6
    assert 0 < half < 100
    assert ends(run) == [pytest.approx(half / first + (100 - half) / second)]


def test_a_gpu_that_holds_far_more_than_the_largest_batch() -> None:
    """How much more makes no difference: it holds every batch at once."""
    numbers = GOODPUT["types"]["x"][1:]
    jobs = [JOB | {"goodput": GOODPUT | {"types": {"x": [most, *numbers]}}} | {"gpu_types": ["x"]}
            for most in (64, 10**9)]  # fmt: skip
    few, many = (by_hand(job).jobs[0].throughputs(1) for job in jobs)
    assert few == many and few


def test_a_job_without_checkpoints_begins_again_with_its_first_part() -> None:
    """It is preempted in the second part, and is then as slow as at first."""
    script = {0: Decision({"a": on(("s1", 4))}), 55: Decision(preempt=["a"]),
              60: Decision({"a": on(("s1", 4))})}  # fmt: skip
    job = JOB | {"work": 100, "checkpoints": False}
    run = audited(by_hand(job), TWO, Scripted(script, interval=5, on_events=False))
    speeds = column(run, "speed")
    assert len(speeds) == 4
    assert speeds[:2] == speeds[2:]


@pytest.mark.parametrize("number", [0, 1])
def test_another_speed_is_found_by_the_audit(number: int) -> None:
    """In each part of the training."""
    run = simulate(by_hand(JOB), TWO, Scripted({0: Decision({"a": on(("s3", 2))})}))
    other = changed(run, f"UPDATE segments SET speed = '7' WHERE rowid = {number + 1}")
    assert "speed" in {violation.kind for violation in other.audit().violations}


class Comparing(type(make_policy("sia"))):
    """Compares each round with the exact answer to its instance."""

    def decide(self, state: State) -> Decision:
        """Return the round's decision, after what is then held was checked as a solution."""
        instance = self.instance(state, self.nodes(view.server for view in state.servers))
        decision = super().decide(state)
        held = {n: a for n, a in state.allocations.items() if n not in decision.preempt}
        held |= decision.start
        servers = state.cluster.by_id
        kinds = {n: servers[a.shares[0].server] for n, a in held.items()}
        chosen = {n: f"{kinds[n].gpu_type}/{kinds[n].gpus} x{a.gpus}" for n, a in held.items()}
        report = verify(instance, Solution(configurations=chosen))
        assert report.feasible
        assert report.objective == solve(instance, "milp").objective
        return decision


def random_case(seed: int) -> tuple[Workload, Cluster]:
    """Draw servers of types, partitions and outages, and jobs with a goodput and without."""
    rng = random.Random(seed)
    size = {"x": rng.choice([1, 2, 4, 6]), "y": rng.choice([2, 3, 4])}
    kinds = ["x", "y", *rng.choices(["x", "y"], k=rng.randint(0, 3))]
    servers = [
        {"id": f"s{i}", "gpus": size[kind], "gpu_type": kind, "partitions": rng.choice([[], ["p"]])}
        for i, kind in enumerate(kinds)
    ]
    away = [{"server": "s1", "start": 100, "end": 900}] if seed % 3 == 0 else []
    rows: list[dict[str, Any]] = []
    for i in range(rng.randint(2, 7)):
        row = {"id": f"j{i}", "submit": rng.choice([0, 30, 200]), "gpus": 1}
        row |= {"work": rng.choice([50, 400, 1200.5]), "restart": rng.choice([0, 20, 90])}
        row["checkpoints"] = rng.random() < 0.8
        types = rng.choice([["x"], ["y"], ["x", "y"]])
        if rng.random() < 0.7:
            noise = [rng.choice([0, 5, 100]) for _ in range(rng.randint(1, 3))]
            row |= {"goodput": GOODPUT | {"noise": noise}, "max_gpus": rng.choice([1, 4, 16])}
            row |= {"gpu_type": types[0], "gpu_types": types}
        else:
            row |= {"gpu_types": types, "max_gpus": rng.choice([1, 2])}
        rows.append(row | ({"partition": "p"} if rng.random() < 0.2 else {}))
    cluster = Cluster.parse({"servers": servers, "away": away}, "random")
    return Workload.parse({"name": "random", "jobs": rows}, "random"), cluster


MANY = pytest.param(range(1000, 1200), marks=pytest.mark.slow)


@pytest.mark.parametrize("seeds", [range(3), MANY])
def test_a_round_is_the_exact_answer_to_its_instance(seeds: Iterable[int]) -> None:
    """Whatever jobs keep their servers, and whichever move."""
    for seed in seeds:
        workload, cluster = random_case(seed)
        if not any(job.partition for job in workload.jobs):
            audited(workload, cluster, Comparing(interval=100))


@pytest.mark.parametrize("seeds", [range(2), MANY])
@pytest.mark.parametrize("policy", ["sia", "pollux", "lyra", "gavel", "srtf"])
def test_random_clusters_are_audited_and_no_better_than_a_bound(
    policy: str, seeds: Iterable[int]
) -> None:
    """With types, partitions and outages, under policies that know of goodput and others."""
    options = {} if policy == "srtf" else {"interval": 100}
    for seed in seeds:
        run = audited(*random_case(seed), policy, seed=seed, **options)
        for metric in ("mean_jct", "makespan"):
            assert run.bound(metric).value <= run.summary[metric] * (1 + 1e-12), (seed, metric)


def test_pollux_gives_every_job_a_gpu_before_a_second_one() -> None:
    """It begins with one each, and doubles from round to round, whatever the types."""
    workload = by_hand(*[JOB | {"work": 1000}] * 3)
    run = audited(workload, TWO, "pollux")
    gpus = column(run, "gpus")
    assert gpus[:3] == [1, 1, 1]
    assert max(gpus) >= 4


HEADER = "name,time,application,num_replicas,batch_size"


def read(path: Path, *lines: str, **options: Any) -> Workload:
    """Return a workload from lines in the format of Sia's authors."""
    path.write_text("\n".join([HEADER, *lines]) + "\n", encoding="utf-8")
    return Workload.from_trace(path, "sia", **options)


def test_public_workloads_are_read(tmp_path: Path) -> None:
    """A job has the goodput of its application, or the rates of what it was submitted with."""
    path = tmp_path / "w.csv"
    line = "cifar10-1,60.5,cifar10,6,2048"
    (job,) = read(path, line).jobs
    assert (job.gpus, job.max_gpus, job.batch_size, job.gpu_type) == (1, 64, 2048, "t4")
    # 5.0 M samples at 1.8 times the time; a T4 has 128 in .01751 + 128 x .0007034 s.
    assert float(job.work) == pytest.approx(1.8 * 4999936 * (0.01751 / 128 + 0.0007034), rel=0.1)
    (rigid,) = read(path, line, rigid=True).jobs
    assert (rigid.gpus, rigid.goodput, set(rigid.rates)) == (6, None, {"t4", "rtx", "a100"})
    # The profile of batches of 2048 has 3,178 iterations.
    assert float(rigid.work * rigid.rates["t4"] / Fraction("1.8")) == pytest.approx(3178, rel=0.04)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["a,0,gpt,1,8"], "job a: model: 'gpt' has no profile; use one of: bert, cifar10"),
        (["a,soon,bert,1,12"], "row 2: submit: 'soon' is no number"),
        (["a,0,bert,1"], "row 2: has not five columns"),
        (["a,0,bert,0,12"], "there is no job"),
    ],
)
def test_workloads_that_cannot_be_read_are_refused(
    lines: list[str], message: str, tmp_path: Path
) -> None:
    """With the row or the job, and what to do."""
    with pytest.raises(InstanceError, match=message):
        read(tmp_path / "w.csv", *lines)


@pytest.mark.parametrize(
    "options",
    [
        {"power": 0}, {"power": 3}, {"power": float("nan")}, {"power": "fair"}, {"power": 1e300},
        {"penalty": -1}, {"penalty": float("inf")}, {"penalty": 1e-12}, {"penalty": None},
        {"interval": 0}, {"interval": -60}, {"interval": float("nan")}, {"round": 60},
    ],
)  # fmt: skip
def test_numbers_that_no_round_can_have_are_refused(options: dict[str, Any]) -> None:
    """By one error, which names the option."""
    with pytest.raises(OptionError, match=next(iter(options))):
        simulate(by_hand(JOB), TWO, "sia", **options)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"noise": []}, "noise: is empty"),
        ({"types": {}}, "types: is empty"),
        ({"largest_batch": 2}, "largest_batch: is below first_batch"),
        ({"noise": [1e12]}, "noise: or a batch is above"),
        ({"types": {"x": [16, 0.5, 0.1, 0.4, 0.01, 0.1, 0.01, 1e9]}}, "types.x: has a number"),
        ({"types": {"x": [16, 0.5, 0.1, 0.4, 0.01, 0.1, 0.01]}}, "types.x"),
        ({"least_local": 65}, "goodput: no batch size is possible with 1 GPUs of x"),
    ],
)
def test_profiles_that_cannot_be_used_are_refused(change: dict[str, Any], message: str) -> None:
    """A formula of large powers would overflow."""
    with pytest.raises(InstanceError, match=message):
        by_hand({**JOB, "gpu_types": ["x"], "max_gpus": 1, "goodput": GOODPUT | change})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"gpu_type": "z"}, "gpu_type: 'z' has no goodput; name types of its profile: x, y"),
        ({"gpu_types": ["x", "z"]}, "gpu_type: 'z' has no goodput"),
        ({"rates": {"x": 1}}, "rates: is given beside goodput"),
        ({"scaling_loss": 0.2}, "scaling_loss: is given beside goodput"),
    ],
)
def test_jobs_with_two_sources_of_speed_are_refused(change: dict[str, Any], message: str) -> None:
    """Or with types that the profile does not know."""
    with pytest.raises(InstanceError, match=message):
        by_hand(JOB | change)


def test_a_job_that_no_configuration_suits_is_refused() -> None:
    """Three GPUs are no power of two, and no whole servers."""
    with pytest.raises(PolicyError, match="policy sia: job a needs 3 to 3 GPUs"):
        simulate(by_hand({"gpus": 3}), TWO, "sia")


def test_lyra_takes_no_gpus_that_would_slow_a_job() -> None:
    """Across servers jobs synchronise longer; what a job does not take, another one has."""
    slow = GOODPUT | {"types": {"x": [16, 0.5, 0.1, 9, 1, 0.1, 0.01, 1]}}
    job = JOB | {"goodput": slow, "gpu_types": ["x"], "work": 500}
    audited(by_hand(*[job] * 4), Cluster.uniform(3, 2, gpu_type="x"), "lyra")
