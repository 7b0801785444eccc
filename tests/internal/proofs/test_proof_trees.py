"""Internal: trees of proofs; the check accepts only what holds at every integer point."""

import itertools
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import pytest
from form_cases import checked, satisfies
from hypothesis import given
from hypothesis import strategies as st

from dlsched import Run, SolverFailure
from dlsched.proofs.forms.form import Form, Goal, Row
from dlsched.proofs.levels import aim, kind_of
from dlsched.proofs.relaxation import Relaxation
from dlsched.proofs.search import TreeSearch, Unproved
from dlsched.proofs.sum_search import only_split, useful_sums
from dlsched.proofs.sums import with_sums
from dlsched.proofs.tree import InvalidTree, bound, check_tree
from dlsched.results.proof import Leaf, Split

SMALL = st.integers(-4, 4)


@st.composite
def forms(draw: st.DrawFn) -> Form:
    """Draw a form with few columns, all of them integer, and one level."""
    columns = draw(st.integers(1, 3))
    lower = draw(st.lists(st.integers(-2, 1), min_size=columns, max_size=columns))
    upper = [low + draw(st.integers(0, 3)) for low in lower]
    rows = []
    for _ in range(draw(st.integers(0, 3))):
        entries = {j: a for j in range(columns) if (a := draw(SMALL))}
        low, high = draw(st.one_of(st.none(), SMALL)), draw(st.one_of(st.none(), SMALL))
        rows.append(Row(entries, low, high))
    costs = {j: c for j in range(columns) if (c := draw(SMALL))}
    sign = draw(st.sampled_from([1, -1]))
    goal = Goal("level", sign, costs, draw(SMALL), Fraction(1, draw(st.integers(1, 3))), True)
    return Form("drawn", lower, upper, [True] * columns, rows, [goal])


def points(form: Form, lower: Sequence[int], upper: Sequence[int]) -> list[tuple[int, ...]]:
    """Return all integer points of a form within some bounds."""
    box = itertools.product(*(range(a, b + 1) for a, b in zip(lower, upper, strict=True)))
    return [x for x in box if all(satisfies(row, x) for row in form.rows)]


def _cost(form: Form, x: Sequence[int]) -> int:
    return sum(c * x[j] for j, c in form.goals[0].costs.items())


@given(forms(), st.lists(st.integers(-9, 9), min_size=3, max_size=3), st.integers(0, 3))
@checked
def test_bounds_hold_for_any_multipliers(form: Form, y: list[int], bits: int) -> None:
    """No integer point is below the bound of a leaf, and a leaf called empty has no point."""
    chosen = {i: v for i, v in enumerate(y[: len(form.rows)]) if v}
    found = points(form, form.lower, form.upper)
    costs = form.goals[0].costs
    value = bound(form.rows, costs, Leaf(bits, chosen), form.lower, form.upper)
    if value is not None:
        assert all(value <= 2**bits * _cost(form, x) for x in found)
    ray = bound(form.rows, costs, Leaf(bits, chosen, empty=True), form.lower, form.upper)
    assert ray is None or ray <= 0 or not found


@given(forms())
@checked
def test_search_proves_the_optimum_and_nothing_better(form: Form) -> None:
    """The tree for the optimum is accepted; for a step more there is none, and that one fails."""
    found = points(form, form.lower, form.upper)
    if not found:
        return
    goal = form.goals[0]
    least = min(_cost(form, x) for x in found)
    value = goal.sign * goal.unit * (least + goal.offset)
    wanted = aim(form, 0, [value], kind_of(form, 0))
    nodes = TreeSearch(form, wanted, Run()).nodes(1000)
    assert check_tree(form, wanted.rows, goal.costs, nodes, wanted.least, wanted.strict) >= 1
    more = goal.sign * goal.unit * (least + 1 + goal.offset)
    beyond = aim(form, 0, [more], kind_of(form, 0))
    with pytest.raises(InvalidTree):
        check_tree(form, beyond.rows, goal.costs, nodes, beyond.least, beyond.strict)
    with pytest.raises(Unproved):
        TreeSearch(form, beyond, Run()).nodes(1000)


@given(forms(), st.sampled_from([0, 0, 1]))
@checked
def test_sums_prove_the_optimum_and_nothing_better(form: Form, more: int) -> None:
    """With the sums that are found, the optimum is proved, and a step more is not."""
    found = points(form, form.lower, form.upper)
    if not found:
        return
    goal = form.goals[0]
    least = min(_cost(form, x) for x in found) + more
    wanted = aim(form, 0, [goal.sign * goal.unit * (least + goal.offset)], kind_of(form, 0))
    sums = useful_sums(form, wanted, Run())
    wider, rows = with_sums(form, wanted.rows, sums)
    search = TreeSearch(wider, replace(wanted, rows=rows), Run())
    if more:
        with pytest.raises(Unproved):
            search.nodes(1000)
    else:
        tree, kept = only_split(form, wanted, sums, search.nodes(1000))
        wider, rows = with_sums(form, wanted.rows, kept)
        assert check_tree(wider, rows, goal.costs, tree, wanted.least, wanted.strict) >= 1


def test_a_column_that_is_no_integer_is_not_split() -> None:
    """Minimize 2 x, with x + y >= 2, y <= 1: x is an integer, y is not."""
    goal = Goal("level", 1, {0: 2}, 0, Fraction(1), True)
    form = Form("made", [0, 0], [3, 1], [True, False], [Row({0: 1, 1: 1}, 2, None)], [goal])
    wanted = aim(form, 0, [2], "certified")
    leaf = Leaf(0, {0: 2})
    assert check_tree(form, wanted.rows, goal.costs, [leaf], wanted.least, wanted.strict) == 1
    nodes = [Split(1, 0), leaf, leaf]
    with pytest.raises(InvalidTree, match="node 0: column 1 cannot be split at 0"):
        check_tree(form, wanted.rows, goal.costs, nodes, wanted.least, wanted.strict)


def test_primal_simplex_solves_what_the_dual_one_gives_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """A relaxation without a status is solved again; the same happens to a real one, rarely."""
    relaxation = Relaxation(
        Form("drawn", [0], [5], [True], [], []), [Row({0: 2}, 3, None)], {0: 1}, Run()
    )
    session = relaxation.program.session
    outcomes = iter([SolverFailure("HiGHS ended with kSolveError"), None])
    solve = session.solve

    def give_up_once() -> str:
        if error := next(outcomes):
            raise error
        return solve()

    monkeypatch.setattr(session, "solve", give_up_once)
    solved = relaxation.solve()
    assert solved is not None and solved.value == pytest.approx(1.5)
