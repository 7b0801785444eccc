"""What the cluster had: its nodes, from a file, or the peak of the recorded occupancy."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from dlsched.errors import InstanceError, OptionError
from dlsched.records.readers.amounts import Gpus, parse_gpus, parse_gres
from dlsched.records.readers.files import open_text
from dlsched.records.readers.formats.tables import spell
from dlsched.records.readers.hosts import expand_hosts
from dlsched.records.readers.table import Table
from dlsched.records.readers.values import name_of

if TYPE_CHECKING:
    import pandas as pd

COLUMNS: Final = ("name", "gpus", "gpu_type", "partitions")
"""The columns of `Capacity.nodes`."""
MORE: Final = ("cpus", "memory", "features", "cluster")
"""Columns that those of a file may have, too: CPUs, GB of memory, a tuple of names, a name."""
_SINFO = 'sinfo -N -h -o "%N|%G|%P"'
SINFO: Final = ("name", "gres", "partitions")
"""The columns of what that prints."""


@dataclass(frozen=True)
class Capacity:
    """The nodes of a cluster.

    Attributes
    ----------
    nodes
        Data frame with one row per node: ``name``, ``gpus`` (amount of the resource), ``gpu_type``
        (None if it is not known) and ``partitions`` (tuple of names; empty for all).
    source
        A sentence that says where it is known from: the file of the nodes, or the peak of the
        recorded occupancy.
    measured
        Whether it is the peak of the recorded occupancy, so that the cluster may have had more.
    """

    nodes: pd.DataFrame
    source: str
    measured: bool

    def __repr__(self) -> str:
        """Return the amount and the number of nodes."""
        return f"<capacity of {self.total:,} on {len(self.nodes):,} nodes>"

    @property
    def total(self) -> int:
        """Amount of the resource on all nodes."""
        return int(self.nodes["gpus"].sum())

    def serves(self, partition: str) -> np.ndarray:
        """Return which nodes are in a partition, or in one of ``a,b``."""
        wanted = set(partition.split(","))
        return np.array([not n or bool(wanted & {*n}) for n in self.nodes["partitions"]], np.bool_)

    def of_partition(self, partition: str | None) -> Capacity:
        """Return the nodes of a partition; all of them for None."""
        if partition is None:
            return self
        chosen = self.serves(partition)
        return Capacity(self.nodes[chosen].reset_index(drop=True), self.source, self.measured)


def read_nodes(source: str | Path | pd.DataFrame) -> pd.DataFrame:
    """Return the nodes of a file or data frame, one row each."""
    import pandas as pd

    if isinstance(source, pd.DataFrame):
        return _nodes(source, "nodes")
    where = str(source)
    with open_text(Path(source), where) as text:
        first = text.readline().upper()
    headed = first.startswith("NODELIST|")
    sinfo = "|" in first and not first.startswith("NAME|")
    with open_text(Path(source), where) as text:
        table = Table(text, where, names=SINFO if sinfo else None)
        parts = list(table.parts(table.header))
    for part in parts:
        for place, problem in part.broken.items():
            remedy = f"write it by: {_SINFO}"
            raise InstanceError(where, f"row {part.rows[place]}", problem, remedy)
    if not parts:
        raise InstanceError(where, "row 1", "the file is empty", f"write it by: {_SINFO}")
    cells = {name: [c for part in parts for c in part.cells[name]] for name in table.header}
    return _nodes(pd.DataFrame(cells).iloc[int(headed) :], where)


def _nodes(frame: pd.DataFrame, where: str) -> pd.DataFrame:
    """Return one row per node; rows of the same node in several partitions are joined."""
    import pandas as pd

    known = {str(name).strip().lower(): name for name in frame.columns}
    amount = "gpus" if "gpus" in known or "gres" not in known else "gres"
    for name in ("name", amount):
        if name not in known:
            some = f"it has: {', '.join(map(str, frame.columns))}; write {COLUMNS}"
            raise InstanceError(where, "row 1", f"there is no column {name}", some)
    more = [name for name in MORE if name in known]
    nodes: dict[tuple[str, str], dict[str, Any]] = {}
    for number, row in enumerate(frame.to_dict("records"), 2):
        cells = {name: spell(row[column]).strip() for name, column in known.items()}
        gpus = _gpus(cells[amount], amount, f"row {number}, {amount}", where)
        kind = name_of(cells.get("gpu_type", "")) or gpus.kind
        stated = {"gpus": gpus.number - gpus.parts, "gpu_type": kind}
        stated |= {name: cells[name] for name in more}
        # sinfo marks the default partition with a star
        listed = re.split(r"[,;\s]+", cells.get("partitions", ""))
        partitions = [name.rstrip("*") for name in listed if name]
        try:
            names = expand_hosts(cells["name"])
        except OptionError as error:
            raise InstanceError(where, f"row {number}, name", str(error), "name a node") from None
        for name in names:
            place = name, str(stated.get("cluster", ""))
            node = nodes.setdefault(place, {"name": name, "partitions": (), **stated})
            for column, value in stated.items():
                if node[column] != value:
                    problem = f"{name} has {value} here and {node[column]} above"
                    remedy = "correct one of the two"
                    raise InstanceError(where, f"row {number}, {column}", problem, remedy)
            node["partitions"] = tuple(dict.fromkeys((*node["partitions"], *partitions)))
    rows = [node for node in nodes.values() if node["gpus"]]
    if not rows:
        raise InstanceError(where, "gpus", "no node has any", "name the nodes with GPUs")
    table = pd.DataFrame(rows, columns=[*COLUMNS, *more]).astype({"gpu_type": object})
    for name in {"cpus", "memory"} & {*more}:
        table[name] = pd.to_numeric(table[name], errors="coerce")
    if "features" in more:
        table["features"] = [tuple(re.findall(r"[^,&\s]+", text)) for text in table["features"]]
    return table


def _gpus(text: str, column: str, path: str, where: str) -> Gpus:
    """Return what a node has; of GPUs that are cut into slices, the whole ones."""
    try:
        gpus = parse_gpus(text) if column == "gpus" else parse_gres(text)
    except OptionError as error:
        raise InstanceError(where, path, str(error), "as gpu:a100:8") from None
    if gpus is None or (column == "gpus" and gpus.share is not None and gpus.slices is None):
        raise InstanceError(where, path, f"{text!r:.40} is no whole number", "write one, as 8")
    return gpus


def of_clusters(nodes: pd.DataFrame, clusters: Sequence[str], several: bool) -> pd.DataFrame:
    """Return the nodes of some clusters, named by their cluster if these are several."""
    if "cluster" not in nodes:
        if several:
            raise OptionError(
                f"no cluster is stated for the nodes: {' or '.join(clusters)}; "
                "add a column cluster to them, or choose clusters= (--cluster)"
            )
        return nodes
    if clusters:
        nodes = nodes[nodes["cluster"].isin(clusters)].reset_index(drop=True)
    if several:
        nodes["name"] = nodes["cluster"] + "/" + nodes["name"]
        known = zip(nodes["cluster"], nodes["partitions"], strict=True)
        nodes["partitions"] = [tuple(f"{c}/{name}" for name in names) for c, names in known]
    return nodes.drop(columns="cluster")


def held_parts(jobs: pd.DataFrame) -> pd.DataFrame:
    """Return a row for each node of each job that ran: ``name``, ``amount``; no end is infinite."""
    flat = jobs[["id", "start", "end", "nodes", "partition", "gpu_type"]].fillna({"end": np.inf})
    flat = flat[flat["start"].notna() & (flat["end"] > flat["start"])].explode("nodes")
    flat = flat[flat["nodes"].notna()]
    flat["name"] = [name for name, _ in flat["nodes"]]
    flat["amount"] = [amount for _, amount in flat["nodes"]]
    return flat


def peaks(jobs: pd.DataFrame) -> pd.DataFrame:
    """Return the most that was held on each node at the same time; what has no end holds on."""
    import pandas as pd

    flat = held_parts(jobs)
    codes, names = pd.factorize(flat["name"])
    most = highest(
        codes, flat["start"].to_numpy(), flat["end"].to_numpy(), flat["amount"].to_numpy()
    )
    by_node = flat.groupby(codes)
    rows = pd.DataFrame({"name": names.astype(object), "gpus": most})
    kinds = by_node["gpu_type"].agg(_single).astype(object)
    rows["gpu_type"] = kinds.where(kinds.notna(), None)
    rows["partitions"] = by_node["partition"].agg(_distinct)
    return rows.sort_values("name", key=_natural, ignore_index=True)


def highest(codes: Any, start: Any, end: Any, amount: Any) -> np.ndarray:
    """Return the highest sum of amounts held at the same time, by code; ends come before starts."""
    time = np.concatenate((end, start))
    change = np.concatenate((-amount, amount))
    code = np.concatenate((codes, codes))
    rank = np.repeat([0, 1], len(start))
    order = np.lexsort((rank, time, code))
    code, change = code[order], change[order]
    level = np.cumsum(change)
    size = int(code.max()) + 1 if len(code) else 0
    most = np.zeros(size, np.int64)
    # what a node's jobs took is given back at its end, so that the sum goes on from 0
    np.maximum.at(most, code, level.astype(np.int64))
    return most


def _single(values: pd.Series[str]) -> str | None:
    """Return the type of a node's GPUs; None if jobs state none, or several."""
    kinds = values.dropna().unique()
    return str(kinds[0]) if len(kinds) == 1 else None


def _distinct(values: pd.Series[str]) -> tuple[str, ...]:
    return tuple(sorted(map(str, values.dropna().unique())))


def _natural(names: pd.Series[str]) -> pd.Series[str]:
    """Return keys by which n2 comes before n10."""
    return names.map(lambda name: re.sub(r"\d+", lambda m: m[0].zfill(12), name))
