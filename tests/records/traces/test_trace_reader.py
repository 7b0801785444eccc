"""Reading traces: exact values, known formats, durations, and what is refused."""

import gzip
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from trace_files import HEAD, SMALL, write

from dlsched import InstanceError, OptionError, UnknownName
from dlsched.records import MAPPINGS, Trace, TraceJob, parse_duration, read_trace, write_trace
from dlsched.records.traces.duration import format_duration

AMOUNTS = st.integers(0, 10**9).map(lambda n: Fraction(n, 1000))


@st.composite
def full_traces(draw: st.DrawFn) -> Trace:
    """Draw a trace with some of the optional fields."""

    def maybe(values: st.SearchStrategy[Any]) -> Any:
        return draw(st.none() | values)

    names = st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=8)
    ids = draw(st.lists(names, min_size=1, max_size=5, unique=True))
    jobs = [
        TraceJob(
            id=name,
            gpus=draw(st.integers(0, 64)),
            submit=draw(AMOUNTS),
            duration=draw(AMOUNTS),
            iterations=maybe(st.integers(0, 10**9)),
            model=maybe(names),
            batch_size=maybe(st.integers(1, 512)),
            interval=maybe(AMOUNTS),
            iteration_time=maybe(AMOUNTS),
            stages=tuple(draw(st.lists(AMOUNTS, min_size=3, max_size=3) | st.just([]))),
            priority=maybe(AMOUNTS),
        )
        for name in ids
    ]
    return Trace(name="t", jobs=tuple(jobs))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(full_traces(), st.sampled_from(["t.csv", "t.csv.gz"]))
def test_what_is_written_is_read_back(tmp_path: Path, drawn: Trace, name: str) -> None:
    """Writing and reading lose nothing: not a field, not a digit, not the order."""
    write_trace(drawn, tmp_path / name)
    assert read_trace(tmp_path / name).jobs == drawn.jobs


def test_times_are_seconds_exact_to_the_last_digit(tmp_path: Path) -> None:
    """Times are the fractions that the file writes; rows are sorted by them, ties as they stand."""
    (job,) = read_trace(write(tmp_path, "t.csv", HEAD + "x,2,0.5,0.1\n"), SMALL).jobs
    assert (job.submit, job.duration) == (Fraction(1, 2000), Fraction(1, 10))
    path = write(tmp_path, "t.csv", HEAD + "c,1,9,1\na,1,5,1\nb,1,5,1\n")
    assert [job.id for job in read_trace(path, SMALL).jobs] == ["a", "b", "c"]


def test_stages_are_kept_by_resource(tmp_path: Path) -> None:
    """Milliseconds per iteration of the three resources arrive as seconds, in their order."""
    header = (
        "job_id,num_gpu,submit_time,iterations,model_name,batch_size,duration,interval,"
        "iteration_time,resource_time_0,resource_time_1,resource_time_2,priority\n"
    )
    path = write(tmp_path, "t.csv", header + "7,4,1000,10,net,16,5000,0,900,700.5,60,17,1\n")
    (job,) = read_trace(path).jobs
    assert job.stages == (Fraction("0.7005"), Fraction("0.06"), Fraction("0.017"))
    assert (job.id, job.model, job.batch_size, job.iterations) == ("7", "net", 16, 10)
    assert (job.submit, job.duration, job.iteration_time) == (1, 5, Fraction("0.9"))


def test_known_formats_in_seconds_and_with_dates(tmp_path: Path) -> None:
    """Tiresias writes seconds, Helios dates; every named mapping has what each trace needs."""
    header = "job_id,num_gpu,submit_time,iterations,model_name,duration,interval\n"
    path = write(tmp_path, "t.csv", header + "0,8,30,133,net,147,23\n")
    (job,) = read_trace(path, "tiresias").jobs
    assert (job.gpus, job.submit, job.duration, job.model) == (8, 30, 147, "net")
    header = "job_id,user,gpu_num,submit_time,duration,queue\n"
    rows = "1,u,0,1970-01-01 00:01:00,5,0\n2,u,4,1970-01-02 00:00:00.25,6,0\n"
    first, second = read_trace(write(tmp_path, "t.csv", header + rows), "helios").jobs
    assert (first.gpus, first.submit) == (0, 60)
    assert second.submit == 86400 + Fraction(1, 4)
    path = write(tmp_path, "t.csv", header + "1,u,1,yesterday,5,0\n")
    with pytest.raises(InstanceError, match="row 2, submit_time: yesterday is not a date"):
        read_trace(path, "helios")
    for mapping in MAPPINGS.values():
        assert {"id", "gpus", "submit", "duration"} <= mapping.keys()


def test_layout_does_not_matter(tmp_path: Path) -> None:
    """A byte order mark, CRLF, quotes, blanks, empty lines and more columns are all fine."""
    text = '\ufeffsecs, n,"job",at,more\r\n\r\n 1 ,"2",x, 3 ,whatever\r\n,,,,\r\n'
    (job,) = read_trace(write(tmp_path, "t.csv", text), SMALL).jobs
    assert (job.id, job.gpus, job.submit, job.duration) == ("x", 2, Fraction(3, 1000), 1)


