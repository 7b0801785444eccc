"""The loops that are built with the package."""
