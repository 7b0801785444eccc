"""The public simulator of Muri's authors (github.com/Rivendile/Muri), section 6 of the paper."""

from published.muri.simulator import run

__all__ = ["run"]
