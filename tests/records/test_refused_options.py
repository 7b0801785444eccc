"""Options and frames that cannot be used: one sentence that names them and what may be there."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from record_files import SACCT, SMALL, read, row, write

from dlsched import DlschedError, History
from dlsched.records import (
    Trace,
    TraceJob,
    parse_duration,
    pool,
    queue,
    read_trace,
    replay,
    snapshot,
    synthesise,
    write_trace,
)

PHILLY = "sample-philly"
TRACE, BARE, TWO_STAGES = (
    Trace(name="t", jobs=(TraceJob(id="x", gpus=1, submit=0, duration=100, stages=stages),))
    for stages in ((1, 2, 3), (), (1, 2))
)
FRAME = pd.DataFrame({"id": ["a"], "gpus": [1], "submit": [0], "duration": [5]})
OWN: Any = {name: name for name in FRAME}
NAMES = {"id": "j", "gpus": "n", "submit": "at", "start": "from", "end": "to"}


def table(folder: Path, mapping: Any, **options: Any) -> Trace:
    """Read some of the jobs of a table with states."""
    path = write(folder, "table.csv", "j,n,at,from,to,how\na,1,0,1,9,ok\n")
    return read_trace(path, mapping, **options)


def history(folder: Path, **options: Any) -> History:
    """Read a small record."""
    return read(folder, [SACCT, *(row(number) for number in range(1, 8))], **options)


MOMENTS: list[Any] = [-1, float("nan"), float("inf"), "soon", True, int]
REFUSED: list[tuple[Callable[[Path], object], str]] = [
    *((lambda _, at=at: replay(TRACE, until=at), "") for at in MOMENTS),
    (lambda _: replay(TRACE, servers=0), "servers and gpus must be at least 1"),
    (lambda _: snapshot(TRACE, 1, elastic=1.5), "elastic=1.5 must be a share"),
    (lambda _: snapshot(TRACE, 1, demand=-1), "demand=-1 must be at least 0"),
    (lambda _: snapshot(TRACE, -5), "is negative"),
    (lambda _: snapshot(TRACE, "tomorrow"), "is not a duration"),
    (lambda _: snapshot(TRACE, 1).instance("reclaimin"), "did you mean 'reclaiming'"),
    (lambda _: snapshot(TRACE, 1).instance("placement"), "those that have: reclaiming, elastic, "),
    (lambda _: snapshot(TRACE, 1).instance("elastic", order="x"), "no option 'order'; it has"),
    (lambda _: pool(TRACE, resources=5), "resources=5"),
    (lambda _: pool(TRACE, budget=2), "budget=2"),
    (lambda _: pool(BARE), "job x has 0 stages"),
    (lambda _: queue(TRACE, 50, order="shortest"), "srsf"),
    *((lambda _, n=n: synthesise(jobs=n), f"jobs={n} must be above 0") for n in (0, -1)),
    (lambda _: synthesise(busy_gpus=-1), "busy_gpus=-1 must be above 0"),
    (lambda d: write_trace(TWO_STAGES, d / "t.csv"), 'job "x" has 2 stages'),
    (lambda _: parse_duration("999999999999999w"), "longer than 1e15"),
    # A mapping, or a format's name, is checked before the file is opened.
    (lambda _: read_trace("none", {"id": "job"}), "mapping['gpus'] is missing"),  # type: ignore[arg-type]
    *(
        (lambda _, changes=changes: read_trace("none", SMALL | changes), message)
        for changes, message in [
            ({"users": "u"}, "no field 'users'; it has: id, gpus"),
            ({"submit": ("at", "days")}, "unit 'days'; use one of ms, s, min, h, date"),
            ({"duration": ("secs", "date")}, "unit 'date'; use one of ms, s, min, h"),
            ({"gpus": ("n", "ms")}, "is no time and takes no unit"),
            ({"gpus": 3}, "write 'column' or"),
            ({"stages": "io"}, "must be a list of columns"),
        ]
    ),
    (lambda _: read_trace("none", "tiresas"), "did you mean 'tiresias'"),
    (lambda _: read_trace(""), "the path is empty; name a trace's file"),
    (lambda _: read_trace("sample-phily"), "no trace is called 'sample-phily'; did you mean"),
    (lambda _: read_trace(FRAME), "not DataFrame; for a data frame there is"),  # type: ignore[arg-type]
    # A name that there is not is answered with those that there are.
    (lambda _: read_trace(PHILLY, states=["Pas"]), "state of a job is called 'Pas'; did you mean"),
    (lambda _: read_trace(PHILLY, clusters="vc"), "no cluster is called 'vc'; there are"),
    (lambda _: read_trace(PHILLY, min_gpus=99), "no job is left"),
    (lambda _: read_trace(PHILLY, fractional="down"), "rule for fractional GPUs"),
    (lambda _: read_trace(PHILLY, states=[]), "states"),
    (lambda _: read_trace(PHILLY, clusters=""), "clusters"),
    (lambda _: read_trace(PHILLY, min_gpus=-1), "min_gpus"),
    (lambda _: read_trace("sample-acme", clusters="kalos"), "records no clusters"),
    (lambda d: table(d, NAMES, states="ko"), "states needs mapping['state']"),
    (lambda d: table(d, NAMES | {"state": "how"}, states="bad"), "'bad'; there are: ok"),
    (lambda _: Trace.from_frame(FRAME.iloc[:0]), "there is no job"),
    (lambda _: Trace.from_frame(FRAME.drop(columns="gpus")), "mapping['gpus'] is missing"),
    (lambda _: Trace.from_frame(FRAME, OWN | {"gpus": "n"}), "column n: there is no such column"),
    (lambda _: Trace.from_frame(FRAME, OWN | {"start": "submit"}), "both 'duration' and 'start'"),
    (lambda _: Trace.from_frame(pd.concat([FRAME, FRAME], axis=1)), "two columns of this name"),
    (lambda _: Trace.from_frame([1]), "list is no data frame"),  # type: ignore[arg-type]
    (lambda _: Trace.from_frame(FRAME, "heliox"), "trace format"),
    (lambda _: Trace.from_frame(FRAME, ["id", "gpus"]), "is no mapping; write"),  # type: ignore[arg-type]
    (lambda d: history(d, timezone="Berlin"), "no time zone is called 'Berlin'; did you mean"),
    (lambda d: history(d, resource="gpus"), "did you mean 'gpu'"),
    (lambda d: history(d, format="slurm"), "no format of a history is called 'slurm'"),
    (lambda d: history(d, columns={"submit": "at"}), "columns of sacct are names in order"),
    (lambda d: history(d).within(500, 100), "the window ends at 100, not after 500"),
    (lambda d: history(d).within(1, 2), "no job of this window"),
    (lambda d: history(d).within("soon"), "since='soon' is no date"),
    (lambda d: history(d).within(partition="r"), "no partition is called 'r'"),
    (lambda d: history(d).within().workload("thruth"), "did you mean 'truth'"),  # type: ignore[arg-type]
]


@pytest.mark.parametrize(("call", "message"), REFUSED, ids=[message for _, message in REFUSED])
def test_refused(call: Callable[[Path], object], message: str, tmp_path: Path) -> None:
    """The error is one of ours, in one line, and nothing is written."""
    with pytest.raises(DlschedError) as caught:
        call(tmp_path)
    assert message in str(caught.value) and "\n" not in str(caught.value)
    assert not (tmp_path / "t.csv").exists()


def test_a_trace_has_jobs_with_ids_of_their_own() -> None:
    """No job, or two of one id, is no trace."""
    for jobs, message in (((), "there is no job"), (TRACE.jobs * 2, "already used")):
        with pytest.raises(ValueError, match=message):
            Trace(name="t", jobs=jobs)
