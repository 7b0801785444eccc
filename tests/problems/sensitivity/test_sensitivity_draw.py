"""The picture of sensitivity shows the servers' allocations."""

from __future__ import annotations

import pytest

import dlsched


def test_bars_are_the_shares_in_use() -> None:
    """Bars add up to the checker's shares of GPUs, CPUs and memory; behind them all is idle."""
    instance = dlsched.load("synergy-two-servers")
    result = dlsched.solve(instance)
    bars = dlsched.plot(result).patches
    white = [p for p in bars if p.get_facecolor() == (1, 1, 1, 1)]
    assert [p.get_height() for p in white] == [1] * 3 * instance.servers.count
    total = sum(p.get_height() for p in bars if p not in white)
    expected = sum(result.details[name] for name in ("gpus", "cpus", "memory"))
    assert total == pytest.approx(expected * instance.servers.count)


def test_proportional_fills_every_bar() -> None:
    """Without a solution the proportional allocation is drawn: a full cluster's bars are full."""
    ax = dlsched.plot(dlsched.generate("sensitivity", 1, servers=2))
    assert ax.get_title(loc="left").endswith("proportional: throughput 16, split 0")
    tops: dict[float, float] = {}
    for bar in ax.patches:
        if bar.get_facecolor() != (1, 1, 1, 1):
            x = round(bar.get_x(), 3)
            tops[x] = max(tops.get(x, 0), bar.get_y() + bar.get_height())
    assert list(tops.values()) == pytest.approx([1.0] * 6)


def test_many_servers_show_who_gets_more_cpus() -> None:
    """The proportional allocation has one colour, an even share; TUNE's has several."""
    instance = dlsched.generate("sensitivity", 1, servers=24)
    colours = {}
    for method in ("proportional", "tune"):
        pixels = dlsched.plot(dlsched.solve(instance, method)).images[0].get_array()
        colours[method] = {tuple(cell) for row in pixels for cell in row} - {(1, 1, 1)}
    assert len(colours["proportional"]) == 1 < len(colours["tune"])
