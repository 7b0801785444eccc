"""Simulations as the records that a real scheduler leaves: `sacct` text and SWF files."""
