"""Internal: sums, subtrees and independent calls, with which large trees of proofs are found."""

import itertools
import os
import pickle
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import psutil
import pytest
from form_cases import checked, drawn, satisfies
from hypothesis import given, settings
from hypothesis import strategies as st

import dlsched
from dlsched import Run
from dlsched.api.proving import spread_of
from dlsched.execution import Local, run_all
from dlsched.proofs import subtrees
from dlsched.proofs.forms.form import Form, Goal, Row
from dlsched.proofs.levels import Aim, aim
from dlsched.proofs.prove import ProofFailed, prove_infeasible, prove_solution
from dlsched.proofs.search import Stopped, TooManyNodes, TreeSearch, Unproved
from dlsched.proofs.subtrees import search_spread
from dlsched.proofs.sum_search import only_split, useful_sums
from dlsched.proofs.sums import InvalidSum, with_sums
from dlsched.proofs.tree import check_tree
from dlsched.results.proof import Leaf
from dlsched.testing import strategies

PROBLEMS = ["elastic", "interleaving", "sensitivity", "workers", "dispatch"]
"""Of these, some of the drawn instances have sums that help."""
SMALL = st.integers(-3, 3)
LARGE = "placement-15x4x20-v2-3"


@given(st.data())
@checked
def test_points_remain(data: st.DataObject) -> None:
    """Every point of a form, with what the sums are at it, is one of the form with sums."""
    draw = data.draw
    columns = draw(st.integers(1, 3))
    lower = [draw(SMALL) for _ in range(columns)]
    upper = [low + draw(st.integers(0, 2)) for low in lower]
    form = Form("drawn", lower, upper, [True] * columns, [], [])
    sums = [{j: draw(SMALL) for j in range(columns)} for _ in range(draw(st.integers(0, 3)))]
    given_row = Row({0: 1}, None, None)
    wider, rows = with_sums(form, [given_row], sums)
    assert rows[0] is given_row and len(rows) == len(sums) + 1
    assert all(wider.integer) and wider.first == frozenset(range(columns, columns + len(sums)))
    box = (range(a, b + 1) for a, b in zip(lower, upper, strict=True))
    for x in itertools.product(*box):
        point = [*x, *(sum(a * x[j] for j, a in entries.items()) for entries in sums)]
        assert all(satisfies(row, point) for row in rows)
        ends = zip(wider.lower, point, wider.upper, strict=True)
        assert all(low <= v <= high for low, v, high in ends)


@pytest.mark.parametrize("column", [1, 2, -1])
def test_sums_are_of_integer_columns(column: int) -> None:
    """A column that is no integer, an earlier sum, and one that is not there are refused."""
    form = Form("made", [0, 0], [3, 3], [True, False], [], [])
    with pytest.raises(InvalidSum):
        with_sums(form, [], [{0: 2}, {0: 1, column: 1}])


def test_a_sum_proves_what_columns_need_many_splits_for() -> None:
    """Twice the columns' sum is 9: one split of the sum, where columns give 2**4 leaves."""
    n = 8
    row, goal = Row(dict.fromkeys(range(n), 2), 9, 9), Goal("level", 1, {}, 0, Fraction(1), True)
    form = Form("made", [0] * n, [1] * n, [True] * n, [row], [goal])
    wanted = aim(form, 0, [1], "certified")
    sums = useful_sums(form, wanted, Run())
    assert sums
    wider, rows = with_sums(form, wanted.rows, sums)
    nodes = TreeSearch(wider, replace(wanted, rows=rows), Run()).nodes(3)
    tree, kept = only_split(form, wanted, sums, nodes)
    assert len(tree) == 3 and len(kept) == 1
    wider, rows = with_sums(form, wanted.rows, kept)
    assert check_tree(wider, rows, {}, tree, wanted.least, wanted.strict) == 2


@pytest.fixture
def always_sums(monkeypatch: pytest.MonkeyPatch) -> None:
    """Try sums for every tree of several nodes."""
    monkeypatch.setattr("dlsched.proofs.prove.FEW", 0)


def test_a_tree_with_sums_is_smaller(always_sums: None) -> None:
    """Without sums, the tree of this instance has 29 nodes."""
    proof = dlsched.prove("interleaving-small-04")
    assert proof.levels[0].sums and proof.leaves < 15
    assert dlsched.check_proof("interleaving-small-04", proof).levels[0].leaves == proof.leaves


@pytest.mark.slow
@pytest.mark.parametrize("problem", PROBLEMS)
def test_optima_are_proved_with_sums(problem: str, always_sums: None) -> None:
    """Proofs of drawn instances hold if sums are tried for every tree of several nodes."""
    numbers = []

    @settings(drawn, max_examples=150)
    @given(getattr(strategies, problem)())
    def run(instance: dlsched.Instance) -> None:
        best = dlsched.solve(instance)
        if best.solution is None:
            return
        proof = prove_solution(instance, best.solution, Run())
        assert [c.value for c in dlsched.check_proof(instance, proof).levels] == [*best.objective]
        numbers.append(sum(len(level.sums) for level in proof.levels))

    run()
    assert any(numbers)


