"""Themis and AntMan as compared in Muri's evaluation, on cases worked out by hand."""

from __future__ import annotations

import json
from collections.abc import Mapping
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from simulation_cases import audited, by_hand, ends, profiled_case

from dlsched.errors import OptionError
from dlsched.simulation import (
    Allocation,
    BasePolicy,
    Cluster,
    Decision,
    PolicyError,
    Share,
    State,
    Workload,
    simulate,
)
from dlsched.simulation.audit import audit
from dlsched.simulation.engine import engine
from dlsched.simulation.engine.speeds import idle_speed
from dlsched.simulation.log import COMPARED
from dlsched.simulation.measures import metrics
from dlsched.simulation.pictures.charts import draw_timeline
from dlsched.simulation.pictures.lanes import stretches

BALANCED = {"priority": 0, "stages": [1, 2, 1]}
"""A guaranteed job that leaves 3/4, 1/2 and 3/4 of its resources idle."""
LOADING = {"priority": 1, "stages": [3, 0, 0]}
"""An opportunistic job that needs only the first of them: speed 3/4 beside the other."""


jobs = partial(by_hand, work=12)


def run(workload: Workload, policy: Any, servers: int = 1, gpus: int = 1, **options: Any) -> Any:
    """Simulate, audit, and return the simulation."""
    return audited(workload, Cluster.uniform(servers, gpus), policy, **options)


def test_stages_are_slowed_to_what_is_idle() -> None:
    """1 of 1 at 3/4, 2 at 1/2 and 1 at 3/4 take 20/3 for 4; a resource never idle stops a job."""
    assert idle_speed((1, 2, 1), (1, 2, 1)) == Fraction(3, 5)
    assert idle_speed((3, 0, 0), (0, 0, 5)) == 1
    assert idle_speed((3, 1, 0), (0, 5, 0)) == 0


def test_an_opportunistic_job_is_slowed_while_the_guaranteed_one_runs() -> None:
    """b does 9 s of its 12 beside a until 12, at 3/4, and the rest alone; a is not slowed."""
    done = run(jobs(BALANCED, LOADING), "antman")
    assert ends(done) == [12, 15]
    speeds = [(row[0], row[1] / 1e6, row[6]) for row in done.log.rows("segments")]
    assert sorted(speeds) == [(0, 0, "1"), (1, 0, "3/4"), (1, 12, "1")]
    assert done.summary["utilization"] == 1
    assert done.summary["mean_queueing"] == 0


def test_a_guaranteed_job_takes_gpus_on_which_an_opportunistic_one_runs() -> None:
    """b runs alone until 4; then a comes to the same GPU, and b does its other 8 s at 3/4."""
    done = run(jobs(LOADING, BALANCED | {"submit": 4}), "antman")
    assert ends(done)[:2] == [pytest.approx(4 + 8 / 0.75, abs=1e-5), 16]


def test_idle_gpus_are_taken_first() -> None:
    """With a second GPU the opportunistic job is beside nobody; a second such job is."""
    done = run(jobs(BALANCED, LOADING, LOADING), "antman", gpus=2)
    assert ends(done) == [12, 12, 15]


def test_a_job_on_gpus_of_several_has_the_least_of_their_speeds() -> None:
    """Beside a and b the speeds are 3/4 and 1/2; b ends at 4, so 2 of 12 s are done by then."""
    slower = BALANCED | {"stages": [2, 1, 1], "work": 4}
    done = run(jobs(BALANCED, slower, LOADING | {"gpus": 2}), "antman", gpus=2)
    assert ends(done) == [12, 4, 12 + 12 - 4 / 2 - 8 * 0.75]


def test_guaranteed_jobs_start_in_the_order_of_submission() -> None:
    """c fits beside a, but b came before it; opportunistic d of one GPU does not wait."""
    rows = [BALANCED | {"gpus": 3}, BALANCED | {"gpus": 2}, BALANCED, LOADING]
    done = run(jobs(*rows), "antman", gpus=4)
    assert ends(done)[:3] == [12, 24, 24]
    assert done.jobs["start"].tolist() == [0, 12, 12, 0]
    assert done.summary["preemptions"] == 0


def test_opportunistic_jobs_are_skipped_if_they_do_not_fit() -> None:
    """b needs two GPUs without opportunistic jobs, c one; c starts while b waits for a."""
    rows = [LOADING, LOADING | {"gpus": 2}, LOADING | {"work": 6}]
    assert run(jobs(*rows), "antman", gpus=2).jobs["start"].tolist() == [0, 12, 0]


def test_jobs_without_stages_are_refused() -> None:
    """Nobody knows what they would leave idle."""
    with pytest.raises(OptionError, match="stages"):
        simulate(jobs({}), Cluster.uniform(1, 1), "antman")


