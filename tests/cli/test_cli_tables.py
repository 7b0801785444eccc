"""Tables on narrow terminals: names whole, digits never cut, secondary columns left out first."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import groupby, product
from typing import Any

import pytest

from dlsched.cli.output import Column, put_table
from dlsched.cli.verdict import put_comparison
from dlsched.doctor import library
from dlsched.registry import problem, problem_names

WIDTHS = [80, 100, 160, 200]
BASE = 987_000_000
METHODS = ["exact", "column_generation", "my_heuristics:its_long_name", "lyra"]


Show = Callable[..., list[str]]


@pytest.fixture
def show(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Show:
    """Give what prints on a terminal of so many columns, or into a pipe, and returns the lines."""

    def lines(width: int | None, put: Callable[..., None], *arguments: Any) -> list[str]:
        if width is not None:
            monkeypatch.setenv("COLUMNS", str(width))
        put(*arguments)
        return capsys.readouterr().out.splitlines()

    return lines


def compared(name: str, instance: str, method: str, **other: Any) -> dict[str, Any]:
    """Return a row of a comparison with large numbers at every level, other ones by method."""
    levels = [level.name for level in problem(name).levels]
    first = BASE + 1000 * len(method)
    values = {level: first + i for i, level in enumerate(levels)}
    return {
        "instance": instance, "problem": name, "method": method, "resolved_method": "milp",
        "status": "feasible", "termination": "time_limit", "gap": 0.012, "gap_level": levels[0],
        "gap_to_best": 0.123, "gap_to_best_level": levels[-1], "best_bound_kind": "certified",
        "seconds": 1234.5, "reason": "", f"{levels[0]}_best_bound": 123_000,
    } | values | other  # fmt: skip


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", problem_names())
def test_comparison_of_library_instances(name: str, width: int, show: Show) -> None:
    """Instance, method, status, every level's digits and the gap are there at any width."""
    instances = [n for n, entry in library.index().items() if entry["problem"] == name]
    instances = sorted(instances, key=len)[-5:]  # they decide how wide the table is
    methods = list(problem(name).methods)
    rows = [compared(name, i, method) for i in instances for method in methods]
    lines = show(width, put_comparison, rows)
    assert max(map(len, lines)) <= width
    count = len(problem(name).levels)
    cells = {
        method: [
            "feasible",
            "12.30 %",
            *(f"{BASE + 1000 * len(method) + i:,}" for i in range(count)),
        ]
        for method in methods
    }
    parts = groupby(lines, key=lambda line: bool(line.strip()))
    blocks = ["\n".join(part) for filled, part in parts if filled]
    if len(blocks) >= len(instances) * len(methods):  # too wide for lines: a block for each row
        for instance, method in product(instances, methods):
            wanted = {("instance", instance), ("method", method)}
            (block,) = [b for b in blocks if wanted <= {tuple(x.split()) for x in b.split("\n")}]
            assert all(cell in block for cell in cells[method])
        return
    for instance in instances:
        first = next(i for i, line in enumerate(lines) if instance in line.split())
        first += lines[first].strip() == instance  # a heading above its rows
        for line, method in zip(lines[first:], methods, strict=False):
            assert method in line.split() and all(cell in line for cell in cells[method])
    left_out = " ".join(lines).partition("left out")[2]
    assert ("seconds" in left_out) != (lines[1].split()[-1] == "seconds")


def test_a_gap_has_its_level_at_any_width(show: Show) -> None:
    """Where there is no place for the level's name the gap has its number, and a line the name."""
    row = compared("reclaiming", "i" * 30, "my_heuristics:its_long_name")
    for width, cell in ((160, "12.30 % (collateral)"), (80, "12.30 % (2)")):
        lines = show(width, put_comparison, [row])
        assert any(line.endswith(cell) or f"{cell}  " in line for line in lines)
        assert ("levels in brackets  reclaiming 1 preempted, 2 collateral" in lines) == (
            width == 80
        )
        assert max(map(len, lines)) <= width


