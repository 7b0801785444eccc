"""The formats of records besides sacct, and real excerpts where they are there."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from record_files import shared, write

import dlsched
from dlsched import InstanceError, read_history

COLUMNS = (
    "jobid,jobidraw,cluster,partition,qos,account,group,gid,user,uid,submit,eligible,start,end,"
    "elapsed,exitcode,state,nnodes,ncpus,reqcpus,reqmem,reqtres,alloctres,timelimit,nodelist,"
    "jobname"
)
SACCT: dict[str, Any] = {"format": "sacct", "names": COLUMNS}
SAMPLES = {"philly": 38, "helios": 32, "acme": 39, "pai": 39}
CPUS = SACCT | {"resource": "cpu"}


@pytest.mark.parametrize(
    ("name", "options", "jobs", "started", "explained"),
    [
        # Most of the waiting is held back.
        ("sacct_pozidriv_excerpt.txt", CPUS, 563, 533, 0.125),
        # Nothing but the scheduler decided the waits.
        ("sacct_slurm2205_8gpu.txt", {}, 197, 177, 0.99),
        # 25 jobs do not explain the waiting of a larger cluster.
        ("seth_accasim_25jobs.swf", {}, 25, 25, 0.154),
        # Examples of single rows: nothing is known of what ran beside them.
        ("sacct_forms_xdmod_unit.txt", CPUS, 12, 11, 0),
        ("sacct_phillips_gpu_excerpt.txt", SACCT, 2, 2, 0),
        # There was always room, so that nothing is explained.
        *((f"sample-{name}", {}, jobs, jobs, 0) for name, jobs in SAMPLES.items()),
    ],
)
def test_real_excerpts(
    name: str, options: dict[str, Any], jobs: int, started: int, explained: float
) -> None:
    """Jobs, those that started, a replay that is exact, and the share of the waits explained."""
    source = name if name.startswith("sample-") else shared(f"history/{name}")
    history = read_history(source, timezone="UTC", **options)
    assert (len(history.jobs), int(history.jobs["start"].notna().sum())) == (jobs, started)
    report = history.check()
    assert report and report.details["largest_difference"] == 0
    assert history.explained.share == pytest.approx(explained, abs=0.01)
    assert (history.explained.share >= 0.8) == (explained > 0.8)


def test_backfill_with_the_delay_of_slurm_comes_near_its_waits() -> None:
    """The delay is what the recorded scheduler needed on average."""
    history = read_history(shared("history/sacct_slurm2205_8gpu.txt"), timezone="UTC")
    period, delay = history.within(), history.explained.delay
    assert 4 < delay < 7
    waits = period.outcome(period.simulate("backfill", delay=delay))["wait"].mean()
    assert abs(waits / period.outcome()["wait"].mean() - 1) < 0.05


def test_what_a_study_says_of_slurm() -> None:
    """EASY backfilling alone waits 44 % less; Slurm's own, with what its starts took, 8 % less."""
    history = read_history(shared("history/sacct_slurm2205_8gpu.txt"), timezone="UTC")
    study = dlsched.study(history, ["srsf"], bounds=False)
    assert "waits 44 % less than that in the simulator" in study.verdict.headline
    assert not study.supported
    assert len(study.recorded.jobs) + study.left_out["rows"].sum() == history.rows == 199
    slurm = ("backfill", None, {"order": "priority", "conservative": True})
    delay = history.explained.delay
    said = dlsched.study(history, ["srsf"], ran=slurm, delay=delay, bounds=False)
    assert said.supported and "8 % less than the record" in said.verdict.sentences[0]


def test_a_table_with_named_columns(tmp_path: Path) -> None:
    """Epoch seconds, ISO dates with offsets, D-HH:MM:SS, milliseconds; a data frame, too."""
    path = write(
        tmp_path,
        "pbs.csv",
        "jid;qtime;wait;walltime;ngpus;host\n"
        "1;1767866400;60;0-01:00:00;4;n[1-2]\n"
        "2;2026-01-08T11:00:00+01:00;00:10:00;1800;2;n1+n2\n",
    )
    columns = {"id": "jid", "submit": "qtime", "gpus": "ngpus", "nodes": "host"}
    columns["duration"] = "walltime"
    history = read_history(path, columns=columns)
    assert history.format == "csv"
    assert history.jobs["submit"].tolist() == [1767866400.0, 1767866400.0]
    assert history.jobs["start"].tolist() == [1767866460.0, 1767867000.0]
    assert (history.jobs["end"] - history.jobs["start"]).tolist() == [3600.0, 1800.0]
    assert history.jobs["nodes"][0] == (("n1", 2), ("n2", 2))
    frame = pd.DataFrame(
        {
            "id": [1, 2],
            "gpus": [4, 2],
            "submit": pd.to_datetime(["2026-01-08 10:00", "2026-01-08 10:00"]),
            "wait": pd.to_timedelta([60, 600], "s"),
            "duration": [3_600_000, 1_800_000],
        }
    )
    same = read_history(frame, columns={"duration": ("duration", "ms")})
    assert same.jobs[["submit", "start", "end"]].equals(history.jobs[["submit", "start", "end"]])
    with pytest.raises(InstanceError, match="no column is called id; name it"):
        read_history(path)
