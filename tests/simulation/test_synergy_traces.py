"""Synergy's traces: the authors' own, files without a header, and bad ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from dlsched import InstanceError
from dlsched.problems.sensitivity.instances.job_models import Assignment, measured_models
from dlsched.simulation import Workload

MEASURED = Path(__file__).parents[2].parent / "shared" / "data" / "synergy"
PROFILES = MEASURED / "profiles.json"
STATIC = MEASURED / "static_100job_6_3_1100.csv"


@pytest.mark.skipif(
    not PROFILES.exists(), reason="the measured profiles are not here (../shared/data/synergy)"
)
def test_assignment_gives_the_static_trace_its_models() -> None:
    """Split 60/30/10 with one speech model yields the recorded models in the recorded order."""
    static = Workload.from_trace(STATIC, "synergy", measured=PROFILES, together=True)
    models = [m for name, m in measured_models(PROFILES).items() if name != "m5"]
    turns = Assignment(models, "60/30/10")
    assert [turns.next().name for _ in range(100)] == [job.model for job in static.jobs]


def test_a_trace_without_header_is_read_too(tmp_path: Path) -> None:
    """The authors' own files have no header; running times are iterations times seconds each."""
    path = tmp_path / "jobs.0"
    path.write_text("0,gnmt,8,100,1\n1,alexnet,126.5,20,2\n")
    first, second = Workload.from_trace(path, "synergy").jobs
    assert (first.submit, first.work, first.profile) == (0, 100, "gnmt")
    assert (float(second.submit), second.gpus, second.iterations) == (118.5, 2, 20)


def test_bad_traces(tmp_path: Path) -> None:
    """Models without profile and bad rows are named, with a remedy."""
    path = tmp_path / "jobs.csv"
    path.write_text("id,model,arrival,iterations,gpus\n0,gnmt,0,100,1\n1,vgg,0,100,1\n")
    with pytest.raises(InstanceError, match=r"row 3: model: 'vgg' has no profile; use one of"):
        Workload.from_trace(path, "synergy")
    path.write_text("id,model,arrival,iterations,gpus\n0,gnmt,0,many,1\n")
    with pytest.raises(InstanceError, match="row 2: is no job; write id,model"):
        Workload.from_trace(path, "synergy")
