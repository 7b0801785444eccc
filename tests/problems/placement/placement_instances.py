"""Small instances of placement: what a test does not say has one value in all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dlsched.problems.placement import Instance

Row = dict[str, Any]


def region(name: str, storage: Any = 100, gpus: Any = None, **more: Any) -> Row:
    """Return a region; a number is its supply of type A."""
    supply = gpus if isinstance(gpus, dict) else {"A": gpus} if gpus is not None else {}
    return {"id": name, "storage_capacity": storage, "gpu_supply": supply} | more


def table(name: str, size: Any = 1, home: str | None = None) -> Row:
    """Return a table."""
    return {"id": name, "size": size, "home": home}


def job(name: str, tables: Sequence[str], gpus: Any = None, kind: str = "ml", **more: Any) -> Row:
    """Return a job of tables with short names; a number is its GPU hours of type A."""
    hours = gpus if isinstance(gpus, dict) else {"A": gpus} if gpus is not None else {}
    return {"id": name, "kind": kind, "tables": list(tables), "gpu_hours": hours} | more


def instance(
    regions: Sequence[Row], tables: Sequence[Row], jobs: Sequence[Row] = (), **fields: Any
) -> Instance:
    """Return an instance."""
    parts = {"regions": regions, "tables": tables, "jobs": jobs}
    return Instance(**{"name": "hand"} | parts | fields)


def home_of(made: Instance, homes: Sequence[int]) -> dict[str, str]:
    """Return the region's name of each table, from the positions of the regions."""
    names = [made.regions[home].id for home in homes]
    return dict(zip([t.id for t in made.tables], names, strict=True))
