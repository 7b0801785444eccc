"""Random traces, and the one that is shipped."""

import gzip
import statistics
from collections import Counter

import pytest

from dlsched import OptionError
from dlsched.problems import library
from dlsched.traces import read_trace, synthesise
from dlsched.traces.synthetic import SIZES
from dlsched.traces.writer import trace_text

SHIPPED = library.root() / "traces" / "synthetic-1.csv.gz"


def test_the_shipped_trace_is_made_again_byte_by_byte() -> None:
    """The text is compared, not the gzip stream, in which compressors differ; so are the jobs."""
    made = synthesise(seed=1)
    assert gzip.decompress(SHIPPED.read_bytes()) == trace_text(made).encode()
    assert read_trace(SHIPPED).jobs == made.jobs
    shipped = read_trace("synthetic-1")
    assert (shipped.name, len(shipped.jobs)) == ("synthetic-1", 1500)
    assert shipped.source == "read_trace('synthetic-1')"


def test_other_seeds_make_other_traces() -> None:
    """The seed matters, and nothing else does."""
    one, two, again = (synthesise(seed, jobs=200) for seed in (1, 2, 2))
    assert one.jobs != two.jobs and two == again


def test_the_statistics_are_those_stated() -> None:
    """Shares of sizes, the load, the weekend's rest and the tail of the durations."""
    made = synthesise(seed=3, jobs=6000, days=28, busy_gpus=500)
    sizes = Counter(job.gpus for job in made.jobs)
    for size, share in SIZES.items():
        assert sizes[size] / 6000 == pytest.approx(share, abs=0.02)
    work = sum(job.gpus * float(job.duration) for job in made.jobs)
    assert work / (28 * 86400) == pytest.approx(500, rel=1e-3)
    weekend = sum(float(job.submit) // 86400 % 7 >= 5 for job in made.jobs)
    assert weekend / 6000 == pytest.approx(1 / 6, abs=0.02)
    durations = [float(job.duration) for job in made.jobs]
    assert max(durations) / statistics.median(durations) == pytest.approx(6, rel=0.1)


def test_jobs_are_consistent() -> None:
    """A duration is whole iterations, an iteration the sum of its stages; one GPU sends nothing."""
    for job in synthesise(seed=4, jobs=200).jobs:
        assert job.iterations is not None
        assert job.iteration_time == sum(job.stages)
        assert job.duration == job.iterations * sum(job.stages)
        assert (job.stages[2] == 0) == (job.gpus == 1)


@pytest.mark.parametrize("option", ["jobs", "days", "busy_gpus"])
@pytest.mark.parametrize("value", [0, -1])
def test_parameters_must_be_above_zero(option: str, value: int) -> None:
    """The message names the parameter."""
    with pytest.raises(OptionError, match=f"{option}={value} must be above 0"):
        synthesise(**{option: value})
