"""For people with a heuristic of their own: Hypothesis strategies and brute-force oracles."""

from dlsched.testing import oracles

__all__ = ["oracles"]
