"""Simulations as SWF, and the files that the command writes."""

import json
import re
from pathlib import Path

import pytest
from simulation_cases import by_hand

from dlsched import OptionError
from dlsched.cli import app
from dlsched.simulation import Cluster, Simulation, simulate, swf_text, write_swf


@pytest.fixture(scope="module")
def run() -> Simulation:
    """Three jobs of two GPUs on four: the third waits for ten seconds."""
    jobs = [{"gpus": 2, "tenant": "ann|1"}, {"gpus": 2}, {"gpus": 2, "estimate": 90061}]
    return simulate(by_hand(*jobs), Cluster.uniform(2, 2), "fifo")


def test_a_preempted_job_has_a_row_for_each_run() -> None:
    """A line summarises it; each run after the first waits from the end of the one before."""
    jobs = by_hand({"gpus": 2, "work": 100}, {"gpus": 2, "submit": 10, "work": 5})
    preempted = simulate(jobs, Cluster.uniform(1, 2), "srtf")
    lines = [line.split() for line in swf_text(preempted).splitlines() if line[0] != ";"]
    shown = [[line[i] for i in (0, 1, 2, 3, 10)] for line in lines]
    assert shown == [
        ["1", "0", "0", "100", "1"],
        ["1", "0", "0", "10", "2"],
        ["1", "-1", "5", "90", "3"],
        ["2", "10", "0", "5", "1"],
    ]


def test_swf_has_a_header_and_18_fields(run: Simulation) -> None:
    """The header states version, clock and size; a missing field is -1."""
    text = swf_text(run, begin="2026-03-01T12:00:00+01:00")
    header = dict(re.findall(r"^; (\w+): (.*)$", text, re.MULTILINE))
    assert header["UnixStartTime"] == "1772362800"
    assert header["MaxProcs"] == "4"
    assert header["Preemption"] == "No"
    last = text.splitlines()[-1].split()
    assert len(last) == 18
    assert last[:5] == ["3", "0", "10", "10", "2"]
    assert last[8] == "90061"


def test_the_command_writes_the_files(workdir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`simulate` writes the record and the chart; a bad name is refused before the simulation."""
    trace = ["simulate", "synthetic-1", "-p", "fifo", "--limit", "20", "--json", "-q"]
    files = ["--swf", "a.swf", "--timeline", "a.html"]
    with pytest.raises(SystemExit) as stopped:
        app([*trace, *files])
    assert stopped.value.code == 0
    assert json.loads(capsys.readouterr().out)["completed"] == 20
    assert (workdir / "a.swf").read_text().startswith("; Version: 2.2")
    with pytest.raises(SystemExit) as stopped:
        app([*trace, "--timeline", "a.gif"])
    assert stopped.value.code == 2
    assert "a.gif; the name must end in .html or" in capsys.readouterr().err


def test_what_a_record_cannot_say(tmp_path: Path, run: Simulation) -> None:
    """Fractions of seconds are rounded down, and said; what is no clock is one error."""
    made = simulate(by_hand({"work": 1.5}), Cluster.uniform(1, 1), "fifo")
    (note,) = write_swf(made, tmp_path / "a.swf")
    assert "1 stretches begin or end within a second" in note
    assert (tmp_path / "a.swf").read_text().splitlines()[-1].split()[3] == "1"
    with pytest.raises(OptionError, match=r"begin='soon' is no time; write it as 2026-"):
        swf_text(run, begin="soon")
    with pytest.raises(OptionError, match="fraction of a second"):
        swf_text(run, begin="2026-01-01T00:00:00.5")
