"""What several seeds of a workload say of policies: means, standard deviations, and pictures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from dlsched.display.charts import dress, styles
from dlsched.display.table import Row
from dlsched.sweeps.plots import SIZE, Picture
from dlsched.sweeps.simulation_rows import table_rows
from dlsched.sweeps.workload_spec import BOUND

METRIC = "mean_jct"
_LABELS = ("policy", "method", "options")
_Group = dict[str, dict[Any, float]]


def label_of(line: Row) -> str:
    """Return a policy with its method and options, as legends name it."""
    policy, method, options = (line[name] for name in _LABELS)
    inside = ", ".join(text for text in (method, options) if text)
    return f"{policy} ({inside})" if inside else str(policy)


def by_seed(rows: Sequence[Row]) -> _Group:
    """Return `METRIC` by policy and by the seeds of workload and policy, of runs that ended."""
    simulated = [row for row in rows if row["method"] != BOUND]
    groups: _Group = {}
    for row, line in zip(simulated, table_rows(simulated), strict=True):
        group = groups.setdefault(label_of(line), {})
        if line[METRIC] is not None and row["status"] == "feasible":
            group[row.get("workload_seed"), row["seed"]] = line[METRIC]
    return groups


def spread_rows(rows: Sequence[Row]) -> list[Row]:
    """Return a row per policy with the spread of `METRIC` over seeds.

    ``runs`` of all seeds, ``failed`` of them; ``mean_jct``, the mean, and ``sd``, the sample's
    standard deviation, ``least`` and ``most``; ``saved``, the mean share of the first policy's
    value by which this one's is smaller with the same seeds, with ``saved_sd`` and ``better``, the
    number of seeds where it is smaller; ``gap``, the mean gap to the bound. All are of runs that
    ended.
    """
    simulated = [row for row in rows if row["method"] != BOUND]
    lines = table_rows(simulated)
    groups = by_seed(rows)
    first = next(iter(groups.values()), {})
    table = []
    for label, values in groups.items():
        mine = [line for line in lines if label_of(line) == label]
        found = np.array(list(values.values()), dtype=float)
        saved = np.array([1 - values[s] / first[s] for s in values if first.get(s)], dtype=float)
        gaps = [line["gap"] for line in mine if line["gap"] is not None]
        table.append(
            {name: mine[0][name] for name in _LABELS}
            | {
                "runs": len(mine),
                "failed": len(mine) - len(values) or None,
                METRIC: _mean(found),
                "sd": _deviation(found),
                "least": float(found.min()) if len(found) else None,
                "most": float(found.max()) if len(found) else None,
                "saved": _mean(saved),
                "saved_sd": _deviation(saved),
                "better": int((saved > 0).sum()) if len(saved) else None,
                "gap": _mean(np.array(gaps, dtype=float)),
            }
        )
    return table


def _mean(values: Any) -> float | None:
    return float(values.mean()) if len(values) else None


def _deviation(values: Any) -> float | None:
    return float(values.std(ddof=1)) if len(values) > 1 else None


def spread_picture(rows: Sequence[Row]) -> Picture:
    """Return a bar for each policy, with the standard deviation over the seeds as a line."""
    from matplotlib.figure import Figure

    table = [row for row in spread_rows(rows) if row[METRIC] is not None]
    figure = Figure(figsize=SIZE, layout="constrained")
    axes = figure.subplots()
    places = np.arange(len(table))[::-1]
    errors = [row["sd"] or 0.0 for row in table]
    axes.barh(places, [row[METRIC] for row in table], xerr=errors, color="0.75", edgecolor="0.2")
    axes.set_yticks(places, [label_of(row) for row in table])
    axes.set_xlabel(f"{METRIC}, seconds")
    dress(axes, own=True)
    seeds = max((row["runs"] for row in table), default=0)
    caption = f"Means of {METRIC} over {seeds} seeds; the lines are one standard deviation."
    return Picture("spread", caption, figure)


def curves(rows: Sequence[Row]) -> Iterator[tuple[str, str, Mapping[str, Mapping[float, Any]]]]:
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
        for (origin, *fixed_values), policies in groups.items():
            if max(len(values) for values in policies.values()) > 1:
                fixed = ", ".join(f"{n.removeprefix('varied_')}={v}" for n, v in fixed_values)
                yield (
                    name.removeprefix("varied_"),
                    f"{origin}, {fixed}" if fixed else origin,
                    policies,
                )


def curve_picture(
    number: int, parameter: str, fixed: str, policies: Mapping[str, Mapping[float, Any]]
) -> Picture:
    """Return the mean of `METRIC` against a parameter, a curve for each policy."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=SIZE, layout="constrained")
    axes = figure.subplots()
    for (label, values), style in zip(policies.items(), styles(), strict=False):
        places = sorted(values)
        means = [float(np.mean(values[place])) for place in places]
        errors = [_deviation(np.array(values[place])) or 0.0 for place in places]
        axes.errorbar(places, means, yerr=errors, label=label, capsize=2, **style)
    axes.set_xlabel(parameter)
    axes.set_ylabel(f"{METRIC}, seconds")
    dress(axes, own=True)
    caption = (
        f"Mean of {METRIC} over the seeds against {parameter} ({fixed}); the lines are one "
        "standard deviation."
    )
    return Picture(f"curve-{number}-{parameter}", caption, figure)
