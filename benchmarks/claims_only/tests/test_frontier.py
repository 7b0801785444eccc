"""The least preempted weight for every demand, against brute force."""

from __future__ import annotations

from fractions import Fraction

from claims_only.frontier import frontier

import dlsched
from dlsched.problems.reclaiming.definition.schema import Instance
from dlsched.testing import oracles
from dlsched.testing.strategies import reclaiming
from drawing import drawn


def demanding(instance: Instance, demand: int) -> Instance:
    """Return the instance with another demand."""
    return Instance.parse(instance.to_data() | {"demand": demand}, "test")


@drawn(50, reclaiming())
def test_every_row_is_the_brute_force_optimum(instance: Instance) -> None:
    """Every demand has the optimum's first level."""
    table = frontier(instance)
    n = len(instance.servers)
    assert list(table.columns) == ["demand", "preempted", "bound", "proven"]
    assert list(table.demand) == list(range(n + 1))
    assert table.proven.all()
    best = [oracles.reclaiming(demanding(instance, k)).preempted for k in range(n + 1)]
    assert list(table.preempted) == best


@drawn(50, reclaiming(mixed=True), quick=6)
def test_weights_far_apart(instance: Instance) -> None:
    """Weights from 1e-9 to 3e9: value and bound enclose the optimum, and are close."""
    best = oracles.reclaiming(instance)
    assert best is not None
    row = frontier(instance).loc[instance.demand]
    assert row.bound <= best.preempted <= row.preempted <= row.bound * (1 + Fraction(1, 10**8))


def test_the_frontier_of_figure_5() -> None:
    """Figure 5: a server costs a job, but two, three or five cost no more than one less."""
    table = frontier(dlsched.load("lyra-fig5"))
    assert list(table.preempted) == [0, 1, 1, 2, 3, 3, 4]


def test_the_frontier_of_no_servers() -> None:
    """The frontier of nothing has one row."""
    (row,) = frontier(Instance(name="none", demand=0, servers=(), jobs=())).itertuples(index=False)
    assert row._asdict() == {"demand": 0, "preempted": 0, "bound": 0, "proven": True}


def test_the_frontier_after_a_time_limit() -> None:
    """Stopped early, values and bounds enclose the minimum, and `proven` says where they agree."""
    instance = dlsched.generate("reclaiming", 1, servers=30, spread=0.8, sizes={4: 1, 8: 1, 16: 1})
    full, short = frontier(instance), frontier(instance, time_limit=0)
    assert full.proven.all()
    assert not short.proven.all()
    assert (short.bound <= full.preempted).all()
    assert (full.preempted <= short.preempted).all()
    assert ((short.bound == short.preempted) == short.proven).all()
