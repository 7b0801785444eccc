"""Documents of every problem: what is wrong in one is refused, with its place and a remedy."""

import itertools
import random
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

import dlsched
from contract import (
    Path,
    assert_not_better,
    at,
    changed,
    drawn,
    every_problem,
    examples,
    field,
    ids,
    instances,
    mutated,
    optimum,
    places,
    spelled,
    widely,
    with_value,
)
from dlsched.registry import problem

ENVELOPE = ("dlsched", "problem", "name", "source", "notes")
ODD: list[Any] = ["7" * 5000, 10**400, -(10**400), float("nan"), float("inf"), 1e300, -1, 2.5]
ODD += ["\ud800", "", "x\0", None, True, [], {}, [[]], [{}], {"id": 3}]
WRONG_TYPES: dict[type, Any] = {bool: "true", int: "7", float: "7", str: 3, list: 7, dict: [7]}
"""A value of another type, for each type of JSON."""


@cache
def each_field(name: str) -> list[tuple[dict[str, Any], Path]]:
    """Return a document and a place in it, for every field that examples or draws have."""
    seen, found = set(), []
    for instance in instances(name, 25):
        data = instance.to_data()
        for path, _ in places(data):
            if field(path) not in seen:
                seen.add(field(path))
                found.append((data, path))
    return found


@cache
def each_solution(name: str) -> list[tuple[Any, dict[str, Any]]]:
    """Return the examples and the data of their optimal solutions."""
    found = [(instance, dlsched.solve(instance).solution) for instance in examples(name)]
    return [(instance, solution.to_data()) for instance, solution in found if solution is not None]


def refused(*documents: Any) -> dlsched.InstanceError:
    """Return the error of an instance, or of a solution of an instance; it is one short line."""
    with pytest.raises(dlsched.InstanceError) as caught:
        (dlsched.load if len(documents) == 1 else dlsched.verify)(*documents)
    assert caught.value.remedy and len(str(caught.value)) < 1000 and "\n" not in str(caught.value)
    return caught.value


def required(name: str) -> set[str]:
    """Return the fields that the schema requires in some object, but for the envelope's two."""
    schema = problem(name).instance.model_json_schema()
    objects = [schema, *schema.get("$defs", {}).values()]
    return {key for part in objects for key in part.get("required", ())} - {*ENVELOPE[:2]}


@every_problem
def test_a_missing_field_is_asked_for_or_has_a_default(name: str) -> None:
    """Every field that the schema requires is asked for at its place; without another, all loads.

    What the rest of a document needs, as the machines of its jobs, is asked for as well.
    """
    asked = set()
    for data, path in each_field(name):
        try:
            loaded = dlsched.load(changed(data, path, lambda parent, key: parent.pop(key)))
        except dlsched.InstanceError as error:
            assert error.path and error.remedy
            if error.problem == "is missing" and error.path == spelled(path):
                asked.add(path[-1])
        else:
            assert dlsched.load(loaded.to_data()) == loaded
    assert required(name) <= asked


