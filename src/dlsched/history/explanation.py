"""The recorded waiting, divided into what the record explains and what it does not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import pandas as pd

ENOUGH: Final = 0.8
"""Share of the recorded waiting that must be explained for savings to be claimed."""


@dataclass(frozen=True)
class Explanation:
    """The recorded waiting from submission to start, divided by its causes.

    Attributes
    ----------
    table
        Data frame with one row per cause and the columns ``cause``, ``hours``, ``gpu_hours``,
        ``share`` (of the hours). The causes are ``"not yet eligible"``, ``"no room"`` (by the
        recorded occupancy), ``"behind"`` (room, but a job that came before had none) and ``"held
        back"`` (room, and nobody before it without).
    jobs
        Data frame with one row per job that waited: ``id``, ``wait`` and the seconds of each cause
        (``not_eligible``, ``no_room``, ``behind``, ``held_back``).
    share
        Share of the waiting hours that is explained: all causes but ``"held back"``; 1 if nobody
        waited.
    gpu_share
        The same of the waiting GPU-hours.
    """

    table: pd.DataFrame
    jobs: pd.DataFrame
    share: float
    gpu_share: float

    @property
    def supported(self) -> bool:
        """Whether enough is explained for savings to be claimed."""
        return self.share >= ENOUGH
