"""Fields of Slurm's records, and broken records: an error with its remedy, a reason, or a note."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import strategies as st
from record_files import SACCT, read, row

from dlsched import InstanceError, read_history
from dlsched.simulation import Cluster, Workload, simulate
from drawing import drawn
from sacct_writer import sacct_text

MANY = [row(number) for number in range(1, 61)]
"""Enough of them that most rows are right."""


def one_gpu_each(nodes: str) -> tuple[tuple[str, int], ...]:
    """Return a job's nodes that has a GPU on each of some."""
    return tuple((name, 1) for name in nodes.split())


NO_HOSTS = ["a[1-", "a[2-1]", "a[1-2-3]", "a]", ",a", "a,", "a[]", "a[1-9999999]", "a b"]
NO_HOSTS += ["a[1-999]b[1-999]", "a[1-99999],b[1-99999]"]  # more than are read
IDS = ["900_4", "901_[5-9%2]", "902_[1,3,7-9:2]", "903+0", "903+1"]
# Cells of a row, and the columns of its job or the reason for which it is dropped.
CELLS: list[tuple[dict[str, str], dict[str, Any] | str]] = [
    ({"NodeList": "a[01-02],b7"}, {"nodes": one_gpu_each("a01 a02 b7")}),
    ({"NodeList": "a[01,05],b7"}, {"nodes": one_gpu_each("a01 a05 b7")}),
    ({"NodeList": "n[09-10]m1,x"}, {"nodes": one_gpu_each("n09m1 n10m1 x")}),
    ({"NodeList": "c-f13-[03-04]-x,y"}, {"nodes": one_gpu_each("c-f13-03-x c-f13-04-x y")}),
    ({"NodeList": "r[1]n[1-3]"}, {"nodes": one_gpu_each("r1n1 r1n2 r1n3")}),
    ({"NodeList": ""}, {"nodes": (("pool", 3),)}),
    *(({"NodeList": text}, "is no list of hosts") for text in NO_HOSTS),
    # With a type or without, the same GPUs count once; memory, shards and MIG are none.
    ({"AllocTRES": "cpu=1,gres/gpu=8"}, {"gpus": 8, "gpu_type": None}),
    ({"AllocTRES": "gres/gpu:a100=8"}, {"gpus": 8, "gpu_type": "a100"}),
    ({"AllocTRES": "gres/gpu:a100=8,gres/gpu=8"}, {"gpus": 8, "gpu_type": "a100"}),
    ({"AllocTRES": "gres/gpu:a=2,gres/gpu:v=2"}, {"gpus": 4, "gpu_type": "a+v"}),
    ({"AllocTRES": "gres/gpu=2,mem=62.50G,billing=2K"}, {"gpus": 2}),
    ({"AllocTRES": "gres/gpumem=8G,gres/shard=2,gres/mig=1"}, "without GPUs"),
    ({"AllocTRES": "gres/gpu=2,mem=18446744073709551614.00Mn"}, "cannot be read"),
    ({"AllocTRES": "gres/gpu=2,gres/gpu=2"}, "cannot be read"),
    ({"AllocTRES": "gres/gpu"}, "cannot be read"),
    *(({"JobID": text, "JobIDRaw": text}, {"id": text}) for text in IDS),
    *(({"JobID": text}, "step") for text in ("904.batch", "905_7.0", "906+1.extern")),
    *(({"JobID": text, "JobIDRaw": text}, "is no job id") for text in ("907_[]", "x", "")),
]


FIELDS = ["NodeList", "AllocTRES", "ReqTRES", "JobID"]
TEXTS = st.lists(st.text(alphabet="a[]-,1 0%_+.=K/:gpu", max_size=12), max_size=40)


def test_fields_are_read_as_slurm_writes_them(tmp_path: Path) -> None:
    """Each cell is what it stands for, or its row is dropped and the reason says why."""
    plain = {"AllocTRES": "cpu=8,gres/gpu=3", "ReqTRES": ""}
    rows = [row(100 + i, **plain | cells) for i, (cells, _) in enumerate(CELLS)]
    history = read(tmp_path, [SACCT, *rows, *MANY], timezone="UTC")
    table = pd.concat([history.jobs, history.dropped]).astype(object).set_index("row")
    table = table.where(table.notna(), None)
    for number, (cells, expected) in enumerate(CELLS, start=2):
        if isinstance(expected, str):
            assert expected in table.at[number, "reason"], cells
        else:
            assert {name: table.at[number, name] for name in expected} == expected, cells


HOSTS = st.lists(
    st.from_regex(r"[a-z][a-z0-9-]{0,4}[0-9]{0,4}", fullmatch=True),
    min_size=1,
    max_size=12,
    unique=True,
)


PAGE = (Path(__file__).parents[2] / "docs" / "histories.md").read_text(encoding="utf-8")
"""It has the whole message of each kind below."""
GOOD = [row(number) for number in range(1, 8)]


