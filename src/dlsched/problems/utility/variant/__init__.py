"""Hooks of variants: when jobs may run, the methods that follow from it, and the whole model."""
