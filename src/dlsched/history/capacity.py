"""What the cluster had: its nodes, and where that is known from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd


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

    @property
    def total(self) -> int:
        """Amount of the resource on all nodes."""
        return int(self.nodes["gpus"].sum())
