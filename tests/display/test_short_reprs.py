"""What objects show of themselves is short, whatever their size."""

from __future__ import annotations

import pytest

import dlsched
from dlsched import InstanceError, OptionError
from dlsched.records import read_trace, replay, snapshot
from dlsched.simulation import Cluster, Workload, simulate
from dlsched.simulation.policies import make_policy
from dlsched.text import rendering

LONGEST = 1200
"""Characters of a ``repr``."""


def test_an_interrupted_import_of_renderings_is_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise nothing would be shown well until the process ends."""
    called = []

    def load() -> None:
        called.append(1)
        if len(called) == 1:
            raise KeyboardInterrupt

    monkeypatch.setattr(rendering, "_waiting", {})
    rendering.provide(load)
    with pytest.raises(KeyboardInterrupt):
        rendering.register()
    for _ in range(2):
        rendering.register()
    assert len(called) == 2


def test_reprs_are_short() -> None:
    """Trace, workload, cluster, state, replay, snapshot, simulation and proof fit ten lines."""
    trace = read_trace("synthetic-1")
    workload = Workload.from_trace(trace, limit=50)
    cluster = Cluster.uniform(200, 8)
    shot = snapshot(trace, "2d")
    run = simulate(workload, cluster, "fifo")
    proof = dlsched.prove("lyra-fig5")
    shown = [
        trace,
        workload,
        cluster,
        shot,
        shot.state,
        replay(trace, until="1d"),
        run,
        proof,
    ]
    for thing in [*shown, *proof.levels, *trace.jobs[:3], run.log]:
        assert len(repr(thing)) <= LONGEST
        assert repr(thing).count("\n") < 10
    assert repr(shot).startswith("<snapshot of 'synthetic-1' at 2d: 64 servers of 8 GPUs, ")
    assert (
        repr(proof)
        == "<proof for reclaiming instance 'lyra-fig5': preempted=1, collateral=0; 2 leaves>"
    )


def test_levels_that_say_nothing_are_counted() -> None:
    """Of dispatch's sixteen those are shown that are not 0; of two all are."""
    instance = dlsched.generate("dispatch", seed=1, pending=6)
    best, mast = dlsched.solve(instance), dlsched.solve(instance, "mast")
    assert repr(best).splitlines()[1:] == [
        "  levels that are 0 at a bound of 0: 14",
        "  started_7: 22.92 GPUs, bound 22.92 (certified), gap 0 %",
        "  spread: 9 machines and racks, bound 9 (claimed), gap 0 %>",
    ]
    values = {level.name: value for level, value in mast.objective.pairs() if value}
    first, *levels = repr(mast).splitlines()[1:]
    assert first == f"  levels that are 0, without a bound: {16 - len(values)}"
    assert [line.strip().partition(":")[0] for line in levels] == [*values]
    report = repr(dlsched.verify(instance, best.solution)).splitlines()[1:]
    assert [line.strip().partition(":")[0] for line in report] == [
        *("levels that are 0", "started_7", "spread")
    ]
    few = repr(dlsched.solve("lyra-fig5")).splitlines()[1:]
    assert [line.strip().partition(":")[0] for line in few] == ["preempted", "collateral"]


def test_a_snapshot_in_a_notebook() -> None:
    """Its counts are a table; the trace's name is escaped."""
    trace = read_trace("synthetic-1").model_copy(update={"name": "<b>"})
    shown = snapshot(trace, "2d")._repr_html_()
    assert "GPUs free" in shown and "<b>at" not in shown and "&lt;b&gt;" in shown


def test_levels_are_completed() -> None:
    """The names of levels are among the attributes that a shell offers."""
    result = dlsched.solve("lyra-fig5", "lyra")
    assert {"preempted", "collateral", "as_dict"} <= set(dir(result.objective))
    assert "preempted" in dir(result.bound)


def test_did_you_mean() -> None:
    """A misspelled option of a method, a generator, a policy or a state names the near ones."""
    with pytest.raises(OptionError, match=r"has no option 'tme_limit'.*mean 'time_limit'"):
        dlsched.solve("lyra-fig5", "lyra", tme_limit=3)
    with pytest.raises(OptionError, match=r"no parameter 'server'; it has: .*mean 'servers'\?"):
        dlsched.generate("reclaiming", server=3)
    with pytest.raises(OptionError, match=r"muri_s has no option 'intervall'; .*'interval'\?"):
        make_policy("muri_s", intervall=3)


def test_a_bare_dict_as_solution() -> None:
    """Data without the first two fields are told what they lack; a misspelled field is named."""
    with pytest.raises(InstanceError) as found:
        dlsched.verify("lyra-fig5", {"returned": ["1", "2"]})
    assert 'did you mean {"dlsched": 1, "problem": "reclaiming", **data}?' in str(found.value)
    assert "returned)" in str(found.value)
    whole = {"dlsched": 1, "problem": "reclaiming", "return": ["1", "2"]}
    with pytest.raises(InstanceError, match='returned: is missing; add it, or rename "return"'):
        dlsched.verify("lyra-fig5", whole)
    more = {**whole, "returned": ["1", "2"]}
    with pytest.raises(InstanceError, match=r"return: is an unknown field; .*mean 'returned'"):
        dlsched.verify("lyra-fig5", more)
