"""Loops that are built with the package."""
