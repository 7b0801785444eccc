"""Tests of `published` and `claims_only` find these, and what the library's own tests share."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SHARED = (
    "benchmarks",
    "tests",
    "tests/problems/elastic",
    "tests/problems/reclaiming",
    "tests/simulation",
)

sys.path[:0] = [str(ROOT / folder) for folder in SHARED]
