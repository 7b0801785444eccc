"""Sets of profiles: what the papers' authors measured or assumed, added to the jobs of a trace.

A set is a function of the jobs as rows of data (the fields of `workload.job.Job`) that
returns the rows with more fields, and the data of further fields of the workload.
"""

import inspect
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from dlsched.errors import OptionError, UnknownName, has_no_option
from dlsched.records.trace import Trace
from dlsched.simulation.workload.profiles.muri import muri
from dlsched.simulation.workload.profiles.sia import read_sia_workload, sia
from dlsched.simulation.workload.profiles.synergy import read_synergy_trace, synergy

Rows: TypeAlias = list[dict[str, Any]]
Profiles: TypeAlias = Callable[..., tuple[Rows, Mapping[str, Any]]]

PROFILES: Mapping[str, Profiles] = {"muri": muri, "sia": sia, "synergy": synergy}
"""The sets by name."""
READERS: Mapping[str, Callable[..., Trace | None]] = {
    "sia": read_sia_workload,
    "synergy": read_synergy_trace,
}
"""Readers of traces that need a set of profiles to be understood; None for another format."""
FILES: Mapping[str, tuple[str, ...]] = {"synergy": ("measured",)}
"""Options of a set that are paths of files."""


def profile_options(name: str) -> dict[str, Any]:
    """Return the options of a set of profiles, with their defaults.

    Raises
    ------
    UnknownName
        If there is no such set.
    """
    if name not in PROFILES:
        raise UnknownName("set of profiles", name, list(PROFILES))
    rest = list(inspect.signature(PROFILES[name]).parameters.values())[1:]
    return {parameter.name: parameter.default for parameter in rest}


def validate_options(name: str | None, options: Mapping[str, Any]) -> None:
    """Raise if a set of profiles, or None for no set, has not these options.

    Raises
    ------
    UnknownName
        If there is no such set.
    OptionError
        If it has no such option.
    """
    known = {} if name is None else profile_options(name)
    for option in options:
        if name is None:
            raise OptionError(f"{option!r} is an option of a set of profiles; name the set, too")
        if option not in known:
            raise OptionError(has_no_option(f"the set of profiles {name}", option, known))
