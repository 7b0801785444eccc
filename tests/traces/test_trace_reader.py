"""Reading traces: exact values, known formats, and one good error for everything else."""

import gzip
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dlsched import InstanceError, OptionError, UnknownName
from dlsched.traces import MAPPINGS, Trace, TraceJob, read_trace, write_trace

SMALL = {"id": "job", "gpus": "n", "submit": ("at", "ms"), "duration": "secs"}
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


def write(tmp_path: Path, text: str | bytes, name: str = "t.csv") -> Path:
    """Put a file in place."""
    path = tmp_path / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def test_times_are_seconds_exact_to_the_last_digit(tmp_path: Path) -> None:
    """0.1 s and 0.5 ms are the fractions that the file writes, not doubles near them."""
    path = write(tmp_path, "job,n,at,secs\nx,2,0.5,0.1\n")
    (job,) = read_trace(path, SMALL).jobs
    assert (job.submit, job.duration) == (Fraction(1, 2000), Fraction(1, 10))


def test_stages_are_kept_by_resource(tmp_path: Path) -> None:
    """Milliseconds per iteration of the three resources arrive as seconds, in their order."""
    header = (
        "job_id,num_gpu,submit_time,iterations,model_name,batch_size,duration,interval,"
        "iteration_time,resource_time_0,resource_time_1,resource_time_2,priority\n"
    )
    path = write(tmp_path, header + "7,4,1000,10,net,16,5000,0,900,700.5,60,17,1\n")
    (job,) = read_trace(path).jobs
    assert job.stages == (Fraction("0.7005"), Fraction("0.06"), Fraction("0.017"))
    assert (job.id, job.model, job.batch_size, job.iterations) == ("7", "net", 16, 10)
    assert (job.submit, job.duration, job.iteration_time) == (1, 5, Fraction("0.9"))


def test_known_formats_in_seconds_and_with_dates(tmp_path: Path) -> None:
    """Tiresias writes seconds; Helios writes dates, and jobs without GPUs."""
    header = "job_id,num_gpu,submit_time,iterations,model_name,duration,interval\n"
    path = write(tmp_path, header + "0,8,30,133,net,147,23\n")
    (job,) = read_trace(path, "tiresias").jobs
    assert (job.gpus, job.submit, job.duration, job.model) == (8, 30, 147, "net")
    header = "job_id,user,gpu_num,submit_time,duration,queue\n"
    rows = "1,u,0,1970-01-01 00:01:00,5,0\n2,u,4,1970-01-02 00:00:00.25,6,0\n"
    first, second = read_trace(write(tmp_path, header + rows), "helios").jobs
    assert (first.gpus, first.submit) == (0, 60)
    assert second.submit == 86400 + Fraction(1, 4)


def test_rows_are_sorted_by_submission_and_ties_keep_their_order(tmp_path: Path) -> None:
    """A file need not be in order; jobs submitted at once stay as the file has them."""
    path = write(tmp_path, "job,n,at,secs\nc,1,9,1\na,1,5,1\nb,1,5,1\n")
    assert [job.id for job in read_trace(path, SMALL).jobs] == ["a", "b", "c"]


def test_layout_does_not_matter(tmp_path: Path) -> None:
    """A byte order mark, CRLF, quotes, blanks, empty lines and more columns are all fine."""
    text = '\ufeffsecs, n,"job",at,more\r\n\r\n 1 ,"2",x, 3 ,whatever\r\n,,,,\r\n'
    (job,) = read_trace(write(tmp_path, text), SMALL).jobs
    assert (job.id, job.gpus, job.submit, job.duration) == ("x", 2, Fraction(3, 1000), 1)


def test_the_shipped_trace_loads_by_name() -> None:
    """`synthetic-1` needs no path, and its source makes it again."""
    shipped = read_trace("synthetic-1")
    assert (shipped.name, len(shipped.jobs)) == ("synthetic-1", 1500)
    assert shipped.source == "read_trace('synthetic-1')"


