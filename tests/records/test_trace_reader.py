"""Reading traces from files and data frames: exact values, known formats, durations."""

import datetime as dt
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import strategies as st
from record_files import HEAD, SMALL, shared, write

from dlsched import InstanceError, OptionError
from dlsched.records import Trace, TraceJob, parse_duration, read_trace, write_trace
from drawing import drawn

AMOUNTS = st.integers(0, 10**9).map(lambda n: Fraction(n, 1000))
NAMES = st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=8)
NEEDED = {"id": NAMES, "gpus": st.integers(0, 64), "submit": AMOUNTS, "duration": AMOUNTS}
OPTIONAL = {"iterations": st.integers(0, 10**9), "model": NAMES, "batch_size": st.integers(1, 512)}
OPTIONAL |= {"stages": st.tuples(AMOUNTS, AMOUNTS, AMOUNTS)}
OPTIONAL |= {name: AMOUNTS for name in ("interval", "iteration_time", "priority")}
JOBS = st.fixed_dictionaries(NEEDED, optional=OPTIONAL).map(TraceJob.model_validate)
TRACES = st.lists(JOBS, min_size=1, max_size=5, unique_by=lambda job: job.id)


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    """Writing and reading lose nothing: not a field, not a digit, not the order."""

    @drawn(100, TRACES, st.sampled_from(["t.csv", "t.csv.gz"]))
    def check(jobs: list[TraceJob], name: str) -> None:
        trace = Trace(name="t", jobs=tuple(jobs))
        write_trace(trace, tmp_path / name)
        assert read_trace(tmp_path / name).jobs == trace.jobs

    check()


MURI = (
    "job_id,num_gpu,submit_time,iterations,model_name,batch_size,duration,interval,"
    "iteration_time,resource_time_0,resource_time_1,resource_time_2,priority\n"
)
MURI_ROW = "7,4,1000,10,net,16,5000,0,900,700.5,60,17,1\n"
TIRESIAS = "job_id,num_gpu,submit_time,iterations,model_name,duration,interval\n"
HELIOS = "job_id,user,gpu_num,submit_time,start_time,end_time,duration,queue\n"
DAYS = "1970-01-01 00:01:00", "1970-01-02 00:00:00.25"
DATED = f"1,u,0,{DAYS[0]},{DAYS[0]},1970-01-01 00:01:05,5,0\n"
DATED += f"2,u,4,{DAYS[1]},{DAYS[1]},1970-01-02 00:00:06.25,6,0\n"
QUARTER = 86400 + Fraction(1, 4)
MURI_JOB = {
    "id": "7", "gpus": 4, "submit": 1, "duration": 5, "model": "net", "batch_size": 16,
    "iterations": 10, "iteration_time": Fraction("0.9"),
    "stages": (Fraction("0.7005"), Fraction("0.06"), Fraction("0.017")),
}  # fmt: skip
# the file, the mapping's name or itself, what the jobs have
FILES: list[tuple[str, Any, list[dict[str, Any]]]] = [
    (HEAD + "x,2,0.5,0.1\n", SMALL, [{"submit": Fraction(1, 2000), "duration": Fraction(1, 10)}]),
    # Sorted by submission, ties as they stand.
    (HEAD + "c,1,9,1\na,1,5,1\nb,1,5,1\n", SMALL, [{"id": i} for i in "abc"]),
    (MURI + MURI_ROW, "auto", [MURI_JOB]),
    (
        TIRESIAS + "0,8,30,133,net,147,23\n",
        "tiresias",
        [{"gpus": 8, "submit": 30, "duration": 147, "model": "net"}],
    ),
    (HELIOS + DATED, "helios", [{"gpus": 0, "submit": 60}, {"gpus": 4, "submit": QUARTER}]),
]


@pytest.mark.parametrize(("text", "mapping", "expected"), FILES)
def test_values_are_exact(
    tmp_path: Path, text: str, mapping: Any, expected: list[dict[str, Any]]
) -> None:
    """Milliseconds, seconds and dates arrive as seconds, exact to the last digit of the file."""
    jobs = read_trace(write(tmp_path, "t.csv", text), mapping).jobs
    assert [{k: getattr(j, k) for k in e} for j, e in zip(jobs, expected, strict=True)] == expected


@pytest.mark.parametrize(("name", "jobs"), [("trace1.csv", 1494), ("trace3.csv", 992)])
def test_recorded_traces(name: str, jobs: int) -> None:
    """The traces that Muri published are read whole, with all three stages of every job."""
    trace = read_trace(shared(f"muri/{name}"))
    assert len(trace.jobs) == jobs
    assert all(len(job.stages) == 3 and job.iterations for job in trace.jobs)
    assert not any((job.submit - trace.first) % 1 or job.duration % 1 for job in trace.jobs)


DURATIONS = {"3d": 259200, "12h": 43200, "90m": 5400, "45s": 45, "3600": 3600, "1d12h": 129600}
DURATIONS |= {"1w 2d 3h 4m 5s": 788645, "1.5h": 5400, "0.25": 0.25, " 2D ": 172800, "0": 0}
NO_DURATIONS = ["", " ", "d", "-3d", "3x", "12h1d", "1d1d", "1e3", "nan", "inf", "3d12", "1,5h"]
NO_DURATIONS += ["٣d", "1.d"]


