"""Claims of methods special to a problem: properties, starts, choices; what is refused by name."""

from typing import Any

import pytest

import dlsched
from dlsched.registry import problem
from dlsched.testing import check_heuristic, strategies
from drawing import draws

HEURISTICS: list[tuple[str, str, dict[str, Any]]] = [
    ("reclaiming", "densest", {"instances": strategies.reclaiming(max_servers=8, mixed=True)}),
    ("reclaiming", "densest", {"instances": strategies.reclaiming(max_jobs=10, weighted=False)}),
    ("sensitivity", "price_round", {"invariant": ("names", "order")}),
]


@pytest.mark.parametrize(("problem", "method", "options"), HEURISTICS)
def test_heuristics_have_their_properties(
    problem: str, method: str, options: dict[str, Any]
) -> None:
    """On kinds of instances that the contract does not draw, or whatever the order of the file."""
    found = check_heuristic(problem, method, examples=draws(40, 15), **options)
    assert found, str(found)


STARTED: list[tuple[str, dict[str, Any], str, str]] = [
    ("elastic", {"seed": 3, "jobs": 30}, "dp", "dp"),
    ("elastic", {"seed": 3, "jobs": 30}, "milp", "dp"),
    ("placement", {"seed": 3, "tables": 8, "regions": 3, "jobs": 12, "largest": 0.4}, "exact",
     "hill_climbing"),
    ("interleaving", {"seed": 1, "jobs": 24}, "exact", "exact"),
    ("sensitivity", {"seed": 1, "servers": 3, "multi": True}, "exact", "exact"),
    ("dispatch", {"seed": 3, "machines": 10}, "counted", "classes"),
    ("dispatch", {"seed": 3, "machines": 10}, "classes", "classes"),
]  # fmt: skip
"""Parameters of an instance, the method that is started, and the one that finds the start."""


@pytest.mark.parametrize(("name", "options", "method", "starter"), STARTED)
def test_a_good_start_is_used(
    name: str, options: dict[str, Any], method: str, starter: str
) -> None:
    """A start that is better than the heuristics' is accepted, and the result is no worse."""
    made = dlsched.generate(name, **options)
    start = dlsched.solve(made, starter)
    result = dlsched.solve(made, method, start=start.solution)
    assert result.start is not None
    assert result.start.accepted, result.start.reason
    assert not start.objective.better_than(result.objective)
    assert result.status == ("feasible" if method == "counted" else "optimal")
    if result.status == start.status == "optimal":
        assert result.objective == start.objective


@pytest.mark.parametrize(
    ("name", "options", "starter"),
    [
        ("interleaving", {"jobs": 24}, "greedy"),
        ("sensitivity", {"servers": 3, "multi": True}, "proportional"),
    ],
)  # fmt: skip
def test_a_poor_start_is_said_to_be(name: str, options: dict[str, Any], starter: str) -> None:
    """Of a start that is no better than what heuristics find this is said."""
    made = dlsched.generate(name, 1, **options)
    result = dlsched.solve(made, start=dlsched.solve(made, starter).solution)
    assert result.start is not None
    assert result.start.reason == "no better than the heuristics'"


@pytest.mark.parametrize(
    ("name", "options", "method"),
    [
        ("interleaving", {"jobs": 6, "resources": 2}, "blossom"),
        ("interleaving", {"jobs": 12, "distinct": False}, "aggregated"),
        ("interleaving", {"jobs": 12}, "column_generation"),
        ("utility", {"jobs": 5, "slots": 10}, "dantzig_wolfe"),
        ("utility", {"jobs": 60, "slots": 100}, "dantzig_wolfe"),
        ("utility", {"forking": True}, "milp"),
    ],
)
def test_the_exact_method_depends_on_the_instance(
    name: str, options: dict[str, Any], method: str
) -> None:
    """Pairs, few profiles and forking jobs have methods of their own."""
    made = dlsched.generate(name, 1, **options)
    assert problem(name).method("exact", made).name == method


FORKING = {"jobs": 2, "slots": 4, "gpus": 3, "forking": True}
GANGS = FORKING | {"forking": False}
NOT_TAKEN: list[tuple[str, dict[str, Any], str, str]] = [
    *(("utility", FORKING, method, "hadare")
      for method in ("hadar", "srtf", "insertion", "lagrangian",
                     "dantzig_wolfe")),
    *(("utility", GANGS, method, "use hadar") for method in ("forked", "hadare")),
    *(("interleaving", {"jobs": 128}, m, "column_generation") for m in ("milp", "aggregated")),
    ("sensitivity", {"servers": 64}, "milp", "use patterns"),
    ("shares", {"jobs": 4, "objective": "total"}, "water_filling", "use milp"),
    ("dispatch", {"clusters": 10, "machines": 200, "pending": 60}, "milp",
     "use classes"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "options", "method", "words"), NOT_TAKEN)
def test_what_a_method_does_not_take(
    name: str, options: dict[str, Any], method: str, words: str
) -> None:
    """Instances of another kind, or too large, are refused, and another method is named."""
    made = dlsched.generate(name, 1, **options)
    with pytest.raises(dlsched.OptionError, match=words):
        dlsched.solve(made, method)


