"""Small records by hand: waits, idle GPUs, partitions with nodes of their own, types of GPUs."""

import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import dlsched
from dlsched import DlschedError, History, read_history


def table(folder: Path, rows: list[str], nodes: Any = None) -> History:
    """Return the history of rows: id, partition, GPUs, submission, start, end, node, type."""
    path = folder / "record.csv"
    head = "id,partition,gpus,submit,start,end,nodes,gpu_type"
    path.write_text("\n".join([head, *rows]) + "\n")
    return read_history(path, "csv", nodes=nodes)


@pytest.mark.parametrize(
    ("rows", "policy", "wait", "idle"),
    [
        # Two of four GPUs are idle for 10 s in which b and c wait.
        (["a,p,2,0,0,10,n,", "b,p,3,0,10,20,n,", "c,p,1,0,10,20,n,"], "recorded", 20 / 3, 20),
        (["a,p,4,0,0,10,n,", "b,p,4,0,10,20,n,"], "recorded", 5, 0),  # none is idle
        # A preempted job waits between its runs, here while another holds 2 of the 4 GPUs.
        (["a,p,4,0,0,1000,n,", "b,p,2,10,1000,1010,n,"], "srsf", 5, 20),
    ],
)
def test_idle_gpus_count_while_a_job_waits(
    tmp_path: Path, rows: list[str], policy: str, wait: float, idle: float
) -> None:
    """Whether they would be enough for it or not."""
    study = dlsched.study(table(tmp_path, rows), ["srsf"], knows="truth", restart=0, bounds=False)
    found = study.table.set_index("policy").loc[policy]
    assert found["mean_wait"] == pytest.approx(wait)
    assert 3600 * found["idle_gpu_hours"] == pytest.approx(idle)


def row(number: int, partition: str, node: str, start: int, end: int, kind: str = "") -> str:
    """Return a job of 8 GPUs that was submitted at 0; start and end are in minutes."""
    return f"{number},{partition},8,0,{60 * start},{60 * end},{node},{kind}"


def nodes(*partitions: list[str]) -> pd.DataFrame:
    """Return the nodes n1 and n2 of 8 GPUs."""
    return pd.DataFrame({"name": ["n1", "n2"], "gpus": 8, "partitions": partitions})


QUEUE = [row(k, "p1", "n1", 60 * k, 60 * k + 59) for k in range(4)]
"""Four jobs of an hour wait for each other on n1."""


@pytest.mark.parametrize("given", [None, nodes(["p1"], ["p2"]), nodes([], [])])
def test_partitions_with_nodes_of_their_own_wait_there(tmp_path: Path, given: Any) -> None:
    """As stated for the nodes or, where no node has a partition, as its jobs ran."""
    record = table(tmp_path, [*QUEUE, row(9, "p2", "n2", 0, 1)], given)
    study = dlsched.study(record, ["fifo", "backfill", "srsf"])
    # Each starts a minute earlier than recorded, and nothing else can be gained.
    assert study.supported
    waits = study.table.set_index("policy")["mean_wait"]
    assert waits["recorded"] == 4320
    assert (waits[["fifo", "backfill", "srsf"]] == 4248).all()
    assert study.limits[0].mean_wait == pytest.approx(4248)
    assert "preemptions" not in study.verdict.headline
    # Where both share all nodes any job may run on either: the record has not run so.
    both, busy = ["p1", "p2"], [*QUEUE, row(9, "p2", "n2", 0, 240)]
    shared = dlsched.study(table(tmp_path, busy, nodes(both, both)), ["fifo"], bounds=False)
    assert len(shared.parts) == 1 and "waits 34 % less" in shared.verdict.headline


DIVIDED = [
    *("a,p1,4,0,0,100,n1,", "b,p1,4,0,100,200,n1,"),
    *("c,p2,4,0,0,100,n2,", "d,p2,4,0,180,280,n2,", "e,p3,4,0,0,50,n3,"),
]
"""In p1 b waits for a. In p2 d is held back for 80 s of its 180. Nobody waits in p3."""


