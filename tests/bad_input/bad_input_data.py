"""Good documents, what changes them, and what must be raised for a bad one."""

import json
from typing import Any

SPREAD = [{"server": "s1", "gpus": 4}, {"server": "s2", "gpus": 4, "flexible": True}]
GOOD: dict[str, Any] = {
    "dlsched": 1,
    "problem": "reclaiming",
    "name": "good",
    "demand": 1,
    "servers": [{"id": "s1", "gpus": 8}, {"id": "s2", "gpus": 4}],
    "jobs": [
        {"id": "a", "weight": 1.5, "workers": SPREAD},
        {"id": "b", "workers": [{"server": "s1", "gpus": 2}]},
    ],
}
SOLUTION = {"dlsched": 1, "problem": "reclaiming", "instance": "good", "returned": ["s1"]}
TEXT = json.dumps(GOOD)


def swap(old: str, new: str) -> bytes:
    """Return the good instance's text with one piece replaced."""
    assert TEXT.count(old) == 1, old
    return TEXT.replace(old, new).encode()


def good(**changes: Any) -> bytes:
    """Return the good instance's text with other fields, or without those that are None."""
    return json.dumps({k: v for k, v in (GOOD | changes).items() if v is not None}).encode()