METHODS: list[tuple[str, str, dict[str, Any], str]] = [
    *(
        ("lyra-fig5", rule, {"ties": "first"}, "ties='first'")
        for rule in ("lyra", "gpu_fraction", "scf")
    ),
    ("lyra-table2", "lyra", {"shortest": "size"}, "shortest='size'"),
    ("workers-two-groups", "milp", {"levels": 5}, "from 1 to 4"),
    ("mast-ten-gpus", "classes", {"levels": 17}, "levels=17"),
    ("muri-fig4", "muri_needed", {"order": "best"}, "listed"),
    ("muri-fig4", "muri_needed", {"profile_error": -0.1}, "profile_error"),
    ("muri-fig4", "muri_needed", {"profile_error": 1.5}, "profile_error"),
    ("muri-fig4", "muri_needed", {"profile_error": float("nan")}, "profile_error"),
    ("hadar-section2", "tiresias", {"threshold": 0}, "threshold"),
    ("mast-two-regions", "hill_climbing", {"days": -1}, "days=-1"),
    ("mast-two-regions", "annealing", {"trials": 0}, "trials"),
    ("mast-two-regions", "tempering", {"replicas": 1}, "replicas from 2"),
    ("mast-two-regions", "tempering", {"trials": 0}, "trials must be from 1"),
    ("mast-two-regions", "relaxation_tree", {"tables": -1}, "must be from 0"),
    ("mast-two-regions", "home_tree", {"nodes": -1}, "must be from 0"),
    ("synergy-two-servers", "tune", {"order": "first"}, "must be one of"),
    ("synergy-two-servers", "tune", {"fit": "worst"}, "must be one of"),
    ("synergy-two-servers", "tune", {"peers": "all"}, "must be one of"),
    ("synergy-two-servers", "tetris", {"remaining": {"a": 1, "b": 0, "c": 1}},
     "above 0 for job 'b'"),
    ("synergy-two-servers", "synergy_opt", {"solver": "cbc"}, "highs, scip, glpk"),
]  # fmt: skip
GENERATORS: dict[str, list[tuple[dict[str, Any], str]]] = {
    "reclaiming": [
        ({"servers": 0}, "at least 1"),
        ({"server": 5}, "no parameter 'server'"),
        ({"placement": "apart"}, "placement='apart'"),
        ({"churn": -1.0}, "churn"),
        ({"servers": 20, "scattered": 4}, "scattered must be from 1 to 20"),  # jobs= is required
        ({"servers": 20, "scattered": 0, "jobs": 3}, "scattered must be from 1 to 20"),
        ({"servers": 20, "scattered": 21, "jobs": 3}, "scattered must be from 1 to 20"),
    ],
    "elastic": [({"scaling": "halved"}, "scaling='halved'")],
    "workers": [
        ({"scenario": "best"}, "must be one of: basic"),
        ({"training": -1}, "at least"),
        ({"gpus": 0}, "at least"),
        ({"loan_used": 1.5}, "loan_used=1.5"),
        ({"sizes": {16: 1}}, "1 to 8 GPUs"),
        ({"sizes": {}}, "1 to 8 GPUs"),
    ],
    "interleaving": [
        ({"grouping": "any"}, "grouping"),
        ({"resources": 5}, "resources"),
        ({"bottlenecks": 0}, "bottlenecks"),
        ({"noise": 1.5}, "noise"),
        ({"budget": 0.5}, "budget"),
        ({"grouping": "cover", "budget": 2.0}, "budget"),
        ({"cluster": 64}, "cluster"),
        ({"grouping": "cover", "cluster": 0}, "cluster"),
        ({"grouping": "cover", "cluster": 64, "budget": 0.5}, "budget"),
    ],
    "utility": [
        ({"jobs": -1}, "jobs"),
        ({"slots": 0}, "slots"),
        ({"gpus": 0}, "gpus"),
        ({"utilization": 0.0}, "utilization"),
        ({"arrivals": 2.0}, "arrivals"),
        ({"mix": "odd"}, "mix"),
        ({"utility": "steep"}, "utility"),
    ],
    "placement": [
        ({"version": "v3"}, "version"),
        ({"tables": 0}, "tables"),
        ({"kinds": 4}, "kinds"),
        ({"utilization": 0}, "utilization"),
        ({"storage_utilization": 1}, "storage_utilization"),
        ({"largest": 0}, "largest"),
        ({"sizes": (3, 2, 1)}, "sizes"),
        ({"readers": (1, 2)}, "readers"),
        ({"experiments": 1}, "experiments"),
        ({"min_jobs_per_priority": -1}, "min_jobs_per_priority"),
    ],
    "sensitivity": [
        ({"split": "20/80"}, "split"),
        ({"split": "a/b/c"}, "split"),
        ({"utilization": 0.0}, "utilization"),
        ({"servers": 4, "utilization": 2.0}, "at most 1"),  # unless jobs may wait
        ({"cpus_per_gpu": 7}, "must be on the axes"),
    ],
}


@pytest.mark.parametrize(("name", "method", "options", "words"), METHODS)
def test_options_of_methods(name: str, method: str, options: dict[str, Any], words: str) -> None:
    """A method says which of its options has no meaning, or what is possible."""
    with pytest.raises(dlsched.errors.DlschedError, match=words):
        dlsched.solve(name, method, **options)


@pytest.mark.parametrize(
    ("problem", "options", "words"),
    [(name, options, words) for name, rows in GENERATORS.items() for options, words in rows],
)
def test_parameters_of_generators(problem: str, options: dict[str, Any], words: str) -> None:
    """A generator says which parameter is out of range, or what is possible."""
    with pytest.raises(dlsched.OptionError, match=words):
        dlsched.generate(problem, 1, **options)
