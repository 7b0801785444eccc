"""Simulations in the report of a sweep: of each workload a table and pictures, over its seeds."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from dlsched.display.page import Picture, drawn, html_table, in_text
from dlsched.display.table import Row
from dlsched.errors import InstanceError
from dlsched.results.performance_profiles import by_label
from dlsched.results.statistics import Interval, Line, holm, interval, signed_rank
from dlsched.simulation import Simulation
from dlsched.simulation.pictures.charts import draw_distribution, draw_over_time
from dlsched.sweeps.simulations import load_simulation
from dlsched.sweeps.specs import BOUND
from dlsched.sweeps.store import Store

METRIC = "mean_jct"
_OTHERS = ("p99_jct", "makespan", "mean_queueing", "utilization")
"""Of which tables have the mean as well."""


class Section(NamedTuple):
    """One workload in the report: its name in links and files, and in tables; table; pictures."""

    place: str
    name: str
    table: str
    pictures: Sequence[Picture]


def sections(
    store: Store, rows: Sequence[Row], on_part: Callable[[str], None]
) -> Iterator[Section]:
    """Yield a section for each workload of a sweep, of several seeds one.

    `rows` are those of `dlsched.sweeps.simulations.simulation_rows`; the store has the logs.

    Raises
    ------
    InstanceError
        If a log is not there, or cannot be read.
    """
    families: dict[str, list[Row]] = {}
    for row in rows:
        families.setdefault(row.get("family") or row["instance"], []).append(row)
    for number, (family, members) in enumerate(families.items(), start=1):
        on_part(f"the charts of {family}")
        simulated = [row for row in members if row["method"] != BOUND]
        if not simulated:  # bounds alone, or what failed before its family was known
            continue
        drawn_of = by_label(row for row in simulated if row["solution_sha256"])
        runs = {label: _read(store, rows[0]) for label, rows in drawn_of.items()}
        place = f"simulation-{number}"
        table = html_table(map(in_text, policy_rows(simulated)), f"{place}-table")
        yield Section(place, family, table, _pictures(runs))


def _read(store: Store, row: Mapping[str, Any]) -> Simulation:
    try:
        return load_simulation(store.content(row))
    except (OSError, EOFError, ValueError) as error:
        where = f"the run of {row['method']} on {row['instance']}"
        what = f"cannot be read as a simulation's log ({error})"
        remedy = "remove the run, and run it again"
        raise InstanceError(str(store.file), where, what, remedy) from None


def _pictures(runs: Mapping[str, Simulation]) -> list[Picture]:
    # Several seeds of one policy would hide each other's curves.
    first = "Of several seeds of a policy the first is drawn."
    kinds = (
        ("completion-times", "Share of the jobs within each completion time", "jct"),
        ("waiting-jobs", "Jobs that wait, over time", "waiting"),
    )
    simulations, names = list(runs.values()), list(runs)

    def draw(axes: Any, what: str) -> None:
        function = draw_distribution if what == "jct" else draw_over_time
        function(simulations, what, axes, names=names)

    return [drawn(name, f"{told}. {first}", draw, what) for name, told, what in kinds if runs]


def policy_rows(rows: Sequence[Row]) -> list[Line]:
    """Return a row per policy of a workload, over its seeds and those of its jobs.

    ``runs``, and ``failed`` of them; ``mean_jct``, the mean with the ends of its bootstrap
    interval; ``saved``, the mean share of the first policy's value by which this one's is smaller
    with the same seeds, with its interval; ``better``, the number of seeds where it is smaller;
    ``p_holm`` of Wilcoxon's test; means of other metrics and of ``seconds``, and ``gap``, the mean
    gap to the bound. All are of runs that ended.
    """
    first: dict[Any, float] | None = None
    table, tested = [], []
    for mine in by_label(row for row in rows if row["method"] != BOUND).values():
        ended = [row for row in mine if row["status"] == "feasible"]
        values = {(row["workload_seed"], row["seed"]): row[METRIC] for row in ended}
        pairs = [(values[s], first[s]) for s in values if first and first.get(s)]
        saved = np.array([1 - value / of_first for value, of_first in pairs], dtype=float)
        options = json.loads(mine[0]["options"])
        options.pop("method", None)
        line: Line = {
            "policy": mine[0]["method"],
            "method": mine[0]["resolved_method"],
            "options": ", ".join(f"{name}={value}" for name, value in options.items()) or None,
            "runs": len(mine),
            "failed": len(mine) - len(ended) or None,
            **_with_ends(METRIC, interval([*values.values()])),
            **_with_ends("saved", interval(saved)),
            "better": int((saved > 0).sum()) if len(saved) else None,
            "p_holm": None,
            **{name: _mean(ended, name) for name in (*_OTHERS, f"{METRIC}_gap", "seconds")},
        }
        line["gap"] = line.pop(f"{METRIC}_gap")
        if len(saved) > 1:
            tested.append((line, signed_rank(saved)))
        first = values if first is None else first
        table.append(line)
    for (line, _), p in zip(tested, holm([p for _, p in tested]), strict=True):
        line["p_holm"] = p
    return table


def _mean(rows: Sequence[Mapping[str, Any]], name: str) -> float | None:
    values = [row[name] for row in rows if row.get(name) is not None]
    return float(np.mean(values)) if values else None


def _with_ends(name: str, found: Interval | None) -> Line:
    """Return columns of a statistic and of its interval."""
    names = (name, f"{name}_low", f"{name}_high")
    return dict(zip(names, found or (None, None, None), strict=True))
