"""How much of which resource a job of Slurm held, and on which nodes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from dlsched.errors import OptionError
from dlsched.records.history.hostlist import expand_hosts
from dlsched.records.history.raw import Known, Raw, tuples
from dlsched.records.history.tres import Gpus, gpus_of, parse_amount, parse_gres, parse_tres

if TYPE_CHECKING:
    import pandas as pd

TRES: Final = ("alloctres", "reqtres")
GRES: Final = ("allocgres", "reqgres")
COUNTS: Final = {
    "cpu": ("alloccpus", "ncpus", "reqcpus"),
    "node": ("allocnodes", "nnodes", "reqnodes"),
}
"""Columns with a number of each resource, the first that has one above 0 counts."""
WANTED: Final = (*TRES, *GRES, *COUNTS["cpu"], *COUNTS["node"])
NO_NODES: Final = frozenset({"", "none assigned", "none", "(null)", "unknown", "n/a"})
"""What NodeList has of a job without nodes, in lower case."""
_BAD: Final = "cannot be read"


class Reader:
    """Reads the resource of many rows; distinct texts are read once.

    Parameters
    ----------
    resource
        ``"gpu"``, ``"cpu"`` or ``"node"``.
    names
        The columns that there are.
    """

    def __init__(self, resource: str, names: Collection[str]) -> None:
        self.resource = resource
        self.sources: list[tuple[str, Known]] = []
        for column in TRES:
            if column in names:
                self.sources.append((column, Known(_guarded(self._of_tres))))
        if resource == "gpu":
            self.sources += [(c, Known(_guarded(parse_gres))) for c in GRES if c in names]
        counts = [c for c in COUNTS.get(resource, ()) if c in names]
        # A column of its own comes before those of all resources, which may be cut off.
        self.sources[:0] = [(column, Known(_guarded(_count))) for column in counts]
        self.hosts = Known(_guarded(_hosts))

    def _of_tres(self, text: str) -> Gpus:
        amounts = parse_tres(text)
        return (
            gpus_of(amounts)
            if self.resource == "gpu"
            else Gpus(int(amounts.get(self.resource, 0)), None)
        )

    def fill(self, raw: Raw, cells: Mapping[str, pd.Series[str]]) -> None:
        """Read the amounts and the nodes of some rows."""
        usable = raw.usable
        gpus = np.full(raw.size, np.nan)
        kinds = np.full(raw.size, None, object)
        for column, known in self.sources:
            made = known.of(cells[column].where(usable, ""))
            bad = np.array([entry is None for entry in made], bool)
            raw.refuse(bad, _title(column), [f"{t!r:.60} {_BAD}" for t in cells[column][bad]])
            counts = np.array([entry.number if entry else 0 for entry in made], float)
            more = (np.isnan(gpus) | (gpus == 0)) & ~bad
            gpus[more] = counts[more]
            typed = np.array([entry.kind if entry else None for entry in made], object)
            unknown = np.array([kind is None for kind in kinds], bool)
            kinds[unknown] = typed[unknown]
        raw.columns["gpus"] = gpus
        raw.columns["gpu_type"] = kinds
        if "nodelist" in cells:
            texts = cells["nodelist"].where(usable, "")
            made = self.hosts.of(texts)
            bad = np.array([entry is None for entry in made], bool)
            raw.refuse(bad, "NodeList", [f"{t!r:.60} is no list of hosts" for t in texts[bad]])
            raw.columns["nodes"] = tuples([entry or () for entry in made])
            none = texts.str.strip().str.lower() == "none assigned"
            raw.columns["unassigned"] = none.to_numpy(bool)


def _guarded(parse: Callable[[str], Any]) -> Callable[[str], Any]:
    """Return a function that returns None where a text cannot be parsed."""

    def parsed(text: str) -> Any:
        try:
            return parse(text.strip())
        except OptionError:
            return None

    return parsed


def _count(text: str) -> Gpus:
    return Gpus(int(parse_amount(text)) if text else 0, None)


def _hosts(text: str) -> tuple[str, ...]:
    return () if text.lower() in NO_NODES else expand_hosts(text)


def _title(column: str) -> str:
    return {"alloctres": "AllocTRES", "reqtres": "ReqTRES"}.get(column, column.capitalize())
