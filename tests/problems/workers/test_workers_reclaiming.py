"""The reclaiming instance after a placement."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dlsched
from dlsched.problems.workers import Instance, Solution, to_reclaiming
from dlsched.problems.workers.instances.generate import with_tenants

INSTANCE = Instance(
    name="hand",
    servers=[
        {"id": "t1", "pool": "training", "gpus": 8, "free": 6},
        {"id": "l1", "pool": "loan", "gpus": 8, "free": 5, "group": "base"},
        {"id": "l2", "pool": "loan", "gpus": 4, "free": 4},
    ],
    jobs=[
        {"id": "a", "gpus_per_worker": 2, "base": 2, "flexible": 2, "elastic": True,
         "fungible": True},
        {"id": "b", "gpus_per_worker": 1, "base": 1},
    ],
)  # fmt: skip
PLACED = Solution(
    placement={"a": {"base": {"l1": 2}, "flexible": {"l2": 2}}, "b": {"base": {"t1": 1}}}
)
TENANTS: list[dict[str, Any]] = [
    {"id": "old", "weight": 2, "workers": [{"server": "l1", "gpus": 3},
                                           {"server": "t1", "gpus": 2}]}
]  # fmt: skip


def test_loan_servers_with_old_and_new_workers() -> None:
    """Workers of a kind on a server are one; b and the workers on t1 are left out."""
    made = to_reclaiming(INSTANCE, PLACED, 1, TENANTS)
    assert made.to_data()["servers"] == [{"id": "l1", "gpus": 8}, {"id": "l2", "gpus": 4}]
    assert made.to_data()["jobs"] == [
        {"id": "old", "weight": 2, "workers": [{"server": "l1", "gpus": 3}]},
        {"id": "a", "workers": [{"server": "l1", "gpus": 4},
                                {"server": "l2", "gpus": 4, "flexible": True}]},
    ]  # fmt: skip
    best = dlsched.solve(made)
    assert best.solution.returned == ("l2",)
    assert tuple(best.objective) == (0, 0)


@pytest.mark.parametrize(
    ("tenants", "message"),
    [
        ([], "hold 0 GPUs on 'l1'"),
        ([{"id": "x", "workers": [{"server": "l1", "gpus": 2}]}], "hold 2 GPUs on 'l1'"),
        ([*TENANTS, {"id": "x", "workers": [{"server": "l2", "gpus": 1}]}], "GPUs on 'l2'"),
        ([{"id": "x", "workers": [{"server": "l1", "gpus": 3, "flexible": True}]}],
         "of the base group"),
        ([{"id": "a", "workers": [{"server": "l1", "gpus": 3}]}], "rename one of them"),
    ],
)  # fmt: skip
def test_tenants_must_agree_with_the_servers(tenants: Any, message: str) -> None:
    """Tenants that do not hold what is not free, in the right group, are refused."""
    with pytest.raises(dlsched.OptionError, match=message):
        to_reclaiming(INSTANCE, PLACED, 1, tenants)


def test_other_unusable_arguments() -> None:
    """An infeasible placement, an unknown server and a bad demand are refused."""
    with pytest.raises(dlsched.OptionError, match="base workers"):
        to_reclaiming(INSTANCE, Solution(placement={"a": {"base": {"l1": 1}}}), 1, TENANTS)
    nowhere = [{"id": "x", "workers": [{"server": "l9", "gpus": 3}]}]
    with pytest.raises(dlsched.InstanceError, match="l9"):
        to_reclaiming(INSTANCE, PLACED, 1, nowhere)
    with pytest.raises(dlsched.InstanceError, match="demand"):
        to_reclaiming(INSTANCE, PLACED, -1, TENANTS)


@pytest.mark.parametrize("scenario", ["basic", "advanced", "heterogeneous", "ideal"])
@pytest.mark.parametrize("separate", [True, False])
def test_generated_tenants_fit_their_instance(scenario: str, separate: bool) -> None:
    """What the generator says of running jobs is what their servers say."""
    fleet, tenants = with_tenants(
        np.random.default_rng(3), training=12, loan=14, jobs=30, scenario=scenario,
        separate_groups=separate,
    )  # fmt: skip
    placed = dlsched.solve(fleet, "bfd").solution
    made = to_reclaiming(fleet, placed, 3, tenants)
    held = sum(worker.gpus for job in made.jobs for worker in job.workers)
    loan = [server for server in fleet.servers if server.pool == "loan"]
    size = {job.id: job.gpus_per_worker for job in fleet.jobs}
    new = sum(
        size[name] * count
        for name, job in placed.placement.items()
        for counts in (job.base, job.flexible)
        for server, count in counts.items()
        if server.startswith("loan")
    )
    assert held == new + sum(server.gpus - server.free for server in loan)
