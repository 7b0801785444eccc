"""Simulations in the report of a sweep: of each workload a table and pictures, over its seeds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from dlsched.display.page import Picture, drawn, html_table, in_text
from dlsched.display.table import Row
from dlsched.errors import InstanceError
from dlsched.results.statistics import Interval, Line, holm, interval, signed_rank
from dlsched.simulation import Simulation
from dlsched.simulation.pictures.charts import draw_distribution, draw_over_time
from dlsched.sweeps.simulations import load_simulation, table_rows
from dlsched.sweeps.specs import BOUND
from dlsched.sweeps.store import Store

METRIC = "mean_jct"
_LABELS = ("policy", "method", "options")


class Section(NamedTuple):
    """One workload in the report: its name in links and files, and in tables; table; pictures."""

    place: str
    name: str
    table: str
    pictures: Sequence[Picture]


def sections(
    store: Store, rows: Sequence[Row], on_part: Callable[[str], None]
) -> Iterator[Section]:
    """Yield a section for each workload of a sweep, of several seeds one with their spread.

    Parameters
    ----------
    store
        Where the logs are.
    rows
        The rows of `dlsched.sweeps.simulations.simulation_rows`.
    on_part
        Called with a name of what is made next.

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
        lines = table_rows(simulated)
        runs: dict[str, Simulation] = {}
        for row, line in zip(simulated, lines, strict=True):
            label = label_of(line)
            if row["solution_sha256"] and label not in runs:  # of several seeds the first
                runs[label] = _read(store, row)
        several = len({row["instance"] for row in simulated}) > 1
        table = spread_rows(members) if several else lines
        # One seed of all rows tells nothing.
        left_out = ["seed"] if len({row.get("seed") for row in table}) == 1 else []
        texts = (in_text(row, left_out=left_out) for row in table)
        place = f"simulation-{number}"
        yield Section(place, family, html_table(texts, f"{place}-table"), _pictures(runs))


def _read(store: Store, row: Row) -> Simulation:
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


def label_of(line: Row) -> str:
    """Return a policy with its method and options, as legends name it."""
    policy, method, options = (line[name] for name in _LABELS)
    inside = ", ".join(text for text in (method, options) if text)
    return f"{policy} ({inside})" if inside else str(policy)


def spread_rows(rows: Sequence[Row]) -> list[Line]:
    """Return a row per policy with the spread of `METRIC` over seeds.

    ``runs`` of all seeds, ``failed`` of them; ``mean_jct``, the mean with the ends of its bootstrap
    interval; ``saved``, the mean share of the first policy's value by which this one's is smaller
    with the same seeds, with its interval, ``better``, the number of seeds where it is smaller, and
    ``p_holm`` of Wilcoxon's test; ``gap``, the mean gap to the bound. All are of runs that ended.
    """
    simulated = [row for row in rows if row["method"] != BOUND]
    lines: dict[str, list[Row]] = {}
    groups: dict[str, dict[Any, float]] = {}
    for row, line in zip(simulated, table_rows(simulated), strict=True):
        lines.setdefault(label_of(line), []).append(line)
        values = groups.setdefault(label_of(line), {})
        if line[METRIC] is not None and row["status"] == "feasible":
            values[row.get("workload_seed"), row["seed"]] = line[METRIC]
    first = next(iter(groups.values()), {})
    table, tested = [], []
    for label, values in groups.items():
        mine = lines[label]
        saved = np.array([1 - values[s] / first[s] for s in values if first.get(s)], dtype=float)
        gaps = [line["gap"] for line in mine if line["gap"] is not None]
        line = {
            **{name: mine[0][name] for name in _LABELS},
            "runs": len(mine),
            "failed": len(mine) - len(values) or None,
            **_with_ends(METRIC, interval([*values.values()])),
            **_with_ends("saved", interval(saved)),
            "better": int((saved > 0).sum()) if len(saved) else None,
            "p_holm": None,
            "gap": float(np.mean(gaps)) if gaps else None,
        }
        if values is not first and len(saved) > 1:
            tested.append((line, signed_rank(saved)))
        table.append(line)
    for (line, _), p in zip(tested, holm([p for _, p in tested]), strict=True):
        line["p_holm"] = p
    return table


def _with_ends(name: str, found: Interval | None) -> Line:
    """Return columns of a statistic and of its interval."""
    names = (name, f"{name}_low", f"{name}_high")
    return dict(zip(names, found or (None, None, None), strict=True))
