"""Proofs whose subtrees are tasks of their own: the same tree wherever they are searched."""

from __future__ import annotations

import os
import pickle
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

import dlsched
from calls import started
from dlsched import Run
from dlsched.proofs import subtrees
from dlsched.proofs.check import Aim, Form, aim, check_tree
from dlsched.proofs.document import Leaf
from dlsched.proofs.forms.form import Goal, Row
from dlsched.proofs.levels import kind_of
from dlsched.proofs.search import Stopped, TooManyNodes, TreeSearch, Unproved
from dlsched.proofs.subtrees import search_spread
from dlsched.sweeps import Dask, Local, Shards
from dlsched.sweeps.calls import CallsFailed

COLUMNS = 9
LARGE = "placement-15x4x20-v2-3"


def form() -> Form:
    """Return Jeroslow's example: twice a sum of nine is odd but for a tenth; its trees are large.

    R. G. Jeroslow, "Trivial integer programs unsolvable by branch-and-bound", 1974.
    """
    row = Row({0: 1, **{j: 2 for j in range(1, COLUMNS + 1)}}, COLUMNS, COLUMNS)
    ends = [0] * (COLUMNS + 1), [1] * (COLUMNS + 1)
    goal = Goal("odd", 1, {0: 1}, 0, Fraction(1), True)
    return Form("jeroslow", *ends, [True] * (COLUMNS + 1), [row], [goal])


def wanted(form: Form) -> Aim:
    """Return the aim of proving that the tenth is 1."""
    return aim(form, 0, [1], kind_of(form, 0))


def here(
    function: Callable[[Any, Any], Any],
    shared: Any,
    items: Sequence[Any],
    stop: Callable[[], object],
) -> list[Any] | None:
    """Make the calls in this process, the last one first."""
    return None if stop() else [function(shared, item) for item in items[::-1]][::-1]


def test_subtrees_make_a_proof() -> None:
    """Joined in preorder, top and subtrees are a tree that the check accepts, with many tasks."""
    made, target = form(), wanted(form())
    called: list[int] = []

    def counted(function: Any, shared: Any, items: Any, stop: Any) -> Any:
        called.append(len(items))
        return here(function, shared, items, stop)

    nodes = search_spread(made, target, Run(), 10_000, counted)
    costs = target.goal.costs
    assert called == [subtrees.SUBTREES]
    leaves = check_tree(made, target.rows, costs, nodes, target.least, target.strict)
    alone = TreeSearch(made, target, Run()).nodes(10_000)
    assert leaves > subtrees.SUBTREES < sum(isinstance(node, Leaf) for node in alone)


def test_subtrees_that_are_no_proof() -> None:
    """What workers with other code answer is refused; limits end a search as they do in one."""
    made, target = form(), wanted(form())

    def wrong(function: Any, shared: Any, items: Any, stop: Any) -> Any:
        return [[Leaf(0, {})]] * len(items)

    with pytest.raises(Unproved, match="the subtrees do not make a proof: node"):
        search_spread(made, target, Run(), 10_000, wrong)
    with pytest.raises(TooManyNodes):
        search_spread(made, target, Run(), 40, here)
    with pytest.raises(Unproved, match="better than the target"):
        search_spread(made, replace(target, least=target.least + 1), Run(), 10_000, here)
    with pytest.raises(Stopped):
        search_spread(made, target, Run(time_limit=1e-9), 10_000, here)


@pytest.mark.slow
def test_processes_give_the_same_tree() -> None:
    """One process, two, and this one give the same nodes."""
    made, target = form(), wanted(form())
    first = search_spread(made, target, Run(), 10_000, here)
    for jobs in (1, 2):
        assert first == search_spread(made, target, Run(), 10_000, Local(jobs).independent)


def test_calls_that_fail() -> None:
    """An exception within a call is raised here, a dead process is one error, a stop is none."""
    with pytest.raises(ZeroDivisionError):
        Local(1).independent(divmod, 1, [1, 2, 0, 3], lambda: False)
    with pytest.raises(CallsFailed, match="ended with status 7 within a call"):
        Local(1).independent(_leave, 7, [0], lambda: False)
    assert Local(2).independent(_wait, 60, [0, 0, 0], lambda: True) is None


def test_calls_leave_nothing() -> None:
    """However calls end, no thread waits and no process runs on, so that the interpreter ends."""
    import psutil

    here = psutil.Process()
    before = threading.enumerate(), here.children()
    with pytest.raises(ZeroDivisionError):
        Local(1).independent(divmod, 1, [0, 1, 2], lambda: False)
    with pytest.raises(CallsFailed):
        Local(2).independent(_leave, 7, [0, 0, 0, 0], lambda: False)
    assert Local(2).independent(_wait, 60, [0, 0, 0], lambda: True) is None
    with pytest.raises((AttributeError, pickle.PicklingError)):
        Local(2).independent(lambda shared, item: item, 0, [0, 0], lambda: False)
    assert (threading.enumerate(), here.children()) == before


def test_calls_end_with_their_caller() -> None:
    """A process within a call ends soon after the one that asked for it was killed."""
    import psutil

    script = f"""
from dlsched.sweeps import Local
Local(1).independent(exec, {"import os, time; print(os.getpid(), flush=True); time.sleep(600)"!r},
                     [dict()], lambda: False)
"""
    with started(script) as caller:
        assert caller.stderr is not None
        worker = psutil.Process(int(caller.stderr.readline()))
        caller.kill()
        assert psutil.wait_procs([worker], timeout=60)[0] == [worker]


def test_place_without_calls() -> None:
    """A shard of a plan is no place for the parts of a proof."""
    with pytest.raises(dlsched.OptionError, match="makes no independent calls"):
        dlsched.prove("lyra-fig5", on=Shards(0, 1))  # type: ignore[arg-type]


def _leave(status: int, item: object) -> None:
    os._exit(status)


def _wait(seconds: float, item: object) -> None:
    time.sleep(seconds)


@pytest.mark.slow
def test_proof_on_dask_and_on_this_machine() -> None:
    """A proof of the library's instance is the same on Dask and on processes, and is valid."""
    import distributed

    one = dlsched.prove(LARGE, on=Local(2))
    assert one.leaves > subtrees.SUBTREES
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=":0"
    ) as cluster:
        assert dlsched.prove(LARGE, on=Dask(cluster)).to_data() == one.to_data()
    checked = dlsched.check_proof(LARGE, one)
    assert [c.value for c in checked.levels] == [c.value for c in dlsched.check_proof(LARGE).levels]