def jeroslow(n: int = 9) -> tuple[Form, Aim]:
    """Return twice a sum of nine, odd but for a tenth column, which has to be proved to be 1.

    Its trees are large. R. G. Jeroslow, "Trivial integer programs unsolvable by
    branch-and-bound", 1974.
    """
    row = Row({0: 1, **{j: 2 for j in range(1, n + 1)}}, n, n)
    goal = Goal("odd", 1, {0: 1}, 0, Fraction(1), True)
    form = Form("jeroslow", [0] * (n + 1), [1] * (n + 1), [True] * (n + 1), [row], [goal])
    return form, aim(form, 0, [1], "certified")


def here(
    function: Callable[[Any, Any], Any], shared: Any, items: Sequence[Any], stop: Any
) -> list[Any] | None:
    """Make the calls in this process, the last one first."""
    return None if stop() else [function(shared, item) for item in items[::-1]][::-1]


def test_subtrees_make_a_proof() -> None:
    """Joined in preorder, top and subtrees are a tree that the check accepts, with many tasks."""
    form, target = jeroslow()
    called: list[int] = []

    def counted(function: Any, shared: Any, items: Any, stop: Any) -> Any:
        called.append(len(items))
        return here(function, shared, items, stop)

    nodes = search_spread(form, target, Run(), 10_000, counted)
    assert called == [subtrees.SUBTREES]
    costs = target.goal.costs
    leaves = check_tree(form, target.rows, costs, nodes, target.least, target.strict)
    alone = TreeSearch(form, target, Run()).nodes(10_000)
    assert leaves > subtrees.SUBTREES < sum(isinstance(node, Leaf) for node in alone)


def test_subtrees_that_are_no_proof() -> None:
    """What workers with other code answer is refused; limits end a search as they do in one."""
    form, target = jeroslow()
    with pytest.raises(Unproved, match="the subtrees do not make a proof: node"):
        search_spread(form, target, Run(), 10_000, lambda f, s, i, t: [[Leaf(0, {})]] * len(i))
    with pytest.raises(TooManyNodes):
        search_spread(form, target, Run(), 40, here)
    with pytest.raises(Unproved, match="better than the target"):
        search_spread(form, replace(target, least=target.least + 1), Run(), 10_000, here)
    with pytest.raises(Stopped):
        search_spread(form, target, Run(time_limit=1e-9), 10_000, here)


@pytest.mark.slow
def test_processes_give_the_same_tree() -> None:
    """One process, two, and this one give the same nodes, and so does Dask."""
    import distributed

    form, target = jeroslow()
    first = search_spread(form, target, Run(), 10_000, here)
    for jobs in (1, 2):
        assert first == search_spread(form, target, Run(), 10_000, spread_of(Local(jobs)))
    one = dlsched.prove(LARGE, on=Local(2))
    assert one.leaves > subtrees.SUBTREES
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    with distributed.LocalCluster(**options) as cluster:
        assert dlsched.prove(LARGE, on=cluster).to_data() == one.to_data()
    checked = dlsched.check_proof(LARGE, one)
    assert [c.value for c in checked.levels] == [c.value for c in dlsched.check_proof(LARGE).levels]


def _leave(status: int, item: object) -> None:
    os._exit(status)


def _wait(seconds: float, item: object) -> None:
    time.sleep(seconds)


def test_calls_that_fail_leave_nothing() -> None:
    """An error within a call is raised, a dead process is one error, a stop is none.

    However calls end, no thread waits and no process runs on, so that the interpreter ends.
    """
    here = psutil.Process()
    assert run_all(abs, [-1, 2], jobs=2) == [1, 2]  # what processes are forked from stays
    before = threading.enumerate(), here.children()
    with pytest.raises(ZeroDivisionError):
        run_all(partial(divmod, 1), [1, 2, 0, 3])
    with pytest.raises(dlsched.DlschedError, match="ended with status 7"):
        run_all(partial(_leave, 7), [0, 0, 0], jobs=2)
    assert run_all(partial(_wait, 60), [0, 0, 0], jobs=2, stop=lambda: True) is None
    with pytest.raises((AttributeError, pickle.PicklingError)):
        run_all(lambda item: item, [0, 0], jobs=2)
    assert (threading.enumerate(), here.children()) == before


@pytest.mark.parametrize("name", dlsched.list_problems())
def test_no_proof_says_that_an_instance_with_solutions_has_none(name: str) -> None:
    """The forms that leave out no solution have points."""
    for example in dlsched.list_instances(name)[:2]:
        with pytest.raises(ProofFailed):
            prove_infeasible(dlsched.load(example), Run())
