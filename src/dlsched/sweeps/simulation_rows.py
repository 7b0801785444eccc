"""Rows of simulations in the store as rows of tables: metrics, and bounds that other runs found.

A bound is a run of its own. A simulation is compared with those of the same jobs and servers that
hold for its policy, and is ``rejected`` here if it beats one.
"""

from __future__ import annotations

import gzip
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from typing import Any

from dlsched.display.table import Row
from dlsched.errors import InstanceError, describe
from dlsched.results.objective import relative_gap
from dlsched.simulation import Simulation
from dlsched.simulation.bounds import METRICS
from dlsched.simulation.log import Log
from dlsched.sweeps.simulations import OVER
from dlsched.sweeps.specs import BOUND

SHOWN = ("mean_jct", "p99_jct", "makespan", "mean_queueing", "utilization")
"""The metrics in tables."""
_TOLERANCE = 1e-9
"""Relative; metrics are floats, bounds are exact."""


def simulation_rows(rows: Iterable[Row]) -> list[Row]:
    """Return one flat row per simulation and per bound, without the record.

    Columns are those of `dlsched.display.table.COLUMNS`, where ``method`` is the policy and
    ``resolved_method`` what solves its problem, then all metrics by name, and
    ``<metric>_bound``, ``<metric>_gap`` of those that have a bound; ``family`` and
    ``workload_seed`` are the workload's name without its seed, and the seed; columns
    ``varied_<parameter>`` have what a grid varies.

    Raises
    ------
    InstanceError
        If a record is damaged; it names the run.
    """
    rows = list(rows)
    bounds = _Bounds(rows)
    return [_flat(row, bounds) for row in rows]


class _Bounds:
    """The bounds that runs have found, by jobs and servers, and by the policies they hold for."""

    def __init__(self, rows: Iterable[Row]) -> None:
        self.found: dict[tuple[str, str], dict[str, tuple[Fraction, str]]] = defaultdict(dict)
        for row in rows:
            if row["method"] == BOUND and row["record"]:
                record = _record(row)
                place = row["instance_sha256"], _text(record["over"])
                for metric, value in json.loads(row["bound"]).items():
                    self.found[place][metric] = Fraction(value), record["bounds"][metric]

    def of(self, sha256: str, among: Row) -> dict[str, tuple[Fraction, str]]:
        """Return the bounds for a policy: those of the least set of policies that has it."""
        names = list(OVER)
        for name in names[names.index(among["over"]) :]:
            if (sha256, _text({"over": name})) in self.found:
                return self.found[sha256, _text({"over": name})]
        return {}


def _text(data: object) -> str:
    return json.dumps(data, sort_keys=True)


def _record(row: Row) -> dict[str, Any]:
    """Return the record of a run.

    Raises
    ------
    InstanceError
        If it is damaged.
    """
    try:
        record: dict[str, Any] = json.loads(row["record"])
        for needed in ("bounds", "over") if row["method"] == BOUND else ("summary", "among"):
            record[needed]
        for value in json.loads(row["bound"] or "{}").values():
            Fraction(value)
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        where = f"the simulation of {row['method']} on {row['instance']}"
        what = f"has a damaged record ({describe(error)})"
        raise InstanceError("the sweep's results", where, what, "run it again") from None
    return record


def _flat(row: Row, bounds: _Bounds) -> Row:
    flat = {name: value for name, value in row.items() if name != "record"}
    flat["resolved_method"] = _options(row).get("method")
    if not row["record"]:
        return flat
    record = _record(row)
    flat |= {name: record.get(name) for name in ("family", "workload_seed")}
    flat |= {f"varied_{name}": value for name, value in record.get("varied", {}).items()}
    if row["method"] == BOUND:
        values = json.loads(row["bound"]).items()
        return flat | {f"{metric}_bound": float(Fraction(value)) for metric, value in values}
    flat |= record["summary"]
    limits = bounds.of(row["instance_sha256"], record["among"])
    for metric, (limit, source) in limits.items():
        value = flat[metric]
        if value < float(limit) * (1 - _TOLERANCE):
            what = f"{metric} {value:g} is below its bound {float(limit):g} ({source})"
            return flat | {"status": "rejected", "reason": what}
        flat[f"{metric}_bound"] = float(limit)
        flat[f"{metric}_gap"] = relative_gap(value, float(limit))
    if limits:
        first = METRICS[0]
        flat |= {"gap": flat[f"{first}_gap"], "gap_level": first, "bound_kind": "certified"}
        flat["bound"] = json.dumps({metric: float(limit) for metric, (limit, _) in limits.items()})
    return flat


def _options(row: Row) -> dict[str, Any]:
    return dict(json.loads(row["options"]))


def table_rows(rows: Sequence[Row]) -> list[Row]:
    """Return the rows of a workload's table, without those of bounds.

    ``policy``, ``method``, ``options`` (``variant`` among them), ``seed``, the metrics of `SHOWN`,
    ``bound`` and ``gap`` of mean_jct, ``seconds``, and ``status`` of those that failed.
    """
    return list(_lines(rows))


def _lines(rows: Iterable[Row]) -> Iterator[Row]:
    for row in rows:
        if row["method"] == BOUND:
            continue
        options = {name: value for name, value in _options(row).items() if name != "method"}
        yield {
            "policy": row["method"],
            "method": row["resolved_method"],
            "options": ", ".join(f"{name}={value}" for name, value in options.items()) or None,
            "seed": row["seed"],
            **{name: row.get(name) for name in SHOWN},
            "bound": row.get("mean_jct_bound"),
            "gap": row.get("mean_jct_gap"),
            "seconds": row.get("seconds"),
            "status": None if row["status"] == "feasible" else row["status"],
        }


def load_simulation(content: bytes) -> Simulation:
    """Return the simulation of a log that `run_simulation` returned."""
    return Simulation(Log.from_bytes(gzip.decompress(content)))
