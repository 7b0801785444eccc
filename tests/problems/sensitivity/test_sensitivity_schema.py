"""What a file of sensitivity must contain, and the errors if it does not."""

from __future__ import annotations

from typing import Any

import pytest

import dlsched

PROFILES: dict[str, Any] = {
    "one": {
        "gpus": 1,
        "cpus": [1, 2, 3],
        "memory": [2, 4],
        "throughput": [[0.5, 0.75], [1, 1.25], [0, 1.5]],
    },
    "two": {"gpus": 2, "cpus": [1, 2], "memory": [2], "throughput": [[1], [1]]},
}
GOOD: dict[str, Any] = {
    "dlsched": 1,
    "problem": "sensitivity",
    "name": "good",
    "servers": {"count": 2, "gpus": 2, "cpus": 4, "memory": 4},
    "profiles": PROFILES,
    "jobs": [{"id": "a", "profile": "one"}],
}


def profile(**changes: Any) -> dict[str, Any]:
    """Return the good profiles with the first one changed."""
    return {"profiles": PROFILES | {"one": PROFILES["one"] | changes}}


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"servers": GOOD["servers"] | {"count": 0}}, "servers.count"),
        ({"servers": GOOD["servers"] | {"count": 10**7}}, "servers.count"),
        ({"servers": GOOD["servers"] | {"cpus": 5}}, "profiles.one.cpus"),
        ({"servers": GOOD["servers"] | {"memory": 5}}, "profiles.one.memory"),
        (profile(gpus=0), "profiles.one.gpus"),
        (profile(cpus=[]), "profiles.one.cpus"),
        (profile(cpus=[2, 1, 3]), "profiles.one.cpus[1]"),
        (profile(throughput=[[1, 1]]), "profiles.one.throughput"),
        (profile(throughput=[[1, 1], [1], [1, 1]]), "profiles.one.throughput[1]"),
        (profile(throughput=[[1, 1], [0, 1], [1, 1]]), "profiles.one.throughput"),
        (profile(throughput=[[1, 1], [1, -1], [1, 1]]), "profiles.one.throughput[1][1]"),
        ({"jobs": [{"id": "a", "profile": "three"}]}, "jobs[0].profile"),
        ({"jobs": GOOD["jobs"] * 2}, "jobs[1].id"),
        ({"allow_split": "no"}, "allow_split"),
        ({"may_wait": 1}, "may_wait"),
        ({"cpus": 4}, "cpus"),
    ],
)
def test_invalid_instances_raise_by_field(changes: dict[str, Any], path: str) -> None:
    """An invalid instance raises an error with the field's path and a remedy."""
    with pytest.raises(dlsched.InstanceError) as caught:
        dlsched.load(GOOD | changes)
    assert caught.value.path == path
    assert caught.value.remedy


def test_digests_without_may_wait_are_unchanged() -> None:
    """The digest of an instance without may_wait is that from before the field existed."""
    plain = dlsched.load("synergy-two-servers")
    assert plain.sha256[:16] == "9e868c967cd4e5da"
    waits = plain.model_copy(update={"may_wait": True})
    assert type(plain).parse(waits.to_data(), "a copy").may_wait
    assert dlsched.load(waits.to_data()).sha256 != plain.sha256
    assert dlsched.load(plain.to_data() | {"may_wait": False}).sha256 == plain.sha256


def test_infeasible_instances_say_why() -> None:
    """Too many GPUs, or a job larger than a server, is infeasible with a reason."""
    jobs = [{"id": f"j{i}", "profile": "two"} for i in range(3)]
    many = dlsched.solve(GOOD | {"jobs": jobs})
    assert (many.status, many.termination) == ("infeasible", "infeasible")
    assert many.reason == "the jobs need 6 GPUs, the servers have 4"
    profiles = PROFILES | {"two": PROFILES["two"] | {"gpus": 4}}
    large = GOOD | {"profiles": profiles, "jobs": jobs[:1], "allow_split": False}
    assert "job j0 needs 4 GPUs, a server has 2" in dlsched.solve(large).reason
    assert dlsched.solve(large | {"allow_split": True}).objective.split == 1
    assert dlsched.solve(large | {"may_wait": True}).solution.allocation == {}
