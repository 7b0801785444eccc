"""Claims and results: what the checker confirms or refutes, levels and gaps, JSON and back."""

import json
import re
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dlsched
from dlsched import Bound, Claim, Run, SolverDisagreement, Status
from dlsched.problems.reclaiming import Instance, Solution
from dlsched.results.objective import ByLevel, Level, gap, relative_gap


def two() -> Instance:
    """Return two servers, one of which must go: s1 costs 1 job, s2 costs 2."""
    return Instance(
        name="two",
        demand=1,
        servers=[{"id": "s1", "gpus": 8}, {"id": "s2", "gpus": 8}],
        jobs=[
            {"id": name, "workers": [{"server": server, "gpus": 2}]}
            for name, server in [("a", "s1"), ("b", "s2"), ("c", "s2")]
        ],
    )


def returning(*servers: str) -> Solution:
    """Return a solution of `two`."""
    return Solution(instance="two", returned=servers)


def claiming(**claim: Any) -> Any:
    """Return a method that claims this about returning s1."""

    def claims(instance: Instance, run: Run) -> Claim:
        return Claim(**{"solution": returning("s1")} | claim)

    return claims


def claimed(value: Any) -> Bound:
    """Return a claimed bound."""
    return Bound(value, "claimed", "test")


def test_honest() -> None:
    """A correct claim becomes the result; NumPy's numbers are plain ones, bounds any iterator."""
    claim = claiming(objective=(1, 0), status="optimal", bounds=[[claimed(1.0)], [claimed(0.0)]])
    result = dlsched.solve(two(), claim)
    assert result.status is Status.OPTIMAL and result.objective == (1, 0) and result.gap == (0, 0)
    assert dlsched.read_result(result.to_json()) == result
    bounds = iter([[claimed(np.int64(1))], [claimed(np.float64(0.0))]])
    result = dlsched.solve(two(), claiming(bounds=bounds, objective=np.array([1, 0])))
    assert result.bound == (claimed(1), claimed(0)) and type(result.bound[0].value) is int


ONE = [[claimed(1)], [claimed(0)]]
"""Bounds that are the objective."""
OPEN = "optimal, but its own bound"
FALSE_CLAIMS: list[tuple[dict[str, Any], str]] = [
    ({"objective": (0, 0)}, "claims preempted = 0, the checker finds 1"),
    ({"objective": (1, 7)}, "claims collateral = 7"),
    ({"bounds": [[claimed(2.0)]]}, "beats its bound"),
    ({"bounds": [[Bound(2, "certified", "test")]]}, "beats its bound"),
    ({"bounds": [[claimed(1)], [claimed(5)]]}, "collateral = 0 beats its bound"),
    ({"status": "optimal", "bounds": [[claimed(0)], [claimed(0)]]}, OPEN),
    ({"status": "optimal"}, OPEN),
    ({"status": "optimal", "bounds": ONE[:1]}, OPEN),
    ({"status": "optimal", "bounds": ONE, "solution": None}, "returned no solution"),
    ({"status": "infeasible"}, "claims infeasible, and returns"),
    ({"status": "no solution"}, "claims no solution, and"),
]
"""What is false of returning s1, and words of the claimed and the correct value."""


ANSWERS: list[tuple[Any, str]] = [
    (None, "returned no solution"),
    (["s1"], "builtins.list, not a solution of reclaiming"),
    (two(), "Instance, not a solution"),
    (returning(), "1 violations; the first: returned: demand 1"),
    (returning("nowhere"), 'there is no server "nowhere"'),
    (Solution(instance="other", returned=("s1",)), 'for "other"'),
]


@pytest.mark.parametrize(("answer", "words"), ANSWERS)
def test_answers_that_are_none(answer: Any, words: str) -> None:
    """A function that returns nothing, a wrong type or an infeasible solution is an error."""
    with pytest.raises(SolverDisagreement, match=words):
        dlsched.solve(two(), lambda instance: answer)