def test_each_partition_has_its_own_claim(tmp_path: Path) -> None:
    """Of what is explained, of the policy that ran, of all policies and of the bound."""
    study = dlsched.study(table(tmp_path, DIVIDED), ["fifo"], knows="truth")
    first, second, third = study.verdict.claims
    assert (first.name, first.wait, first.ran, first.explained) == ("p1", 50, 50, 1)
    assert (second.name, second.wait, second.ran) == ("p2", 90, 50)
    assert second.explained == pytest.approx(100 / 180)
    assert (third.wait, third.reasons, first.reasons) == (0, (), ())
    assert not study.supported
    assert study.verdict.headline == (
        "p2 (2 jobs): Not supported: the record waits 90 s on average, and only 55 % of that is "
        "explained by it. No saving is claimed. p1 (2 jobs): Supported: the record waits 50 s on "
        "average; knowing the jobs' true durations, policies would wait: fifo 50 s; no schedule "
        "can wait less than 50 s. p3 (1 job): nobody waited."
    )
    assert study.limits[0].by_part == pytest.approx((50, 50, 0))
    assert study.limits[0].mean_wait == pytest.approx((2 * 50 + 2 * 50 + 0) / 5)
    assert study.by_part.set_index("partitions")["recorded"].tolist() == [50, 90, 0]
    study.save(tmp_path / "out")
    assert "Each partition by itself" in (tmp_path / "out" / "study.html").read_text()
    # A job that may run in both partitions joins them.
    joined = [*DIVIDED[:4], 'f,"p1,p2",4,300,300,310,n2,']
    (part,) = dlsched.study(table(tmp_path, joined), ["fifo"], bounds=False).parts
    assert part.name == ""


CASES = Path(__file__).parents[1] / "records" / "cases"


@pytest.mark.parametrize("name", ["operator_part", "operator_types"])
def test_what_nobody_can_save_is_not_claimed(name: str) -> None:
    """Four jobs of an hour wait for n1: no policy waits less than the bound, a minute less each."""
    given = CASES / "operator_part.csv" if name == "operator_part" else None
    record = read_history(CASES / f"{name}.txt", timezone="UTC", nodes=given)
    study = dlsched.study(record, ["fifo", "srsf"])
    first, _ = study.verdict.claims
    assert (first.wait, first.ran, first.reasons) == (5400, 5310, ())
    assert study.limits[0].by_part == pytest.approx((5310, 0))
    assert study.verdict.headline == (
        "p1 (4 jobs): Supported: the record waits 1.5 h on average; knowing the jobs' limits, "
        "policies would wait: fifo 1.5 h, srsf (without preemption) 1.5 h; no schedule can wait "
        "less than 1.5 h. p2 (1 job): nobody waited."
    )


BEHIND = ["a,p,3,0,0,100,n,", "b,p,4,1,100,200,n,", "c,p,1,2,200,250,n,"]
"""First in, first out on 4 GPUs: c waits behind b, although it would end before b may start."""


def test_what_runs_must_wait_as_the_record_does(tmp_path: Path) -> None:
    """All waiting is explained, but backfill would have started c at 2; under fifo nothing differs.

    The record waits 0, 99 and 198 s, backfill 0, 99 and 0.
    """
    record = table(tmp_path, BEHIND)
    study = dlsched.study(record, ["srsf"], bounds=False)
    assert study.explained.share == 1 and not study.supported
    assert study.verdict.headline == (
        "Not supported: the record waits 99 s on average, and backfill order=priority, which the "
        "cluster is said to run, waits 67 % less than that in the simulator (33 s). No saving is "
        "claimed."
    )
    said = dlsched.study(record, ["srsf"], ran="fifo", bounds=False)
    assert said.supported and said.ran.mean() == said.recorded.mean() == 99
    assert "In the simulator fifo waits 99 s, as long as the record" in said.verdict.sentences[0]
    # By the truth c may start at once, too; what is said to run knows the limits alone.
    limits = table(tmp_path, [*BEHIND[:2], "c,p,1,2,200,250,n,"])
    limits.jobs["limit"] = 1000.0
    late = dlsched.study(limits, ["backfill"], ran="backfill", knows="truth", bounds=False)
    assert (late.ran.mean(), late.outcomes[0].mean()) == (99, 33)