def moments(submit: str, **cells: str) -> str:
    """Return a row of a job that was eligible, and started, when it was submitted."""
    return row(9, Submit=submit, Eligible=submit, Start=submit, **cells)


WAITING = {"Start": "None", "Elapsed": "00:00:00", "NodeList": "None assigned", "AllocTRES": ""}
DROPPED = {
    "an unreadable moment": row(9, Start="yesterday"),
    "an unreadable duration": row(9, Elapsed="long"),
    "an unreadable limit": row(9, Timelimit="1 day"),
    "an unreadable resource": row(9, AllocTRES="gpu:2"),
    "an unreadable list of nodes": row(9, NodeList="n[1-"),
    "an unreadable id": row(9, JobID="nine", JobIDRaw="nine"),
    "no submission": row(9, Submit="Unknown"),
    "too few fields": row(9).rpartition("|")[0],
    "a start before the submission": row(9, Start="2026-01-08T09:00:00", End="2026-01-08T09:10:00"),
    "an end before the start": row(9, End="2026-01-08T10:04:00", Elapsed="00:00:00"),
    "the same row again": GOOD[0],
    "no GPUs": row(9, AllocTRES="cpu=8", ReqTRES="cpu=8"),
    "a job above the capacity": row(
        9, State="PENDING", End="Unknown", ReqTRES="gres/gpu=512", **WAITING
    ),
}


NOTED = {
    "no zone": GOOD[0],
    "an unknown state": row(9, State="EXPLODED"),
    "a further run of an id": moments(
        "2026-01-08T11:00:00", JobID="1", JobIDRaw="1", End="2026-01-08T11:10:00"
    ),
    "an hour of daylight saving": moments(
        "2026-03-28T22:00:00", End="2026-03-29T05:00:00", Elapsed="06:00:00"
    ),
    "suspended": row(9, Elapsed="00:04:00"),
    "a node named twice": row(9, NodeList="n1,n1"),
    "eligible after the start": row(9, Eligible="2026-01-08T10:07:00"),
    "0 seconds": row(9, End="2026-01-08T10:05:00", Elapsed="00:00:00"),
    "never started": row(9, State="CANCELLED by 5", **WAITING),
    "steps": row(9, JobID="9.batch"),
}


@pytest.mark.parametrize(
    ("timezone", "day", "elapsed", "hours"),
    [
        (None, "2026-01-08", "03:00:00", 4),  # no clock is changed in January
        ("UTC", "2026-01-08", "03:00:00", 4),
        ("Europe/Berlin", "2026-01-08", "03:00:00", 4),
        ("UTC", "2026-03-29", "03:00:00", 4),  # in Berlin it is, but not in UTC
        (None, "2026-03-29", "03:00:00", 3),
        (None, "2026-03-29", "02:59:00", 4),  # by more than an hour
        (None, "2026-10-25", "05:00:00", 5),
        ("Europe/Berlin", "2026-03-29", "03:00:00", 3),
        ("Europe/Berlin", "2026-03-29", "04:00:00", 4),  # the clock was another one, without change
        ("Europe/Berlin", "2026-10-25", "04:00:00", 4),
    ],
)
def test_an_hour_is_daylight_saving_where_a_clock_was_changed(
    tmp_path: Path, timezone: str | None, day: str, elapsed: str, hours: int
) -> None:
    """Elsewhere a run an hour longer than Elapsed was suspended, and End counts."""
    long = moments(f"{day}T00:30:00", End=f"{day}T04:30:00", Elapsed=elapsed)
    jobs = read(tmp_path, [SACCT, *GOOD, long], timezone=timezone).jobs.set_index("id")
    assert jobs["end"]["9"] - jobs["start"]["9"] == hours * 3600


CUT = [row(n, Submit=f"2026-01-07T0{n}:00:00", Start="2026-01-08T00:00:00") for n in range(1, 8)]
SWAPPED = {"Submit": "COMPLETED", "State": "2026-01-08T10:00:00"}
NAMES_FIRST = ["JobName|" + SACCT.rpartition("|")[0]]
NAMES_FIRST += ["a|b|" + line.rpartition("|")[0] for line in GOOD]
SYSTEMATIC: dict[str, list[str]] = {
    "no file": [],
    "empty": [""],
    "no header": GOOD,
    "padded columns": ["JobID           Submit               Start"],
    "a column is missing": [SACCT.replace("|Submit", "|Posted"), *GOOD],
    "a column is there twice": [SACCT.replace("|User", "|State"), *GOOD],
    "names are in the middle": NAMES_FIRST,
    "no GPUs at all": [SACCT, *(row(n, AllocTRES="cpu=8", ReqTRES="cpu=8") for n in range(1, 5))],
    "columns in another order": [SACCT, *(row(n, **SWAPPED) for n in range(1, 5))],
    "cut to the window": [SACCT, *CUT],
    "no job is left": [SACCT],
    "pods": ['{"items": [{"kind": "Pod"}]}'],
    "a table without times": ["id,gpus,submit", "1,2,3"],
}


