"""No two generated instances, instances of one table or methods share a name."""

from __future__ import annotations

import functools
import itertools
import os
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd

import dlsched
from calls import data
from dlsched.records import pool, queue, read_trace, snapshot


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
    for options in ({}, {"demand": 3}, {"elastic": 0.5}, {"seed": 4}, {"spread": False}):
        shot = snapshot(trace, "6d", servers=16, **options)  # type: ignore[arg-type]
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


def test_compare_has_the_method_asked_for_and_the_one_that_ran() -> None:
    """``"exact"`` stays ``"exact"`` in every row, beside the method that it stands for."""
    instances = [dlsched.load(name) for name in ("lyra-fig5", "lyra-table2", "muri-fig4")]
    frame = dlsched.compare(instances, ["exact"])
    assert list(frame["method"]) == ["exact"] * 3
    assert list(frame["resolved_method"]) == ["milp", "dp", "blossom"]
    failed = dlsched.compare(instances[:1], ["exact", "nobody"], levels=7)
    assert list(failed["method"]) == ["exact", "nobody"]
    assert failed["resolved_method"][0] == "milp" and pd.isna(failed["resolved_method"][1])


def test_methods_of_one_name_are_told_apart() -> None:
    """Two functions of the same name have labels of their own; one asked for twice has one."""

    def make(count: int) -> Any:
        def same(instance: Any, rng: Any) -> dict[str, Any]:
            return {"returned": [s.id for s in instance.servers[:count]]}

        return same

    one, two = make(1), make(2)
    methods = [one, two, one, "lyra", "lyra", functools.partial(one)]
    frame = dlsched.compare([dlsched.load("lyra-fig5")], methods)
    labels = list(frame["method"])
    assert labels[0] == labels[2] != labels[1] and labels[3] == labels[4] == "lyra"
    assert list(frame["resolved_method"][:2]) == ["same", "same"]


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