def test_waits_against_nodes(tmp_path: Path) -> None:
    """With a node more nobody waits; of two nodes either may go, or serve the other partition."""
    study = dlsched.study(table(tmp_path, BEHIND), ["fifo"], add_nodes=[1, "2:n"], bounds=False)
    waits = study.nodes.set_index(["change", "policy"])["mean_wait"]
    assert waits.xs("fifo", level="policy").tolist() == [99, 0, 0]
    assert study.nodes["gpus"].tolist() == [4, 4, 8, 8, 12, 12]
    record = table(tmp_path, [*QUEUE, row(9, "p2", "n2", 0, 1)], nodes(["p1"], ["p2"]))
    changes: Any = {"remove_nodes": "n2", "partition_of": ["n2=p1,p2", "n2=p1"]}
    moved = dlsched.study(record, ["fifo"], bounds=False, **changes).nodes
    moved = moved[moved["policy"] == "fifo"].set_index("change")
    # Two hours of p1 run beside each other; job 9 goes first on n2, for a minute.
    assert moved.at["as recorded", "mean_wait"] == 60 * (59 + 118 + 177) / 5
    assert moved.at["n2 in p1,p2", "mean_wait"] == 60 * (0 + 0 + 59 + 59 + 118) / 5
    for change in ("n2 removed", "n2 in p1"):
        assert pd.isna(moved.at[change, "mean_wait"])
        assert "job 9 needs 8 GPUs, it may run on no server" in moved.at[change, "problem"]


def test_jobs_of_the_start_wait_if_their_node_is_gone(tmp_path: Path) -> None:
    """Job a ran on n2 at the window's start, with 50 s left, and goes on at once where it runs."""
    rows = ["a,p,4,0,0,100,n2,", "b,p,4,60,60,110,n1,", "c,p,4,70,100,150,n2,"]
    study = dlsched.study(
        table(tmp_path, rows), ["fifo"], window=(50, None), remove_nodes=["n2"], bounds=False
    )
    waits = study.nodes[study.nodes["policy"] == "fifo"].set_index("change")["mean_wait"]
    # On n1 alone a runs until 100, b from then on until 150, and c after it.
    assert waits["as recorded"] == (0 + 30) / 2
    assert waits["n2 removed"] == pytest.approx((40 + 80) / 2, abs=1)


@pytest.mark.parametrize(
    ("change", "value", "said"),
    [
        ("add_nodes", "0", "'0' is no number of nodes"),
        ("add_nodes", "1000000000", "is no number of nodes"),
        ("add_nodes", "2:m", "'m'"),
        ("remove_nodes", "n3", "'n3'"),
        ("remove_nodes", "3", "there are 2 such nodes"),
        ("remove_nodes", "n[1-2]", "are all nodes"),
        ("partition_of", "n1=p9", "'p9'"),
        ("partition_of", "=p1", "no node is called ''"),
        ("partition_of", "n1", "no partition is called ''"),
    ],
)
def test_changes_that_cannot_be(tmp_path: Path, change: str, value: str, said: str) -> None:
    """They are refused before anything is simulated."""
    record = table(tmp_path, QUEUE, nodes(["p1"], ["p1"]))
    with pytest.raises(DlschedError, match=re.escape(said)):
        dlsched.study(record, ["fifo"], **{change: value})


def test_all_that_is_not_counted_is_said(tmp_path: Path) -> None:
    """Rows that are counted and rows that are left out are all rows."""
    rows = [*("a,p,4,0,0,50,n,", "b,p,4,10,50,90,n,", "c,p,4,20,,,n,", "d,p,0,20,30,40,n,")]
    rows += ["e,q,1,60,60,70,m,", "f,p,1,60,90,90,n,", "g,p,4,70,90,300,n,"]
    study = dlsched.study(
        table(tmp_path, rows), ["fifo"], window=(5, 200), partition="p", bounds=False
    )
    left = study.left_out.set_index("reason")["rows"]
    assert len(study.recorded.jobs) + left.sum() == study.history.rows == 7
    assert left["of other partitions"] == 1 and left["never started: left out"] == 1
    assert len(left) == 6


LATER = ["a,p,4,0,0,1000,n,", "b,p,4,10,1000,1010,n,"]
"""A short job comes while a long one holds all GPUs."""


