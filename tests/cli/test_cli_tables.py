"""Tables on narrow terminals: names whole, digits never cut, secondary columns left out first."""

from __future__ import annotations

import re
from typing import Any

import pytest

from dlsched.bench.statistics import evaluate_rows
from dlsched.cli.output import Column, put_table
from dlsched.cli.sweep import put_sweep
from dlsched.cli.verdict import put_comparison

WIDTHS = [80, 100, 120, 200]
METHODS = ["exact", "column_generation", "my_heuristics:its_long_name", "lyra"]


def shown(capsys: pytest.CaptureFixture[str]) -> list[str]:
    """Return the lines that were printed."""
    return capsys.readouterr().out.splitlines()


def rows_of_a_sweep() -> list[dict[str, Any]]:
    """Return 36 runs of four methods, without results."""
    blank = dict.fromkeys(
        ("record", "kind", "seconds", "termination", "instance_sha256", "solution_sha256")
    )
    return [
        blank
        | {
            "key": f"{method}{i}", "problem": "reclaiming", "method": method, "options": "{}",
            "status": "crashed", "reason": "", "instance": f"i{i}", "source": f"i{i}", "seed": 0,
            "repetition": 0, "resolved_method": "milp" if method == "exact" else method,
        }
        for method in METHODS
        for i in range(36)
    ]  # fmt: skip


@pytest.mark.parametrize("width", WIDTHS)
def test_summary_of_a_sweep(
    width: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """At any width each method is named whole, with its 36 runs and failures."""
    monkeypatch.setenv("COLUMNS", str(width))
    put_sweep(evaluate_rows(rows_of_a_sweep()))
    lines = shown(capsys)
    for method in METHODS:
        (line,) = [each for each in lines if each.split()[:1] == [method]]
        assert line.split().count("36") == 2 and len(line) <= width
    assert "runs" in lines[1] and "failed" in lines[1]


@pytest.mark.parametrize("width", WIDTHS)
def test_comparison(
    width: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Instance, method, status, every level's digits and the gap are there at any width."""
    monkeypatch.setenv("COLUMNS", str(width))
    rows = [
        {
            "instance": "reclaiming-synthetic-1-6d-64x8", "problem": "reclaiming",
            "method": method, "resolved_method": "milp", "status": "feasible",
            "preempted": 123_456 + i, "collateral": 987_654_321, "gap_to_best": 0.123,
            "gap_to_best_level": "preempted", "preempted_best_bound": 123_000, "reason": "",
            "best_bound_kind": "certified", "seconds": 1234.5,
        }
        for i, method in enumerate(METHODS)
    ]  # fmt: skip
    put_comparison(rows)
    lines = shown(capsys)
    for i, method in enumerate(METHODS):
        (line,) = [each for each in lines if f" {method} " in each]
        for cell in (
            "reclaiming-synthetic-1-6d-64x8",
            f"{123_456 + i:,}",
            "987,654,321",
            "12.30 % (preempted)",
        ):
            assert cell in line
    left_out = [line for line in lines if "left out" in line]
    if width == 200:
        assert not left_out and "1,234.50" in lines[3]
    else:
        assert re.search(
            rf"left out in {width} columns: .*best_bound, best_bound_kind", left_out[0]
        )


@pytest.mark.parametrize("width", [40, *WIDTHS])
def test_text_wraps_and_nothing_is_lost(
    width: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A column of text is broken at blanks; every word of it is there, at any width."""
    monkeypatch.setenv("COLUMNS", str(width))
    words = [f"word{i}" for i in range(60)]
    columns = ["name", "value>", Column("text", wraps=True), Column("extra", drop=1)]
    put_table(columns, [["a" * 12, 1_000_000, " ".join(words), "b" * 30]])
    lines = shown(capsys)
    assert max(map(len, lines)) <= max(width, 60)
    found = " ".join(" ".join(line.split()) for line in lines)
    assert all(re.search(rf"\b{word}\b", found) for word in words)
    assert "a" * 12 in found and "1,000,000" in found
    assert ("b" * 30 in found) != ("left out" in found)


def test_what_cannot_be_narrower_is_wider(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Names and digits that do not fit the terminal are shown all the same."""
    monkeypatch.setenv("COLUMNS", "60")
    put_table(["name", "value>"], [["n" * 70, 10**12], ["[bold]not markup[/]", 1]])
    lines = shown(capsys)
    assert "n" * 70 + "   1,000,000,000,000" in lines[2]
    assert "[bold]not markup[/]" in lines[3]


def test_columns_without_a_value_go(capsys: pytest.CaptureFixture[str]) -> None:
    """A secondary column in which nothing stands is not shown, and nothing is said of it."""
    put_table(["name", Column("ran", drop=1)], [["a", None], ["b", ""]])
    lines = shown(capsys)
    assert not any("ran" in line for line in lines)
