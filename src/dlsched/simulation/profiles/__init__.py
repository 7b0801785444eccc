"""Sets of profiles: what the papers' authors measured or assumed, added to the jobs of a trace.

A set is a function of the jobs as rows of data (the fields of `dlsched.simulation.job.Job`) that
returns the rows with more fields, and the data of further fields of the workload.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from dlsched.simulation.profiles.muri import muri
from dlsched.simulation.profiles.synergy import read_synergy_trace, synergy
from dlsched.traces import Trace

Rows: TypeAlias = list[dict[str, Any]]
Profiles: TypeAlias = Callable[..., tuple[Rows, Mapping[str, Any]]]

PROFILES: Mapping[str, Profiles] = {"muri": muri, "synergy": synergy}
"""The sets by name."""
READERS: Mapping[str, Callable[..., Trace | None]] = {"synergy": read_synergy_trace}
"""Readers of traces that need a set of profiles to be understood; None for another format."""
