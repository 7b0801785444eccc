"""Data frames as traces: the same jobs and the same errors as a file's."""

import datetime as dt
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dlsched import InstanceError
from dlsched.records import Trace, read_trace

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
    ({"gpus": [1.5, 1]}, "row 0, gpus", "1.5 is not a whole number"),
    ({"gpus": [np.nan, 1]}, "row 0, gpus", "the cell is empty"),
    ({"gpus": [True, False]}, "row 0, gpus", "True is not a number"),
    ({"id": ["a", "a"]}, "row 1, id", 'the id "a" is already used in row 0'),
    ({"id": ["a", None]}, "row 1, id", "the cell is empty"),
    ({"duration": [1, -1]}, "row 1, duration", "-1 is too small"),
    ({"duration": [1, np.inf]}, "row 1, duration", "inf is not a finite number"),
    ({"duration": DATES}, "row 0, duration", "is no duration"),
    ({"duration": pd.to_timedelta([1, -1], unit="s")}, "row 1, duration", "is too small"),
    ({"submit": pd.to_timedelta([1, 2], unit="s")}, "row 0, submit", "is no moment"),
    ({"submit": ["2020-06-09 18:41:01"] * 2}, "row 0, submit", "is a date"),
    ({"submit": [[1], [2]]}, "row 0, submit", "[1] is not a number"),
    ({"duration": [1_591_728_061, 60]}, "row 0, duration", "are 50 years, too long for a job"),
]


@pytest.mark.parametrize(("changes", "place", "problem"), WRONG)
def test_wrong_cells_are_refused(changes: dict[str, Any], place: str, problem: str) -> None:
    """The error names the row by its label, the column and the flaw."""
    with pytest.raises(InstanceError) as caught:
        Trace.from_frame(FRAME.assign(**changes))
    assert (caught.value.where, caught.value.path) == ("frame", place)
    assert problem in caught.value.problem


def test_rows_have_their_labels() -> None:
    """A flaw is named by the index of its row; what is implausible is read if one insists."""
    labelled = FRAME.set_index(pd.Index(["first", "second"]))
    with pytest.raises(InstanceError, match="row second, gpus: -2 is too small"):
        Trace.from_frame(labelled.assign(gpus=[1, -2]))
    with pytest.raises(InstanceError, match="more than any cluster"):
        Trace.from_frame(labelled.assign(gpus=[200_000, 1]))
    trace = Trace.from_frame(labelled.assign(gpus=[200_000, 1]), plausibility=False)
    assert trace.jobs[0].gpus == 200_000
