"""Simulations in the report of a sweep: of each workload a table and pictures, over its seeds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from dlsched.display.charts import styles
from dlsched.display.drawing.style import set_labels
from dlsched.display.page import Picture, drawn, html_table, in_text
from dlsched.display.table import Row
from dlsched.errors import InstanceError
from dlsched.results.statistics import Interval, Line, holm, interval, signed_rank
from dlsched.simulation import Simulation
from dlsched.simulation.pictures.charts import draw_distribution, draw_over_time
from dlsched.sweeps.simulation_rows import load_simulation, table_rows
from dlsched.sweeps.specs import BOUND
from dlsched.sweeps.store import Store

METRIC = "mean_jct"
_LABELS = ("policy", "method", "options")
Curves = Mapping[str, Mapping[float, Sequence[float]]]
"""Values of `METRIC` by policy and by a parameter."""


@dataclass(frozen=True)
class Section:
    """One workload in the report.

    Attributes
    ----------
    place
        Its name in links and file names.
    name
        Its name in tables.
    rows
        The rows of its table: `dlsched.sweeps.simulation_rows.table_rows`, or of several seeds
        `spread_rows`.
    pictures
        Its pictures.
    """

    place: str
    name: str
    rows: Sequence[Row]
    pictures: Sequence[Picture] = field(repr=False)

    def files(self) -> Iterator[tuple[str, bytes]]:
        """Yield names and contents of the pictures' files."""
        for picture in self.pictures:
            yield f"{self.place}-{picture.name}.svg", picture.content

    def table(self) -> str:
        """Return its table for the page; one seed of all rows tells nothing."""
        left_out = ["seed"] if len({row.get("seed") for row in self.rows}) == 1 else []
        lines = (in_text(row, left_out=left_out) for row in self.rows)
        return html_table(lines, f"{self.place}-table")


def sections(
    store: Store, rows: Sequence[Row], on_part: Callable[[str], None]
) -> Iterator[Section]:
    """Yield a section for each workload of a sweep, of several seeds one with their spread.

    Parameters
    ----------
    store
        Where the logs are.
    rows
        The rows of `dlsched.sweeps.simulation_rows.simulation_rows`.
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
        shown = list(_pictures(runs)) if runs else []
        several = len({row["instance"] for row in simulated}) > 1
        table = spread_rows(members) if several else lines
        if several:
            ended = [row for row in table if row[METRIC] is not None]
            caption = f"Means of {METRIC} over the seeds, with their 95 % intervals."
            shown.insert(0, drawn("spread", caption, _draw_spread, ended))
        yield Section(f"simulation-{number}", family, table, shown)
    curve_pictures = [
        drawn(
            f"curve-{number}-{parameter}",
            f"Mean of {METRIC} over the seeds against {parameter} ({fixed}), with 95 % intervals.",
            _draw_curves,
            parameter,
            policies,
        )
        for number, (parameter, fixed, policies) in enumerate(_curves(rows), start=1)
    ]
    if curve_pictures:
        yield Section("simulation-grid", "What the grids vary", (), curve_pictures)


def _read(store: Store, row: Row) -> Simulation:
    try:
        return load_simulation(store.content(row))
    except (OSError, EOFError, ValueError) as error:
        where = f"the run of {row['policy']} on {row['instance']}"
        what = f"cannot be read as a simulation's log ({error})"
        remedy = "remove the run, and run it again"
        raise InstanceError(str(store.file), where, what, remedy) from None


def _pictures(runs: Mapping[str, Simulation]) -> Iterator[Picture]:
    # Several seeds of one policy would hide each other's curves.
    first = "Of several seeds of a policy the first is drawn."
    shown = {"simulations": runs.values(), "names": list(runs)}
    caption = f"Share of the jobs within each completion time. {first}"
    yield drawn("completion-times", caption, partial(_draw, draw_distribution, "jct", **shown))
    caption = f"Jobs that wait, over time. {first}"
    yield drawn("waiting-jobs", caption, partial(_draw, draw_over_time, "waiting", **shown))


def _draw(draw: Callable[..., Any], what: str, axes: Any, *, simulations: Any, names: Any) -> None:
    draw(simulations, what, axes, names=names)


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


def _draw_spread(axes: Any, table: Sequence[Line]) -> None:
    """Draw a bar for each policy, with its interval as a line."""
    places = np.arange(len(table))[::-1]
    means, low, high = (
        np.array([row[name] for row in table])
        for name in (METRIC, f"{METRIC}_low", f"{METRIC}_high")
    )
    errors = np.array([means - low, high - means])
    axes.barh(places, means, xerr=errors, color="0.75", edgecolor="0.2")
    axes.set_yticks(places, [label_of(row) for row in table])
    set_labels(axes, f"{METRIC}, seconds")


def _curves(rows: Sequence[Row]) -> Iterator[tuple[str, str, Curves]]:
    """Yield parameters that a grid varies, what is fixed, and by policy the values of `METRIC`.

    Only numbers are yielded of which there are several while all else is the same.
    """
    simulated = [row for row in rows if row["method"] != BOUND and row["status"] == "feasible"]
    names = sorted({name for row in simulated for name in row if name.startswith("varied_")})
    for name in names:
        groups: dict[tuple[Any, ...], dict[str, dict[float, list[float]]]] = {}
        for row, line in zip(simulated, table_rows(simulated), strict=True):
            value = row.get(name)
            if isinstance(value, bool) or not isinstance(value, int | float):
                continue
            others = tuple((n, row.get(n)) for n in names if n != name and row.get(n) is not None)
            origin = str(row["family"]).partition("-")[0]
            values = groups.setdefault((origin, *others), {}).setdefault(label_of(line), {})
            values.setdefault(float(value), []).append(line[METRIC])
        for (origin, *fixed), policies in groups.items():
            if max(len(values) for values in policies.values()) > 1:
                same = [f"{n.removeprefix('varied_')}={v}" for n, v in fixed]
                yield name.removeprefix("varied_"), ", ".join([origin, *same]), policies


def _draw_curves(axes: Any, parameter: str, policies: Curves) -> None:
    """Draw the mean of `METRIC` against a parameter, a curve with intervals for each policy."""
    for (label, values), style in zip(policies.items(), styles(), strict=False):
        places = sorted(values)
        found = [interval(values[place]) or Interval(0, 0, 0) for place in places]
        means, low, high = np.array(found).T
        errors = np.array([means - low, high - means])
        axes.errorbar(places, means, yerr=errors, label=label, capsize=2, **style)
    set_labels(axes, parameter, f"{METRIC}, seconds")