def test_unreadable_files_are_refused(tmp_path: Path) -> None:
    """A missing file, a folder, damaged gzip and other encodings are errors of ours."""
    packed = gzip.compress((HEAD + "x,1,0,1\n").encode())
    with pytest.raises(InstanceError, match="cannot be read: file name too long"):
        read_trace("x" * 300)
    with pytest.raises(OptionError, match="the path is empty; name a trace's file"):
        read_trace("")
    for file, problem in [
        (tmp_path / "none.csv", "cannot be read: no such file"),
        (tmp_path, "cannot be read: is a directory"),
        (tmp_path / ("x" * 300), "cannot be read: file name too long"),
        (write(tmp_path, "cut.csv.gz", packed[:-20]), "the gzip data is damaged"),
        (write(tmp_path, "bad.csv.gz", b"\x1f\x8bnonsense"), "the gzip data is damaged"),
        (write(tmp_path, "latin.csv", HEAD.encode() + b"\xe9,1,0,1\n"), "is not UTF-8"),
        (write(tmp_path, "wide.csv", (HEAD + "x,1,0,1\n").encode("utf-16")), "is not UTF-8"),
    ]:
        with pytest.raises(InstanceError) as caught:
            read_trace(file, SMALL)
        assert caught.value.where == str(file)
        assert problem in caught.value.problem


def test_large_files_are_refused_in_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What counts is the size after decompression."""
    monkeypatch.setattr("dlsched.records.traces.lines.MAX_BYTES", 2**20)
    content = gzip.compress((HEAD + (" " * 1023 + "\n") * 2**11).encode())
    packed = write(tmp_path, "large.csv.gz", content)
    with pytest.raises(InstanceError, match="larger than 1 MiB"):
        read_trace(packed, SMALL)


def test_stages_that_cannot_be(tmp_path: Path) -> None:
    """A job has a time for every resource or none; the format has three columns for them."""
    job = TraceJob(id="x", gpus=1, submit=0, duration=1, stages=(1, 2))
    with pytest.raises(OptionError, match='job "x" has 2 stages'):
        write_trace(Trace(name="t", jobs=(job,)), tmp_path / "t.csv")
    assert not list(tmp_path.iterdir())
    mapping = SMALL | {"stages": ["io", "gpu"]}
    text = "job,n,at,secs,io,gpu\nx,1,0,1,,\ny,1,0,1,3,\n"
    with pytest.raises(InstanceError, match=r"row 3, gpu.*no time; write all the stages, or none"):
        read_trace(write(tmp_path, "t.csv", text), mapping)


@pytest.mark.parametrize(
    ("mapping", "message"),
    [
        ({"id": "job"}, "mapping\\['gpus'\\] is missing"),
        (SMALL | {"users": "u"}, "no field 'users'; it has: id, gpus"),
        (SMALL | {"submit": ("at", "days")}, "unit 'days'; use one of ms, s, min, h, date"),
        (SMALL | {"duration": ("secs", "date")}, "unit 'date'; use one of ms, s, min, h"),
        (SMALL | {"gpus": ("n", "ms")}, "is no time and takes no unit"),
        (SMALL | {"gpus": 3}, "write 'column' or"),
        (SMALL | {"gpus": ""}, "write 'column' or"),
        (SMALL | {"stages": "io"}, "must be a list of columns"),
        ("tiresas", "did you mean 'tiresias'"),
    ],
)
def test_bad_mappings_are_refused(tmp_path: Path, mapping: Any, message: str) -> None:
    """A mapping, or a format's name, is checked before the file is opened."""
    with pytest.raises((OptionError, UnknownName), match=message):
        read_trace(tmp_path / "none.csv", mapping)


@pytest.mark.parametrize(("name", "jobs"), [("trace1.csv", 1494), ("trace3.csv", 992)])
def test_recorded_traces(recorded: Callable[[str], Path], name: str, jobs: int) -> None:
    """The traces that Muri published are read whole, with all three stages of every job."""
    trace = read_trace(recorded(name))
    assert len(trace.jobs) == jobs
    assert all(len(job.stages) == 3 and job.iterations for job in trace.jobs)
    assert trace.ticks_per_second == 1


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("3d", 259200),
        ("12h", 43200),
        ("90m", 5400),
        ("45s", 45),
        ("3600", 3600),
        ("1d12h", 129600),
        ("1w 2d 3h 4m 5s", 788645),
        ("1.5h", 5400),
        ("0.25", 0.25),
        (" 2D ", 172800),
        ("0", 0),
    ],
)
def test_known_durations(text: str, seconds: float) -> None:
    """Every unit counts its seconds, alone and together."""
    assert parse_duration(text) == seconds


@pytest.mark.parametrize(
    "text",
    ["", " ", "d", "-3d", "3x", "12h1d", "1d1d", "1e3", "nan", "inf", "3d12", "1,5h", "٣d", "1.d"],
)
def test_what_is_no_duration_is_refused_with_examples(text: str) -> None:
    """The message shows the text and how durations are written."""
    with pytest.raises(OptionError, match="is not a duration; write one as 3d"):
        parse_duration(text)
    with pytest.raises(OptionError, match="longer than 1e15"):
        parse_duration("999999999999999w")


@given(st.integers(0, 10**10))
def test_spelling_is_read_back(milliseconds: int) -> None:
    """What `format_duration` writes denotes the same number of milliseconds."""
    text = format_duration(Fraction(milliseconds, 1000))
    assert parse_duration(text) == milliseconds / 1000
