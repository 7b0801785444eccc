"""The pictures of dispatch: a row for each machine, victims, and what waits."""

from __future__ import annotations

from typing import Any

import pytest

import dlsched
from dispatch_instances import instance, job, machines, waiting


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
    found = dlsched.solve(instance)
    ax = dlsched.plot(found)
    names = [tick.get_text() for tick in ax.get_yticklabels()]
    assert names == [instance.machine_name(n) for n in range(len(instance.kinds))]
    headings = [text.get_text() for text in ax.texts]
    assert "region r0, cluster r0c0" in headings and "region r1, cluster r1c0" in headings
    assert "waiting: 3 of 5 pending workloads" in headings
    waits = {f"{w.id}: {sum(j.tasks * j.gpus for j in w.jobs)} GPUs" for w in instance.pending
             if w.id not in found.solution.start}  # fmt: skip
    assert {"v1", *found.solution.start, *waits} <= set(labels(ax))
    assert not {"running over quota", "preempted"} & set(legend(ax))


def test_victims_are_hatched_below_their_machine() -> None:
    """The box of job3 is as wide as its share, hatched, and starts where its machine's row ends."""
    ax = dlsched.plot(dlsched.solve("mast-ten-gpus"))
    (victim,) = [p for p in ax.patches if p.get_hatch()]
    assert victim.get_width() == 1
    assert "job3" in labels(ax) and "preempted" in legend(ax)
    assert "running within quota" not in legend(ax)
    new = [p for p in ax.patches if p.get_width() == pytest.approx(10 / 12)]
    assert len(new) == 1 and new[0].get_y() < victim.get_y()


@pytest.mark.filterwarnings("error")
def test_no_machines_and_very_many_pending() -> None:
    """An empty picture without a warning; 500 waiting workloads are counted by priority."""
    dlsched.plot(instance({})).figure.canvas.draw()
    pending = [waiting(f"w{n}", job(gpus=1)) for n in range(500)]
    ax = dlsched.plot(instance({"c$": [machines("m$", 8)]}, pending=pending, name="$x$"))
    ax.figure.canvas.draw()
    assert {"99", "401"} <= set(labels(ax))  # a quota of 99 GPUs, the others have the lowest
    assert len(ax.patches) < 10
