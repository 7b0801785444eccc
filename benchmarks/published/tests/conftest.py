"""These tests find `published`, and what the library's own tests of simulations share."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
SHARED = ("benchmarks", "tests/simulation")

sys.path[:0] = [str(ROOT / folder) for folder in SHARED]
