"""Hooks of variants: which jobs may be on one server, and what the model leaves out."""
