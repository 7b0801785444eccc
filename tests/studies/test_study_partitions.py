"""Records whose partitions have nodes of their own, and jobs that ran on a type of GPU."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import dlsched
from dlsched.records import History, read_history

APART = "The partitions of this record do not share all nodes: no saving is claimed for all"


def row(number: int, partition: str, node: str, start: int, end: int, kind: str = "") -> str:
    """Return a job of 8 GPUs that was submitted at 0; start and end are in minutes."""
    times = f"0,{60 * start},{60 * end},86400"
    return f"{number},u,{partition},8,{times},{node},{kind}"


ROWS = [row(k, "p1", "n1", 60 * k, 60 * k + 59) for k in range(4)] + [row(9, "p2", "n2", 0, 1)]
"""Four jobs of an hour wait for each other on n1; n2 is idle after a minute."""
OWN = [["p1"], ["p2"]]
ALL = [["p1", "p2"], ["p1", "p2"]]


def history(folder: Path, rows: list[str], partitions: Any = None) -> History:
    """Return the history of a table, with a file of its two nodes or without."""
    path = folder / "record.csv"
    head = "id,user,partition,gpus,submit,start,end,limit,nodes,gpu_type"
    path.write_text("\n".join([head, *rows]) + "\n")
    nodes = None
    if partitions is not None:
        nodes = pd.DataFrame({"name": ["n1", "n2"], "gpus": [8, 8], "partitions": partitions})
    return read_history(path, "csv", nodes=nodes)


@pytest.mark.parametrize("partitions", [None, OWN, [[], []]])
def test_partitions_with_nodes_of_their_own_have_no_headline(
    tmp_path: Path, partitions: Any
) -> None:
    """As stated for the nodes or, where no node has a partition, as its jobs ran."""
    record = history(tmp_path, ROWS, partitions)
    study = dlsched.study(record, ["fifo"])
    # On the other partition's node FIFO seems to save half of the waiting.
    table = study.table.set_index("policy")
    assert table.at["fifo", "mean_wait"] < 0.7 * table.at["recorded", "mean_wait"]
    assert study.verdict.headline.startswith(APART)
    assert study.verdict.headline.endswith("Study each with --partition: p1, p2.")
    assert not study.supported
    assert "would wait" not in study.verdict.headline
    alone = dlsched.study(record, ["fifo"], partition="p1")
    assert alone.supported
    assert alone.verdict.headline.startswith("The record waits 1.5 h on average.")
    assert alone.table["mean_wait"].min() > 0.98 * 1.5 * 3600 - 60


def test_partitions_that_share_all_nodes_have_a_headline(tmp_path: Path) -> None:
    """Then any job may run on either node."""
    busy = [*ROWS[:4], row(9, "p2", "n2", 0, 240)]
    study = dlsched.study(history(tmp_path, busy, ALL), ["fifo"], bounds=False)
    assert study.supported and "fifo would wait" in study.verdict.headline


def test_a_partition_whose_nodes_others_hold_has_no_headline(tmp_path: Path) -> None:
    """A policy does not see the jobs of p1 on n2, and starts those of p2 there at once."""
    rows = [row(0, "p1", "n2", 0, 60), row(1, "p2", "n2", 60, 120), row(2, "p1", "n1", 0, 60)]
    record = history(tmp_path, rows, [["p1"], ["p1", "p2"]])
    study = dlsched.study(record, ["fifo"], partition="p2", bounds=False)
    assert study.table.set_index("policy").at["fifo", "mean_wait"] == 0
    assert study.verdict.headline.startswith("Jobs of other partitions hold 50% of what is held")
    assert not study.supported
    assert study.period.others == pytest.approx(0.5)


def test_a_study_says_how_many_jobs_changed_their_type_of_gpu(tmp_path: Path) -> None:
    """The nodes of one partition have two types; FIFO places jobs of one on the other."""
    rows = [row(k, "p", "n1", 60 * k, 60 * k + 59, "a100") for k in range(4)]
    rows.append(row(9, "p", "n2", 0, 240, "h100"))
    study = dlsched.study(history(tmp_path, rows), ["fifo", "srsf"], bounds=False)
    assert study.supported
    counts = [outcome.run.summary["other_gpu_type"] for outcome in study.outcomes if outcome.run]
    assert counts[0] > 0
    (said,) = [s for s in study.verdict.sentences if "another type of GPU" in s]
    assert f"fifo {counts[0]}" in said
