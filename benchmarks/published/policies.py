"""Which simulator has which policy."""

from collections.abc import Callable, Mapping

from published.muri import run as run_muri
from published.synergy import run as run_synergy

MURI = ("srtf", "srsf", "tiresias", "antman", "themis", "muri_s", "muri_l")
"""Policies of the simulator of Muri's authors."""
PUBLISHED: Mapping[str, Callable[..., None]] = {
    **dict.fromkeys(MURI, run_muri),
    "synergy": run_synergy,
}
"""The simulator of each policy."""