@pytest.mark.parametrize("width", WIDTHS)
def test_equal_levels_are_one_line(width: int, show: Show) -> None:
    """Levels that are equal for all methods have no column, where not all have place for one."""
    levels = [level.name for level in problem("dispatch").levels]
    equal = {level: 0 for level in levels} | {"started_1": 7_654_321}
    rows = [
        compared("dispatch", instance, method, **(equal | {differs: 500 + k}))
        for instance, differs in (("first", "spread"), ("second", "young"))
        for k, method in enumerate(("exact", "mast", "local"))
    ]
    failed = {"instance": "second", "problem": "dispatch", "method": "mine", "status": "error"}
    lines = show(width, put_comparison, [*rows, failed | {"reason": "no"}])
    text = " ".join(" ".join(lines).split())
    assert len(lines) < 40 and max(map(len, lines)) <= width
    for instance in ("first", "second"):
        others = ", ".join(
            level for level in levels if level not in ("started_1", "spread", "young")
        )
        assert f"{instance} the same for all methods: {others}" in text
    assert text.count("started_1 = 7,654,321") == 2 and "mine error" in text
    assert all(text.count(str(500 + k)) == 2 for k in range(3))
    assert "preempted_1" not in lines[1]


def test_levels_of_a_variant_are_shown(show: Show) -> None:
    """The columns are the levels that rows have, in their order: a variant may add one."""
    row = compared("reclaiming", "i", "exact")
    row = {k: v for k, v in row.items() if not k.startswith("preempted")} | {
        "returned": 5, "returned_best_bound": 5, "gap_level": "returned",
    }  # fmt: skip
    lines = show(160, put_comparison, [row])
    assert "preempted" not in lines[1] and "collateral" in lines[1] and "returned" in lines[1]


def test_stated_width_shows_all(show: Show) -> None:
    """The line below a narrow table names a width; with it no column is left out."""
    rows = [compared("sensitivity", f"i{i}", method) for i, method in enumerate(METHODS)]
    rows.append(compared("utility", "another", "exact"))
    narrow = " ".join(" ".join(show(80, put_comparison, rows)).split())
    found = re.search(r"left out in 80 columns: ([\w, ]+); COLUMNS=(\d+) or --json", narrow)
    assert found
    lines = show(int(found[2]), put_comparison, rows)
    whole = "\n".join(lines)
    names = [name for name in found[1].split(", ") if name != "names of levels"]
    assert "left out" not in whole and all(name in whole for name in names)
    assert max(map(len, lines)) <= int(found[2])


@pytest.mark.parametrize("width", [40, *WIDTHS])
def test_text_wraps_and_nothing_is_lost(width: int, show: Show) -> None:
    """A column of text is broken at blanks; every word of it is there, at any width."""
    words = [f"word{i}" for i in range(60)]
    columns = ["name", "value>", Column("text", wraps=True), Column("extra", drop=1)]
    lines = show(width, put_table, columns, [["a" * 12, 1_000_000, " ".join(words), "b" * 30]])
    assert max(map(len, lines)) <= width
    found = " ".join(" ".join(line.split()) for line in lines)
    assert all(re.search(rf"\b{word}\b", found) for word in words)
    assert "a" * 12 in found and "1,000,000" in found
    assert ("b" * 30 in found) != ("left out" in found)


def test_word_wider_than_the_terminal(show: Show) -> None:
    """A name that no line has place for is whole on its own; wide characters count as two."""
    rows = [["n" * 70, 10**12], ["[bold]not markup[/]", 1]]
    lines = show(60, put_table, ["name", "value>"], rows)
    assert lines[:3] == ["  name", "    " + "n" * 70, "  value  1,000,000,000,000"]
    assert "  name   [bold]not markup[/]" in lines
    lines = show(80, put_table, ["name", "value>"], [["服务器", 1], ["server", 22]])
    assert lines[2:4] == ["  服务器       1", "  server      22"]


def test_columns_without_a_value_go(show: Show) -> None:
    """A secondary column in which nothing stands is not shown, and nothing is said of it."""
    lines = show(None, put_table, ["name", Column("ran", drop=1)], [["a", None], ["b", ""]])
    assert not any("ran" in line for line in lines)


def test_a_pipe_gets_long_lines(show: Show) -> None:
    """Without a terminal or COLUMNS, tables are up to 200 characters wide."""
    lines = show(None, put_comparison, [compared("utility", "i", "exact")])
    assert 120 < len(lines[2]) <= 200 and "left out" not in " ".join(lines)
