"""The auditor of published simulators: random runs are sound, and changed logs are refused."""

from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
from muri_cases import random_jobs
from published import PUBLISHED, Simulation, simulate
from published.bounds import bound
from published.log import Log
from simulation_cases import profiled_case

from dlsched.errors import OptionError, UnknownName
from dlsched.simulation import Cluster, Workload
from dlsched.simulation import simulate as simulate_ours
from dlsched.simulation.bounds import METRICS
from dlsched.simulation.log import Ending, Segment


def check(policy: str, seed: int, bounds: bool = True) -> None:
    """Audit a simulation, and compare completion time and makespan with lower bounds."""
    run = simulate(*profiled_case(seed, 3), policy, seed=seed)
    assert run.audit(), (seed, run.audit())
    for metric in METRICS if bounds else ():
        assert float(run.bound(metric).value) <= run.summary[metric] * (1 + 1e-12), (seed, metric)


@pytest.mark.parametrize("policy", PUBLISHED)
def test_policies_are_audited_and_no_better_than_a_bound(policy: str) -> None:
    """Small simulations of every policy have no violation, and none is below its lower bounds."""
    for seed in range(2):
        check(policy, seed)


@pytest.mark.slow
@pytest.mark.parametrize("policy", PUBLISHED)
def test_a_thousand_simulations(policy: str) -> None:
    """The same, a thousand times."""
    for seed in range(1000, 2000):
        check(policy, seed, bounds=seed < 1020)


@cache
def original(seed: int, policy: str = "muri_s") -> Simulation:
    """Return a simulation whose log is sound."""
    return simulate(*profiled_case(seed, 3), policy)


def kinds(run: Simulation, change: Callable[[Log], None]) -> set[str]:
    """Return the kinds of violations in a copy of the log after a change."""
    log = Log()
    log.meta = dict(run.log.meta)
    log.tables = {name: list(rows) for name, rows in run.log.tables.items()}
    change(log)
    changed = Simulation(run.workload, run.cluster, run.policy, run.method, log)
    return {violation.kind for violation in changed.audit().violations}


def segments(chosen: Callable[[Segment], bool], **fields: Any) -> Callable[[Log], None]:
    """Return a change to the first segment of a kind; a field may be a function of it."""

    def change(log: Log) -> None:
        rows = [Segment(*row) for row in log.rows("segments")]
        i = next(i for i, row in enumerate(rows) if chosen(row))
        values = {n: v(rows[i]) if callable(v) else v for n, v in fields.items()}
        log.tables["segments"][i] = rows[i]._replace(**values)

    return change


def rows(table: str, column: int, by: Callable[[Any], Any]) -> Callable[[Log], None]:
    """Return a change to a column of the first row of a table."""

    def change(log: Log) -> None:
        row = list(log.tables[table][0])
        row[column] = by(row[column])
        log.tables[table][0] = tuple(row)

    return change


def working(row: Segment) -> bool:
    """Whether work is done in a segment, which is not the job's last."""
    return row.work > 0


def completed(row: Segment) -> bool:
    """Whether a segment is a job's last."""
    return row.ending is Ending.COMPLETED and row.work > 0


FLOATS: dict[str, tuple[str, Callable[[float], Callable[[Log], None]]]] = {
    "work": ("work", lambda f: segments(working, work=lambda s: s.work * f)),
    "time": ("work", lambda f: segments(working, start=lambda s: s.end + f * (s.start - s.end))),
    "speed": ("work", lambda f: segments(working, speed=lambda s: repr(float(s.speed) * f))),
    "overhead": ("overhead", lambda f: segments(working, overhead=lambda s: (s.end - s.start) * f)),
    "total": ("unfinished", lambda f: segments(completed, work=lambda s: s.work * f)),
    "end": ("end", lambda f: lambda log: log.meta.update(end=log.meta["end"] * f)),
}
"""A kind of violation, and a change by a factor."""


@pytest.mark.parametrize("change", FLOATS)
@pytest.mark.parametrize("seed", range(3))
def test_floats_are_compared_within_a_billionth(change: str, seed: int) -> None:
    """A change by a millionth is refused, one by a millionth of a millionth is not of its kind."""
    kind, made = FLOATS[change]
    for factor, refused in ((1 + 1e-6, True), (1 + 1e-12, False)):
        assert (kind in kinds(original(seed), made(factor))) == refused


CHANGES: dict[str, Callable[[Log], None]] = {
    "slack": lambda log: log.meta.update(slack=1e9),
    "gang": segments(working, gpus=99),
    "shares": segments(working, shares='[["s1", 99]]'),
    "unknown_server": segments(working, shares='[["s99", 1]]', gpus=1),
    "gpus": segments(working, shares='[["s1", 99]]', gpus=99),
    "early": segments(working, start=-1.0),
    "ending": segments(completed, ending=Ending.PREEMPTED, end=lambda s: s.end + 0.5),
    "lost": segments(working, lost=5.0),
    "not_completed": lambda log: log.tables["completions"].pop() and None,
    "completion": rows("completions", 1, lambda time: time + 1),
    "waiting": rows("decisions", 2, lambda count: count + 1),
    "running": rows("decisions", 3, lambda count: count + 1),
    "started": rows("decisions", 4, lambda count: count + 9),
    "preempted": rows("decisions", 5, lambda count: count + 1),
    "order": lambda log: log.tables["decisions"].reverse(),
}
"""Changes by a kind of violation that each makes."""


@pytest.mark.parametrize("kind", CHANGES)
def test_changed_logs_are_refused(kind: str) -> None:
    """Each change is found by its kind, the slack as an entry of the header."""
    assert {"slack": "unreadable"}.get(kind, kind) in kinds(original(1), CHANGES[kind])


def test_jobs_of_a_group_hold_the_same() -> None:
    """A member on other GPUs is found."""
    run = simulate(random_jobs(0), Cluster.uniform(1, 8), "muri_s")
    change = segments(lambda s: s.sharing is not None, shares='[["s9", 1]]')
    assert "group" in kinds(run, change)


def test_opportunistic_jobs_hold_gpus_beside_others() -> None:
    """AntMan's log is clean because of its layers; without them its GPUs would not suffice."""
    refused = 0
    for seed in range(12):
        run = original(seed, "antman")
        assert run.audit()
        refused += "gpus" in kinds(run, lambda log: log.meta.pop("layers") and None)
    assert refused >= 2


def test_other_policies_are_refused_and_the_library_says_where_these_are() -> None:
    """A policy without published simulator is named; the former option says what to use."""
    case: tuple[Workload, Cluster] = profiled_case(1, 3)
    with pytest.raises(UnknownName, match="lyra"):
        simulate(*case, "lyra")
    with pytest.raises(UnknownName, match="lyra"):
        bound(*case, "lyra")
    with pytest.raises(OptionError, match="benchmarks/published"):
        simulate_ours(*case, "srtf", variant="published")
