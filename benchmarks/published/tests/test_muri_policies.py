"""Muri's published simulator on small cases: worked out by hand, or random and audited."""

from typing import Any

import pytest
from muri_cases import ends, jobs, random_jobs, run
from published.log import Log
from published.muri.antman import slowed
from published.muri.jobs import states
from published.muri.recorder import Held, Recorder

from dlsched.errors import InstanceError, OptionError, UnknownName
from dlsched.simulation import Cluster, Loan
from dlsched.simulation.engine.decision import PolicyError
from dlsched.simulation.log import Segment


def test_overhead_is_lost_at_every_event_that_a_job_runs_through() -> None:
    """Arrivals at 10 and 30 cost a running job 4 s each; the foreseen end counts no overhead."""
    rows = [{"restart": 4}, {"submit": 10, "iterations": 20}, {"submit": 30, "iterations": 10}]
    done = run(jobs(rows), "srtf", Cluster.uniform(1, 8))
    # The second ends at 30, with the third's arrival: 0 -> 10 -> 30 -> 40 leaves 100 - 6 - 16 - 6.
    assert ends(done) == [40 + 72, 30, 40]


def test_srsf_counts_gpus() -> None:
    """Under SRSF one GPU for 100 s goes before 4 for 30 s; under SRTF after it."""
    rows: list[dict[str, Any]] = [{"iterations": 100, "gpus": 1}, {"iterations": 30, "gpus": 4}]
    small = Cluster.uniform(1, 4)
    assert ends(run(jobs(rows), "srsf", small)) == [100, 130]
    assert ends(run(jobs(rows), "srtf", small)) == [130, 30]


def test_tiresias_demotes_by_gpu_seconds() -> None:
    """At 3250 GPU-seconds on 4 GPUs, after 813 s, a job goes behind a newer one."""
    rows = [{"gpus": 4, "iterations": 2000}, {"gpus": 4, "iterations": 100, "submit": 5}]
    done = run(jobs(rows), "tiresias", Cluster.uniform(1, 4))
    assert ends(done) == [2100, 913]


def test_antman_runs_an_opportunistic_job_beside_a_guaranteed_one() -> None:
    """The opportunistic job is slowed until the guaranteed one ends."""
    guaranteed = {"priority": 0, "iterations": 100, "stages": (0.25, 0.5, 0.25)}
    opportunistic = {"priority": 1, "iterations": 100, "stages": (0.5, 0.25, 0.25)}
    workload = jobs([guaranteed, opportunistic])
    # Loading 0.5 fits into the 0.75 that the other leaves; 0.25 of its GPU time fits beside that.
    # What is left of GPU and network time: nothing, and 0.25 in the other's loading.
    first, second = states(workload)
    assert slowed(second, first) == pytest.approx(1.0)
    assert ends(run(workload, "antman", Cluster.uniform(1, 1))) == [100, 100]


def test_antman_counts_whole_iterations_of_the_other_job() -> None:
    """Loading 2.5 takes four iterations of a job that leaves 0.75 of each."""
    guaranteed = {"priority": 0, "stages": (0.25, 0.5, 0.25)}
    slow, fast = {"priority": 1, "stages": (2.5, 0, 0)}, {"priority": 1, "stages": (0, 0.5, 0)}
    first, second, third = states(jobs([guaranteed, slow, fast]))
    assert slowed(second, first) == pytest.approx(4.0)
    assert slowed(third, first) == pytest.approx(1.0)


def test_antman_reserves_gpus_of_one_server() -> None:
    """A guaranteed job keeps 2 GPUs of the first server and waits there, though another frees 4."""
    rows = [
        {"gpus": 2, "iterations": 100},
        {"gpus": 4, "iterations": 50},
        {"gpus": 4, "iterations": 10, "submit": 1},
    ]
    done = run(jobs(rows), "antman", Cluster.uniform(2, 4))
    assert ends(done) == [100, 50, 110]


def test_profiling_noise_repeats_by_seed() -> None:
    """The same seed gives the same simulation; noise of 0 is none; another seed differs."""
    small = Cluster.uniform(1, 8)
    found = [
        ends(run(random_jobs(1, 30), "muri_l", small, method="muri", seed=s, profile_error=e))
        for s, e in ((0, 1.0), (0, 1.0), (0, 0.0), (1, 0.0), (1, 1.0))
    ]
    assert found[0] == found[1]
    assert found[2] == found[3]
    assert len({tuple(f) for f in found}) == 3


def test_overhead_is_at_most_the_time_of_its_segment() -> None:
    """The sum of overheads, 0.1 and 0.2, exceeds 0.3 by rounding; the segment's does not."""
    (job,) = states(jobs([{}]))
    log = Log()
    recorder = Recorder(log, ["s1"], None)
    recorder.record(0.0, "arrival", 1, {0: Held(((0, 1),), None, 1.0)}, 0.0)
    recorder.progress(job, 0.1, 0.0)
    recorder.progress(job, 0.2, 0.0)
    recorder.complete_all(job, 0.3)
    (row,) = log.rows("segments")
    assert Segment(*row).overhead == 0.3


@pytest.mark.parametrize(
    ("policy", "options", "error", "words"),
    [
        ("srtf", {"method": "exact"}, OptionError, "no method"),
        ("srtf", {"split": True}, OptionError, "no option 'split'"),
        ("themis", {"interval": 0}, OptionError, "above 0"),
        ("muri_s", {"method": "blossom"}, UnknownName, "in_order"),
        ("muri_s", {"max_group_size": 5}, OptionError, "1 to 4"),
        ("muri_s", {"profile_error": 2}, OptionError, "from 0 to 1"),
        ("muri_s", {"weigh_by": "jobs"}, UnknownName, "groups"),
        ("muri_s", {"colour": 1}, OptionError, "no option 'colour'"),
    ],
)
def test_options_that_cannot_be(
    policy: str, options: dict[str, Any], error: type[Exception], words: str
) -> None:
    """A wrong option or method is named, with what there is."""
    with pytest.raises(error, match=words):
        run(jobs([{}]), policy, **options)


def test_jobs_that_cannot_be() -> None:
    """Jobs without iterations or stages, too large ones, and loans are refused."""
    with pytest.raises(InstanceError, match=r"jobs\[0\].iterations"):
        run(jobs([{"iterations": None}]), "srtf")
    with pytest.raises(InstanceError, match=r"jobs\[1\].stages"):
        run(jobs([{}, {"stages": ()}]), "antman")
    for policy in ("srtf", "themis"):
        with pytest.raises(PolicyError, match="larger servers"):
            run(jobs([{"gpus": 9}]), policy, Cluster.uniform(1, 8))
    lent = Cluster.of([{"gpus": 8}, {"gpus": 8, "pool": "loan"}])
    with pytest.raises(OptionError, match="loans"):
        run(jobs([{}]), "srtf", lent.model_copy(update={"loans": (Loan(time=0, servers=1),)}))