def test_nobody_is_preempted_unless_that_is_stated(tmp_path: Path) -> None:
    """With a restart, or if asked for; the headline and the page say how often."""
    record = table(tmp_path, LATER)
    several = ["srsf", "las", "tiresias", "themis", "muri_s", "gavel", "hadar", "lyra", "mast"]
    plain = dlsched.study(record, several, knows="truth", bounds=False)
    assert (plain.table["preemptions"] == 0).all()
    assert [outcome.violations for outcome in plain.outcomes] == [0] * len(several)
    terms = plain.table.set_index("policy")["terms"]
    assert terms[["srsf", "tiresias", "gavel"]].tolist() == [
        "without preemption",
        "without preemption",
        "rounds of 360 s, without preemption",
    ]
    assert "drawn stages" in terms["muri_s"]
    made = dlsched.study(record, ["srsf"], knows="truth", restart=30, bounds=False)
    (run,) = [outcome.run for outcome in made.outcomes]
    assert run.summary["preemptions"] == 1
    assert run.summary["preemptive"] and run.summary["restart"] == 30
    # It ran for 10 s; after b, it needs 30 s and the other 990.
    assert run.jobs["end"].tolist() == [20 + 30 + 990, 20]
    assert made.outcomes[0].label == "srsf (1 preemptions, restart 30 s)"
    made.save(tmp_path / "out")
    assert "has done, after 30 s." in (tmp_path / "out" / "study.html").read_text()
    off = dlsched.study(record, ["srsf"], knows="truth", restart=30, preemption=False, bounds=False)
    assert (off.table["preemptions"] == 0).all()
    asked = dlsched.study(record, ["srsf"], knows="truth", preemption=True, bounds=False)
    assert asked.outcomes[0].run.jobs["end"].tolist() == [1010, 20]


def test_a_node_that_failed_is_away_until_the_next_start_there(tmp_path: Path) -> None:
    """For every policy; what is recorded is replayed as it was."""
    head = "id,partition,gpus,submit,start,end,nodes,state\n"
    rows = ["a,p,4,0,0,100,n,NODE_FAIL", "b,p,4,0,500,600,n,COMPLETED"]
    (tmp_path / "record.csv").write_text(head + "\n".join(rows) + "\n")
    history = read_history(tmp_path / "record.csv", "csv", timezone="UTC")
    assert history.check()
    study = dlsched.study(history, ["fifo"], knows="truth", bounds=False)
    (away,) = study.period.cluster.away
    assert (away.server, away.start, away.end) == ("n", 100, 500)
    assert study.outcomes[0].run.jobs["start"].tolist() == [0, 500]
    study.save(tmp_path / "out")
    assert "because their node failed" in (tmp_path / "out" / "study.html").read_text()


def test_a_partition_whose_nodes_others_hold_has_no_headline(tmp_path: Path) -> None:
    """A policy does not see the jobs of p1 on n2, and starts those of p2 there at once."""
    rows = [row(0, "p1", "n2", 0, 60), row(1, "p2", "n2", 60, 120), row(2, "p1", "n1", 0, 60)]
    record = table(tmp_path, rows, nodes(["p1"], ["p1", "p2"]))
    study = dlsched.study(record, ["fifo"], partition="p2", bounds=False)
    assert study.table.set_index("policy").at["fifo", "mean_wait"] == 0
    assert study.verdict.headline.startswith("Not supported: jobs of other partitions hold 50%")
    assert not study.supported
    assert study.period.others == pytest.approx(0.5)


def test_without_recorded_waits(tmp_path: Path) -> None:
    """A model of a workload has no waits: policies are compared with each other."""
    lines = [f"{i + 1} {60 * i} -1 600 2 -1 -1 2 900 -1 1 1 -1 1 1 1 -1 -1" for i in range(30)]
    (tmp_path / "model.swf").write_text("; MaxProcs: 8\n" + "\n".join(lines) + "\n")
    history = read_history(tmp_path / "model.swf", "swf")
    assert not history.recorded_waits
    assert any("no recorded waits" in note for note in history.notes)
    made = dlsched.study(history, ["fifo", "srsf"], bounds=False)
    assert "does not say when jobs started" in made.verdict.headline and not made.supported
    made.save(tmp_path / "out")
    assert "recorded</td>" not in (tmp_path / "out" / "study.html").read_text()


WAITS = {61: "61 s", 125: "2.1 min", 1500: "25 min", 9000: "2.5 h", 10**5: "27.8 h"}