class Fixed(BasePolicy):
    """Starts jobs on stated GPUs at 0."""

    layers = "priority"

    def __init__(self, held: Mapping[str, Share], group: str | None = None) -> None:
        super().__init__()
        self.held, self.group = held, group

    def decide(self, state: State) -> Decision:
        """Start what is written down, and nothing later."""
        if state.time:
            return Decision()
        return Decision({name: Allocation((s,), self.group) for name, s in self.held.items()})


def test_layers_are_refused_where_they_cannot_be() -> None:
    """GPUs not stated, not there, or held in the same layer; groups; servers on loan."""
    two = jobs(BALANCED, BALANCED)
    for held, group, said in (
        ({"a": Share("s1", 1)}, None, "state 1"),
        ({"a": Share("s1", 1, devices=(2,))}, None, "from 0 to 1"),
        ({name: Share("s1", 1, devices=(0,)) for name in "ab"}, None, "same layer"),
        ({"a": Share("s1", 1, devices=(0,))}, "g", "has none"),
    ):
        with pytest.raises(PolicyError, match=said):
            simulate(two, Cluster.uniform(1, 2), Fixed(held, group))
    lent = {"servers": [{"id": "s1", "gpus": 1}, {"id": "s2", "gpus": 1, "pool": "loan"}]}
    with pytest.raises(PolicyError, match="on loan"):
        simulate(two, Cluster.parse(lent, "cluster"), "antman")


CHANGES = {
    "device": "UPDATE segments SET shares = replace(shares, '[0]', '[7]')",
    "speed": "UPDATE segments SET speed = '1' WHERE speed = '3/4'",
}


@pytest.mark.parametrize("kind", CHANGES)
def test_the_auditor_checks_layers(kind: str) -> None:
    """GPUs that are not there, and a speed that is not what is idle."""
    log = run(jobs(BALANCED, LOADING), "antman").log
    log.database.execute(CHANGES[kind])
    assert kind in {violation.kind for violation in audit(log, metrics.summary).violations}


def test_two_jobs_of_a_layer_on_one_gpu_are_found() -> None:
    """If both jobs were guaranteed, they could not hold the same GPU."""
    log = run(jobs(BALANCED, LOADING), "antman").log
    workload = log.meta()["workload"]
    workload["jobs"][1]["priority"] = 0
    log.database.execute(
        "UPDATE meta SET value = ? WHERE key = 'workload'", (json.dumps(workload),)
    )
    assert {"device", "gpus"} <= {violation.kind for violation in audit(log).violations}


def test_a_picture_shows_both_layers() -> None:
    """Both jobs are on the GPU that the log names, and share its pixels."""
    done = run(jobs(BALANCED, LOADING), "antman")
    servers = [server.model_dump() for server in done.cluster.servers]
    found = stretches(servers, metrics.frame(done.log, "segments"))
    assert {(s.lane, s.job) for s in found} == {(0, 0), (0, 1)}
    pixels = draw_timeline(done).images[0].get_array()
    assert len({tuple(colour) for colour in pixels[0, : pixels.shape[1] // 2]}) == 2


@pytest.mark.parametrize("policy", ["antman", "themis"])
def test_a_simulation_stopped_at_every_commit_goes_on(
    policy: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What runs beside what, and the times with a fair share, are in the log."""
    monkeypatch.setattr(engine, "COMMIT_ROWS", 15)
    workload, cluster = profiled_case(7)

    def interrupt(*_: int) -> None:
        raise KeyboardInterrupt

    tries = 0
    while tries < 100:
        try:
            done = simulate(workload, cluster, policy, log=tmp_path / "log", resume=True,
                            on_progress=interrupt)  # fmt: skip
            break
        except KeyboardInterrupt:
            tries += 1
    assert tries >= 2
    whole = simulate(workload, cluster, policy)
    assert all(done.log.rows(table) == whole.log.rows(table) for table in COMPARED)


def test_themis_takes_turns() -> None:
    """Equal jobs on one GPU: the one that ran less goes on, in leases of 4 s."""
    two = jobs({}, {})
    done = run(two, "themis", interval=4)
    rows = [(row[0], row[1] / 1e6, row[2] / 1e6) for row in done.log.rows("segments")]
    assert sorted(rows, key=lambda row: row[1]) == [
        (0, 0, 4), (1, 4, 8), (0, 8, 12), (1, 12, 16), (0, 16, 20), (1, 20, 24)
    ]  # fmt: skip
    assert ends(done) == [20, 24]


def test_themis_prefers_the_job_that_is_behind_its_fair_share() -> None:
    """A short job that comes to a long one runs first: its ratio would rise fastest."""
    done = run(jobs({"work": 100}, {"work": 10, "submit": 10}), "themis", interval=1000)
    assert ends(done) == [110, 20]


def test_themis_refuses_an_interval_of_nothing() -> None:
    """Leases take time."""
    with pytest.raises(OptionError, match="interval=0"):
        simulate(jobs({}), Cluster.uniform(1, 1), "themis", interval=0)
