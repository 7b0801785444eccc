"""Synergy's public simulator, in floats and in its order of operations (Synergy, section 4.3)."""

from published.synergy.engine import run

__all__ = ["run"]