def test_waits_and_sizes_are_said_as_people_say_them(tmp_path: Path) -> None:
    """Waits in the unit that needs few digits; sizes are powers of two, as 1, 2, 3-4 and 5-8."""
    for seconds, said in (WAITS | {400000: "4.6 days"}).items():
        rows = [f"a,p,1,0,0,{2 * seconds},n,", f"b,p,1,0,{2 * seconds},{4 * seconds},n,"]
        study = dlsched.study(table(tmp_path, rows), ["fifo"], bounds=False)
        assert study.verdict.headline.startswith(f"Supported: the record waits {said} on average; ")
    sizes = enumerate([1, 2, 3, 4, 5, 8, 9, 64])
    rows = [f"{i},p,{gpus},0,{10 * i},{10 * i + 10},n," for i, gpus in sizes]
    found = dlsched.study(table(tmp_path, rows), ["fifo"], bounds=False).by("size")
    counts = found[found["policy"] == "recorded"].set_index("size")["jobs"].to_dict()
    assert counts == {"1": 1, "2": 1, "3-4": 2, "5-8": 2, "9-16": 1, "33-64": 1}


def asking(folder: Path, *rows: str, nodes: pd.DataFrame) -> History:
    """Return the history of rows of jobs that name features, CPUs and GB."""
    path = folder / "asking.csv"
    head = "id,gpus,submit,start,end,nodes,features,cpus,memory"
    path.write_text("\n".join([head, *rows]) + "\n")
    return read_history(path, "csv", nodes=nodes, timezone="UTC")


@pytest.mark.parametrize("asks", ["ib,2,1", ",30,1", ",2,300"])
def test_features_cpus_and_memory_of_nodes_restrict(tmp_path: Path, asks: str) -> None:
    """Only n1 has what a and b need: b waits for a, for an hour, although n2 is idle."""
    stated: dict[str, Any] = {"features": ["nvme,ib", ""], "cpus": [64, 16], "memory": [512, 128]}
    two = pd.DataFrame({"name": ["n1", "n2"], "gpus": 4, **stated})
    rows = [f"a,4,0,0,3600,n1,{asks}", f"b,4,0,3600,7200,n1,{asks}", "c,4,3600,3600,7200,n2,,4,"]
    record = asking(tmp_path, *rows, nodes=two)
    study = dlsched.study(record, ["fifo", "srsf"], knows="truth")
    assert study.supported and study.explained.share == 1
    waits = study.table.set_index("policy")["mean_wait"]
    assert (waits[["recorded", "fifo", "srsf"]] == 1200).all()
    assert study.limits[0].mean_wait == pytest.approx(1200)


def test_a_job_is_not_kept_from_where_it_ran(tmp_path: Path) -> None:
    """It ran without what it asked for: of features and sizes those count that its nodes have."""
    stated: dict[str, Any] = {"features": ["nvme", "nvme"], "cpus": [16, None], "memory": [64, 64]}
    two = pd.DataFrame({"name": ["n1", "n2"], "gpus": 4, **stated})
    rows = ["a,6,0,0,10,n[1-2],ib&nvme&a|b,96,90", "b,1,0,0,10,n1,,20,", "c,4,10,10,20,n2,ib,,"]
    period = asking(tmp_path, *rows, nodes=two).within()
    jobs = period.workload("truth").by_id
    assert period.check() and [s.cpus for s in period.cluster.servers] == [16, None]
    # Half of its GPUs are on each, so that it needs half of all there.
    assert (jobs["a"].features, jobs["a"].server_cpus, jobs["a"].server_memory) == (
        ("nvme",),
        16,
        45,
    )
    assert (jobs["a"].cpus, jobs["a"].memory) == (96, 90)
    assert (jobs["b"].server_cpus, jobs["c"].server_cpus, jobs["c"].features) == (16, 0, ())


def test_waits_for_cpus_alone_are_no_savings(tmp_path: Path) -> None:
    """A job without GPUs holds all CPUs of the only node: no policy sees it, and none waits."""
    record = read_history(CASES / "sacct_cpu_full.txt", timezone="UTC")
    study = dlsched.study(record, ["fifo"], bounds=False)
    assert (study.explained.share, study.explained.without_cpus) == (1, 0)
    assert not study.supported
    said = "100 % of that is because CPUs of nodes were full, which policies do not see. No saving"
    assert said in study.verdict.headline