@pytest.mark.parametrize("kind", SYSTEMATIC)
def test_a_systematic_fault_is_one_error(tmp_path: Path, kind: str) -> None:
    """It names the row, the column and the remedy."""
    stated = kind in ("no file", "empty", "no header", "padded columns", "a column is missing")
    with pytest.raises(InstanceError) as caught:
        if kind == "no file":
            read_history(tmp_path / "gone.txt", "sacct")
        read(tmp_path, SYSTEMATIC[kind], format="sacct" if stated else "auto")
    # Without the long line that exports again.
    said = str(caught.value).replace(f"{tmp_path}/", "").partition("export again: ")[0]
    assert f"\n{kind}: {said}" in PAGE


def test_nodes_are_those_of_a_file(tmp_path: Path) -> None:
    """What sinfo prints and a table are the same; a job on another node is dropped."""
    sinfo = tmp_path / "sinfo.txt"
    sinfo.write_text("n1|gpu:a100:16|gpu*\nn1|gpu:a100:16|night\nn2|gpu:a100:16|night\n")
    history = read(tmp_path, [SACCT, *GOOD, row(9, NodeList="n7")], nodes=sinfo)
    assert history.capacity.total == 32 and not history.capacity.measured
    assert history.capacity.nodes["partitions"].tolist() == [("gpu", "night"), ("night",)]
    assert "ran on n7, which is not among the nodes" in history.dropped["reason"][0]
    frame = pd.DataFrame({"name": ["n1", "n2"], "gpus": [16, 16], "features": [["ib", "nv"], "ib"]})
    capacity = read(tmp_path, [SACCT, *GOOD], nodes=frame).capacity
    assert capacity.total == 32
    assert capacity.nodes["features"].tolist() == [("ib", "nv"), ("ib",)]
    with pytest.raises(InstanceError, match="row 2, gpus: 'many' is no number of GPUs"):
        read(tmp_path, [SACCT, *GOOD], nodes=pd.DataFrame({"name": ["n1"], "gpus": ["many"]}))
    twice = pd.DataFrame({"name": ["n1", "n1"], "gpus": [8, 8], "gpu_type": ["a100", "v100"]})
    with pytest.raises(InstanceError, match="row 3, gpu_type: n1 has v100 here and a100 above"):
        read(tmp_path, [SACCT, *GOOD], nodes=twice)


def test_any_text_is_a_cell_or_dropped(tmp_path: Path) -> None:
    """Whatever stands in the lists of hosts and resources, and in ids, the other rows are read.

    The list that is written for some nodes stands for them, whatever their names are.
    """

    @drawn(50, st.sampled_from(FIELDS), TEXTS, HOSTS)
    def check(field: str, texts: list[str], names: list[str]) -> None:
        rows = [row(100 + i, **{field: text}) for i, text in enumerate(texts)]
        history = read(tmp_path, [SACCT, *MANY, *rows], timezone="UTC")
        assert len(history.jobs) + len(history.dropped) == len(MANY) + len(rows)
        assert history.jobs["id"].tolist()[:60] == [str(number) for number in range(1, 61)]
        job = {"id": "j", "submit": 0, "gpus": len(names), "work": 60}
        workload = Workload.parse({"name": "one", "jobs": [job]}, "one")
        cluster = Cluster.parse({"servers": [{"id": n, "gpus": 1} for n in names]}, "cluster")
        history = read(tmp_path, sacct_text(simulate(workload, cluster, "fifo")), timezone="UTC")
        assert sorted(history.jobs["nodes"][0]) == sorted((name, 1) for name in names)

    check()


@pytest.mark.parametrize("kind", [*DROPPED, *NOTED])
def test_one_bad_row_is_dropped_with_its_reason_or_noted(tmp_path: Path, kind: str) -> None:
    """The others are read, and the reason is beside the row's number; nothing is guessed silently.

    More than 5 % of the GPU-hours are said at the head.
    """
    history = read(tmp_path, [SACCT, *GOOD, (DROPPED | NOTED)[kind]])
    if kind in NOTED:
        assert any(f"\n{kind}: {note}\n" in PAGE for note in history.notes), history.notes
        return
    assert len(history.jobs) == len(GOOD)
    (dropped,) = history.dropped.to_dict("records")
    assert dropped["row"] == 9
    assert f"\n{kind}: {dropped['reason']}\n" in PAGE
    if kind == "an unreadable list of nodes":
        warning = "1 row dropped with a fault, of 12.5% of the GPU-hours"
        assert history.warnings == (warning,)