HEAD = "job,n,at,secs\n"
BAD: list[tuple[str, str, str, str]] = [
    ("", "row 1", "has no column names", "begin with a header row"),
    ("\n\n", "row 1", "has no column names", "header"),
    (HEAD, "row 2", "there is no job", "one row per job"),
    ("job,n,at\nx,1,0\n", "row 1, secs", "there is no such column", "it has: job, n, at"),
    ("job,n,at,secs,n\nx,1,0,1,1\n", "row 1, n", "there are two columns of this name", "keep one"),
    (HEAD + "x,1,0\n", "row 2", "has 3 cells, the header has 4", "one cell per column"),
    (HEAD + "x,1,0,1,9\n", "row 2", "has 5 cells", "one cell per column"),
    (HEAD + "x,1,0,1\ny,two,0,1\n", "row 3, n", "two is not a number", "finite decimal"),
    (HEAD + "x,2.0,0,1\n", "row 2, n", "2.0 is not a whole number", "without a point"),
    (HEAD + "x,-1,0,1\n", "row 2, n", "-1 is too small", "at least 0"),
    (HEAD + "x,1,-5,1\n", "row 2, at", "-5 is too small", "at least 0"),
    (HEAD + "x,1,0,-0.5\n", "row 2, secs", "is too small", "at least 0"),
    (HEAD + "x,1,0,nan\n", "row 2, secs", "nan is not a number", "finite decimal"),
    (HEAD + "x,1,0,inf\n", "row 2, secs", "inf is not a number", "finite decimal"),
    (HEAD + "x,1,0,1_000\n", "row 2, secs", "is not a number", "finite decimal"),
    (HEAD + "x,1,0,٣\n", "row 2, secs", "is not a number", "finite decimal"),
    (HEAD + "x,1,0,0x10\n", "row 2, secs", "is not a number", "finite decimal"),
    (HEAD + "x,1,0,1e400\n", "row 2, secs", "1e400 is too large", "within 1e15"),
    (HEAD + "x,1,0,1e-400\n", "row 2, secs", "more digits", "round it"),
    (HEAD + "x,1,0,1e999999999\n", "row 2, secs", "is not a number", "finite decimal"),
    (HEAD + "x,1,0," + "9" * 5000 + "\n", "row 2, secs", "has too many digits", "round it"),
    (HEAD + "x,1,0,2e15\n", "row 2, secs", "is too large", "within 1e15"),
    (HEAD + "x,1,0,0.12345678901234567891\n", "row 2, secs", "more digits", "round it"),
    (HEAD + ",1,0,1\n", "row 2, job", "the cell is empty", "fill it in"),
    (HEAD + "x,,0,1\n", "row 2, n", "the cell is empty", "fill it in"),
    (HEAD + "x,1,0,\n", "row 2, secs", "the cell is empty", "fill it in"),
    (HEAD + "x,1,0,1\n\nx,1,1,1\n", "row 4, job", 'the id "x" is already used in row 2', "own id"),
    (HEAD + 'x,1,0,"1\n', "row 2", "is not CSV", "correct it"),
    (HEAD + "x" * 70000 + ",1,0,1\n", "row 2", "is too long", "one row per job"),
    (" " * 10**6, "row 1", "is too long", "one row per job"),
]


@pytest.mark.parametrize(("text", "path", "problem", "remedy"), BAD)
def test_bad_files_are_refused_by_row_and_column(
    tmp_path: Path, text: str, path: str, problem: str, remedy: str
) -> None:
    """One error names the file, the row and column, what is wrong, and what would be right."""
    file = write(tmp_path, text)
    with pytest.raises(InstanceError) as caught:
        read_trace(file, SMALL)
    error = caught.value
    assert (error.where, error.path) == (str(file), path)
    assert problem in error.problem
    assert remedy in error.remedy
    assert len(str(error)) < 400 + len(str(file))