@pytest.mark.parametrize(("bound", "slack"), [(1.0000000001, 2e-9), (1 - 1e-12, 2e-12)])
def test_noise_is_forgiven(bound: float, slack: float) -> None:
    """A bound off by rounding is weakened until it holds; a gap is called 0 if it is equal only."""
    result = dlsched.solve(two(), claiming(bounds=[[claimed(bound)]]))
    assert result.bound[0] is not None and 1 - slack < result.bound[0].value < 1
    assert result.gap[0] is not None and 0 < result.gap[0] < slack


def test_exact_bounds_have_no_noise() -> None:
    """A difference between exact numbers, however small, is a gap."""
    tiny = dlsched.schema.exact(1e-10)
    job = two().jobs[0].model_copy(update={"weight": tiny})
    instance = two().model_copy(update={"jobs": (job,)})
    result = dlsched.solve(instance, claiming(bounds=[[claimed(0)]]))
    assert result.objective == (tiny, 0) and result.gap[0] == 1


def test_limits_are_those_asked_for() -> None:
    """A method that changes the gap of its run proves nothing by it."""

    def widens(instance: Instance, run: Run) -> Claim:
        run.gap, run.time_limit, run.seed = 0.9, 99.0, 7
        return Claim(returning("s2"), status=Status.OPTIMAL, bounds=[[claimed(1)], [claimed(0)]])

    with pytest.raises(SolverDisagreement, match="leaves gap"):
        dlsched.solve(two(), widens)
    limits = dlsched.solve(two(), widens, gap=0.6).limits
    assert limits is not None and (limits.gap, limits.time_limit) == (0.6, None)


def test_bounds_of_other_optima_are_not_beaten() -> None:
    """A second level's bound does not hold for solutions that miss the first level's."""
    claim = claiming(bounds=[[claimed(0)], [claimed(99)]])
    result = dlsched.solve(two(), claim)
    assert result.gap == (1, None)


def test_no_solution_keeps_the_bound() -> None:
    """A method without a solution still returns its bounds."""
    claim = claiming(solution=None, status=Status.NO_SOLUTION, bounds=[[claimed(1)]], reason="x")
    result = dlsched.solve(two(), claim)
    assert result.solution is None and result.objective is None and result.gap == (None, None)
    assert result.bound[0] == claimed(1) and result.reason.endswith(" claims says: x")
    with pytest.raises(ValueError, match="no solution to compare"):
        result.gap_to(result.bound)


def test_a_dict_will_do() -> None:
    """A method may return a dict of the fields; what it raises is its own error."""
    result = dlsched.solve(two(), lambda instance: {"returned": ["s1"]})
    assert (result.objective, result.status) == ((1, 0), Status.FEASIBLE)
    assert result.solution.instance == "two"
    with pytest.raises(dlsched.InstanceError, match="cost: is an unknown field"):
        dlsched.solve(two(), lambda instance: {"returned": ["s1"], "cost": 1})
    with pytest.raises(KeyError, match="mine"):
        dlsched.solve(two(), lambda instance: {}["mine"])


@pytest.mark.parametrize(
    ("claim", "message"),
    [
        *FALSE_CLAIMS,
        ({"status": "best"}, "'best' is not a valid Status"),
        ({"termination": "tired"}, "'tired' is not a valid Termination"),
        ({"termination": "proved"}, "says feasible, but ended with proved"),
        ({"status": "no solution", "solution": None, "termination": "infeasible"}, "but ended"),
        ({"objective": {"preempted": 1}}, "cannot be read"),
        ({"objective": [float("nan")]}, "not finite"),
        ({"bounds": [[Bound(float("-inf"), "claimed", "m")]]}, "not finite"),
        ({"bounds": [[Bound(10**400, "claimed", "m")]]}, "too large"),
        ({"bounds": [[Bound(True, "claimed", "m")]]}, "bound is true, which is no number"),
        ({"bounds": [[Bound("1", "claimed", "m")]]}, "which is no number"),
        ({"bounds": [[Bound(1, "proved", "m")]]}, "no bound of the kind"),
        ({"bounds": [[Bound(1, "claimed", None)]]}, "method is None"),
        ({"bounds": [[1]]}, "cannot be read"),
        ({"objective": "12"}, "is no sequence"),
        ({"termination": "claimed"}, "says feasible, but ended with claimed"),
        ({"reason": float("inf")}, "cannot be read: TypeError: reason is inf"),
        ({"solver_message": None}, "solver_message is None"),
        ({"start": True}, "start is True"),
        ({"build_seconds": float("nan")}, "build_seconds is nan"),
        ({"solution": Solution(instance="two", instance_sha256="0", returned=("s1",))}, "digest"),
    ],
)
def test_claims_that_contradict_themselves(claim: dict[str, Any], message: str) -> None:
    """What a claim states as text is read as its enum; what cannot be true or read is refused."""
    with pytest.raises(SolverDisagreement, match=message):
        dlsched.solve(two(), claiming(**claim))


