"""One call of a method: the instance it is given, and the labels of its answer."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

from dlsched.errors import InstanceChanged
from dlsched.registry.lookup import problem
from dlsched.registry.methods import Method, Options
from dlsched.registry.problems import Problem
from dlsched.results.result import Claim
from dlsched.run import Run, Stage
from dlsched.schema.envelope import SCHEMA_VERSION, Instance
from dlsched.schema.solution import Solution


def call(method: Method, instance: Instance, run: Run, options: Options) -> Claim:
    """Call a method on an instance and return what it claims, with the labels of both.

    Raises
    ------
    InstanceChanged
        If the instance is another one afterwards. Code from outside the package works on a copy,
        so that it cannot spoil the answers of other methods; tests look after this package's.
    """
    with run.paused():
        owner = problem(method.problem)
        given = instance if method.own else instance.copy_apart()
        before = None if method.own else given.fingerprint()
    run.announce(Stage.SEARCHING, f"with {method.name}")
    with nullcontext() if method.own else run.limits_kept():
        if method.wants_run:
            answer = method.function(given, run, **options)
        elif method.takes_second:
            answer = method.function(given, run.rng, **options)
        else:
            answer = method.function(given, **options)
    with run.paused():
        if not method.own and given.fingerprint() != before:
            raise InstanceChanged(f"{method.name} changed the instance {instance.name}")
        return _labelled(answer, instance, method, owner)


def _labelled(answer: Any, instance: Instance, method: Method, owner: Problem) -> Claim:
    """Return an answer as a claim whose solution has the labels of instance and method.

    A label of another instance is kept, so that the checker can refuse it.
    """
    claim = answer if isinstance(answer, Claim) else Claim(solution=answer)
    solution: Any = claim.solution
    if isinstance(solution, Mapping):
        envelope = {"dlsched": SCHEMA_VERSION, "problem": method.problem}
        fields = envelope | {"instance": instance.name} | dict(solution)
        solution = owner.solution.parse(fields, f"the answer of {method.name}")
    if isinstance(solution, Solution):
        labels = {
            "instance": solution.instance or instance.name,
            "instance_sha256": solution.instance_sha256 or instance.sha256,
            "method": method.name,
        }
        solution = solution.model_copy(update=labels)
    return replace(claim, solution=solution)
