"""Baselines of configurations."""
