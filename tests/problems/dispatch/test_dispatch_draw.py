"""The pictures of dispatch: a row for each machine, victims, and what waits."""

from __future__ import annotations

from typing import Any

import matplotlib as mpl
import pytest

import dlsched
from dlsched.doctor import library
from dlsched.problems.dispatch.pictures.draw import draw
from dlsched.problems.dispatch.pictures.machine_use import VICTIM_HATCH

mpl.use("agg")


def labels(ax: Any) -> list[str]:
    """Return the texts in boxes."""
    return [child.get_text() for child in ax.get_children() if hasattr(child, "fits")]


def legend(ax: Any) -> list[str]:
    """Return the legend's entries."""
    (box,) = ax.figure.legends
    return [text.get_text() for text in box.get_texts()]


def test_a_row_for_each_machine_under_headings() -> None:
    """Names of machines, regions, clusters and workloads; three of five wait; nothing is absent."""
    instance = dlsched.load("dispatch-small-05")
    ax = draw(instance, dlsched.load_solution(library.solution_file("dispatch-small-05")))
    names = [tick.get_text() for tick in ax.get_yticklabels()]
    assert names == [instance.machine_name(n) for n in range(len(instance.kinds))]
    headings = [text.get_text() for text in ax.texts]
    assert "region r0, cluster r0c0" in headings and "region r1, cluster r1c0" in headings
    assert "waiting: 3 of 5 pending workloads" in headings
    assert {"v1", "w1", "w4", "w0: 16 GPUs", "w2: 4 GPUs"} <= set(labels(ax))
    assert not {"running over quota", "preempted"} & set(legend(ax))


def test_victims_are_hatched_below_their_machine() -> None:
    """The box of job3 is as wide as its share, hatched, and starts where its machine's row ends."""
    instance = dlsched.load("mast-ten-gpus")
    ax = draw(instance, dlsched.load_solution(library.solution_file("mast-ten-gpus")))
    (victim,) = [p for p in ax.patches if p.get_hatch() == VICTIM_HATCH]
    assert victim.get_width() == 1
    assert "job3" in labels(ax) and "preempted" in legend(ax)
    assert "running within quota" not in legend(ax)
    new = [p for p in ax.patches if p.get_width() == pytest.approx(10 / 12)]
    assert len(new) == 1 and new[0].get_y() < victim.get_y()


def test_many_machines_are_a_band_for_each_cluster() -> None:
    """120 machines in six bands of 20 columns, named, with the names of what starts and waits."""
    ax = draw(
        dlsched.load("dispatch-3x2x20x15-1"),
        dlsched.load_solution(library.solution_file("dispatch-3x2x20x15-1")),
    )
    assert [image.get_array().shape[1] for image in ax.images] == [20] * 6
    bands = [tick.get_text() for tick in ax.get_yticklabels()]
    assert bands[0] == "r0 / r0c0" and len(bands) == 6
    written = labels(ax)
    assert "w6: 32 GPUs" in written
    started = {f"w{n}" for n in range(15)} - {"w6", "w11", "w12"}
    assert started <= set(written)


@pytest.mark.filterwarnings("error")
def test_no_machines_and_very_many_pending() -> None:
    """An empty picture without a warning; 500 waiting workloads are counted in one bar."""
    fields = {"dlsched": 1, "problem": "dispatch", "name": "$x$", "lowest_priority": 1}
    tenant = {"id": "t", "priority": 1, "gpu_quota": 1, "cpu_quota": 1, "window_use": 1}
    nothing = dlsched.load(fields | {"tenants": [tenant], "regions": [], "pending": []})
    dlsched.plot(nothing).figure.canvas.draw()
    job = {"id": "j", "gpu_type": "A", "tasks": 1, "gpus": 1, "cpus": 1, "memory": 1}
    pending = [{"id": f"w{n}", "tenant": "t", "age": 1, "jobs": [job]} for n in range(500)]
    machines = [{"id": "m$", "gpu_type": "A", "gpus": 8, "cpus": 8, "memory": 8}]
    region = {"id": "r_$", "clusters": [{"id": "c$", "machines": machines}]}
    ax = dlsched.plot(
        dlsched.load(fields | {"tenants": [tenant], "regions": [region], "pending": pending})
    )
    ax.figure.canvas.draw()
    assert "500" in labels(ax)
    assert len(ax.patches) < 10