def test_infinite_numbers_are_no_obstacle_to_json() -> None:
    """Infinite progress and limits are none; of an infinite option one error says so."""

    def told(instance: Instance, run: Run, step: float = 1.0) -> Any:
        run.record(float("inf"), float("-inf"))
        run.record(2.0, float("nan"))
        return {"returned": ["s1"]}

    with pytest.warns(UserWarning, match="is no limit"):
        result = dlsched.solve(two(), told, time_limit=float("inf"))
    assert [point[1:] for point in result.trajectory] == [(None, None), (2.0, None)]
    assert result.limits is not None and result.limits.time_limit is None
    assert dlsched.read_result(result.to_json()) == result
    wrong = dlsched.solve(two(), told, step=float("inf"))
    with pytest.raises(dlsched.OptionError, match="option step=inf of told cannot be written as"):
        wrong.to_json()


def test_status_decides_the_termination() -> None:
    """Text serves as a termination, but not against a status that decides it."""
    stopped = dlsched.solve(two(), claiming(termination="time_limit"))
    assert (stopped.termination, stopped.reason) == (dlsched.Termination.TIME_LIMIT, "time limit")
    proved = dlsched.solve(two(), claiming(status="optimal", bounds=ONE, termination="proved"))
    assert proved.status is Status.OPTIMAL


def test_compare_reports_a_refuted_bound() -> None:
    """Gaps are those without the false bound, whose row says what refutes it; alone it stands."""
    bounds = [[Bound(2, "certified", "nothing")], ONE[1]]
    boast = claiming(solution=returning("s2"), status="optimal", bounds=bounds)
    none = claiming(solution=None, status="infeasible")
    table = dlsched.compare([two()], [boast, "exact", none])
    assert table["gap_to_best"].tolist()[:2] == [0.5, 0.0] and table["gap"][0] == 0
    assert "better than preempted = 2" in table["refuted"][0] and "found 1" in table["refuted"][0]
    assert table["refuted"][1] == "" and "infeasible" in table["refuted"][2]
    table = dlsched.compare([two()], [boast])
    assert table["gap"][0] == 0 and table["bound_kind"][0] == "claimed"


def test_columns_are_those_documented() -> None:
    """Rows have columns of the table in docs/benchmarks.md, in its order, and no others."""
    page = (Path(__file__).parents[1] / "docs" / "benchmarks.md").read_text()
    rows = re.findall(r"^\| `(.+?)` \| (.+) \|$", page.partition("## Suites")[0], re.M)
    columns = [name for name, meaning in rows if meaning]
    assert len(columns) == len({*columns}) > 30
    found = list(dlsched.compare(["lyra-fig5"], ["exact", "nobody"]).columns)
    levels = ["preempted", "collateral"]
    known = [name for name in columns if "<level>" not in name]
    known += [name.replace("<level>", level) for name in columns for level in levels]
    assert set(found) <= set(known)
    assert [name for name in found if name in columns] == [n for n in columns if n in found]


