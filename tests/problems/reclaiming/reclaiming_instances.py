"""Small instances of reclaiming, with workers written as `1:4 2:8f`."""

import re
from typing import Any


def workers(text: str) -> list[dict[str, Any]]:
    """Return workers: ``1`` is on s1 with one GPU, ``1:4`` with four, ``1:4f`` is flexible."""
    parts = re.findall(r"(\d)(?::(\d+))?(f?)", text)
    return [
        {"server": f"s{server}", "gpus": int(gpus or 1), "flexible": bool(flexible)}
        for server, gpus, flexible in parts
    ]


def hand(demand: int, jobs: dict[str, str], servers: int = 4, **weights: Any) -> dict[str, Any]:
    """Return an instance of servers s1, s2 and so on; jobs weigh 1 if weights do not say more."""
    head = {"dlsched": 1, "problem": "reclaiming", "name": "hand", "demand": demand}
    names = [{"id": f"s{i}", "gpus": 8} for i in range(1, servers + 1)]
    rows = [
        {"id": name, "weight": weights.get(name, 1), "workers": workers(text)}
        for name, text in jobs.items()
    ]
    return head | {"servers": names, "jobs": rows}
