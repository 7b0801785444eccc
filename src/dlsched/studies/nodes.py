"""What if some nodes were added, were not there, or were in another partition?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from dlsched.errors import OptionError, UnknownName
from dlsched.records.readers.hosts import expand_hosts
from dlsched.simulation import Cluster
from dlsched.simulation.history import Period
from dlsched.simulation.workload.cluster import Server


def changes(
    period: Period, add: Sequence[str], remove: Sequence[str], partition_of: Sequence[str]
) -> Iterator[tuple[str, Cluster]]:
    """Yield the record's nodes, and each change of them alone, by name; nothing without a change.

    Parameters are those of `dlsched.studies.comparison.study`.

    Raises
    ------
    OptionError, UnknownName
        If a node, a number or a partition is none, or no node is left.
    """
    cluster = period.cluster
    if add or remove or partition_of:
        yield "as recorded", cluster
    for text in add:
        number, like, _ = _some(text, cluster)
        new = [like.model_copy(update={"id": f"added-{k + 1}"}) for k in range(number)]
        yield (
            f"{number} more as {like.id}",
            cluster.model_copy(update={"servers": (*cluster.servers, *new)}),
        )
    for text in remove:
        gone = _named(text, cluster)
        if len(gone) == len(cluster.servers):
            raise OptionError(f"{text!r} are all nodes; remove fewer")
        left = tuple(server for server in cluster.servers if server.id not in gone)
        away = tuple(outage for outage in cluster.away if outage.server not in gone)
        yield f"{text} removed", cluster.model_copy(update={"servers": left, "away": away})
    for text in partition_of:
        names, _, partitions = text.partition("=")
        update = {"partitions": tuple(partitions.split(","))}
        for name in update["partitions"]:
            if name not in period.partitions:
                raise UnknownName("partition", name, period.partitions)
        moved = _named(names, cluster)
        servers = (s.model_copy(update=update) if s.id in moved else s for s in cluster.servers)
        yield text.replace("=", " in "), cluster.model_copy(update={"servers": tuple(servers)})


def _some(text: str, cluster: Cluster) -> tuple[int, Server, list[str]]:
    """Return a number of nodes, one that they are like, and the names of all that are."""
    number, _, name = text.partition(":")
    if not number.isdecimal() or not int(number):
        raise OptionError(
            f"{text!r} is no number of nodes; write one, as 4, or 4:n1 for some as n1"
        )
    kinds = {server.id: server.model_dump_json(exclude={"id"}) for server in cluster.servers}
    if name and name not in kinds:
        raise UnknownName("node", name, kinds)
    kind = kinds[name] if name else Counter(kinds.values()).most_common(1)[0][0]
    alike = [name for name, own in kinds.items() if own == kind]
    return int(number), cluster.by_id[alike[-1]], alike


def _named(text: str, cluster: Cluster) -> set[str]:
    """Return the nodes of a list of names, or of a number the last ones that are alike."""
    if text.partition(":")[0].isdecimal() and text not in cluster.by_id:
        number, _, alike = _some(text, cluster)
        if number > len(alike):
            raise OptionError(f"{text!r}: there are {len(alike)} such nodes; name those that go")
        return {*alike[-number:]}
    names = {*expand_hosts(text)}
    for name in names - cluster.by_id.keys():
        raise UnknownName("node", name, cluster.by_id)
    return names
