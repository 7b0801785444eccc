"""Pictures of simulations: what they show, and what cannot be drawn."""

from __future__ import annotations

from collections.abc import Iterator

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest

from dlsched import OptionError
from dlsched.simulation import Cluster, Simulation, Workload, simulate
from dlsched.simulation.pictures.charts import (
    draw_distribution,
    draw_over_time,
    draw_timeline,
    frame,
    stretches,
)


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    """Draw into files only, and close what was drawn."""
    with mpl.rc_context({"backend": "Agg"}):
        yield
    plt.close("all")


@pytest.fixture(scope="module")
def run() -> Simulation:
    """Three jobs of two GPUs on four: the third waits for ten seconds."""
    jobs = [{"id": name, "submit": 0, "gpus": 2, "work": 10} for name in "abc"]
    workload = Workload.parse({"name": "hand", "jobs": jobs}, "hand")
    return simulate(workload, Cluster.uniform(1, 4), "fifo")


def test_each_gpu_has_one_job_at_a_time(run: Simulation) -> None:
    """The first two jobs have two GPUs each, the third those of the first."""
    servers = [server.model_dump() for server in run.cluster.servers]
    found = {(s.lane, s.start, s.job) for s in stretches(servers, frame(run.log, "segments"))}
    assert found == {(0, 0, 0), (1, 0, 0), (2, 0, 1), (3, 0, 1), (0, 10, 2), (1, 10, 2)}


def test_timeline_shows_idle_gpus(run: Simulation) -> None:
    """In the second half of the time two of the four GPUs are idle, and white."""
    ax = draw_timeline(run)
    pixels = np.asarray(ax.images[0].get_array())
    white = (pixels == 1).all(axis=2)
    assert white[:, : white.shape[1] // 2].sum() == 0
    assert white[2:, white.shape[1] // 2 :].all()
    assert not white[:2].any()


def test_curve_of_waiting_jobs(run: Simulation) -> None:
    """One job waits until 10 seconds, none later; the axis has hours and begins at 0."""
    ax = draw_over_time([run], "waiting")
    (line,) = ax.lines
    assert [3600 * hours for hours in line.get_xdata()] == pytest.approx([0, 10, 20])
    assert ax.get_xlabel() == "hours" and ax.get_xlim()[0] == 0
    assert list(line.get_ydata()) == [1, 0, 0]


def test_gpus_have_the_line_of_the_capacity(run: Simulation) -> None:
    """GPUs held are drawn with a line at those of the cluster; 0 seconds of waiting are at 0."""
    curve, capacity = draw_over_time([run], "gpus").lines
    assert set(capacity.get_ydata()) == {run.cluster.gpus}
    assert max(curve.get_ydata()) <= run.cluster.gpus
    (waits,) = draw_distribution([run], "queueing").lines
    none = float((run.jobs["queueing"] == 0).mean())
    at_zero = [y for x, y in zip(*waits.get_data(), strict=True) if x == 0]
    assert none > 0 and max(at_zero) == none


def test_distribution_has_a_curve_for_each_policy(run: Simulation) -> None:
    """Two simulations, two curves from 0 to 1, named after policy."""
    lines = draw_distribution([run, run]).lines
    assert [min(line.get_ydata()) for line in lines] == [0, 0]
    assert [line.get_label() for line in lines] == ["fifo", "fifo"]
    assert [list(line.get_ydata())[-1] for line in lines] == [1, 1]


def test_what_cannot_be_drawn(run: Simulation) -> None:
    """Other counts, values and colours are refused, with those that are possible."""
    with pytest.raises(OptionError, match="waiting, running, gpus"):
        draw_over_time([run], "preempted")
    with pytest.raises(OptionError, match="jct, queueing"):
        draw_distribution([run], "speed")
    with pytest.raises(OptionError, match="job, gpus"):
        draw_timeline(run, color_by="model")
