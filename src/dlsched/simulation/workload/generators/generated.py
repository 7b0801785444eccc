"""A workload with the cluster that it is for, by the generator's name."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from dlsched.errors import OptionError, UnknownName, has_no_option
from dlsched.simulation.workload.cluster import Cluster
from dlsched.simulation.workload.generators.hadar import hadar_cluster, hadar_workload
from dlsched.simulation.workload.generators.lyra import lyra_cluster, lyra_workload
from dlsched.simulation.workload.generators.mast import mast_cluster, mast_workload
from dlsched.simulation.workload.generators.muri import muri_workload
from dlsched.simulation.workload.generators.synergy import synergy_workload
from dlsched.simulation.workload.workload import Workload

SERVERS: Final = "servers"
"""What every generator's number of servers can be called."""


@dataclass(frozen=True)
class Generator:
    """What draws jobs, and what draws or makes their servers.

    Attributes
    ----------
    workload, cluster
        The functions. Parameters of the same name get the same value.
    servers
        What the functions call the number of servers.
    """

    workload: Callable[..., Workload]
    cluster: Callable[..., Cluster]
    servers: str

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters of both functions with their defaults, but for seed and name."""
        both = {**_defaults(self.cluster), **_defaults(self.workload)}
        return {n: value for n, value in both.items() if n not in ("seed", "name", "cluster")}


def _defaults(function: Callable[..., Any]) -> dict[str, Any]:
    return {p.name: p.default for p in inspect.signature(function).parameters.values()}


GENERATORS: Final[Mapping[str, Generator]] = {
    "hadar": Generator(hadar_workload, hadar_cluster, "machines"),
    "lyra": Generator(lyra_workload, lyra_cluster, "training"),
    "mast": Generator(mast_workload, mast_cluster, "machines"),
    "muri": Generator(muri_workload, Cluster.uniform, "servers"),
    "synergy": Generator(synergy_workload, Cluster.uniform, "servers"),
}


def generated(name: str, parameters: Mapping[str, Any], seed: int = 0) -> tuple[Workload, Cluster]:
    """Draw a workload and its cluster.

    Parameters
    ----------
    name
        A key of `GENERATORS`.
    parameters
        Parameters of the workload's and of the cluster's function, as ``days=1``; ``servers`` is
        the number of servers for every generator.
    seed
        Seed of both.

    Raises
    ------
    UnknownName
        If there is no such generator.
    OptionError
        If it has no such parameter, or a value is out of range.
    """
    if name not in GENERATORS:
        raise UnknownName("generator", name, list(GENERATORS))
    generator = GENERATORS[name]
    given = {generator.servers if n == SERVERS else n: v for n, v in parameters.items()}
    known = generator.parameters
    for parameter in given:
        if parameter not in known:
            raise OptionError(has_no_option(name, parameter, known, "parameter"))
    cluster = generator.cluster(**_suiting(generator.cluster, given | {"seed": seed}))
    own = _suiting(generator.workload, given | {"seed": seed, "cluster": cluster})
    return generator.workload(**own), cluster


def _suiting(function: Callable[..., Any], given: Mapping[str, Any]) -> dict[str, Any]:
    known = inspect.signature(function).parameters
    return {name: value for name, value in given.items() if name in known}
