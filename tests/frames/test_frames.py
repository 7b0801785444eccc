"""Instances as data frames and back."""

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dlsched
from dlsched.registry import problem
from dlsched.testing import strategies
from drawing import draws
from refused_calls import assert_refused, reports

PROBLEMS = pytest.mark.parametrize("name", dlsched.list_problems())


def astype(frame: pd.DataFrame, kind: str, wanted: Any) -> pd.DataFrame:
    """Return a frame with the columns of one type as another type."""
    return frame.astype({name: wanted for name, old in frame.dtypes.items() if old.name == kind})


def mixed(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame with the rows of different parents mixed, those of each in their order."""
    parents = frame.iloc[:, 0].tolist()
    rows = {p: iter([i for i, q in enumerate(parents) if p == q]) for p in parents}
    order = np.random.default_rng(0).permutation(len(parents))
    return frame.iloc[[next(rows[parents[i]]) for i in order]]


SAME: dict[str, Callable[[pd.DataFrame], pd.DataFrame]] = {
    "as written": lambda frame: frame,
    "nullable": lambda frame: frame.convert_dtypes(),
    "categorical": lambda frame: astype(frame, "object", "category"),
    "object": lambda frame: frame.astype(object),
    "floats": lambda frame: astype(frame, "int64", float),
    "index": lambda frame: frame.set_index("id") if "id" in frame else frame,
    "mixed": mixed,
}
"""Other column types, indices and orders of the same content."""


@PROBLEMS
def test_round_trip(name: str) -> None:
    """An instance and that of its frames have one digest, whatever types and order columns have."""
    variations = getattr(problem(name).module("strategy"), "VARIATIONS", ({},))
    drawn = st.one_of([getattr(strategies, name)(**options) for options in variations])

    @settings(derandomize=True, deadline=None, max_examples=draws(45))
    @given(drawn, st.sampled_from(list(SAME)))
    def check(instance: Any, kind: str) -> None:
        frames = instance.to_frames()
        columns = {part: [*about.index] for part, about in dlsched.frame_columns(name).items()}
        assert columns == {part: [*frame] for part, frame in frames.items()}
        for part, frame in frames.items():
            if kind != "mixed" or any(part.startswith(f"{other}_") for other in frames):
                frames[part] = SAME[kind](frame)
        again = dlsched.from_frames(name, **frames)
        assert again == instance and again.sha256 == instance.sha256
        assert again.name == instance.name

    check()


@PROBLEMS
def test_columns_say_what_belongs_into_them(name: str) -> None:
    """Each has a type and a meaning; one that is not required may be absent, or has a default."""
    for part, about in dlsched.frame_columns(name).items():
        assert about["type"].all() and about["meaning"].str.len().all(), part
    about = dlsched.frame_columns("reclaiming")["jobs_workers"].loc["gpus"]
    assert list(about) == ["integer at least 1", "GPUs", True, None, "GPUs that it holds there."]
    about = dlsched.frame_columns("reclaiming")["jobs"].loc["weight"]
    assert (about["required"], about["default"]) == (False, 1)


SERVERS = pd.DataFrame({"id": ["s1", "s2"], "gpus": [8, 4]})
JOBS = pd.DataFrame({"id": ["a", "b"], "weight": [1, 2.5]})
WORKERS = pd.DataFrame({"job": ["a", "b"], "server": ["s1", "s2"], "gpus": [2, 4]})
PARTS: dict[str, Any] = {"demand": 1, "servers": SERVERS, "jobs": JOBS, "jobs_workers": WORKERS}


def test_own_frames() -> None:
    """Frames, single values by name, NumPy scalars and gaps make an instance with a name.

    Decimals and fractions that are whole count GPUs; an index may be a column, too. Without rows
    there are no entries.
    """
    jobs = pd.DataFrame({"id": ["a", "b"], "weight": [np.nan, 2.5]})
    made = dlsched.from_frames("reclaiming", **PARTS | {"demand": np.int64(1), "jobs": jobs})
    assert made.name == "unnamed" and made.demand == 1 and type(made.servers[0].gpus) is int
    assert [job.weight for job in made.jobs] == [1, 2.5]
    assert dlsched.solve(made).objective.preempted == 1
    named = dlsched.from_frames("reclaiming", **PARTS, name="mine", source="here")
    assert (named.name, named.source) == ("mine", "here")
    for column in (np.array([8, 4], np.int16), map(Decimal, (8, 4)), map(Fraction, (8, 4))):
        servers = SERVERS.assign(gpus=list(column)).set_index("id", drop=False)
        assert dlsched.from_frames("reclaiming", **PARTS | {"servers": servers}) == (
            dlsched.from_frames("reclaiming", **PARTS)
        )
    empty = {"servers": SERVERS.iloc[:0], "jobs": pd.DataFrame(columns=["id"])}
    none = dlsched.from_frames("reclaiming", demand=0, **empty)
    assert (none.servers, none.jobs) == ((), ())
    idle = dlsched.from_frames("reclaiming", **PARTS | {"jobs_workers": WORKERS.iloc[:0]})
    assert [job.workers for job in idle.jobs] == [(), ()]


def test_lists_and_mappings_in_cells_and_columns() -> None:
    """A column may hold the lists and mappings themselves, as lists, arrays and dicts.

    A mapping may have a column per key; a gap leaves the key out, 0 does not.
    """
    jobs = JOBS.assign(workers=[[{"server": "s1", "gpus": np.int64(2)}], ()])
    made = dlsched.from_frames("reclaiming", demand=0, servers=SERVERS, jobs=jobs)
    assert [len(job.workers) for job in made.jobs] == [1, 0]
    stages = pd.DataFrame({"id": ["a", "b"], "stages": [np.array([1.0, 2.5]), (3, 4)]})
    muri = {"resources": ["cpu", "gpu"], "grouping": "cover", "jobs": stages}
    made = dlsched.from_frames("interleaving", **muri)
    assert [job.stages for job in made.jobs] == [(1, 2.5), (3, 4)]
    machines = pd.DataFrame({"id": ["m1", "m2"], "gpus.V100": [2, 0], "gpus.K80": [np.nan, 1]})
    rates = pd.DataFrame({"job": ["j"], "key": ["V100"], "rates": [1.5]})
    jobs = pd.DataFrame({"id": ["j"], "arrival": [1], "workers": [1], "iterations": [10]})
    hadar = {"slots": 3, "slot_seconds": 60, "machines": machines, "jobs": jobs}
    made = dlsched.from_frames("utility", **hadar, jobs_rates=rates)
    assert [machine.gpus for machine in made.machines] == [{"V100": 2}, {"V100": 0, "K80": 1}]


def changed(frame: pd.DataFrame, row: int, column: str, value: Any) -> pd.DataFrame:
    """Return a copy with another value in one cell."""
    copy = frame.astype(object)
    copy.iloc[row, list(frame.columns).index(column)] = value
    return copy


REFUSED = reports(Path(__file__).with_name("refused.txt"))


def own(**parts: Any) -> Any:
    """Make an instance of the parts above, some of which are others."""
    return dlsched.from_frames("reclaiming", **PARTS | parts)


def of(name: str, **changes: Callable[[pd.DataFrame], pd.DataFrame]) -> Any:
    """Make an instance of the library of its frames after changes."""
    instance = dlsched.load(name)
    frames = instance.to_frames()
    if name == "lyra-fig5":  # what refers to the ids would be refused first
        frames["jobs_workers"] = frames["jobs_workers"].query("job == 'a'")
    frames |= {part: change(frames[part]) for part, change in changes.items()}
    return dlsched.from_frames(instance.problem, **frames)


@pytest.mark.parametrize("call", REFUSED)
def test_errors_name_frame_row_and_column(call: str) -> None:
    """Each flaw is refused at its frame, row and column, with what to do.

    One of a list as a whole, of an entry or of a key names the frame that holds it.
    """
    assert_refused(call, REFUSED[call], globals())


OTHER = """
from dlsched.registry import Problem
from dlsched.schema import Document, Id, Instance, Solution

class Entry(Document):
    weight: int
    tags: tuple[str, ...] = ()
    table: dict[Id, tuple[int, ...]] = {}

class GpuType(Document):
    id: Id
    entries: tuple[Entry, ...] = ()

class Other(Instance):
    problem: str = "other"
    key: int = 0
    kinds: dict[Id, GpuType]
    loose: tuple[Entry, ...] = ()
    grid: tuple[tuple[tuple[float, ...], ...], ...] = ()

PROBLEM = Problem(
    name="other", title="Other", source="a test", package=__name__, instance=Other,
    solution=Solution, levels=(), definition=None, explain=None, exact="", bound="", size="",
)
"""
"""A problem of another package: entries without ids, deep nesting, and names that collide."""


def test_other_schemas(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Layout, writing and reading follow from the fields of any schema."""
    (tmp_path / "other_problem.py").write_text(OTHER)
    entries = tmp_path / "other_problem-1.dist-info" / "entry_points.txt"
    entries.parent.mkdir()
    entries.write_text("[dlsched.problems]\nother = other_problem:PROBLEM\n")
    monkeypatch.syspath_prepend(tmp_path)
    entry = {"weight": 1, "tags": ["x", "y"], "table": {"a": [1, 2], "b": [3]}}
    other = dlsched.load(
        {"dlsched": 1, "problem": "other", "name": "n", "loose": [{"weight": 3}, entry]}
        | {"kinds": {"p": {"id": "q", "entries": [entry, {"weight": 2}]}, "r": {"id": "q"}}}
        | {"grid": [[[1.5, 2.0], [3.0]], [[4.0]]]}
    )
    frames = other.to_frames()
    assert list(frames["kinds_entries_table"].columns) == ["gpu_type", "entry", "key", "table"]
    assert dlsched.from_frames("other", **frames) == other


def test_column_types() -> None:
    """Integers stay integers, with gaps as nullable ones; fractions are floats; flags are flags."""
    times = [{"id": "a", "min_running_time": 3}, {"id": "b", "running_times": [2.5]}]
    one = {"gpus_per_worker": 1, "min_workers": 1, "max_workers": 1}
    data = {"dlsched": 1, "problem": "elastic", "name": "n", "capacity": 1}
    frames = dlsched.load(data | {"jobs": [one | job for job in times]}).to_frames()
    kinds = frames["jobs"].dtypes.astype(str).to_dict()
    assert kinds["min_workers"] == "int64" and kinds["min_running_time"] == "Int64"
    assert kinds["running"] == "bool" and kinds["id"] == "object"
    assert frames["jobs_running_times"].dtypes.astype(str)["running_times"] == "float64"


def test_single_documents_and_order() -> None:
    """A document of the instance is a frame of one row, a series or a dict; so is `instance`.

    Rows of a table are ordered by the column ``row``, not by where they stand in the frame. A
    solution has frames as well, with a row per entry, and per pool where workers are of pools.
    """
    expected = dlsched.load("synergy-tables")
    frames = expected.to_frames()
    for part in ("servers", "instance"):
        for single in (frames[part].iloc[0], frames[part].to_dict("records")[0]):
            assert dlsched.from_frames("sensitivity", **frames | {part: single}) == expected
    renamed = dlsched.from_frames("sensitivity", **frames, name="other", source=None)
    assert renamed.name == "other" and renamed.sha256 == expected.sha256
    turned = frames["profiles_throughput"].sort_values("row", ascending=False, kind="stable")
    frames["profiles_throughput"] = turned
    assert dlsched.from_frames("sensitivity", **frames) == expected
    solution: Any = dlsched.solve(expected).solution
    framed = solution.to_frames()
    assert framed["solution"].loc[0, "instance"] == "synergy-tables"
    assert list(framed["allocation_gpus"].columns) == ["allocation", "key", "gpus"]
    assert len(framed["allocation"]) == len(solution.allocation)
    pooled = {"a": {"training": 1, "loan": 2}, "b": 3}
    data = {"dlsched": 1, "problem": "elastic", "instance": "n", "workers": pooled}
    rows = dlsched.load_solution(data).to_frames()["workers"].fillna("").to_numpy().tolist()
    assert rows == [["a", "training", 1], ["a", "loan", 2], ["b", "", 3]]


def test_all_mistakes_are_named_at_once() -> None:
    """Of types, ids and references, each at its place; what follows from one is not another."""
    servers = pd.DataFrame({"id": ["s1", "s2", "s3", "s2"], "gpus": ["8", 8, -4, 1]})
    workers = WORKERS.assign(server=["s1", "s9"])
    parts = PARTS | {"servers": servers, "jobs_workers": workers, "demand": 1}
    with pytest.raises(dlsched.InstanceError) as raised:
        dlsched.from_frames("reclaiming", **parts)
    said = [line.strip().partition(": ")[0] for line in str(raised.value).splitlines()[1:]]
    assert said == [
        "servers, row 0, column gpus",
        "servers, row 2, column gpus",
        "servers, row 3, column id",
        "jobs_workers, row 1, column server",
    ]
    assert "already used in servers, row 1" in str(raised.value)
    with pytest.raises(dlsched.InstanceError, match=r"has 2 mistakes(.|\n)*gpu:(.|\n)*demnd"):
        dlsched.from_frames("reclaiming", **PARTS | {"demnd": 1, "servers": SERVERS.assign(gpu=1)})


def test_frames_of_a_result() -> None:
    """What was found level by level, how it ended, and the solution's frames."""
    result = dlsched.solve("hadar-section2")
    frames = result.to_frames()
    assert frames["result"].loc[0, "status"] == "optimal"
    assert frames["levels"]["objective"].tolist() == [float(v) for v in result.objective]
    assert frames["schedule_gpus"].equals(result.solution.to_frames()["schedule_gpus"])
    assert len(frames["trajectory"]) == len(result.trajectory)
    nothing = dlsched.solve("lyra-fig5", "lp").to_frames()
    assert nothing["levels"]["objective"].isna().all() and "solution" not in nothing
