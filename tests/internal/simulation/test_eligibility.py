"""Where a job may run: the one function, and the classes of jobs and servers."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dlsched.errors import OptionError
from dlsched.simulation import Cluster, Job, Server, Workload, eligible
from dlsched.simulation.workload.eligibility import eligibility, obstacle, require_places


def _job(**fields: object) -> Job:
    return Job.parse({"id": "j", "submit": 0, "gpus": 1, "work": 1, **fields}, "a job")


def _server(**fields: object) -> Server:
    return Server.parse({"id": "s", "gpus": 4, **fields}, "a server")


RATES = {"rates": {"A100": 2, "V100": 1}, "gpu_type": "V100"}

CASES = [
    ({}, {}, None),
    ({"gpu_type": "V100"}, {}, None),
    ({}, {"gpu_type": "V100"}, None),
    ({"gpu_type": "A100|H100"}, {"gpu_type": "H100"}, None),
    ({"gpu_type": "A100|H100"}, {"gpu_type": "V100"}, "GPU type"),
    ({"gpu_type": "V100", "gpu_types": ["A100"]}, {"gpu_type": "A100"}, None),
    ({"gpu_type": "V100", "gpu_types": ["A100"]}, {"gpu_type": "V100"}, "GPU type"),
    (RATES, {"gpu_type": "A100"}, None),
    (RATES, {"gpu_type": "K80"}, "GPU type"),
    (RATES, {}, "GPU type"),
    (RATES | {"gpu_types": ["V100", "K80"]}, {"gpu_type": "A100"}, "GPU type"),
    (RATES | {"gpu_types": ["V100", "K80"]}, {"gpu_type": "K80"}, "GPU type"),
    ({"partition": "a"}, {}, None),
    ({}, {"partitions": ["b"]}, None),
    ({"partition": "a"}, {"partitions": ["b"]}, "partition"),
    ({"partition": "a, b"}, {"partitions": ["b", "c"]}, None),
    ({"features": ["nvlink"]}, {}, "features"),
    ({"features": ["nvlink", "ib"]}, {"features": ["nvlink"]}, "features"),
    ({"features": ["nvlink"]}, {"features": ["ib", "nvlink"]}, None),
    ({"regions": ["eu"]}, {"region": "us"}, "region"),
    ({"regions": ["eu", "us"]}, {"region": "us"}, None),
    ({"regions": ["eu"]}, {}, None),
    ({"clusters": ["c1"]}, {"cluster": "c2"}, "cluster"),
    ({"server_gpus": 8}, {}, "GPUs of a server"),
    ({"gpus": 8}, {}, None),
    ({"server_cpus": 32}, {"cpus": 16}, "CPUs of a server"),
    ({"server_cpus": 32}, {}, None),
    ({"server_memory": 100.5}, {"memory": 100}, "GB of a server"),
    ({}, {"pool": "loan"}, "pool"),
    ({"fungible": True}, {"pool": "loan"}, None),
]


@pytest.mark.parametrize(("job", "server", "what"), CASES)
def test_what_job_and_server_state(
    job: dict[str, object], server: dict[str, object], what: str | None
) -> None:
    """Each property restricts if both state it; the reason names it."""
    reason = obstacle(_job(**job), _server(**server))
    assert (reason and reason.what) == what
    assert eligible(_job(**job), _server(**server)) == (what is None)


def test_gpu_types_without_a_rate_are_refused() -> None:
    """A job cannot accept only types on which its speed is not known."""
    with pytest.raises(Exception, match="gpu_types"):
        _job(**RATES, gpu_types=["H100"])


def test_a_uniform_cluster_has_one_class_of_each() -> None:
    """What the jobs state does not count where no server states it."""
    jobs = [
        {"id": f"j{i}", "submit": 0, "gpus": 1, "work": 1, "partition": f"p{i}", "gpu_type": "a"}
        for i in range(5)
    ]
    workload = Workload.parse({"name": "w", "jobs": jobs}, "w")
    where = eligibility(workload, Cluster.uniform(4, 8))
    assert where.table.tolist() == [[True]]
    assert where.everywhere
    assert where.by_class(Cluster.uniform(4, 8).order[2]).tolist() == [32]


@st.composite
def _cases(draw: st.DrawFn) -> tuple[Workload, Cluster]:
    names = st.sampled_from(["a", "b", "c"])
    several = st.lists(names, max_size=2, unique=True)
    servers = [
        {
            "id": f"s{i}",
            "gpus": draw(st.integers(1, 4)),
            "gpu_type": draw(st.none() | names),
            "partitions": draw(several),
            "features": draw(several),
            "region": draw(st.none() | names),
        }
        for i in range(draw(st.integers(1, 5)))
    ]
    jobs = [
        {
            "id": f"j{j}",
            "submit": 0,
            "work": 1,
            "gpus": draw(st.integers(1, 6)),
            "gpu_type": "|".join(draw(several)) or None,
            "partition": ",".join(draw(several)) or None,
            "features": draw(st.lists(names, max_size=1)),
            "regions": draw(several),
        }
        for j in range(draw(st.integers(1, 6)))
    ]
    return Workload.parse({"name": "w", "jobs": jobs}, "w"), Cluster.parse(
        {"servers": servers}, "c"
    )


@settings(max_examples=60, deadline=None)
@given(_cases())
def test_classes_say_what_the_function_says(case: tuple[Workload, Cluster]) -> None:
    """The table of classes is that of all pairs; components divide the job classes."""
    workload, cluster = case
    where = eligibility(workload, cluster)
    pairs = np.array([[eligible(j, s) for s in cluster.servers] for j in workload.jobs])
    assert (where.servers[where.of_job] == pairs).all()
    assert len(np.unique(where.table, axis=0)) == len(where.table)
    assert len(np.unique(where.table.T, axis=0)) == where.table.shape[1]
    of = np.full(len(where.table), -1)
    for number, (jobs, servers) in enumerate(where.components):
        assert (of[jobs] == -1).all()
        of[jobs] = number
        assert not np.delete(where.table[jobs], servers, axis=1).any()
        assert not np.delete(where.table, jobs, axis=0)[:, servers].any()
    assert (of >= 0).all()
    sizes = cluster.order[2]
    fits = all(sizes[row].sum() >= j.gpus for j, row in zip(workload.jobs, pairs, strict=True))
    if fits:
        require_places(workload, cluster, where)
    else:
        with pytest.raises(OptionError, match="job j"):
            require_places(workload, cluster, where)


def test_the_message_names_job_property_and_what_there_is() -> None:
    """A job that no server is for."""
    job = {"id": "x", "submit": 0, "gpus": 2, "work": 1, "gpu_type": "A100"}
    workload = Workload.parse({"name": "w", "jobs": [job]}, "w")
    cluster = Cluster.of([{"gpus": 8, "gpu_type": "V100"}, {"gpus": 8, "gpu_type": "T4"}])
    with pytest.raises(OptionError, match=r"job x needs 2 GPUs.*A100.*V100; T4"):
        require_places(workload, cluster, eligibility(workload, cluster))
