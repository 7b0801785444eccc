"""Numbers and graphs of instances, for libraries that learn from them or draw them."""

import math
from fractions import Fraction
from typing import Any

import pytest

import dlsched

PROBLEMS = dlsched.list_problems()


def test_features_are_those_of_the_figure() -> None:
    """Figure 5: seven workers of four jobs on six servers of 8 GPUs."""
    found = dlsched.features("lyra-fig5")
    assert (found["demand"], found["jobs.count"], found["servers.count"]) == (2, 4, 6)
    assert found["jobs.workers.count"] == 7 / 4
    assert (found["servers.gpus.mean"], found["servers.gpus.cv"]) == (8, 0)
    assert found["jobs.workers.flexible.share"] == 0


@pytest.mark.parametrize("problem", PROBLEMS)
def test_a_problem_s_instances_have_the_same_features(problem: str) -> None:
    """So that they are the columns of a table; what a field states is finite."""
    tables = [dlsched.features(dlsched.generate(problem, seed)) for seed in (1, 2)]
    assert tables[0].keys() == tables[1].keys() and len(tables[0]) >= 8
    assert not any(math.isinf(value) for table in tables for value in table.values())
    assert any(a != b for a, b in zip(tables[0].values(), tables[1].values(), strict=True))


def test_graphs_have_what_the_instance_has() -> None:
    """Figure 4 of Muri: A and B fit perfectly, A and C do not."""
    pytest.importorskip("networkx", reason="graphs are networkx's")
    graph: Any = dlsched.load("muri-fig4")
    edges = graph.to_networkx().edges
    assert edges["A", "B"]["efficiency"] == 1
    assert edges["A", "C"]["efficiency"] == Fraction(3, 4)
    fleet: Any = dlsched.load("lyra-fig5")
    held = {job: sum(gpus.values()) for job, gpus in zip("abcd", fleet.held, strict=True)}
    graph = fleet.to_networkx()
    assert {j: graph.degree(("job", j), weight="gpus") for j in held} == held
    tables: Any = dlsched.load("mast-two-regions")
    reads = {(job.id, name) for job in tables.jobs for name in job.tables}
    assert {(a[1], b[1]) for a, b in tables.to_networkx().edges} == reads