def test_durations() -> None:
    """Every unit counts its seconds, alone and together; what is none is refused with examples."""
    assert {text: parse_duration(text) for text in DURATIONS} == DURATIONS
    for text in NO_DURATIONS:
        with pytest.raises(OptionError, match="is not a duration; write one as 3d"):
            parse_duration(text)


FRAME = pd.DataFrame({"id": [1, 2], "gpus": [8, 4], "submit": [0, 60], "duration": [5400, 0.5]})
DATES = pd.to_datetime(["2020-06-09 18:41:01.0", "2020-06-09 18:41:02.5"])


def test_a_frame_of_a_file_is_the_file(tmp_path: Path) -> None:
    """Read by pandas or by dlsched, a file is the same jobs; columns are found by their names."""
    path = tmp_path / "t.csv"
    path.write_text("id,gpus,at,duration,m\na,1,0,1.5,x\nb,2,2020,60,\n")
    mapping: Any = {"id": "id", "gpus": "gpus", "submit": ("at", "min"), "duration": "duration"}
    mapping |= {"model": "m"}
    trace = read_trace(path, mapping)
    assert Trace.from_frame(pd.read_csv(path), mapping).jobs == trace.jobs
    seconds = pd.read_csv(path).assign(submit=[0, 60 * 2020]).drop(columns=["at", "m"])
    plain = Trace.from_frame(seconds, name="ours")
    assert plain.name == "ours" and trace.jobs[1] == plain.jobs[1]


@pytest.mark.parametrize(
    ("changes", "submit", "duration"),
    [
        ({"submit": DATES}, Fraction(3, 2), 5400),
        ({"submit": DATES.tz_localize("Asia/Shanghai")}, Fraction(3, 2), 5400),
        ({"submit": DATES.astype(object)}, Fraction(3, 2), 5400),
        ({"submit": [dt.date(2020, 6, 9), dt.date(2020, 6, 10)]}, 86400, 5400),
        ({"duration": pd.to_timedelta([90.5, 1], unit="min")}, 60, 5430),
        ({"duration": [dt.timedelta(minutes=90), dt.timedelta(1)]}, 60, 5400),
        ({"duration": None, "start": DATES, "end": DATES + pd.Timedelta("3s")}, 60, 3),
        ({"gpus": [8.0, 4.0]}, 60, 5400),
        ({"gpus": pd.array([8, 4], dtype="Int64")}, 60, 5400),
        ({"id": ["a", "b"], "submit": ["0", "60"]}, 60, 5400),
        ({"submit": pd.to_timedelta([0, 1], unit="min")}, 60, 5400),
        ({"submit": ["2020-06-09 18:41:01", "2020-06-09 18:42:01"]}, 60, 5400),
        ({"gpus": [7.5, 4]}, 60, 5400),
    ],
)
def test_what_pandas_holds(changes: dict[str, Any], submit: Any, duration: Any) -> None:
    """Moments, spans of time, floats without a fraction and text are what they mean."""
    frame = FRAME.assign(**{k: v for k, v in changes.items() if v is not None})
    frame = frame.drop(columns=[k for k, v in changes.items() if v is None])
    first, second = Trace.from_frame(frame).jobs
    assert (second.submit - first.submit, first.duration) == (submit, duration)
    assert (first.gpus, second.gpus) == (8, 4)


WRONG: list[tuple[dict[str, Any], str, str]] = [
    ({"gpus": [200_000, 1]}, "row first, gpus", "more than any cluster"),
    ({"gpus": [np.nan, 1]}, "row first, gpus", "the cell is empty"),
    ({"gpus": [True, False]}, "row first, gpus", "'True' is no number of GPUs"),
    ({"id": ["a", "a"]}, "row 1, id", 'the id "a" is already used in row first'),
    ({"id": ["a", None]}, "row 1, id", "the cell is empty"),
    ({"duration": [1, -2]}, "row 1, duration", "-2 is too small"),
    ({"duration": [1, np.inf]}, "row 1, duration", "'inf' is no duration"),
    ({"duration": DATES}, "row first, duration", "is no duration"),
    ({"duration": pd.to_timedelta([1, -2], unit="s")}, "row 1, duration", "-2 is too small"),
    ({"submit": [[1], [2]]}, "row first, submit", "'[1]' is no time"),
    ({"duration": [1_591_728_061, 60]}, "row first, duration", "are 50 years, too long for a job"),
]


@pytest.mark.parametrize(("changes", "place", "problem"), WRONG)
def test_wrong_cells_are_refused(changes: dict[str, Any], place: str, problem: str) -> None:
    """The error names the row by its label, the column and the flaw."""
    frame = FRAME.set_index(pd.Index(["first", 1])).assign(**changes)
    with pytest.raises(InstanceError) as caught:
        Trace.from_frame(frame)
    assert (caught.value.where, caught.value.path) == ("frame", place)
    assert problem in caught.value.problem
    if "more than any" in problem:  # what is implausible is read if one insists
        assert Trace.from_frame(frame, plausibility=False).jobs[0].gpus == 200_000