def left_out(schema: Any, part: Any, value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Yield place and default of each field that the objects of a document leave out."""
    part = schema["$defs"][part["$ref"].rpartition("/")[2]] if "$ref" in part else part
    for option in part.get("anyOf", ()):
        yield from left_out(schema, option, value, path)
    if isinstance(value, list):
        for i, entry in enumerate(value):
            yield from left_out(schema, part.get("items", {}), entry, (*path, i))
    elif isinstance(value, dict):
        for key, inner in part.get("properties", {}).items():
            if key in value:
                yield from left_out(schema, inner, value[key], (*path, key))
            elif "default" in inner:
                yield (*path, key), inner["default"]


@every_problem
def test_a_default_may_be_stated(name: str) -> None:
    """With a default of the JSON Schema written out the document is the same instance."""
    schema, seen = problem(name).instance.model_json_schema(), set()
    for instance in instances(name, 25):
        data = instance.to_data()
        for path, default in left_out(schema, schema, data):
            if field(path) not in seen:
                seen.add(field(path))
                assert dlsched.load(with_value(data, path, default)).sha256 == instance.sha256
    assert seen


@every_problem
def test_a_value_of_another_type_is_refused_at_its_place(name: str) -> None:
    """Of an instance and of its solution; the error names the entry itself."""
    for data, path in each_field(name):
        if path[0] not in ENVELOPE[:2]:
            wrong = WRONG_TYPES[type(at(data, path))]
            error = refused(with_value(data, path, wrong))
            assert error.path.startswith(spelled(path)), error
    for instance, data in each_solution(name):
        for path, value in places(data):
            if path[0] not in ENVELOPE:
                assert refused(instance, with_value(data, path, WRONG_TYPES[type(value)])).path


@every_problem
def test_an_unknown_field_is_refused(name: str) -> None:
    """In every object of a document that has named fields, with the field's place."""
    for data, path in [*each_field(name), *((d, ("none",)) for _, d in each_solution(name))]:
        parent = at(data, path[:-1])
        if isinstance(parent, dict) and ("id" in parent or not path[:-1]):
            other = changed(data, path, lambda place, _: place.update(colour="red"))
            given = [examples(name)[0], other] if path == ("none",) else [other]
            error = refused(*given)
            assert error.path == spelled((*path[:-1], "colour"))
            assert error.problem == "is an unknown field"


@every_problem
def test_ids_name_something_once(name: str) -> None:
    """A reference to nothing is refused where it stands, and so is an id that stands twice."""
    references = 0
    for data, path in each_field(name):
        value, names = at(data, path), ids(data)
        if path[-1] == "id" and isinstance(path[-2], int):
            twice = changed(data, path[:-1], lambda place, key: place.append(place[key]))
            assert refused(twice).path.startswith(spelled(path[:-2]))
        elif path[-1] != "id" and path[0] not in ENVELOPE and isinstance(value, str):
            if value not in names:
                continue
            references += 1
            error = refused(with_value(data, path, "nobody"))
            assert error.path == spelled(path)
    for instance, data in each_solution(name):
        names = ids(instance.to_data())
        for path, value in places(data):
            if isinstance(value, str) and value in names:
                references += 1
                assert_not_feasible(instance, with_value(data, path, "nobody"))
            if path[-1] in names:
                references += 1
                renamed = changed(data, path, lambda p, k: p.update({"nobody": p.pop(k)}))
                assert_not_feasible(instance, renamed)
    assert references


def assert_not_feasible(instance: Any, solution: Any) -> None:
    """Assert that a solution that names what is not there is no solution."""
    try:
        report = dlsched.verify(instance, solution)
    except dlsched.InstanceError as error:
        assert error.path and error.remedy
    else:
        assert not report.feasible and any("nobody" in v.message for v in report.violations)


@every_problem
@widely(3, len(ODD))
def test_odd_values_are_taken_or_refused(name: str, count: int) -> None:
    """Whatever stands in a field, the document loads, twice alike, or is one short error."""
    odd, wanted = itertools.cycle(ODD), [*each_field(name)]
    wanted += [
        (solution, path) for _, solution in each_solution(name) for path, _ in places(solution)
    ]
    answers = {solution["instance"]: instance for instance, solution in each_solution(name)}
    for data, path in wanted:
        for value in itertools.islice(odd, count):
            given = with_value(data, path, value)
            try:
                if "instance" in data:
                    dlsched.verify(answers[data["instance"]], given)
                else:
                    loaded = dlsched.load(given)
                    assert dlsched.load(loaded.to_data()).sha256 == loaded.sha256
            except dlsched.InstanceError as error:
                assert error.problem and error.remedy and len(str(error)) < 1000


@every_problem
@widely(10, 100)
def test_no_changed_solution_is_better_than_the_optimum(name: str, count: int) -> None:
    """The checker refuses what is better than the optimum, however a solution is changed."""
    rng, looked = random.Random(name), 0
    for instance in drawn(name, count):
        best, result = optimum(instance), dlsched.solve(instance)
        if best is None or result.solution is None:
            continue
        for _ in range(12):
            try:
                report = dlsched.verify(instance, mutated(result.solution.to_data(), rng))
            except dlsched.InstanceError:
                continue
            looked += 1
            assert report.feasible == (report.objective is not None and not report.violations)
            if report.feasible:
                assert_not_better(report.objective, best)
    assert looked
