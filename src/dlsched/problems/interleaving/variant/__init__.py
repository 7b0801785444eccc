"""Hooks of variants: which jobs may share GPUs, and the methods that follow from it."""
