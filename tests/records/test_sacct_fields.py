"""The small grammars in the fields of Slurm's records: lists of hosts, resources, ids of jobs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import strategies as st
from record_files import SACCT, read, row

from dlsched.records import sacct_text
from dlsched.simulation import Cluster, Workload, simulate
from drawing import drawn

GOOD = [row(number) for number in range(1, 61)]
"""Enough of them that most rows are right."""


def one_gpu_each(nodes: str) -> tuple[tuple[str, int], ...]:
    """Return a job's nodes that has a GPU on each of some."""
    return tuple((name, 1) for name in nodes.split())


NO_HOSTS = ["a[1-", "a[2-1]", "a]", ",a", "a,", "a[]", "a[1-9999999]", "a b"]
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
    *(({"JobID": text}, {"id": text}) for text in ("900_4", "901_[5-9%2]", "902_[1,3,7-9:2]")),
    *(({"JobID": text}, {"id": text}) for text in ("903+0", "903+1")),
    *(({"JobID": text}, "step") for text in ("904.batch", "905_7.0", "906+1.extern")),
    *(({"JobID": text, "JobIDRaw": text}, "is no job id") for text in ("907_[]", "x", "")),
]


def test_fields_are_read_as_slurm_writes_them(tmp_path: Path) -> None:
    """Each cell is what it stands for, or its row is dropped and the reason says why."""
    plain = {"AllocTRES": "cpu=8,gres/gpu=3", "ReqTRES": ""}
    rows = [row(100 + i, **plain | cells) for i, (cells, _) in enumerate(CELLS)]
    history = read(tmp_path, [SACCT, *rows, *GOOD], timezone="UTC")
    table = pd.concat([history.jobs, history.dropped]).astype(object).set_index("row")
    table = table.where(table.notna(), None)
    for number, (cells, expected) in enumerate(CELLS, start=2):
        if isinstance(expected, str):
            assert expected in table.at[number, "reason"], cells
        else:
            assert {name: table.at[number, name] for name in expected} == expected, cells


@pytest.mark.parametrize(
    ("text", "gpus", "kind"),
    [("gpu:a100:2", 2, "a100"), ("gpu:2", 2, None), ("gpu:a100:2(IDX:0-1)", 2, "a100")],
)
def test_older_versions_print_gres(tmp_path: Path, text: str, gpus: int, kind: str | None) -> None:
    """AllocGRES names GPUs in its own way; what else it names are none."""
    header = SACCT.replace("AllocTRES", "AllocGRES").replace("ReqTRES", "ReqGRES")
    rows = [row(1, AllocTRES=text, ReqTRES=""), row(2, AllocTRES="craynetwork:1", ReqTRES="")]
    history = read(tmp_path, [header, *rows], timezone="UTC")
    (job,) = history.jobs.to_dict("records")
    assert (job["gpus"], job["gpu_type"]) == (gpus, kind)
    assert history.dropped["reason"].tolist() == ["without GPUs"]


HOSTS = st.lists(
    st.from_regex(r"[a-z][a-z0-9-]{0,4}[0-9]{0,4}", fullmatch=True),
    min_size=1,
    max_size=12,
    unique=True,
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a folder for all draws."""
    return tmp_path_factory.mktemp("fields")


def test_folded_hosts_expand_to_the_same(folder: Path) -> None:
    """The list that is written for some nodes stands for them, whatever their names are."""

    @drawn(30, HOSTS)
    def check(names: list[str]) -> None:
        job = {"id": "j", "submit": 0, "gpus": len(names), "work": 60}
        workload = Workload.parse({"name": "one", "jobs": [job]}, "one")
        cluster = Cluster.parse({"servers": [{"id": n, "gpus": 1} for n in names]}, "cluster")
        history = read(folder, sacct_text(simulate(workload, cluster, "fifo")), timezone="UTC")
        assert sorted(history.jobs["nodes"][0]) == sorted((name, 1) for name in names)

    check()


def test_any_text_is_a_cell_or_dropped(folder: Path) -> None:
    """Whatever stands in the lists of hosts and resources, and in ids, the other rows are read."""
    texts = st.lists(st.text(alphabet="a[]-,1 0%_+.=K/:gpu", max_size=12), max_size=40)

    @drawn(50, st.sampled_from(["NodeList", "AllocTRES", "ReqTRES", "JobID"]), texts)
    def check(field: str, texts: list[str]) -> None:
        rows = [row(100 + i, **{field: text}) for i, text in enumerate(texts)]
        history = read(folder, [SACCT, *GOOD, *rows], timezone="UTC")
        assert len(history.jobs) + len(history.dropped) == len(GOOD) + len(rows)
        assert history.jobs["id"].tolist()[:60] == [str(number) for number in range(1, 61)]

    check()