def test_gap_to_best_uses_the_library():
    """Without a proof in the table, gap_to_best is to the recorded bound; gap is not stated."""
    (row,) = dlsched.compare(["lyra-fig5"], ["random"]).to_dict("records")
    assert row["gap"] is None and row["gap_to_best"] == 0.5
    assert (row["gap_to_best_level"], row["best_bound_kind"]) == ("preempted", "certified")
    assert (row["preempted_best_bound"], row["preempted_bound"]) == (1, None)
    assert (row["status"], row["termination"]) == ("feasible", "finished")


LEVELS = (Level("few", "min", "jobs"), Level("many", "max", "GPUs"))


def test_names() -> None:
    """Entries are found by the names of their levels; a bound says value, kind and source."""
    value = ByLevel(LEVELS, (1, 2))
    assert (value.few, value.many, value.as_dict()) == (1, 2, {"few": 1, "many": 2})
    with pytest.raises(AttributeError, match=r"no level 'cost'; the levels are \['few', 'many'\]"):
        _ = value.cost
    assert not hasattr(value, "cost")
    with pytest.raises(ValueError, match="2 levels, 1 entries"):
        ByLevel(LEVELS, (1,))
    assert str(Bound(Fraction(7, 2), "certified", "dual vector")) == "3.5 (certified, dual vector)"


def test_better_by_senses() -> None:
    """Less is better at the first level, more at the second, and the first decides."""
    order = [(2, 9), (1, 4), (1, 5), (1, 6), (0, 0)]
    for (i, a), (j, b) in product(enumerate(order), repeat=2):
        assert ByLevel(LEVELS, a).better_than(ByLevel(LEVELS, b)) == (i > j)


@pytest.mark.parametrize(
    ("value", "bound", "expected"),
    [
        (0, 0, 0), (0.0, 0, 0), (4, 3, 0.25), (3, 4, 0.25), (0, 5, 1), (-2, -4, 0.5), (-1, 1, 2),
        (Fraction(1, 3), Fraction(1, 3), 0), (Fraction(1, 3), 0.0, 1), (10**15, 10**15 + 1, 1e-15),
    ],
)  # fmt: skip
def test_relative_gap(value: Any, bound: Any, expected: float) -> None:
    """The gap is |v - b| / max(|v|, |b|), and 0 when both are 0."""
    assert relative_gap(value, bound) == pytest.approx(expected, rel=1e-9)
    assert relative_gap(bound, value) == relative_gap(value, bound)


def test_gap_stops_at_the_first_level_that_is_open() -> None:
    """A level's gap is stated only if every earlier level is at its bound."""
    known = ByLevel(LEVELS, (Bound(4, "claimed", "x"), Bound(8, "certified", "y")))
    assert gap((4, 6), known) == (0, 0.25)
    assert gap((5, 6), known) == (pytest.approx(0.2), None)
    assert gap((4, 6), ByLevel(LEVELS, (None, known[1]))) == (None, None)
    assert gap((4, 6), ByLevel(LEVELS, (known[0], None))) == (0, None)
    assert gap((4, 8), ByLevel(LEVELS, (4, 8))) == (0, 0)  # bare values serve as bounds


@pytest.mark.parametrize(
    "text", ["", "[]", "null", "{", "[" * 100_000, '{"problem": 5}', '{"problem": "reclaiming"}']
)
def test_what_is_no_result_is_refused(text: str) -> None:
    """One error says what to give, whatever the text is."""
    with pytest.raises(dlsched.InstanceError, match=r"the text that Result\.to_json"):
        dlsched.read_result(text)


def test_a_damaged_result_names_the_field() -> None:
    """A field that every version wrote is missing, or is of another kind."""
    data = dlsched.solve(dlsched.load("lyra-fig5"), "lyra").to_data()
    later = {"solution", "termination", "limits", "proof", "variant", "spent"}
    for name in sorted(data.keys() - later):
        rest = {key: value for key, value in data.items() if key != name}
        with pytest.raises(dlsched.InstanceError, match=f"the result: {name}: is missing"):
            dlsched.read_result(json.dumps(rest))
    for name, value in {"status": "solved", "seconds": [1], "gap": {}, "bound": 3}.items():
        with pytest.raises(dlsched.InstanceError, match="the result: "):
            dlsched.read_result(json.dumps(data | {name: value}))
