"""Options and frames that cannot be used: one sentence that names them and what may be there."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import record_files
from record_files import SACCT, read, row, write

from dlsched import History, records, simulation
from dlsched.records import Trace, TraceJob, read_trace
from refused_calls import assert_refused, reports

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


REFUSED = reports(Path(__file__).with_name("refused.txt"))


@pytest.mark.parametrize("call", REFUSED)
def test_refused(call: str, tmp_path: Path) -> None:
    """The error is one of ours, in one line, and nothing is written."""
    assert_refused(
        call, REFUSED[call], records, simulation, record_files, globals(), {"d": tmp_path}
    )
    assert not (tmp_path / "t.csv").exists()


def test_a_trace_has_jobs_with_ids_of_their_own() -> None:
    """No job, or two of one id, is no trace."""
    for jobs, message in (((), "there is no job"), (TRACE.jobs * 2, "already used")):
        with pytest.raises(ValueError, match=message):
            Trace(name="t", jobs=jobs)
