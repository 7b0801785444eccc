"""The public calls: solve, compare, verify, what they refuse, and the names in their tables."""

import functools
import inspect
import itertools
import os
import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dlsched
from calls import data
from dlsched import Bound, Claim, OptionError, Run, registry
from dlsched.problems.reclaiming import Instance
from dlsched.records import read_trace
from dlsched.simulation import pool, queue, snapshot


@pytest.fixture
def instance() -> Instance:
    """Return an instance on which the heuristics differ."""
    made = dlsched.generate("reclaiming", seed=1, servers=30, demand=8, spread=0.8)
    assert isinstance(made, Instance)
    return made


def fails(instance: Instance) -> None:
    """Raise."""
    raise RuntimeError("out of luck")


def test_a_keyword_that_no_method_takes_is_refused_by_compare(instance: Instance) -> None:
    """As by `solve`, with what was meant; one that some methods take is an error of the others."""
    refused = pytest.raises(OptionError, match=r"no option 'timelimit'.*'time_limit'")
    with refused:
        dlsched.solve(instance, "lyra", timelimit=2)
    with refused:
        dlsched.compare([instance], ["lyra", "exact", "nobody"], timelimit=2)
    table = dlsched.compare([instance], ["lyra", "exact"], levels=1)
    assert table["status"].tolist() == ["error", "feasible"]


def test_compare_takes_an_option_of_the_method_for_any_instance(instance: Instance) -> None:
    """What ``exact`` is may differ by instance, and in which order they come does not matter."""
    other = dlsched.generate("elastic", jobs=3)
    for instances in ([instance, other], [other, instance]):
        table = dlsched.compare(instances, ["exact"], memory_gib=1.0).set_index("problem")
        assert dict(table["status"]) == {"reclaiming": "error", "elastic": "optimal"}


def test_compare(instance: Instance) -> None:
    """Every method has a row; gaps are to the best bound of all; failures say why."""
    seen: list[Any] = []
    table = dlsched.compare([instance], ["random", "exact", fails], on_answer=seen.append)
    rows = table.set_index("method")
    assert list(rows["status"]) == ["feasible", "optimal", "error"]
    assert rows.loc["fails", "reason"] == "RuntimeError: out of luck"
    assert rows.loc["exact", "resolved_method"] == "milp"
    assert rows.loc["exact", "gap"] == 0 and np.isnan(rows.loc["random", "gap"])
    assert rows.loc["random", "gap_to_best"] > 0
    assert rows.loc["random", "preempted_best_bound"] == rows.loc["exact", "preempted"]
    assert len(seen) == 3
    assert dlsched.compare([], ["exact"]).empty
    assert dlsched.compare([dlsched.generate("reclaiming", servers=2)], []).empty


def test_compare_takes_the_strongest_bound(instance: Instance) -> None:
    """A weak bound of one method does not hide the strong one of another."""

    def weak(instance: Instance, run: Run) -> Claim:
        found = dlsched.solve(instance, "random").solution
        return Claim(solution=found, bounds=[[Bound(0, "certified", "nothing")]])

    table = dlsched.compare([instance], [weak, "lp", "exact"]).set_index("method")
    assert table["preempted_best_bound"].nunique() == 1 and table.loc["weak", "gap"] == 1
    assert table.loc["lp", "status"] == "no solution"


def test_verify_takes_bounds(instance: Instance) -> None:
    """A report has the gap to them."""
    result = dlsched.solve(instance)
    assert dlsched.verify(instance, result, bound=result.bound).gap == (0, 0)


WRONG = {
    "threads": ("2", 1.5, True, 0),
    "gap": ("x", None, float("nan"), 1, -0.1),
    "time_limit": ("5", [1], float("nan"), True, 0),
    "seed": ("1", 0.5, -1, None),
    "log": ("no", 1, None),
    "certify": ("no", 0, None),
}
"""By option of `solve`: values of a wrong type or size."""


@pytest.mark.parametrize(
    ("option", "value"), [(option, value) for option, values in WRONG.items() for value in values]
)
def test_options_of_a_wrong_type(option: str, value: Any) -> None:
    """An option of a wrong type or size is refused by name, before anything runs."""
    with pytest.raises(dlsched.OptionError, match=re.escape(f"{option}={value!r} must be")):
        dlsched.solve("lyra-fig5", "random", **{option: value})