def test_unreadable_files_are_refused(tmp_path: Path) -> None:
    """A missing file, a folder, damaged gzip and other encodings are errors of ours."""
    packed = gzip.compress((HEAD + "x,1,0,1\n").encode())
    with pytest.raises(InstanceError, match="cannot be read: file name too long"):
        read_trace("x" * 300)
    for file, problem in [
        (tmp_path / "none.csv", "cannot be read: no such file"),
        (tmp_path, "cannot be read: is a directory"),
        (tmp_path / ("x" * 300), "cannot be read: file name too long"),
        (write(tmp_path, packed[:-20], "cut.csv.gz"), "the gzip data is damaged"),
        (write(tmp_path, b"\x1f\x8bnonsense", "bad.csv.gz"), "the gzip data is damaged"),
        (write(tmp_path, HEAD.encode() + b"\xe9,1,0,1\n", "latin.csv"), "is not UTF-8"),
        (write(tmp_path, (HEAD + "x,1,0,1\n").encode("utf-16"), "wide.csv"), "is not UTF-8"),
    ]:
        with pytest.raises(InstanceError) as caught:
            read_trace(file, SMALL)
        assert caught.value.where == str(file)
        assert problem in caught.value.problem


def test_large_files_are_refused_before_they_fill_the_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What counts is the size after decompression."""
    monkeypatch.setattr("dlsched.traces.lines.MAX_BYTES", 2**20)
    bomb = write(
        tmp_path, gzip.compress((HEAD + (" " * 1023 + "\n") * 2**11).encode()), "bomb.csv.gz"
    )
    with pytest.raises(InstanceError, match="larger than 1 MiB"):
        read_trace(bomb, SMALL)


def test_some_stages_but_not_all_are_refused(tmp_path: Path) -> None:
    """A job has a time for every resource or for none."""
    mapping = SMALL | {"stages": ["io", "gpu"]}
    text = "job,n,at,secs,io,gpu\nx,1,0,1,,\ny,1,0,1,3,\n"
    with pytest.raises(InstanceError, match=r"row 3, gpu.*no time; write all the stages, or none"):
        read_trace(write(tmp_path, text), mapping)


def test_dates_are_read_or_refused(tmp_path: Path) -> None:
    """A column of dates holds nothing else."""
    text = "job_id,gpu_num,submit_time,duration\n1,1,yesterday,5\n"
    with pytest.raises(InstanceError, match="row 2, submit_time: yesterday is not a date"):
        read_trace(write(tmp_path, text), "helios")


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
    ],
)
def test_bad_mappings_are_refused(tmp_path: Path, mapping: Any, message: str) -> None:
    """A mapping is checked before the file is opened."""
    with pytest.raises(OptionError, match=message):
        read_trace(tmp_path / "none.csv", mapping)


def test_unknown_formats_name_the_near_ones(tmp_path: Path) -> None:
    """A typo in the name of a format is answered with the right one."""
    with pytest.raises(UnknownName, match="did you mean 'tiresias'"):
        read_trace(tmp_path / "none.csv", "tiresas")


def test_named_mappings_hold_the_required_fields() -> None:
    """No named format can lack what every trace needs."""
    for mapping in MAPPINGS.values():
        assert {"id", "gpus", "submit", "duration"} <= mapping.keys()


def test_the_writer_refuses_other_numbers_of_stages(tmp_path: Path) -> None:
    """The format has three columns for stages; two times do not fit, and nothing is written."""
    job = TraceJob(id="x", gpus=1, submit=0, duration=1, stages=(1, 2))
    with pytest.raises(OptionError, match='job "x" has 2 stages'):
        write_trace(Trace(name="t", jobs=(job,)), tmp_path / "t.csv")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("name", "jobs"), [("trace1.csv", 1494), ("trace3.csv", 992)])
def test_recorded_traces(recorded: Callable[[str], Path], name: str, jobs: int) -> None:
    """The traces that Muri published are read whole, with all three stages of every job."""
    trace = read_trace(recorded(name))
    assert len(trace.jobs) == jobs
    assert all(len(job.stages) == 3 and job.iterations for job in trace.jobs)
    assert trace.ticks_per_second == 1


def test_an_empty_path() -> None:
    """It is no folder."""
    with pytest.raises(OptionError, match="the path is empty; name a trace's file"):
        read_trace("")
