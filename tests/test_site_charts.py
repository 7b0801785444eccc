"""The charts of the site show what the measured tables say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dlsched import registry

DOCS = Path(__file__).parents[1] / "docs"
TABLE = """## first

| size | rule | limit |
|---|---|---|
| 8 | 1.5 %, 3 % | 0.5 s |
| 16 | stopped |

Words.

| other |
|---|
| 2 |
"""


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The module that reads the tables."""
    monkeypatch.syspath_prepend(DOCS)
    import measured

    return measured


def test_tables_are_read(measured: Any) -> None:
    """Each table is a list of rows under its heading; a row may end early."""
    first, other = measured.tables(TABLE)["first"]
    assert first == [
        {"size": "8", "rule": "1.5 %, 3 %", "limit": "0.5 s"},
        {"size": "16", "rule": "stopped"},
    ]
    assert other == [{"other": "2"}]
    assert (measured.percent("1.5 %, 3 %"), measured.percent("0")) == (1.5, 0)


@pytest.mark.parametrize("name", registry.problem_names())
def test_every_problem_has_both_charts(measured: Any, name: str) -> None:
    """Both charts have at least two lines, sizes ascend, and gaps are no less than 0."""
    for kind, chart in measured.charts(name):
        assert len(chart.series) >= 2, kind
        for points in chart.series.values():
            sizes = [point.size for point in points]
            assert len(sizes) >= 2 and sizes == sorted(set(sizes))
            assert all(point.value >= 0 for point in points)
        assert chart.command.split()[0] in ("python", "dlsched")


def test_multiples_are_seconds_and_limits_are_open(
    measured: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A peer's time is a multiple of ours; a gap stands for the limit, and is open."""
    (tmp_path / "peers.md").write_text(
        "## elastic\n\n| instance | ours | SCIP |\n|---|---|---|\n"
        "| items=100, capacity=70 | 0.5 s | 4 |\n| items=200 | 2 s | 12 % |\n"
    )
    monkeypatch.setattr(measured, "FIGURES", tmp_path)
    point = measured.Point
    assert measured.time_chart("elastic").series == {
        "dlsched": [point(100, 0.5), point(200, 2)],
        "SCIP": [point(100, 2), point(200, measured.PEERS_LIMIT, open=True)],
    }