@pytest.mark.parametrize(
    "option", ["method", "solver", "gap", "threads", "time_limit", "seed", "levels", "variant"]
)
@pytest.mark.parametrize("sign", [1, -1])
def test_integers_that_python_does_not_write(option: str, sign: int) -> None:
    """One of 5,000 digits is refused by name like any other value that cannot be used."""
    options = {"method": "milp"} | {option: sign * 10**5000}
    with pytest.raises(OptionError, match=f"^{option}=a value of type int that cannot be shown "):
        dlsched.solve("lyra-fig5", **options)
    with pytest.raises(OptionError, match="a value of type int that cannot be shown must be"):
        dlsched.generate("reclaiming", servers=sign * 10**5000)


OF_ANOTHER_TYPE = {
    "bool": ("yes", 1, None, 0.0),
    "int": ("x", 1.5, True, None, float("nan"), [1], {}),
    "int | None": ("x", 1.5, True, float("nan"), [1], {}),
    "float": ("x", True, None, float("nan"), [1.0], 1j),
    "float | None": ("x", True, float("nan"), [1.0], 1j),
    "str": (1, None, True, b"x", ["x"]),
    "str | None": (1, True, b"x", ["x"]),
    "Mapping[int, float]": (1, "x", None, [1], {"1": 0.5}, {1: "x"}, {1.5: 1}, {True: 1}),
    "Mapping[int, float] | None": (1, "x", [1], {"1": 0.5}, {1: "x"}, {True: 1}),
    "Mapping[str, float] | None": (1, "x", [1], {1: 1}, {"a": "x"}, {"a": True}),
    "Sequence[float]": (1, "x", None, [1, "x", 2], {"a": 1}, [None]),
    "tuple[float, float]": (1, "xy", None, (1,), (1, 2, 3), (1, "x"), (True, 1)),
    "str | Sequence[Mapping[str, float]] | Mapping[str, Sequence[Mapping[str, float]]]": (
        1, None, [1], {"a": 1}, [{"a": "x"}], {"a": [{"b": True}]}, {1: []},
    ),
}  # fmt: skip
"""By annotation: values of another type."""


def annotated(parameter: inspect.Parameter) -> str:
    """Return a parameter's annotation as it is written."""
    written = inspect.formatannotation(parameter.annotation).strip("'")
    return re.sub(r"\b(collections\.abc|typing)\.", "", written)


@pytest.mark.parametrize("name", registry.BUILT_IN)
def test_options_have_their_types_checked(name: str) -> None:
    """Of each method and generator: another type is refused by name, and a number below 0."""
    owner = registry.problem(name)
    examples = owner.module("generate").examples()
    count = 0
    for method in owner.methods.values():
        for parameter in (p for p in method.parameters if p.name in method.options):
            wrong = OF_ANOTHER_TYPE[annotated(parameter)]
            wrong += (-1,) if annotated(parameter).startswith(("int", "float")) else ()
            for value in wrong:
                with pytest.raises(
                    OptionError, match=rf"{parameter.name}.* (must be|from) ?[^\n]+$"
                ):
                    dlsched.solve(examples[0], method, **{parameter.name: value})
                count += 1
    parameters = inspect.signature(owner.module("generate").generate).parameters
    for parameter in [*parameters.values()][1:]:
        for value in OF_ANOTHER_TYPE[annotated(parameter)]:
            with pytest.raises(OptionError, match=rf"^{parameter.name}=.* must be [^\n]+$"):
                dlsched.generate(name, **{parameter.name: value})
            count += 1
    assert count > (20 if name == "shares" else 30)


IN_WORDS: list[tuple[Any, dict[str, Any], str]] = [
    ("placement-small-01", {"trials": "x"}, "^trials='x' must be a whole number, or None$"),
    ("reclaiming", {"sizes": {"1": 0.5}}, "^sizes=.* must be a mapping from whole numbers to num"),
    ("elastic", {"hours": (1,)}, r"^hours=\(1,\) must be 2 numbers$"),
    ("placement", {"readers": 3}, "^readers=3 must be a list of numbers$"),
    *(("placement", {"seed": s}, "must be a whole number from 0") for s in ("x", -1, None, 1.5)),
]


@pytest.mark.parametrize(("name", "options", "said"), IN_WORDS)
def test_what_is_right_is_said_in_words(name: str, options: dict[str, Any], said: str) -> None:
    """Of options of a method, and of a generator."""
    with pytest.raises(OptionError, match=said):
        if name in registry.BUILT_IN:
            dlsched.generate(name, **options)
        else:
            dlsched.solve(name, "annealing", **options)


@pytest.mark.parametrize("value", [3, np.int64(3), np.int32(3)])
def test_whole_numbers_of_other_libraries_are_taken(value: int) -> None:
    """NumPy's whole numbers are whole numbers, and exact shares are numbers."""
    dlsched.generate("reclaiming", servers=value, spread=value / 10, demand=value)
    dlsched.generate("reclaiming", servers=4, spread=Fraction(1, 3), demand=1)


