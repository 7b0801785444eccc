"""Puts the instances of placement's own tests on the path."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2] / "problems" / "placement"))
