"""The check ``threads``: what a method finds depends neither on threads nor on earlier calls.

Solvers keep threads for the whole process, so this is tried in new ones: ``python -m`` of this
module solves the instances that it reads from stdin.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence

from dlsched import api
from dlsched.errors import DlschedError, OptionError
from dlsched.registry import Kind, problem
from dlsched.schema.envelope import Instance
from dlsched.schema.files import JsonObject
from dlsched.testing.search import first_finding
from dlsched.testing.subject import Subject, require

ORDERS = ((1, 2, 1), (2, 1))
"""Numbers of threads of the calls in one process, for each process."""

Answers = dict[str, list[str]]
"""What each method found in each call; keys name the instance and the method."""


def threads(subject: Subject) -> None:
    """Exact methods and bounds find the same in processes that change the number of threads."""
    instances = [subject.example()]
    first_finding(instances.append, subject.instances(), subject.examples)
    methods = [method.name for method in subject.methods(Kind.EXACT, Kind.BOUND)]
    said: Answers = {}
    for order in ORDERS:
        for key, answers in in_new_process(instances, methods, order).items():
            said.setdefault(key, []).extend(answers)
    for key, answers in said.items():
        calls = ", ".join(str(n) for order in ORDERS for n in order)
        message = f"{key}, with {calls} threads: {'; '.join(answers)}"
        require(len(set(answers)) == 1, message)


def in_new_process(
    instances: Sequence[Instance], methods: Sequence[str], order: Sequence[int]
) -> Answers:
    """Return what the methods find, called with each number of threads in turn."""
    task = {
        "instances": [instance.to_data() for instance in instances],
        "methods": list(methods),
        "order": list(order),
    }
    ran = subprocess.run(
        [sys.executable, "-m", __name__],
        input=json.dumps(task),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    said: Answers = json.loads(ran.stdout)
    return said


def _answer(instance: Instance, method: str, number: int) -> str:
    """Return status, objective and certified bounds of a call, or its error."""
    try:
        result = api.solve(instance, method, threads=number)
    except OptionError:
        return "it does not take the instance"
    except DlschedError as error:
        return f"{type(error).__name__}: {error}"
    objective = result.objective and result.objective.as_dict()
    certified = {name: b and b.value for name, b in result.certified.as_dict().items()}
    return f"{result.status}, objective {objective}, certified {certified}"


def _main() -> None:
    task: JsonObject = json.load(sys.stdin)
    said: Answers = {}
    for i, data in enumerate(task["instances"]):
        instance = api.load(data)
        known = problem(instance.problem).methods
        for method in task["methods"]:
            if method in known:
                key = f"{method} on {instance.name}, instance {i}"
                said[key] = [_answer(instance, method, number) for number in task["order"]]
    json.dump(said, sys.stdout)


if __name__ == "__main__":
    _main()