def test_different_parameters_give_different_names() -> None:
    """Names carry parameters of any type and length."""
    asked: list[dict[str, Any]] = [
        *({"servers": 4, "spread": spread} for spread in (0, 1, 0.5, 0.25, Fraction(1, 3))),
        *({"sizes": {1: 0.5, 8: 0.5 + n}} for n in range(3)),
        {"sizes": dict.fromkeys(range(1, 60), 1)},
        {"sizes": dict.fromkeys(range(1, 61), 1)},
    ]
    names = [dlsched.generate("reclaiming", **options).name for options in asked]
    assert len(set(names)) == len(names) and max(map(len, names)) < 110
    made = dlsched.generate("reclaiming", 3, servers=4, demand=1)
    assert made.name == "reclaiming-servers=4-demand=1-3"
    assert dlsched.generate("elastic", 2).name == "elastic-2"


def test_pools_queues_and_snapshots() -> None:
    """Options that give another instance of the same trace and moment give another name."""
    trace = read_trace("synthetic-1")
    made: list[dlsched.Instance] = [pool(trace, budget=b) for b in (None, 0.2, 0.5)]
    made += [queue(trace, "6d", order=order) for order in ("srsf", "2d-las")]
    for options in ({}, {"demand": 3}, {"elastic": 0.5}, {"seed": 4}):
        shot = snapshot(trace, "6d", servers=16, **options)
        made += [shot.reclaiming, shot.elastic]
    for one, two in itertools.combinations(made, 2):
        assert one.name != two.name or one.sha256 == two.sha256


def test_compare_tells_instances_of_one_name_apart(workdir: Path) -> None:
    """In a table of compare, and on the command line, each instance has a name of its own."""
    made = [dlsched.generate("reclaiming", seed, servers=4) for seed in (1, 2, 3)]
    made[:2] = [inst.model_copy(update={"name": "same"}) for inst in made[:2]]
    frame = dlsched.compare(made, ["lyra", "random"])
    names = [f"same ({inst.sha256[:8]})" for inst in made[:2]] + [made[2].name]
    assert list(frame["instance"]) == [name for name in names for _ in range(2)]
    for i, inst in enumerate(made):
        dlsched.save(inst, f"{i}.json")
    rows = data("compare", "0.json", "1.json", "-m", "lyra")
    assert [row["instance"] for row in rows] == names[:2]


def test_methods_of_one_name_are_told_apart() -> None:
    """Two functions of the same name have labels of their own; one given twice is an error."""

    def make(count: int) -> Any:
        def same(instance: Any, rng: Any) -> dict[str, Any]:
            return {"returned": [s.id for s in instance.servers[:count]]}

        return same

    one, two = make(1), make(2)
    frame = dlsched.compare(["lyra-fig5"], [one, two, "lyra", functools.partial(one)])
    assert frame["method"].nunique() == 4 and frame["method"][2] == "lyra"
    assert list(frame["resolved_method"][:2]) == ["same", "same"]
    for methods in (["lyra", "lyra"], [one, two, one]):
        with pytest.raises(dlsched.OptionError, match="more than once"):
            dlsched.compare(["lyra-fig5"], methods)


def test_compare_keeps_odd_texts() -> None:
    """Reasons and exceptions with halves of surrogate pairs, or of any length, fit the table."""

    def says(instance: Any, run: Any) -> dlsched.Claim:
        return dlsched.Claim(status=dlsched.Status.NO_SOLUTION, reason="\ud800" + "x" * 10**7)

    def raises(instance: Any, rng: Any) -> None:
        raise ValueError("\udfff" + "y" * 10**7)

    def leaves(instance: Any, rng: Any) -> None:
        raise SystemExit("bye")

    frame = dlsched.compare([dlsched.load("lyra-fig5")], [says, raises, leaves, "lyra"])
    assert list(frame["status"]) == ["no solution", "error", "error", "feasible"]
    assert frame["reason"].str.len().max() <= 2000
    assert r"says says: \ud800xx" in frame["reason"][0] and r"\udfffyy" in frame["reason"][1]
    assert frame["reason"][2] == "SystemExit: bye"


def test_a_method_that_forks_in_compare() -> None:
    """The child of a method that forks and returns ends; the program goes on once."""

    def forks(instance: Any, rng: Any) -> dict[str, Any]:
        os.fork()
        return {"returned": [s.id for s in instance.servers[: instance.demand]]}

    process = os.getpid()
    assert list(dlsched.compare(["lyra-fig5"], [forks])["status"]) == ["feasible"]
    assert os.getpid() == process and os.waitstatus_to_exitcode(os.wait()[1]) == 0
