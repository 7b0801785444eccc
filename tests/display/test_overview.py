"""`dlsched.plot_overview`: all problems at a glance."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

import dlsched
from plotted import WIDTHS, at_width, require_legible


def run(instance: str, method: str, **gaps: float | None) -> dict[str, Any]:
    """Return a row of reclaiming."""
    cells: dict[str, Any] = {f"{level}_gap_to_best": gap for level, gap in gaps.items()}
    stated = [gap for gap in gaps.values() if gap is not None]
    cells["gap_to_best"] = next((gap for gap in stated if gap), 0.0)
    cells["at_optimum"] = list(gaps) == ["preempted", "collateral"] and not any(stated)
    kinds = {"exact": "exact", "lyra": "heuristic", "scf": "baseline"}
    row = {"problem": "reclaiming", "instance": instance, "method": method, "status": "feasible"}
    return row | cells | {"kind": kinds[method]}


def table() -> pd.DataFrame:
    """Return a table in which reclaiming's methods differ at the second level only."""
    gaps = {"exact": (0.0, 0.0), "scf": (0.5, 0.25), "lyra": (0.1, 0.0)}
    rows = [
        run(instance, name, preempted=0.0, collateral=gap)
        for name, both in gaps.items()
        for instance, gap in zip("ab", both, strict=True)
    ]
    return pd.DataFrame(rows)


def rows_of(ax: Any) -> dict[str, str]:
    """Return what stands at the right of each method."""
    names = [tick.get_text() for tick in ax.get_yticklabels()]
    beside = [text.get_text() for text in ax.texts if " of " in text.get_text()]
    return dict(zip(names, beside, strict=True))


def test_gaps_are_of_a_run_s_first_level_that_is_not_at_its_bound() -> None:
    """The best method is first; all levels decide on optimal."""
    (ax,) = dlsched.plot_overview(table()).axes
    assert ax.get_title(loc="right") == "gap"
    assert rows_of(ax) == {"exact": "2 of 2", "lyra": "1 of 2", "scf": "0 of 2"}
    means = [line.get_xdata()[0] for line in ax.lines if line.get_linestyle() == "-"]
    assert means == pytest.approx([0, 5, 37.5])


def test_one_run_that_differs_at_the_first_level_hides_no_others() -> None:
    """Gaps at later levels stay; worse runs and those without a gap count as not optimal."""
    worse = pd.DataFrame(
        [run("c", "exact", preempted=0.0, collateral=0.0), run("c", "scf", preempted=0.4)]
    )
    (ax,) = dlsched.plot_overview(pd.concat([table(), worse])).axes
    means = [line.get_xdata()[0] for line in ax.lines if line.get_linestyle() == "-"]
    assert means == pytest.approx([0, 5, (50 + 25 + 40) / 3])
    assert rows_of(ax)["scf"] == "0 of 3"
    failed = worse.assign(gap_to_best=None, at_optimum=False)
    (ax,) = dlsched.plot_overview(pd.concat([table(), failed])).axes
    assert rows_of(ax)["exact"] == "2 of 3"


def test_without_a_bound_it_says_so() -> None:
    """No count of optimal runs over an empty axis, which said "optimal 0 of 6"."""
    unknown = table().assign(gap_to_best=None, at_optimum=False)
    (ax,) = dlsched.plot_overview(unknown).axes
    texts = [text.get_text().replace("\n", " ") for text in ax.texts]
    assert sorted(texts) == ["2 runs"] * 3 + ["no bound computed; add exact or lp"]
    assert not ax.get_xticks().size


@pytest.mark.parametrize("width", WIDTHS)
def test_text_is_legible_and_inside(width: str) -> None:
    """At both widths of a paper, with a panel for each problem, in two columns if it is wide."""
    both = pd.concat([table(), table().assign(problem="elastic", method="m" * 40)])
    figure = at_width(width, dlsched.plot_overview, both)
    assert len({round(ax.get_position().x0, 2) for ax in figure.axes}) == 1 + (width == "double")
    require_legible(figure)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("width", WIDTHS)
def test_a_single_run(width: str) -> None:
    """One method, and a run that failed, still have room for their dots."""
    failed = table().iloc[:1].assign(gap_to_best=None, at_optimum=False)
    for rows in (table().iloc[:1], failed):
        (ax,) = at_width(width, dlsched.plot_overview, rows).axes
        assert ax.get_window_extent().height > 20


def test_tables_without_runs_are_refused() -> None:
    """An empty table, and what is no table."""
    with pytest.raises(dlsched.OptionError, match="plot_overview: the table has no rows"):
        dlsched.plot_overview(table().iloc[:0])
    with pytest.raises(dlsched.OptionError, match="plot_overview needs a table with the column"):
        dlsched.plot_overview(table().drop(columns="method"))
