"""Pictures of simulations: what they show, and what cannot be drawn."""

import re
from pathlib import Path

import numpy as np
import pytest
from simulation_cases import by_hand

from dlsched import OptionError
from dlsched.simulation import Cluster, Simulation, simulate, write_timeline
from dlsched.simulation.pictures.charts import draw_distribution, draw_over_time, draw_timeline


@pytest.fixture(scope="module")
def run() -> Simulation:
    """Three jobs of two GPUs on four: the third waits for ten seconds."""
    return simulate(by_hand(*[{"gpus": 2}] * 3), Cluster.uniform(1, 4), "fifo")


def test_each_gpu_has_one_job_at_a_time(run: Simulation) -> None:
    """The first two jobs have two GPUs each, the third those of the first; the others are white."""
    pixels = np.asarray(draw_timeline(run).images[0].get_array())
    colours = [[tuple(pixels[gpu, column].tolist()) for gpu in range(4)] for column in (0, -1)]
    one, two, three, white = colours[0][0], colours[0][2], colours[1][0], (1,) * pixels.shape[2]
    assert colours == [[one, one, two, two], [three, three, white, white]]
    assert len({one, two, three, white}) == 4
    idle = (pixels == 1).all(axis=2)
    assert idle[2:].sum() == idle.sum() == pytest.approx(pixels.shape[1], abs=2)


def test_the_page_needs_no_network(tmp_path: Path) -> None:
    """The chart is one file with its scripts, and hostile names do not end a script.

    Neighbouring GPUs are one rectangle, which ends with its server.
    """
    hostile = by_hand({"id": "</script><b>x", "gpus": 3})
    path = tmp_path / "chart.html"
    write_timeline(simulate(hostile, Cluster.uniform(2, 2), "fifo"), path, color_by="gpus")
    page = path.read_text()
    assert not re.findall(r"<(?:script|link|img)[^>]+(?:src|href)=", page)
    assert "</script><b>x" not in page
    found = dict(re.findall(r'\["(top|bottom|right)",\[([^\]]*)\]', page))
    assert found == {"top": "0,2", "bottom": "2,3", "right": "10.0,10.0"}


def test_what_cannot_be_drawn(run: Simulation, tmp_path: Path) -> None:
    """Other counts, values and colours are refused, with those that are possible."""
    with pytest.raises(OptionError, match="waiting, running, gpus"):
        draw_over_time([run], "preempted")
    with pytest.raises(OptionError, match="jct, queueing"):
        draw_distribution([run], "speed")
    with pytest.raises(OptionError, match="job, gpus"):
        draw_timeline(run, color_by="model")
    with pytest.raises(OptionError, match="coloured by 'x'"):
        write_timeline(run, tmp_path / "chart.html", color_by="x")


def test_curves(run: Simulation) -> None:
    """Waiting jobs, GPUs with the line of the capacity, and a distribution for each policy.

    One job waits until 10 seconds; the axis has hours and begins at 0; no waiting is at 0.
    """
    ax = draw_over_time([run], "waiting")
    (line,) = ax.lines
    assert [3600 * hours for hours in line.get_xdata()] == pytest.approx([0, 10, 20])
    assert ax.get_xlabel() == "hours" and ax.get_xlim()[0] == 0
    assert list(line.get_ydata()) == [1, 0, 0]
    curve, capacity = draw_over_time([run], "gpus").lines
    assert set(capacity.get_ydata()) == {run.cluster.gpus} >= {max(curve.get_ydata())}
    lines = draw_distribution([run, run], "queueing").lines
    assert [line.get_label() for line in lines] == ["fifo", "fifo"]
    for line in lines:
        x, y = line.get_data()
        assert min(y) == 0 and list(y)[-1] == 1
        assert max(share for at, share in zip(x, y, strict=True) if at == 0) == pytest.approx(2 / 3)
